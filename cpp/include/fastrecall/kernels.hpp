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

struct Kernels {
    const char* isa;

    // Query codes lie in [-query_code_max, query_code_max]: 127, or 64 where pairs of products are
    // summed in 16 bits (255 * 64 * 2 = 32,640 cannot overflow there).
    int query_code_max;

    // Sum of a[i] * b[i] in float64, lane j = i mod 16 first, then lanes in a fixed tree. Products
    // of two float32 are exact in float64, so every instruction set returns the same bits.
    double (*dot_f64)(const float* a, const float* b, std::size_t padded);

    // The same in float32, fast, order unspecified: |error| <= padded * 2^-24 * sum |a[i] * b[i]|.
    float (*dot_f32)(const float* a, const float* b, std::size_t padded);

    // Sum of codes[i] * query[i], bias included: subtract kCodeBias * (sum of query) for the
    // product of the values. Exact as long as |query[i]| <= query_code_max.
    std::int32_t (*dot_codes)(const std::uint8_t* codes, const std::int8_t* query,
                              std::size_t padded);
};

// The kernels of this process: the best that this CPU runs, or what FASTRECALL_ISA names. Decided
// on the first call; throws InputError for a name that is unknown or cannot run here.
const Kernels& kernels();

}  // namespace fastrecall
