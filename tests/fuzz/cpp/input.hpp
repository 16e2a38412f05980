// The bytes of a fuzzer as numbers and arrays, and the invariants that end a run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

// Ends the run, for the fuzzer to keep the input, when what must hold does not.
#define MUST_HOLD(what)                                                                    \
    do {                                                                                   \
        if (!(what)) {                                                                     \
            std::fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #what); \
            std::abort();                                                                  \
        }                                                                                  \
    } while (false)

namespace fuzz {

// Takes values from the front; past the end everything is 0.
class Input {
  public:
    Input(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}

    bool empty() const { return left_ == 0; }

    template <class T>
    T take() {
        T value{};
        const std::size_t some = left_ < sizeof value ? left_ : sizeof value;
        if (some > 0) std::memcpy(&value, data_, some);
        data_ += some;
        left_ -= some;
        return value;
    }

    // A small number, and now and then any number.
    template <class T>
    T number() {
        const auto byte = take<std::uint8_t>();
        return byte < 250 ? static_cast<T>(static_cast<int>(byte) - 10) : take<T>();
    }

    // Up to `most` values in memory of exactly their size, so that a step beyond is seen.
    template <class T>
    std::vector<T> numbers(std::size_t most) {
        std::vector<T> values(take<std::uint8_t>() % (most + 1));
        for (T& value : values) value = number<T>();
        values.shrink_to_fit();
        return values;
    }

    // Any floats: nan, infinities and denormals among them.
    std::vector<float> floats(std::size_t count) {
        std::vector<float> values(count);
        for (float& value : values) {
            const auto byte = take<std::uint8_t>();
            value = byte < 200 ? static_cast<float>(byte) / 16 - 6 : take<float>();
        }
        return values;
    }

  private:
    const std::uint8_t* data_;
    std::size_t left_;
};

}  // namespace fuzz
