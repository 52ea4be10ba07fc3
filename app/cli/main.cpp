/// The program `gpuhist`.
#include <cstdlib>

#include "cli/command.hpp"

int main(int argc, char** argv) {
    // All files are written. Unloading the libraries behind OpenCV in an orderly way would take time, and to
    // flush all streams would wait for one that a thread is reading a list from.
    std::_Exit(gpuhist::app::run_command(argc, argv));
}
