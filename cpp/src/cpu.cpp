#include "fastrecall/cpu.hpp"

#include <cstdint>

#if defined(__x86_64__) || defined(_M_X64)
#define FASTRECALL_X86 1
#if defined(_MSC_VER)
#include <immintrin.h>
#include <intrin.h>
#else
#include <cpuid.h>
#endif
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#elif defined(__aarch64__) && defined(__APPLE__)
#include <sys/sysctl.h>
#endif

namespace fastrecall {
namespace {

#ifdef FASTRECALL_X86

struct Leaf {
    std::uint32_t eax, ebx, ecx, edx;
};

Leaf cpuid(std::uint32_t leaf) {
#if defined(_MSC_VER)
    int r[4];
    __cpuid(r, 0);
    if (static_cast<std::uint32_t>(r[0]) < leaf) return {0, 0, 0, 0};
    __cpuidex(r, static_cast<int>(leaf), 0);
    return {static_cast<std::uint32_t>(r[0]), static_cast<std::uint32_t>(r[1]),
            static_cast<std::uint32_t>(r[2]), static_cast<std::uint32_t>(r[3])};
#else
    Leaf r{0, 0, 0, 0};
    __get_cpuid_count(leaf, 0, &r.eax, &r.ebx, &r.ecx, &r.edx);
    return r;
#endif
}

// Register state that the operating system saves for us; only valid when OSXSAVE is set.
std::uint64_t xcr0() {
#if defined(_MSC_VER)
    return _xgetbv(0);
#else
    std::uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (static_cast<std::uint64_t>(high) << 32) | low;
#endif
}

bool bit(std::uint64_t word, unsigned position) { return ((word >> position) & 1U) != 0; }

struct Features {
    bool avx2 = false, avx512 = false, vnni = false;

    Features() {
        const Leaf one = cpuid(1), seven = cpuid(7);
        const bool osxsave = bit(one.ecx, 27);
        const std::uint64_t saved = osxsave ? xcr0() : 0;
        const bool ymm_saved = (saved & 0x06) == 0x06;
        const bool zmm_saved = (saved & 0xE6) == 0xE6;
        const bool fma = bit(one.ecx, 12), f16c = bit(one.ecx, 29);
        avx2 = ymm_saved && bit(one.ecx, 28) && fma && f16c && bit(seven.ebx, 5);
        avx512 = avx2 && zmm_saved && bit(seven.ebx, 16) && bit(seven.ebx, 17) &&
                 bit(seven.ebx, 30) && bit(seven.ebx, 31);  // F, DQ, BW, VL
        vnni = avx512 && bit(seven.ecx, 11);
    }
};

#elif defined(__aarch64__)

bool has_dotprod() {
#if defined(__linux__)
    constexpr unsigned long asimddp = 1UL << 20;
    return (getauxval(AT_HWCAP) & asimddp) != 0;
#elif defined(__APPLE__)
    int value = 0;
    std::size_t size = sizeof value;
    return sysctlbyname("hw.optional.arm.FEAT_DotProd", &value, &size, nullptr, 0) == 0 &&
           value != 0;
#else
    return false;
#endif
}

#endif

}  // namespace

bool cpu_runs(const std::string& isa) {
#ifdef FASTRECALL_X86
    static const Features features;
    if (isa == "avx2") return features.avx2;
    if (isa == "avx512") return features.avx512;
    if (isa == "avx512vnni") return features.vnni;
#elif defined(__aarch64__) || defined(_M_ARM64)
    if (isa == "neon") return true;
#if defined(__aarch64__)
    if (isa == "neondot") return has_dotprod();
#endif
#endif
    return isa == "scalar";
}

}  // namespace fastrecall
