/// Files read whole.
#pragma once

#include <filesystem>
#include <vector>

namespace gpuhist::io {

/// Reads the bytes of a file. Throws IoError naming the path and the cause (missing, no permission, a directory,
/// empty).
std::vector<unsigned char> read_bytes(const std::filesystem::path& path);

/// Reads standard input to its end. Throws IoError where there is nothing.
std::vector<unsigned char> read_standard_input();

}  // namespace gpuhist::io
