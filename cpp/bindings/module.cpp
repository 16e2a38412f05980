#include "bindings.hpp"

// Needs no GIL: every object locks what may change (`access.hpp`), the others never change.
PYBIND11_MODULE(_core, module, pybind11::mod_gil_not_used()) {
    using namespace fastrecall::bindings;
    module.doc() = "The C++ engine of fastrecall.";
    register_errors(module);
    register_fusion(module);
    register_graph(module);
    register_hnsw(module);
    register_info(module);
    register_postings(module);
    register_search(module);
}
