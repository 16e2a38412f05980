// The truth: plain loops that say what every other file must compute.
#include <cmath>
#include <cstring>

#include "fastrecall/kernels.hpp"

namespace fastrecall {
namespace scalar {
namespace {

double dot_f64(const float* a, const float* b, std::size_t padded) {
    double lane[16] = {};
    for (std::size_t i = 0; i < padded; ++i) {
        lane[i % 16] += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    }
    for (std::size_t width = 8; width > 0; width /= 2) {
        for (std::size_t j = 0; j < width; ++j) lane[j] += lane[j + width];
    }
    return lane[0];
}

float dot_f32(const float* a, const float* b, std::size_t padded) {
    float sum = 0;
    for (std::size_t i = 0; i < padded; ++i) sum += a[i] * b[i];
    return sum;
}

std::int32_t dot_codes(const std::uint8_t* codes, const std::int8_t* query, std::int32_t bias,
                       std::size_t padded) {
    std::int32_t sum = bias;
    for (std::size_t i = 0; i < padded; ++i) sum += codes[i] * query[i];
    return sum;
}

void dot_code_rows(const std::uint8_t* codes, std::size_t width, const std::int32_t* rows,
                   std::size_t count, const std::uint8_t* with, std::int32_t* sums) {
    for (std::size_t r = 0; r < count; ++r) {
        const std::uint8_t* row = codes + static_cast<std::size_t>(rows[r]) * width;
        sums[r] = 0;
        for (std::size_t i = 0; i < width; ++i) {
            sums[r] += (row[i] - kCodeBias) * (with[i] - kCodeBias);
        }
    }
}

void append(Sink& sink, std::int32_t id, float key) {
    sink.ids[sink.count] = id;
    sink.keys[sink.count] = key;
    ++sink.count;
}

// Calls use(query, vector, key) for each pair.
template <class Use>
void for_each_key(const CodeGroups& vectors, const CodeQueries& queries, std::size_t padded,
                  const Use& use) {
    for (std::size_t q = 0; q < queries.count; ++q) {
        const std::int8_t* query = queries.codes + q * padded;
        for (std::size_t v = 0; v < vectors.groups * kGroup; ++v) {
            const std::uint8_t* codes = vectors.codes + v / kGroup * kGroup * padded;
            std::int32_t product = queries.bias[q];
            for (std::size_t i = 0; i < padded; ++i) {
                const std::size_t line = i / kCodeStep * kGroup * kCodeStep;
                product += codes[line + v % kGroup * kCodeStep + i % kCodeStep] * query[i];
            }
            use(q, v,
                vectors.scales[v] * static_cast<float>(product) +
                    queries.slope[q] * vectors.residuals[v]);
        }
    }
}

void screen_codes(const CodeGroups& vectors, const CodeQueries& queries, std::size_t padded) {
    for_each_key(vectors, queries, padded, [&](std::size_t q, std::size_t v, float key) {
        if (key >= queries.threshold[q]) {
            append(queries.sinks[q], vectors.first_id + static_cast<std::int32_t>(v), key);
        }
    });
}

void screen_pairs(const CodeGroups& vectors, const CodeQueries& queries, const PairColumns& columns,
                  std::size_t padded) {
    for_each_key(vectors, queries, padded, [&](std::size_t q, std::size_t v, float key) {
        const float most = columns.query_scale[q] * key + columns.query_offset[q];
        if (most >= queries.threshold[q]) {
            append(queries.sinks[q], vectors.first_id + static_cast<std::int32_t>(v), most);
        }
        if (most >= columns.threshold[v]) {
            append(columns.sinks[v], columns.first_query_id + static_cast<std::int32_t>(q), most);
        }
    });
}

void screen_floats(const float* rows, std::size_t stride, std::size_t count, std::int32_t first_id,
                   const FloatPanel& panel) {
    for (std::size_t row = 0; row < count; ++row) {
        for (std::size_t lane = 0; lane < panel.lanes; ++lane) {
            float key = 0;
            for (std::size_t i = 0; i < panel.dim; ++i) {
                key += rows[row * stride + i] * panel.values[i * panel.lanes + lane];
            }
            if (key >= panel.threshold[lane]) {
                append(panel.sinks[lane], first_id + static_cast<std::int32_t>(row), key);
            }
        }
    }
}

// Half precision: 1 sign, 5 exponent bits (bias 15), 10 fraction bits; below 2^-14 steps of 2^-24.
std::uint16_t half_of(float value) {
    const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    const float size = std::fabs(value);
    if (!(size <= 65504.0F)) {  // too large, infinite or nan
        if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7E00);
        return static_cast<std::uint16_t>(sign | (size < 65520.0F ? 0x7BFF : 0x7C00));
    }
    int exponent;
    std::frexp(size, &exponent);  // size = fraction * 2^exponent, fraction in [1/2, 1)
    const int step = size < 0x1p-14F ? -24 : exponent - 11;       // the last place is 2^step
    const float steps = std::nearbyint(std::ldexp(size, -step));  // ties to even; at most 2048
    // 1024 steps or more carry into the exponent's field, also where rounding reaches 2048.
    return static_cast<std::uint16_t>(sign | ((step + 24) * 1024 + static_cast<int>(steps)));
}

float float_of(std::uint16_t half) {
    const int exponent = half >> 10 & 31, fraction = half & 1023;
    float size;
    if (exponent == 31) {
        size = fraction != 0 ? NAN : INFINITY;
    } else if (exponent == 0) {
        size = std::ldexp(static_cast<float>(fraction), -24);
    } else {
        size = std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
    }
    return (half & 0x8000) != 0 ? -size : size;
}

void to_half(const float* from, std::uint16_t* to, std::size_t padded) {
    for (std::size_t i = 0; i < padded; ++i) to[i] = half_of(from[i]);
}

void from_half(const std::uint16_t* from, float* to, std::size_t padded) {
    for (std::size_t i = 0; i < padded; ++i) to[i] = float_of(from[i]);
}

}  // namespace

extern const Kernels table;
const Kernels table = {"scalar",     kCodeMax,      kGroup,        dot_f64,
                       dot_f32,      dot_codes,     dot_code_rows, screen_codes,
                       screen_pairs, screen_floats, to_half,       from_half};

}  // namespace scalar
}  // namespace fastrecall
