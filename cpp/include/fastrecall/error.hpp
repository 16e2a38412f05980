// The failures that the engine expects. The bindings turn them into Python's.
#pragma once

#include <stdexcept>
#include <string>

namespace fastrecall {

// What the caller gave cannot be used. The message is one sentence: where, what came, what was
// expected, what to do. Arrives in Python as `fastrecall.errors.InputError`.
class InputError : public std::invalid_argument {
  public:
    using std::invalid_argument::invalid_argument;
};

// The caller asked to stop (Ctrl-C) while a long call was running; the reason itself is known to
// whoever gave the interrupt check.
class Interrupted : public std::runtime_error {
  public:
    Interrupted() : std::runtime_error("interrupted") {}
};

}  // namespace fastrecall
