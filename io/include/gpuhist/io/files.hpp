/// Files read whole, and files that one process writes at a time.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "gpuhist/error.hpp"

namespace gpuhist::io {

/// Reads the bytes of a file. Throws IoError naming the path and the cause (missing, no permission, a directory,
/// empty).
std::vector<unsigned char> read_bytes(const std::filesystem::path& path);

/// Reads standard input to its end. Throws IoError where there is nothing.
std::vector<unsigned char> read_standard_input();

/// Reads the bytes of a regular file, which may be none. Waits for no other process: a FIFO is refused. Throws IoError.
std::string read_text(const std::filesystem::path& path);

/// File that another process is writing.
class LockedError : public IoError {
    using IoError::IoError;
};

/// Opens a regular file for reading and writing, which no other process gets so until the descriptor, the caller's, is
/// closed; −1 where there is none and none is to be made. Symbolic links are not followed. Throws IoError, LockedError
/// where another process has it.
int open_locked(const std::filesystem::path& path, bool make);

}  // namespace gpuhist::io
