#include "fastrecall/knn_graph.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "fastrecall/kernels.hpp"
#include "fastrecall/shortlist.hpp"
#include "fastrecall/topk.hpp"

namespace fastrecall {
namespace {

// A call of the kernel: 64 vectors (24 kB of 384 dimensions, in the first-level cache) against 48
// queries. Each list grows by at most that before it is tidied.
constexpr std::size_t kGroupsAtOnce = 4;
constexpr std::size_t kQueriesAtOnce = 48;
constexpr std::size_t kStep = kGroupsAtOnce * kGroup;

constexpr std::size_t kMostInBlock = 1024;
constexpr std::size_t kListLength = 128;

class PairScreen {
  public:
    PairScreen(const RowStore& rows, const CodedRows& codes, std::size_t k,
               const Execution& execution)
        : rows_(rows),
          codes_(codes),
          block_size_(round_up(
              std::min(kMostInBlock, rows.size() / (8 * std::size_t{execution.threads}) + 1),
              kStep)),
          blocks_((rows.size() + block_size_ - 1) / block_size_),
          queries_(blocks_),
          doubts_(AlignedArray<float>::uninitialised(rows.size())),
          bounds_(rows.size()) {
        parallel_for(blocks_, 1, execution, [&](std::size_t block, std::size_t, unsigned) {
            const std::size_t begin = first(block), count = first(block + 1) - begin;
            queries_[block] = std::make_unique<CodedQueries>(rows.rows(begin, count, nullptr),
                                                             count, rows.padded());
            for (std::size_t i = 0; i < count; ++i) {
                // |score - key| <= a + b + a b, whichever end was coded as the query, when a and b
                // are the larger of each end's two residuals.
                const float offset = queries_[block]->bound(i).offset;
                const float doubt = std::max(offset, codes.residuals()[begin + i]);
                doubts_[begin + i] = doubt;
                // Keys are upper bounds of scores already: nothing lifts them.
                bounds_[begin + i] = {1, 1 + doubt, doubt, 0};
            }
        });
        lists_ = std::make_unique<Shortlists>(context(k), 0, round_up(rows.size(), kGroup), kStep,
                                              kListLength);
        for (std::size_t i = rows.size(); i < round_up(rows.size(), kGroup); ++i) lists_->close(i);
        nobody_.assign(kStep, std::numeric_limits<float>::infinity());
    }

    std::size_t blocks() const { return blocks_; }
    Shortlists& lists() { return *lists_; }

    // All pairs of one vector of each block. Touches the lists of both blocks, no others.
    void run(std::size_t query_block, std::size_t vector_block) {
        const auto screen = kernels().screen_pairs;
        const CodedQueries& queries = *queries_[query_block];
        const std::size_t query_begin = first(query_block), query_end = first(query_block + 1);
        const std::size_t begin = first(vector_block) / kGroup;
        const std::size_t end = round_up(first(vector_block + 1), kGroup) / kGroup;
        const bool same = query_block == vector_block;
        for (std::size_t group = begin; group < end; group += kGroupsAtOnce) {
            const CodeGroups vectors = codes_.slice(group, std::min(kGroupsAtOnce, end - group));
            const std::size_t column = group * kGroup;
            for (std::size_t q = query_begin; q < query_end; q += kQueriesAtOnce) {
                const std::size_t at = q - query_begin;
                const std::size_t count = std::min(kQueriesAtOnce, query_end - q);
                // Within a block every pair comes twice, once from each end: rows are enough.
                const PairColumns columns{queries.scales() + at, queries.offsets() + at,
                                          static_cast<std::int32_t>(q),
                                          same ? nobody_.data() : lists_->thresholds() + column,
                                          lists_->sinks() + column};
                screen(vectors,
                       {queries.codes(at), queries.bias() + at, queries.slopes() + at,
                        lists_->thresholds() + q, lists_->sinks() + q, count},
                       columns, rows_.padded());
                lists_->tidy(q, q + count);
                if (!same) lists_->tidy(column, column + vectors.groups * kGroup);
            }
        }
    }

  private:
    std::size_t first(std::size_t block) const {
        return std::min(rows_.size(), block * block_size_);
    }

    const SearchContext& context(std::size_t k) {
        context_ = std::make_unique<SearchContext>(
            SearchContext{rows_, doubts_.data(), rows_.rows(0, rows_.size(), nullptr),
                          bounds_.data(), permission_, 0, k});
        return *context_;
    }

    const RowStore& rows_;
    const CodedRows& codes_;
    std::size_t block_size_, blocks_;
    std::vector<std::unique_ptr<CodedQueries>> queries_;
    AlignedArray<float> doubts_;
    std::vector<KeyBound> bounds_;
    const Permission permission_ = Permission::others();
    std::unique_ptr<SearchContext> context_;
    std::unique_ptr<Shortlists> lists_;
    std::vector<float> nobody_;
};

// Who meets whom in one round of a tournament of `players` (even): every player once, and after
// players - 1 rounds everybody has met everybody. Pairs of a round can be worked on at once.
std::pair<std::size_t, std::size_t> meeting(std::size_t players, std::size_t round,
                                            std::size_t table) {
    const std::size_t circle = players - 1;
    if (table == 0) return {circle, round};
    return {(round + table) % circle, (round + circle - table) % circle};
}

}  // namespace

void knn_graph_by_pairs(const RowStore& rows, const CodedRows& codes, Matrix<std::int32_t> ids,
                        Matrix<float> scores, const Execution& execution) {
    if (rows.size() == 0) return;
    PairScreen screen(rows, codes, ids.cols, execution);
    const std::size_t blocks = screen.blocks();
    // Near vectors often stand near each other: begin within blocks, to have good thresholds early.
    parallel_for(blocks, 1, execution,
                 [&](std::size_t block, std::size_t, unsigned) { screen.run(block, block); });
    const std::size_t players = round_up(blocks, 2);
    for (std::size_t round = 0; round + 1 < players; ++round) {
        parallel_for(players / 2, 1, execution, [&](std::size_t table, std::size_t, unsigned) {
            const auto [one, other] = meeting(players, round, table);
            if (one < blocks && other < blocks) screen.run(one, other);
        });
    }
    parallel_for(rows.size(), 64, execution, [&](std::size_t begin, std::size_t end, unsigned) {
        for (std::size_t i = begin; i < end; ++i) {
            std::vector<Hit> hits = screen.lists().finish(i);
            write_top(hits, ids.cols, ids.row(i), scores.row(i));
        }
    });
}

}  // namespace fastrecall
