// Keyword search against the formula, one node and one term at a time.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <vector>

#include "check.hpp"
#include "fastrecall/error.hpp"
#include "fastrecall/postings.hpp"

using namespace fastrecall;

namespace {

struct RandomTexts {
    std::size_t nodes, terms;
    std::vector<std::int64_t> offsets{0};
    std::vector<std::int32_t> holders;
    std::vector<float> counts;
    std::vector<std::int64_t> lengths;  // [2, nodes]
    std::vector<double> weights{1.0, 0.5};

    RandomTexts(std::size_t node_count, std::size_t term_count, unsigned seed)
        : nodes(node_count), terms(term_count), lengths(2 * node_count) {
        std::mt19937 random(seed);
        for (std::size_t term = 0; term < terms; ++term) {
            for (std::size_t node = 0; node < nodes; ++node) {
                if (random() % (term + 2) != 0) continue;
                const auto in_first = static_cast<unsigned>(random() % 3);
                const auto in_second = static_cast<unsigned>(random() % 4);
                if (in_first + in_second == 0) continue;
                holders.push_back(static_cast<std::int32_t>(node));
                counts.push_back(static_cast<float>(in_first) +
                                 0.5F * static_cast<float>(in_second));
                lengths[node] += in_first;
                lengths[nodes + node] += in_second;
            }
            offsets.push_back(static_cast<std::int64_t>(holders.size()));
        }
    }

    Postings build(Bm25 formula) const {
        return Postings({offsets.data(), offsets.size()}, {holders.data(), holders.size()},
                        {counts.data(), counts.size()}, {lengths.data(), 2, nodes},
                        {weights.data(), weights.size()}, formula);
    }

    double length(std::size_t node) const {
        return weights[0] * static_cast<double>(lengths[node]) +
               weights[1] * static_cast<double>(lengths[nodes + node]);
    }

    float count(std::size_t term, std::size_t node) const {
        for (auto place = static_cast<std::size_t>(offsets[term]);
             place < static_cast<std::size_t>(offsets[term + 1]); ++place) {
            if (holders[place] == static_cast<std::int32_t>(node)) return counts[place];
        }
        return 0;
    }

    // The formula as postings.hpp has it, over the nodes that exist.
    std::vector<double> scores(const std::vector<std::int32_t>& query,
                               const std::vector<std::int32_t>& times,
                               const std::vector<bool>& exists, Bm25 formula) const {
        double size = 0, total = 0;
        for (std::size_t node = 0; node < nodes; ++node) {
            if (!exists[node]) continue;
            size += 1;
            total += length(node);
        }
        std::vector<double> result(nodes, 0);
        for (std::size_t i = 0; i < query.size(); ++i) {
            const auto term = static_cast<std::size_t>(query[i]);
            double df = 0;
            for (std::size_t node = 0; node < nodes; ++node) {
                df += exists[node] && count(term, node) > 0;
            }
            const double idf = std::log(1 + (size - df + 0.5) / (df + 0.5));
            for (std::size_t node = 0; node < nodes; ++node) {
                const double tf = count(term, node);
                if (!exists[node] || tf == 0) continue;
                const double norm = 1 - formula.b + formula.b * length(node) / (total / size);
                result[node] += times[i] * idf * tf / (tf + formula.k1 * norm);
            }
        }
        return result;
    }
};

struct RandomQueries {
    std::vector<std::int64_t> offsets{0}, exclude_offsets{0};
    std::vector<std::int32_t> terms, times, exclude;
    std::vector<std::uint8_t> visible, mask;

