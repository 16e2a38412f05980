// What this CPU (and its operating system) can run.
#pragma once

#include <string>
#include <vector>

namespace fastrecall {

// True when the named instruction set can run here; unknown names cannot.
bool cpu_runs(const std::string& isa);

// Names of the instruction sets compiled in, best first.
std::vector<std::string> compiled_isas();

// Those of them that can run here, best first.
std::vector<std::string> available_isas();

}  // namespace fastrecall
