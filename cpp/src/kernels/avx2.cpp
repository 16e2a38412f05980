// AVX2 with FMA and F16C.
#include <immintrin.h>

#include <cstring>

#include "fastrecall/bits.hpp"
#include "fastrecall/kernels.hpp"

namespace fastrecall {
namespace avx2 {
namespace {

constexpr std::size_t kWidth = 8;
using F = __m256;
using I = __m256i;

// 2 x 4 sums, 2 vectors, the query, ones and two temporaries: 14 of 16 registers.
constexpr std::size_t kCodeRegs = 2, kCodeQueries = 4;
// 2 x 6 sums, 2 registers of queries and a row's value: 15 of 16.
constexpr std::size_t kFloatRegs = 2, kFloatRows = 6;

inline void prefetch(const void* line) {
    _mm_prefetch(static_cast<const char*>(line), _MM_HINT_T1);
}
inline F load_f(const float* from) { return _mm256_loadu_ps(from); }
inline void store_f(float* to, F value) { _mm256_storeu_ps(to, value); }
inline F set_f(float value) { return _mm256_set1_ps(value); }
inline F zero_f() { return _mm256_setzero_ps(); }
inline F mul_f(F a, F b) { return _mm256_mul_ps(a, b); }
inline F fma_f(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
inline F to_f(I value) { return _mm256_cvtepi32_ps(value); }
inline I start_codes(std::int32_t bias) { return _mm256_set1_epi32(bias); }
inline I load_codes(const std::uint8_t* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}
inline I load_query(const std::int8_t* from) {
    std::int32_t four;
    std::memcpy(&four, from, sizeof four);
    return _mm256_set1_epi32(four);
}
// Pairs of products in 16 bits cannot overflow: query codes lie within 64.
inline I dot4(I sum, I codes, I query) {
    const I pairs = _mm256_maddubs_epi16(codes, query);
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}
inline unsigned at_least(F a, F b) {
    return static_cast<unsigned>(_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_GE_OQ)));
}

#include "wide.inl"

double dot_f64(const float* a, const float* b, std::size_t padded) {
    __m256d sum[4] = {_mm256_setzero_pd(), _mm256_setzero_pd(), _mm256_setzero_pd(),
                      _mm256_setzero_pd()};
    for (std::size_t i = 0; i < padded; i += 16) {
        for (std::size_t r = 0; r < 4; ++r) {
            sum[r] = _mm256_fmadd_pd(_mm256_cvtps_pd(_mm_loadu_ps(a + i + 4 * r)),
                                     _mm256_cvtps_pd(_mm_loadu_ps(b + i + 4 * r)), sum[r]);
        }
    }
    double lane[16];
    for (std::size_t r = 0; r < 4; ++r) _mm256_storeu_pd(lane + 4 * r, sum[r]);
    return tree_sum(lane);
}

std::int32_t dot_codes(const std::uint8_t* codes, const std::int8_t* query, std::int32_t bias,
                       std::size_t padded) {
    I sum = _mm256_setzero_si256();
    std::size_t i = 0;
    for (; i + 32 <= padded; i += 32) {
        sum = dot4(sum, load_codes(codes + i),
                   load_codes(reinterpret_cast<const std::uint8_t*>(query + i)));
    }
    __m128i four = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
    if (i < padded) {  // 16 are left
        const __m128i pairs =
            _mm_maddubs_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(codes + i)),
                              _mm_loadu_si128(reinterpret_cast<const __m128i*>(query + i)));
        four = _mm_add_epi32(four, _mm_madd_epi16(pairs, _mm_set1_epi16(1)));
    }
    four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4E));
    four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0xB1));
    return bias + _mm_cvtsi128_si32(four);
}

inline I load_with(const std::uint8_t* from) {
    return _mm256_xor_si256(load_codes(from), _mm256_set1_epi8(static_cast<char>(kCodeBias)));
}
// |with| times the row under with's sign: pairs stay within 2 * 127 * 127 and fit in 16 bits.
inline I dot_with(I sum, const std::uint8_t* row, I with) {
    return dot4(sum, _mm256_abs_epi8(with), _mm256_sign_epi8(load_with(row), with));
}
inline std::int32_t with_bias(const std::uint8_t*, std::size_t) { return 0; }
inline void sum_4(I a, I b, I c, I d, std::int32_t* out) {
    const I all = _mm256_hadd_epi32(_mm256_hadd_epi32(a, b), _mm256_hadd_epi32(c, d));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out),
                     _mm_add_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1)));
}

#include "code_rows.inl"

void to_half(const float* from, std::uint16_t* to, std::size_t padded) {
    for (std::size_t i = 0; i < padded; i += 8) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                         _mm256_cvtps_ph(load_f(from + i), _MM_FROUND_TO_NEAREST_INT));
    }
}

void from_half(const std::uint16_t* from, float* to, std::size_t padded) {
    for (std::size_t i = 0; i < padded; i += 8) {
        const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
        store_f(to + i, _mm256_cvtph_ps(half));
    }
}

}  // namespace

extern const Kernels table;
const Kernels table = {
    "avx2",        64,           kFloatLanes,  dot_f64,       dot_f32, dot_codes,
    dot_code_rows, screen_codes, screen_pairs, screen_floats, to_half, from_half};

}  // namespace avx2
}  // namespace fastrecall
