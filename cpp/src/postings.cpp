#include "fastrecall/postings.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>

#include "fastrecall/error.hpp"
#include "fastrecall/topk.hpp"

namespace fastrecall {
namespace {

// A millisecond or so of work, so that handing out chunks costs nothing.
constexpr std::size_t kQueriesPerChunk = 32;

template <class T>
std::vector<T> copied(Span<const T> given) {
    return {given.begin(), given.end()};
}

void check_offsets(Span<const std::int64_t> offsets, std::size_t rows, std::size_t ids,
                   const std::string& name) {
    const bool whole = offsets.size == rows + 1 && offsets[0] == 0 &&
                       offsets[rows] == static_cast<std::int64_t>(ids) &&
                       std::is_sorted(offsets.begin(), offsets.end());
    if (!whole) {
        throw InputError(name + " do not fit; expected " + std::to_string(rows + 1) +
                         " offsets from 0 to " + std::to_string(ids) + ", ascending");
    }
}

void check_ids(Span<const std::int32_t> ids, std::size_t count, const std::string& name) {
    for (const std::int32_t id : ids) {
        if (id < 0 || static_cast<std::size_t>(id) >= count) {
            throw InputError(name + " holds " + std::to_string(id) + "; expected ids in 0.." +
                             std::to_string(count) + " (exclusive)");
        }
    }
}

void check_flags(Matrix<const std::uint8_t> flags, std::size_t queries, std::size_t nodes,
                 const std::string& name) {
    if (flags.data != nullptr &&
        (flags.cols != nodes || (flags.rows != 1 && flags.rows != queries))) {
        throw InputError(name + " has shape (" + std::to_string(flags.rows) + ", " +
                         std::to_string(flags.cols) +
                         "); expected [n] or [queries, n] with n = " + std::to_string(nodes));
    }
}

// The flags of one query; nullptr when there are none.
const std::uint8_t* row_of(Matrix<const std::uint8_t> flags, std::size_t query) {
    if (flags.data == nullptr) return nullptr;
    return flags.row(flags.rows == 1 ? 0 : query);
}

}  // namespace

// Scores one query after the other, in time linear in the postings of its terms.
class Postings::Scorer {
  public:
    explicit Scorer(const Postings& index) : index_(index), totals_(index.nodes()) {}

    // Counts what exists for a query.
    void count(const TermQueries& queries, const Presence& presence, std::size_t query) {
        visible_ = row_of(presence.visible, query);
        set_excluded(presence, query);
        size_ = static_cast<std::int64_t>(count_what_exists());
        holders_.clear();
        for (std::int64_t at = queries.offsets[query]; at < queries.offsets[query + 1]; ++at) {
            const auto term = static_cast<std::size_t>(queries.terms[static_cast<std::size_t>(at)]);
            holders_.push_back(static_cast<std::int64_t>(holders(term)));
        }
    }

    void write_counts(const CollectionOf<std::int64_t>& counts, const TermQueries& queries,
                      std::size_t query) const {
        counts.sizes[query] = size_;
        std::copy(field_totals_.begin(), field_totals_.end(), counts.lengths.row(query));
        std::copy(holders_.begin(), holders_.end(), counts.holders.data + queries.offsets[query]);
    }

