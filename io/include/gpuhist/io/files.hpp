/// Files read whole.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace gpuhist::io {

/// Reads the bytes of a regular file, or of a pipe that brings no more than `max_pipe_bytes`: 0 refuses pipes. Opening
/// a file waits for nobody. Throws IoError naming the path and the cause: missing, no permission, a directory or
/// device, empty, longer or shorter at the end than at the beginning.
std::vector<unsigned char> read_bytes(const std::filesystem::path& path, std::uint64_t max_pipe_bytes = 0);

}  // namespace gpuhist::io
