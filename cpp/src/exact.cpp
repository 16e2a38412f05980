#include "fastrecall/exact.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "fastrecall/error.hpp"
#include "fastrecall/kernels.hpp"
#include "fastrecall/topk.hpp"

namespace fastrecall {
namespace {

void check(const Filter& filter, std::size_t queries, std::size_t size) {
    const auto& offsets = filter.exclude_offsets;
    if (!offsets.empty()) {
        bool ordered = offsets.size == queries + 1 && offsets[0] == 0 &&
                       offsets[queries] == static_cast<std::int64_t>(filter.exclude_ids.size);
        for (std::size_t i = 0; ordered && i < queries; ++i) ordered = offsets[i] <= offsets[i + 1];
        if (!ordered) {
            throw InputError(
                "exclude offsets must rise from 0 to the number of ids, one more than "
                "there are queries (" +
                std::to_string(queries) + ")");
        }
    }
    for (const std::int32_t id : filter.exclude_ids) {
        if (id < 0 || static_cast<std::size_t>(id) >= size) {
            throw InputError("exclude holds id " + std::to_string(id) + "; expected ids in 0.." +
                             std::to_string(size) + " (exclusive)");
        }
    }
    const auto& mask = filter.mask;
    if (mask.data != nullptr && (mask.cols != size || (mask.rows != 1 && mask.rows != queries))) {
        throw InputError("mask has shape (" + std::to_string(mask.rows) + ", " +
                         std::to_string(mask.cols) +
                         "); expected [n] or [queries, n] with n = " + std::to_string(size));
    }
}

bool allowed(const Filter& filter, std::size_t query, std::int32_t id) {
    const auto& mask = filter.mask;
    if (mask.data != nullptr && mask.row(mask.rows == 1 ? 0 : query)[id] == 0) return false;
    if (filter.exclude_offsets.empty()) return true;
    const std::int32_t* begin = filter.exclude_ids.data + filter.exclude_offsets[query];
    const std::int32_t* end = filter.exclude_ids.data + filter.exclude_offsets[query + 1];
    return std::find(begin, end, id) == end;
}

}  // namespace

ExactIndex::ExactIndex(Matrix<const float> vectors, Storage storage, const Execution& execution)
    : storage_(storage), rows_(vectors, "vectors", execution) {
    constexpr auto most = static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max());
    if (vectors.rows > most) {
        throw InputError("vectors has " + std::to_string(vectors.rows) +
                         " rows; ids are int32, so at most " + std::to_string(most) + " fit");
    }
}

void ExactIndex::search(Matrix<const float> queries, const Filter& filter, Matrix<std::int32_t> ids,
                        Matrix<float> scores, const Execution& execution) const {
    if (queries.cols != dim()) {
        throw InputError("queries have " + std::to_string(queries.cols) +
                         " dimensions, the index has " + std::to_string(dim()));
    }
    check(filter, queries.rows, size());
    const UnitRows units(queries, "queries", execution);
    const Kernels& kernel = kernels();
    parallel_for(queries.rows, 1, execution, [&](std::size_t begin, std::size_t end, unsigned) {
        for (std::size_t q = begin; q < end; ++q) {
            std::vector<Hit> hits;
            for (std::size_t i = 0; i < size(); ++i) {
                const auto id = static_cast<std::int32_t>(i);
                if (!allowed(filter, q, id)) continue;
                // + 0 makes -0 and 0 one score.
                const double dot = kernel.dot_f64(units.row(q), rows_.row(i), rows_.padded());
                hits.push_back({static_cast<float>(dot) + 0.0F, id});
            }
            write_top(hits, ids.cols, ids.row(q), scores.row(q));
        }
    });
}

void ExactIndex::knn_graph(Matrix<std::int32_t> ids, Matrix<float> scores,
                           const Execution& execution) const {
    const Kernels& kernel = kernels();
    parallel_for(size(), 1, execution, [&](std::size_t begin, std::size_t end, unsigned) {
        for (std::size_t q = begin; q < end; ++q) {
            std::vector<Hit> hits;
            for (std::size_t i = 0; i < size(); ++i) {
                if (i == q) continue;
                const double dot = kernel.dot_f64(rows_.row(q), rows_.row(i), rows_.padded());
                hits.push_back({static_cast<float>(dot) + 0.0F, static_cast<std::int32_t>(i)});
            }
            write_top(hits, ids.cols, ids.row(q), scores.row(q));
        }
    });
}

}  // namespace fastrecall
