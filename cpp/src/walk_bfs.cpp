// Full breadth-first search that changes sides (Beamer, Asanovic, Patterson: "Direction-Optimizing
// Breadth-First Search", SC 2012). A narrow level pushes: its nodes mark their neighbours. A wide
// level pulls: every unreached node looks for one reached neighbour and stops at the first.
#include <algorithm>

#include "fastrecall/bits.hpp"
#include "fastrecall/prefetch.hpp"
#include "fastrecall/walk.hpp"

namespace fastrecall {
namespace {

// The paper's thresholds: pull once the level's edges pass 1/14 of the unexplored ones, push again
// once the level holds less than 1/24 of the nodes.
constexpr std::uint64_t kPullShare = 14;
constexpr std::size_t kPushShare = 24;

// A level of this share of the nodes is put into the order of ids, so that its rows lie one after
// the other in memory instead of anywhere.
constexpr std::size_t kSortShare = 256;

// How many nodes ahead a row is fetched.
constexpr std::size_t kAhead = 8;

class Bits {
  public:
    explicit Bits(std::size_t size) : words_((size + 63) / 64, 0) {}

    std::uint64_t test(std::int32_t bit) const {
        const auto place = static_cast<std::uint32_t>(bit);
        return (words_[place >> 6] >> (place & 63)) & 1u;
    }
    void set(std::int32_t bit) {
        const auto place = static_cast<std::uint32_t>(bit);
        words_[place >> 6] |= std::uint64_t{1} << (place & 63);
    }
    void clear() { std::fill(words_.begin(), words_.end(), 0); }
    std::size_t words() const { return words_.size(); }
    std::uint64_t& word(std::size_t i) { return words_[i]; }

  private:
    std::vector<std::uint64_t> words_;
};

// Calls visit(node) for the set bits of a word, ascending.
template <class Visit>
void each_bit(std::size_t place, std::uint64_t word, Visit visit) {
    for (; word != 0; word &= word - 1) {
        visit(static_cast<std::int32_t>(place * 64 + lowest_bit(word)));
    }
}

template <bool kFilter>
class FullBfs {
  public:
    FullBfs(const Csr& graph, TypeMask types, bool undirected, std::int32_t* depths)
        : graph_(graph),
          types_(types),
          undirected_(undirected),
          depths_(depths),
          nodes_(static_cast<std::size_t>(graph.nodes())),
          reached_(nodes_),
          level_bits_(nodes_),
          next_bits_(nodes_) {}

    void run(std::int32_t source) {
        std::fill(depths_, depths_ + nodes_, -1);
        depths_[source] = 0;
        reached_.set(source);
        level_.push_back(source);
        std::uint64_t unexplored = undirected_ ? 2 * graph_.edges() : graph_.edges();
        std::uint64_t level_edges = degree(source);
        for (std::int32_t depth = 1; !level_.empty(); ++depth) {
            if (level_edges > unexplored / kPullShare) {
                depth = pull_while_wide(depth);
                level_edges = 0;  // unknown; the levels from here on are narrow
            } else {
                unexplored -= std::min(unexplored, level_edges);
                level_edges = push(depth);
            }
        }
    }

  private:
    std::uint64_t degree(std::int32_t node) const {
        const Rows& out = graph_.out();
        const Rows& in = graph_.in();
        return out.end(node) - out.begin(node) + (undirected_ ? in.end(node) - in.begin(node) : 0u);
    }

    void fetch_offsets(std::int32_t node) const {
        prefetch(&graph_.out().offsets[static_cast<std::size_t>(node)]);
        if (undirected_) prefetch(&graph_.in().offsets[static_cast<std::size_t>(node)]);
    }
    void fetch_rows(std::int32_t node) const {
        prefetch(graph_.out().neighbours.data() + graph_.out().begin(node));
        if (undirected_) prefetch(graph_.in().neighbours.data() + graph_.in().begin(node));
    }

