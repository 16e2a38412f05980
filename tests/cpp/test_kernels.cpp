// Every instruction set that runs here against the scalar truth.
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "check.hpp"
#include "fastrecall/aligned.hpp"
#include "fastrecall/cpu.hpp"
#include "fastrecall/kernels.hpp"

using namespace fastrecall;

namespace {

using Sizes = std::initializer_list<std::size_t>;

const std::size_t kPadded[] = {16, 32, 48, 64, 80, 112, 128, 144, 384, 1040};

std::vector<const Kernels*> wide_kernels() {
    std::vector<const Kernels*> tables;
    for (const std::string& name : available_isas()) {
        if (name != "scalar") tables.push_back(kernels_named(name.c_str()));
    }
    return tables;
}

const Kernels& truth() { return *kernels_named("scalar"); }

AlignedArray<float> floats(std::size_t size, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    AlignedArray<float> values(size);
    for (std::size_t i = 0; i < size; ++i) values[i] = normal(random);
    return values;
}

template <class T>
AlignedArray<T> integers(std::size_t size, int low, int high, unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_int_distribution<int> uniform(low, high);
    AlignedArray<T> values(size);
    for (std::size_t i = 0; i < size; ++i) values[i] = static_cast<T>(uniform(random));
    return values;
}

// What a screen put into each sink, by id.
using Found = std::vector<std::map<std::int32_t, float>>;

class Sinks {
  public:
    Sinks(std::size_t count, std::size_t room) : ids_(count * room), keys_(count * room) {
        for (std::size_t i = 0; i < count; ++i) {
            sinks_.push_back({ids_.data() + i * room, keys_.data() + i * room, 0});
        }
    }
    Sink* data() { return sinks_.data(); }
    Found found() const {
        Found all;
        for (const Sink& sink : sinks_) {
            all.emplace_back();
            for (std::size_t i = 0; i < sink.count; ++i) all.back()[sink.ids[i]] = sink.keys[i];
            CHECK(all.back().size() == sink.count);  // nothing twice
        }
        return all;
    }

  private:
    std::vector<std::int32_t> ids_;
    std::vector<float> keys_;
    std::vector<Sink> sinks_;
};

void check_close(const Found& a, const Found& b, float tolerance, const std::vector<float>& edge) {
    CHECK(a.size() == b.size());
    const auto holds = [&](const Found& one, const Found& other) {
        for (std::size_t q = 0; q < one.size(); ++q) {
            for (const auto& [id, key] : one[q]) {
                const auto same = other[q].find(id);
                if (same == other[q].end()) {
                    CHECK(std::fabs(key - edge[q]) <= tolerance);  // just at the threshold
                } else {
                    CHECK(std::fabs(key - same->second) <= tolerance);
                }
            }
        }
    };
    holds(a, b);
    holds(b, a);
}

}  // namespace

TEST(dot_f64_has_the_same_bits_everywhere) {
    for (const Kernels* kernel : wide_kernels()) {
        for (const std::size_t padded : kPadded) {
            const auto a = floats(padded, 1), b = floats(padded, 2);
            CHECK(kernel->dot_f64(a.data(), b.data(), padded) ==
                  truth().dot_f64(a.data(), b.data(), padded));
        }
    }
}

TEST(dot_f32_stays_within_its_bound) {
    for (const Kernels* kernel : wide_kernels()) {
        for (const std::size_t padded : kPadded) {
            const auto a = floats(padded, 3), b = floats(padded, 4);
            double sum = 0, size = 0;
            for (std::size_t i = 0; i < padded; ++i) {
                sum += static_cast<double>(a[i]) * b[i];
                size += std::fabs(static_cast<double>(a[i]) * b[i]);
            }
            const double error = kernel->dot_f32(a.data(), b.data(), padded) - sum;
            CHECK(std::fabs(error) <= static_cast<double>(padded) * 0x1p-24 * size);
        }
    }
}

