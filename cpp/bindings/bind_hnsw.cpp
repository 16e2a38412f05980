// HNSW.
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "fastrecall/hnsw.hpp"

namespace fastrecall::bindings {
namespace {

std::int32_t small_number(std::int64_t value, const char* name) {
    if (value < std::numeric_limits<std::int32_t>::min() ||
        value > std::numeric_limits<std::int32_t>::max()) {
        throw InputError(std::string(name) + " is " + std::to_string(value) +
                         ", which does not fit in int32");
    }
    return static_cast<std::int32_t>(value);
}

class PyHnsw {
  public:
    PyHnsw(std::int64_t dim, std::int64_t m, std::int64_t ef_construction,
           const std::string& storage, std::uint64_t seed) {
        HnswOptions options;
        options.dim = dim < 0 ? 0 : static_cast<std::size_t>(dim);
        options.m = small_number(m, "m");
        options.ef_construction = small_number(ef_construction, "ef_construction");
        options.storage = storage_named(storage);
        options.seed = seed;
        index_ = std::make_unique<Hnsw>(options);
    }

    // The bytes of a saved index; they stay alive as long as the index does.
    static std::unique_ptr<PyHnsw> load(const py::array_t<std::uint8_t, py::array::c_style>& file,
                                        const std::string& name, int threads) {
        const Span<const std::uint8_t> bytes{file.data(), static_cast<std::size_t>(file.size())};
        const Execution how = execution(threads);
        std::unique_ptr<Hnsw> index;
        without_gil([&] { index = Hnsw::load(bytes, name, how); });
        return std::unique_ptr<PyHnsw>(new PyHnsw(std::move(index), file));
    }

    const HnswOptions& options() const { return index_->options(); }
    HnswCounters counters() const { return index_->counters(); }

    // Asked without the GIL: the answer may have to wait for a change in another thread, which
    // takes the GIL now and then to look for Ctrl-C.
    template <class Answer>
    auto ask(Answer (Hnsw::*question)() const) const {
        const py::gil_scoped_release unlocked;
        return (*index_.*question)();
    }

    void add(const py::handle& vectors, const py::object& ids, int threads) {
        const Array<float> rows = float_rows(vectors, "vectors", false);
        Array<std::int32_t> given;
        Span<const std::int32_t> names;
        if (!ids.is_none()) {
            given = integers<std::int32_t>(ids, "ids");
            // An empty list of ids is a list all the same.
            static constexpr std::int32_t kNone = 0;
            names = given.size() == 0 ? Span<const std::int32_t>{&kNone, 0} : view(given);
        }
        const Execution how = execution(threads);
        without_gil([&] { index_->add(matrix_view(rows), names, how); });
    }

    py::tuple search(const py::handle& queries, std::int64_t k, const py::handle& ef,
                     const py::object& mask, int threads) const {
        const Array<float> rows = float_rows(queries, "queries", true);
        if (k < 1) throw InputError("k is " + std::to_string(k) + "; expected 1 or more");
        const Array<std::int32_t> efs = integers<std::int32_t>(ef, "ef");
        Array<bool> masked;
        Span<const std::uint8_t> allowed;
        if (!mask.is_none()) {
            const py::array array = py::array::ensure(mask);
            if (!array || array.dtype().kind() != 'b' || array.ndim() != 1) {
                PyErr_Clear();
                throw InputError("mask is " +
                                 (array ? describe(array) : std::string("not an array")) +
                                 "; expected booleans, one for each id");
            }
            masked = Array<bool>::ensure(array);
            static_assert(sizeof(bool) == 1);
            static constexpr std::uint8_t kNone = 0;
            const auto size = static_cast<std::size_t>(masked.size());
            allowed = {size == 0 ? &kNone : reinterpret_cast<const std::uint8_t*>(masked.data()),
                       size};
        }
        Array<std::int32_t> ids({rows.shape(0), static_cast<py::ssize_t>(k)});
        Array<float> scores({rows.shape(0), static_cast<py::ssize_t>(k)});
        const Execution how = execution(threads);
        const Matrix<std::int32_t> out_ids = mutable_matrix_view(ids);
        const Matrix<float> out_scores = mutable_matrix_view(scores);
        without_gil([&] {
            index_->search(matrix_view(rows), view(efs), allowed, out_ids, out_scores, how);
        });
        return py::make_tuple(ids, scores);
    }

