// The graph: compressed sparse rows, walks, breadth-first search.
#include <pybind11/stl.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "fastrecall/csr.hpp"
#include "fastrecall/walk.hpp"

namespace fastrecall::bindings {
namespace {

// A few hundred microseconds of walking, so that handing out chunks costs nothing.
constexpr std::size_t kQueriesPerChunk = 8;

using Ids = Array<std::int32_t>;

WalkOrder walk_order(const std::string& name) {
    if (name == "seed") return WalkOrder::seed;
    if (name == "depth") return WalkOrder::depth;
    throw InputError("order is '" + name + "'; expected 'seed' or 'depth'");
}

class PyGraph {
  public:
    PyGraph(const py::handle& sources, const py::handle& targets, const py::object& types,
            const py::object& weights, std::optional<std::int64_t> nodes) {
        const Ids from = integers<std::int32_t>(sources, "sources");
        const Ids to = integers<std::int32_t>(targets, "targets");
        const auto kinds =
            types.is_none() ? Array<std::uint8_t>(0) : integers<std::uint8_t>(types, "types");
        const auto loads = weights.is_none() ? Array<float>(0) : float_row(weights, "weights");
        if (!types.is_none()) same_length(kinds.size(), from.size(), "types");
        if (!weights.is_none()) same_length(loads.size(), from.size(), "weights");
        const EdgeList edges{view(from), view(to), view(kinds), view(loads)};
        const std::int64_t count = nodes ? *nodes : nodes_named_by(edges);
        if (count < 0 || count > std::numeric_limits<std::int32_t>::max()) {
            throw InputError("nodes is " + std::to_string(count) +
                             "; expected a count from 0 to 2147483647");
        }
        without_gil([&] {
            graph_ = std::make_unique<Csr>(edges, static_cast<std::int32_t>(count));
            scratches_ = std::make_unique<WalkScratchPool>(*graph_);
        });
    }

    const Csr& csr() const { return *graph_; }

    py::tuple walk(const py::handle& seeds_given, std::int64_t depth,
                   std::optional<std::int64_t> budget, const std::string& order, TypeMask types,
                   bool undirected, const py::object& exclude_offsets,
                   const py::object& exclude_ids, int threads) {
        const Ids seeds = id_rows(seeds_given, "seeds");
        check_nodes(view(seeds), "seeds");
        WalkOptions options;
        options.order = walk_order(order);
        options.depth = static_cast<std::int32_t>(std::min<std::int64_t>(
            at_least_0(depth, "depth"), std::numeric_limits<std::int32_t>::max()));
        options.budget = budget ? at_least_0(*budget, "budget") : -1;
        options.types = types;
        options.undirected = undirected;

        const auto queries = static_cast<std::size_t>(seeds.shape(0));
        const bool excludes = !exclude_offsets.is_none();
        const auto offsets = excludes ? integers<std::int64_t>(exclude_offsets, "exclude_offsets")
                                      : Array<std::int64_t>(0);
        const auto excluded =
            excludes ? integers<std::int32_t>(exclude_ids, "exclude_ids") : Ids(0);
        if (excludes) check_exclusions(view(offsets), view(excluded), queries);

        const std::size_t chunks = (queries + kQueriesPerChunk - 1) / kQueriesPerChunk;
        std::vector<WalkResult> found = scratches_->take_results(chunks);
        const Matrix<const std::int32_t> seed_rows = matrix_view(seeds);
        const Span<const std::int64_t> starts = view(offsets);
        const Span<const std::int32_t> barred = view(excluded);
        const Execution how = execution(threads);
        std::size_t width = budget ? static_cast<std::size_t>(*budget) : 0;
        without_gil([&] {
            parallel_for(queries, kQueriesPerChunk, how,
                         [&](std::size_t begin, std::size_t end, unsigned) {
                             auto scratch = scratches_->take();
                             WalkResult& result = found[begin / kQueriesPerChunk];
                             for (std::size_t query = begin; query < end; ++query) {
                                 Span<const std::int32_t> without;
                                 if (excludes) {
                                     const auto first = static_cast<std::size_t>(starts[query]);
                                     const auto last = static_cast<std::size_t>(starts[query + 1]);
                                     without = {barred.data + first, last - first};
                                 }
                                 fastrecall::walk(*graph_, {seed_rows.row(query), seed_rows.cols},
                                                  without, options, *scratch, result);
                             }
                             scratches_->give(std::move(scratch));
                         });
            for (const WalkResult& result : found) {
                std::size_t begin = 0;
                for (const WalkResult::Query& query : result.queries) {
                    width = std::max(width, query.end - std::exchange(begin, query.end));
                }
            }
        });

        Ids ids({queries, width});
        Ids origins({queries, width});
        const auto id_rows = mutable_matrix_view(ids);
        const auto origin_rows = mutable_matrix_view(origins);
        without_gil([&] {
            parallel_for(chunks, 1, how, [&](std::size_t first, std::size_t last, unsigned) {
                for (std::size_t chunk = first; chunk < last; ++chunk) {
                    write_rows(found[chunk], chunk * kQueriesPerChunk, id_rows, origin_rows);
                }
            });
            scratches_->give(std::move(found));
        });
        return py::make_tuple(ids, origins);
    }

    Ids bfs(std::int64_t source, TypeMask types, bool undirected) const {
        const std::int32_t start = node(source, "source");
        Ids depths(graph_->nodes());
        std::int32_t* const out = depths.mutable_data();
        without_gil([&] { fastrecall::bfs(*graph_, start, types, undirected, out); });
        return depths;
    }

