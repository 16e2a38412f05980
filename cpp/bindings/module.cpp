#include "bindings.hpp"

PYBIND11_MODULE(_core, module) {
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
