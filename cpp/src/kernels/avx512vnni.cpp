// AVX-512 with VNNI: four products of codes and their sum in 32 bits are one instruction.
#include <immintrin.h>

#include <cstring>

#include "fastrecall/bits.hpp"
#include "fastrecall/kernels.hpp"

namespace fastrecall {
namespace avx512vnni {
namespace {

#include "x86_512.inl"

// 4 x 6 sums, 4 vectors and the query: 29 of 32 registers.
constexpr std::size_t kCodeRegs = 4, kCodeQueries = 6;
constexpr std::size_t kFloatRegs = 4, kFloatRows = 6;

inline I dot4(I sum, I codes, I query) { return _mm512_dpbusd_epi32(sum, codes, query); }

#include "wide.inl"

inline I load_with(const std::uint8_t* from) {
    return _mm512_xor_si512(load_codes(from), _mm512_set1_epi8(static_cast<char>(kCodeBias)));
}
inline I dot_with(I sum, const std::uint8_t* row, I with) {
    return dot4(sum, load_codes(row), with);
}
// Rows keep their bias: every product carries kCodeBias * with.
std::int32_t with_bias(const std::uint8_t* with, std::size_t width) {
    I sum = _mm512_setzero_si512();
    for (std::size_t i = 0; i < width; i += 64) {
        sum = dot4(sum, _mm512_set1_epi8(static_cast<char>(kCodeBias)), load_with(with + i));
    }
    return _mm512_reduce_add_epi32(sum);
}

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
const Kernels table = {"avx512vnni", kCodeMax,      kFloatLanes,   dot_f64,
                       dot_f32,      dot_codes,     dot_code_rows, screen_codes,
                       screen_pairs, screen_floats, to_half,       from_half};

}  // namespace avx512vnni
}  // namespace fastrecall