    RandomQueries(std::size_t count, const RandomTexts& texts, unsigned seed) {
        std::mt19937 random(seed);
        const auto below = [&random](std::size_t limit) {
            return static_cast<std::int32_t>(random() % limit);
        };
        for (std::size_t query = 0; query < count; ++query) {
            std::set<std::int32_t> asked;
            for (std::size_t i = 0; i < query % 5; ++i) asked.insert(below(texts.terms));
            for (const std::int32_t term : asked) {
                terms.push_back(term);
                times.push_back(1 + below(3));
            }
            offsets.push_back(static_cast<std::int64_t>(terms.size()));
            for (std::size_t i = 0; i < query % 3; ++i) exclude.push_back(below(texts.nodes));
            exclude_offsets.push_back(static_cast<std::int64_t>(exclude.size()));
            for (std::size_t node = 0; node < texts.nodes; ++node) {
                visible.push_back(random() % 4 != 0);
                mask.push_back(random() % 2 != 0);
            }
        }
    }

    std::size_t count() const { return offsets.size() - 1; }
    TermQueries asked() const {
        return {{offsets.data(), offsets.size()},
                {terms.data(), terms.size()},
                {times.data(), times.size()}};
    }
    Presence presence(std::size_t nodes, bool excludes, bool hides, bool masks) const {
        Presence all;
        if (excludes) {
            all.exclude_offsets = {exclude_offsets.data(), exclude_offsets.size()};
            all.exclude_ids = {exclude.data(), exclude.size()};
        }
        if (hides) all.visible = {visible.data(), count(), nodes};
        if (masks) all.mask = {mask.data(), count(), nodes};
        return all;
    }
};

}  // namespace

TEST(keyword_search_follows_the_formula_on_any_number_of_threads) {
    const Bm25 formula{1.4, 0.6};
    const RandomTexts texts(90, 12, 1);
    const Postings postings = texts.build(formula);
    CHECK(postings.nodes() == 90 && postings.terms() == 12);
    const RandomQueries queries(100, texts, 2);
    const std::size_t k = 20, count = queries.count();
    for (const unsigned parts : {0U, 1U, 2U, 3U, 4U, 7U}) {
        const Presence presence =
            queries.presence(texts.nodes, parts & 1U, parts & 2U, (parts & 4U) != 0);
        std::vector<std::int32_t> first;
        for (const unsigned threads : {1U, 2U, 7U}) {
            std::vector<std::int32_t> ids(count * k);
            std::vector<float> scores(count * k);
            postings.search(queries.asked(), presence, {}, {ids.data(), count, k},
                            {scores.data(), count, k}, {threads, {}});
            if (first.empty()) first = ids;
            CHECK(ids == first);
            for (std::size_t query = 0; query < count && threads == 1; ++query) {
                const auto from = queries.offsets[query], to = queries.offsets[query + 1];
                std::vector<bool> exists(texts.nodes, true);
                for (std::size_t node = 0; node < texts.nodes && (parts & 2U); ++node) {
                    exists[node] = queries.visible[query * texts.nodes + node] != 0;
                }
                for (auto i = queries.exclude_offsets[query];
                     i < queries.exclude_offsets[query + 1] && (parts & 1U); ++i) {
                    exists[static_cast<std::size_t>(queries.exclude[static_cast<std::size_t>(i)])] =
                        false;
                }
                const std::vector<double> expected = texts.scores(
                    {queries.terms.begin() + from, queries.terms.begin() + to},
                    {queries.times.begin() + from, queries.times.begin() + to}, exists, formula);
                std::size_t allowed = 0;
                for (std::size_t node = 0; node < texts.nodes; ++node) {
                    const bool wanted =
                        (parts & 4U) == 0 || queries.mask[query * texts.nodes + node] != 0;
                    allowed += expected[node] > 0 && wanted;
                }
                double last = std::numeric_limits<double>::infinity();
                for (std::size_t place = 0; place < k; ++place) {
                    const std::int32_t id = ids[query * k + place];
                    const float score = scores[query * k + place];
                    CHECK((id >= 0) == (place < allowed));
                    CHECK((id >= 0) == !std::isnan(score));
                    if (id < 0) continue;
                    const double truth = expected[static_cast<std::size_t>(id)];
                    CHECK(std::fabs(score - truth) <= 1e-6 * truth);
                    CHECK(score <= last);
                    if (place > 0 && score >= last) CHECK(ids[query * k + place - 1] < id);
                    last = score;
                }
                // Nothing better was left out.
                std::vector<double> best;
                for (std::size_t node = 0; node < texts.nodes; ++node) {
                    if ((parts & 4U) == 0 || queries.mask[query * texts.nodes + node] != 0) {
                        best.push_back(expected[node]);
                    }
                }
                std::sort(best.rbegin(), best.rend());
                for (std::size_t place = 0; place < std::min(k, allowed); ++place) {
                    CHECK(std::fabs(scores[query * k + place] - best[place]) <= 1e-6 * best[place]);
                }
            }
        }
    }
}

