// Advanced SIMD as every 64-bit Arm has it: products in 16 bits, summed by pairs.
#include <arm_neon.h>

#include <cstring>

#include "fastrecall/bits.hpp"
#include "fastrecall/kernels.hpp"

namespace fastrecall {
namespace neon {
namespace {

#include "arm.inl"

inline I dot4(I sum, I codes, I query) {
    const int8x16_t a = vreinterpretq_s8_s32(codes), b = vreinterpretq_s8_s32(query);
    const I low = vpaddlq_s16(vmull_s8(vget_low_s8(a), vget_low_s8(b)));
    const I high = vpaddlq_s16(vmull_high_s8(a, b));
    return vaddq_s32(sum, vpaddq_s32(low, high));
}

#include "arm_dots.inl"

}  // namespace

extern const Kernels table;
const Kernels table = {"neon",       kCodeMax,      kFloatLanes,   dot_f64,
                       dot_f32,      dot_codes,     dot_code_rows, screen_codes,
                       screen_pairs, screen_floats, to_half,       from_half};

}  // namespace neon
}  // namespace fastrecall
