#include "gpuhist/version.hpp"

#include <string_view>

namespace gpuhist {

#define GPUHIST_TEXT(number) #number
#define GPUHIST_JOINED(major, minor, patch) GPUHIST_TEXT(major) "." GPUHIST_TEXT(minor) "." GPUHIST_TEXT(patch)
static_assert(std::string_view(GPUHIST_VERSION) ==
                  GPUHIST_JOINED(GPUHIST_VERSION_MAJOR, GPUHIST_VERSION_MINOR, GPUHIST_VERSION_PATCH),
              "the version's numbers are those of its text");

const char* version() noexcept {
    return GPUHIST_VERSION;
}

}  // namespace gpuhist
