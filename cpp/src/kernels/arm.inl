// Vector operations of Advanced SIMD (NEON), but for the product of codes. Included by the files
// that add that one, inside their unnamed namespace.

constexpr std::size_t kWidth = 4;
using F = float32x4_t;
using I = int32x4_t;

// 4 x 4 sums, 4 vectors and the query, with room for temporaries in 32 registers.
constexpr std::size_t kCodeRegs = 4, kCodeQueries = 4;
// 4 x 6 sums, 4 registers of queries and a row's value.
constexpr std::size_t kFloatRegs = 4, kFloatRows = 6;

inline void prefetch(const void* line) {
#if defined(__GNUC__)
    __builtin_prefetch(line, 0, 2);
#else
    __prefetch(line);
#endif
}
inline F load_f(const float* from) { return vld1q_f32(from); }
inline void store_f(float* to, F value) { vst1q_f32(to, value); }
inline F set_f(float value) { return vdupq_n_f32(value); }
inline F zero_f() { return vdupq_n_f32(0); }
inline F mul_f(F a, F b) { return vmulq_f32(a, b); }
inline F fma_f(F a, F b, F c) { return vfmaq_f32(c, a, b); }
inline F to_f(I value) { return vcvtq_f32_s32(value); }
// Codes lose their bias when they are loaded, so that products are signed by signed.
inline I start_codes(std::int32_t) { return vdupq_n_s32(0); }
inline I load_codes(const std::uint8_t* from) {
    return vreinterpretq_s32_u8(veorq_u8(vld1q_u8(from), vdupq_n_u8(kCodeBias)));
}
inline I load_query(const std::int8_t* from) {
    std::int32_t four;
    std::memcpy(&four, from, sizeof four);
    return vdupq_n_s32(four);
}
inline unsigned at_least(F a, F b) {
    const uint32x4_t weights = {1, 2, 4, 8};
    return vaddvq_u32(vandq_u32(vcgeq_f32(a, b), weights));
}

void to_half(const float* from, std::uint16_t* to, std::size_t padded) {
    for (std::size_t i = 0; i < padded; i += 4) {
        vst1_u16(to + i, vreinterpret_u16_f16(vcvt_f16_f32(load_f(from + i))));
    }
}

void from_half(const std::uint16_t* from, float* to, std::size_t padded) {
    for (std::size_t i = 0; i < padded; i += 4) {
        store_f(to + i, vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(from + i))));
    }
}
