#include "fastrecall/exact.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "fastrecall/error.hpp"
#include "fastrecall/kernels.hpp"
#include "fastrecall/knn_graph.hpp"
#include "fastrecall/shortlist.hpp"
#include "fastrecall/topk.hpp"

namespace fastrecall {
namespace {

void check(const Filter& filter, std::size_t queries, std::size_t size) {
    const auto& offsets = filter.exclude_offsets;
    if (!offsets.empty()) {
        bool ordered = offsets.size == queries + 1 && offsets[0] == 0 &&
                       offsets[queries] == static_cast<std::int64_t>(filter.exclude_ids.size);
        for (std::size_t i = 0; ordered && i < queries; ++i) ordered = offsets[i] <= offsets[i + 1];
        if (!ordered) {
            throw InputError(
                "exclude offsets must rise from 0 to the number of ids, one more than there are "
                "queries (" +
                std::to_string(queries) + ")");
        }
    }
    for (const std::int32_t id : filter.exclude_ids) {
        if (id < 0 || static_cast<std::size_t>(id) >= size) {
            throw InputError("exclude holds id " + std::to_string(id) + "; expected ids in 0.." +
                             std::to_string(size) + " (exclusive)");
        }
    }
    const auto& mask = filter.mask;
    if (mask.data != nullptr && (mask.cols != size || (mask.rows != 1 && mask.rows != queries))) {
        throw InputError("mask has shape (" + std::to_string(mask.rows) + ", " +
                         std::to_string(mask.cols) +
                         "); expected [n] or [queries, n] with n = " + std::to_string(size));
    }
}

// A screen over codes or over rows: one interface for the loops below. Vectors come in units
// (groups of codes, or single rows), queries in packs (single queries, or panels).
class Screen {
  public:
    virtual ~Screen() = default;
    virtual std::size_t units() const = 0;
    virtual std::size_t vectors_in_unit() const = 0;
    // Bytes of a vector's value.
    virtual std::size_t width() const = 0;
    virtual std::size_t packs() const = 0;
    virtual std::size_t first_query(std::size_t pack) const = 0;
    // The fewest packs that are worth a worker of their own.
    virtual std::size_t packs_for_a_worker() const = 0;
    // Packs that one worker had better take together, where there are enough for all workers.
    virtual std::size_t packs_together() const { return packs_for_a_worker(); }
    // Units between two tidyings of the lists.
    virtual std::size_t step() const = 0;
    // Pairs that a list may hold before it is tidied.
    virtual std::size_t list_length() const = 0;
    virtual const KeyBound* bounds() const = 0;
    // Screens units [begin, end) for all queries of packs [from, to); `lists` starts at
    // first_query(from).
    virtual void run(std::size_t begin, std::size_t end, std::size_t from, std::size_t to,
                     Shortlists& lists) const = 0;
};

class CodeScreen final : public Screen {
  public:
    CodeScreen(const CodedRows& vectors, const float* queries, std::size_t count,
               std::size_t padded)
        : vectors_(vectors), queries_(queries, count, padded), count_(count), padded_(padded) {
        for (std::size_t q = 0; q < count; ++q) bounds_.push_back(queries_.bound(q));
    }

    std::size_t units() const override { return vectors_.groups(); }
    std::size_t vectors_in_unit() const override { return kGroup; }
    std::size_t width() const override { return 1; }
    std::size_t packs() const override { return count_; }
    std::size_t first_query(std::size_t pack) const override { return pack; }
    std::size_t packs_for_a_worker() const override { return 24; }
    std::size_t step() const override { return kStep; }
    std::size_t list_length() const override { return Shortlists::kUsualLength; }
    const KeyBound* bounds() const override { return bounds_.data(); }

    void run(std::size_t begin, std::size_t end, std::size_t from, std::size_t to,
             Shortlists& lists) const override {
        const auto screen = kernels().screen_codes;
        const CodeQueries queries{
            queries_.codes(from), queries_.bias() + from, queries_.slopes() + from,
            lists.thresholds(),   lists.sinks(),          to - from};
        for (std::size_t group = begin; group < end; group += kStep) {
            screen(vectors_.slice(group, std::min(kStep, end - group)), queries, padded_);
            lists.tidy(0, to - from);
        }
    }

  private:
    // 64 vectors of 384 dimensions fill 24 kB of the first-level cache.
    static constexpr std::size_t kStep = 4;

    const CodedRows& vectors_;
    CodedQueries queries_;
    std::size_t count_, padded_;
    std::vector<KeyBound> bounds_;
};

// Bounds in float32 are so tight that nothing is scored in vain: a short list costs less to cut,
// and its threshold rises sooner.
constexpr std::size_t kFloatLists = 128;

// A few queries: row by row, as fast as memory delivers them.
class RowScreen final : public Screen {
  public:
    RowScreen(const RowStore& rows, const float* queries, std::size_t count, KeyBound bound)
        : rows_(rows), queries_(queries), count_(count), bounds_(count, bound) {}

