// How fast this machine is, and how much of that each kernel reaches.
//
//   fastrecall_bench [threads]
//
// prints tab-separated lines: what, instruction set, threads, value, unit. The first lines are the
// roof: fused multiply-adds and int8 products from registers, and reading of memory, on 1 to
// `threads` threads. Then each kernel on each instruction set that runs here, one thread, 384
// dimensions, data in the second-level cache unless said otherwise. Every value comes
// from 7 timings of at least 20 ms: of the roof the best, of a kernel the median.
#include "fastrecall/kernels.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "fastrecall/aligned.hpp"
#include "fastrecall/cpu.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define FASTRECALL_ROOF 1
#endif

using namespace fastrecall;

namespace {

constexpr std::size_t kDim = 384;

volatile std::uint64_t sink;  // what is computed must not be optimised away

using Clock = std::chrono::steady_clock;

double seconds(const std::function<void()>& body) {
    const Clock::time_point start = Clock::now();
    body();
    return std::chrono::duration<double>(Clock::now() - start).count();
}

// Seconds of one call, ascending.
std::vector<double> seven_times(const std::function<void()>& body) {
    std::size_t repeats = 1;
    const auto group = [&] {
        for (std::size_t i = 0; i < repeats; ++i) body();
    };
    for (double once = seconds(group); once < 0.02; once = seconds(group)) {
        repeats *= once > 0.002 ? static_cast<std::size_t>(0.024 / once) + 1 : 10;
    }
    std::vector<double> times;
    for (int round = 0; round < 7; ++round) {
        times.push_back(seconds(group) / static_cast<double>(repeats));
    }
    std::sort(times.begin(), times.end());
    return times;
}

double best_time(const std::function<void()>& body) { return seven_times(body)[0]; }
double median_time(const std::function<void()>& body) { return seven_times(body)[3]; }

void report(const char* what, const char* isa, unsigned threads, double value, const char* unit) {
    std::printf("%s\t%s\t%u\t%.4g\t%s\n", what, isa, threads, value, unit);
    std::fflush(stdout);
}

void on_threads(unsigned threads, const std::function<void(unsigned)>& body) {
    std::vector<std::thread> others;
    for (unsigned i = 1; i < threads; ++i) others.emplace_back(body, i);
    body(0);
    for (std::thread& other : others) other.join();
}

// ---- The roof. ----------------------------------------------------------------------------------

struct RoofLoop {
    const char* isa;
    double ops;  // of one step
    void (*run)(long steps);
};

#ifdef FASTRECALL_ROOF

// Twelve sums that do not wait for each other: latency 4 or 5 times two units, and some to spare.
#define TWELVE(step)                                                                         \
    step(0) step(1) step(2) step(3) step(4) step(5) step(6) step(7) step(8) step(9) step(10) \
        step(11)

// Keeps the compiler from computing a product once for all sums.
#define FORGET(value) __asm__ volatile("" : "+v"(value))

__attribute__((target("avx2,fma"))) void fma_avx2(long steps) {
    const __m256 factor = _mm256_set1_ps(0.5f), term = _mm256_set1_ps(1.0f);
#define STEP(i) __m256 sum##i = _mm256_set1_ps(static_cast<float>(i));
    TWELVE(STEP)
#undef STEP
    for (; steps > 0; --steps) {
#define STEP(i) sum##i = _mm256_fmadd_ps(sum##i, factor, term);
        TWELVE(STEP)
#undef STEP
    }
    __m256 all = _mm256_setzero_ps();
#define STEP(i) all = _mm256_add_ps(all, sum##i);
    TWELVE(STEP)
#undef STEP
    sink = static_cast<std::uint64_t>(_mm256_cvtss_f32(all));
}

__attribute__((target("avx512f"))) void fma_avx512(long steps) {
    const __m512 factor = _mm512_set1_ps(0.5f), term = _mm512_set1_ps(1.0f);
#define STEP(i) __m512 sum##i = _mm512_set1_ps(static_cast<float>(i));
    TWELVE(STEP)
#undef STEP
    for (; steps > 0; --steps) {
#define STEP(i) sum##i = _mm512_fmadd_ps(sum##i, factor, term);
        TWELVE(STEP)
#undef STEP
    }
    __m512 all = _mm512_setzero_ps();
#define STEP(i) all = _mm512_add_ps(all, sum##i);
    TWELVE(STEP)
#undef STEP
    sink = static_cast<std::uint64_t>(_mm512_cvtss_f32(all));
}

// Without VNNI: products of pairs in 16 bits, then their sums in 32.
__attribute__((target("avx2"))) void int8_avx2(long steps) {
    const __m256i codes = _mm256_set1_epi8(3), ones = _mm256_set1_epi16(1);
    __m256i query = _mm256_set1_epi8(2);
#define STEP(i) __m256i sum##i = _mm256_setzero_si256();
    TWELVE(STEP)
#undef STEP
    for (; steps > 0; --steps) {
#define STEP(i)    \
    FORGET(query); \
    sum##i = _mm256_add_epi32(sum##i, _mm256_madd_epi16(_mm256_maddubs_epi16(codes, query), ones));
        TWELVE(STEP)
#undef STEP
    }
    __m256i all = _mm256_setzero_si256();
#define STEP(i) all = _mm256_add_epi32(all, sum##i);
    TWELVE(STEP)
#undef STEP
    sink = static_cast<std::uint64_t>(_mm256_extract_epi64(all, 0));
}

__attribute__((target("avx512f,avx512bw,avx512vnni"))) void int8_vnni(long steps) {
    const __m512i codes = _mm512_set1_epi8(3);
    __m512i query = _mm512_set1_epi8(2);
#define STEP(i) __m512i sum##i = _mm512_setzero_si512();
    TWELVE(STEP)
#undef STEP
    for (; steps > 0; --steps) {
#define STEP(i)    \
    FORGET(query); \
    sum##i = _mm512_dpbusd_epi32(sum##i, codes, query);
        TWELVE(STEP)
#undef STEP
    }
    __m512i all = _mm512_setzero_si512();
#define STEP(i) all = _mm512_add_epi32(all, sum##i);
    TWELVE(STEP)
#undef STEP
    alignas(kCacheLine) std::uint64_t lanes[8];
    _mm512_store_si512(lanes, all);
    sink = lanes[0];
}

const RoofLoop kFloatLoops[] = {{"avx512", 12 * 16 * 2, fma_avx512},
                                {"avx2", 12 * 8 * 2, fma_avx2}};
const RoofLoop kInt8Loops[] = {{"avx512vnni", 12 * 64 * 2, int8_vnni},
                               {"avx2", 12 * 32 * 2, int8_avx2}};

void peak(const char* what, const RoofLoop* begin, const RoofLoop* end, unsigned threads,
          const char* unit) {
    for (const RoofLoop* loop = begin; loop != end; ++loop) {
        if (!cpu_runs(loop->isa)) continue;
        constexpr long steps = 5'000'000;
        const double time =
            best_time([&] { on_threads(threads, [&](unsigned) { loop->run(steps); }); });
        report(what, loop->isa, threads, 1e-9 * loop->ops * steps * threads / time, unit);
    }
}

#endif

void roof(unsigned threads) {
#ifdef FASTRECALL_ROOF
    peak("roof fp32", std::begin(kFloatLoops), std::end(kFloatLoops), threads, "GFLOP/s");
    peak("roof int8", std::begin(kInt8Loops), std::end(kInt8Loops), threads, "Gop/s");
#endif
    for (const std::size_t mebibytes : {std::size_t{16}, std::size_t{1024}}) {
        AlignedArray<std::uint64_t> memory(mebibytes << 17);
        const std::size_t share = memory.size() / threads;
        const double time = best_time([&] {
            on_threads(threads, [&](unsigned thread) {
                const std::uint64_t* from = memory.data() + thread * share;
                std::uint64_t sum = 0;
                for (std::size_t i = 0; i < share; ++i) sum += from[i];
                sink = sum;
            });
        });
        const std::string what = "roof read " + std::to_string(mebibytes) + " MiB";
        report(what.c_str(), "-", threads, 1e-9 * static_cast<double>(memory.nbytes()) / time,
               "GB/s");
    }
}

// ---- The kernels. -------------------------------------------------------------------------------

template <class T>
AlignedArray<T> numbers(std::size_t size, int low, int high) {
    std::mt19937 random(7);
    std::uniform_int_distribution<int> uniform(low, high);
    AlignedArray<T> values(size);
    for (std::size_t i = 0; i < size; ++i) values[i] = static_cast<T>(uniform(random));
    return values;
}

template <class T>
std::vector<T> filled(std::size_t size, T value) {
    return std::vector<T>(size, value);
}

constexpr float kNever = std::numeric_limits<float>::infinity();

// With `pairs`, as the neighbour graph screens: queries are vectors, and thresholds stand on both
// sides.
void screen_codes(const Kernels& table, const char* what, std::size_t groups, std::size_t queries,
                  bool pairs = false) {
    const auto codes = numbers<std::uint8_t>(groups * kGroup * kDim, 1, 255);
    const auto query_codes =
        numbers<std::int8_t>(queries * kDim, -table.query_code_max, table.query_code_max);
    const auto ones = filled<float>(groups * kGroup, 1.0f);
    const auto bias = filled<std::int32_t>(queries, 0);
    const auto slope = filled<float>(queries, 1.0f), threshold = filled<float>(queries, kNever);
    auto sinks = filled<Sink>(queries, Sink{nullptr, nullptr, 0});
    const CodeGroups vectors{codes.data(), ones.data(), ones.data(), groups, 0};
    const CodeQueries batch{query_codes.data(), bias.data(),  slope.data(),
                            threshold.data(),   sinks.data(), queries};
    const auto far = filled<float>(groups * kGroup, kNever), zeros = filled<float>(queries, 0.0f);
    auto column_sinks = filled<Sink>(groups * kGroup, Sink{nullptr, nullptr, 0});
    const PairColumns columns{slope.data(), zeros.data(), 0, far.data(), column_sinks.data()};
    const double time = median_time([&] {
        if (pairs) {
            table.screen_pairs(vectors, batch, columns, kDim);
        } else {
            table.screen_codes(vectors, batch, kDim);
        }
    });
    const double products = static_cast<double>(groups * kGroup * kDim * queries);
    report(what, table.isa, 1, 2e-9 * products / time, "Gop/s");
}

void screen_floats(const Kernels& table) {
    constexpr std::size_t rows = 256;
    const auto values = numbers<float>(rows * kDim, -9, 9);
    const auto panel = numbers<float>(kDim * table.float_lanes, -9, 9);
    const auto threshold = filled<float>(table.float_lanes, kNever);
    auto sinks = filled<Sink>(table.float_lanes, Sink{nullptr, nullptr, 0});
    const FloatPanel lanes{panel.data(), threshold.data(), sinks.data(), table.float_lanes, kDim};
    const double time =
        median_time([&] { table.screen_floats(values.data(), kDim, rows, 0, lanes); });
    report("screen_floats", table.isa, 1,
           2e-9 * static_cast<double>(rows * kDim * table.float_lanes) / time, "GFLOP/s");
}

void dots(const Kernels& table) {
    constexpr std::size_t rows = 1024, asked = 32;
    const auto floats = numbers<float>(2 * kDim, -9, 9);
    const auto codes = numbers<std::uint8_t>(rows * kDim, 1, 255);
    const auto some = numbers<std::int32_t>(asked, 0, rows - 1);
    std::int32_t sums[asked];
    const float *a = floats.data(), *b = a + kDim;
    const double one = 2e-9 * kDim;
    const auto keep = [](double value) { sink = static_cast<std::uint64_t>(value); };
    report("dot_f64", table.isa, 1, one / median_time([&] { keep(table.dot_f64(a, b, kDim)); }),
           "GFLOP/s");
    report("dot_f32", table.isa, 1,
           one / median_time([&] { keep(static_cast<double>(table.dot_f32(a, b, kDim))); }),
           "GFLOP/s");
    const double time = median_time([&] {
        table.dot_code_rows(codes.data(), kDim, some.data(), asked, codes.data(), sums);
        sink = static_cast<std::uint64_t>(sums[0]);
    });
    report("dot_code_rows", table.isa, 1, one * asked / time, "Gop/s");
}

}  // namespace

int main(int count, char** arguments) {
    const long most = count > 1 ? std::strtol(arguments[1], nullptr, 10) : 1;
    if (most < 1 || most > 1024) {
        std::fprintf(stderr, "usage: fastrecall_bench [threads, 1 to 1024]\n");
        return 2;
    }
    for (unsigned threads = 1; threads <= static_cast<unsigned>(most); ++threads) roof(threads);
    for (const std::string& isa : available_isas()) {
        const Kernels& table = *kernels_named(isa.c_str());
        screen_codes(table, "screen_codes, 24 queries", 64, 24);
        screen_codes(table, "screen_codes, 1 query", 64, 1);
        screen_codes(table, "screen_codes, 1 query, 64 MB", 10'923, 1);
        screen_codes(table, "screen_pairs, 24 vectors", 64, 24, true);
        screen_floats(table);
        dots(table);
    }
    return 0;
}
