#include <cstdio>
#include <exception>

#include "check.hpp"

int main() {
    int failures = 0;
    for (const check::Case& test : check::cases()) {
        try {
            test.body();
            std::printf("ok      %s\n", test.name.c_str());
        } catch (const std::exception& error) {
            std::printf("FAILED  %s: %s\n", test.name.c_str(), error.what());
            ++failures;
        }
    }
    std::printf("%zu cases, %d failed\n", check::cases().size(), failures);
    return failures == 0 ? 0 : 1;
}
