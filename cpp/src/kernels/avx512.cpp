// AVX-512 without VNNI: products of codes as pairs in 16 bits (maddubs), then pairs of those.
#include <immintrin.h>

#include <cstring>

#include "fastrecall/bits.hpp"
#include "fastrecall/kernels.hpp"

namespace fastrecall {
namespace avx512 {
namespace {

#include "x86_512.inl"

// 4 x 5 sums, 4 vectors, the query, ones and two temporaries: 28 of 32 registers.
constexpr std::size_t kCodeRegs = 4, kCodeQueries = 5;
constexpr std::size_t kFloatRegs = 4, kFloatRows = 6;

inline I dot4(I sum, I codes, I query) {
    const I pairs = _mm512_maddubs_epi16(codes, query);
    return _mm512_add_epi32(sum, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)));
}

#include "wide.inl"

inline I load_with(const std::uint8_t* from) {
    return _mm512_xor_si512(load_codes(from), _mm512_set1_epi8(static_cast<char>(kCodeBias)));
}
// |with| times the row under with's sign: pairs stay within 2 * 127 * 127 and fit in 16 bits.
inline I dot_with(I sum, const std::uint8_t* row, I with) {
    const I codes = load_with(row);
    const I turned =
        _mm512_mask_sub_epi8(codes, _mm512_movepi8_mask(with), _mm512_setzero_si512(), codes);
    return dot4(sum, _mm512_abs_epi8(with), turned);
}
inline std::int32_t with_bias(const std::uint8_t*, std::size_t) { return 0; }

#include "code_rows.inl"

std::int32_t dot_codes(const std::uint8_t* codes, const std::int8_t* query, std::int32_t bias,
                       std::size_t padded) {
    I sum = _mm512_setzero_si512();
    for (std::size_t i = 0; i < padded; i += 64) {
        const std::size_t left = padded - i;
        const __mmask64 some = left >= 64 ? ~__mmask64{0} : (__mmask64{1} << left) - 1;
        sum = dot4(sum, _mm512_maskz_loadu_epi8(some, codes + i),
                   _mm512_maskz_loadu_epi8(some, query + i));
    }
    return bias + _mm512_reduce_add_epi32(sum);
}

}  // namespace

extern const Kernels table;
const Kernels table = {
    "avx512",      64,           kFloatLanes,  dot_f64,       dot_f32, dot_codes,
    dot_code_rows, screen_codes, screen_pairs, screen_floats, to_half, from_half};

}  // namespace avx512
}  // namespace fastrecall