    // Expands `level_`; returns how many edges leave the new one.
    std::uint64_t push(std::int32_t depth) {
        next_.clear();
        const auto along = [&](const Rows& rows, std::int32_t node) {
            const std::uint32_t end = rows.end(node);
            for (std::uint32_t edge = rows.begin(node); edge < end; ++edge) {
                const std::int32_t neighbour = rows.neighbours[edge];
                if (reached_.test(neighbour) != 0) continue;
                if (kFilter && !graph_.allows(rows, edge, types_)) continue;
                reached_.set(neighbour);
                next_.push_back(neighbour);
            }
        };
        for (std::size_t place = 0; place < level_.size(); ++place) {
            if (place + 2 * kAhead < level_.size()) fetch_offsets(level_[place + 2 * kAhead]);
            if (place + kAhead < level_.size()) fetch_rows(level_[place + kAhead]);
            along(graph_.out(), level_[place]);
            if (undirected_) along(graph_.in(), level_[place]);
        }
        std::swap(level_, next_);
        if (level_.size() > nodes_ / kSortShare) {
            next_bits_.clear();
            for (const std::int32_t node : level_) next_bits_.set(node);
            list(next_bits_);
        }
        std::uint64_t edges = 0;
        for (const std::int32_t node : level_) {
            depths_[node] = depth;
            edges += degree(node);
        }
        return edges;
    }

    void list(Bits& bits) {
        level_.clear();
        for (std::size_t place = 0; place < bits.words(); ++place) {
            each_bit(place, bits.word(place), [&](std::int32_t node) { level_.push_back(node); });
        }
    }

    bool touches_level(const Rows& rows, std::int32_t node) const {
        const std::uint32_t end = rows.end(node);
        std::uint32_t edge = rows.begin(node);
        if (kFilter) {
            for (; edge < end; ++edge) {
                if (!graph_.allows(rows, edge, types_)) continue;
                if (level_bits_.test(rows.neighbours[edge]) != 0) return true;
            }
            return false;
        }
        // Four at a time: looking at some in vain is cheaper than a branch that nobody can predict.
        const std::int32_t* const neighbours = rows.neighbours.data();
        for (; edge + 4 <= end; edge += 4) {
            if ((level_bits_.test(neighbours[edge]) | level_bits_.test(neighbours[edge + 1]) |
                 level_bits_.test(neighbours[edge + 2]) | level_bits_.test(neighbours[edge + 3])) !=
                0) {
                return true;
            }
        }
        std::uint64_t touches = 0;
        for (; edge < end; ++edge) touches |= level_bits_.test(neighbours[edge]);
        return touches != 0;
    }

    // One pulled level; returns how many nodes were reached.
    std::size_t pull(std::int32_t depth) {
        std::size_t found = 0;
        next_bits_.clear();
        for (std::size_t place = 0; place < reached_.words(); ++place) {
            const std::size_t inside = std::min<std::size_t>(nodes_ - place * 64, 64);
            const std::uint64_t all = ~std::uint64_t{0} >> (64 - inside);
            each_bit(place, ~reached_.word(place) & all, [&](std::int32_t node) {
                if (touches_level(graph_.in(), node) ||
                    (undirected_ && touches_level(graph_.out(), node))) {
                    depths_[node] = depth;
                    next_bits_.set(node);
                    ++found;
                }
            });
        }
        std::swap(level_bits_, next_bits_);
        for (std::size_t place = 0; place < reached_.words(); ++place) {
            reached_.word(place) |= level_bits_.word(place);
        }
        return found;
    }

    // Pulls until levels are narrow again; returns the depth of the level left in `level_`.
    std::int32_t pull_while_wide(std::int32_t depth) {
        level_bits_.clear();
        for (const std::int32_t node : level_) level_bits_.set(node);
        std::size_t width = level_.size();
        std::size_t before;
        do {
            before = width;
            width = pull(depth++);
        } while (width > 0 && (width >= before || width > nodes_ / kPushShare));
        list(level_bits_);
        return depth - 1;
    }

    const Csr& graph_;
    const TypeMask types_;
    const bool undirected_;
    std::int32_t* const depths_;
    const std::size_t nodes_;
    Bits reached_;
    Bits level_bits_;
    Bits next_bits_;
    std::vector<std::int32_t> level_;
    std::vector<std::int32_t> next_;
};

}  // namespace

void bfs(const Csr& graph, std::int32_t source, TypeMask types, bool undirected,
         std::int32_t* depths) {
    if (graph.allows_all(types)) {
        FullBfs<false>(graph, types, undirected, depths).run(source);
    } else {
        FullBfs<true>(graph, types, undirected, depths).run(source);
    }
}

}  // namespace fastrecall
