// Fusion against its definition, id by id.
#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "check.hpp"
#include "fastrecall/fusion.hpp"

using namespace fastrecall;

namespace {

struct Expected {
    std::vector<std::int32_t> ids;
    std::vector<float> scores;
};

Expected plain(const std::vector<WeightedRankings>& lists, std::size_t query, double k) {
    std::map<std::int32_t, std::vector<double>> shares;
    for (const WeightedRankings& list : lists) {
        std::set<std::int32_t> seen;
        for (std::size_t place = 0; place < list.ids.cols; ++place) {
            const std::int32_t id = list.ids.row(query)[place];
            if (id < 0 || !seen.insert(id).second) continue;
            shares[id].push_back(list.weight / (k + static_cast<double>(place + 1)));
        }
    }
    std::vector<std::pair<double, std::int32_t>> order;
    for (auto& [id, parts] : shares) {
        std::sort(parts.begin(), parts.end());
        double sum = 0;
        for (const double part : parts) sum += part;
        order.emplace_back(-sum, id);
    }
    std::sort(order.begin(), order.end());
    Expected result;
    for (const auto& [score, id] : order) {
        result.ids.push_back(id);
        result.scores.push_back(static_cast<float>(-score));
    }
    return result;
}

}  // namespace

TEST(fusion_follows_its_definition_on_any_number_of_threads) {
    std::mt19937 random(1);
    for (const std::size_t queries : {std::size_t{0}, std::size_t{1}, std::size_t{200}}) {
        std::vector<std::vector<std::int32_t>> ids;
        std::vector<WeightedRankings> lists;
        std::size_t width = 0;
        for (const std::size_t cols : {std::size_t{7}, std::size_t{0}, std::size_t{30}}) {
            ids.emplace_back(queries * cols + 1);
            for (std::int32_t& id : ids.back()) id = static_cast<std::int32_t>(random() % 26) - 1;
            lists.push_back({{ids.back().data(), queries, cols},
                             cols == 30 ? 0.5 : static_cast<double>(cols) / 7});
            width += cols;
        }
        for (const double k : {0.0, 60.0}) {
            for (const unsigned threads : {1U, 2U, 7U}) {
                std::vector<std::int32_t> fused(queries * width + 1, 5);
                std::vector<float> scores(fused.size(), 5);
                const std::size_t longest = fuse(lists, k, {fused.data(), queries, width},
                                                 {scores.data(), queries, width}, {threads, {}});
                std::size_t most = 0;
                for (std::size_t query = 0; query < queries; ++query) {
                    const Expected expected = plain(lists, query, k);
                    most = std::max(most, expected.ids.size());
                    for (std::size_t place = 0; place < width; ++place) {
                        const std::int32_t id = fused[query * width + place];
                        const float score = scores[query * width + place];
                        if (place < expected.ids.size()) {
                            CHECK(id == expected.ids[place] && score == expected.scores[place]);
                        } else {
                            CHECK(id == -1 && std::isnan(score));
                        }
                    }
                }
                CHECK(longest == most);
                CHECK(fused.back() == 5 && scores.back() == 5);
            }
        }
    }
}

TEST(the_order_of_the_lists_does_not_matter) {
    const std::vector<std::int32_t> a{3, 1, 2}, b{2, 3, 9};
    const WeightedRankings first{{a.data(), 1, 3}, 1}, second{{b.data(), 1, 3}, 1};
    std::vector<std::int32_t> one(6), other(6);
    std::vector<float> one_scores(6), other_scores(6);
    CHECK(fuse({first, second}, 60, {one.data(), 1, 6}, {one_scores.data(), 1, 6}, {}) == 4);
    CHECK(fuse({second, first}, 60, {other.data(), 1, 6}, {other_scores.data(), 1, 6}, {}) == 4);
    CHECK(one == other);
    CHECK(std::equal(one_scores.begin(), one_scores.begin() + 4, other_scores.begin()));
    CHECK((std::vector<std::int32_t>(one.begin(), one.begin() + 2) ==
           std::vector<std::int32_t>{3, 2}));
}
