// Owned memory that starts on a cache line, so that a wide load never straddles two.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace fastrecall {

inline constexpr std::size_t kCacheLine = 64;

constexpr std::size_t round_up(std::size_t value, std::size_t step) {
    return (value + step - 1) / step * step;
}

// A fixed-size array of plain values; zeroed unless asked otherwise.
template <class T>
class AlignedArray {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    AlignedArray() = default;
    explicit AlignedArray(std::size_t size) : AlignedArray(size, Uninitialised{}) {
        if (size != 0) std::memset(static_cast<void*>(data_.get()), 0, size * sizeof(T));
    }
    static AlignedArray uninitialised(std::size_t size) {
        return AlignedArray(size, Uninitialised{});
    }

    T* data() { return data_.get(); }
    const T* data() const { return data_.get(); }
    std::size_t size() const { return size_; }
    std::size_t nbytes() const { return size_ * sizeof(T); }
    T& operator[](std::size_t i) { return data_[i]; }
    const T& operator[](std::size_t i) const { return data_[i]; }

  private:
    struct Uninitialised {};
    struct Free {
        std::size_t alignment = kCacheLine;
        void operator()(T* memory) const {
            ::operator delete(static_cast<void*>(memory), std::align_val_t{alignment});
        }
    };

    // Large arrays start on a large page and ask for such pages, where the system has them: rows
    // that are read at random cost no walk through page tables then.
    static constexpr std::size_t kLargePage = std::size_t{1} << 21;
    static std::unique_ptr<T[], Free> allocate(std::size_t bytes) {
        const std::size_t alignment = bytes >= 2 * kLargePage ? kLargePage : kCacheLine;
        void* memory = ::operator new(bytes, std::align_val_t{alignment});
#if defined(__linux__)
        if (alignment == kLargePage) madvise(memory, bytes, MADV_HUGEPAGE);  // a wish, no more
#endif
        return {static_cast<T*>(memory), Free{alignment}};
    }

    AlignedArray(std::size_t size, Uninitialised) : size_(size) {
        if (size != 0) data_ = allocate(size * sizeof(T));
    }

    std::unique_ptr<T[], Free> data_;
    std::size_t size_ = 0;
};

}  // namespace fastrecall
