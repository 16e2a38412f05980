// The table of kernels, one per instruction set, chosen once at run time.
//
// Instruction-set files are compiled with flags of their own, so this header brings no standard
// library templates into them: an inline function compiled for a newer CPU could be merged by the
// linker into code that has to run on an older one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fastrecall {

// Rows of vectors are padded with zeros to a multiple of this many values, and start on a cache
// line: kernels that take `padded` need no code for a tail.
inline constexpr std::size_t kRowStep = 16;

// Codes are biased: code = 128 + round(value / scale), in 1..255; 128 is zero.
inline constexpr int kCodeBias = 128;
inline constexpr int kCodeMax = 127;

// Rows of codes that are read one by one are padded with kCodeBias to a multiple of this.
inline constexpr std::size_t kCodeRowStep = 64;

// 16 vectors whose codes are interleaved: 4 values of the first, 4 of the second, ..., then the
// next 4 values of each. One 64-byte line feeds 16 lanes of 4-value dot products.
inline constexpr std::size_t kGroup = 16;
inline constexpr std::size_t kCodeStep = 4;

// Where a screen puts what passed for one query. The caller keeps room for what one call can add.
struct Sink {
    std::int32_t* ids;
    float* keys;
    std::size_t count;
};

// Some groups of coded vectors, with ids from `first_id` on.
struct CodeGroups {
    const std::uint8_t* codes;  // [groups][padded / kCodeStep][kGroup][kCodeStep]
    const float* scales;        // [groups * kGroup] value = scale * (code - kCodeBias)
    const float* residuals;     // [groups * kGroup] |vector - coded vector|; -inf where padding
    std::size_t groups;
    std::int32_t first_id;
};

// A batch of coded queries, row-major. `bias` is -kCodeBias * (sum of the query's codes): what has
// to be added to a sum of biased products. `slope` is what a unit of residual adds to a key.
struct CodeQueries {
    const std::int8_t* codes;  // [count][padded]
    const std::int32_t* bias;  // [count]
    const float* slope;        // [count]
    const float* threshold;    // [count]
    Sink* sinks;               // [count]
    std::size_t count;
};

// The other side of a screen of pairs: the queries are vectors themselves, and each pair counts for
// both of its ends. Keys become upper bounds of scores, query_scale * key + query_offset, which
// hold in either direction.
struct PairColumns {
    const float* query_scale;   // [queries]
    const float* query_offset;  // [queries]
    std::int32_t first_query_id;
    const float* threshold;  // [groups * kGroup]; infinite where padding
    Sink* sinks;             // [groups * kGroup]
};

// Queries side by side, as lanes: [dim][lanes], lanes a multiple of kGroup, at most `float_lanes`.
// Lanes without a query hold zeros and an infinite threshold.
struct FloatPanel {
    const float* values;
    const float* threshold;  // [lanes]
    Sink* sinks;             // [lanes]
    std::size_t lanes;
    std::size_t dim;
};

struct Kernels {
    const char* isa;

    // Query codes lie in [-query_code_max, query_code_max]: 127, or 64 where pairs of products are
    // summed in 16 bits (255 * 64 * 2 = 32,640 cannot overflow there).
    int query_code_max;

    // The widest FloatPanel that `screen_floats` takes.
    std::size_t float_lanes;

    // Sum of a[i] * b[i] in float64, lane j = i mod 16 first, then lanes in a fixed tree. Products
    // of two float32 are exact in float64, so every instruction set returns the same bits.
    double (*dot_f64)(const float* a, const float* b, std::size_t padded);

    // The same in float32, fast, order unspecified: |error| <= padded * 2^-24 * sum |a[i] * b[i]|.
    float (*dot_f32)(const float* a, const float* b, std::size_t padded);

    // Sum of (codes[i] - kCodeBias) * query[i], exact. `bias` as in CodeQueries.
    std::int32_t (*dot_codes)(const std::uint8_t* codes, const std::int8_t* query,
                              std::int32_t bias, std::size_t padded);

    // For each of `count` rows, sum of (codes[row * width + i] - kCodeBias) * (with[i] -
    // kCodeBias), exact whatever the codes in 1..255. `width` is a multiple of kCodeRowStep.
    void (*dot_code_rows)(const std::uint8_t* codes, std::size_t width, const std::int32_t* rows,
                          std::size_t count, const std::uint8_t* with, std::int32_t* sums);

    // For every query and vector: key = scale * product + slope * residual; where key >= threshold,
    // id and key go to the query's sink.
    void (*screen_codes)(const CodeGroups& vectors, const CodeQueries& queries, std::size_t padded);

    // The same for pairs of vectors: an upper bound of the score goes to the query's sink where it
    // reaches the query's threshold, and to the vector's where it reaches the vector's.
    void (*screen_pairs)(const CodeGroups& vectors, const CodeQueries& queries,
                         const PairColumns& columns, std::size_t padded);

    // For every row and lane: key = float32 dot product (error as `dot_f32`); where
    // key >= threshold, first_id + row and key go to the lane's sink.
    void (*screen_floats)(const float* rows, std::size_t stride, std::size_t count,
                          std::int32_t first_id, const FloatPanel& panel);

    // float32 to IEEE half precision (nearest, ties to even) and back. `padded` values.
    void (*to_half)(const float* from, std::uint16_t* to, std::size_t padded);
    void (*from_half)(const std::uint16_t* from, float* to, std::size_t padded);
};

// The kernels of this process: the best that this CPU runs, or what FASTRECALL_ISA names. Decided
// on the first call; throws InputError for a name that is unknown or cannot run here.
const Kernels& kernels();

// The kernels of one instruction set, or nullptr when it is not compiled in or cannot run here.
const Kernels* kernels_named(const char* isa);

}  // namespace fastrecall
