// Regular files, opened without waiting: a FIFO of the same name would wait for its writer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "files/descriptor.hpp"

namespace gpuhist::io {

/// Words for other than regular files, by their mode.
const char* kind_of(unsigned mode);

/// Opens a regular file for reading. Returns a descriptor, which is the caller's. Throws IoError.
int open_regular(const std::filesystem::path& path);

/// Reads at a place until `bytes` are there or the file ends. Returns how many there are. Throws IoError.
std::size_t read_at(int file, void* to, std::size_t bytes, std::uint64_t place, const std::string& name);

/// Tells whether two regular files hold the same bytes, or neither is there. Throws IoError.
bool same_bytes(const std::filesystem::path& a, const std::filesystem::path& b);

}  // namespace gpuhist::io
