#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "check.hpp"
#include "fastrecall/access.hpp"
#include "fastrecall/error.hpp"

#if !defined(_WIN32)
#include <sys/wait.h>
#include <unistd.h>
#endif

using namespace fastrecall;

TEST(writers_are_alone_and_readers_are_not) {
    Access access;
    std::atomic<int> readers{0}, writers{0}, most{0};
    std::vector<std::thread> threads;
    int value = 0;  // what the lock guards
    for (int thread = 0; thread < 4; ++thread) {
        threads.emplace_back([&, thread] {
            for (int round = 0; round < 300; ++round) {
                if ((round + thread) % 4 == 0) {
                    const Access::Writing writing(access);
                    CHECK(writers.fetch_add(1) == 0 && readers == 0);
                    ++value;
                    --writers;
                } else {
                    const Access::Reading reading(access);
                    const int now = ++readers;
                    CHECK(writers == 0 && value >= 0);
                    if (now > most) most = now;
                    if (round % 50 == 0) {
                        std::this_thread::sleep_for(std::chrono::milliseconds(1));
                    }
                    --readers;
                }
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(value == 4 * 75);
    CHECK(most > 1);
}

TEST(nobody_starves) {
    for (const bool many_read : {true, false}) {
        Access access;
        std::atomic<bool> done{false};
        std::vector<std::thread> crowd;
        for (int thread = 0; thread < 3; ++thread) {
            crowd.emplace_back([&] {
                while (!done) {
                    const auto stay = [] {
                        std::this_thread::sleep_for(std::chrono::microseconds(300));
                    };
                    if (many_read) {
                        const Access::Reading reading(access);
                        stay();
                    } else {
                        const Access::Writing writing(access);
                        stay();
                    }
                }
            });
        }
        for (int round = 0; round < 20; ++round) {  // or this test never ends
            if (many_read) {
                const Access::Writing writing(access);
            } else {
                const Access::Reading reading(access);
            }
        }
        done = true;
        for (std::thread& thread : crowd) thread.join();
    }
}

TEST(who_waits_can_be_interrupted) {
    Access access;
    const Execution impatient{1, [] { return true; }};
    {
        const Access::Writing writing(access);
        CHECK_THROWS(Access::Reading(access, impatient), Interrupted);
        CHECK_THROWS(Access::Writing(access, impatient), Interrupted);
    }
    {
        const Access::Reading reading(access);
        CHECK_THROWS(Access::Writing(access, impatient), Interrupted);
        const Access::Reading another(access);  // the writer that gave up holds nobody back
    }
    const Access::Writing writing(access);
}

#if !defined(_WIN32)
namespace {

// Whether `body` returned true in a forked child.
template <class Body>
bool in_child(Body body) {
    const pid_t child = fork();
    if (child == 0) {
        bool fine = false;
        try {
            fine = body();
        } catch (...) {
        }
        _exit(fine ? 0 : 1);
    }
    int status = 0;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

TEST(a_forked_child_finds_the_lock_free) {
    Access access;
    std::atomic<bool> inside{false}, leave{false};
    std::thread reader([&] {
        const Access::Reading reading(access);
        inside = true;
        while (!leave) std::this_thread::yield();
    });
    while (!inside) std::this_thread::yield();
    CHECK(in_child([&] {
        const Access::Writing writing(access);
        return true;
    }));
    leave = true;
    reader.join();
    const Access::Writing writing(access);
}

TEST(a_forked_child_refuses_what_was_half_changed) {
    Access access;
    std::atomic<bool> inside{false}, leave{false};
    std::thread writer([&] {
        const Access::Writing writing(access);
        inside = true;
        while (!leave) std::this_thread::yield();
    });
    while (!inside) std::this_thread::yield();
    CHECK(in_child([&] {
        try {
            const Access::Reading reading(access);
        } catch (const InputError&) {
            return true;
        }
        return false;
    }));
    leave = true;
    writer.join();
    const Access::Reading reading(access);
}
#endif
