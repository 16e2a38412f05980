// What may still be among the k best of a query, while vectors are being screened.
//
// Screens append (id, key) pairs that reach the query's threshold. Now and then a list is tidied:
// the k-th best lower bound becomes the threshold, and what cannot reach it any more is dropped.
// Where that does not free half of the list (ties, data that defeats the bounds), its entries are
// scored exactly on the spot. Memory per query is therefore fixed, whatever the data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "fastrecall/aligned.hpp"
#include "fastrecall/codes.hpp"
#include "fastrecall/exact.hpp"
#include "fastrecall/kernels.hpp"
#include "fastrecall/row_store.hpp"
#include "fastrecall/topk.hpp"

namespace fastrecall {

// What each query may return, in a form that is quick to ask.
class Permission {
  public:
    Permission(const Filter& filter, std::size_t queries);

    // For queries that are the vectors themselves: query q must not find vector q.
    static Permission others();

    bool everything() const { return all_; }
    bool allows(std::size_t query, std::int32_t id) const;

  private:
    Permission() = default;

    bool all_ = false, others_ = false;
    Matrix<const std::uint8_t> mask_;
    Span<const std::int64_t> offsets_;
    std::vector<std::int32_t> excluded_;  // sorted within each query
};

// Everything about a search that its lists need to know; shared by all workers.
struct SearchContext {
    const RowStore& rows;    // what is searched
    const float* residuals;  // of the codes; nullptr where keys come from the rows themselves
    const float* queries;    // unit rows, padded as `rows`
    const KeyBound* bounds;  // per query
    const Permission& permission;
    std::size_t first_query;  // number that `permission` knows the first query by
    std::size_t k;
};

class Shortlists {
  public:
    static constexpr std::size_t kUsualLength = 512;

    // Lists for queries [first, first + count) of the context. `room`: how many pairs one screen
    // may add to a list before `tidy` is called. `length`: how many a list may hold before it is
    // worth tidying; longer lists are tidied less often and score fewer vectors in vain.
    Shortlists(const SearchContext& context, std::size_t first, std::size_t count, std::size_t room,
               std::size_t length = kUsualLength);

    // For the kernels.
    Sink* sinks() { return sinks_.data(); }
    const float* thresholds() const { return thresholds_.data(); }

    // Lets nothing into a list any more.
    void close(std::size_t list) { thresholds_[list] = std::numeric_limits<float>::infinity(); }

    // To be called after each screen: makes room again in the lists that need it.
    void tidy(std::size_t begin, std::size_t end) {
        for (std::size_t list = begin; list < end; ++list) {
            if (sinks_[list].count > base_) shrink(list);
        }
    }

    // Scores what is left and returns the best of the list, unordered. Different lists may be
    // finished by different threads at once.
    const std::vector<Hit>& finish(std::size_t list);

  private:
    void keep_allowed(std::size_t list);
    void raise_threshold(std::size_t list);
    void shrink(std::size_t list);
    void score_all(std::size_t list);

    const SearchContext& context_;
    std::size_t first_;
    std::size_t base_, capacity_;
    AlignedArray<std::int32_t> ids_;
    AlignedArray<float> keys_, thresholds_;
    std::vector<Sink> sinks_;
    std::vector<std::vector<Hit>> best_;  // heaps, the worst in front
};

}  // namespace fastrecall
