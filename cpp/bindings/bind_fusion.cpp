// Fusing rankings.
#include <pybind11/stl.h>

#include <string>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "fastrecall/fusion.hpp"

namespace fastrecall::bindings {
namespace {

py::tuple fuse(const std::vector<py::object>& rankings, const std::vector<double>& weights,
               double k, int threads) {
    if (rankings.empty() || rankings.size() != weights.size()) {
        throw InputError("there are " + std::to_string(rankings.size()) + " rankings and " +
                         std::to_string(weights.size()) + " weights; expected one weight each");
    }
    std::vector<Array<std::int32_t>> kept;
    std::vector<WeightedRankings> lists;
    py::ssize_t width = 0;
    for (std::size_t list = 0; list < rankings.size(); ++list) {
        kept.push_back(id_rows(rankings[list], "rankings"));
        if (kept.back().shape(0) != kept.front().shape(0)) {
            throw InputError("ranking " + std::to_string(list) + " is " + describe(kept.back()) +
                             "; expected " + std::to_string(kept.front().shape(0)) + " queries");
        }
        lists.push_back({matrix_view(kept.back()), weights[list]});
        width += kept.back().shape(1);
    }
    Array<std::int32_t> ids({kept.front().shape(0), width});
    Array<float> scores({kept.front().shape(0), width});
    const Execution how = execution(threads);
    const Matrix<std::int32_t> out_ids = mutable_matrix_view(ids);
    const Matrix<float> out_scores = mutable_matrix_view(scores);
    std::size_t longest = 0;
    without_gil([&] { longest = fastrecall::fuse(lists, k, out_ids, out_scores, how); });
    return py::make_tuple(ids, scores, longest);
}

}  // namespace

void register_fusion(py::module_& module) {
    using namespace py::literals;
    module.def("fuse", &fuse, "rankings"_a, "weights"_a, py::kw_only(), "k"_a, "threads"_a = 1);
}

}  // namespace fastrecall::bindings
