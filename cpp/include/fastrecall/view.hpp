// Borrowed memory with its shape. Views own nothing and must not outlive what they look at.
#pragma once

#include <cstddef>

namespace fastrecall {

template <class T>
struct Span {
    T* data = nullptr;
    std::size_t size = 0;

    T& operator[](std::size_t i) const { return data[i]; }
    T* begin() const { return data; }
    T* end() const { return data + size; }
    bool empty() const { return size == 0; }
};

// Row-major and contiguous.
template <class T>
struct Matrix {
    T* data = nullptr;
    std::size_t rows = 0;
    std::size_t cols = 0;

    T* row(std::size_t i) const { return data + i * cols; }
};

}  // namespace fastrecall
