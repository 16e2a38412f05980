// Sets of bits.
#pragma once

#include <cstdint>

namespace fastrecall {

// Number of the lowest bit of `word`, which has one. Static, because the kernels include this: the
// linker must not merge what was compiled for a newer CPU into older code.
static inline unsigned lowest_bit(std::uint64_t word) {
#if defined(__GNUC__) || defined(__clang__)
    return static_cast<unsigned>(__builtin_ctzll(word));
#else
    unsigned bit = 0;
    for (; (word & 1) == 0; word >>= 1) ++bit;
    return bit;
#endif
}

}  // namespace fastrecall
