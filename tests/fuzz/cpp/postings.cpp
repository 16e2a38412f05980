// Inverted lists of any kind, as a damaged index or a careless caller would give them.
#include "fastrecall/postings.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "fastrecall/error.hpp"
#include "input.hpp"

namespace {

using namespace fastrecall;

template <class T>
Span<const T> view(const std::vector<T>& values) {
    return {values.data(), values.size()};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Input input(data, size);
    const auto flags = input.take<std::uint8_t>();
    const std::size_t nodes = input.take<std::uint8_t>() % 64;
    const std::size_t fields = input.take<std::uint8_t>() % 4;
    auto offsets = input.numbers<std::int64_t>(32);
    const auto holders = input.numbers<std::int32_t>(128);
    if ((flags & 1) != 0 && !offsets.empty()) {  // more often such as fit
        std::sort(offsets.begin(), offsets.end());
        offsets.front() = 0;
        offsets.back() = static_cast<std::int64_t>(holders.size());
    }
    auto counts = input.floats(input.take<std::uint8_t>() % 129);
    if ((flags & 2) != 0) counts.resize(holders.size(), 1.0f);
    std::vector<std::int64_t> lengths(fields * nodes);
    for (auto& length : lengths) length = input.number<std::int64_t>();
    std::vector<double> weights(fields, 1.0);
    if ((flags & 4) != 0) {
        for (auto& weight : weights) weight = input.take<double>();
    }
    try {
        const Postings postings(view(offsets), view(holders), view(counts),
                                {lengths.data(), fields, nodes}, view(weights), {});
        std::vector<std::int64_t> query_offsets = input.numbers<std::int64_t>(8);
        const auto terms = input.numbers<std::int32_t>(16);
        auto times = input.numbers<std::int32_t>(16);
        if ((flags & 8) != 0) times.resize(terms.size(), 1);
        if ((flags & 16) != 0) query_offsets = {0, static_cast<std::int64_t>(terms.size())};
        const auto excluded = input.numbers<std::int32_t>(16);
        std::vector<std::int64_t> exclude_offsets;
        if ((flags & 32) != 0) exclude_offsets = {0, static_cast<std::int64_t>(excluded.size())};
        std::vector<std::uint8_t> visible;
        if ((flags & 64) != 0) visible.resize(nodes, input.take<std::uint8_t>() & 1);
        const TermQueries queries{view(query_offsets), view(terms), view(times)};
        const Presence presence{view(exclude_offsets),
                                view(excluded),
                                {visible.empty() ? nullptr : visible.data(), 1, nodes},
                                {}};
        constexpr std::size_t k = 4;
        const std::size_t rows = query_offsets.empty() ? 0 : query_offsets.size() - 1;
        std::vector<std::int32_t> ids(rows * k);
        std::vector<float> scores(rows * k);
        postings.search(queries, presence, {}, {ids.data(), rows, k}, {scores.data(), rows, k}, {});
        for (std::size_t row = 0; row < rows; ++row) {
            std::set<std::int32_t> seen;
            for (std::size_t i = 0; i < k; ++i) {
                const std::int32_t id = ids[row * k + i];
                MUST_HOLD(id >= -1 && id < static_cast<std::int32_t>(nodes));
                MUST_HOLD((id < 0) == std::isnan(scores[row * k + i]));
                MUST_HOLD(id < 0 || seen.insert(id).second);
            }
        }
        std::vector<double> all(nodes);
        postings.score(queries, presence, {}, all.data());

        // Counted first, and then searched by these counts: the same to the bit.
        std::vector<std::int64_t> sizes(rows), field_lengths(rows * fields), df(terms.size());
        const CollectionOf<std::int64_t> counted{
            {sizes.data(), rows}, {field_lengths.data(), rows, fields}, {df.data(), df.size()}};
        postings.count(queries, presence, counted, {});
        const Collection collection{
            {sizes.data(), rows}, {field_lengths.data(), rows, fields}, {df.data(), df.size()}};
        std::vector<std::int32_t> again(rows * k);
        postings.search(queries, presence, collection, {again.data(), rows, k},
                        {scores.data(), rows, k}, {});
        MUST_HOLD(again == ids);
        for (auto* const given : {&sizes, &field_lengths, &df}) {
            for (auto& count : *given) count = input.number<std::int64_t>();
        }
        postings.search(queries, presence, collection, {again.data(), rows, k},
                        {scores.data(), rows, k}, {});
        for (const std::int32_t id : again) {
            MUST_HOLD(id >= -1 && id < static_cast<std::int32_t>(nodes));
        }
    } catch (const InputError&) {
    }
    return 0;
}
