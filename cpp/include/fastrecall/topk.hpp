// The order of every ranking, written once: higher score first, then lower id.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace fastrecall {

struct Hit {
    float score;
    std::int32_t id;
};

inline bool ranks_before(const Hit& a, const Hit& b) {
    return a.score != b.score ? a.score > b.score : a.id < b.id;
}

// The same for algorithms, which inline an object but call a function through its address.
struct RanksBefore {
    bool operator()(const Hit& a, const Hit& b) const { return ranks_before(a, b); }
};

// Writes the best `k` of `hits` in order; -1 and nan fill the places that are left.
inline void write_top(std::vector<Hit>& hits, std::size_t k, std::int32_t* ids, float* scores) {
    const std::size_t kept = std::min(k, hits.size());
    std::partial_sort(hits.begin(), hits.begin() + static_cast<std::ptrdiff_t>(kept), hits.end(),
                      RanksBefore());
    for (std::size_t i = 0; i < kept; ++i) {
        ids[i] = hits[i].id;
        scores[i] = hits[i].score;
    }
    std::fill(ids + kept, ids + k, -1);
    std::fill(scores + kept, scores + k, std::numeric_limits<float>::quiet_NaN());
}

// Collects the best `k` of many hits that come in any order, in constant time for each.
class BestHits {
  public:
    explicit BestHits(std::size_t k) : k_(k) {}

    // Whether a hit can still be among the best.
    bool wants(const Hit& hit) const { return !bounded_ || ranks_before(hit, bound_); }

    // A positive score below which nothing is wanted any more, even before it is rounded to float.
    double least() const {
        constexpr double tiny = std::numeric_limits<double>::min();
        return bounded_ ? std::max(tiny, double{std::nextafter(bound_.score, 0.0F)}) : tiny;
    }

    void add(const Hit& hit) {
        hits_.push_back(hit);
        if (hits_.size() >= 2 * k_ + kSlack) shrink();
    }

    // Writes the best as `write_top` does, and starts anew.
    void take(std::int32_t* ids, float* scores) {
        write_top(hits_, k_, ids, scores);
        hits_.clear();
        bounded_ = false;
    }

  private:
    static constexpr std::size_t kSlack = 64;

    void shrink() {
        std::nth_element(hits_.begin(), hits_.begin() + static_cast<std::ptrdiff_t>(k_ - 1),
                         hits_.end(), ranks_before);
        hits_.resize(k_);
        bound_ = hits_.back();
        bounded_ = true;
    }

    std::size_t k_;
    std::vector<Hit> hits_;
    Hit bound_{};
    bool bounded_ = false;
};

}  // namespace fastrecall
