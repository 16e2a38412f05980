// One way to use several threads: chunks of an index range, handed out as workers become free.
#pragma once

#include <cstddef>
#include <functional>

namespace fastrecall {

// How a call runs. `interrupted` is asked from the calling thread alone, between chunks; when it
// returns true the call ends with `Interrupted`. The engine knows no signals and no Python: the
// bindings provide the check.
struct Execution {
    unsigned threads = 1;
    std::function<bool()> interrupted = {};
};

// Calls `body(begin, end, worker)` for chunks of at most `grain` indices that together cover
// [0, count) exactly once. `worker` is below `workers_for(...)`, and two calls with the same worker
// never run at the same time: scratch memory can be kept per worker.
//
// The caller is worker 0; further threads live for this call only. Starting one costs about 10 µs,
// and in return nothing is shared between calls: any number of callers may be here at once, a
// forked child finds nothing broken, and no thread idles between calls. Never more threads than
// chunks are started.
//
// The first exception (of any worker) stops the hand-out of chunks and is rethrown here after all
// workers have ended.
void parallel_for(std::size_t count, std::size_t grain, const Execution& execution,
                  const std::function<void(std::size_t, std::size_t, unsigned)>& body);

// How many workers `parallel_for` uses: threads, but not more than there are chunks, at least 1.
unsigned workers_for(std::size_t count, std::size_t grain, const Execution& execution);

}  // namespace fastrecall
