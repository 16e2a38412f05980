// Reciprocal rank fusion: several rankings become one (Cormack, Clarke, Buettcher, SIGIR 2009).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fastrecall/parallel.hpp"
#include "fastrecall/view.hpp"

namespace fastrecall {

// One list for each query: ids best first, negative where there is none, and the list's weight.
struct WeightedRankings {
    Matrix<const std::int32_t> ids;
    double weight;
};

// The score of an id is the sum of weight / (k + rank) over the lists that hold it, ranks from 1,
// where it first stands in each. Shares are added in float64, smallest first, so that the order of
// the lists does not matter; higher score first, then lower id.
//
// All lists have the same rows, and so have `ids` and `scores`, whose columns must be as many as
// those of all lists together; -1 and nan past the end. Returns the length of the longest fused
// list.
std::size_t fuse(const std::vector<WeightedRankings>& lists, double k, Matrix<std::int32_t> ids,
                 Matrix<float> scores, const Execution& execution);

}  // namespace fastrecall