    std::size_t units() const override { return rows_.size(); }
    std::size_t vectors_in_unit() const override { return 1; }
    std::size_t width() const override { return 4; }
    std::size_t packs() const override { return count_; }
    std::size_t first_query(std::size_t pack) const override { return pack; }
    std::size_t packs_for_a_worker() const override { return count_ + 1; }
    std::size_t step() const override { return kStep; }
    std::size_t list_length() const override { return kFloatLists; }
    const KeyBound* bounds() const override { return bounds_.data(); }

    void run(std::size_t begin, std::size_t end, std::size_t from, std::size_t to,
             Shortlists& lists) const override {
        const auto dot = kernels().dot_f32;
        const std::size_t padded = rows_.padded();
        auto scratch = AlignedArray<float>::uninitialised(rows_.scratch_for(kStep));
        for (std::size_t first = begin; first < end; first += kStep) {
            const std::size_t count = std::min(kStep, end - first);
            const float* rows = rows_.rows(first, count, scratch.data());
            for (std::size_t r = 0; r < count; ++r) {
                for (std::size_t q = from; q < to; ++q) {
                    const float key = dot(queries_ + q * padded, rows + r * padded, padded);
                    if (key < lists.thresholds()[q - from]) continue;
                    Sink& sink = lists.sinks()[q - from];
                    sink.ids[sink.count] = static_cast<std::int32_t>(first + r);
                    sink.keys[sink.count++] = key;
                }
            }
            lists.tidy(0, to - from);
        }
    }

  private:
    static constexpr std::size_t kStep = 64;

    const RowStore& rows_;
    const float* queries_;
    std::size_t count_;
    std::vector<KeyBound> bounds_;
};

// Many queries: panels of them side by side, rows broadcast value by value.
class PanelScreen final : public Screen {
  public:
    PanelScreen(const RowStore& rows, const float* queries, std::size_t count, KeyBound bound,
                unsigned threads)
        : rows_(rows), bounds_(count, bound) {
        // About equal panels, and a number of them that threads can share evenly.
        const std::size_t groups = round_up(count, kGroup) / kGroup;
        const std::size_t widest = kernels().float_lanes / kGroup;
        std::size_t panels = (groups + widest - 1) / widest;
        if (panels < 4 * threads) panels = std::min(groups, round_up(panels, threads));
        for (std::size_t p = 0; p < panels; ++p) starts_.push_back(groups * p / panels * kGroup);
        starts_.push_back(groups * kGroup);
        count_ = count;
        values_ = AlignedArray<float>(groups * kGroup * rows.dim());
        for (std::size_t p = 0; p < panels; ++p) {
            float* panel = values_.data() + starts_[p] * rows.dim();
            const std::size_t lanes = starts_[p + 1] - starts_[p];
            for (std::size_t q = starts_[p]; q < std::min(count, starts_[p + 1]); ++q) {
                for (std::size_t i = 0; i < rows.dim(); ++i) {
                    panel[i * lanes + (q - starts_[p])] = queries[q * rows.padded() + i];
                }
            }
        }
    }

    std::size_t units() const override { return rows_.size(); }
    std::size_t vectors_in_unit() const override { return 1; }
    std::size_t width() const override { return 4; }
    std::size_t packs() const override { return starts_.size() - 1; }
    std::size_t first_query(std::size_t pack) const override {
        return std::min(count_, starts_[pack]);
    }
    std::size_t packs_for_a_worker() const override { return 1; }
    // Rows are read (and widened from float16) once for them; all fit the second-level cache.
    std::size_t packs_together() const override { return 4; }
    std::size_t step() const override { return kStep; }
    std::size_t list_length() const override { return kFloatLists; }
    const KeyBound* bounds() const override { return bounds_.data(); }

    void run(std::size_t begin, std::size_t end, std::size_t from, std::size_t to,
             Shortlists& lists) const override {
        const auto screen = kernels().screen_floats;
        auto scratch = AlignedArray<float>::uninitialised(rows_.scratch_for(kStep));
        float thresholds[kMostLanes];
        for (std::size_t first = begin; first < end; first += kStep) {
            const std::size_t count = std::min(kStep, end - first);
            const float* rows = rows_.rows(first, count, scratch.data());
            for (std::size_t p = from; p < to; ++p) {
                const std::size_t lanes = starts_[p + 1] - starts_[p];
                const std::size_t list = starts_[p] - starts_[from];
                const std::size_t used = first_query(p + 1) - first_query(p);
                std::copy_n(lists.thresholds() + list, used, thresholds);
                std::fill(thresholds + used, thresholds + lanes,
                          std::numeric_limits<float>::infinity());
                screen(rows, rows_.padded(), count, static_cast<std::int32_t>(first),
                       {values_.data() + starts_[p] * rows_.dim(), thresholds, lists.sinks() + list,
                        lanes, rows_.dim()});
                lists.tidy(list, list + used);
            }
        }
    }

