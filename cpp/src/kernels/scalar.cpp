// The truth: plain loops that say what every other file must compute.
#include "fastrecall/kernels.hpp"

namespace fastrecall {
namespace scalar {
namespace {

double dot_f64(const float* a, const float* b, std::size_t padded) {
    double lane[16] = {};
    for (std::size_t i = 0; i < padded; ++i) {
        lane[i % 16] += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    }
    for (std::size_t width = 8; width > 0; width /= 2) {
        for (std::size_t j = 0; j < width; ++j) lane[j] += lane[j + width];
    }
    return lane[0];
}

float dot_f32(const float* a, const float* b, std::size_t padded) {
    float sum = 0;
    for (std::size_t i = 0; i < padded; ++i) sum += a[i] * b[i];
    return sum;
}

std::int32_t dot_codes(const std::uint8_t* codes, const std::int8_t* query, std::size_t padded) {
    std::int32_t sum = 0;
    for (std::size_t i = 0; i < padded; ++i) sum += codes[i] * query[i];
    return sum;
}

}  // namespace

extern const Kernels table;
const Kernels table = {"scalar", kCodeMax, dot_f64, dot_f32, dot_codes};

}  // namespace scalar
}  // namespace fastrecall
