#include "fastrecall/codes.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace fastrecall {
namespace {

// Covers, with room to spare, every rounding between a key and a score: int to float, three float32
// operations on values of at most about 1, the rounding of unit vectors and of the score itself.
constexpr float kRoundingSlack = 4e-6F;
// Residuals are rounded up, so that they stay bounds.
constexpr double kRoundUp = 1 + 1e-6;

float largest(const float* row, std::size_t padded) {
    float most = 0;
    for (std::size_t i = 0; i < padded; ++i) most = std::max(most, std::fabs(row[i]));
    return most;
}

// Codes of one row, code = bias + round(value / scale). Returns the residual.
float encode(const float* row, std::size_t padded, float scale, std::uint8_t* codes) {
    const float inverse = scale > 0 ? 1 / scale : 0;
    double lost[4] = {};  // several sums, for the sake of the compiler's vectors
    for (std::size_t i = 0; i < padded; i += 4) {
        for (std::size_t j = 0; j < 4; ++j) {
            // Positive, so that cutting off rounds. The largest value lands within 1e-4 of 127.5,
            // never on the next code.
            const auto code = static_cast<std::int32_t>(row[i + j] * inverse + 128.5F);
            codes[i + j] = static_cast<std::uint8_t>(code);
            const double miss =
                static_cast<double>(row[i + j]) - static_cast<double>(scale) * (code - kCodeBias);
            lost[j] += miss * miss;
        }
    }
    return static_cast<float>(std::sqrt(lost[0] + lost[1] + lost[2] + lost[3]) * kRoundUp);
}

}  // namespace

CodedRows::CodedRows(const RowStore& rows, const Execution& execution)
    : padded_(rows.padded()),
      codes_(AlignedArray<std::uint8_t>::uninitialised(round_up(rows.size(), kGroup) * padded_)),
      scales_(AlignedArray<float>::uninitialised(round_up(rows.size(), kGroup))),
      residuals_(AlignedArray<float>::uninitialised(round_up(rows.size(), kGroup))) {
    constexpr std::size_t grain = 16;
    parallel_for(groups(), grain, execution, [&](std::size_t begin, std::size_t end, unsigned) {
        AlignedArray<std::uint8_t> line(padded_);
        for (std::size_t v = begin * kGroup; v < end * kGroup; ++v) {
            if (v < rows.size()) {
                const float* row = rows.rows(v, 1, nullptr);
                scales_[v] = largest(row, padded_) / kCodeMax;
                residuals_[v] = encode(row, padded_, scales_[v], line.data());
            } else {  // past the end: never passes a threshold
                scales_[v] = 0;
                residuals_[v] = -std::numeric_limits<float>::infinity();
                std::fill(line.data(), line.data() + padded_, std::uint8_t{kCodeBias});
            }
            std::uint8_t* out = codes_.data() + v / kGroup * kGroup * padded_;
            out += v % kGroup * kCodeStep;
            for (std::size_t i = 0; i < padded_; i += kCodeStep) {
                std::memcpy(out + i * kGroup, line.data() + i, kCodeStep);
            }
        }
    });
}

CodeGroups CodedRows::slice(std::size_t first_group, std::size_t count) const {
    const std::size_t first = first_group * kGroup;
    return {codes_.data() + first * padded_, scales_.data() + first, residuals_.data() + first,
            count, static_cast<std::int32_t>(first)};
}

CodedQueries::CodedQueries(const float* rows, std::size_t count, std::size_t padded)
    : padded_(padded),
      codes_(AlignedArray<std::int8_t>::uninitialised(count * padded)),
      bias_(AlignedArray<std::int32_t>::uninitialised(count)),
      slopes_(AlignedArray<float>::uninitialised(count)),
      scales_(AlignedArray<float>::uninitialised(count)),
      offsets_(AlignedArray<float>::uninitialised(count)) {
    const int most = kernels().query_code_max;
    AlignedArray<std::uint8_t> line(padded);
    for (std::size_t q = 0; q < count; ++q) {
        const float* row = rows + q * padded;
        const float scale = largest(row, padded) / static_cast<float>(most);
        const float residual = encode(row, padded, scale, line.data());
        std::int32_t sum = 0;
        for (std::size_t i = 0; i < padded; ++i) {
            const int code = line[i] - kCodeBias;
            codes_[q * padded + i] = static_cast<std::int8_t>(code);
            sum += code;
        }
        bias_[q] = -kCodeBias * sum;
        // A zero query has codes of zero, and its score is zero exactly.
        scales_[q] = scale > 0 ? scale : 1;
        slopes_[q] = scale > 0 ? (1 + residual) / scale : 0;
        offsets_[q] = residual + kRoundingSlack;
    }
}

}  // namespace fastrecall