  private:
    // 96 rows of 384 dimensions are 144 kB: with a panel they fit the second-level cache.
    static constexpr std::size_t kStep = 96;
    static constexpr std::size_t kMostLanes = 64;

    const RowStore& rows_;
    std::vector<KeyBound> bounds_;
    std::vector<std::size_t> starts_;
    std::size_t count_ = 0;
    AlignedArray<float> values_;
};

// Bound of a float32 dot product of unit vectors, whatever its order: n * 2^-24 of the sum of
// absolute products, which is at most 1; and some for the rounding of units and scores.
KeyBound float_bound(std::size_t padded) {
    const float error = 1.05F * (static_cast<float>(padded) + 32) * 0x1p-24F;
    return {1, 0, error, error};
}

// About a tenth of a second of work for one thread, between two looks at Ctrl-C.
constexpr double kProductsAPass = 8e9;

// What a worker gets through in about twice the time that starting and merging one more takes.
constexpr double kBytesForAWorker = 8e6;

// Queries that are worked on at once; bounds the memory of their lists.
constexpr std::size_t kQueriesAtOnce = 4096;

// Calls `pass(begin, end)` for runs of units, each short enough to notice Ctrl-C between them.
template <class Pass>
void in_passes(const Screen& screen, std::size_t queries, std::size_t padded,
               const Execution& execution, const Pass& pass) {
    const double products_a_unit =
        static_cast<double>(screen.vectors_in_unit() * padded) * static_cast<double>(queries);
    const double units = kProductsAPass * execution.threads / products_a_unit;
    const std::size_t most =
        round_up(static_cast<std::size_t>(std::min(units, 1e12)) + 1, screen.step());
    for (std::size_t begin = 0; begin < screen.units(); begin += most) {
        pass(begin, std::min(screen.units(), begin + most));
    }
}

// Each worker screens all vectors for some of the queries.
void by_queries(const Screen& screen, const SearchContext& context, Matrix<std::int32_t> ids,
                Matrix<float> scores, const Execution& execution) {
    const std::size_t packs = screen.packs(), threads = execution.threads;
    // Several blocks a worker even out their speeds.
    const std::size_t wanted = std::max<std::size_t>(1, packs / screen.packs_together());
    const std::size_t blocks =
        std::min({round_up(wanted, threads), packs / screen.packs_for_a_worker(), 8 * threads});
    const auto start = [&](std::size_t block) { return packs * block / blocks; };
    std::vector<Shortlists> lists;
    lists.reserve(blocks);
    for (std::size_t block = 0; block < blocks; ++block) {
        const std::size_t first = screen.first_query(start(block));
        lists.emplace_back(context, first, screen.first_query(start(block + 1)) - first,
                           screen.step() * screen.vectors_in_unit(), screen.list_length());
    }
    in_passes(screen, ids.rows, context.rows.padded(), execution,
              [&](std::size_t begin, std::size_t end) {
                  parallel_for(blocks, 1, execution, [&](std::size_t block, std::size_t, unsigned) {
                      screen.run(begin, end, start(block), start(block + 1), lists[block]);
                  });
              });
    parallel_for(blocks, 1, execution, [&](std::size_t block, std::size_t, unsigned) {
        const std::size_t first = screen.first_query(start(block));
        for (std::size_t q = first; q < screen.first_query(start(block + 1)); ++q) {
            std::vector<Hit> hits = lists[block].finish(q - first);
            write_top(hits, ids.cols, ids.row(q), scores.row(q));
        }
    });
}

// Each worker screens some of the vectors for all queries, into lists of its own.
void by_vectors(const Screen& screen, const SearchContext& context, Matrix<std::int32_t> ids,
                Matrix<float> scores, const Execution& given) {
    const double bytes = static_cast<double>(screen.units() * screen.vectors_in_unit() * ids.rows) *
                         static_cast<double>(context.rows.padded() * screen.width());
    const double worth = std::min(1 + bytes / kBytesForAWorker, 1.0 * given.threads);
    const Execution execution{static_cast<unsigned>(worth), given.interrupted};
    const std::size_t chunks = std::size_t{8} * execution.threads;
    std::vector<Shortlists> lists;
    for (unsigned worker = 0; worker < execution.threads; ++worker) {
        lists.emplace_back(context, 0, ids.rows, screen.step() * screen.vectors_in_unit(),
                           screen.list_length());
    }
    in_passes(screen, ids.rows, context.rows.padded(), execution,
              [&](std::size_t begin, std::size_t end) {
                  const std::size_t grain = round_up((end - begin) / chunks + 1, screen.step());
                  parallel_for(end - begin, grain, execution,
                               [&](std::size_t from, std::size_t to, unsigned worker) {
                                   screen.run(begin + from, begin + to, 0, screen.packs(),
                                              lists[worker]);
                               });
              });
    parallel_for(ids.rows, 16, execution, [&](std::size_t from, std::size_t to, unsigned) {
        for (std::size_t q = from; q < to; ++q) {
            std::vector<Hit> hits;
            for (Shortlists& list : lists) {
                const std::vector<Hit>& found = list.finish(q);
                hits.insert(hits.end(), found.begin(), found.end());
            }
            write_top(hits, ids.cols, ids.row(q), scores.row(q));
        }
    });
}

}  // namespace

ExactIndex::ExactIndex(Matrix<const float> vectors, Storage storage, const Execution& execution)
    : storage_(storage) {
    constexpr auto most_rows = static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max());
    constexpr std::size_t most_dims = 65536;  // sums of 255 * 127 fit in 32 bits
    if (vectors.rows > most_rows - kGroup || vectors.cols > most_dims) {
        throw InputError("vectors has shape (" + std::to_string(vectors.rows) + ", " +
                         std::to_string(vectors.cols) +
                         "); at most 2^31 rows and 65536 columns fit");
    }
    const auto precision =
        storage == Storage::float16 ? RowStore::Precision::half : RowStore::Precision::single;
    rows_ = RowStore(vectors, precision, "vectors", execution);
    if (storage == Storage::int8) codes_ = CodedRows(rows_, execution);
}