TEST(dot_codes_is_exact_at_the_extremes) {
    for (const Kernels* kernel : wide_kernels()) {
        const int most = kernel->query_code_max;
        for (const std::size_t padded : kPadded) {
            for (const int low : {1, 255}) {
                for (const int query_low : {-most, most}) {
                    for (const bool mixed : {false, true}) {
                        const auto codes =
                            integers<std::uint8_t>(padded, mixed ? 1 : low, mixed ? 255 : low, 5);
                        const auto query = integers<std::int8_t>(padded, mixed ? -most : query_low,
                                                                 mixed ? most : query_low, 6);
                        std::int32_t sum = 0;
                        for (std::size_t i = 0; i < padded; ++i) sum += query[i];
                        const std::int32_t bias = -kCodeBias * sum;
                        CHECK(kernel->dot_codes(codes.data(), query.data(), bias, padded) ==
                              truth().dot_codes(codes.data(), query.data(), bias, padded));
                    }
                }
            }
        }
    }
}

TEST(screen_codes_finds_what_the_scalar_screen_finds) {
    for (const Kernels* kernel : wide_kernels()) {
        const int most = kernel->query_code_max;
        for (const std::size_t padded : Sizes{16, 48, 384}) {
            for (const std::size_t groups : Sizes{1, 3, 4, 9}) {
                for (const std::size_t count : Sizes{1, 4, 5, 6, 13}) {
                    const std::size_t vectors = groups * kGroup;
                    const auto codes = integers<std::uint8_t>(vectors * padded, 1, 255, 7);
                    const auto query = integers<std::int8_t>(count * padded, -most, most, 8);
                    AlignedArray<float> scales(vectors), residuals(vectors), slopes(count);
                    for (std::size_t v = 0; v < vectors; ++v) {
                        scales[v] = 1.0F / static_cast<float>(v + 1);
                        residuals[v] = v + 3 < vectors ? static_cast<float>(v)
                                                       : -std::numeric_limits<float>::infinity();
                    }
                    AlignedArray<std::int32_t> bias(count);
                    std::vector<float> thresholds(count);
                    for (std::size_t q = 0; q < count; ++q) {
                        for (std::size_t i = 0; i < padded; ++i) {
                            bias[q] -= kCodeBias * query[q * padded + i];
                        }
                        slopes[q] = static_cast<float>(q);  // 0 * -inf must not pass either
                        thresholds[q] = q % 3 == 0 ? std::numeric_limits<float>::lowest() : 100;
                    }
                    Found found[2];
                    const Kernels* both[] = {kernel, &truth()};
                    for (int i = 0; i < 2; ++i) {
                        Sinks sinks(count, vectors);
                        both[i]->screen_codes(
                            {codes.data(), scales.data(), residuals.data(), groups, 1000},
                            {query.data(), bias.data(), slopes.data(), thresholds.data(),
                             sinks.data(), count},
                            padded);
                        found[i] = sinks.found();
                    }
                    CHECK(found[0][0].size() == vectors - 3);
                    CHECK(found[0][0].begin()->first == 1000);
                    check_close(found[0], found[1], 0.5F, thresholds);

                    // As pairs: keys become 2 * key + 1, and columns collect what reaches them.
                    const std::vector<float> twice(count, 2), one(count, 1);
                    std::vector<float> edges(vectors, 150);
                    edges[0] = std::numeric_limits<float>::lowest();
                    edges[1] = std::numeric_limits<float>::infinity();
                    Found rows[2], columns[2];
                    for (int i = 0; i < 2; ++i) {
                        Sinks row_sinks(count, vectors), column_sinks(vectors, count);
                        both[i]->screen_pairs(
                            {codes.data(), scales.data(), residuals.data(), groups, 1000},
                            {query.data(), bias.data(), slopes.data(), thresholds.data(),
                             row_sinks.data(), count},
                            {twice.data(), one.data(), 500, edges.data(), column_sinks.data()},
                            padded);
                        rows[i] = row_sinks.found();
                        columns[i] = column_sinks.found();
                    }
                    check_close(rows[0], rows[1], 1, thresholds);
                    check_close(columns[0], columns[1], 1, edges);
                    CHECK(columns[0][0].size() == count);
                    CHECK(columns[0][0].begin()->first == 500);
                    CHECK(columns[0][1].empty());
                    for (const auto& [id, key] : found[0][0]) {
                        CHECK(std::fabs(rows[0][0].at(id) - (2 * key + 1)) <= 1);
                    }
                }
            }
        }
    }
}

