// Walks from seeds along the edges of a graph, bound in depth and budget, and full breadth-first
// search. Everything here is deterministic: ties go to the higher weight, then to the lower id.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "fastrecall/csr.hpp"

namespace fastrecall {

enum class WalkOrder {
    // Seeds in rank order: each emits itself, then breadth-first what it reaches within the depth,
    // skipping what was emitted before. Reach does not depend on earlier seeds: an emitted node is
    // passed through again, since this seed may come to it on a shorter way.
    seed,
    // All seeds at once, by (depth, seed rank, weight of the discovering edge, id).
    depth,
};

struct WalkOptions {
    WalkOrder order = WalkOrder::seed;
    std::int32_t depth = 0;
    std::int64_t budget = -1;  // most nodes emitted; below 0: no bound
    TypeMask types = kAllTypes;
    bool undirected = false;  // also walk edges backwards
};

// What one query found, in the order of emission. origins[i] is the place (from 1) in the query's
// seeds of the seed that led to nodes[i].
struct WalkResult {
    std::vector<std::int32_t> nodes;
    std::vector<std::int32_t> origins;
};

// What a walk marks and queues; reused, so that a query costs what it touches and never O(nodes).
class WalkScratch {
  public:
    explicit WalkScratch(std::int32_t nodes);

  private:
    friend class QueryWalk;
    struct Mark {
        std::uint32_t stamp = 0;
        float weight = 0;
    };
    std::vector<Mark> marks_;
    std::uint32_t stamp_ = 0;
    std::vector<std::int32_t> queue_;
    std::vector<std::uint64_t> level_;
    WalkResult found_;
};

// Scratches of one graph, lent to the threads that walk.
class WalkScratchPool {
  public:
    explicit WalkScratchPool(std::int32_t nodes) : nodes_(nodes) {}
    std::unique_ptr<WalkScratch> take();
    void give(std::unique_ptr<WalkScratch> scratch);

  private:
    std::int32_t nodes_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<WalkScratch>> idle_;
};

// One walk. `seeds` by rank, places below 0 skipped; `excluded` nodes are neither emitted nor
// passed through. All ids must lie below graph.nodes().
WalkResult walk(const Csr& graph, Span<const std::int32_t> seeds, Span<const std::int32_t> excluded,
                const WalkOptions& options, WalkScratch& scratch);

// Depth of every node from `source`, -1 where it is not reached. Direction-optimising: wide levels
// are found from the side of the unreached nodes, which stop at their first reached neighbour.
void bfs(const Csr& graph, std::int32_t source, TypeMask types, bool undirected,
         std::int32_t* depths);

}  // namespace fastrecall
