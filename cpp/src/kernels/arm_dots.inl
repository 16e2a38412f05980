// What follows from the operations of Advanced SIMD: the common kernels and dot products of rows.
// Included once all operations are there.

#include "wide.inl"

double dot_f64(const float* a, const float* b, std::size_t padded) {
    float64x2_t sum[8];
    for (float64x2_t& part : sum) part = vdupq_n_f64(0);
    for (std::size_t i = 0; i < padded; i += 16) {
        for (std::size_t r = 0; r < 4; ++r) {
            const F x = load_f(a + i + 4 * r), y = load_f(b + i + 4 * r);
            sum[2 * r] =
                vfmaq_f64(sum[2 * r], vcvt_f64_f32(vget_low_f32(x)), vcvt_f64_f32(vget_low_f32(y)));
            sum[2 * r + 1] = vfmaq_f64(sum[2 * r + 1], vcvt_high_f64_f32(x), vcvt_high_f64_f32(y));
        }
    }
    double lane[16];
    for (std::size_t r = 0; r < 8; ++r) vst1q_f64(lane + 2 * r, sum[r]);
    return tree_sum(lane);
}

std::int32_t dot_codes(const std::uint8_t* codes, const std::int8_t* query, std::int32_t,
                       std::size_t padded) {
    I sum = vdupq_n_s32(0);
    for (std::size_t i = 0; i < padded; i += 16) {
        sum = dot4(sum, load_codes(codes + i), vreinterpretq_s32_s8(vld1q_s8(query + i)));
    }
    return vaddvq_s32(sum);
}

inline I load_with(const std::uint8_t* from) { return load_codes(from); }
inline I dot_with(I sum, const std::uint8_t* row, I with) {
    return dot4(sum, load_codes(row), with);
}
inline std::int32_t with_bias(const std::uint8_t*, std::size_t) { return 0; }
inline void sum_4(I a, I b, I c, I d, std::int32_t* out) {
    vst1q_s32(out, vpaddq_s32(vpaddq_s32(a, b), vpaddq_s32(c, d)));
}

#include "code_rows.inl"