    // Calls `found(node, score)`, in no special order, for the nodes that share a term with the
    // query (`exists` tells which of them exist). It returns the least score that is still of
    // interest; nodes below are passed over from then on.
    template <class Found>
    void run(const TermQueries& queries, const Presence& presence, const Collection& collection,
             std::size_t query, const Found& found) {
        if (collection.sizes.empty()) {
            count(queries, presence, query);
        } else {
            visible_ = row_of(presence.visible, query);
            set_excluded(presence, query);
            take(collection, queries, query);
        }
        const auto size = static_cast<double>(size_);
        const double total_length = index_.weighted(field_totals_);
        if (!(total_length > 0)) return;
        const double b = index_.formula_.b, k1 = index_.formula_.k1;
        const double by_length = k1 * b / (total_length / size), fixed = k1 * (1 - b);
        const auto begin = static_cast<std::size_t>(queries.offsets[query]);
        const auto end = static_cast<std::size_t>(queries.offsets[query + 1]);
        for (std::size_t place = begin; place < end; ++place) {
            const auto term = static_cast<std::size_t>(queries.terms[place]);
            const auto df = static_cast<double>(holders_[place - begin]);
            const double idf = std::log1p((size - df + 0.5) / (df + 0.5));
            add(term, queries.times[place] * idf, by_length, fixed);
        }
        double least = std::numeric_limits<double>::min();  // 0: met already, with another term
        for (std::size_t place = begin; place < end; ++place) {
            const Span<const std::int32_t> nodes =
                index_.holders(static_cast<std::size_t>(queries.terms[place]));
            for (const std::int32_t node : nodes) {
                const double total = totals_[static_cast<std::size_t>(node)];
                totals_[static_cast<std::size_t>(node)] = 0;
                if (total >= least) least = found(node, total);
            }
        }
    }

    bool exists(std::int32_t node) const {
        return (visible_ == nullptr || visible_[node] != 0) &&
               !std::binary_search(excluded_.begin(), excluded_.end(), node);
    }

  private:
    void take(const Collection& collection, const TermQueries& queries, std::size_t query) {
        size_ = collection.sizes[query];
        const std::int64_t* const lengths = collection.lengths.row(query);
        field_totals_.assign(lengths, lengths + collection.lengths.cols);
        holders_.assign(collection.holders.data + queries.offsets[query],
                        collection.holders.data + queries.offsets[query + 1]);
    }

    void set_excluded(const Presence& presence, std::size_t query) {
        excluded_.clear();
        if (presence.exclude_offsets.empty()) return;
        const std::int32_t* const ids = presence.exclude_ids.data;
        excluded_.assign(ids + presence.exclude_offsets[query],
                         ids + presence.exclude_offsets[query + 1]);
        std::sort(excluded_.begin(), excluded_.end());
        excluded_.erase(std::unique(excluded_.begin(), excluded_.end()), excluded_.end());
    }

    // How many nodes exist; leaves the lengths of their fields in `field_totals_`. These are whole
    // numbers: leaving nodes out and never having had them give the same sums to the last bit.
    std::size_t count_what_exists() {
        const std::size_t nodes = index_.nodes();
        std::size_t count = nodes;
        field_totals_ = index_.totals_;
        if (visible_ != nullptr) {
            count = 0;
            std::fill(field_totals_.begin(), field_totals_.end(), 0);
            for (std::size_t node = 0; node < nodes; ++node) {
                if (visible_[node] != 0) ++count, count_lengths(node, +1);
            }
        }
        for (const std::int32_t node : excluded_) {
            if (visible_ != nullptr && visible_[node] == 0) continue;
            --count;
            count_lengths(static_cast<std::size_t>(node), -1);
        }
        return count;
    }

    void count_lengths(std::size_t node, int sign) {
        for (std::size_t field = 0; field < field_totals_.size(); ++field) {
            field_totals_[field] += sign * index_.field_lengths_[field * index_.nodes() + node];
        }
    }

    // How many of the nodes that exist hold a term.
    std::size_t holders(std::size_t term) const {
        const Span<const std::int32_t> nodes = index_.holders(term);
        if (visible_ != nullptr) {
            return static_cast<std::size_t>(std::count_if(
                nodes.begin(), nodes.end(), [this](std::int32_t node) { return exists(node); }));
        }
        std::size_t count = nodes.size;
        for (const std::int32_t node : excluded_) {
            if (std::binary_search(nodes.begin(), nodes.end(), node)) --count;
        }
        return count;
    }