    void remove(const py::handle& ids) {
        const Array<std::int32_t> given = integers<std::int32_t>(ids, "ids");
        without_gil([&] { index_->remove(view(given)); });
    }

    void compact(int threads) {
        const Execution how = execution(threads);
        without_gil([&] { index_->compact(how); });
    }

    Array<std::int32_t> ids() const {
        const std::vector<std::int32_t> live = ask(&Hnsw::ids);
        return Array<std::int32_t>(static_cast<py::ssize_t>(live.size()), live.data());
    }

    void save(const py::object& write) const {
        // The lock that saving holds is never waited for by a thread that holds the GIL.
        const py::gil_scoped_release unlocked;
        index_->save([&write](const void* data, std::size_t bytes) {
            const py::gil_scoped_acquire locked;
            write(py::memoryview::from_memory(data, static_cast<py::ssize_t>(bytes)));
        });
    }

  private:
    PyHnsw(std::unique_ptr<Hnsw> index, py::object file)
        : file_(std::move(file)), index_(std::move(index)) {}

    py::object file_;  // outlives the index that looks at it
    std::unique_ptr<Hnsw> index_;
};

}  // namespace

void register_hnsw(py::module_& module) {
    using namespace py::literals;
    py::class_<PyHnsw>(module, "HNSW", "Approximate cosine search; see fastrecall.HNSW.")
        .def(
            py::init<std::int64_t, std::int64_t, std::int64_t, const std::string&, std::uint64_t>(),
            "dim"_a, py::kw_only(), "m"_a, "ef_construction"_a, "storage"_a, "seed"_a)
        .def_static("load", &PyHnsw::load, "file"_a, py::kw_only(), "name"_a, "threads"_a = 1)
        .def_property_readonly("size", [](const PyHnsw& self) { return self.ask(&Hnsw::size); })
        .def_property_readonly("deleted",
                               [](const PyHnsw& self) { return self.ask(&Hnsw::deleted); })
        .def_property_readonly("nbytes", [](const PyHnsw& self) { return self.ask(&Hnsw::nbytes); })
        .def_property_readonly("dim", [](const PyHnsw& self) { return self.options().dim; })
        .def_property_readonly("m", [](const PyHnsw& self) { return self.options().m; })
        .def_property_readonly("ef_construction",
                               [](const PyHnsw& self) { return self.options().ef_construction; })
        .def_property_readonly("seed", [](const PyHnsw& self) { return self.options().seed; })
        .def_property_readonly("storage",
                               [](const PyHnsw& self) { return name_of(self.options().storage); })
        .def_property_readonly("counters",
                               [](const PyHnsw& self) {
                                   const HnswCounters counters = self.counters();
                                   return py::make_tuple(counters.searches, counters.visited,
                                                         counters.distances);
                               })
        .def_property_readonly("ids", &PyHnsw::ids)
        .def("add", &PyHnsw::add, "vectors"_a, py::kw_only(), "ids"_a = py::none(), "threads"_a = 1)
        .def("search", &PyHnsw::search, "queries"_a, "k"_a, py::kw_only(), "ef"_a,
             "mask"_a = py::none(), "threads"_a = 1)
        .def("remove", &PyHnsw::remove, "ids"_a)
        .def("compact", &PyHnsw::compact, py::kw_only(), "threads"_a = 1)
        .def("save", &PyHnsw::save, "write"_a);
}

}  // namespace fastrecall::bindings
