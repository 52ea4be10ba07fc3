/// Files that are read whole, and files that only one process writes at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "gpuhist/error.hpp"

namespace gpuhist::io {

/// Reads the bytes of a regular file, or of a pipe with at most `max_pipe_bytes` bytes; 0 refuses pipes. Opening a file
/// never blocks. `unwritten` is called with the name of a named pipe that nobody has opened for writing within two
/// seconds. Throws IoError with the path and the cause: missing, no permission, a directory or a device, empty, or a
/// length that changed while the file was read.
std::vector<unsigned char> read_bytes(const std::filesystem::path& path, std::uint64_t max_pipe_bytes = 0,
                                      const std::function<void(const std::string&)>& unwritten = nullptr);

/// Opens a file of any kind for reading. For a named pipe, it waits until somebody has opened it for writing, and calls
/// `unwritten` as above. Returns a descriptor that the caller owns. Throws IoError.
int open_written(const std::filesystem::path& path, const std::function<void(const std::string&)>& unwritten = nullptr);

/// Reads the bytes of a regular file, which may be empty. Never waits for another process: a FIFO is refused. Throws
/// IoError.
std::string read_text(const std::filesystem::path& path);

/// Makes a name below a directory from a path: without the root, `.` and empty parts, and with `up` for `..`. Returns
/// an empty name if no part is left.
std::string name_below(const std::string& path);

/// Word for a kind of error: `missing`, `damaged`, …; `unreadable` for `other`.
const char* to_string(IoError::Kind kind);
/// Kind of error with this word; `other` for an unknown word.
IoError::Kind error_kind(const std::string& word);

/// File that another process is writing now.
class LockedError : public IoError {
    using IoError::IoError;
};

/// State of a file that `open_locked` expects.
enum class Opened : std::uint8_t { exists, may_exist, is_new };

/// Opens a regular file for reading and writing, and locks it: no other process can open it in this way until the
/// descriptor, which the caller owns, is closed. Returns −1 if the file should exist and does not. Refuses symbolic
/// links and files with several names. Throws IoError, and LockedError if another process has the file.
int open_locked(const std::filesystem::path& path, Opened opened);

}  // namespace gpuhist::io
