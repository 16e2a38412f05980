// One register function per topic; module.cpp is their table of contents.
#pragma once

#include <pybind11/pybind11.h>

namespace fastrecall::bindings {

void register_errors(pybind11::module_& module);
void register_graph(pybind11::module_& module);
void register_info(pybind11::module_& module);
void register_search(pybind11::module_& module);

}  // namespace fastrecall::bindings
