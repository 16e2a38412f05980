// Counters of an index, added up over threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "fastrecall/hnsw.hpp"
#include "hnsw_graph.hpp"

namespace fastrecall {

struct Hnsw::Tally {
    std::atomic<std::uint64_t> searches{0};
    std::atomic<std::uint64_t> visited{0};
    std::atomic<std::uint64_t> distances{0};

    void add(std::size_t queries, HnswScratch& scratch) {
        searches += queries;
        visited += std::exchange(scratch.visited, 0);
        distances += std::exchange(scratch.distances, 0);
    }
};

}  // namespace fastrecall
