// The kernels, written once over the vector operations that an instruction-set file has defined in
// its own unnamed namespace before it includes this file inside that namespace. Everything here
// therefore has internal linkage and is compiled anew, with that file's flags.
//
// Needed: kWidth (32-bit lanes of a register), kCodeRegs x kCodeQueries (tile of `screen_codes`),
// kFloatRegs x kFloatRows (tile of `screen_floats`), types F (floats), I (int32) and
//   F: load_f, store_f, set_f, zero_f, mul_f, fma_f(a, b, c) = a * b + c
//   I: set_i, to_f, load_codes(address) of kWidth * 4 codes, load_query(address) of 4 codes to all
//      lanes, dot4(sum, codes, query), start_codes(bias)
//   at_least(a, b): bit per lane where a >= b.

#if defined(__GNUC__) && !defined(__clang__)
#define FASTRECALL_UNROLL _Pragma("GCC unroll 16")
#else
#define FASTRECALL_UNROLL
#endif

constexpr std::size_t kRegsInGroup = kGroup / kWidth;
static_assert(kCodeRegs % kRegsInGroup == 0, "a tile is made of whole groups");
static_assert(kFloatRegs % kRegsInGroup == 0, "a panel is made of whole groups");

inline void append(Sink& sink, std::int32_t id, float key) {
    sink.ids[sink.count] = id;
    sink.keys[sink.count] = key;
    ++sink.count;
}

// Q queries x R registers of vectors. Sums stay in registers; hits are rare.
template <std::size_t Q, std::size_t R>
inline void screen_code_tile(const std::uint8_t* codes, const float* scales, const float* residuals,
                             std::int32_t first_id, const CodeQueries& queries, std::size_t query,
                             std::size_t padded) {
    I sum[Q][R];
    const std::int8_t* q_codes = queries.codes + query * padded;
    FASTRECALL_UNROLL
    for (std::size_t q = 0; q < Q; ++q) {
        FASTRECALL_UNROLL
        for (std::size_t r = 0; r < R; ++r) sum[q][r] = start_codes(queries.bias[query + q]);
    }
    for (std::size_t i = 0; i < padded; i += kCodeStep) {
        I vector[R];
        FASTRECALL_UNROLL
        for (std::size_t r = 0; r < R; ++r) {
            vector[r] = load_codes(codes + r / kRegsInGroup * kGroup * padded + i * kGroup +
                                   r % kRegsInGroup * kWidth * kCodeStep);
        }
        FASTRECALL_UNROLL
        for (std::size_t q = 0; q < Q; ++q) {
            const I four = load_query(q_codes + q * padded + i);
            FASTRECALL_UNROLL
            for (std::size_t r = 0; r < R; ++r) sum[q][r] = dot4(sum[q][r], vector[r], four);
        }
    }
    FASTRECALL_UNROLL
    for (std::size_t r = 0; r < R; ++r) {
        const F scale = load_f(scales + r * kWidth), residual = load_f(residuals + r * kWidth);
        FASTRECALL_UNROLL
        for (std::size_t q = 0; q < Q; ++q) {
            const F key =
                fma_f(set_f(queries.slope[query + q]), residual, mul_f(to_f(sum[q][r]), scale));
            unsigned hits = at_least(key, set_f(queries.threshold[query + q]));
            if (hits == 0) continue;
            float keys[kWidth];
            store_f(keys, key);
            for (std::size_t lane = 0; hits != 0; ++lane, hits >>= 1) {
                if ((hits & 1U) == 0) continue;
                append(queries.sinks[query + q],
                       first_id + static_cast<std::int32_t>(r * kWidth + lane), keys[lane]);
            }
        }
    }
}

// All queries against R registers of vectors, which stay in the first-level cache meanwhile.
template <std::size_t Q, std::size_t R>
inline void screen_code_rest(const std::uint8_t* codes, const float* scales, const float* residuals,
                             std::int32_t first_id, const CodeQueries& queries, std::size_t query,
                             std::size_t padded) {
    if (queries.count - query == Q) {
        screen_code_tile<Q, R>(codes, scales, residuals, first_id, queries, query, padded);
    } else if constexpr (Q > 1) {
        screen_code_rest<Q - 1, R>(codes, scales, residuals, first_id, queries, query, padded);
    }
}

template <std::size_t R>
inline void screen_code_block(const CodeGroups& vectors, std::size_t group,
                              const CodeQueries& queries, std::size_t padded) {
    const std::uint8_t* codes = vectors.codes + group * kGroup * padded;
    const float* scales = vectors.scales + group * kGroup;
    const float* residuals = vectors.residuals + group * kGroup;
    const std::int32_t id = vectors.first_id + static_cast<std::int32_t>(group * kGroup);
    std::size_t query = 0;
    for (; query + kCodeQueries <= queries.count; query += kCodeQueries) {
        screen_code_tile<kCodeQueries, R>(codes, scales, residuals, id, queries, query, padded);
    }
    if constexpr (kCodeQueries > 1) {
        screen_code_rest<kCodeQueries - 1, R>(codes, scales, residuals, id, queries, query, padded);
    }
}

