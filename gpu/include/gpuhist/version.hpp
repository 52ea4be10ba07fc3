/// Version of gpuhist: of the headers by macros, of the linked library by a function. CMake and the Python package read
/// GPUHIST_VERSION here.
#pragma once

#define GPUHIST_VERSION "0.3.0"
#define GPUHIST_VERSION_MAJOR 0
#define GPUHIST_VERSION_MINOR 3
#define GPUHIST_VERSION_PATCH 0

namespace gpuhist {

/// Version of the linked library: GPUHIST_VERSION when it was compiled.
const char* version() noexcept;

}  // namespace gpuhist