    void add(std::size_t term, double weight, double by_length, double fixed) {
        const Span<const std::int32_t> nodes = index_.holders(term);
        const float* const counts = index_.counts_.data() + index_.offsets_[term];
        // Apart from gathering and scattering, so that the compiler can divide several at once.
        constexpr std::size_t kBlock = 64;
        double shares[kBlock];
        for (std::size_t first = 0; first < nodes.size; first += kBlock) {
            const std::size_t some = std::min(kBlock, nodes.size - first);
            for (std::size_t i = 0; i < some; ++i) {
                shares[i] = index_.lengths_[static_cast<std::size_t>(nodes[first + i])];
            }
            for (std::size_t i = 0; i < some; ++i) {
                const double count = counts[first + i];
                shares[i] = count / (count + (shares[i] * by_length + fixed)) * weight;
            }
            for (std::size_t i = 0; i < some; ++i) {
                totals_[static_cast<std::size_t>(nodes[first + i])] += shares[i];
            }
        }
    }

    const Postings& index_;
    std::vector<double> totals_;          // all 0 between two runs
    std::vector<std::int32_t> excluded_;  // sorted
    std::int64_t size_ = 0;
    std::vector<std::int64_t> field_totals_;
    std::vector<std::int64_t> holders_;  // of each of the query's terms
    const std::uint8_t* visible_ = nullptr;
};

Postings::Postings(Span<const std::int64_t> offsets, Span<const std::int32_t> nodes,
                   Span<const float> counts, Matrix<const std::int64_t> lengths,
                   Span<const double> weights, Bm25 formula)
    : offsets_(copied(offsets)),
      nodes_(copied(nodes)),
      counts_(copied(counts)),
      field_lengths_(lengths.data, lengths.data + lengths.rows * lengths.cols),
      lengths_(lengths.cols),
      weights_(copied(weights)),
      formula_(formula) {
    if (offsets.empty())
        throw InputError("offsets is empty; expected one more than there are terms");
    check_offsets(offsets, offsets.size - 1, nodes.size, "offsets");
    check_ids(nodes, lengths.cols, "nodes");
    if (counts.size != nodes.size || weights.size != lengths.rows) {
        throw InputError("counts or weights do not fit; expected " + std::to_string(nodes.size) +
                         " counts and " + std::to_string(lengths.rows) + " weights");
    }
    for (std::size_t term = 0; term < terms(); ++term) {
        const Span<const std::int32_t> of_term = holders(term);
        if (std::adjacent_find(of_term.begin(), of_term.end(), std::greater_equal<>()) !=
            of_term.end()) {
            throw InputError("nodes of term " + std::to_string(term) +
                             " are not ascending; expected each node once, lower ids first");
        }
    }
    for (const float count : counts) {
        if (!(count > 0 && std::isfinite(count))) {
            throw InputError("counts holds " + std::to_string(count) +
                             "; expected finite numbers above 0");
        }
    }
    for (const double weight : weights) {
        if (!(weight > 0 && std::isfinite(weight))) {
            throw InputError("weights holds " + std::to_string(weight) +
                             "; expected finite numbers above 0");
        }
    }
    // Below this the sum over all nodes cannot overflow.
    constexpr std::int64_t longest = std::numeric_limits<std::int32_t>::max();
    for (const std::int64_t length : field_lengths_) {
        if (length < 0 || length > longest) {
            throw InputError("lengths holds " + std::to_string(length) + "; expected 0 to " +
                             std::to_string(longest));
        }
    }
    std::vector<std::int64_t> fields(lengths.rows);
    totals_.resize(lengths.rows);
    for (std::size_t node = 0; node < lengths.cols; ++node) {
        for (std::size_t field = 0; field < fields.size(); ++field) {
            fields[field] = lengths.row(field)[node];
            totals_[field] += fields[field];
        }
        lengths_[node] = weighted(fields);
    }
}

double Postings::weighted(const std::vector<std::int64_t>& lengths) const {
    double sum = 0;
    for (std::size_t field = 0; field < lengths.size(); ++field) {
        sum += weights_[field] * static_cast<double>(lengths[field]);
    }
    return sum;
}

void Postings::check(const TermQueries& queries, const Presence& presence,
                     const Collection& collection) const {
    if (queries.offsets.empty()) {
        throw InputError("offsets is empty; expected one more than there are queries");
    }
    check_offsets(queries.offsets, queries.count(), queries.terms.size, "offsets");
    check_ids(queries.terms, terms(), "terms");
    if (queries.times.size != queries.terms.size) {
        throw InputError("times has " + std::to_string(queries.times.size) + " entries; expected " +
                         std::to_string(queries.terms.size));
    }
    if (!presence.exclude_offsets.empty()) {
        check_offsets(presence.exclude_offsets, queries.count(), presence.exclude_ids.size,
                      "exclude offsets");
    }
    check_ids(presence.exclude_ids, nodes(), "exclude");
    check_flags(presence.visible, queries.count(), nodes(), "visible");
    check_flags(presence.mask, queries.count(), nodes(), "mask");
    if (collection.sizes.data == nullptr) return;
    if (collection.sizes.size != queries.count() || collection.lengths.rows != queries.count() ||
        collection.lengths.cols != fields() || collection.holders.size != queries.terms.size) {
        throw InputError(
            "collection does not fit; expected sizes [queries], lengths "
            "[queries, fields] and holders of each of the queries' " +
            std::to_string(queries.terms.size) + " terms");
    }
    for (std::size_t query = 0; query < queries.count(); ++query) {
        for (std::int64_t at = queries.offsets[query]; at < queries.offsets[query + 1]; ++at) {
            const std::int64_t holders = collection.holders[static_cast<std::size_t>(at)];
            if (holders < 0 || holders > collection.sizes[query]) {
                throw InputError("collection says that " + std::to_string(holders) + " of " +
                                 std::to_string(collection.sizes[query]) + " texts hold a term");
            }
        }
    }
}

template <class Each>
void Postings::for_queries(std::size_t queries, const Execution& execution,
                           const Each& each) const {
    std::vector<std::unique_ptr<Scorer>> scorers(workers_for(queries, kQueriesPerChunk, execution));
    parallel_for(queries, kQueriesPerChunk, execution,
                 [&](std::size_t begin, std::size_t end, unsigned worker) {
                     if (!scorers[worker]) scorers[worker] = std::make_unique<Scorer>(*this);
                     for (std::size_t query = begin; query < end; ++query) {
                         each(*scorers[worker], query);
                     }
                 });
}

void Postings::search(const TermQueries& queries, const Presence& presence,
                      const Collection& collection, Matrix<std::int32_t> ids, Matrix<float> scores,
                      const Execution& execution) const {
    check(queries, presence, collection);
    for_queries(queries.count(), execution, [&](Scorer& scorer, std::size_t query) {
        BestHits best(ids.cols);
        const std::uint8_t* const mask = row_of(presence.mask, query);
        scorer.run(queries, presence, collection, query, [&](std::int32_t node, double total) {
            const Hit hit{static_cast<float>(total), node};
            const bool allowed = mask == nullptr || mask[node] != 0;
            if (best.wants(hit) && allowed && scorer.exists(node)) best.add(hit);
            return best.least();
        });
        best.take(ids.row(query), scores.row(query));
    });
}

void Postings::count(const TermQueries& queries, const Presence& presence,
                     const CollectionOf<std::int64_t>& counts, const Execution& execution) const {
    check(queries, presence, {});
    for_queries(queries.count(), execution, [&](Scorer& scorer, std::size_t query) {
        scorer.count(queries, presence, query);
        scorer.write_counts(counts, queries, query);
    });
}

void Postings::score(const TermQueries& queries, const Presence& presence,
                     const Collection& collection, double* scores) const {
    check(queries, presence, collection);
    std::fill(scores, scores + nodes(), 0.0);
    if (queries.count() == 0) return;
    Scorer scorer(*this);
    scorer.run(queries, presence, collection, 0, [&](std::int32_t node, double total) {
        if (scorer.exists(node)) scores[node] = total;
        return std::numeric_limits<double>::min();
    });
}

}  // namespace fastrecall
