// The kernels, written once over the vector operations that an instruction-set file has defined in
// its own unnamed namespace before it includes this file inside that namespace. Everything here
// therefore has internal linkage and is compiled anew, with that file's flags.
//
// Needed: kWidth (32-bit lanes of a register), kCodeRegs x kCodeQueries (tile of `screen_codes`),
// kFloatRegs x kFloatRows (tile of `screen_floats`), types F (floats), I (int32) and
//   F: load_f, store_f, set_f, zero_f, mul_f, fma_f(a, b, c) = a * b + c
//   I: set_i, to_f, load_codes(address) of kWidth * 4 codes, load_query(address) of 4 codes to all
//      lanes, dot4(sum, codes, query), start_codes(bias)
//   prefetch(address): asks for a line, into the second-level cache
//   at_least(a, b): bit per lane where a >= b.

// Loops over the registers of a tile are unrolled by the front end: sums that are indexed by
// constants from the start stay in registers, with every compiler.
#if defined(_MSC_VER) && !defined(__clang__)
#define FASTRECALL_INLINED [[msvc::forceinline]]
#else
#define FASTRECALL_INLINED __attribute__((always_inline))
#endif

template <std::size_t i>
struct Index {
    constexpr operator std::size_t() const { return i; }
};

// body(Index<0>), ..., body(Index<n - 1>).
template <std::size_t n, class Body>
FASTRECALL_INLINED inline void unrolled(const Body& body) {
    if constexpr (n > 0) {
        unrolled<n - 1>(body);
        body(Index<n - 1>{});
    }
}

constexpr std::size_t kRegsInGroup = kGroup / kWidth;
static_assert(kCodeRegs % kRegsInGroup == 0, "a tile is made of whole groups");
static_assert(kFloatRegs % kRegsInGroup == 0, "a panel is made of whole groups");

// Sums must stay in registers, so the loops over a tile are unrolled and hold no branches; keys and
// bits of hits go to memory, for the rare rest.
inline void append(Sink& sink, std::int32_t id, float key) {
    sink.ids[sink.count] = id;
    sink.keys[sink.count] = key;
    ++sink.count;
}

// Appends, for every bit of `hits`, the key of that lane.
inline void append_lanes(Sink& sink, std::int32_t first_id, const float* keys, std::uint64_t hits) {
    for (; hits != 0; hits &= hits - 1) {
        const unsigned lane = lowest_bit(hits);
        append(sink, first_id + static_cast<std::int32_t>(lane), keys[lane]);
    }
}

// What a tile needs to know of its vectors; `columns` starts at the first of them.
struct TileVectors {
    const std::uint8_t* codes;
    const float* scales;
    const float* residuals;
    std::int32_t first_id;
    const PairColumns* columns;
};

// Q queries x R registers of vectors.
template <std::size_t Q, std::size_t R, bool pairs>
inline void screen_code_tile(const TileVectors& vectors, const CodeQueries& queries,
                             std::size_t query, std::size_t padded) {
    I sum[Q][R];
    const std::int8_t* q_codes = queries.codes + query * padded;
    unrolled<Q>([&](auto q) FASTRECALL_INLINED {
        unrolled<R>([&](auto r)
                        FASTRECALL_INLINED { sum[q][r] = start_codes(queries.bias[query + q]); });
    });
    const std::uint8_t* codes = vectors.codes;
    for (std::size_t i = 0; i < padded; i += kCodeStep) {
        I vector[R];
        unrolled<R>([&](auto r) FASTRECALL_INLINED {
            const std::uint8_t* from = codes + r / kRegsInGroup * kGroup * padded + i * kGroup +
                                       r % kRegsInGroup * kWidth * kCodeStep;
            vector[r] = load_codes(from);
            // With few queries memory sets the pace, and the streams of a tile are too short for
            // the hardware to run ahead: ask for the next tile.
            if constexpr (Q <= 2) prefetch(from + R / kRegsInGroup * kGroup * padded);
        });
        unrolled<Q>([&](auto q) FASTRECALL_INLINED {
            const I four = load_query(q_codes + q * padded + i);
            unrolled<R>([&](auto r)
                            FASTRECALL_INLINED { sum[q][r] = dot4(sum[q][r], vector[r], four); });
        });
    }
    F scale[R], residual[R];
    unrolled<R>([&](auto r) FASTRECALL_INLINED {
        scale[r] = load_f(vectors.scales + r * kWidth);
        residual[r] = load_f(vectors.residuals + r * kWidth);
    });
    float keys[Q][R * kWidth];
    std::uint64_t hits[Q], column_hits[Q];
    unrolled<Q>([&](auto q) FASTRECALL_INLINED {
        const F slope = set_f(queries.slope[query + q]);
        const F threshold = set_f(queries.threshold[query + q]);
        hits[q] = column_hits[q] = 0;
        unrolled<R>([&](auto r) FASTRECALL_INLINED {
            F key = fma_f(slope, residual[r], mul_f(to_f(sum[q][r]), scale[r]));
            if constexpr (pairs) {
                key = fma_f(set_f(vectors.columns->query_scale[query + q]), key,
                            set_f(vectors.columns->query_offset[query + q]));
                const F edge = load_f(vectors.columns->threshold + r * kWidth);
                column_hits[q] |= static_cast<std::uint64_t>(at_least(key, edge)) << (r * kWidth);
            }
            store_f(keys[q] + r * kWidth, key);
            hits[q] |= static_cast<std::uint64_t>(at_least(key, threshold)) << (r * kWidth);
        });
    });
    for (std::size_t q = 0; q < Q; ++q) {
        append_lanes(queries.sinks[query + q], vectors.first_id, keys[q], hits[q]);
        if constexpr (pairs) {
            const std::int32_t id =
                vectors.columns->first_query_id + static_cast<std::int32_t>(query + q);
            for (std::uint64_t left = column_hits[q]; left != 0; left &= left - 1) {
                const unsigned lane = lowest_bit(left);
                append(vectors.columns->sinks[lane], id, keys[q][lane]);
            }
        }
    }
}