TEST(screen_floats_finds_what_the_scalar_screen_finds) {
    for (const Kernels* kernel : wide_kernels()) {
        for (const std::size_t dim : Sizes{1, 3, 65, 384}) {
            const std::size_t stride = round_up(dim, kRowStep);
            for (const std::size_t count : Sizes{1, 5, 6, 7, 13}) {
                for (std::size_t lanes = kGroup; lanes <= kernel->float_lanes; lanes += kGroup) {
                    const auto rows = floats(count * stride, 9), panel = floats(dim * lanes, 10);
                    std::vector<float> thresholds(lanes);
                    for (std::size_t lane = 0; lane < lanes; ++lane) {
                        thresholds[lane] = lane % 4 == 0   ? -1e30F
                                           : lane % 4 == 1 ? 0.5F
                                           : lane % 4 == 2 ? 3.0F
                                                           : std::numeric_limits<float>::infinity();
                    }
                    Found found[2];
                    const Kernels* both[] = {kernel, &truth()};
                    for (int i = 0; i < 2; ++i) {
                        Sinks sinks(lanes, count);
                        both[i]->screen_floats(
                            rows.data(), stride, count, 7,
                            {panel.data(), thresholds.data(), sinks.data(), lanes, dim});
                        found[i] = sinks.found();
                    }
                    CHECK(found[0][0].size() == count);
                    CHECK(found[0][3].empty());
                    check_close(found[0], found[1], 1e-3F, thresholds);
                }
            }
        }
    }
}

TEST(half_precision_has_the_same_bits_everywhere) {
    std::vector<float> special = {0.0F,       -0.0F,        1.0F,       -1.0F,    65504.0F,
                                  65519.9F,   65520.0F,     1e30F,      0x1p-14F, 0x1p-15F,
                                  0x1p-24F,   0x1p-25F,     0x1.8p-25F, 1e-30F,   0x1.002p0F,
                                  0x1.006p0F, 0x1.ffep-15F, 0x1.fffp3F};
    auto values = floats(16 * 4096, 11);
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] =
            i < special.size() ? special[i] : std::ldexp(values[i], static_cast<int>(i % 48) - 30);
    }
    AlignedArray<std::uint16_t> expected(values.size()), halves(values.size());
    truth().to_half(values.data(), expected.data(), values.size());
    AlignedArray<std::uint16_t> all(65536);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
    AlignedArray<float> expected_back(all.size()), back(all.size());
    truth().from_half(all.data(), expected_back.data(), all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (std::isnan(expected_back[i])) continue;
        std::uint16_t again[16];
        const float same[16] = {expected_back[i]};
        truth().to_half(same, again, 16);
        CHECK(again[0] == i);
    }
    for (const Kernels* kernel : wide_kernels()) {
        kernel->to_half(values.data(), halves.data(), values.size());
        CHECK(std::memcmp(halves.data(), expected.data(), halves.nbytes()) == 0);
        kernel->from_half(all.data(), back.data(), all.size());
        for (std::size_t i = 0; i < all.size(); ++i) {
            const bool nan = std::isnan(expected_back[i]);
            CHECK(nan ? std::isnan(back[i])
                      : std::memcmp(&back[i], &expected_back[i], sizeof(float)) == 0);
        }
    }
}
