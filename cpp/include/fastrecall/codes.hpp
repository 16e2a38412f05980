// Vectors as one byte a value, with what the rounding cost them.
//
// A vector v is coded as v' = scale * (code - 128), a query q as q' = scale * code. By
// Cauchy-Schwarz the product of the codes misses the true one by at most
//     |q.v - q'.v'|  <=  |q| |v - v'| + |v'| |q - q'|,
// and as |q|, |v| <= 1 that is at most r_v (1 + r_q) + r_q with the residuals r_v = |v - v'| and
// r_q = |q - q'|. `screen_codes` computes key = (q'.v' + r_v (1 + r_q)) / scale_q, so that
// scale_q * key + r_q is an upper bound of the score.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fastrecall/aligned.hpp"
#include "fastrecall/kernels.hpp"
#include "fastrecall/parallel.hpp"
#include "fastrecall/row_store.hpp"

namespace fastrecall {

// From keys to scores: at most scale * key + lift, and at least that less twice the doubt
// scale * slope * residual + offset.
struct KeyBound {
    float scale = 1;
    float slope = 0;
    float offset = 0;
    float lift = 0;
};

// The vectors of an index, in the groups that `screen_codes` reads.
class CodedRows {
  public:
    CodedRows() = default;
    // `rows` in single precision.
    CodedRows(const RowStore& rows, const Execution& execution);

    std::size_t groups() const { return scales_.size() / kGroup; }
    std::size_t nbytes() const { return codes_.nbytes() + scales_.nbytes() + residuals_.nbytes(); }
    const float* residuals() const { return residuals_.data(); }
    CodeGroups slice(std::size_t first_group, std::size_t count) const;

  private:
    std::size_t padded_ = 0;
    AlignedArray<std::uint8_t> codes_;
    AlignedArray<float> scales_, residuals_;
};

// A batch of queries, coded for the instruction set in use.
class CodedQueries {
  public:
    CodedQueries(const float* rows, std::size_t count, std::size_t padded);

    const std::int8_t* codes(std::size_t query) const { return codes_.data() + query * padded_; }
    const std::int32_t* bias() const { return bias_.data(); }
    const float* slopes() const { return slopes_.data(); }
    KeyBound bound(std::size_t query) const {
        return {scales_[query], slopes_[query], offsets_[query], offsets_[query]};
    }
    const float* scales() const { return scales_.data(); }
    const float* offsets() const { return offsets_.data(); }

  private:
    std::size_t padded_;
    AlignedArray<std::int8_t> codes_;
    AlignedArray<std::int32_t> bias_;
    AlignedArray<float> slopes_, scales_, offsets_;
};

}  // namespace fastrecall
