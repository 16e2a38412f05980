// Many threads that call one object at once, each call on several threads of its own: everybody
// gets what a lone caller gets. Under the thread sanitizer it also shows that nothing is shared
// unguarded.
#include <atomic>
#include <cstring>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include "check.hpp"
#include "fastrecall/csr.hpp"
#include "fastrecall/exact.hpp"
#include "fastrecall/fusion.hpp"
#include "fastrecall/hnsw.hpp"
#include "fastrecall/knn_graph.hpp"
#include "fastrecall/postings.hpp"
#include "fastrecall/walk.hpp"

using namespace fastrecall;

namespace {

using Bytes = std::vector<std::uint8_t>;

template <class T>
void append(Bytes& bytes, const std::vector<T>& values) {
    const auto* const first = reinterpret_cast<const std::uint8_t*>(values.data());
    bytes.insert(bytes.end(), first, first + values.size() * sizeof(T));
}

std::vector<float> normals(std::size_t size, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::vector<float> values(size);
    for (float& value : values) value = normal(random);
    return values;
}

std::vector<std::int32_t> below(std::int32_t limit, std::size_t size, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<std::int32_t> values(size);
    for (std::int32_t& value : values) {
        value = static_cast<std::int32_t>(random() % static_cast<unsigned>(limit));
    }
    return values;
}

// `call(threads)` gives the same bytes to each of several callers as to one alone.
void check_callers(const std::function<Bytes(unsigned)>& call) {
    const Bytes expected = call(1);
    std::atomic<int> different{0};
    std::vector<std::thread> callers;
    for (unsigned caller = 0; caller < 4; ++caller) {
        callers.emplace_back([&, caller] {
            for (int round = 0; round < 3; ++round) {
                if (call(1 + caller) != expected) ++different;
            }
        });
    }
    for (std::thread& caller : callers) caller.join();
    CHECK(different == 0);
}

constexpr std::size_t kDim = 20, kSize = 900, kQueries = 90, kBest = 7;

}  // namespace

TEST(callers_of_exact_search_and_its_graph) {
    const std::vector<float> values = normals(kSize * kDim, 1), asked = normals(kQueries * kDim, 2);
    for (const Storage storage : {Storage::int8, Storage::float16, Storage::float32}) {
        const ExactIndex index({values.data(), kSize, kDim}, storage, {2, {}});
        check_callers([&](unsigned threads) {
            std::vector<std::int32_t> ids(kQueries * kBest), near(kSize * kBest);
            std::vector<float> scores(ids.size()), nearness(near.size());
            index.search({asked.data(), kQueries, kDim}, {}, {ids.data(), kQueries, kBest},
                         {scores.data(), kQueries, kBest}, {threads, {}});
            index.knn_graph({near.data(), kSize, kBest}, {nearness.data(), kSize, kBest},
                            {threads, {}});
            Bytes all;
            append(all, ids), append(all, scores), append(all, near), append(all, nearness);
            return all;
        });
    }
}

TEST(callers_of_one_hnsw_index) {
    const std::vector<float> values = normals(kSize * kDim, 3), asked = normals(kQueries * kDim, 4);
    HnswOptions options;
    options.dim = kDim;
    options.m = 6;
    options.ef_construction = 30;
    Hnsw index(options);
    index.add({values.data(), kSize, kDim}, {}, {3, {}});
    check_callers([&](unsigned threads) {
        std::vector<std::int32_t> ids(kQueries * kBest);
        std::vector<float> scores(ids.size());
        const std::int32_t ef = 25;
        const std::vector<std::uint8_t> mask(kSize, 1);
        index.search({asked.data(), kQueries, kDim}, {&ef, 1}, {mask.data(), mask.size()},
                     {ids.data(), kQueries, kBest}, {scores.data(), kQueries, kBest},
                     {threads, {}});
        Bytes all;
        append(all, ids), append(all, scores), append(all, index.ids());
        index.save([&all](const void* data, std::size_t size) {
            const auto* const part = static_cast<const std::uint8_t*>(data);
            all.insert(all.end(), part, part + size);
        });
        return all;
    });
}

