// Small fixed pieces of work whose instructions are counted: fastrecall_counted CASE
//
// Only what runs inside `measured` counts. Everything is seeded and runs on one thread, so that a
// build executes the same instructions every time, however busy the machine is.
#include <cstdio>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include "fastrecall/csr.hpp"
#include "fastrecall/exact.hpp"
#include "fastrecall/hnsw.hpp"
#include "fastrecall/walk.hpp"

// The profiler finds the function by its name: no copies of it for known arguments, no inlining.
#if defined(__clang__)
#define FASTRECALL_APART __attribute__((noinline, optnone))
#elif defined(__GNUC__)
#define FASTRECALL_APART __attribute__((noipa))
#else
#define FASTRECALL_APART
#endif

extern "C" FASTRECALL_APART void measured(const std::function<void()>& work) { work(); }

using namespace fastrecall;

namespace {

constexpr std::size_t kDim = 384, kTop = 32;

// Points around `size / 20` centres, as texts lie around topics.
std::vector<float> points(std::size_t size, unsigned seed) {
    std::mt19937 random(1);
    const auto number = [&] { return static_cast<float>(random() % 2001) / 1000.0f - 1.0f; };
    std::vector<float> centres(kDim * 20);
    for (float& value : centres) value = number();
    random.seed(seed);
    std::vector<float> values(size * kDim);
    for (std::size_t row = 0; row < size; ++row) {
        const float* centre = centres.data() + random() % 20 * kDim;
        for (std::size_t i = 0; i < kDim; ++i) values[row * kDim + i] = centre[i] + number();
    }
    return values;
}

Matrix<const float> rows_of(const std::vector<float>& values) {
    return {values.data(), values.size() / kDim, kDim};
}

struct Answers {
    explicit Answers(std::size_t queries)
        : ids(queries * kTop), scores(queries * kTop), queries_(queries) {}
    Matrix<std::int32_t> id_rows() { return {ids.data(), queries_, kTop}; }
    Matrix<float> score_rows() { return {scores.data(), queries_, kTop}; }

    std::vector<std::int32_t> ids;
    std::vector<float> scores;

  private:
    std::size_t queries_;
};

void exact(Storage storage) {
    const std::vector<float> vectors = points(2000, 2), queries = points(16, 3);
    const ExactIndex index(rows_of(vectors), storage, {});
    Answers answers(16);
    measured(
        [&] { index.search(rows_of(queries), {}, answers.id_rows(), answers.score_rows(), {}); });
}

void exact_build() {
    const std::vector<float> vectors = points(2000, 2);
    measured([&] { const ExactIndex index(rows_of(vectors), Storage::int8, {}); });
}

void knn_graph() {
    const std::vector<float> vectors = points(1000, 2);
    const ExactIndex index(rows_of(vectors), Storage::int8, {});
    Answers answers(1000);
    measured([&] { index.knn_graph(answers.id_rows(), answers.score_rows(), {}); });
}

HnswOptions hnsw_options() {
    HnswOptions options;
    options.dim = kDim;
    options.storage = Storage::float32;
    return options;
}

void hnsw_build() {
    const std::vector<float> vectors = points(600, 2);
    Hnsw index(hnsw_options());
    measured([&] { index.add(rows_of(vectors), {}, {}); });
}

void hnsw_search() {
    const std::vector<float> vectors = points(1000, 2), queries = points(64, 3);
    Hnsw index(hnsw_options());
    index.add(rows_of(vectors), {}, {});
    const std::int32_t ef = 64;
    Answers answers(64);
    measured([&] {
        index.search(rows_of(queries), {&ef, 1}, {}, answers.id_rows(), answers.score_rows(), {});
    });
}

struct RandomGraph {
    RandomGraph() : sources(100'000), targets(100'000) {
        std::mt19937 random(4);
        for (std::int32_t& node : sources) node = static_cast<std::int32_t>(random() % kNodes);
        for (std::int32_t& node : targets) node = static_cast<std::int32_t>(random() % kNodes);
    }
    EdgeList edges() const {
        EdgeList list;
        list.sources = {sources.data(), sources.size()};
        list.targets = {targets.data(), targets.size()};
        return list;
    }

    static constexpr std::int32_t kNodes = 20'000;
    std::vector<std::int32_t> sources, targets;
};

void csr_build() {
    const RandomGraph graph;
    measured([&] { const Csr csr(graph.edges(), RandomGraph::kNodes); });
}

void breadth_first() {
    const Csr graph(RandomGraph().edges(), RandomGraph::kNodes);
    std::vector<std::int32_t> depths(RandomGraph::kNodes);
    measured([&] { bfs(graph, 0, kAllTypes, false, depths.data()); });
}

void walks(WalkOrder order) {
    const Csr graph(RandomGraph().edges(), RandomGraph::kNodes);
    WalkScratch scratch(graph);
    WalkOptions options;
    options.order = order;
    options.depth = 3;
    std::vector<std::int32_t> seeds;
    for (std::int32_t seed = 0; seed < 20 * 8; ++seed) seeds.push_back(seed * 113);
    WalkResult result;
    measured([&] {
        for (std::size_t query = 0; query < 20; ++query) {
            walk(graph, {seeds.data() + 8 * query, 8}, {}, options, scratch, result);
        }
    });
}

struct Case {
    const char* name;
    void (*run)();
};

const Case kCases[] = {
    {"exact_build", exact_build},
    {"exact_int8", [] { exact(Storage::int8); }},
    {"exact_float16", [] { exact(Storage::float16); }},
    {"exact_float32", [] { exact(Storage::float32); }},
    {"knn_graph", knn_graph},
    {"hnsw_build", hnsw_build},
    {"hnsw_search", hnsw_search},
    {"csr_build", csr_build},
    {"bfs", breadth_first},
    {"walk_seed_order", [] { walks(WalkOrder::seed); }},
    {"walk_depth_order", [] { walks(WalkOrder::depth); }},
};

}  // namespace

int main(int count, char** arguments) {
    for (const Case& one : kCases) {
        if (count == 1) std::printf("%s\n", one.name);
        if (count == 2 && std::strcmp(arguments[1], one.name) == 0) {
            one.run();
            return 0;
        }
    }
    if (count == 1) return 0;
    std::fprintf(stderr, "usage: fastrecall_counted CASE; without one, prints the cases\n");
    return 2;
}
