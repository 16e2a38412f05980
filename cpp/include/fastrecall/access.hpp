// Who may be at data that many read and few change.
#pragma once

#include <condition_variable>
#include <mutex>

#include "fastrecall/fork.hpp"
#include "fastrecall/parallel.hpp"

namespace fastrecall {

// A lock for many readers or one writer. Unlike std::shared_mutex it lets nobody starve (a writer
// goes before readers that come later, and those that wait go before the next writer), whoever
// waits can be interrupted, and it is free in a forked child.
class Access : private ForkAware {
  public:
    class Reading {
      public:
        explicit Reading(Access& access, const Execution& execution = {});
        ~Reading();
        Reading(const Reading&) = delete;
        Reading& operator=(const Reading&) = delete;

      private:
        Access& access_;
    };

    class Writing {
      public:
        explicit Writing(Access& access, const Execution& execution = {});
        ~Writing();
        Writing(const Writing&) = delete;
        Writing& operator=(const Writing&) = delete;

      private:
        Access& access_;
    };

    Access() = default;

  private:
    // Returns when `free` holds; throws Interrupted, or InputError where another thread was
    // changing the data when this process was forked off. `lock` is held either way.
    template <class Free>
    void wait(std::unique_lock<std::mutex>& lock, const Execution& execution, Free free);
    void in_child() noexcept override;

    std::mutex mutex_;  // held for a moment only; guards what follows
    std::condition_variable left_;
    unsigned reading_ = 0;
    bool writing_ = false;
    unsigned readers_waiting_ = 0;
    unsigned writers_waiting_ = 0;
    unsigned admitted_ = 0;  // readers that waited for a writer and go before the next one
    bool lost_ = false;      // half changed, by a thread that is not here
};

}  // namespace fastrecall