TEST(scores_of_one_query_follow_the_formula) {
    const Bm25 formula{};
    const RandomTexts texts(60, 8, 3);
    const Postings postings = texts.build(formula);
    const std::vector<std::int64_t> offsets{0, 3};
    const std::vector<std::int32_t> terms{5, 0, 7}, times{1, 2, 1};
    std::vector<double> scores(60, -1);
    postings.score({{offsets.data(), 2}, {terms.data(), 3}, {times.data(), 3}}, {}, {},
                   scores.data());
    const std::vector<double> expected =
        texts.scores(terms, times, std::vector<bool>(60, true), formula);
    for (std::size_t node = 0; node < 60; ++node) {
        CHECK(std::fabs(scores[node] - expected[node]) <= 1e-12 * expected[node]);
    }
}

TEST(postings_that_do_not_fit_are_refused) {
    const RandomTexts texts(20, 4, 4);
    const Postings postings = texts.build({});
    std::vector<std::int32_t> ids(3);
    std::vector<float> scores(3);
    const auto search = [&](std::vector<std::int64_t> offsets, std::vector<std::int32_t> terms,
                            std::vector<std::int32_t> times, Presence presence = {}) {
        postings.search({{offsets.data(), offsets.size()},
                         {terms.data(), terms.size()},
                         {times.data(), times.size()}},
                        presence, {}, {ids.data(), 1, 3}, {scores.data(), 1, 3}, {});
    };
    search({0, 1}, {3}, {1});
    CHECK_THROWS(search({}, {}, {}), InputError);
    CHECK_THROWS(search({0, 2}, {3}, {1}), InputError);
    CHECK_THROWS(search({1, 1}, {3}, {1}), InputError);
    CHECK_THROWS(search({0, 1}, {4}, {1}), InputError);
    CHECK_THROWS(search({0, 1}, {-1}, {1}), InputError);
    CHECK_THROWS(search({0, 1}, {3}, {1, 1}), InputError);
    const std::int64_t outside_offsets[] = {0, 1};
    const std::int32_t outside[] = {20};
    Presence presence;
    presence.exclude_offsets = {outside_offsets, 2};
    presence.exclude_ids = {outside, 1};
    CHECK_THROWS(search({0, 1}, {3}, {1}, presence), InputError);
    const std::vector<std::uint8_t> flags(40, 1);
    presence = {};
    presence.mask = {flags.data(), 1, 19};
    CHECK_THROWS(search({0, 1}, {3}, {1}, presence), InputError);
    presence.mask = {flags.data(), 2, 20};
    CHECK_THROWS(search({0, 1}, {3}, {1}, presence), InputError);

    RandomTexts wrong = texts;
    wrong.holders.back() = 20;
    CHECK_THROWS(wrong.build({}), InputError);
    wrong = texts;
    wrong.offsets[1] = wrong.offsets[2] + 1;
    CHECK_THROWS(wrong.build({}), InputError);
    wrong = texts;
    wrong.counts.pop_back();
    CHECK_THROWS(wrong.build({}), InputError);
}
