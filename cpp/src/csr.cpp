#include "fastrecall/csr.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "fastrecall/error.hpp"

namespace fastrecall {
namespace {

void check(const EdgeList& edges, std::int32_t nodes) {
    const std::size_t count = edges.sources.size;
    if (nodes < 0) {
        throw InputError("nodes is " + std::to_string(nodes) + "; expected 0 or more");
    }
    const auto same_length = [count](std::size_t length, const char* name) {
        if (length != count) {
            throw InputError(std::string(name) + " has " + std::to_string(length) +
                             " entries and sources has " + std::to_string(count) +
                             "; expected one entry an edge in each");
        }
    };
    same_length(edges.targets.size, "targets");
    if (!edges.types.empty()) same_length(edges.types.size, "types");
    if (!edges.weights.empty()) same_length(edges.weights.size, "weights");
    if (count > std::numeric_limits<std::uint32_t>::max()) {
        throw InputError("the graph has " + std::to_string(count) +
                         " edges; expected at most 4294967295");
    }
    const auto inside = [nodes](Span<const std::int32_t> ids, const char* name) {
        for (std::size_t edge = 0; edge < ids.size; ++edge) {
            if (ids[edge] < 0 || ids[edge] >= nodes) {
                throw InputError(std::string(name) + "[" + std::to_string(edge) + "] is " +
                                 std::to_string(ids[edge]) + "; expected a node from 0 to " +
                                 std::to_string(nodes - 1) + " (the graph has " +
                                 std::to_string(nodes) + " nodes)");
            }
        }
    };
    inside(edges.sources, "sources");
    inside(edges.targets, "targets");
    for (std::size_t edge = 0; edge < edges.types.size; ++edge) {
        if (edges.types[edge] >= kEdgeTypes) {
            throw InputError("types[" + std::to_string(edge) + "] is " +
                             std::to_string(int{edges.types[edge]}) + "; expected a type below " +
                             std::to_string(kEdgeTypes));
        }
    }
    for (std::size_t edge = 0; edge < edges.weights.size; ++edge) {
        if (!std::isfinite(edges.weights[edge])) {
            throw InputError("weights[" + std::to_string(edge) + "] is " +
                             std::to_string(edges.weights[edge]) + "; expected a finite number");
        }
    }
}

// Rows by `keys` in a stable counting sort: within a row the order of the input stays.
template <class Key, class Value>
Rows bucket(std::int32_t nodes, std::size_t count, Key key, Value value,
            Span<const std::uint8_t> types, Span<const float> weights) {
    Rows rows;
    rows.offsets.assign(static_cast<std::size_t>(nodes) + 1, 0);
    for (std::size_t edge = 0; edge < count; ++edge) {
        ++rows.offsets[static_cast<std::size_t>(key(edge)) + 1];
    }
    for (std::size_t node = 0; node < static_cast<std::size_t>(nodes); ++node) {
        rows.offsets[node + 1] += rows.offsets[node];
    }
    rows.neighbours.resize(count);
    rows.types.resize(types.size);
    rows.weights.resize(weights.size);
    std::vector<std::uint32_t> next(rows.offsets.begin(), rows.offsets.end() - 1);
    for (std::size_t edge = 0; edge < count; ++edge) {
        const std::uint32_t place = next[static_cast<std::size_t>(key(edge))]++;
        rows.neighbours[place] = value(edge);
        if (!types.empty()) rows.types[place] = types[edge];
        if (!weights.empty()) rows.weights[place] = weights[edge];
    }
    return rows;
}

// The same edges from the other end; rows come out in ascending id, since sources are visited so.
Rows flip(const Rows& rows, std::int32_t nodes) {
    std::int32_t source = 0;
    const auto row_of = [&](std::size_t edge) {
        while (edge >= rows.end(source)) ++source;
        return source;
    };
    const auto neighbour = [&](std::size_t edge) { return rows.neighbours[edge]; };
    return bucket(nodes, rows.neighbours.size(), neighbour, row_of,
                  {rows.types.data(), rows.types.size()},
                  {rows.weights.data(), rows.weights.size()});
}

// Puts rows that are ordered by id into the order (higher weight, lower id, lower type).
void order_rows(Rows& rows, std::int32_t nodes) {
    if (rows.weights.empty() && rows.types.empty()) return;
    struct Edge {
        float weight;
        std::int32_t neighbour;
        std::uint8_t type;
    };
    const auto before = [](const Edge& a, const Edge& b) {
        if (a.weight != b.weight) return a.weight > b.weight;
        if (a.neighbour != b.neighbour) return a.neighbour < b.neighbour;
        return a.type < b.type;
    };
    std::vector<Edge> row;
    for (std::int32_t node = 0; node < nodes; ++node) {
        row.clear();
        for (std::uint32_t edge = rows.begin(node); edge < rows.end(node); ++edge) {
            row.push_back({rows.weight(edge), rows.neighbours[edge],
                           rows.types.empty() ? std::uint8_t{0} : rows.types[edge]});
        }
        std::sort(row.begin(), row.end(), before);
        std::uint32_t place = rows.begin(node);
        for (const Edge& edge : row) {
            rows.neighbours[place] = edge.neighbour;
            if (!rows.types.empty()) rows.types[place] = edge.type;
            if (!rows.weights.empty()) rows.weights[place] = edge.weight;
            ++place;
        }
    }
}

}  // namespace

Csr::Csr(const EdgeList& edges, std::int32_t nodes) : nodes_(nodes) {
    check(edges, nodes);
    for (const std::uint8_t type : edges.types) present_types_ |= TypeMask{1} << type;
    if (edges.types.empty() && edges.sources.size > 0) present_types_ = 1;
    const bool one_type = (present_types_ & (present_types_ - 1)) == 0;
    if (one_type && !edges.types.empty()) only_type_ = edges.types[0];

    const auto types = one_type ? Span<const std::uint8_t>{} : edges.types;
    const auto source = [&](std::size_t edge) { return edges.sources[edge]; };
    const auto target = [&](std::size_t edge) { return edges.targets[edge]; };
    // Bucketing by one end and then by the other sorts each row by id in linear time.
    const Rows by_target = bucket(nodes, edges.sources.size, target, source, types, edges.weights);
    out_ = flip(by_target, nodes);
    in_ = flip(out_, nodes);
    order_rows(out_, nodes);
    order_rows(in_, nodes);
}

std::size_t Csr::bytes() const {
    const auto of = [](const Rows& rows) {
        return rows.offsets.size() * sizeof(std::uint32_t) +
               rows.neighbours.size() * sizeof(std::int32_t) + rows.types.size() +
               rows.weights.size() * sizeof(float);
    };
    return of(out_) + of(in_);
}

}  // namespace fastrecall
