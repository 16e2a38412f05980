// A typed directed graph as compressed sparse rows, with both directions stored.
//
// Row u of `out()` holds the edges u -> v, row v of `in()` the same edges seen from v. Every row is
// ordered by (higher weight, lower id, lower type): walks take neighbours in that order. Repeated
// edges are kept; they cost memory and change no walk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fastrecall/view.hpp"

namespace fastrecall {

// Bit t set: edges of type t may be used.
using TypeMask = std::uint32_t;
inline constexpr int kEdgeTypes = 32;
inline constexpr TypeMask kAllTypes = ~TypeMask{0};

// What a graph is made from: parallel arrays, one place an edge. `types` empty: all of type 0.
// `weights` empty: all of weight 1.
struct EdgeList {
    Span<const std::int32_t> sources;
    Span<const std::int32_t> targets;
    Span<const std::uint8_t> types;
    Span<const float> weights;
};

// One direction. `types` is empty when all edges share one type, `weights` when all weigh 1.
struct Rows {
    std::vector<std::uint32_t> offsets;  // nodes + 1
    std::vector<std::int32_t> neighbours;
    std::vector<std::uint8_t> types;
    std::vector<float> weights;

    std::uint32_t begin(std::int32_t node) const { return offsets[static_cast<std::size_t>(node)]; }
    std::uint32_t end(std::int32_t node) const {
        return offsets[static_cast<std::size_t>(node) + 1];
    }
    float weight(std::uint32_t edge) const { return weights.empty() ? 1.0f : weights[edge]; }
};

class Csr {
  public:
    // Throws InputError when an id lies outside [0, nodes), a type is not below kEdgeTypes, a
    // weight is not finite, lengths differ, or there are more than 2^32 - 1 edges. Linear in nodes
    // + edges, plus a sort of each row by weight.
    Csr(const EdgeList& edges, std::int32_t nodes);

    std::int32_t nodes() const { return nodes_; }
    std::size_t edges() const { return out_.neighbours.size(); }
    bool weighted() const { return !out_.weights.empty(); }
    const Rows& out() const { return out_; }
    const Rows& in() const { return in_; }

    // Whether an edge may be used under `mask`; `rows` is out() or in().
    bool allows(const Rows& rows, std::uint32_t edge, TypeMask mask) const {
        return (mask >> (rows.types.empty() ? only_type_ : rows.types[edge])) & 1u;
    }
    std::uint8_t type(const Rows& rows, std::uint32_t edge) const {
        return rows.types.empty() ? only_type_ : rows.types[edge];
    }
    // Whether `mask` lets every edge of the graph pass, so that nothing needs to be looked up.
    bool allows_all(TypeMask mask) const { return (present_types_ & ~mask) == 0; }
    // Whether no edge of the graph passes.
    bool allows_none(TypeMask mask) const { return (present_types_ & mask) == 0; }

    std::size_t bytes() const;

  private:
    std::int32_t nodes_;
    Rows out_;
    Rows in_;
    TypeMask present_types_ = 0;
    std::uint8_t only_type_ = 0;
};

}  // namespace fastrecall
