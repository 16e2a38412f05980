// The border: what comes from Python is checked and becomes plain C++ views here, under the GIL.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "fastrecall/error.hpp"
#include "fastrecall/parallel.hpp"
#include "fastrecall/view.hpp"

namespace fastrecall::bindings {

namespace py = pybind11;

// C-contiguous array of T; made by copying only when the given one is not.
template <class T>
using Array = py::array_t<T, py::array::c_style>;

// "int64 (3, 4)", for error messages.
std::string describe(const py::array& array);

// Real floating-point matrix as float32 rows; float64 is rounded. Integers and booleans are
// refused: they are ids or masks far more often than embeddings. With `allow_row`, one vector
// [d] counts as the matrix [1, d].
Array<float> float_rows(const py::handle& given, const std::string& name, bool allow_row);

// Integer vector as T. Refuses floats, and values that do not fit.
template <class T>
Array<T> integers(const py::handle& given, const std::string& name);

// Whole numbers [rows, columns] as int32; places without an id hold a negative number.
Array<std::int32_t> id_rows(const py::handle& given, const std::string& name);

// Flags as rows, [1, n] or [queries, n]; empty for None.
Array<bool> flag_rows(const py::object& given, const std::string& name);

template <class T>
Span<const T> view(const Array<T>& array) {
    return {array.data(), static_cast<std::size_t>(array.size())};
}

template <class T>
Matrix<const T> matrix_view(const Array<T>& array) {
    return {array.data(), static_cast<std::size_t>(array.shape(0)),
            static_cast<std::size_t>(array.shape(1))};
}

template <class T>
Matrix<T> mutable_matrix_view(Array<T>& array) {
    return {array.mutable_data(), static_cast<std::size_t>(array.shape(0)),
            static_cast<std::size_t>(array.shape(1))};
}

// The rows of `flag_rows` as bytes, nonzero for true; an empty view for None.
Matrix<const std::uint8_t> flag_view(const Array<bool>& flags);

// How many results a search is asked for, at least 1.
py::ssize_t checked_k(py::ssize_t k);

// How a call runs: `threads` checked (at least 1), Ctrl-C noticed about 20 times a second.
Execution execution(int threads);

// Runs compute without the GIL. Safe because everything `work` touches is a plain view of arrays
// that the caller's frame keeps alive. Raises Python's own KeyboardInterrupt on Ctrl-C.
template <class Work>
void without_gil(Work&& work) {
    try {
        const py::gil_scoped_release unlocked;
        work();
    } catch (const Interrupted&) {
        throw py::error_already_set();  // set by PyErr_CheckSignals in the interrupt check
    }
}

}  // namespace fastrecall::bindings