    py::tuple neighbours(std::int64_t of, bool backwards) const {
        const std::int32_t row = node(of, "node");
        const Rows& rows = backwards ? graph_->in() : graph_->out();
        const std::uint32_t begin = rows.begin(row);
        const auto count = static_cast<py::ssize_t>(rows.end(row) - begin);
        Ids ids(count);
        Array<std::uint8_t> types(count);
        Array<float> weights(count);
        for (py::ssize_t place = 0; place < count; ++place) {
            const std::uint32_t edge = begin + static_cast<std::uint32_t>(place);
            ids.mutable_at(place) = rows.neighbours[edge];
            types.mutable_at(place) = graph_->type(rows, edge);
            weights.mutable_at(place) = rows.weight(edge);
        }
        return py::make_tuple(ids, types, weights);
    }

  private:
    // What the queries from `row` on found, padded to the width of the matrices.
    static void write_rows(const WalkResult& result, std::size_t row, Matrix<std::int32_t> ids,
                           Matrix<std::int32_t> origins) {
        std::size_t begin = 0;
        std::size_t run = 0;
        for (const WalkResult::Query& query : result.queries) {
            std::int32_t* const id_row = ids.row(row);
            std::fill(std::copy_n(result.nodes.data() + begin, query.end - begin, id_row),
                      id_row + ids.cols, -1);
            std::int32_t* const origin_row = origins.row(row);
            std::int32_t* origin = origin_row;
            for (; run < query.runs; ++run) {
                std::int32_t* const end = origin_row + (result.runs[run].end - begin);
                std::fill(origin, end, result.runs[run].origin);
                origin = end;
            }
            std::fill(origin, origin_row + origins.cols, 0);
            begin = query.end;
            ++row;
        }
    }

    static std::int64_t nodes_named_by(const EdgeList& edges) {
        std::int32_t highest = -1;
        for (const std::int32_t id : edges.sources) highest = std::max(highest, id);
        for (const std::int32_t id : edges.targets) highest = std::max(highest, id);
        return std::int64_t{highest} + 1;
    }

    static Array<float> float_row(const py::handle& given, const std::string& name) {
        const py::array array = py::array::ensure(given);
        if (!array || array.ndim() != 1 ||
            (array.dtype().kind() != 'f' && array.dtype().kind() != 'i')) {
            PyErr_Clear();
            throw InputError(name + " is " +
                             (array ? describe(array) : std::string("not an array")) +
                             "; expected numbers, one an edge");
        }
        return Array<float>::ensure(array.attr("astype")("float32", py::arg("copy") = false));
    }

    static void same_length(py::ssize_t length, py::ssize_t edges, const std::string& name) {
        if (length != edges) {
            throw InputError(name + " has " + std::to_string(length) + " entries and sources has " +
                             std::to_string(edges) + "; expected one entry an edge in each");
        }
    }

    static std::int64_t at_least_0(std::int64_t value, const std::string& name) {
        if (value < 0) {
            throw InputError(name + " is " + std::to_string(value) + "; expected 0 or more");
        }
        return value;
    }

    std::int32_t node(std::int64_t id, const std::string& name) const {
        if (id < 0 || id >= graph_->nodes()) throw InputError(name + outside(id));
        return static_cast<std::int32_t>(id);
    }

    std::string outside(std::int64_t id) const {
        return " is " + std::to_string(id) + "; the graph has " + std::to_string(graph_->nodes()) +
               " nodes, numbered from 0";
    }

    // Ids below 0 are padding.
    void check_nodes(Span<const std::int32_t> ids, const std::string& name) const {
        for (const std::int32_t id : ids) {
            if (id >= graph_->nodes()) throw InputError("a node in " + name + outside(id));
        }
    }

    void check_exclusions(Span<const std::int64_t> offsets, Span<const std::int32_t> ids,
                          std::size_t queries) const {
        const bool whole = offsets.size == queries + 1 && offsets[0] == 0 &&
                           offsets[queries] == static_cast<std::int64_t>(ids.size) &&
                           std::is_sorted(offsets.begin(), offsets.end());
        if (!whole) {
            throw InputError("exclude_offsets does not fit; expected " +
                             std::to_string(queries + 1) + " offsets from 0 to " +
                             std::to_string(ids.size) + ", ascending");
        }
        check_nodes(ids, "exclude");
        for (const std::int32_t id : ids) {
            if (id < 0) throw InputError("a node in exclude" + outside(id));
        }
    }

    std::unique_ptr<Csr> graph_;
    std::unique_ptr<WalkScratchPool> scratches_;
};

}  // namespace

void register_graph(py::module_& module) {
    using namespace py::literals;
    py::class_<PyGraph>(module, "Graph")
        .def(py::init<const py::handle&, const py::handle&, const py::object&, const py::object&,
                      std::optional<std::int64_t>>(),
             "sources"_a, "targets"_a, py::kw_only(), "types"_a = py::none(),
             "weights"_a = py::none(), "nodes"_a = py::none())
        .def_property_readonly("nodes", [](const PyGraph& graph) { return graph.csr().nodes(); })
        .def_property_readonly("edges", [](const PyGraph& graph) { return graph.csr().edges(); })
        .def_property_readonly("nbytes", [](const PyGraph& graph) { return graph.csr().bytes(); })
        .def("walk", &PyGraph::walk, "seeds"_a, py::kw_only(), "depth"_a, "budget"_a, "order"_a,
             "types"_a = kAllTypes, "undirected"_a = false, "exclude_offsets"_a = py::none(),
             "exclude_ids"_a = py::none(), "threads"_a = 1)
        .def("bfs", &PyGraph::bfs, "source"_a, py::kw_only(), "types"_a = kAllTypes,
             "undirected"_a = false)
        .def("neighbours", &PyGraph::neighbours, "node"_a, py::kw_only(), "backwards"_a = false);
}

}  // namespace fastrecall::bindings