void ExactIndex::search(Matrix<const float> queries, const Filter& filter, Matrix<std::int32_t> ids,
                        Matrix<float> scores, const Execution& execution) const {
    if (queries.cols != dim()) {
        throw InputError("queries have " + std::to_string(queries.cols) +
                         " dimensions, the index has " + std::to_string(dim()));
    }
    check(filter, queries.rows, size());
    const RowStore units(queries, RowStore::Precision::single, "queries", execution);
    const Permission permission(filter, queries.rows);
    for (std::size_t first = 0; first < units.size(); first += kQueriesAtOnce) {
        const std::size_t count = std::min(kQueriesAtOnce, units.size() - first);
        search_units(units.rows(first, count, nullptr), first, permission,
                     {ids.row(first), count, ids.cols}, {scores.row(first), count, scores.cols},
                     execution);
    }
}

void ExactIndex::knn_graph(Matrix<std::int32_t> ids, Matrix<float> scores,
                           const Execution& execution) const {
    if (storage_ == Storage::int8) {
        knn_graph_by_pairs(rows_, codes_, ids, scores, execution);
        return;
    }
    const Permission permission = Permission::others();
    for (std::size_t first = 0; first < size(); first += kQueriesAtOnce) {
        const std::size_t count = std::min(kQueriesAtOnce, size() - first);
        AlignedArray<float> scratch(rows_.scratch_for(count));
        const float* units = rows_.rows(first, count, scratch.data());
        search_units(units, first, permission, {ids.row(first), count, ids.cols},
                     {scores.row(first), count, scores.cols}, execution);
    }
}

void ExactIndex::search_units(const float* units, std::size_t first_query,
                              const Permission& permission, Matrix<std::int32_t> ids,
                              Matrix<float> scores, const Execution& execution) const {
    const std::size_t count = ids.rows, k = ids.cols;
    if (count == 0) return;
    std::unique_ptr<Screen> screen;
    if (storage_ == Storage::int8) {
        screen = std::make_unique<CodeScreen>(codes_, units, count, rows_.padded());
    } else if (count <= kGroup / 2) {
        screen = std::make_unique<RowScreen>(rows_, units, count, float_bound(rows_.padded()));
    } else {
        screen = std::make_unique<PanelScreen>(rows_, units, count, float_bound(rows_.padded()),
                                               execution.threads);
    }
    const SearchContext context{
        rows_,      storage_ == Storage::int8 ? codes_.residuals() : nullptr,
        units,      screen->bounds(),
        permission, first_query,
        k};
    if (screen->packs() >= screen->packs_for_a_worker() * execution.threads) {
        by_queries(*screen, context, ids, scores, execution);
    } else {
        by_vectors(*screen, context, ids, scores, execution);
    }
}

}  // namespace fastrecall
