// One register function per topic; module.cpp is their table of contents.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

#include "fastrecall/exact.hpp"

namespace fastrecall::bindings {

void register_errors(pybind11::module_& module);
void register_fusion(pybind11::module_& module);
void register_graph(pybind11::module_& module);
void register_hnsw(pybind11::module_& module);
void register_info(pybind11::module_& module);
void register_postings(pybind11::module_& module);
void register_search(pybind11::module_& module);

// The ways to keep vectors, by the names that Python uses.
Storage storage_named(const std::string& name);
const char* name_of(Storage storage);

}  // namespace fastrecall::bindings
