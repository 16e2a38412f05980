// Edges, seeds and exclusions of any kind: refused, or walked without a step outside.
#include <algorithm>
#include <set>

#include "fastrecall/csr.hpp"
#include "fastrecall/error.hpp"
#include "fastrecall/walk.hpp"
#include "input.hpp"

namespace {

using namespace fastrecall;

template <class T>
Span<const T> view(const std::vector<T>& values) {
    return {values.data(), values.size()};
}

// Ids as the bindings let them pass: below `nodes`, and from `lowest` on.
std::vector<std::int32_t> below(std::vector<std::int32_t> ids, std::int32_t nodes,
                                std::int32_t lowest) {
    ids.erase(std::remove_if(ids.begin(), ids.end(),
                             [&](std::int32_t id) { return id >= nodes || id < lowest; }),
              ids.end());
    return ids;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Input input(data, size);
    const auto flags = input.take<std::uint8_t>();
    const auto nodes = static_cast<std::int32_t>(input.take<std::uint8_t>()) - 2;
    const std::vector<std::int32_t> sources = input.numbers<std::int32_t>(200);
    std::vector<std::int32_t> targets = input.numbers<std::int32_t>(200);
    if ((flags & 1) != 0) targets.resize(sources.size());
    std::vector<std::uint8_t> types;
    if ((flags & 2) != 0) types = input.numbers<std::uint8_t>(200);
    if ((flags & 4) != 0) types.resize(sources.size());
    std::vector<float> weights;
    if ((flags & 8) != 0) weights = input.floats(sources.size());
    try {
        const Csr graph({view(sources), view(targets), view(types), view(weights)}, nodes);
        MUST_HOLD(graph.edges() == sources.size());
        const auto seeds = below(input.numbers<std::int32_t>(20), nodes, INT32_MIN);
        const auto excluded = below(input.numbers<std::int32_t>(20), nodes, 0);
        WalkOptions options;
        options.order = (flags & 16) != 0 ? WalkOrder::depth : WalkOrder::seed;
        options.undirected = (flags & 32) != 0;
        options.depth = std::max(0, input.number<std::int32_t>());
        options.budget = input.number<std::int64_t>();
        options.types = (flags & 64) != 0 ? input.take<TypeMask>() : kAllTypes;
        WalkScratch scratch(graph);
        WalkResult first, second;
        walk(graph, view(seeds), view(excluded), options, scratch, first);
        walk(graph, view(seeds), view(excluded), options, scratch, second);
        MUST_HOLD(first.nodes == second.nodes);  // a scratch that was used leaves no trace
        MUST_HOLD(options.budget < 0 ||
                  first.nodes.size() <= static_cast<std::size_t>(options.budget));
        std::set<std::int32_t> seen;
        for (const std::int32_t node : first.nodes) {
            MUST_HOLD(node >= 0 && node < nodes);
            MUST_HOLD(seen.insert(node).second);
            MUST_HOLD(std::find(excluded.begin(), excluded.end(), node) == excluded.end());
        }
        std::size_t end = 0;
        for (const WalkResult::Run& run : first.runs) {
            MUST_HOLD(run.end >= end && run.end <= first.nodes.size());
            MUST_HOLD(run.origin >= 1 && run.origin <= static_cast<std::int32_t>(seeds.size()));
            end = run.end;
        }
        if (nodes > 0) {
            std::vector<std::int32_t> depths(static_cast<std::size_t>(nodes));
            bfs(graph, 0, options.types, options.undirected, depths.data());
            for (const std::int32_t depth : depths) MUST_HOLD(depth >= -1 && depth < nodes);
            // Without a budget, one seed reaches what the search reaches within the depth.
            if (excluded.empty()) {
                const std::int32_t start = 0;
                options.budget = -1;
                first.clear();
                walk(graph, {&start, 1}, {}, options, scratch, first);
                const auto within = std::count_if(depths.begin(), depths.end(), [&](auto depth) {
                    return depth >= 0 && depth <= options.depth;
                });
                MUST_HOLD(static_cast<std::ptrdiff_t>(first.nodes.size()) == within);
            }
        }
    } catch (const InputError&) {
    }
    return 0;
}
