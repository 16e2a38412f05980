#include "fastrecall/fusion.hpp"

#include <algorithm>
#include <limits>

namespace fastrecall {
namespace {

constexpr std::size_t kQueriesPerChunk = 64;

struct Share {
    std::int32_t id;
    std::uint32_t list;
    double share;
};

struct Fused {
    double score;
    std::int32_t id;
};

// Fuses one query after the other.
class Fuser {
  public:
    Fuser(const std::vector<WeightedRankings>& lists, double k) : lists_(lists), k_(k) {}

    const std::vector<Fused>& run(std::size_t query) {
        shares_.clear();
        for (std::size_t list = 0; list < lists_.size(); ++list) {
            const Matrix<const std::int32_t> ids = lists_[list].ids;
            for (std::size_t place = 0; place < ids.cols; ++place) {
                const std::int32_t id = ids.row(query)[place];
                if (id < 0) continue;
                const double rank = static_cast<double>(place + 1);
                shares_.push_back(
                    {id, static_cast<std::uint32_t>(list), lists_[list].weight / (k_ + rank)});
            }
        }
        keep_first_places();
        // Equal ids stand together now, each list once.
        std::sort(shares_.begin(), shares_.end(), [](const Share& a, const Share& b) {
            return a.id != b.id ? a.id < b.id : a.share < b.share;
        });
        fused_.clear();
        for (const Share& share : shares_) {
            if (fused_.empty() || fused_.back().id != share.id) fused_.push_back({0, share.id});
            fused_.back().score += share.share;
        }
        std::sort(fused_.begin(), fused_.end(), [](const Fused& a, const Fused& b) {
            return a.score != b.score ? a.score > b.score : a.id < b.id;
        });
        return fused_;
    }

  private:
    // Of an id that stands several times in one list, the best rank counts: the largest share, or
    // any of them where the weight is 0.
    void keep_first_places() {
        std::sort(shares_.begin(), shares_.end(), [](const Share& a, const Share& b) {
            if (a.id != b.id) return a.id < b.id;
            return a.list != b.list ? a.list < b.list : a.share > b.share;
        });
        const auto end = std::unique(
            shares_.begin(), shares_.end(),
            [](const Share& a, const Share& b) { return a.id == b.id && a.list == b.list; });
        shares_.erase(end, shares_.end());
    }

    const std::vector<WeightedRankings>& lists_;
    const double k_;
    std::vector<Share> shares_;
    std::vector<Fused> fused_;
};

}  // namespace

std::size_t fuse(const std::vector<WeightedRankings>& lists, double k, Matrix<std::int32_t> ids,
                 Matrix<float> scores, const Execution& execution) {
    std::vector<std::size_t> longest(workers_for(ids.rows, kQueriesPerChunk, execution));
    parallel_for(ids.rows, kQueriesPerChunk, execution,
                 [&](std::size_t begin, std::size_t end, unsigned worker) {
                     Fuser fuser(lists, k);
                     for (std::size_t query = begin; query < end; ++query) {
                         const std::vector<Fused>& fused = fuser.run(query);
                         std::int32_t* const id_row = ids.row(query);
                         float* const score_row = scores.row(query);
                         for (std::size_t place = 0; place < fused.size(); ++place) {
                             id_row[place] = fused[place].id;
                             score_row[place] = static_cast<float>(fused[place].score);
                         }
                         std::fill(id_row + fused.size(), id_row + ids.cols, -1);
                         std::fill(score_row + fused.size(), score_row + ids.cols,
                                   std::numeric_limits<float>::quiet_NaN());
                         longest[worker] = std::max(longest[worker], fused.size());
                     }
                 });
    return *std::max_element(longest.begin(), longest.end());
}

}  // namespace fastrecall
