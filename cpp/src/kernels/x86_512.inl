// Vector operations of AVX-512 (F, BW, DQ, VL), but for the product of codes. Included by the
// files that add that one, inside their unnamed namespace.

constexpr std::size_t kWidth = 16;
using F = __m512;
using I = __m512i;

inline void prefetch(const void* line) {
    _mm_prefetch(static_cast<const char*>(line), _MM_HINT_T1);
}
inline F load_f(const float* from) { return _mm512_loadu_ps(from); }
inline void store_f(float* to, F value) { _mm512_storeu_ps(to, value); }
inline F set_f(float value) { return _mm512_set1_ps(value); }
inline F zero_f() { return _mm512_setzero_ps(); }
inline F mul_f(F a, F b) { return _mm512_mul_ps(a, b); }
inline F fma_f(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
inline F to_f(I value) { return _mm512_cvtepi32_ps(value); }
inline I start_codes(std::int32_t bias) { return _mm512_set1_epi32(bias); }
inline I load_codes(const std::uint8_t* from) { return _mm512_loadu_si512(from); }
inline I load_query(const std::int8_t* from) {
    std::int32_t four;
    std::memcpy(&four, from, sizeof four);
    return _mm512_set1_epi32(four);
}
inline unsigned at_least(F a, F b) { return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ); }

double dot_f64(const float* a, const float* b, std::size_t padded) {
    __m512d low = _mm512_setzero_pd(), high = _mm512_setzero_pd();
    for (std::size_t i = 0; i < padded; i += 16) {
        low = _mm512_fmadd_pd(_mm512_cvtps_pd(_mm256_loadu_ps(a + i)),
                              _mm512_cvtps_pd(_mm256_loadu_ps(b + i)), low);
        high = _mm512_fmadd_pd(_mm512_cvtps_pd(_mm256_loadu_ps(a + i + 8)),
                               _mm512_cvtps_pd(_mm256_loadu_ps(b + i + 8)), high);
    }
    const __m512d eight = _mm512_add_pd(low, high);
    const __m256d four =
        _mm256_add_pd(_mm512_castpd512_pd256(eight), _mm512_extractf64x4_pd(eight, 1));
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

// Adds pairs across two registers twice, so that each 128 bits hold a part of all four sums.
inline void sum_4(I a, I b, I c, I d, std::int32_t* out) {
    const I ab = _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
    const I cd = _mm512_add_epi32(_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
    const I all = _mm512_add_epi32(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
    const __m256i half =
        _mm256_add_epi32(_mm512_castsi512_si256(all), _mm512_extracti64x4_epi64(all, 1));
    _mm_storeu_si128(
        reinterpret_cast<__m128i*>(out),
        _mm_add_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1)));
}

void to_half(const float* from, std::uint16_t* to, std::size_t padded) {
    for (std::size_t i = 0; i < padded; i += 16) {
        const __m256i half = _mm512_cvtps_ph(load_f(from + i), _MM_FROUND_TO_NEAREST_INT);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), half);
    }
}

void from_half(const std::uint16_t* from, float* to, std::size_t padded) {
    for (std::size_t i = 0; i < padded; i += 16) {
        const __m256i half = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i));
        store_f(to + i, _mm512_cvtph_ps(half));
    }
}
