// Walks from seeds along the edges of a graph, bound in depth and budget, and full breadth-first
// search. Everything here is deterministic: ties go to the higher weight, then to the lower id.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "fastrecall/csr.hpp"
#include "fastrecall/idle.hpp"

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

// What queries found, one after the other, each in the order of emission. Nodes that one seed led
// to stand together: a run ends before place `end` and begins where the one before it ends.
struct WalkResult {
    struct Run {
        std::size_t end;      // in nodes
        std::int32_t origin;  // place (from 1) of the seed in the query's seeds
    };
    struct Query {
        std::size_t end;   // in nodes
        std::size_t runs;  // end in runs
    };
    std::vector<std::int32_t> nodes;
    std::vector<Run> runs;
    std::vector<Query> queries;

    void clear() {
        nodes.clear();
        runs.clear();
        queries.clear();
    }
};

// What a walk marks and queues; reused, so that a query costs what it touches and never O(nodes).
class WalkScratch {
  public:
    explicit WalkScratch(const Csr& graph);

  private:
    friend class QueryWalk;
    // A list that is written without asking for room each time: there always is room for the row
    // being expanded.
    struct List {
        std::vector<std::int32_t> values;
        std::size_t count = 0;
    };
    std::vector<std::uint32_t> stamps_;
    std::uint32_t stamp_ = 0;
    std::vector<float> weights_;  // empty for a graph without weights
    List found_;
    List queue_;
    std::vector<WalkResult::Run> runs_;  // ends in found_
    std::vector<std::uint64_t> keys_;
    std::vector<std::int32_t> spare_;
};

// Scratches of one graph, lent to the threads that walk.
class WalkScratchPool {
  public:
    explicit WalkScratchPool(const Csr& graph) : graph_(graph) {}
    std::unique_ptr<WalkScratch> take();
    void give(std::unique_ptr<WalkScratch> scratch) { scratches_.give(std::move(scratch)); }

    // Empty results whose memory is in use already: fresh pages would cost more than the walks.
    std::vector<WalkResult> take_results(std::size_t count);
    void give(std::vector<WalkResult> results);

  private:
    const Csr& graph_;
    Idle<WalkScratch> scratches_;
    Idle<std::vector<WalkResult>> results_;
};

// One walk, appended to `result`. `seeds` by rank, places below 0 skipped; `excluded` nodes are
// neither emitted nor passed through. All ids must lie below graph.nodes().
void walk(const Csr& graph, Span<const std::int32_t> seeds, Span<const std::int32_t> excluded,
          const WalkOptions& options, WalkScratch& scratch, WalkResult& result);

// Depth of every node from `source`, -1 where it is not reached. Direction-optimising: wide levels
// are found from the side of the unreached nodes, which stop at their first reached neighbour.
void bfs(const Csr& graph, std::int32_t source, TypeMask types, bool undirected,
         std::int32_t* depths);

}  // namespace fastrecall
