#include "hnsw_graph.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <string>

#include "fastrecall/error.hpp"
#include "fastrecall/prefetch.hpp"

namespace fastrecall {
namespace {

// Nodes that search one frozen graph before their links are applied. They see each other all the
// same, so that the size costs only products: half of it a node.
constexpr std::size_t kRound = 1024;
constexpr std::size_t kNodesPerChunk = 8;
constexpr std::size_t kTargetsPerChunk = 64;

std::uint64_t mix(std::uint64_t value) {  // splitmix64's finaliser
    value += 0x9e3779b97f4a7c15u;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}

// Puts a candidate into a list of at most `most`, ordered; returns its place, or the list's size
// when it is not good enough.
std::size_t offer(std::vector<std::uint64_t>& list, std::size_t most, std::uint64_t key) {
    if (list.size() == most) {
        if (key > list.back()) return list.size();
        list.pop_back();
    }
    const auto place = std::lower_bound(list.begin(), list.end(), key);
    const auto index = static_cast<std::size_t>(place - list.begin());
    list.insert(place, key);
    return index;
}

}  // namespace

float HnswCodes::encode(const float* row, std::size_t dim, std::size_t width, std::uint8_t* out) {
    float largest = 0;
    for (std::size_t i = 0; i < dim; ++i) largest = std::max(largest, std::fabs(row[i]));
    const float scale = largest / static_cast<float>(kCodeMax);
    const float steps = largest > 0 ? static_cast<float>(kCodeMax) / largest : 0;
    for (std::size_t i = 0; i < dim; ++i) {
        const auto value = static_cast<int>(std::lrint(row[i] * steps));
        out[i] = static_cast<std::uint8_t>(kCodeBias + std::clamp(value, -kCodeMax, kCodeMax));
    }
    std::fill(out + dim, out + width, static_cast<std::uint8_t>(kCodeBias));
    return scale;
}

HnswGraph::HnswGraph(std::int32_t m, std::int32_t ef_construction, std::uint64_t seed)
    : m_(static_cast<std::size_t>(m)),
      ef_construction_(static_cast<std::size_t>(ef_construction)),
      seed_(seed),
      base_width_(round_up(2 * m_, 16)),
      upper_width_(round_up(m_, 16)) {}

std::size_t HnswGraph::nbytes() const {
    std::size_t bytes = 0;
    each_buffer(*this, [&bytes](const auto& buffer) { bytes += buffer.nbytes(); });
    return bytes;
}

const std::int32_t* HnswGraph::row(std::int32_t slot, int layer) const {
    const auto place = static_cast<std::size_t>(slot);
    if (layer == 0) return base_.data() + place * base_width_;
    return upper_.data() + (upper_at_[place] + static_cast<std::size_t>(layer) - 1) * upper_width_;
}

// Only after make_room, which has made the arrays our own.
std::int32_t* HnswGraph::writable_row(std::int32_t slot, int layer) {
    return const_cast<std::int32_t*>(row(slot, layer));
}

// Geometric with ratio 1 / m, from the slot and the seed alone.
int HnswGraph::level_of(std::size_t slot) const {
    const std::uint64_t bits = mix(seed_ ^ mix(slot)) >> 11;
    const double uniform = (static_cast<double>(bits) + 1) / 9007199254740992.0;  // (0, 1]
    const double level = -std::log(uniform) / std::log(static_cast<double>(m_));
    return std::min(kMaxLevel, static_cast<int>(level));
}

void HnswGraph::make_room(std::size_t size) {
    std::size_t rows = upper_rows();
    levels_.resize(size, 0);
    upper_at_.resize(size, 0);
    std::uint8_t* const levels = levels_.writable();
    std::uint32_t* const at = upper_at_.writable();
    for (std::size_t slot = linked_; slot < size; ++slot) {
        levels[slot] = static_cast<std::uint8_t>(level_of(slot));
        at[slot] = static_cast<std::uint32_t>(rows);
        rows += levels[slot];
    }
    base_.resize(size * base_width_, -1);
    upper_.resize(rows * upper_width_, -1);
    base_.writable();
    upper_.writable();
}

std::size_t HnswGraph::upper_rows() const {
    return linked_ == 0 ? 0 : upper_at_[linked_ - 1] + levels_[linked_ - 1];
}

void HnswGraph::drop_unlinked() {
    const auto shrink = [](auto& buffer, std::size_t size) {
        if (buffer.size() > size) buffer.resize(size, {});
    };
    shrink(levels_, linked_);
    shrink(upper_at_, linked_);
    shrink(base_, linked_ * base_width_);
    shrink(upper_, upper_rows() * upper_width_);
}

void HnswGraph::grow(const HnswCodes& codes, const Execution& execution) {
    try {
        make_room(codes.size());
        while (linked_ < codes.size()) {
            link_round(codes, linked_, std::min(codes.size(), linked_ + kRound), execution);
        }
    } catch (...) {
        drop_unlinked();  // or the index could be neither saved nor grown again
        throw;
    }
}

void HnswGraph::link_round(const HnswCodes& codes, std::size_t begin, std::size_t end,
                           const Execution& execution) {
    std::vector<HnswScratch> scratch(std::max(1u, execution.threads));
    parallel_for(end - begin, kNodesPerChunk, execution,
                 [&](std::size_t first, std::size_t last, unsigned worker) {
                     for (std::size_t i = first; i < last; ++i) {
                         link_node(codes, begin, static_cast<std::int32_t>(begin + i),
                                   scratch[worker]);
                     }
                 });

    std::vector<std::vector<Request>> requests(1);
    for (std::size_t place = begin; place < end; ++place) {
        const auto source = static_cast<std::int32_t>(place);
        if (levels_[place] >= requests.size()) requests.resize(levels_[place] + std::size_t{1});
        for (int layer = 0; layer <= levels_[place]; ++layer) {
            const std::int32_t* links = row(source, layer);
            for (std::size_t i = 0; i < row_width(layer) && links[i] >= 0; ++i) {
                requests[static_cast<std::size_t>(layer)].push_back({links[i], source});
            }
        }
    }
    // From here on the round belongs to the graph: its slots may be met in rows.
    linked_ = end;
    Execution undisturbed;
    undisturbed.threads = execution.threads;
    for (std::size_t layer = 0; layer < requests.size(); ++layer) {
        std::vector<Request>& of_layer = requests[layer];
        std::sort(of_layer.begin(), of_layer.end(), [](const Request& a, const Request& b) {
            return a.target != b.target ? a.target < b.target : a.source < b.source;
        });
        std::vector<const Request*> groups;
        for (const Request& request : of_layer) {
            if (groups.empty() || groups.back()->target != request.target) {
                groups.push_back(&request);
            }
        }
        groups.push_back(of_layer.data() + of_layer.size());
        parallel_for(groups.size() - 1, kTargetsPerChunk, undisturbed,
                     [&](std::size_t first, std::size_t last, unsigned worker) {
                         for (std::size_t i = first; i < last; ++i) {
                             link_back(codes, static_cast<int>(layer), groups[i], groups[i + 1],
                                       scratch[worker]);
                         }
                     });
    }
    for (std::size_t place = begin; place < end; ++place) {
        if (levels_[place] > top()) entry_ = static_cast<std::int32_t>(place);
    }
}

// Chooses the links of one new node, in every layer it has. Writes its own rows alone.
void HnswGraph::link_node(const HnswCodes& codes, std::size_t begin, std::int32_t slot,
                          HnswScratch& scratch) {
    const std::uint8_t* with = codes.row(slot);
    const float scale = codes.scales[static_cast<std::size_t>(slot)];
    const int level = levels_[static_cast<std::size_t>(slot)];
    std::vector<std::uint64_t>& found = scratch.found;
    std::vector<std::int32_t>& mates = scratch.fresh;
    const auto similarity_to = [&](std::int32_t other) {
        std::int32_t sum;
        kernels().dot_code_rows(codes.codes.data(), codes.width, &other, 1, with, &sum);
        return static_cast<float>(sum) * codes.scales[static_cast<std::size_t>(other)];
    };
    std::uint64_t best = 0;
    if (entry_ >= 0) {
        best = descend(codes, with, top(), level, hnsw_key::make(similarity_to(entry_), entry_),
                       scratch);
    }
    for (int layer = level; layer >= 0; --layer) {
        found.clear();
        begin_walk(scratch);
        if (layer <= top()) {
            found.push_back(best);
            scratch.met[static_cast<std::size_t>(hnsw_key::slot(best))] = scratch.stamp;
            beam(codes, with, layer, ef_construction_, scratch);
            best = found.front() & ~hnsw_key::kFollowed;
        }
        mates.clear();
        for (auto mate = static_cast<std::int32_t>(begin); mate < slot; ++mate) {
            if (levels_[static_cast<std::size_t>(mate)] >= layer) mates.push_back(mate);
        }
        scratch.sums.resize(std::max(scratch.sums.size(), mates.size()));
        kernels().dot_code_rows(codes.codes.data(), codes.width, mates.data(), mates.size(), with,
                                scratch.sums.data());
        for (std::size_t i = 0; i < mates.size(); ++i) {
            const float mate_scale = codes.scales[static_cast<std::size_t>(mates[i])];
            offer(found, ef_construction_,
                  hnsw_key::make(static_cast<float>(scratch.sums[i]) * mate_scale, mates[i]));
        }
        choose(codes, scale, m_, writable_row(slot, layer), scratch);
    }
}

// Adds the sources of the requests, all of one target, to its links; when they become too many,
// chooses among old and new ones.
void HnswGraph::link_back(const HnswCodes& codes, int layer, const Request* first,
                          const Request* last, HnswScratch& scratch) {
    const std::int32_t target = first->target;
    std::int32_t* const links = writable_row(target, layer);
    const std::size_t most = most_links(layer);
    std::size_t count = 0;
    while (count < most && links[count] >= 0) ++count;
    const auto more = static_cast<std::size_t>(last - first);
    if (count + more <= most) {
        for (const Request* request = first; request != last; ++request) {
            links[count++] = request->source;
        }
        return;
    }
    std::vector<std::int32_t>& all = scratch.fresh;
    all.assign(links, links + count);
    for (const Request* request = first; request != last; ++request) {
        all.push_back(request->source);
    }
    scratch.sums.resize(std::max(scratch.sums.size(), all.size()));
    kernels().dot_code_rows(codes.codes.data(), codes.width, all.data(), all.size(),
                            codes.row(target), scratch.sums.data());
    scratch.found.clear();
    for (std::size_t i = 0; i < all.size(); ++i) {
        const float scale = codes.scales[static_cast<std::size_t>(all[i])];
        scratch.found.push_back(
            hnsw_key::make(static_cast<float>(scratch.sums[i]) * scale, all[i]));
    }
    std::sort(scratch.found.begin(), scratch.found.end());
    const std::size_t kept =
        choose(codes, codes.scales[static_cast<std::size_t>(target)], most, links, scratch);
    std::fill(links + kept, links + row_width(layer), -1);
}

// The heuristic of the paper: of scratch.found, best first, takes a candidate unless one taken
// before is nearer to it than the node is whose links are chosen (its scale is `scale`). Links then
// lead into different directions. Returns how many were taken.
std::size_t HnswGraph::choose(const HnswCodes& codes, float scale, std::size_t most,
                              std::int32_t* chosen, HnswScratch& scratch) const {
    constexpr std::size_t kTogether = 4;
    std::size_t count = 0;
    for (const std::uint64_t key : scratch.found) {
        if (count == most) break;
        const std::int32_t slot = hnsw_key::slot(key);
        const float own_scale = codes.scales[static_cast<std::size_t>(slot)];
        const float nearness = hnsw_key::similarity(key) * scale;
        bool apart = true;
        for (std::size_t done = 0; done < count && apart; done += kTogether) {
            const std::size_t some = std::min(kTogether, count - done);
            std::int32_t sums[kTogether];
            kernels().dot_code_rows(codes.codes.data(), codes.width, chosen + done, some,
                                    codes.row(slot), sums);
            for (std::size_t i = 0; i < some; ++i) {
                const float other_scale = codes.scales[static_cast<std::size_t>(chosen[done + i])];
                apart = apart && static_cast<float>(sums[i]) * other_scale * own_scale <= nearness;
            }
        }
        if (apart) chosen[count++] = slot;
    }
    return count;
}

void HnswGraph::begin_walk(HnswScratch& scratch) const {
    if (scratch.met.size() < levels_.size()) {
        scratch.met.assign(levels_.size(), 0);
        scratch.stamp = 0;
    }
    if (++scratch.stamp == 0) {
        std::fill(scratch.met.begin(), scratch.met.end(), std::uint8_t{0});
        scratch.stamp = 1;
    }
}

// From layer `from` down to the one above `to`, always on to the nearest neighbour.
std::uint64_t HnswGraph::descend(const HnswCodes& codes, const std::uint8_t* with, int from, int to,
                                 std::uint64_t best, HnswScratch& scratch) const {
    scratch.sums.resize(std::max(scratch.sums.size(), upper_width_));
    for (int layer = from; layer > to; --layer) {
        for (bool nearer = true; nearer;) {
            nearer = false;
            const std::int32_t* links = row(hnsw_key::slot(best), layer);
            std::size_t count = 0;
            while (count < upper_width_ && links[count] >= 0) ++count;
            kernels().dot_code_rows(codes.codes.data(), codes.width, links, count, with,
                                    scratch.sums.data());
            ++scratch.visited;
            scratch.distances += count;
            for (std::size_t i = 0; i < count; ++i) {
                const float scale = codes.scales[static_cast<std::size_t>(links[i])];
                const std::uint64_t key =
                    hnsw_key::make(static_cast<float>(scratch.sums[i]) * scale, links[i]);
                if (key < best) {
                    best = key;
                    nearer = true;
                }
            }
        }
    }
    return best;
}

// The links not met so far into scratch.fresh; their codes are fetched meanwhile.
void HnswGraph::gather(const std::int32_t* links, std::size_t width, const HnswCodes& codes,
                       HnswScratch& scratch) const {
    std::int32_t* const fresh = scratch.fresh.data();
    std::size_t count = 0;
    for (std::size_t i = 0; i < width && links[i] >= 0; ++i) {
        const std::int32_t slot = links[i];
        std::uint8_t& met = scratch.met[static_cast<std::size_t>(slot)];
        if (met == scratch.stamp) continue;
        met = scratch.stamp;
        fresh[count++] = slot;
        const std::uint8_t* codes_of = codes.row(slot);
        for (std::size_t line = 0; line < codes.width; line += kCacheLine) {
            prefetch(codes_of + line);
        }
    }
    scratch.fresh.resize(count);
}

// Calls take(key, slot) for each neighbour of `of` that was not met so far.
template <class Take>
void HnswGraph::expand(const HnswCodes& codes, const std::uint8_t* with, std::int32_t of, int layer,
                       HnswScratch& scratch, Take take) const {
    const std::size_t width = row_width(layer);
    scratch.fresh.resize(width);
    scratch.sums.resize(std::max(scratch.sums.size(), width));
    gather(row(of, layer), width, codes, scratch);
    const std::vector<std::int32_t>& fresh = scratch.fresh;
    kernels().dot_code_rows(codes.codes.data(), codes.width, fresh.data(), fresh.size(), with,
                            scratch.sums.data());
    ++scratch.visited;
    scratch.distances += fresh.size();
    for (std::size_t i = 0; i < fresh.size(); ++i) {
        const float scale = codes.scales[static_cast<std::size_t>(fresh[i])];
        take(hnsw_key::make(static_cast<float>(scratch.sums[i]) * scale, fresh[i]), fresh[i]);
    }
}

// From the nodes in scratch.found, follows the best one whose links were not followed, until none
// is left among the best `ef`.
void HnswGraph::beam(const HnswCodes& codes, const std::uint8_t* with, int layer, std::size_t ef,
                     HnswScratch& scratch) const {
    std::vector<std::uint64_t>& found = scratch.found;
    found.reserve(ef + 1);
    for (std::size_t place = 0; place < found.size();) {
        const std::uint64_t nearest = found[place];
        if ((nearest & hnsw_key::kFollowed) != 0) {
            ++place;
            continue;
        }
        found[place++] |= hnsw_key::kFollowed;
        if (place < found.size()) prefetch(row(hnsw_key::slot(found[place]), layer));
        expand(codes, with, hnsw_key::slot(nearest), layer, scratch,
               [&](std::uint64_t key, std::int32_t) {
                   place = std::min(place, offer(found, ef, key));
               });
    }
}

// The same in the lowest layer when only some nodes may be found: any may be walked through, until
// the nearest one left is farther than `ef` found ones.
void HnswGraph::beam_allowed(const HnswCodes& codes, const std::uint8_t* with, std::size_t ef,
                             const std::uint8_t* allowed, HnswScratch& scratch) const {
    std::vector<std::uint64_t>& found = scratch.found;
    std::vector<std::uint64_t>& queue = scratch.queue;
    queue.swap(found);
    found.clear();
    for (const std::uint64_t key : queue) {
        if (allowed[hnsw_key::slot(key)] != 0) offer(found, ef, key);
    }
    while (!queue.empty()) {
        std::pop_heap(queue.begin(), queue.end(), std::greater<>());
        const std::uint64_t nearest = queue.back();
        queue.pop_back();
        if (found.size() == ef && nearest > found.back()) break;
        expand(codes, with, hnsw_key::slot(nearest), 0, scratch,
               [&](std::uint64_t key, std::int32_t slot) {
                   if (found.size() == ef && key > found.back()) return;
                   queue.push_back(key);
                   std::push_heap(queue.begin(), queue.end(), std::greater<>());
                   if (allowed[slot] != 0) offer(found, ef, key);
               });
    }
}

void HnswGraph::search(const HnswCodes& codes, std::size_t ef, const std::uint8_t* allowed,
                       HnswScratch& scratch) const {
    scratch.found.clear();
    if (entry_ < 0) return;
    const std::uint8_t* with = scratch.query.data();
    std::int32_t sum;
    kernels().dot_code_rows(codes.codes.data(), codes.width, &entry_, 1, with, &sum);
    ++scratch.distances;
    const float scale = codes.scales[static_cast<std::size_t>(entry_)];
    const std::uint64_t best = descend(
        codes, with, top(), 0, hnsw_key::make(static_cast<float>(sum) * scale, entry_), scratch);
    begin_walk(scratch);
    scratch.met[static_cast<std::size_t>(hnsw_key::slot(best))] = scratch.stamp;
    scratch.found.push_back(best);
    if (allowed == nullptr) {
        beam(codes, with, 0, ef, scratch);
    } else {
        beam_allowed(codes, with, ef, allowed, scratch);
    }
}

void HnswGraph::scan(const HnswCodes& codes, const std::vector<std::int32_t>& slots, std::size_t ef,
                     HnswScratch& scratch) {
    constexpr std::size_t kTogether = 256;
    scratch.found.clear();
    scratch.sums.resize(std::max(scratch.sums.size(), kTogether));
    for (std::size_t done = 0; done < slots.size(); done += kTogether) {
        const std::size_t some = std::min(kTogether, slots.size() - done);
        kernels().dot_code_rows(codes.codes.data(), codes.width, slots.data() + done, some,
                                scratch.query.data(), scratch.sums.data());
        for (std::size_t i = 0; i < some; ++i) {
            const std::int32_t slot = slots[done + i];
            const float scale = codes.scales[static_cast<std::size_t>(slot)];
            offer(scratch.found, ef,
                  hnsw_key::make(static_cast<float>(scratch.sums[i]) * scale, slot));
        }
    }
    scratch.distances += slots.size();
}

void HnswGraph::adopt(std::size_t size, std::int32_t entry, const Execution& execution) {
    const auto refuse = [] {
        throw InputError("the links of the index do not fit together; build it again");
    };
    if (levels_.size() != size || upper_at_.size() != size || base_.size() != size * base_width_ ||
        (size == 0) != (entry < 0) || entry >= static_cast<std::int64_t>(size)) {
        refuse();
    }
    std::size_t rows = 0;
    for (std::size_t slot = 0; slot < size; ++slot) {
        if (levels_[slot] > kMaxLevel || upper_at_[slot] != rows) refuse();
        rows += levels_[slot];
    }
    if (upper_.size() != rows * upper_width_) refuse();
    std::atomic<bool> sound{true};
    parallel_for(size, 4096, execution, [&](std::size_t begin, std::size_t end, unsigned) {
        bool inside = true;
        for (std::size_t slot = begin; slot < end; ++slot) {
            for (int layer = 0; layer <= levels_[slot]; ++layer) {
                const std::int32_t* links = row(static_cast<std::int32_t>(slot), layer);
                std::size_t i = 0;
                for (; i < row_width(layer) && links[i] >= 0; ++i) {
                    const auto link = static_cast<std::size_t>(links[i]);
                    inside =
                        inside && i < most_links(layer) && link < size && levels_[link] >= layer;
                }
                // A link behind the end would count as soon as others are added before it.
                for (; i < row_width(layer); ++i) inside = inside && links[i] < 0;
            }
        }
        if (!inside) sound = false;
    });
    if (!sound) refuse();
    linked_ = size;
    entry_ = entry;
}

}  // namespace fastrecall
