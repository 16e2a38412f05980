// Postings: keyword search.
#include <memory>

#include "arrays.hpp"
#include "bindings.hpp"
#include "fastrecall/postings.hpp"

namespace fastrecall::bindings {
namespace {

using Ids = Array<std::int32_t>;
using Offsets = Array<std::int64_t>;

std::unique_ptr<Postings> make(const py::handle& offsets, const py::handle& nodes,
                               const Array<float>& counts, const Offsets& lengths,
                               const Array<double>& weights, double k1, double b) {
    if (counts.ndim() != 1 || lengths.ndim() != 2 || weights.ndim() != 1) {
        throw InputError("counts is " + describe(counts) + ", lengths is " + describe(lengths) +
                         " and weights is " + describe(weights) +
                         "; expected one, two and one dimensions");
    }
    const auto starts = integers<std::int64_t>(offsets, "offsets");
    const auto ids = integers<std::int32_t>(nodes, "nodes");
    return std::make_unique<Postings>(view(starts), view(ids), view(counts), matrix_view(lengths),
                                      view(weights), Bm25{k1, b});
}

// The arguments that `search` and `scores` share, checked and kept alive.
struct Question {
    Question(const py::handle& offsets, const py::handle& terms, const py::handle& times,
             const py::object& exclude_offsets, const py::object& exclude_ids,
             const py::object& visible, const py::object& mask)
        : offsets_(integers<std::int64_t>(offsets, "offsets")),
          terms_(integers<std::int32_t>(terms, "terms")),
          times_(integers<std::int32_t>(times, "times")),
          visible_(flag_rows(visible, "visible")),
          mask_(flag_rows(mask, "mask")) {
        if (exclude_offsets.is_none() != exclude_ids.is_none()) {
            throw InputError("exclude_offsets and exclude_ids go together; one of them is None");
        }
        if (!exclude_offsets.is_none()) {
            exclude_offsets_ = integers<std::int64_t>(exclude_offsets, "exclude_offsets");
            exclude_ids_ = integers<std::int32_t>(exclude_ids, "exclude_ids");
        }
        queries = {view(offsets_), view(terms_), view(times_)};
        presence = {view(exclude_offsets_), view(exclude_ids_), flag_view(visible_),
                    flag_view(mask_)};
    }

    TermQueries queries;
    Presence presence;

  private:
    Offsets offsets_, exclude_offsets_;
    Ids terms_, times_, exclude_ids_;
    Array<bool> visible_, mask_;
};

// The counts of a collection as `count` returns them, kept alive; None for those of the index.
class Counts {
  public:
    explicit Counts(const py::object& given) {
        if (given.is_none()) return;
        const auto parts = py::cast<py::tuple>(given);
        if (parts.size() != 3) throw InputError("collection has no three parts; see `count`");
        sizes_ = integers<std::int64_t>(parts[0], "collection sizes");
        lengths_ = py::cast<Offsets>(parts[1]);
        holders_ = integers<std::int64_t>(parts[2], "collection holders");
        if (lengths_.ndim() != 2) {
            throw InputError("collection lengths is " + describe(lengths_) +
                             "; expected [queries, fields]");
        }
        collection = {view(sizes_), matrix_view(lengths_), view(holders_)};
    }

    Collection collection;

  private:
    Offsets sizes_, lengths_, holders_;
};

py::tuple search(const Postings& postings, const py::handle& offsets, const py::handle& terms,
                 const py::handle& times, py::ssize_t k, const py::object& exclude_offsets,
                 const py::object& exclude_ids, const py::object& visible, const py::object& mask,
                 const py::object& collection, int threads) {
    const Question question(offsets, terms, times, exclude_offsets, exclude_ids, visible, mask);
    const Counts counts(collection);
    const std::size_t rows = question.queries.offsets.size;
    Ids ids({static_cast<py::ssize_t>(rows == 0 ? 0 : rows - 1), checked_k(k)});
    Array<float> scores({ids.shape(0), k});
    const Execution how = execution(threads);
    const Matrix<std::int32_t> out_ids = mutable_matrix_view(ids);
    const Matrix<float> out_scores = mutable_matrix_view(scores);
    without_gil([&] {
        postings.search(question.queries, question.presence, counts.collection, out_ids, out_scores,
                        how);
    });
    return py::make_tuple(ids, scores);
}

py::tuple count(const Postings& postings, const py::handle& offsets, const py::handle& terms,
                const py::object& exclude_offsets, const py::object& exclude_ids,
                const py::object& visible, int threads) {
    const Question question(offsets, terms, terms, exclude_offsets, exclude_ids, visible,
                            py::none());
    const std::size_t rows = question.queries.offsets.size;
    Offsets sizes(static_cast<py::ssize_t>(rows == 0 ? 0 : rows - 1));
    Offsets lengths({sizes.size(), static_cast<py::ssize_t>(postings.fields())});
    Offsets holders(static_cast<py::ssize_t>(question.queries.terms.size));
    const Execution how = execution(threads);
    const CollectionOf<std::int64_t> counts{
        {sizes.mutable_data(), static_cast<std::size_t>(sizes.size())},
        mutable_matrix_view(lengths),
        {holders.mutable_data(), static_cast<std::size_t>(holders.size())}};
    without_gil([&] { postings.count(question.queries, question.presence, counts, how); });
    return py::make_tuple(sizes, lengths, holders);
}

Array<double> scores(const Postings& postings, const py::handle& terms, const py::handle& times,
                     const py::object& exclude_ids, const py::object& visible,
                     const py::object& collection) {
    const auto until = [](const py::handle& list) {
        py::array_t<std::int64_t> offsets(2);
        offsets.mutable_at(0) = 0;
        offsets.mutable_at(1) = static_cast<std::int64_t>(py::len(list));
        return offsets;
    };
    const py::object excluded_offsets =
        exclude_ids.is_none() ? py::object(py::none()) : py::object(until(exclude_ids));
    const Question question(until(terms), terms, times, excluded_offsets, exclude_ids, visible,
                            py::none());
    const Counts counts(collection);
    Array<double> out(static_cast<py::ssize_t>(postings.nodes()));
    double* const data = out.mutable_data();
    without_gil(
        [&] { postings.score(question.queries, question.presence, counts.collection, data); });
    return out;
}

}  // namespace

void register_postings(py::module_& module) {
    using namespace py::literals;
    py::class_<Postings>(module, "Postings", "Keyword search; see fastrecall.search.bm25.")
        .def(py::init(&make), "offsets"_a, "nodes"_a, "counts"_a, "lengths"_a, "weights"_a,
             py::kw_only(), "k1"_a, "b"_a)
        .def_property_readonly("nodes", &Postings::nodes)
        .def_property_readonly("terms", &Postings::terms)
        .def("search", &search, "offsets"_a, "terms"_a, "times"_a, "k"_a, py::kw_only(),
             "exclude_offsets"_a = py::none(), "exclude_ids"_a = py::none(),
             "visible"_a = py::none(), "mask"_a = py::none(), "collection"_a = py::none(),
             "threads"_a = 1)
        .def("count", &count, "offsets"_a, "terms"_a, py::kw_only(),
             "exclude_offsets"_a = py::none(), "exclude_ids"_a = py::none(),
             "visible"_a = py::none(), "threads"_a = 1)
        .def("scores", &scores, "terms"_a, "times"_a, py::kw_only(), "exclude_ids"_a = py::none(),
             "visible"_a = py::none(), "collection"_a = py::none());
}

}  // namespace fastrecall::bindings
