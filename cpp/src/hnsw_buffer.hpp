// An array that grows, or looks at a part of a file until it is first changed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#ifdef __linux__
#include <sys/mman.h>
#endif

#include "fastrecall/aligned.hpp"

namespace fastrecall {

template <class T>
class HnswBuffer {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    HnswBuffer() = default;
    HnswBuffer(HnswBuffer&& other) noexcept { *this = std::move(other); }
    HnswBuffer& operator=(HnswBuffer&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(owned_, other.owned_);
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
        return *this;
    }
    ~HnswBuffer() { release(); }

    void borrow(const T* data, std::size_t size) {
        release();
        data_ = data;
        owned_ = nullptr;
        size_ = size;
        capacity_ = 0;
    }

    const T* data() const { return data_; }
    std::size_t size() const { return size_; }
    std::size_t nbytes() const { return std::max(size_, capacity_) * sizeof(T); }
    const T& operator[](std::size_t i) const { return data_[i]; }

    // The values, to be changed; what was borrowed is copied first.
    T* writable() {
        if (owned_ == nullptr && size_ > 0) move_to(size_);
        return owned_;
    }

    // New places hold `fill`. The first allocation is exact, later ones leave a quarter of room.
    void resize(std::size_t size, T fill) {
        if (size > capacity_) {
            move_to(size_ == 0 ? size : std::max(size, size_ + size_ / 4));
        }
        if (size > size_) std::fill(owned_ + size_, owned_ + size, fill);
        size_ = size;
    }

  private:
    // Large arrays are read at random: on huge pages, so that the address translation keeps up.
    static constexpr std::size_t kHugePage = std::size_t{2} << 20;
    static constexpr bool huge(std::size_t capacity) {
        return capacity * sizeof(T) >= 2 * kHugePage;
    }
    static std::align_val_t alignment(std::size_t capacity) {
        return std::align_val_t{huge(capacity) ? kHugePage : kCacheLine};
    }

    void move_to(std::size_t capacity) {
        auto* memory = static_cast<T*>(::operator new(capacity * sizeof(T), alignment(capacity)));
#ifdef __linux__
        if (huge(capacity)) madvise(memory, capacity * sizeof(T), MADV_HUGEPAGE);
#endif
        if (size_ > 0) std::memcpy(memory, data_, size_ * sizeof(T));
        const std::size_t size = size_;
        release();
        data_ = owned_ = memory;
        size_ = size;
        capacity_ = capacity;
    }

    void release() {
        if (owned_ != nullptr) {
            ::operator delete(static_cast<void*>(owned_), alignment(capacity_));
        }
    }

    const T* data_ = nullptr;
    T* owned_ = nullptr;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
};

}  // namespace fastrecall
