#include "arrays.hpp"

#include <chrono>
#include <limits>
#include <memory>

namespace fastrecall::bindings {
namespace {

py::array as_array(const py::handle& given, const std::string& name) {
    py::array array = py::array::ensure(given);
    if (!array) {
        PyErr_Clear();
        throw InputError(name + " is not an array: " + std::string(py::str(py::type::of(given))));
    }
    return array;
}

template <class T>
bool fits(const py::array& array) {
    // Compared in Python's own integers, so that uint64 needs no special case.
    if (array.size() == 0) return true;
    const py::int_ low = py::int_(array.attr("min")()), high = py::int_(array.attr("max")());
    return low >= py::int_(std::numeric_limits<T>::min()) &&
           high <= py::int_(std::numeric_limits<T>::max());
}

}  // namespace

std::string describe(const py::array& array) {
    return std::string(py::str(array.dtype())) + " " +
           std::string(py::str(py::tuple(array.attr("shape"))));
}

Array<float> float_rows(const py::handle& given, const std::string& name, bool allow_row) {
    py::array array = as_array(given, name);
    if (array.dtype().kind() != 'f') {
        throw InputError(name + " is " + describe(array) +
                         "; expected floating-point numbers, convert with .astype('float32')");
    }
    if (allow_row && array.ndim() == 1) {
        array = array.attr("reshape")(1, -1);
    }
    if (array.ndim() != 2 || array.shape(1) == 0) {
        throw InputError(name + " is " + describe(array) + "; expected a matrix [n, d]" +
                         (allow_row ? " or one vector [d]" : "") + " with d of at least 1");
    }
    return Array<float>::ensure(array.attr("astype")("float32", py::arg("copy") = false));
}

template <class T>
Array<T> integers(const py::handle& given, const std::string& name) {
    py::array array = as_array(given, name);
    const char kind = array.dtype().kind();
    const bool empty_list = array.size() == 0 && kind == 'f';  // what numpy makes of []
    if ((kind != 'i' && kind != 'u' && !empty_list) || array.ndim() != 1) {
        throw InputError(name + " is " + describe(array) +
                         "; expected whole numbers, one dimension");
    }
    if (!fits<T>(array)) {
        throw InputError(name + " holds numbers that do not fit in " +
                         std::string(py::str(py::dtype::of<T>())));
    }
    return Array<T>::ensure(array.attr("astype")(py::dtype::of<T>(), py::arg("copy") = false));
}

template Array<std::int32_t> integers(const py::handle&, const std::string&);
template Array<std::int64_t> integers(const py::handle&, const std::string&);
template Array<std::uint8_t> integers(const py::handle&, const std::string&);

Array<std::int32_t> id_rows(const py::handle& given, const std::string& name) {
    const py::array array = py::array::ensure(given);
    if (!array || array.ndim() != 2) {
        PyErr_Clear();
        throw InputError(name + " is " + (array ? describe(array) : std::string("not an array")) +
                         "; expected node ids [queries, places], padded with -1");
    }
    const auto flat = integers<std::int32_t>(array.attr("reshape")(-1), name);
    return flat.attr("reshape")(array.shape(0), array.shape(1));
}

Array<bool> flag_rows(const py::object& given, const std::string& name) {
    if (given.is_none()) return {};
    py::array array = as_array(given, name);
    if (array.dtype().kind() != 'b' || array.ndim() < 1 || array.ndim() > 2) {
        throw InputError(name + " is " + describe(array) +
                         "; expected booleans, [n] or [queries, n]");
    }
    if (array.ndim() == 1) array = array.attr("reshape")(1, -1);
    return Array<bool>::ensure(array);
}

Matrix<const std::uint8_t> flag_view(const Array<bool>& flags) {
    if (flags.ndim() != 2) return {};
    static_assert(sizeof(bool) == 1);
    const Matrix<const bool> bools = matrix_view(flags);
    return {reinterpret_cast<const std::uint8_t*>(bools.data), bools.rows, bools.cols};
}

py::ssize_t checked_k(py::ssize_t k) {
    if (k < 1) throw InputError("k is " + std::to_string(k) + "; expected 1 or more");
    return k;
}

Execution execution(int threads) {
    if (threads < 1) {
        throw InputError("threads is " + std::to_string(threads) + "; expected 1 or more");
    }
    using Clock = std::chrono::steady_clock;
    const auto last = std::make_shared<Clock::time_point>(Clock::now());
    return {static_cast<unsigned>(threads), [last] {
                const Clock::time_point now = Clock::now();
                if (now - *last < std::chrono::milliseconds(50)) return false;
                *last = now;
                const py::gil_scoped_acquire locked;
                return PyErr_CheckSignals() != 0;
            }};
}

}  // namespace fastrecall::bindings
