// Vectors scaled to length one, padded and aligned for the kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "fastrecall/aligned.hpp"
#include "fastrecall/kernels.hpp"
#include "fastrecall/parallel.hpp"
#include "fastrecall/view.hpp"

namespace fastrecall {

// Row i is float32(vectors[i] / |vectors[i]|), the length taken in float64; a zero vector stays
// zero. In half precision that row is rounded once more (nearest, ties to even), and what is read
// back are the rounded values. Padding holds zeros.
class RowStore {
  public:
    enum class Precision { half, single };

    RowStore() = default;

    // Throws InputError naming `what` and the row for NaN and infinity.
    RowStore(Matrix<const float> vectors, Precision precision, const std::string& what,
             const Execution& execution);

    std::size_t size() const { return size_; }
    std::size_t dim() const { return dim_; }
    std::size_t padded() const { return padded_; }
    std::size_t nbytes() const { return singles_.nbytes() + halves_.nbytes(); }

    // `count` rows from `first` on, as float32 [count, padded]: the stored ones, or those of half
    // precision converted into `scratch` (count * padded values, not touched otherwise).
    const float* rows(std::size_t first, std::size_t count, float* scratch) const;

    // How many values of scratch `rows` needs.
    std::size_t scratch_for(std::size_t count) const {
        return halves_.size() == 0 ? 0 : count * padded_;
    }

  private:
    std::size_t size_ = 0, dim_ = 0, padded_ = 0;
    AlignedArray<float> singles_;
    AlignedArray<std::uint16_t> halves_;
};

}  // namespace fastrecall
