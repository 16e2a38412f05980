#include "fastrecall/walk.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace fastrecall {
namespace {

// Calls visit(neighbour, rows, edge) along the edges of one row that the mask allows.
template <class Visit>
void visit_row(const Csr& graph, const Rows& rows, std::int32_t node, TypeMask types, bool filter,
               Visit visit) {
    const std::int32_t* const neighbours = rows.neighbours.data();
    const std::uint32_t end = rows.end(node);
    for (std::uint32_t edge = rows.begin(node); edge < end; ++edge) {
        if (filter && !graph.allows(rows, edge, types)) continue;
        visit(neighbours[edge], rows, edge);
    }
}

// The same along both directions, merged in the order of rows: as if each edge had its reverse.
template <class Visit>
void visit_both(const Csr& graph, std::int32_t node, TypeMask types, Visit visit) {
    const Rows& out = graph.out();
    const Rows& in = graph.in();
    std::uint32_t forward = out.begin(node);
    std::uint32_t backward = in.begin(node);
    const std::uint32_t forward_end = out.end(node);
    const std::uint32_t backward_end = in.end(node);
    while (forward < forward_end || backward < backward_end) {
        bool take_forward = backward == backward_end;
        if (forward < forward_end && backward < backward_end) {
            const float a = out.weight(forward);
            const float b = in.weight(backward);
            take_forward = a > b || (a == b && out.neighbours[forward] <= in.neighbours[backward]);
        }
        const Rows& rows = take_forward ? out : in;
        const std::uint32_t edge = take_forward ? forward++ : backward++;
        if (graph.allows(rows, edge, types)) visit(rows.neighbours[edge], rows, edge);
    }
}

// Ascending keys are (higher weight, lower id): the bits of a float, turned so that they order as
// unsigned numbers do, then inverted.
std::uint64_t level_key(float weight, std::int32_t node) {
    std::uint32_t bits;
    weight += 0.0f;  // -0 and 0 are the same weight
    std::memcpy(&bits, &weight, sizeof bits);
    bits = (bits & 0x80000000u) ? ~bits : bits | 0x80000000u;
    return (std::uint64_t{static_cast<std::uint32_t>(~bits)} << 32) |
           static_cast<std::uint32_t>(node);
}

std::int32_t key_node(std::uint64_t key) { return static_cast<std::int32_t>(key & 0xffffffffu); }

// Ascending, in linear time from a few dozen ids on: by bytes, lowest first.
void sort_ids(std::int32_t* ids, std::size_t count, std::int32_t nodes,
              std::vector<std::int32_t>& spare) {
    constexpr std::size_t kFew = 48;
    if (count <= kFew) {
        std::sort(ids, ids + count);
        return;
    }
    spare.resize(std::max(spare.size(), count));
    std::int32_t* from = ids;
    std::int32_t* to = spare.data();
    for (unsigned shift = 0; shift < 32 && (nodes - 1) >> shift != 0; shift += 8) {
        std::uint32_t next[257] = {};
        for (std::size_t i = 0; i < count; ++i) ++next[(from[i] >> shift & 255) + 1];
        for (std::size_t digit = 1; digit < 256; ++digit) next[digit] += next[digit - 1];
        for (std::size_t i = 0; i < count; ++i) to[next[from[i] >> shift & 255]++] = from[i];
        std::swap(from, to);
    }
    if (from != ids) std::copy_n(from, count, ids);
}

// The last stamp; a node that bears it is excluded from the query.
constexpr std::uint32_t kBarred = std::numeric_limits<std::uint32_t>::max();

}  // namespace

WalkScratch::WalkScratch(const Csr& graph)
    : stamps_(static_cast<std::size_t>(graph.nodes())),
      weights_(graph.weighted() ? stamps_.size() : 0) {}

std::unique_ptr<WalkScratch> WalkScratchPool::take() {
    auto idle = scratches_.take();
    return idle ? std::move(idle) : std::make_unique<WalkScratch>(graph_);
}

std::vector<WalkResult> WalkScratchPool::take_results(std::size_t count) {
    const auto idle = results_.take();
    std::vector<WalkResult> results = idle ? std::move(*idle) : std::vector<WalkResult>();
    results.resize(count);
    for (WalkResult& result : results) result.clear();
    return results;
}

void WalkScratchPool::give(std::vector<WalkResult> results) {
    results_.give(std::make_unique<std::vector<WalkResult>>(std::move(results)));
}

