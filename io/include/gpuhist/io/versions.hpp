/// Versions of the libraries that read and write files.
#pragma once

#include <string>
#include <vector>

namespace gpuhist::io {

struct LibraryVersion {
    std::string name, version;
};

/// OpenCV and the codecs, as they are loaded now; of those that cannot say so, as they were compiled against.
std::vector<LibraryVersion> library_versions();

}  // namespace gpuhist::io
