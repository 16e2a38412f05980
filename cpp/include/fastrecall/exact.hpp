// Exact cosine search: the k best of all vectors, and the k nearest neighbours of every vector.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fastrecall/codes.hpp"
#include "fastrecall/parallel.hpp"
#include "fastrecall/row_store.hpp"
#include "fastrecall/view.hpp"

namespace fastrecall {

class Permission;

enum class Storage { int8, float16, float32 };

// What a search leaves out. Empty views mean that nothing is.
struct Filter {
    // Ids that query i must not return: ids[offsets[i] .. offsets[i + 1]).
    Span<const std::int64_t> exclude_offsets;
    Span<const std::int32_t> exclude_ids;
    // Nonzero where an id may be returned: one row for all queries, or a row for each.
    Matrix<const std::uint8_t> mask;
};

// A score is float32(float64 dot product of the two unit vectors); `Kernels::dot_f64` fixes the
// order of the sum. Rankings are by score, then id. Both are therefore the same bits on every
// instruction set, thread count and batch size.
//
// Most of the work is done by screens that are faster and less exact: on codes (Storage::int8) or
// in float32. They come with bounds, and whatever can still be among the k best by its bound is
// scored as above. The screen decides how long a search takes, never what it returns.
class ExactIndex {
  public:
    ExactIndex(Matrix<const float> vectors, Storage storage, const Execution& execution);

    std::size_t size() const { return rows_.size(); }
    std::size_t dim() const { return rows_.dim(); }
    Storage storage() const { return storage_; }
    std::size_t nbytes() const { return rows_.nbytes() + codes_.nbytes(); }

    // Fills ids and scores [queries, k]; -1 and nan past the end. k is their number of columns.
    void search(Matrix<const float> queries, const Filter& filter, Matrix<std::int32_t> ids,
                Matrix<float> scores, const Execution& execution) const;

    // Fills ids and scores [size, k] with the nearest other vectors.
    void knn_graph(Matrix<std::int32_t> ids, Matrix<float> scores,
                   const Execution& execution) const;

  private:
    // For queries that are unit rows already, the first of which `permission` knows by that number.
    void search_units(const float* units, std::size_t first_query, const Permission& permission,
                      Matrix<std::int32_t> ids, Matrix<float> scores,
                      const Execution& execution) const;

    Storage storage_;
    RowStore rows_;
    CodedRows codes_;  // empty unless Storage::int8
};

}  // namespace fastrecall
