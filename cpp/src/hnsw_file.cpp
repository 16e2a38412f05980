// An HNSW index as a file, version 1, little-endian. Whoever raises the version keeps reading the
// ones before: tests/core/data has a file of each.
//
//   Header     256 bytes, its last 8 the checksum of the others
//   sections   the arrays of HnswRows and HnswGraph, in their order, each from a multiple of 64 on,
//              the space between filled with zeros
//
// Every byte is covered by a checksum, and all are checked on opening. The arrays are used where
// they lie, so that a mapped file is open as soon as it has been read through once.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <limits>

#include "fastrecall/error.hpp"
#include "fastrecall/hnsw.hpp"
#include "hnsw_graph.hpp"
#include "hnsw_rows.hpp"
#include "hnsw_tally.hpp"

namespace fastrecall {
namespace {

constexpr char kMagic[8] = {'F', 'R', 'H', 'N', 'S', 'W', '\r', '\n'};
constexpr std::uint32_t kVersion = 1;
constexpr std::uint32_t kByteOrder = 0x01020304;
constexpr std::size_t kSections = 10;
constexpr std::size_t kAlignment = 64;
constexpr std::size_t kBlock = std::size_t{1} << 20;  // what one thread sums at a time

struct Section {
    std::uint64_t bytes;
    std::uint64_t checksum;
};

struct Header {
    char magic[8];
    std::uint32_t version;
    std::uint32_t byte_order;
    std::uint32_t storage;
    std::uint32_t dim;
    std::uint32_t m;
    std::uint32_t ef_construction;
    std::uint64_t seed;
    std::uint64_t size;
    std::uint64_t deleted;
    std::int64_t next_id;
    std::int64_t entry;
    Section sections[kSections];
    std::uint64_t reserved[2];
    std::uint64_t checksum;
};
static_assert(sizeof(Header) == 256, "the header has no padding");

std::uint64_t turned(std::uint64_t sum, std::uint64_t word) {
    sum = (sum ^ word) * 0x9e3779b97f4a7c15u;  // odd: no two words lead to the same sum
    return sum ^ (sum >> 32);
}

// Eight sums side by side, then folded: any change of one word changes the result.
std::uint64_t checksum_block(const std::uint8_t* data, std::size_t bytes) {
    constexpr std::size_t kLanes = 8;
    std::uint64_t lane[kLanes] = {1, 2, 3, 4, 5, 6, 7, 8};
    std::size_t done = 0;
    for (; done + sizeof lane <= bytes; done += sizeof lane) {
        std::uint64_t words[kLanes];
        std::memcpy(words, data + done, sizeof words);
        for (std::size_t i = 0; i < kLanes; ++i) lane[i] = turned(lane[i], words[i]);
    }
    std::uint64_t rest[kLanes] = {};
    if (done < bytes) std::memcpy(rest, data + done, bytes - done);
    std::uint64_t sum = bytes;
    for (std::size_t i = 0; i < kLanes; ++i) sum = turned(turned(sum, lane[i]), rest[i]);
    return sum;
}

std::uint64_t checksum(const std::uint8_t* data, std::size_t bytes, const Execution& execution) {
    const std::size_t blocks = (bytes + kBlock - 1) / kBlock;
    std::vector<std::uint64_t> sums(blocks);
    parallel_for(blocks, 1, execution, [&](std::size_t begin, std::size_t end, unsigned) {
        for (std::size_t i = begin; i < end; ++i) {
            sums[i] = checksum_block(data + i * kBlock, std::min(kBlock, bytes - i * kBlock));
        }
    });
    return checksum_block(reinterpret_cast<const std::uint8_t*>(sums.data()),
                          sums.size() * sizeof(std::uint64_t));
}

std::uint64_t checksum(const Header& header) {
    return checksum_block(reinterpret_cast<const std::uint8_t*>(&header),
                          offsetof(Header, checksum));
}

// Whether every id lies in [0, next_id) and no two vectors that are not deleted share one.
bool ids_fit(const HnswRows& rows, std::int64_t next_id) {
    constexpr std::int64_t most = std::int64_t{std::numeric_limits<std::int32_t>::max()} + 1;
    if (next_id < 0 || next_id > most) return false;
    std::vector<std::int32_t> live;
    live.reserve(rows.size());
    for (std::size_t slot = 0; slot < rows.size(); ++slot) {
        if (rows.ids[slot] < 0 || rows.ids[slot] >= next_id) return false;
        if (rows.dead[slot] == 0) live.push_back(rows.ids[slot]);
    }
    if (!std::is_sorted(live.begin(), live.end())) std::sort(live.begin(), live.end());
    return std::adjacent_find(live.begin(), live.end()) == live.end();
}

// Calls visit(buffer) for every array of an index, in the order of the file.
template <class Rows, class Graph, class Visit>
void each_section(Rows& rows, Graph& graph, Visit visit) {
    HnswRows::each_buffer(rows, visit);
    HnswGraph::each_buffer(graph, visit);
}

}  // namespace

void Hnsw::save(const std::function<void(const void*, std::size_t)>& write) const {
    const Access::Reading reading(access_);
    Header header{};
    std::memcpy(header.magic, kMagic, sizeof kMagic);
    header.version = kVersion;
    header.byte_order = kByteOrder;
    header.storage = static_cast<std::uint32_t>(options_.storage);
    header.dim = static_cast<std::uint32_t>(options_.dim);
    header.m = static_cast<std::uint32_t>(options_.m);
    header.ef_construction = static_cast<std::uint32_t>(options_.ef_construction);
    header.seed = options_.seed;
    header.size = rows_->size();
    header.deleted = deleted_;
    header.next_id = next_id_;
    header.entry = graph_->entry();
    std::size_t section = 0;
    each_section(*rows_, *graph_, [&](const auto& buffer) {
        const std::size_t bytes = buffer.size() * sizeof(buffer[0]);
        header.sections[section++] = {
            bytes, checksum(reinterpret_cast<const std::uint8_t*>(buffer.data()), bytes, {})};
    });
    header.checksum = checksum(header);
    write(&header, sizeof header);
    each_section(*rows_, *graph_, [&](const auto& buffer) {
        constexpr std::array<char, kAlignment> zeros{};
        const std::size_t bytes = buffer.size() * sizeof(buffer[0]);
        if (bytes > 0) write(buffer.data(), bytes);
        const std::size_t space = round_up(bytes, kAlignment) - bytes;
        if (space > 0) write(zeros.data(), space);
    });
}

std::unique_ptr<Hnsw> Hnsw::load(Span<const std::uint8_t> file, const std::string& name,
                                 const Execution& execution) {
    const auto refuse = [&name](const std::string& what) { throw InputError(name + " " + what); };
    const char* const damaged = "is damaged (a checksum does not match); save the index again";
    Header header;
    if (file.size < sizeof kMagic || std::memcmp(file.data, kMagic, sizeof kMagic) != 0) {
        refuse("is not an HNSW index of fastrecall");
    }
    if (file.size < sizeof header) refuse("is cut off; save the index again");
    std::memcpy(&header, file.data, sizeof header);
    if (header.byte_order != kByteOrder) refuse("was written on a machine of other byte order");
    if (header.version > kVersion) {
        refuse("has format version " + std::to_string(header.version) +
               ", of a newer fastrecall; this one reads versions up to " +
               std::to_string(kVersion) + ": upgrade it, or build the index again");
    }
    if (header.version != kVersion) refuse(damaged);  // there never was a version 0
    if (header.checksum != checksum(header)) refuse(damaged);
    if (header.storage > static_cast<std::uint32_t>(Storage::float32)) refuse(damaged);

    HnswOptions options;
    options.dim = header.dim;
    options.m = static_cast<std::int32_t>(header.m);
    options.ef_construction = static_cast<std::int32_t>(header.ef_construction);
    options.storage = static_cast<Storage>(header.storage);
    options.seed = header.seed;
    auto index = std::make_unique<Hnsw>(options);

    std::size_t at = sizeof header;
    for (const Section& section : header.sections) {
        if (section.bytes > file.size - at) refuse("is cut off; save the index again");
        const std::size_t end = at + round_up(section.bytes, kAlignment);
        if (end > file.size) refuse("is cut off; save the index again");
        if (checksum(file.data + at, section.bytes, execution) != section.checksum ||
            std::any_of(file.data + at + section.bytes, file.data + end,
                        [](std::uint8_t byte) { return byte != 0; })) {
            refuse(damaged);
        }
        at = end;
    }
    if (at != file.size) refuse("is longer than its header says; save the index again");

    at = sizeof header;
    std::size_t section = 0;
    each_section(*index->rows_, *index->graph_, [&](auto& buffer) {
        using Value = std::decay_t<decltype(buffer[0])>;
        const std::size_t bytes = header.sections[section++].bytes;
        if (bytes % sizeof(Value) != 0) refuse(damaged);
        buffer.borrow(reinterpret_cast<const Value*>(file.data + at), bytes / sizeof(Value));
        at += round_up(bytes, kAlignment);
    });
    const HnswRows& rows = *index->rows_;
    const std::size_t size = header.size;
    const auto fits = [&](const auto& buffer, std::size_t width) {
        return buffer.size() / std::max<std::size_t>(width, 1) == size &&
               buffer.size() == size * width;
    };
    const std::size_t deleted = static_cast<std::size_t>(
        std::count(rows.dead.data(), rows.dead.data() + rows.dead.size(), std::uint8_t{1}));
    const std::size_t live = static_cast<std::size_t>(
        std::count(rows.dead.data(), rows.dead.data() + rows.dead.size(), std::uint8_t{0}));
    const bool whole = fits(rows.codes.codes, rows.codes.width) && fits(rows.codes.scales, 1) &&
                       fits(rows.ids, 1) && fits(rows.dead, 1) && deleted == header.deleted &&
                       live + deleted == size &&
                       (options.storage == Storage::float32 ? fits(rows.singles, rows.padded)
                                                            : rows.singles.size() == 0) &&
                       (options.storage == Storage::float16 ? fits(rows.halves, rows.padded)
                                                            : rows.halves.size() == 0) &&
                       ids_fit(rows, header.next_id);
    if (!whole) refuse("does not fit together; save the index again");
    index->graph_->adopt(size, static_cast<std::int32_t>(header.entry), execution);
    index->next_id_ = header.next_id;
    index->deleted_ = deleted;
    return index;
}

}  // namespace fastrecall
