// The k nearest neighbours of every vector, each pair of vectors looked at once.
#pragma once

#include <cstdint>

#include "fastrecall/codes.hpp"
#include "fastrecall/parallel.hpp"
#include "fastrecall/row_store.hpp"
#include "fastrecall/view.hpp"

namespace fastrecall {

// Fills ids and scores [rows.size(), k]: what a search for every row would find, the row itself
// left out. Works in blocks of vectors, and every pair of blocks is screened once for both sides.
// Besides the results it needs about 1.5 kB and a coded query a vector (more beyond k = 32).
void knn_graph_by_pairs(const RowStore& rows, const CodedRows& codes, Matrix<std::int32_t> ids,
                        Matrix<float> scores, const Execution& execution);

}  // namespace fastrecall
