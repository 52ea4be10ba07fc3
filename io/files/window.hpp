// Windows on files: only the needed parts are read.
#pragma once

#include <sys/stat.h>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "decode/bytes.hpp"

namespace gpuhist::io {

/// Time when a file was modified last, in nanoseconds since 1970.
std::uint64_t modified_at(const struct stat& status);

/// Regular file as bytes, which are read by blocks, each when it is first looked at. The memory is of this process
/// alone, so that a file that becomes shorter is an error and no signal. One thread makes, uses and destroys it, except
/// for `read`.
class FileWindow {
  public:
    /// Opens a window on a file. The caller keeps `descriptor`. `name` is for messages. Throws IoError.
    FileWindow(int descriptor, std::string name);
    ~FileWindow();
    FileWindow(const FileWindow&) = delete;
    FileWindow& operator=(const FileWindow&) = delete;

    std::uint64_t size() const { return size_; }
    std::uint64_t modified() const;  ///< nanoseconds since 1970
    Bytes bytes() { return {memory_, size_, this}; }
    /// Most bytes that `let_go` leaves in memory.
    static constexpr std::uint64_t kept = std::uint64_t{4} << 20;

    void load(std::uint64_t offset, std::uint64_t count);
    void let_go();
    /// Reads bytes of the file, which are not held. Safe to call from several threads.
    void read(std::uint64_t offset, std::uint64_t count, unsigned char* to);
    /// Throws IoError where reading failed, whose bytes then were zeros, or where the file was changed since it was
    /// opened.
    void check() const;

  private:
    int descriptor_;
    std::string name_;
    struct stat status_ {};
    unsigned char* memory_ = nullptr;  ///< where blocks that are not there yet have any contents
    bool kept_ = false;                ///< by the thread, for its next window
    std::size_t size_ = 0;
    std::vector<bool> there_;    ///< each block
    std::uint64_t held_ = 0;     ///< bytes
    std::atomic<int> error_{0};  ///< errno of a read that failed
};

}  // namespace gpuhist::io