// One query. Stamps only grow: a node's stamp below `first_stamp_` is of an earlier query, one from
// there on was met in this query, and one equal to `stamp_` in the current step (a seed, or what a
// seed leads to in one level).
class QueryWalk {
  public:
    QueryWalk(const Csr& graph, const WalkOptions& options, Span<const std::int32_t> seeds,
              Span<const std::int32_t> excluded, WalkScratch& scratch)
        : graph_(graph),
          options_(options),
          seeds_(seeds),
          excluded_(excluded),
          filter_(!graph.allows_all(options.types)),
          scratch_(scratch),
          stamps_(scratch.stamps_.data()),
          stamp_(scratch.stamp_),
          found_(scratch.found_),
          queue_(scratch.queue_) {
        // A seed takes one stamp, and so does each part of a level, which holds at least one node.
        const std::uint64_t most = seeds.size + static_cast<std::uint64_t>(graph.nodes()) + 2;
        if (kBarred - stamp_ <= most) {
            std::fill(scratch.stamps_.begin(), scratch.stamps_.end(), 0u);
            stamp_ = 0;
        }
        first_stamp_ = stamp_ + 1;
        found_.count = 0;
        scratch.runs_.clear();
        for (const std::int32_t node : excluded_) stamps_[node] = kBarred;
    }

    ~QueryWalk() {
        for (const std::int32_t node : excluded_) stamps_[node] = 0;
    }

    QueryWalk(const QueryWalk&) = delete;
    QueryWalk& operator=(const QueryWalk&) = delete;

    void run(WalkResult& result) {
        if (options_.order == WalkOrder::seed) {
            by_seed();
        } else {
            by_depth();
        }
        if (full()) found_.count = static_cast<std::size_t>(options_.budget);
        const std::size_t before = result.nodes.size();
        const std::int32_t* const nodes = found_.values.data();
        result.nodes.insert(result.nodes.end(), nodes, nodes + found_.count);
        for (const WalkResult::Run& run : scratch_.runs_) {
            result.runs.push_back({before + std::min(run.end, found_.count), run.origin});
        }
        result.queries.push_back({result.nodes.size(), result.runs.size()});
    }

  private:
    bool full() const {
        return options_.budget >= 0 && found_.count >= static_cast<std::size_t>(options_.budget);
    }

    static void make_room(WalkScratch::List& list, std::size_t more) {
        if (list.values.size() < list.count + more) {
            list.values.resize(std::max(2 * list.values.size(), list.count + more));
        }
    }

    std::size_t degree(std::int32_t node) const {
        const Rows& out = graph_.out();
        const Rows& in = graph_.in();
        return out.end(node) - out.begin(node) +
               (options_.undirected ? in.end(node) - in.begin(node) : 0u);
    }

    template <class Visit>
    void expand(std::int32_t node, Visit visit) {
        if (options_.undirected) {
            visit_both(graph_, node, options_.types, visit);
        } else {
            visit_row(graph_, graph_.out(), node, options_.types, filter_, visit);
        }
    }

    // All nodes found since the last run come from this seed.
    void end_run(std::size_t rank) {
        scratch_.runs_.push_back({found_.count, static_cast<std::int32_t>(rank + 1)});
    }

    void by_seed() {
        for (std::size_t rank = 0; rank < seeds_.size && !full(); ++rank) {
            const std::int32_t seed = seeds_[rank];
            if (seed < 0 || stamps_[seed] == kBarred) continue;
            ++stamp_;
            queue_.count = 0;
            make_room(queue_, 1);
            make_room(found_, 1);
            queue_.values[queue_.count++] = seed;
            if (stamps_[seed] < first_stamp_) found_.values[found_.count++] = seed;
            stamps_[seed] = stamp_;
            std::size_t next = 0;
            for (std::int32_t depth = 0; depth < options_.depth && next < queue_.count && !full();
                 ++depth) {
                for (const std::size_t end = queue_.count; next < end && !full(); ++next) {
                    expand_of_seed(queue_.values[next]);
                }
            }
            end_run(rank);
        }
    }

    // Queues the neighbours that were not met from this seed, and emits those of them that were not
    // met in this query. No branches: whether a neighbour is new is anybody's guess.
    void expand_of_seed(std::int32_t node) {
        const std::size_t most = degree(node);
        make_room(queue_, most);
        make_room(found_, most);
        std::int32_t* queued = queue_.values.data() + queue_.count;
        std::int32_t* found = found_.values.data() + found_.count;
        std::uint32_t* const stamps = stamps_;
        const std::uint32_t stamp = stamp_;
        const std::uint32_t first = first_stamp_;
        expand(node, [&](std::int32_t neighbour, const Rows&, std::uint32_t) {
            const std::uint32_t seen = stamps[neighbour];
            stamps[neighbour] = std::max(seen, stamp);  // what is barred stays so
            *queued = neighbour;
            *found = neighbour;
            queued += seen < stamp;
            found += seen < first;
        });
        queue_.count = static_cast<std::size_t>(queued - queue_.values.data());
        found_.count = static_cast<std::size_t>(found - found_.values.data());
    }

