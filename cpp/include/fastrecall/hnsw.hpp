// Approximate cosine search over a hierarchy of small-world graphs (HNSW; Malkov, Yashunin:
// "Efficient and robust approximate nearest neighbor search using HNSW graphs", TPAMI 2020).
//
// The graph is built and walked on int8 codes, whose products are exact integers: the same vectors,
// options and `add` calls give the same graph and the same candidates on every thread count and
// instruction set. Candidates are then scored from the stored rows, in float64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "fastrecall/access.hpp"
#include "fastrecall/exact.hpp"
#include "fastrecall/idle.hpp"
#include "fastrecall/parallel.hpp"
#include "fastrecall/view.hpp"

namespace fastrecall {

class HnswGraph;
struct HnswRows;
struct HnswScratch;

struct HnswOptions {
    std::size_t dim = 0;
    std::int32_t m = 16;                 // links of a new node a layer; twice that in the lowest
    std::int32_t ef_construction = 200;  // candidates that a new node chooses its links from
    Storage storage = Storage::int8;     // what scores are computed from; int8: the codes alone
    std::uint64_t seed = 0;
};

// What all searches of an index have cost so far.
struct HnswCounters {
    std::uint64_t searches = 0;
    std::uint64_t visited = 0;    // nodes whose links were followed
    std::uint64_t distances = 0;  // products of codes
};

// Any thread may call anything at any time. Searches run side by side; a call that changes the
// index waits for those that run, and what comes later waits for it. A search therefore sees all of
// a change or nothing.
class Hnsw {
  public:
    // Throws InputError for options out of range.
    explicit Hnsw(const HnswOptions& options);
    ~Hnsw();

    const HnswOptions& options() const { return options_; }
    std::size_t size() const;     // without deleted vectors
    std::size_t deleted() const;  // deleted, but still a part of the graph
    std::size_t nbytes() const;   // codes, rows, links and ids; of a mapped file too
    HnswCounters counters() const;

    // Ids in the order of addition; deleted ones left out.
    std::vector<std::int32_t> ids() const;

    // Adds one vector a row. `ids` empty: the next after the highest so far. Throws InputError for
    // NaN, infinity, a wrong dimension, an id below 0 or already there; then nothing was added.
    // When it is interrupted, the rounds that were finished stay.
    void add(Matrix<const float> vectors, Span<const std::int32_t> ids, const Execution& execution);

    // Takes ids out of all results. Throws InputError, changing nothing, if one is not there.
    void remove(Span<const std::int32_t> ids);

    // Builds the graph anew from the vectors that are left, in their order.
    void compact(const Execution& execution);

    // Fills ids and scores [queries, k], best first; -1 and nan past the end. `ef` holds one value
    // or one a query, and counts as k where it is less. `mask`, if not empty, is nonzero where an
    // id may be returned; it must cover every id.
    void search(Matrix<const float> queries, Span<const std::int32_t> ef,
                Span<const std::uint8_t> mask, Matrix<std::int32_t> ids, Matrix<float> scores,
                const Execution& execution) const;

    // Gives the index to `write` piece by piece, in the format of hnsw_file.cpp.
    void save(const std::function<void(const void*, std::size_t)>& write) const;

    // An index over the bytes of a saved file, which must outlive it or its first change. Throws
    // InputError for anything but a whole, unchanged file of a known version.
    static std::unique_ptr<Hnsw> load(Span<const std::uint8_t> file, const std::string& name,
                                      const Execution& execution);

  private:
    struct Tally;

    std::unique_ptr<HnswScratch> take_scratch() const;
    void find_slots();
    std::vector<std::uint8_t> allowed_slots(Span<const std::uint8_t> mask) const;

    HnswOptions options_;
    std::unique_ptr<HnswRows> rows_;
    std::unique_ptr<HnswGraph> graph_;
    std::int64_t next_id_ = 0;
    std::size_t deleted_ = 0;
    bool slots_known_ = false;
    std::unordered_map<std::int32_t, std::int32_t> slot_of_;  // made when first needed
    std::unique_ptr<Tally> tally_;
    mutable Access access_;
    mutable Idle<HnswScratch> scratch_;
};

}  // namespace fastrecall
