#include "fastrecall/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "fastrecall/error.hpp"

namespace fastrecall {
namespace {

std::size_t chunk_count(std::size_t count, std::size_t grain) {
    return count / grain + (count % grain != 0);
}

// What the workers of one call share.
class Job {
  public:
    Job(std::size_t count, std::size_t grain,
        const std::function<void(std::size_t, std::size_t, unsigned)>& body)
        : count_(count), grain_(grain), chunks_(chunk_count(count, grain)), body_(body) {}

    // Works off chunks until none is left or somebody failed; never throws.
    void work(unsigned worker, const std::function<bool()>& interrupted) noexcept {
        try {
            while (!stopped_.load(std::memory_order_relaxed)) {
                const std::size_t chunk = next_.fetch_add(1, std::memory_order_relaxed);
                if (chunk >= chunks_) return;
                const std::size_t begin = chunk * grain_;
                body_(begin, std::min(count_, begin + grain_), worker);
                if (interrupted && interrupted()) throw Interrupted();
            }
        } catch (...) {
            stop(std::current_exception());
        }
    }

    void rethrow() const {
        if (failure_) std::rethrow_exception(failure_);
    }

  private:
    void stop(std::exception_ptr failure) noexcept {
        stopped_.store(true, std::memory_order_relaxed);
        const std::lock_guard<std::mutex> lock(mutex_);
        if (!failure_) failure_ = std::move(failure);
    }

    const std::size_t count_, grain_, chunks_;
    const std::function<void(std::size_t, std::size_t, unsigned)>& body_;
    std::atomic<std::size_t> next_{0};
    std::atomic<bool> stopped_{false};
    std::mutex mutex_;
    std::exception_ptr failure_;
};

}  // namespace

unsigned workers_for(std::size_t count, std::size_t grain, const Execution& execution) {
    const std::size_t chunks = std::max<std::size_t>(1, chunk_count(count, grain));
    return static_cast<unsigned>(std::min<std::size_t>(std::max(1U, execution.threads), chunks));
}

void parallel_for(std::size_t count, std::size_t grain, const Execution& execution,
                  const std::function<void(std::size_t, std::size_t, unsigned)>& body) {
    if (count == 0) return;
    if (grain == 0) throw std::logic_error("parallel_for: grain is 0");
    Job job(count, grain, body);
    const unsigned workers = workers_for(count, grain, execution);
    std::vector<std::thread> helpers;
    helpers.reserve(workers - 1);
    try {
        for (unsigned worker = 1; worker < workers; ++worker) {
            helpers.emplace_back([&job, worker] { job.work(worker, {}); });
        }
    } catch (const std::system_error&) {
        // No more threads to be had: those that run, at least the caller, share the work.
    }
    job.work(0, execution.interrupted);
    for (std::thread& helper : helpers) helper.join();
    job.rethrow();
}

}  // namespace fastrecall
