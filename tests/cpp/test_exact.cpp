// The index against a plain scan that scores everything.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "check.hpp"
#include "fastrecall/error.hpp"
#include "fastrecall/exact.hpp"
#include "fastrecall/topk.hpp"

using namespace fastrecall;

namespace {

std::vector<float> normals(std::size_t size, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::vector<float> values(size);
    for (float& value : values) value = normal(random);
    return values;
}

struct Rankings {
    std::vector<std::int32_t> ids;
    std::vector<float> scores;

    Rankings(std::size_t count, std::size_t k) : ids(count * k), scores(count * k) {}
    bool operator==(const Rankings& other) const {
        if (ids != other.ids) return false;
        for (std::size_t i = 0; i < scores.size(); ++i) {
            const bool nan = std::isnan(scores[i]);
            if (nan != std::isnan(other.scores[i])) return false;
            if (!nan && scores[i] != other.scores[i]) return false;
        }
        return true;
    }
};

Rankings scan(Matrix<const float> vectors, Matrix<const float> queries, std::size_t k, bool half,
              bool others) {
    const Execution one{};
    const auto precision = half ? RowStore::Precision::half : RowStore::Precision::single;
    const RowStore rows(vectors, precision, "vectors", one);
    const RowStore units(queries, others ? precision : RowStore::Precision::single, "queries", one);
    Rankings result(queries.rows, k);
    std::vector<float> row(rows.padded()), query(rows.padded());
    for (std::size_t q = 0; q < queries.rows; ++q) {
        std::vector<Hit> hits;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            if (others && i == q) continue;
            const double dot = kernels_named("scalar")->dot_f64(
                units.rows(q, 1, query.data()), rows.rows(i, 1, row.data()), rows.padded());
            hits.push_back({static_cast<float>(dot) + 0.0F, static_cast<std::int32_t>(i)});
        }
        write_top(hits, k, result.ids.data() + q * k, result.scores.data() + q * k);
    }
    return result;
}

}  // namespace

TEST(search_and_graph_agree_with_a_plain_scan) {
    for (const Storage storage : {Storage::int8, Storage::float16, Storage::float32}) {
        for (const auto& [n, dim, count, k] : {std::array<std::size_t, 4>{0, 5, 3, 2},
                                               {1, 1, 1, 3},
                                               {300, 30, 9, 4},
                                               {1500, 24, 70, 10}}) {
            std::vector<float> values = normals(n * dim, 1);
            for (std::size_t i = 0; i + dim < values.size(); i += 5 * dim) {  // twins
                std::copy_n(values.begin(), dim, values.begin() + static_cast<std::ptrdiff_t>(i));
            }
            const std::vector<float> asked = normals(count * dim, 2);
            const Matrix<const float> vectors{values.data(), n, dim};
            const Matrix<const float> queries{asked.data(), count, dim};
            const bool half = storage == Storage::float16;
            const Rankings expected = scan(vectors, queries, k, half, false);
            const Rankings expected_graph = scan(vectors, vectors, k, half, true);
            for (const unsigned threads : {1U, 2U, 7U}) {
                const Execution execution{threads, {}};
                const ExactIndex index(vectors, storage, execution);
                Rankings got(count, k), graph(n, k);
                index.search(queries, {}, {got.ids.data(), count, k}, {got.scores.data(), count, k},
                             execution);
                CHECK(got == expected);
                index.knn_graph({graph.ids.data(), n, k}, {graph.scores.data(), n, k}, execution);
                CHECK(graph == expected_graph);
            }
        }
    }
}

TEST(vectors_that_are_not_finite_are_refused) {
    std::vector<float> values = normals(600, 3);
    values[437] = std::numeric_limits<float>::quiet_NaN();
    const Matrix<const float> vectors{values.data(), 200, 3};
    CHECK_THROWS(ExactIndex(vectors, Storage::int8, {2, {}}), InputError);
}

TEST(an_interrupted_search_throws) {
    const std::vector<float> values = normals(64 * 3000, 4);
    const Matrix<const float> vectors{values.data(), 3000, 64};
    const ExactIndex index(vectors, Storage::int8, {});
    Rankings got(3000, 4);
    const Execution impatient{2, [] { return true; }};
    CHECK_THROWS(index.search(vectors, {}, {got.ids.data(), 3000, 4}, {got.scores.data(), 3000, 4},
                              impatient),
                 Interrupted);
}
