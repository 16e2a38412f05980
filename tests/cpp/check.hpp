// The whole test framework: cases register themselves, CHECK throws with the place.
#pragma once

#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace check {

struct Case {
    std::string name;
    std::function<void()> body;
};

inline std::vector<Case>& cases() {
    static std::vector<Case> all;
    return all;
}

struct Register {
    Register(const char* name, std::function<void()> body) {
        cases().push_back({name, std::move(body)});
    }
};

[[noreturn]] inline void fail(const char* file, int line, const std::string& what) {
    std::ostringstream message;
    message << file << ":" << line << ": " << what;
    throw std::runtime_error(message.str());
}

}  // namespace check

#define TEST(name)                                             \
    static void name();                                        \
    static const check::Register register_##name(#name, name); \
    static void name()

#define CHECK(condition)                                               \
    do {                                                               \
        if (!(condition)) check::fail(__FILE__, __LINE__, #condition); \
    } while (false)

#define CHECK_THROWS(statement, Exception)                                              \
    do {                                                                                \
        bool thrown = false;                                                            \
        try {                                                                           \
            statement;                                                                  \
        } catch (const Exception&) {                                                    \
            thrown = true;                                                              \
        }                                                                               \
        if (!thrown) check::fail(__FILE__, __LINE__, #statement " throws " #Exception); \
    } while (false)
