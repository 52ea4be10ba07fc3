// Files that are read whole, once there is memory for them and their first bytes are accepted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "gpuhist/io/files.hpp"

namespace gpuhist::io {

/// Bytes at the beginning of a file that are read before the rest.
inline constexpr std::size_t first_bytes = 4096;

/// Options for reading a file. Exceptions of its functions are passed on.
struct Reading {
    /// Function called before memory is taken, with the bytes that the file needs; for a pipe, whenever it needs more.
    std::function<void(std::uint64_t)> admit;
    /// Function called with the first bytes of a file that is longer, before the rest is read.
    std::function<void(const std::vector<unsigned char>&)> look;
    std::uint64_t max_pipe_bytes = 0;     ///< a pipe that brings more is refused; 0: all are
    std::function<void()> while_reading;  ///< called again and again while a pipe is read, at least every 50 ms
    /// Function called once with the name of a pipe that nobody has opened for writing within two seconds.
    std::function<void(const std::string&)> unwritten;
};

/// Reads a regular file, or a named pipe where these are wanted.
std::vector<unsigned char> read_bytes(const std::filesystem::path& path, const Reading& how);

/// Opens a file to be read so, without waiting for anybody. Returns a descriptor, which is the caller's. Throws
/// IoError.
int open_input(const std::filesystem::path& path, const std::string& name);
/// Reads an open file as `read_bytes` does, from its beginning.
std::vector<unsigned char> read_opened(int descriptor, const std::string& name, const Reading& how);

/// Reads an open file of any kind like a pipe, from its present place to its end.
std::vector<unsigned char> read_pipe(int descriptor, const std::string& name, const Reading& how);

}  // namespace gpuhist::io
