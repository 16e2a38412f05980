// A saved HNSW index that somebody else has written. Checksums are made to fit, so that what lies
// behind them is reached; whatever is accepted must answer, grow, shrink and be saved again.
#include <algorithm>
#include <cmath>
#include <set>

#include "../../../cpp/src/hnsw_file.cpp"  // for the format itself: Header, checksum
#include "input.hpp"

namespace {

using namespace fastrecall;
using Bytes = std::vector<std::uint8_t>;

// The same file with sections cut to what is there and checksums that fit.
Bytes with_checksums(Bytes file) {
    if (file.size() < sizeof(Header)) return file;
    Header header;
    std::memcpy(&header, file.data(), sizeof header);
    std::size_t at = sizeof header;
    for (Section& section : header.sections) {
        if (section.bytes > file.size() - at) return file;
        section.checksum = checksum(file.data() + at, section.bytes, {});
        const std::size_t end = at + round_up(section.bytes, kAlignment);
        if (end > file.size()) file.resize(end);
        std::fill(file.begin() + static_cast<std::ptrdiff_t>(at + section.bytes),
                  file.begin() + static_cast<std::ptrdiff_t>(end), std::uint8_t{0});
        at = end;
    }
    file.resize(at);
    header.checksum = checksum(header);
    std::memcpy(file.data(), &header, sizeof header);
    return file;
}

void ask(const Hnsw& index, std::size_t queries, std::int32_t ef, Span<const std::uint8_t> mask) {
    constexpr std::size_t k = 5;
    const std::size_t dim = index.options().dim;
    std::vector<float> rows(queries * dim);
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(i % 7) - 3;
    std::vector<std::int32_t> ids(queries * k);
    std::vector<float> scores(queries * k);
    index.search({rows.data(), queries, dim}, {&ef, 1}, mask, {ids.data(), queries, k},
                 {scores.data(), queries, k}, {});
    const std::vector<std::int32_t> live = index.ids();
    const std::multiset<std::int32_t> known(live.begin(), live.end());
    for (std::size_t query = 0; query < queries; ++query) {
        std::multiset<std::int32_t> seen;
        for (std::size_t i = 0; i < k; ++i) {
            const std::int32_t id = ids[query * k + i];
            if (id < 0) continue;
            MUST_HOLD(known.count(id) > 0);
            MUST_HOLD(mask.empty() || mask[static_cast<std::size_t>(id)] != 0);
            seen.insert(id);
            MUST_HOLD(seen.count(id) == 1);
        }
    }
}

void use(Hnsw& index) {
    MUST_HOLD(index.ids().size() == index.size());
    ask(index, 2, 8, {});
    const std::size_t dim = index.options().dim;
    const std::vector<std::int32_t> live = index.ids();
    const std::int32_t highest = live.empty() ? -1 : *std::max_element(live.begin(), live.end());
    if (highest < 4096) {
        std::vector<std::uint8_t> mask(4200, 1);
        for (std::size_t id = 0; id < mask.size(); id += 3) mask[id] = 0;
        try {
            ask(index, 1, 4, {mask.data(), mask.size()});
        } catch (const InputError&) {  // the mask must cover every id up to the highest ever given
        }
    }
    if (!live.empty()) index.remove({live.data(), 1});
    std::vector<float> rows(3 * dim, 1.0f);
    for (std::size_t i = 0; i < rows.size(); i += 5) rows[i] = -2;
    try {
        index.add({rows.data(), 3, dim}, {}, {});
    } catch (const InputError&) {  // no ids are left
    }
    MUST_HOLD(index.ids().size() == index.size());
    ask(index, 1, 64, {});
    Bytes saved;
    index.save([&saved](const void* data, std::size_t bytes) {
        const auto* const from = static_cast<const std::uint8_t*>(data);
        saved.insert(saved.end(), from, from + bytes);
    });
    const auto again = Hnsw::load({saved.data(), saved.size()}, "saved", {});
    MUST_HOLD(again->ids() == index.ids());
    index.compact({});
    MUST_HOLD(index.deleted() == 0);
    ask(index, 1, 8, {});
}

void open(const Bytes& file) {
    try {
        const auto index = Hnsw::load({file.data(), file.size()}, "fuzz", {});
        // Linking more is quadratic in what the file may claim; the rest of the time is for files.
        if (index->options().dim <= 1024 && index->options().ef_construction <= 1024) use(*index);
    } catch (const InputError&) {
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const Bytes file(data, data + size);
    const Bytes mended = with_checksums(file);
    open(mended);
    if (mended != file) open(file);
    return 0;
}
