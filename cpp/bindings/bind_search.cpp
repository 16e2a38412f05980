// ExactIndex.
#include <memory>
#include <string>

#include "arrays.hpp"
#include "bindings.hpp"
#include "fastrecall/exact.hpp"

namespace fastrecall::bindings {

Storage storage_named(const std::string& name) {
    if (name == "int8") return Storage::int8;
    if (name == "float16") return Storage::float16;
    if (name == "float32") return Storage::float32;
    throw InputError("storage is '" + name + "'; expected 'int8', 'float16' or 'float32'");
}

const char* name_of(Storage storage) {
    switch (storage) {
        case Storage::int8:
            return "int8";
        case Storage::float16:
            return "float16";
        case Storage::float32:
            break;
    }
    return "float32";
}

namespace {

std::unique_ptr<ExactIndex> make(const py::handle& vectors, const std::string& storage,
                                 int threads) {
    const Array<float> rows = float_rows(vectors, "vectors", false);
    const Storage kind = storage_named(storage);
    const Execution how = execution(threads);
    std::unique_ptr<ExactIndex> index;
    without_gil([&] { index = std::make_unique<ExactIndex>(matrix_view(rows), kind, how); });
    return index;
}

py::tuple search(const ExactIndex& index, const py::handle& queries, py::ssize_t k,
                 const py::object& exclude_offsets, const py::object& exclude_ids,
                 const py::object& mask, int threads) {
    const Array<float> rows = float_rows(queries, "queries", true);
    Filter filter;
    Array<std::int64_t> offsets;
    Array<std::int32_t> excluded;
    if (exclude_offsets.is_none() != exclude_ids.is_none()) {
        throw InputError("exclude_offsets and exclude_ids go together; one of them is None");
    }
    if (!exclude_offsets.is_none()) {
        offsets = integers<std::int64_t>(exclude_offsets, "exclude_offsets");
        excluded = integers<std::int32_t>(exclude_ids, "exclude_ids");
        filter.exclude_offsets = view(offsets);
        filter.exclude_ids = view(excluded);
    }
    const Array<bool> masked = flag_rows(mask, "mask");
    filter.mask = flag_view(masked);
    Array<std::int32_t> ids({rows.shape(0), checked_k(k)});
    Array<float> scores({rows.shape(0), k});
    const Execution how = execution(threads);
    const Matrix<std::int32_t> out_ids = mutable_matrix_view(ids);
    const Matrix<float> out_scores = mutable_matrix_view(scores);
    without_gil([&] { index.search(matrix_view(rows), filter, out_ids, out_scores, how); });
    return py::make_tuple(ids, scores);
}

py::tuple knn_graph(const ExactIndex& index, py::ssize_t k, int threads) {
    const auto size = static_cast<py::ssize_t>(index.size());
    Array<std::int32_t> ids({size, checked_k(k)});
    Array<float> scores({size, k});
    const Execution how = execution(threads);
    const Matrix<std::int32_t> out_ids = mutable_matrix_view(ids);
    const Matrix<float> out_scores = mutable_matrix_view(scores);
    without_gil([&] { index.knn_graph(out_ids, out_scores, how); });
    return py::make_tuple(ids, scores);
}

}  // namespace

void register_search(py::module_& module) {
    py::class_<ExactIndex>(module, "ExactIndex", "Exact cosine search; see fastrecall.ExactIndex.")
        .def(py::init(&make), py::arg("vectors"), py::kw_only(), py::arg("storage") = "int8",
             py::arg("threads") = 1)
        .def_property_readonly("size", &ExactIndex::size)
        .def_property_readonly("dim", &ExactIndex::dim)
        .def_property_readonly("storage",
                               [](const ExactIndex& index) { return name_of(index.storage()); })
        .def_property_readonly("nbytes", &ExactIndex::nbytes)
        .def("search", &search, py::arg("queries"), py::arg("k"), py::kw_only(),
             py::arg("exclude_offsets") = py::none(), py::arg("exclude_ids") = py::none(),
             py::arg("mask") = py::none(), py::arg("threads") = 1)
        .def("knn_graph", &knn_graph, py::arg("k"), py::kw_only(), py::arg("threads") = 1);
}

}  // namespace fastrecall::bindings
