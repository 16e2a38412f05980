// Things that are dear to make and lent to whoever needs one for a while.
#pragma once

#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "fastrecall/fork.hpp"

namespace fastrecall {

template <class T>
class Idle : private ForkAware {
  public:
    Idle() = default;

    // One that was given back, or null when all are lent.
    std::unique_ptr<T> take() {
        const std::lock_guard<std::mutex> hold(mutex_);
        if (things_.empty()) return nullptr;
        auto thing = std::move(things_.back());
        things_.pop_back();
        return thing;
    }

    void give(std::unique_ptr<T> thing) {
        const std::lock_guard<std::mutex> hold(mutex_);
        things_.push_back(std::move(thing));
    }

  private:
    // What lay idle is left where it is: another thread may have been taking from it.
    void in_child() noexcept override {
        new (&mutex_) std::mutex;
        new (&things_) std::vector<std::unique_ptr<T>>;
    }

    std::mutex mutex_;
    std::vector<std::unique_ptr<T>> things_;
};

}  // namespace fastrecall
