// The layered graph over int8 codes: linking of new nodes, and the walks that find candidates.
// Nodes are called by slot, the place in which they were added.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "fastrecall/aligned.hpp"
#include "fastrecall/kernels.hpp"
#include "fastrecall/parallel.hpp"
#include "hnsw_buffer.hpp"

namespace fastrecall {

// A candidate as one number that sorts by (higher similarity, lower slot): the similarity's bits,
// turned so that they order as unsigned numbers do and inverted, then the slot, then one bit that
// says whether its links were followed.
namespace hnsw_key {

inline std::uint64_t make(float similarity, std::int32_t slot) {
    similarity += 0.0f;  // -0 and 0 are the same
    std::uint32_t bits;
    std::memcpy(&bits, &similarity, sizeof bits);
    bits = (bits & 0x80000000u) != 0 ? bits : ~(bits | 0x80000000u);
    return (std::uint64_t{bits} << 32) | (static_cast<std::uint64_t>(slot) << 1);
}

inline std::int32_t slot(std::uint64_t key) {
    return static_cast<std::int32_t>((key & 0xffffffffu) >> 1);
}

inline float similarity(std::uint64_t key) {
    auto bits = static_cast<std::uint32_t>(key >> 32);
    bits = (bits & 0x80000000u) != 0 ? bits : ~bits & 0x7fffffffu;
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

inline constexpr std::uint64_t kFollowed = 1;

}  // namespace hnsw_key

// Coded vectors: value i of slot s is scale[s] * (codes[s * width + i] - kCodeBias).
struct HnswCodes {
    std::size_t width = 0;
    HnswBuffer<std::uint8_t> codes;
    HnswBuffer<float> scales;

    std::size_t size() const { return scales.size(); }
    const std::uint8_t* row(std::int32_t slot) const {
        return codes.data() + static_cast<std::size_t>(slot) * width;
    }
    // Codes of `dim` values with padding into `out`; returns the scale, 0 for a zero vector.
    static float encode(const float* row, std::size_t dim, std::size_t width, std::uint8_t* out);
};

// What one thread needs to walk; kept between walks.
struct HnswScratch {
    std::vector<std::uint64_t> found;  // the candidates of the last walk, best first
    std::vector<std::uint64_t> queue;
    std::vector<std::uint8_t> met;  // equal to `stamp`: met in this walk
    std::uint8_t stamp = 0;
    std::vector<std::int32_t> fresh;
    std::vector<std::int32_t> sums;
    AlignedArray<std::uint8_t> query;
    AlignedArray<float> row;
    std::uint64_t visited = 0;
    std::uint64_t distances = 0;
};

class HnswGraph {
  public:
    static constexpr int kMaxLevel = 15;

    HnswGraph(std::int32_t m, std::int32_t ef_construction, std::uint64_t seed);

    std::size_t size() const { return linked_; }
    std::size_t nbytes() const;

    // Links slots [size(), codes.size()), in rounds. Within a round all nodes search the same
    // frozen graph and look at the earlier nodes of their round; then all links are applied in the
    // order of slots. Threads therefore decide nothing. Finished rounds stay when it throws.
    void grow(const HnswCodes& codes, const Execution& execution);

    // Leaves in scratch.found up to `ef` slots near to scratch.query, best first. With `allowed`,
    // only slots for which it is nonzero are found, though others are walked through.
    void search(const HnswCodes& codes, std::size_t ef, const std::uint8_t* allowed,
                HnswScratch& scratch) const;

    // The same by looking at every slot of `slots`.
    static void scan(const HnswCodes& codes, const std::vector<std::int32_t>& slots, std::size_t ef,
                     HnswScratch& scratch);

    // Calls visit(buffer) for each stored array, in the order of the file.
    template <class Self, class Visit>
    static void each_buffer(Self& self, Visit visit) {
        visit(self.levels_);
        visit(self.base_);
        visit(self.upper_at_);
        visit(self.upper_);
    }

    std::int32_t entry() const { return entry_; }
    // Takes over a graph whose arrays were filled through each_buffer; throws InputError when a
    // link leads outside or the arrays do not fit together.
    void adopt(std::size_t size, std::int32_t entry, const Execution& execution);

  private:
    struct Request {
        std::int32_t target;
        std::int32_t source;
    };

    std::size_t row_width(int layer) const { return layer == 0 ? base_width_ : upper_width_; }
    std::size_t most_links(int layer) const { return layer == 0 ? 2 * m_ : m_; }
    const std::int32_t* row(std::int32_t slot, int layer) const;
    std::int32_t* writable_row(std::int32_t slot, int layer);
    int level_of(std::size_t slot) const;
    int top() const { return entry_ < 0 ? -1 : levels_[static_cast<std::size_t>(entry_)]; }

    void make_room(std::size_t size);
    // Rows of the upper layers that the linked slots have.
    std::size_t upper_rows() const;
    // Takes away what an interrupted call left beyond the linked slots.
    void drop_unlinked();
    void link_round(const HnswCodes& codes, std::size_t begin, std::size_t end,
                    const Execution& execution);
    void link_node(const HnswCodes& codes, std::size_t begin, std::int32_t slot,
                   HnswScratch& scratch);
    void link_back(const HnswCodes& codes, int layer, const Request* first, const Request* last,
                   HnswScratch& scratch);
    std::size_t choose(const HnswCodes& codes, float scale, std::size_t most, std::int32_t* chosen,
                       HnswScratch& scratch) const;
    void begin_walk(HnswScratch& scratch) const;
    std::uint64_t descend(const HnswCodes& codes, const std::uint8_t* with, int from, int to,
                          std::uint64_t best, HnswScratch& scratch) const;
    void gather(const std::int32_t* links, std::size_t width, const HnswCodes& codes,
                HnswScratch& scratch) const;
    template <class Take>
    void expand(const HnswCodes& codes, const std::uint8_t* with, std::int32_t of, int layer,
                HnswScratch& scratch, Take take) const;
    void beam(const HnswCodes& codes, const std::uint8_t* with, int layer, std::size_t ef,
              HnswScratch& scratch) const;
    void beam_allowed(const HnswCodes& codes, const std::uint8_t* with, std::size_t ef,
                      const std::uint8_t* allowed, HnswScratch& scratch) const;

    std::size_t m_;
    std::size_t ef_construction_;
    std::uint64_t seed_;
    std::size_t base_width_;
    std::size_t upper_width_;

    std::size_t linked_ = 0;
    std::int32_t entry_ = -1;  // a node of the highest level
    HnswBuffer<std::uint8_t> levels_;
    HnswBuffer<std::int32_t> base_;       // [size][base_width_], -1 past the end of a row
    HnswBuffer<std::uint32_t> upper_at_;  // [size] first upper row of a slot
    HnswBuffer<std::int32_t> upper_;      // [rows][upper_width_]: layers 1, 2, ... of each slot
};

}  // namespace fastrecall