    void by_depth() {
        ++stamp_;
        make_room(found_, seeds_.size);
        for (std::size_t rank = 0; rank < seeds_.size && !full(); ++rank) {
            const std::int32_t seed = seeds_[rank];
            if (seed < 0 || stamps_[seed] >= first_stamp_) continue;
            stamps_[seed] = stamp_;
            found_.values[found_.count++] = seed;
            end_run(rank);
        }
        std::size_t run = 0;
        for (std::int32_t depth = 0; depth < options_.depth; ++depth) {
            // A level is made of runs by seed rank. What one run leads to is complete before the
            // next is looked at, so that a full budget stops in the middle of a level.
            const std::size_t level_end = scratch_.runs_.size();
            if (run == level_end) return;
            for (; run < level_end && !full(); ++run) expand_run(run);
            if (full()) return;
        }
    }

    // Emits what a run, all of one seed, leads to, as a run of the next level.
    void expand_run(std::size_t run) {
        const std::size_t begin = run == 0 ? 0 : scratch_.runs_[run - 1].end;
        const std::size_t end = scratch_.runs_[run].end;
        queue_.count = 0;
        ++stamp_;
        for (std::size_t place = begin; place < end; ++place) {
            const std::int32_t node = found_.values[place];
            make_room(queue_, degree(node));
            if (graph_.weighted()) {
                expand_weighted(node);
            } else {
                expand_unweighted(node);
            }
        }
        if (queue_.count == 0) return;
        make_room(found_, queue_.count);
        std::int32_t* const found = found_.values.data() + found_.count;
        if (graph_.weighted()) {
            std::vector<std::uint64_t>& keys = scratch_.keys_;
            keys.clear();
            for (std::size_t i = 0; i < queue_.count; ++i) {
                const std::int32_t node = queue_.values[i];
                keys.push_back(level_key(scratch_.weights_[static_cast<std::size_t>(node)], node));
            }
            std::sort(keys.begin(), keys.end());
            for (std::size_t i = 0; i < queue_.count; ++i) found[i] = key_node(keys[i]);
        } else {
            sort_ids(queue_.values.data(), queue_.count, graph_.nodes(), scratch_.spare_);
            std::copy_n(queue_.values.data(), queue_.count, found);
        }
        found_.count += queue_.count;
        scratch_.runs_.push_back({found_.count, scratch_.runs_[run].origin});
    }

    void expand_unweighted(std::int32_t node) {
        std::int32_t* queued = queue_.values.data() + queue_.count;
        std::uint32_t* const stamps = stamps_;
        const std::uint32_t stamp = stamp_;
        const std::uint32_t first = first_stamp_;
        expand(node, [&](std::int32_t neighbour, const Rows&, std::uint32_t) {
            const std::uint32_t seen = stamps[neighbour];
            stamps[neighbour] = std::max(seen, stamp);
            *queued = neighbour;
            queued += seen < first;
        });
        queue_.count = static_cast<std::size_t>(queued - queue_.values.data());
    }

    void expand_weighted(std::int32_t node) {
        expand(node, [&](std::int32_t neighbour, const Rows& rows, std::uint32_t edge) {
            std::uint32_t& seen = stamps_[neighbour];
            float& best = scratch_.weights_[static_cast<std::size_t>(neighbour)];
            if (seen < first_stamp_) {
                seen = stamp_;
                best = rows.weights[edge];
                queue_.values[queue_.count++] = neighbour;
            } else if (seen == stamp_) {
                best = std::max(best, rows.weights[edge]);
            }
        });
    }

    const Csr& graph_;
    const WalkOptions& options_;
    const Span<const std::int32_t> seeds_;
    const Span<const std::int32_t> excluded_;
    const bool filter_;
    WalkScratch& scratch_;
    std::uint32_t* const stamps_;
    std::uint32_t& stamp_;
    std::uint32_t first_stamp_ = 0;
    WalkScratch::List& found_;
    WalkScratch::List& queue_;
};

void walk(const Csr& graph, Span<const std::int32_t> seeds, Span<const std::int32_t> excluded,
          const WalkOptions& options, WalkScratch& scratch, WalkResult& result) {
    QueryWalk(graph, options, seeds, excluded, scratch).run(result);
}

}  // namespace fastrecall