TEST(callers_that_build_hnsw_indexes_of_their_own) {
    const std::vector<float> values = normals(kSize * kDim, 5);
    check_callers([&](unsigned threads) {
        HnswOptions options;
        options.dim = kDim;
        options.m = 5;
        options.ef_construction = 20;
        Hnsw index(options);
        index.add({values.data(), kSize, kDim}, {}, {threads, {}});
        Bytes all;
        index.save([&all](const void* data, std::size_t size) {
            const auto* const part = static_cast<const std::uint8_t*>(data);
            all.insert(all.end(), part, part + size);
        });
        return all;
    });
}

TEST(callers_of_walks_and_breadth_first_search) {
    const std::vector<std::int32_t> from = below(500, 2500, 6), to = below(500, 2500, 7);
    const std::vector<std::int32_t> seeds = below(500, 100 * 3, 8);
    const Csr graph({{from.data(), from.size()}, {to.data(), to.size()}, {}, {}}, 500);
    WalkScratchPool pool(graph);
    check_callers([&](unsigned threads) {
        std::vector<WalkResult> found = pool.take_results(100);
        parallel_for(100, 4, {threads, {}}, [&](std::size_t begin, std::size_t end, unsigned) {
            auto scratch = pool.take();
            WalkOptions options;
            options.depth = 2;
            options.budget = 40;
            options.undirected = true;
            for (std::size_t query = begin; query < end; ++query) {
                walk(graph, {seeds.data() + query * 3, 3}, {}, options, *scratch, found[query]);
            }
            pool.give(std::move(scratch));
        });
        Bytes all;
        for (const WalkResult& result : found) append(all, result.nodes);
        pool.give(std::move(found));
        std::vector<std::int32_t> depths(500);
        bfs(graph, 3, kAllTypes, true, depths.data());
        append(all, depths);
        return all;
    });
}

TEST(callers_of_keyword_search_and_fusion) {
    std::vector<std::int64_t> offsets{0};
    std::vector<std::int32_t> nodes;
    for (std::int32_t term = 0; term < 30; ++term) {
        for (std::int32_t node = 0; node < 400; node += 1 + term) nodes.push_back(node);
        offsets.push_back(static_cast<std::int64_t>(nodes.size()));
    }
    const std::vector<float> counts(nodes.size(), 2);
    const std::vector<std::int64_t> lengths(400, 50);
    const std::vector<double> weights{1};
    const Postings postings({offsets.data(), offsets.size()}, {nodes.data(), nodes.size()},
                            {counts.data(), counts.size()}, {lengths.data(), 1, 400},
                            {weights.data(), 1}, {});
    const std::size_t count = 200;
    const std::vector<std::int32_t> terms = below(30, count * 3, 9), times(count * 3, 1);
    std::vector<std::int64_t> starts;
    for (std::size_t query = 0; query <= count; ++query) {
        starts.push_back(static_cast<std::int64_t>(query * 3));
    }
    check_callers([&](unsigned threads) {
        std::vector<std::int32_t> ids(count * kBest), fused(count * 2 * kBest);
        std::vector<float> scores(ids.size()), shares(fused.size());
        postings.search({{starts.data(), starts.size()},
                         {terms.data(), terms.size()},
                         {times.data(), times.size()}},
                        {}, {}, {ids.data(), count, kBest}, {scores.data(), count, kBest},
                        {threads, {}});
        const WeightedRankings list{{ids.data(), count, kBest}, 1};
        fuse({list, list}, 60, {fused.data(), count, 2 * kBest}, {shares.data(), count, 2 * kBest},
             {threads, {}});
        Bytes all;
        append(all, ids), append(all, scores), append(all, fused), append(all, shares);
        return all;
    });
}
