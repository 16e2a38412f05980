#include <algorithm>
#include <deque>
#include <limits>
#include <random>
#include <set>
#include <vector>

#include "check.hpp"
#include "fastrecall/csr.hpp"
#include "fastrecall/error.hpp"
#include "fastrecall/parallel.hpp"
#include "fastrecall/walk.hpp"

using namespace fastrecall;

namespace {

struct RandomGraph {
    std::int32_t nodes;
    std::vector<std::int32_t> sources, targets;
    std::vector<std::uint8_t> types;
    std::vector<float> weights;

    RandomGraph(std::int32_t node_count, std::size_t edges, unsigned seed) : nodes(node_count) {
        std::mt19937 random(seed);
        const auto below = [&random](unsigned limit) { return random() % limit; };
        for (std::size_t edge = 0; edge < edges; ++edge) {
            sources.push_back(static_cast<std::int32_t>(below(static_cast<unsigned>(nodes))));
            targets.push_back(static_cast<std::int32_t>(below(static_cast<unsigned>(nodes))));
            types.push_back(static_cast<std::uint8_t>(below(3)));
            weights.push_back(static_cast<float>(below(8)) / 8);
        }
    }
    Csr build(bool typed, bool weighted) const {
        EdgeList edges;
        edges.sources = {sources.data(), sources.size()};
        edges.targets = {targets.data(), targets.size()};
        if (typed) edges.types = {types.data(), types.size()};
        if (weighted) edges.weights = {weights.data(), weights.size()};
        return Csr(edges, nodes);
    }
};

std::vector<std::int32_t> plain_bfs(const RandomGraph& graph, std::int32_t source, TypeMask types,
                                    bool undirected) {
    std::vector<std::int32_t> depths(static_cast<std::size_t>(graph.nodes), -1);
    std::deque<std::int32_t> queue{source};
    depths[static_cast<std::size_t>(source)] = 0;
    while (!queue.empty()) {
        const std::int32_t node = queue.front();
        queue.pop_front();
        const auto reach = [&](std::int32_t next) {
            std::int32_t& depth = depths[static_cast<std::size_t>(next)];
            if (depth >= 0) return;
            depth = depths[static_cast<std::size_t>(node)] + 1;
            queue.push_back(next);
        };
        for (std::size_t edge = 0; edge < graph.sources.size(); ++edge) {
            if (((types >> graph.types[edge]) & 1U) == 0) continue;
            if (graph.sources[edge] == node) reach(graph.targets[edge]);
            if (undirected && graph.targets[edge] == node) reach(graph.sources[edge]);
        }
    }
    return depths;
}

}  // namespace

TEST(bfs_agrees_with_a_plain_queue) {
    for (const std::size_t edges : {std::size_t{0}, std::size_t{100}, std::size_t{3000}}) {
        const RandomGraph graph(300, edges, 1);
        const Csr rows = graph.build(true, false);
        for (const TypeMask types : {kAllTypes, TypeMask{0b101}, TypeMask{0}}) {
            for (const bool undirected : {false, true}) {
                std::vector<std::int32_t> depths(300);
                bfs(rows, 7, types, undirected, depths.data());
                CHECK(depths == plain_bfs(graph, 7, types, undirected));
            }
        }
    }
}

TEST(walks_from_several_threads_find_the_same) {
    const RandomGraph graph(2000, 10000, 2);
    for (const bool weighted : {false, true}) {
        const Csr rows = graph.build(true, weighted);
        std::vector<std::int32_t> seeds(200 * 4);
        std::mt19937 random(3);
        for (std::int32_t& seed : seeds) seed = static_cast<std::int32_t>(random() % 2001) - 1;
        for (const WalkOrder order : {WalkOrder::seed, WalkOrder::depth}) {
            WalkOptions options;
            options.order = order;
            options.depth = 3;
            options.undirected = true;
            WalkScratchPool pool(rows);
            const auto all = [&](unsigned threads) {
                std::vector<WalkResult> results(200);
                parallel_for(200, 3, {threads, {}},
                             [&](std::size_t begin, std::size_t end, unsigned) {
                                 auto scratch = pool.take();
                                 for (std::size_t query = begin; query < end; ++query) {
                                     const std::int32_t excluded = seeds[query * 4 + 1];
                                     walk(rows, {seeds.data() + query * 4, 4},
                                          {&excluded, excluded < 0 ? std::size_t{0} : 1}, options,
                                          *scratch, results[query]);
                                 }
                                 pool.give(std::move(scratch));
                             });
                return results;
            };
            const std::vector<WalkResult> one = all(1), seven = all(7);
            for (std::size_t query = 0; query < 200; ++query) {
                const std::vector<std::int32_t>& nodes = one[query].nodes;
                CHECK(nodes == seven[query].nodes);
                CHECK(std::set<std::int32_t>(nodes.begin(), nodes.end()).size() == nodes.size());
                CHECK(std::count(nodes.begin(), nodes.end(), seeds[query * 4 + 1]) == 0);
                CHECK(one[query].queries.size() == 1);
                CHECK(one[query].runs.empty() || one[query].runs.back().end == nodes.size());
            }
        }
    }
}

TEST(edges_that_lead_outside_are_refused) {
    const std::int32_t inside[] = {0, 1}, outside[] = {1, 2}, negative[] = {-1, 0};
    const float weights[] = {1, std::numeric_limits<float>::quiet_NaN()};
    const std::uint8_t types[] = {0, 32};
    CHECK_THROWS(Csr({{inside, 2}, {outside, 2}, {}, {}}, 2), InputError);
    CHECK_THROWS(Csr({{negative, 2}, {inside, 2}, {}, {}}, 2), InputError);
    CHECK_THROWS(Csr({{inside, 2}, {inside, 1}, {}, {}}, 2), InputError);
    CHECK_THROWS(Csr({{inside, 2}, {inside, 2}, {}, {weights, 2}}, 2), InputError);
    CHECK_THROWS(Csr({{inside, 2}, {inside, 2}, {types, 2}, {}}, 2), InputError);
}
