/// Versions of the libraries that read and write files.
#pragma once

#include <string>
#include <vector>

namespace gpuhist::io {

struct LibraryVersion {
    std::string name, version;
};

/// Versions of the codecs: of the loaded libraries, or for libraries that cannot report it, of those at compile time.
std::vector<LibraryVersion> library_versions();

}  // namespace gpuhist::io
