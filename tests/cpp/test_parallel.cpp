#include <atomic>
#include <initializer_list>
#include <stdexcept>
#include <thread>
#include <vector>

#include "check.hpp"
#include "fastrecall/error.hpp"
#include "fastrecall/parallel.hpp"

using namespace fastrecall;
using Sizes = std::initializer_list<std::size_t>;

TEST(every_index_is_visited_once) {
    for (const unsigned threads : {1U, 2U, 7U}) {
        for (const std::size_t count : Sizes{0, 1, 5, 100, 1001}) {
            for (const std::size_t grain : Sizes{1, 3, 1000}) {
                std::vector<std::atomic<int>> visits(count);
                const Execution execution{threads, {}};
                const unsigned workers = workers_for(count, grain, execution);
                std::vector<std::atomic<int>> busy(workers);
                parallel_for(count, grain, execution,
                             [&](std::size_t begin, std::size_t end, unsigned worker) {
                                 CHECK(worker < workers);
                                 CHECK(busy[worker].fetch_add(1) == 0);
                                 CHECK(end - begin <= grain && begin < end);
                                 for (std::size_t i = begin; i < end; ++i) ++visits[i];
                                 --busy[worker];
                             });
                for (const auto& visit : visits) CHECK(visit == 1);
            }
        }
    }
}

TEST(an_exception_stops_the_others_and_reaches_the_caller) {
    for (const unsigned threads : {1U, 4U}) {
        std::atomic<std::size_t> done{0};
        const auto failing = [&](std::size_t begin, std::size_t, unsigned) {
            if (begin == 10) throw std::out_of_range("ten");
            ++done;
        };
        CHECK_THROWS(parallel_for(1000000, 1, {threads, {}}, failing), std::out_of_range);
        CHECK(done < 1000000);
    }
}

TEST(an_interrupt_ends_the_call) {
    std::atomic<std::size_t> done{0};
    const Execution execution{2, [&] { return done > 3; }};
    CHECK_THROWS(
        parallel_for(100000000, 1, execution, [&](std::size_t, std::size_t, unsigned) { ++done; }),
        Interrupted);
    CHECK(done < 100000000);
}

TEST(many_callers_at_once) {
    std::vector<std::thread> callers;
    std::atomic<std::size_t> sum{0};
    for (int caller = 0; caller < 4; ++caller) {
        callers.emplace_back([&] {
            for (int round = 0; round < 10; ++round) {
                parallel_for(100, 7, {3, {}}, [&](std::size_t begin, std::size_t end, unsigned) {
                    sum += end - begin;
                });
            }
        });
    }
    for (std::thread& caller : callers) caller.join();
    CHECK(sum == 4 * 10 * 100);
}
