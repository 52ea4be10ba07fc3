/// Files read whole, and files that one process writes at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "gpuhist/error.hpp"

namespace gpuhist::io {

/// Reads the bytes of a regular file, or of a pipe that brings no more than `max_pipe_bytes`: 0 refuses pipes. Opening
/// a file waits for nobody. Throws IoError naming the path and the cause: missing, no permission, a directory or
/// device, empty, longer or shorter at the end than at the beginning.
std::vector<unsigned char> read_bytes(const std::filesystem::path& path, std::uint64_t max_pipe_bytes = 0);

/// Reads the bytes of a regular file, which may be none. Waits for no other process: a FIFO is refused. Throws IoError.
std::string read_text(const std::filesystem::path& path);

/// Makes of a path a name below a directory: without root, `.` and empty parts, and with `up` for `..`. Empty where
/// nothing is left.
std::string name_below(const std::string& path);

/// Word for a kind of error: `missing`, `damaged`, …; `unreadable` for `other`.
const char* to_string(IoError::Kind kind);
/// Kind of that word; of one that is not known `other`.
IoError::Kind error_kind(const std::string& word);

/// File that another process is writing.
class LockedError : public IoError {
    using IoError::IoError;
};

/// What is to be there before a file is opened.
enum class Opened : std::uint8_t { exists, may_exist, is_new };

/// Opens a regular file for reading and writing, which no other process gets so until the descriptor, the caller's, is
/// closed; −1 where it was to exist and does not. Links are not followed, be they symbolic or other names of a file.
/// Throws IoError, LockedError where another process has it.
int open_locked(const std::filesystem::path& path, Opened opened);

}  // namespace gpuhist::io
