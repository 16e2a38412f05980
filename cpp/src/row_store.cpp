#include "fastrecall/row_store.hpp"

#include <cmath>
#include <cstring>

#include "fastrecall/error.hpp"

namespace fastrecall {
namespace {

constexpr std::size_t kGrain = 256;

[[noreturn]] void refuse(const float* row, std::size_t dim, std::size_t i,
                         const std::string& what) {
    std::size_t column = 0;
    while (column + 1 < dim && std::isfinite(row[column])) ++column;
    throw InputError(what + ": row " + std::to_string(i) + ", column " + std::to_string(column) +
                     " is " + (std::isnan(row[column]) ? "nan" : "infinite") +
                     "; expected finite numbers (float32)");
}

}  // namespace

RowStore::RowStore(Matrix<const float> vectors, Precision precision, const std::string& what,
                   const Execution& execution)
    : size_(vectors.rows), dim_(vectors.cols), padded_(round_up(vectors.cols, kRowStep)) {
    const bool half = precision == Precision::half;
    if (half) {
        halves_ = AlignedArray<std::uint16_t>::uninitialised(size_ * padded_);
    } else {
        singles_ = AlignedArray<float>::uninitialised(size_ * padded_);
    }
    const Kernels& kernel = kernels();
    parallel_for(size_, kGrain, execution, [&](std::size_t begin, std::size_t end, unsigned) {
        auto one = AlignedArray<float>::uninitialised(half ? padded_ : 0);
        for (std::size_t i = begin; i < end; ++i) {
            float* out = half ? one.data() : singles_.data() + i * padded_;
            std::memcpy(out, vectors.row(i), dim_ * sizeof(float));
            std::memset(out + dim_, 0, (padded_ - dim_) * sizeof(float));
            // Squares of float32 cannot overflow in float64: this is finite iff all values are.
            const double squares = kernel.dot_f64(out, out, padded_);
            if (!std::isfinite(squares)) refuse(out, dim_, i, what);
            if (squares > 0) {
                const double length = std::sqrt(squares);
                for (std::size_t j = 0; j < dim_; ++j) {
                    out[j] = static_cast<float>(static_cast<double>(out[j]) / length);
                }
            }
            if (half) kernel.to_half(out, halves_.data() + i * padded_, padded_);
        }
    });
}

const float* RowStore::rows(std::size_t first, std::size_t count, float* scratch) const {
    if (halves_.size() == 0) return singles_.data() + first * padded_;
    kernels().from_half(halves_.data() + first * padded_, scratch, count * padded_);
    return scratch;
}

}  // namespace fastrecall
