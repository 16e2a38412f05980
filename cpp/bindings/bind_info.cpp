// Versions, instruction sets, and how failures travel.
#include <pybind11/stl.h>

#include <map>
#include <string>

#include "bindings.hpp"
#include "fastrecall/cpu.hpp"
#include "fastrecall/error.hpp"
#include "fastrecall/kernels.hpp"

namespace fastrecall::bindings {

namespace py = pybind11;

namespace {

std::string compiler() {
#if defined(__clang__)
    return "clang " __clang_version__;
#elif defined(__GNUC__)
    return "gcc " __VERSION__;
#elif defined(_MSC_VER)
    return "msvc " + std::to_string(_MSC_FULL_VER);
#else
    return "unknown";
#endif
}

std::map<std::string, std::string> build_info() {
    return {
        {"compiler", compiler()},
        {"flags", FASTRECALL_BUILD_FLAGS},
        {"cxx_standard", std::to_string(__cplusplus)},
        {"pybind11", PYBIND11_TOSTRING(PYBIND11_VERSION_MAJOR) "." PYBIND11_TOSTRING(
                         PYBIND11_VERSION_MINOR) "." PYBIND11_TOSTRING(PYBIND11_VERSION_PATCH)}};
}

}  // namespace

void register_errors(py::module_&) {
    // Never freed: exceptions may still travel while the interpreter shuts down.
    PYBIND11_CONSTINIT static py::gil_safe_call_once_and_store<py::object> input_error;
    input_error.call_once_and_store_result(
        [] { return py::object(py::module_::import("fastrecall.errors").attr("InputError")); });
    py::register_local_exception_translator([](std::exception_ptr failure) {
        try {
            if (failure) std::rethrow_exception(failure);
        } catch (const InputError& error) {
            py::set_error(input_error.get_stored(), error.what());
        }
    });
}

void register_info(py::module_& module) {
    module.attr("__version__") = FASTRECALL_VERSION;
    module.def(
        "isa", [] { return std::string(kernels().isa); }, "Name of the instruction set in use.");
    module.def("available_isas", &available_isas,
               "Instruction sets that this CPU can run, best first.");
    module.def("compiled_isas", &compiled_isas, "Instruction sets compiled in, best first.");
    module.def("build_info", &build_info, "Compiler, flags, C++ standard and pybind11 version.");
}

}  // namespace fastrecall::bindings
