// Full breadth-first search that changes sides (Beamer, Asanovic, Patterson: "Direction-Optimizing
// Breadth-First Search", SC 2012). A narrow level pushes: its nodes mark their neighbours. A wide
// level pulls: every unreached node looks for one reached neighbour and stops at the first.
#include <algorithm>

#include "fastrecall/walk.hpp"

namespace fastrecall {
namespace {

// The paper's thresholds: pull once the level's edges pass 1/14 of the unexplored ones, push again
// once the level holds less than 1/24 of the nodes.
constexpr std::uint64_t kPullShare = 14;
constexpr std::size_t kPushShare = 24;

class Bits {
  public:
    explicit Bits(std::size_t size) : words_((size + 63) / 64, 0) {}
    bool test(std::int32_t bit) const {
        const auto place = static_cast<std::uint32_t>(bit);
        return (words_[place >> 6] >> (place & 63)) & 1u;
    }
    void set(std::int32_t bit) {
        const auto place = static_cast<std::uint32_t>(bit);
        words_[place >> 6] |= std::uint64_t{1} << (place & 63);
    }
    void clear() { std::fill(words_.begin(), words_.end(), 0); }
    std::vector<std::uint64_t>& words() { return words_; }

  private:
    std::vector<std::uint64_t> words_;
};

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
        std::uint64_t unexplored = edges_seen(graph_.edges());
        std::uint64_t level_edges = degree(source);
        for (std::int32_t depth = 1; !level_.empty(); ++depth) {
            if (level_edges > unexplored / kPullShare) {
                depth = pull_while_wide(depth);
                level_edges = 1;  // unknown; the levels from here on are narrow
            } else {
                unexplored -= std::min(unexplored, level_edges);
                level_edges = push(depth);
            }
        }
    }

  private:
    std::uint64_t edges_seen(std::uint64_t edges) const { return undirected_ ? 2 * edges : edges; }

    std::uint64_t degree(std::int32_t node) const {
        const Rows& out = graph_.out();
        const Rows& in = graph_.in();
        return out.end(node) - out.begin(node) + (undirected_ ? in.end(node) - in.begin(node) : 0u);
    }

    // Expands `level_`; returns how many edges leave the new one.
    std::uint64_t push(std::int32_t depth) {
        std::uint64_t edges = 0;
        next_.clear();
        const auto along = [&](const Rows& rows, std::int32_t node) {
            const std::uint32_t end = rows.end(node);
            for (std::uint32_t edge = rows.begin(node); edge < end; ++edge) {
                const std::int32_t neighbour = rows.neighbours[edge];
                if (reached_.test(neighbour)) continue;
                if (kFilter && !graph_.allows(rows, edge, types_)) continue;
                reached_.set(neighbour);
                depths_[neighbour] = depth;
                next_.push_back(neighbour);
                edges += degree(neighbour);
            }
        };
        for (const std::int32_t node : level_) {
            along(graph_.out(), node);
            if (undirected_) along(graph_.in(), node);
        }
        std::swap(level_, next_);
        return edges;
    }

    bool touches_level(const Rows& rows, std::int32_t node) const {
        const std::uint32_t end = rows.end(node);
        for (std::uint32_t edge = rows.begin(node); edge < end; ++edge) {
            if (kFilter && !graph_.allows(rows, edge, types_)) continue;
            if (level_bits_.test(rows.neighbours[edge])) return true;
        }
        return false;
    }

    // One pulled level; returns how many nodes were reached.
    std::size_t pull(std::int32_t depth) {
        std::size_t found = 0;
        next_bits_.clear();
        for (std::size_t word = 0; word < reached_.words().size(); ++word) {
            if (reached_.words()[word] == ~std::uint64_t{0}) continue;
            const std::size_t end = std::min(nodes_, (word + 1) * 64);
            for (std::size_t place = word * 64; place < end; ++place) {
                const auto node = static_cast<std::int32_t>(place);
                if (reached_.test(node)) continue;
                if (touches_level(graph_.in(), node) ||
                    (undirected_ && touches_level(graph_.out(), node))) {
                    depths_[place] = depth;
                    next_bits_.set(node);
                    ++found;
                }
            }
        }
        std::swap(level_bits_, next_bits_);
        for (std::size_t word = 0; word < reached_.words().size(); ++word) {
            reached_.words()[word] |= level_bits_.words()[word];
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
        level_.clear();
        for (std::size_t word = 0; word < level_bits_.words().size(); ++word) {
            if (level_bits_.words()[word] == 0) continue;
            const std::size_t end = std::min(nodes_, (word + 1) * 64);
            for (std::size_t place = word * 64; place < end; ++place) {
                const auto node = static_cast<std::int32_t>(place);
                if (level_bits_.test(node)) level_.push_back(node);
            }
        }
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
