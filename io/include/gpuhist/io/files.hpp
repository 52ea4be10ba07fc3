/// Files read whole.
#pragma once

#include <filesystem>
#include <vector>

namespace gpuhist::io {

/// Reads the bytes of a regular file, or of a link to one; opening it waits for nobody. Throws IoError naming the path
/// and the cause: missing, no permission, a directory, pipe or device, empty, longer or shorter at the end than at the
/// beginning.
std::vector<unsigned char> read_bytes(const std::filesystem::path& path);

}  // namespace gpuhist::io
