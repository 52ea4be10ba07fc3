// Files read whole, once there is memory for them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "gpuhist/io/files.hpp"

namespace gpuhist::io {

/// `admit` is called with the bytes that the file needs, before memory is taken.
std::vector<unsigned char> read_bytes(const std::filesystem::path& path,
                                      const std::function<void(std::uint64_t)>& admit);

}  // namespace gpuhist::io
