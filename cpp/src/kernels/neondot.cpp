// Advanced SIMD with the dot product extension (FEAT_DotProd).
#include <arm_neon.h>

#include <cstring>

#include "fastrecall/bits.hpp"
#include "fastrecall/kernels.hpp"

namespace fastrecall {
namespace neondot {
namespace {

#include "arm.inl"

inline I dot4(I sum, I codes, I query) {
    return vdotq_s32(sum, vreinterpretq_s8_s32(codes), vreinterpretq_s8_s32(query));
}

#include "arm_dots.inl"

}  // namespace

extern const Kernels table;
const Kernels table = {"neondot",    kCodeMax,      kFloatLanes,   dot_f64,
                       dot_f32,      dot_codes,     dot_code_rows, screen_codes,
                       screen_pairs, screen_floats, to_half,       from_half};

}  // namespace neondot
}  // namespace fastrecall
