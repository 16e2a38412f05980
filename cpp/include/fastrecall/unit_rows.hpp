// Vectors scaled to length one, padded and aligned for the kernels.
#pragma once

#include <cstddef>
#include <string>

#include "fastrecall/aligned.hpp"
#include "fastrecall/kernels.hpp"
#include "fastrecall/parallel.hpp"
#include "fastrecall/view.hpp"

namespace fastrecall {

// Row i is float32(vectors[i] / |vectors[i]|), the length taken in float64; a zero vector stays
// zero. Padding holds zeros. Throws InputError naming `what` and the row for NaN and infinity.
class UnitRows {
  public:
    UnitRows() = default;
    UnitRows(Matrix<const float> vectors, const std::string& what, const Execution& execution);

    std::size_t size() const { return size_; }
    std::size_t dim() const { return dim_; }
    std::size_t padded() const { return padded_; }
    std::size_t nbytes() const { return values_.nbytes(); }
    const float* row(std::size_t i) const { return values_.data() + i * padded_; }

  private:
    std::size_t size_ = 0, dim_ = 0, padded_ = 0;
    AlignedArray<float> values_;
};

}  // namespace fastrecall
