#include "fastrecall/hnsw.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <unordered_set>

#include "fastrecall/error.hpp"
#include "fastrecall/row_store.hpp"
#include "fastrecall/topk.hpp"
#include "hnsw_graph.hpp"
#include "hnsw_rows.hpp"
#include "hnsw_tally.hpp"

namespace fastrecall {
namespace {

constexpr std::size_t kRowsTogether = 4096;  // scaled to unit length at a time
constexpr std::size_t kRowGrain = 256;
constexpr std::size_t kQueriesPerChunk = 4;

void check(const HnswOptions& options) {
    const auto refuse = [](const char* name, std::int64_t value, const char* expected) {
        throw InputError(std::string(name) + " is " + std::to_string(value) + "; expected " +
                         expected);
    };
    if (options.dim < 1 || options.dim > 65536) {
        refuse("dim", static_cast<std::int64_t>(options.dim), "1 to 65536");
    }
    if (options.m < 2 || options.m > 256) refuse("m", options.m, "2 to 256");
    if (options.ef_construction < 1 || options.ef_construction > 65536) {
        refuse("ef_construction", options.ef_construction, "1 to 65536");
    }
}

// How many of the candidates are scored exactly: some more than k, since the codes order near ties
// only roughly.
std::size_t rescored(std::size_t candidates, std::size_t k) {
    return std::min(candidates, k + k / 2 + 16);
}

}  // namespace

void HnswRows::resize(std::size_t size) {
    codes.codes.resize(size * codes.width, static_cast<std::uint8_t>(kCodeBias));
    codes.scales.resize(size, 0);
    if (storage == Storage::float32) singles.resize(size * padded, 0);
    if (storage == Storage::float16) halves.resize(size * padded, 0);
    ids.resize(size, 0);
    dead.resize(size, 0);
}

void HnswRows::store(std::size_t slot, const float* row) {
    codes.scales.writable()[slot] =
        HnswCodes::encode(row, dim, codes.width, codes.codes.writable() + slot * codes.width);
    if (storage == Storage::float32) {
        std::memcpy(singles.writable() + slot * padded, row, padded * sizeof(float));
    } else if (storage == Storage::float16) {
        kernels().to_half(row, halves.writable() + slot * padded, padded);
    }
}

const float* HnswRows::row(std::int32_t slot, float* scratch) const {
    const auto place = static_cast<std::size_t>(slot);
    if (storage == Storage::float32) return singles.data() + place * padded;
    if (storage == Storage::float16) {
        kernels().from_half(halves.data() + place * padded, scratch, padded);
        return scratch;
    }
    const std::uint8_t* values = codes.row(slot);
    const float scale = codes.scales[place];
    for (std::size_t i = 0; i < padded; ++i) {
        scratch[i] = scale * static_cast<float>(static_cast<int>(values[i]) - kCodeBias);
    }
    return scratch;
}

void HnswRows::copy(std::size_t to, const HnswRows& from, std::size_t slot) {
    const auto copy_row = [&](auto& target, const auto& source, std::size_t width) {
        if (source.size() == 0) return;
        std::copy_n(source.data() + slot * width, width, target.writable() + to * width);
    };
    copy_row(codes.codes, from.codes.codes, codes.width);
    copy_row(codes.scales, from.codes.scales, 1);
    copy_row(singles, from.singles, padded);
    copy_row(halves, from.halves, padded);
    copy_row(ids, from.ids, 1);
    copy_row(dead, from.dead, 1);
}

Hnsw::Hnsw(const HnswOptions& options) : options_(options), tally_(std::make_unique<Tally>()) {
    check(options);
    rows_ = std::make_unique<HnswRows>(options.dim, options.storage);
    graph_ = std::make_unique<HnswGraph>(options.m, options.ef_construction, options.seed);
}

Hnsw::~Hnsw() = default;

std::size_t Hnsw::size() const {
    const Access::Reading reading(access_);
    return rows_->size() - deleted_;
}

std::size_t Hnsw::deleted() const {
    const Access::Reading reading(access_);
    return deleted_;
}

std::size_t Hnsw::nbytes() const {
    const Access::Reading reading(access_);
    std::size_t bytes = graph_->nbytes();
    HnswRows::each_buffer(*rows_, [&bytes](const auto& buffer) { bytes += buffer.nbytes(); });
    return bytes;
}

HnswCounters Hnsw::counters() const {
    return {tally_->searches.load(), tally_->visited.load(), tally_->distances.load()};
}

std::vector<std::int32_t> Hnsw::ids() const {
    const Access::Reading reading(access_);
    std::vector<std::int32_t> live;
    live.reserve(rows_->size() - deleted_);
    for (std::size_t slot = 0; slot < rows_->size(); ++slot) {
        if (rows_->dead[slot] == 0) live.push_back(rows_->ids[slot]);
    }
    return live;
}

void Hnsw::find_slots() {
    if (slots_known_) return;
    slot_of_.clear();
    slot_of_.reserve(rows_->size());
    for (std::size_t slot = 0; slot < rows_->size(); ++slot) {
        if (rows_->dead[slot] == 0) slot_of_[rows_->ids[slot]] = static_cast<std::int32_t>(slot);
    }
    slots_known_ = true;
}

void Hnsw::add(Matrix<const float> vectors, Span<const std::int32_t> ids,
               const Execution& execution) {
    if (vectors.cols != options_.dim) {
        throw InputError("vectors has " + std::to_string(vectors.cols) +
                         " columns; the index has " + std::to_string(options_.dim) + " dimensions");
    }
    const Access::Writing writing(access_, execution);
    const std::size_t before = rows_->size();
    const std::size_t after = before + vectors.rows;
    constexpr std::int64_t highest = std::numeric_limits<std::int32_t>::max();
    if (after > static_cast<std::size_t>(highest) / 2) {
        throw InputError("the index would have " + std::to_string(after) +
                         " vectors; expected at most 1073741823");
    }
    if (ids.data == nullptr) {
        if (next_id_ + static_cast<std::int64_t>(vectors.rows) - 1 > highest) {
            throw InputError("there are no ids left above " + std::to_string(next_id_ - 1) +
                             "; give ids");
        }
    } else {
        if (ids.size != vectors.rows) {
            throw InputError("ids has " + std::to_string(ids.size) + " entries for " +
                             std::to_string(vectors.rows) + " vectors");
        }
        find_slots();
        std::unordered_set<std::int32_t> fresh;
        for (std::size_t i = 0; i < ids.size; ++i) {
            if (ids[i] < 0) {
                throw InputError("ids[" + std::to_string(i) + "] is " + std::to_string(ids[i]) +
                                 "; expected 0 or more");
            }
            if (slot_of_.count(ids[i]) != 0 || !fresh.insert(ids[i]).second) {
                throw InputError("ids[" + std::to_string(i) + "] is " + std::to_string(ids[i]) +
                                 ", which is there already; delete it first");
            }
        }
    }

    const auto keep = [&](std::size_t size) {
        rows_->resize(size);
        for (std::size_t slot = before; slot < size; ++slot) {
            next_id_ = std::max(next_id_, std::int64_t{rows_->ids[slot]} + 1);
            if (slots_known_) slot_of_[rows_->ids[slot]] = static_cast<std::int32_t>(slot);
        }
    };
    try {
        rows_->resize(after);
        std::int32_t* const stored_ids = rows_->ids.writable();
        rows_->dead.writable();
        rows_->codes.codes.writable();
        for (std::size_t i = 0; i < vectors.rows; ++i) {
            stored_ids[before + i] =
                ids.data != nullptr
                    ? ids[i]
                    : static_cast<std::int32_t>(next_id_ + static_cast<std::int64_t>(i));
        }
        for (std::size_t done = 0; done < vectors.rows; done += kRowsTogether) {
            const std::size_t some = std::min(kRowsTogether, vectors.rows - done);
            const std::string name = vectors.rows <= kRowsTogether
                                         ? "vectors"
                                         : "vectors from row " + std::to_string(done);
            const RowStore unit({vectors.row(done), some, vectors.cols},
                                RowStore::Precision::single, name, execution);
            const float* const unit_rows = unit.rows(0, some, nullptr);
            parallel_for(some, kRowGrain, execution,
                         [&](std::size_t begin, std::size_t end, unsigned) {
                             for (std::size_t i = begin; i < end; ++i) {
                                 rows_->store(before + done + i, unit_rows + i * unit.padded());
                             }
                         });
        }
        graph_->grow(rows_->codes, execution);
    } catch (...) {
        keep(std::max(before, graph_->size()));
        throw;
    }
    keep(after);
}

void Hnsw::remove(Span<const std::int32_t> ids) {
    const Access::Writing writing(access_);
    find_slots();
    std::unordered_set<std::int32_t> once;
    for (std::size_t i = 0; i < ids.size; ++i) {
        if (slot_of_.count(ids[i]) == 0 || !once.insert(ids[i]).second) {
            throw InputError("ids[" + std::to_string(i) + "] is " + std::to_string(ids[i]) +
                             ", which is not in the index; nothing was deleted");
        }
    }
    std::uint8_t* const dead = rows_->dead.writable();
    for (const std::int32_t id : ids) {
        dead[slot_of_[id]] = 1;
        slot_of_.erase(id);
    }
    deleted_ += ids.size;
}

void Hnsw::compact(const Execution& execution) {
    const Access::Writing writing(access_, execution);
    auto rows = std::make_unique<HnswRows>(options_.dim, options_.storage);
    rows->resize(rows_->size() - deleted_);
    std::size_t place = 0;
    for (std::size_t slot = 0; slot < rows_->size(); ++slot) {
        if (rows_->dead[slot] == 0) rows->copy(place++, *rows_, slot);
    }
    auto graph = std::make_unique<HnswGraph>(options_.m, options_.ef_construction, options_.seed);
    graph->grow(rows->codes, execution);
    rows_ = std::move(rows);
    graph_ = std::move(graph);
    deleted_ = 0;
    slots_known_ = false;
}

std::unique_ptr<HnswScratch> Hnsw::take_scratch() const {
    if (auto idle = scratch_.take()) return idle;
    auto scratch = std::make_unique<HnswScratch>();
    scratch->query = AlignedArray<std::uint8_t>(rows_->codes.width);
    scratch->row = AlignedArray<float>(rows_->padded);
    return scratch;
}

// Nonzero for the slots that may be returned; empty when all may.
std::vector<std::uint8_t> Hnsw::allowed_slots(Span<const std::uint8_t> mask) const {
    std::vector<std::uint8_t> allowed;
    if (mask.data == nullptr && deleted_ == 0) return allowed;
    if (mask.data != nullptr && static_cast<std::int64_t>(mask.size) < next_id_) {
        throw InputError("mask has " + std::to_string(mask.size) + " entries; expected " +
                         std::to_string(next_id_) + ", one for each id up to the highest");
    }
    allowed.resize(rows_->size());
    for (std::size_t slot = 0; slot < allowed.size(); ++slot) {
        const bool wanted =
            mask.data == nullptr || mask[static_cast<std::size_t>(rows_->ids[slot])] != 0;
        allowed[slot] = wanted && rows_->dead[slot] == 0;
    }
    return allowed;
}

void Hnsw::search(Matrix<const float> queries, Span<const std::int32_t> ef,
                  Span<const std::uint8_t> mask, Matrix<std::int32_t> ids, Matrix<float> scores,
                  const Execution& execution) const {
    if (queries.cols != options_.dim) {
        throw InputError("queries has " + std::to_string(queries.cols) +
                         " columns; the index has " + std::to_string(options_.dim) + " dimensions");
    }
    if (ef.size != 1 && ef.size != queries.rows) {
        throw InputError("ef has " + std::to_string(ef.size) +
                         " entries; expected one, or one for "
                         "each of " +
                         std::to_string(queries.rows) + " queries");
    }
    for (const std::int32_t value : ef) {
        if (value < 1) {
            throw InputError("ef is " + std::to_string(value) + "; expected 1 or more");
        }
    }
    const RowStore unit(queries, RowStore::Precision::single, "queries", execution);
    const float* const unit_rows = unit.rows(0, unit.size(), nullptr);
    const Access::Reading reading(access_, execution);
    const std::size_t k = ids.cols;
    const std::vector<std::uint8_t> allowed = allowed_slots(mask);
    std::vector<std::int32_t> few;  // the allowed slots
    for (std::size_t slot = 0; slot < allowed.size(); ++slot) {
        if (allowed[slot] != 0) few.push_back(static_cast<std::int32_t>(slot));
    }
    parallel_for(queries.rows, kQueriesPerChunk, execution,
                 [&](std::size_t begin, std::size_t end, unsigned) {
                     auto scratch = take_scratch();
                     std::vector<Hit> hits;
                     for (std::size_t query = begin; query < end; ++query) {
                         const float* const unit_row = unit_rows + query * unit.padded();
                         const auto wanted = static_cast<std::size_t>(ef[ef.size == 1 ? 0 : query]);
                         const std::size_t most = std::min(std::max(wanted, k), rows_->size());
                         HnswCodes::encode(unit_row, options_.dim, rows_->codes.width,
                                           scratch->query.data());
                         // A walk among few allowed nodes goes through about size / few times as
                         // many others, each with links to look at: then looking at the few is less
                         // work.
                         const double share = allowed.empty()
                                                  ? 1
                                                  : static_cast<double>(few.size()) /
                                                        static_cast<double>(allowed.size());
                         if (most == 0) {
                             scratch->found.clear();
                         } else if (!allowed.empty() && static_cast<double>(few.size()) * share <
                                                            16.0 * static_cast<double>(most)) {
                             HnswGraph::scan(rows_->codes, few, most, *scratch);
                         } else {
                             graph_->search(rows_->codes, most,
                                            allowed.empty() ? nullptr : allowed.data(), *scratch);
                         }
                         hits.clear();
                         const std::size_t scored = rescored(scratch->found.size(), k);
                         for (std::size_t i = 0; i < scored; ++i) {
                             const std::int32_t slot = hnsw_key::slot(scratch->found[i]);
                             const float* row = rows_->row(slot, scratch->row.data());
                             const double score = kernels().dot_f64(unit_row, row, rows_->padded);
                             hits.push_back({static_cast<float>(score),
                                             rows_->ids[static_cast<std::size_t>(slot)]});
                         }
                         write_top(hits, k, ids.row(query), scores.row(query));
                     }
                     tally_->add(end - begin, *scratch);
                     scratch_.give(std::move(scratch));
                 });
}

}  // namespace fastrecall