void screen_codes(const CodeGroups& vectors, const CodeQueries& queries, std::size_t padded) {
    constexpr std::size_t tile = kCodeRegs / kRegsInGroup;
    std::size_t group = 0;
    for (; group + tile <= vectors.groups; group += tile) {
        screen_code_block<kCodeRegs>(vectors, group, queries, padded);
    }
    for (; group < vectors.groups; ++group) {
        screen_code_block<kRegsInGroup>(vectors, group, queries, padded);
    }
}

// N rows (broadcast, value by value) x R registers of queries.
template <std::size_t N, std::size_t R>
inline void screen_float_tile(const float* rows, std::size_t stride, std::int32_t first_id,
                              const FloatPanel& panel) {
    F sum[N][R];
    FASTRECALL_UNROLL
    for (std::size_t n = 0; n < N; ++n) {
        FASTRECALL_UNROLL
        for (std::size_t r = 0; r < R; ++r) sum[n][r] = zero_f();
    }
    const float* values = panel.values;
    for (std::size_t i = 0; i < panel.dim; ++i, values += R * kWidth) {
        F query[R];
        FASTRECALL_UNROLL
        for (std::size_t r = 0; r < R; ++r) query[r] = load_f(values + r * kWidth);
        FASTRECALL_UNROLL
        for (std::size_t n = 0; n < N; ++n) {
            const F value = set_f(rows[n * stride + i]);
            FASTRECALL_UNROLL
            for (std::size_t r = 0; r < R; ++r) sum[n][r] = fma_f(value, query[r], sum[n][r]);
        }
    }
    FASTRECALL_UNROLL
    for (std::size_t r = 0; r < R; ++r) {
        const F threshold = load_f(panel.threshold + r * kWidth);
        FASTRECALL_UNROLL
        for (std::size_t n = 0; n < N; ++n) {
            unsigned hits = at_least(sum[n][r], threshold);
            if (hits == 0) continue;
            float keys[kWidth];
            store_f(keys, sum[n][r]);
            for (std::size_t lane = 0; hits != 0; ++lane, hits >>= 1) {
                if ((hits & 1U) == 0) continue;
                append(panel.sinks[r * kWidth + lane], first_id + static_cast<std::int32_t>(n),
                       keys[lane]);
            }
        }
    }
}

template <std::size_t R>
inline void screen_float_panel(const float* rows, std::size_t stride, std::size_t count,
                               std::int32_t first_id, const FloatPanel& panel) {
    std::size_t row = 0;
    for (; row + kFloatRows <= count; row += kFloatRows) {
        screen_float_tile<kFloatRows, R>(rows + row * stride, stride,
                                         first_id + static_cast<std::int32_t>(row), panel);
    }
    for (; row < count; ++row) {
        screen_float_tile<1, R>(rows + row * stride, stride,
                                first_id + static_cast<std::int32_t>(row), panel);
    }
}

template <std::size_t R>
inline void choose_float_panel(const float* rows, std::size_t stride, std::size_t count,
                               std::int32_t first_id, const FloatPanel& panel) {
    if (panel.lanes == R * kWidth) {
        screen_float_panel<R>(rows, stride, count, first_id, panel);
    } else if constexpr (R > kRegsInGroup) {
        choose_float_panel<R - kRegsInGroup>(rows, stride, count, first_id, panel);
    }
}

void screen_floats(const float* rows, std::size_t stride, std::size_t count, std::int32_t first_id,
                   const FloatPanel& panel) {
    choose_float_panel<kFloatRegs>(rows, stride, count, first_id, panel);
}

// The lanes of `dot_f64`, added in the order that all instruction sets share.
inline double tree_sum(double* lane) {
    for (std::size_t width = 8; width > 0; width /= 2) {
        for (std::size_t j = 0; j < width; ++j) lane[j] += lane[j + width];
    }
    return lane[0];
}

float dot_f32(const float* a, const float* b, std::size_t padded) {
    F sum[kRegsInGroup];
    for (F& part : sum) part = zero_f();
    for (std::size_t i = 0; i < padded; i += kGroup) {
        FASTRECALL_UNROLL
        for (std::size_t r = 0; r < kRegsInGroup; ++r) {
            sum[r] = fma_f(load_f(a + i + r * kWidth), load_f(b + i + r * kWidth), sum[r]);
        }
    }
    float lane[kGroup];
    for (std::size_t r = 0; r < kRegsInGroup; ++r) store_f(lane + r * kWidth, sum[r]);
    for (std::size_t width = kGroup / 2; width > 0; width /= 2) {
        for (std::size_t j = 0; j < width; ++j) lane[j] += lane[j + width];
    }
    return lane[0];
}

constexpr std::size_t kFloatLanes = kFloatRegs * kWidth;

#undef FASTRECALL_UNROLL
