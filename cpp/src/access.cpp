#include "fastrecall/access.hpp"

#include <algorithm>
#include <chrono>
#include <new>

#include "fastrecall/error.hpp"

namespace fastrecall {

template <class Free>
void Access::wait(std::unique_lock<std::mutex>& lock, const Execution& execution, Free free) {
    constexpr std::chrono::milliseconds kAskedEvery{50};
    const auto check = [this] {
        if (lost_) {
            throw InputError(
                "the index was being changed by another thread when this process was forked off; "
                "load it or build it again here");
        }
    };
    check();
    while (!free()) {
        if (!execution.interrupted) {
            left_.wait(lock);
            continue;
        }
        left_.wait_for(lock, kAskedEvery);
        if (free()) break;
        // The question may take locks of its own, and for long.
        lock.unlock();
        const bool interrupted = execution.interrupted();
        lock.lock();
        if (interrupted) throw Interrupted();
    }
}

Access::Reading::Reading(Access& access, const Execution& execution) : access_(access) {
    std::unique_lock<std::mutex> lock(access.mutex_);
    ++access.readers_waiting_;
    const auto leave_queue = [&access] {
        --access.readers_waiting_;
        access.admitted_ = std::min(access.admitted_, access.readers_waiting_);
    };
    try {
        access.wait(lock, execution, [&access] {
            return !access.writing_ && (access.writers_waiting_ == 0 || access.admitted_ > 0);
        });
    } catch (...) {
        leave_queue();
        access.left_.notify_all();
        throw;
    }
    if (access.admitted_ > 0) --access.admitted_;
    leave_queue();
    ++access.reading_;
}

Access::Reading::~Reading() {
    const std::lock_guard<std::mutex> lock(access_.mutex_);
    if (--access_.reading_ == 0 && access_.writers_waiting_ > 0) access_.left_.notify_all();
}

Access::Writing::Writing(Access& access, const Execution& execution) : access_(access) {
    std::unique_lock<std::mutex> lock(access.mutex_);
    ++access.writers_waiting_;
    try {
        access.wait(lock, execution, [&access] {
            return !access.writing_ && access.reading_ == 0 && access.admitted_ == 0;
        });
    } catch (...) {
        --access.writers_waiting_;
        access.left_.notify_all();
        throw;
    }
    --access.writers_waiting_;
    access.writing_ = true;
}

Access::Writing::~Writing() {
    const std::lock_guard<std::mutex> lock(access_.mutex_);
    access_.writing_ = false;
    access_.admitted_ = access_.readers_waiting_;
    access_.left_.notify_all();
}

void Access::in_child() noexcept {
    // Whoever held or awaited these is gone: they are not destroyed, only made anew.
    new (&mutex_) std::mutex;
    new (&left_) std::condition_variable;
    lost_ = lost_ || writing_;
    writing_ = false;
    reading_ = readers_waiting_ = writers_waiting_ = admitted_ = 0;
}

}  // namespace fastrecall
