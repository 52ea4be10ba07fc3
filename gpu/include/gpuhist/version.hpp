/// Version of gpuhist. Macros have that of the headers, a function has that of the linked library. CMake and the Python
/// package read GPUHIST_VERSION here.
#pragma once

#define GPUHIST_VERSION "0.3.0"
#define GPUHIST_VERSION_MAJOR 0
#define GPUHIST_VERSION_MINOR 3
#define GPUHIST_VERSION_PATCH 0

namespace gpuhist {

/// Version of the linked library: the value of GPUHIST_VERSION when it was compiled. The text is static.
const char* version() noexcept;

}  // namespace gpuhist