template <std::size_t Q, std::size_t R, bool pairs>
inline void screen_code_rest(const TileVectors& vectors, const CodeQueries& queries,
                             std::size_t query, std::size_t padded) {
    if (queries.count - query == Q) {
        screen_code_tile<Q, R, pairs>(vectors, queries, query, padded);
    } else if constexpr (Q > 1) {
        screen_code_rest<Q - 1, R, pairs>(vectors, queries, query, padded);
    }
}

// All queries against R registers of vectors, which stay in the first-level cache meanwhile.
template <std::size_t R, bool pairs>
inline void screen_code_block(const CodeGroups& groups, std::size_t group,
                              const CodeQueries& queries, const PairColumns* all_columns,
                              std::size_t padded) {
    const std::size_t first = group * kGroup;
    TileVectors vectors{groups.codes + first * padded, groups.scales + first,
                        groups.residuals + first,
                        groups.first_id + static_cast<std::int32_t>(first), nullptr};
    PairColumns columns{};
    if constexpr (pairs) {
        columns = *all_columns;
        columns.threshold += first;
        columns.sinks += first;
        vectors.columns = &columns;
    }
    std::size_t query = 0;
    for (; query + kCodeQueries <= queries.count; query += kCodeQueries) {
        screen_code_tile<kCodeQueries, R, pairs>(vectors, queries, query, padded);
    }
    if constexpr (kCodeQueries > 1) {
        screen_code_rest<kCodeQueries - 1, R, pairs>(vectors, queries, query, padded);
    }
}

template <bool pairs>
inline void screen_code_groups(const CodeGroups& vectors, const CodeQueries& queries,
                               const PairColumns* columns, std::size_t padded) {
    constexpr std::size_t tile = kCodeRegs / kRegsInGroup;
    std::size_t group = 0;
    for (; group + tile <= vectors.groups; group += tile) {
        screen_code_block<kCodeRegs, pairs>(vectors, group, queries, columns, padded);
    }
    for (; group < vectors.groups; ++group) {
        screen_code_block<kRegsInGroup, pairs>(vectors, group, queries, columns, padded);
    }
}

void screen_codes(const CodeGroups& vectors, const CodeQueries& queries, std::size_t padded) {
    screen_code_groups<false>(vectors, queries, nullptr, padded);
}

void screen_pairs(const CodeGroups& vectors, const CodeQueries& queries, const PairColumns& columns,
                  std::size_t padded) {
    screen_code_groups<true>(vectors, queries, &columns, padded);
}

// N rows (broadcast, value by value) x R registers of queries.
template <std::size_t N, std::size_t R>
inline void screen_float_tile(const float* rows, std::size_t stride, std::int32_t first_id,
                              const FloatPanel& panel) {
    F sum[N][R];
    unrolled<N>([&](auto n) FASTRECALL_INLINED {
        unrolled<R>([&](auto r) FASTRECALL_INLINED { sum[n][r] = zero_f(); });
    });
    const float* values = panel.values;
    for (std::size_t i = 0; i < panel.dim; ++i, values += R * kWidth) {
        // Asks for the rows of the next tile, little by little.
        if constexpr (N > 1) prefetch(rows + N * stride + i * N);
        F query[R];
        unrolled<R>([&](auto r) FASTRECALL_INLINED { query[r] = load_f(values + r * kWidth); });
        unrolled<N>([&](auto n) FASTRECALL_INLINED {
            const F value = set_f(rows[n * stride + i]);
            unrolled<R>([&](auto r)
                            FASTRECALL_INLINED { sum[n][r] = fma_f(value, query[r], sum[n][r]); });
        });
    }
    float keys[N][R * kWidth];
    std::uint64_t hits[N];
    unrolled<N>([&](auto n) FASTRECALL_INLINED {
        hits[n] = 0;
        unrolled<R>([&](auto r) FASTRECALL_INLINED {
            store_f(keys[n] + r * kWidth, sum[n][r]);
            const unsigned bits = at_least(sum[n][r], load_f(panel.threshold + r * kWidth));
            hits[n] |= static_cast<std::uint64_t>(bits) << (r * kWidth);
        });
    });
    for (std::size_t n = 0; n < N; ++n) {
        for (std::uint64_t left = hits[n]; left != 0; left &= left - 1) {
            const unsigned lane = lowest_bit(left);
            append(panel.sinks[lane], first_id + static_cast<std::int32_t>(n), keys[n][lane]);
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
    // Four sums hide the latency of one.
    F sum[4] = {zero_f(), zero_f(), zero_f(), zero_f()};
    std::size_t i = 0;
    for (; i + 4 * kWidth <= padded; i += 4 * kWidth) {
        unrolled<4>([&](auto r) FASTRECALL_INLINED {
            sum[r] = fma_f(load_f(a + i + r * kWidth), load_f(b + i + r * kWidth), sum[r]);
        });
    }
    for (; i < padded; i += kWidth) sum[0] = fma_f(load_f(a + i), load_f(b + i), sum[0]);
    float lane[4 * kWidth];
    unrolled<4>([&](auto r) FASTRECALL_INLINED { store_f(lane + r * kWidth, sum[r]); });
    for (std::size_t width = 2 * kWidth; width > 0; width /= 2) {
        for (std::size_t j = 0; j < width; ++j) lane[j] += lane[j + width];
    }
    return lane[0];
}

constexpr std::size_t kFloatLanes = kFloatRegs * kWidth;

#undef FASTRECALL_INLINED
