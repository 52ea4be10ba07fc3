#include "commands/licenses.hpp"

#include <string>

#include "cli/console.hpp"
#include "run/exit_code.hpp"

namespace gpuhist::app {

extern const char licenses_text[];  // the texts, made into an array by CMake

int show_licenses() {
    Console console(true);
    console.print(licenses_text);
    return console.failed() ? output_failed : all_done;
}

}  // namespace gpuhist::app
