#include "fastrecall/walk.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace fastrecall {
namespace {

// Calls visit(neighbour, weight) along the edges of one row that the mask allows.
template <class Visit>
void visit_row(const Csr& graph, const Rows& rows, std::int32_t node, TypeMask types, bool filter,
               Visit visit) {
    const std::uint32_t end = rows.end(node);
    for (std::uint32_t edge = rows.begin(node); edge < end; ++edge) {
        if (filter && !graph.allows(rows, edge, types)) continue;
        visit(rows.neighbours[edge], rows.weight(edge));
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
        if (graph.allows(rows, edge, types)) visit(rows.neighbours[edge], rows.weight(edge));
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

// The last stamp; a node that bears it is excluded from the query.
constexpr std::uint32_t kBarred = std::numeric_limits<std::uint32_t>::max();

}  // namespace

WalkScratch::WalkScratch(std::int32_t nodes) : marks_(static_cast<std::size_t>(nodes)) {}

std::unique_ptr<WalkScratch> WalkScratchPool::take() {
    {
        const std::lock_guard<std::mutex> hold(mutex_);
        if (!idle_.empty()) {
            auto scratch = std::move(idle_.back());
            idle_.pop_back();
            return scratch;
        }
    }
    return std::make_unique<WalkScratch>(nodes_);
}

void WalkScratchPool::give(std::unique_ptr<WalkScratch> scratch) {
    const std::lock_guard<std::mutex> hold(mutex_);
    idle_.push_back(std::move(scratch));
}

// One query. Stamps only grow: a mark below `first_stamp_` is of an earlier query, one from there
// on was met in this query, and one equal to `stamp_` in the current step (a seed, or a level's
// part).
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
          marks_(scratch.marks_.data()),
          stamp_(scratch.stamp_) {
        // A seed takes one stamp, and so does each part of a level, which holds at least one node.
        const std::uint64_t most = seeds.size + static_cast<std::uint64_t>(graph.nodes()) + 2;
        if (kBarred - stamp_ <= most) {
            std::fill(scratch.marks_.begin(), scratch.marks_.end(), WalkScratch::Mark{});
            stamp_ = 0;
        }
        first_stamp_ = stamp_ + 1;
        scratch.found_.nodes.clear();
        scratch.found_.origins.clear();
        for (const std::int32_t node : excluded_) mark(node) = kBarred;
    }

    ~QueryWalk() {
        for (const std::int32_t node : excluded_) mark(node) = 0;
    }

    QueryWalk(const QueryWalk&) = delete;
    QueryWalk& operator=(const QueryWalk&) = delete;

    WalkResult run() {
        if (options_.order == WalkOrder::seed) {
            by_seed();
        } else {
            by_depth();
        }
        WalkResult& found = scratch_.found_;
        if (full()) {
            found.nodes.resize(static_cast<std::size_t>(options_.budget));
            found.origins.resize(static_cast<std::size_t>(options_.budget));
        }
        return found;
    }

  private:
    std::uint32_t& mark(std::int32_t node) { return marks_[node].stamp; }

    bool full() const {
        return options_.budget >= 0 &&
               scratch_.found_.nodes.size() >= static_cast<std::size_t>(options_.budget);
    }

    void emit(std::int32_t node, std::int32_t origin) {
        scratch_.found_.nodes.push_back(node);
        scratch_.found_.origins.push_back(origin);
    }

    template <class Visit>
    void expand(std::int32_t node, Visit visit) {
        if (options_.undirected) {
            visit_both(graph_, node, options_.types, visit);
        } else {
            visit_row(graph_, graph_.out(), node, options_.types, filter_, visit);
        }
    }

    void by_seed() {
        std::vector<std::int32_t>& queue = scratch_.queue_;
        for (std::size_t rank = 0; rank < seeds_.size && !full(); ++rank) {
            const std::int32_t seed = seeds_[rank];
            if (seed < 0 || mark(seed) == kBarred) continue;
            const auto origin = static_cast<std::int32_t>(rank + 1);
            ++stamp_;
            const auto reach = [&](std::int32_t node, float) {
                const std::uint32_t seen = mark(node);
                if (seen >= stamp_) return;  // met from this seed already, or excluded
                mark(node) = stamp_;
                queue.push_back(node);
                if (seen < first_stamp_) emit(node, origin);
            };
            queue.clear();
            reach(seed, 0.0f);
            std::size_t next = 0;
            for (std::int32_t depth = 0; depth < options_.depth && next < queue.size(); ++depth) {
                for (const std::size_t end = queue.size(); next < end && !full(); ++next) {
                    expand(queue[next], reach);
                }
                if (full()) return;
            }
        }
    }

    void by_depth() {
        const std::vector<std::int32_t>& nodes = scratch_.found_.nodes;
        const std::vector<std::int32_t>& origins = scratch_.found_.origins;
        ++stamp_;
        for (std::size_t rank = 0; rank < seeds_.size && !full(); ++rank) {
            const std::int32_t seed = seeds_[rank];
            if (seed < 0 || mark(seed) >= first_stamp_) continue;
            mark(seed) = stamp_;
            emit(seed, static_cast<std::int32_t>(rank + 1));
        }
        std::size_t next = 0;
        for (std::int32_t depth = 0; depth < options_.depth && next < nodes.size(); ++depth) {
            const std::size_t end = nodes.size();
            // A level is ordered by seed rank, so what one rank leads to is complete before the
            // next rank is looked at, and a full budget stops in the middle of a level.
            while (next < end && !full()) {
                const std::int32_t origin = origins[next];
                std::size_t part_end = next;
                while (part_end < end && origins[part_end] == origin) ++part_end;
                next = expand_part(next, part_end, origin);
            }
            if (full()) return;
        }
    }

    // Emits what nodes[begin, end), all of one seed, lead to; returns `end`.
    std::size_t expand_part(std::size_t begin, std::size_t end, std::int32_t origin) {
        std::vector<std::int32_t>& part = scratch_.queue_;
        part.clear();
        ++stamp_;
        const auto reach = [&](std::int32_t node, float weight) {
            WalkScratch::Mark& met = marks_[node];
            if (met.stamp < first_stamp_) {
                met = {stamp_, weight};
                part.push_back(node);
            } else if (met.stamp == stamp_ && weight > met.weight) {
                met.weight = weight;
            }
        };
        for (std::size_t place = begin; place < end; ++place) {
            expand(scratch_.found_.nodes[place], reach);
        }
        if (graph_.weighted()) {
            std::vector<std::uint64_t>& keys = scratch_.level_;
            keys.clear();
            for (const std::int32_t node : part)
                keys.push_back(level_key(marks_[node].weight, node));
            std::sort(keys.begin(), keys.end());
            for (const std::uint64_t key : keys) emit(key_node(key), origin);
        } else {
            std::sort(part.begin(), part.end());
            for (const std::int32_t node : part) emit(node, origin);
        }
        return end;
    }

    const Csr& graph_;
    const WalkOptions& options_;
    const Span<const std::int32_t> seeds_;
    const Span<const std::int32_t> excluded_;
    const bool filter_;
    WalkScratch& scratch_;
    WalkScratch::Mark* marks_;
    std::uint32_t& stamp_;
    std::uint32_t first_stamp_ = 0;
};

WalkResult walk(const Csr& graph, Span<const std::int32_t> seeds, Span<const std::int32_t> excluded,
                const WalkOptions& options, WalkScratch& scratch) {
    return QueryWalk(graph, options, seeds, excluded, scratch).run();
}

}  // namespace fastrecall
