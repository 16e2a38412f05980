#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "fastrecall/cpu.hpp"
#include "fastrecall/error.hpp"
#include "fastrecall/kernels.hpp"

namespace fastrecall {

#define FASTRECALL_ISA(name)    \
    namespace name {            \
    extern const Kernels table; \
    }
#include "isa_list.inc"
#undef FASTRECALL_ISA

namespace {

// Best first.
const Kernels* const compiled[] = {
#define FASTRECALL_ISA(name) &name::table,
#include "isa_list.inc"
#undef FASTRECALL_ISA
};

std::string join(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
    return text;
}

const Kernels& choose() {
    const char* forced = std::getenv("FASTRECALL_ISA");
    const bool automatic = forced == nullptr || *forced == '\0';
    for (const Kernels* table : compiled) {
        if ((automatic || std::string(forced) == table->isa) && cpu_runs(table->isa)) {
            return *table;
        }
    }
    const std::string name = forced == nullptr ? "" : forced;
    const std::vector<std::string> built = compiled_isas();
    const bool known = std::find(built.begin(), built.end(), name) != built.end();
    throw InputError("FASTRECALL_ISA is '" + name + "', which " +
                     (known ? "this CPU cannot run" : "is not an instruction set of this build") +
                     "; this CPU can run: " + join(available_isas()) +
                     " (compiled in: " + join(built) + "); unset it to use the best");
}

}  // namespace

std::vector<std::string> compiled_isas() {
    std::vector<std::string> names;
    for (const Kernels* table : compiled) names.emplace_back(table->isa);
    return names;
}

std::vector<std::string> available_isas() {
    std::vector<std::string> names;
    for (const Kernels* table : compiled) {
        if (cpu_runs(table->isa)) names.emplace_back(table->isa);
    }
    return names;
}

const Kernels* kernels_named(const char* isa) {
    for (const Kernels* table : compiled) {
        if (std::string(isa) == table->isa && cpu_runs(isa)) return table;
    }
    return nullptr;
}

const Kernels& kernels() {
    static const Kernels& chosen = choose();
    return chosen;
}

}  // namespace fastrecall
