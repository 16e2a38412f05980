#include "fastrecall/fork.hpp"

#include <mutex>

#if !defined(_WIN32)
#include <pthread.h>
#endif

namespace fastrecall {

// A list of all that want to be told. Its lock is held while the process forks, so that the child
// finds the list whole.
class ForkRegistry {
  public:
    static ForkRegistry& get() {
        static ForkRegistry* const registry = new ForkRegistry;  // outlives every static object
        return *registry;
    }

    void add(ForkAware* one) {
        const std::lock_guard<std::mutex> hold(mutex_);
        one->after_ = first_;
        if (first_ != nullptr) first_->before_ = one;
        first_ = one;
    }

    void remove(ForkAware* one) {
        const std::lock_guard<std::mutex> hold(mutex_);
        if (one->before_ != nullptr) one->before_->after_ = one->after_;
        if (one->after_ != nullptr) one->after_->before_ = one->before_;
        if (first_ == one) first_ = one->after_;
    }

  private:
    ForkRegistry() {
#if !defined(_WIN32)
        pthread_atfork([] { get().mutex_.lock(); }, [] { get().mutex_.unlock(); },
                       [] {
                           for (ForkAware* one = get().first_; one != nullptr; one = one->after_) {
                               one->in_child();
                           }
                           get().mutex_.unlock();
                       });
#endif
    }

    std::mutex mutex_;
    ForkAware* first_ = nullptr;
};

ForkAware::ForkAware() { ForkRegistry::get().add(this); }
ForkAware::~ForkAware() { ForkRegistry::get().remove(this); }

}  // namespace fastrecall
