// Term counts by term (an inverted index), and Okapi BM25 over them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fastrecall/parallel.hpp"
#include "fastrecall/view.hpp"

namespace fastrecall {

// How counts become scores: the score of a node is the sum, over the terms of the query, of
//     times * idf * count / (count + k1 * (1 - b + b * length / mean length))
// with idf = ln(1 + (N - df + 0.5) / (df + 0.5)).
struct Bm25 {
    double k1 = 1.2;
    double b = 0.75;
};

// The terms of some queries: query i asks for terms[offsets[i] .. offsets[i + 1]), each as many
// times as `times` says.
struct TermQueries {
    Span<const std::int64_t> offsets;
    Span<const std::int32_t> terms;
    Span<const std::int32_t> times;

    std::size_t count() const { return offsets.size - 1; }
};

// What there is for a query, and what of it may be returned. Empty views mean: everything.
struct Presence {
    // Nodes that do not exist for query i: ids[offsets[i] .. offsets[i + 1]).
    Span<const std::int64_t> exclude_offsets;
    Span<const std::int32_t> exclude_ids;
    // Nonzero where a node exists: one row for all queries, or a row for each.
    Matrix<const std::uint8_t> visible;
    // Nonzero where a node may be returned, in the same shapes; it still counts where it may not.
    Matrix<const std::uint8_t> mask;
};

// What the formula takes from all texts that exist for each query. These are whole numbers: those
// of the parts of a collection add up to those of the whole, so that texts in parts are scored to
// the bit as they would be together. Empty views mean: what the index itself holds.
template <class Count>
struct CollectionOf {
    Span<Count> sizes;      // [queries] how many texts exist
    Matrix<Count> lengths;  // [queries, fields] how many terms they have together
    Span<Count> holders;    // how many of them hold the term, for each of the queries' terms
};
using Collection = CollectionOf<const std::int64_t>;

// Document counts and mean length are those of the nodes that exist for the query, so an answer
// equals that of an index without the others. Scores are summed in float64, term after term in the
// query's order, and ranked as float32: thread count and batch size change nothing.
class Postings {
  public:
    // `offsets` [terms + 1] into `nodes` (ascending within a term) and their weighted `counts`;
    // `lengths` [fields, nodes] in terms, and the weight of each field.
    Postings(Span<const std::int64_t> offsets, Span<const std::int32_t> nodes,
             Span<const float> counts, Matrix<const std::int64_t> lengths,
             Span<const double> weights, Bm25 formula);

    std::size_t nodes() const { return lengths_.size(); }
    std::size_t terms() const { return offsets_.size() - 1; }
    std::size_t fields() const { return weights_.size(); }

    // Fills ids and scores [queries, k] with nodes that share a term with the query; -1 and nan
    // past the end. k is their number of columns.
    void search(const TermQueries& queries, const Presence& presence, const Collection& collection,
                Matrix<std::int32_t> ids, Matrix<float> scores, const Execution& execution) const;

    // Fills the scores [nodes] of the first query; 0 where no term is shared or nothing exists.
    void score(const TermQueries& queries, const Presence& presence, const Collection& collection,
               double* scores) const;

    // Counts what exists in this index for each query.
    void count(const TermQueries& queries, const Presence& presence,
               const CollectionOf<std::int64_t>& counts, const Execution& execution) const;

  private:
    class Scorer;

    // Calls `each(scorer, query)` for all queries, on several threads.
    template <class Each>
    void for_queries(std::size_t queries, const Execution& execution, const Each& each) const;

    void check(const TermQueries& queries, const Presence& presence,
               const Collection& collection) const;

    // The nodes that hold a term, ascending.
    Span<const std::int32_t> holders(std::size_t term) const {
        const auto begin = static_cast<std::size_t>(offsets_[term]);
        return {nodes_.data() + begin, static_cast<std::size_t>(offsets_[term + 1]) - begin};
    }

    double weighted(const std::vector<std::int64_t>& lengths) const;

    std::vector<std::int64_t> offsets_;
    std::vector<std::int32_t> nodes_;
    std::vector<float> counts_;
    std::vector<std::int64_t> field_lengths_;  // [fields, nodes]
    std::vector<std::int64_t> totals_;         // [fields]
    std::vector<double> lengths_;              // [nodes], weighted
    std::vector<double> weights_;
    Bm25 formula_;
};

}  // namespace fastrecall
