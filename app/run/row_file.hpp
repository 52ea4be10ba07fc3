/// Files of rows, which grow while a run lasts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "gpuhist/io/checksum.hpp"
#include "run/output_directory.hpp"

namespace gpuhist::app {

/// What a checkpoint knows of a file that grows: its first bytes, and their checksum.
struct Extent {
    std::uint64_t bytes = 0, checksum = 0;
};

/// Text file that grows under a name of its own, NAME.partial, and gets its name when it is complete. A short one
/// appears at once.
class RowFile {
  public:
    explicit RowFile(std::filesystem::path path);
    ~RowFile();
    RowFile(const RowFile&) = delete;
    RowFile& operator=(const RowFile&) = delete;

    // The functions throw IoError.
    void append(const std::string& text);
    Extent extent() const { return {sums_.bytes(), sums_.value()}; }
    io::FileChecksums checksums() const { return sums_.all(); }
    std::string name() const { return path_.filename().string(); }
    const std::filesystem::path& partial() const { return partial_; }
    /// Brings to disk what was appended.
    void sync();
    /// Goes on after these bytes of an interrupted run, once they are checked.
    void resume(const Extent& extent);
    /// Lets it have its name when the directory's files get theirs.
    void complete(OutputDirectory& output);
    /// Checks the complete file of an interrupted run.
    void check_complete(const Extent& extent);
    /// Takes the name for this run, and keeps other runs from it.
    void begin();
    /// Removes what is there under the temporary name, which must be a run's. Throws IoError where another run is
    /// writing it.
    void discard();

  private:
    void go_to_end();
    void check(int file, const std::filesystem::path& path, const Extent& extent);
    void flush();

    std::filesystem::path path_, partial_;
    std::string buffer_;
    int file_ = -1;
    std::uint64_t written_ = 0;
    io::BlockChecksums sums_;  ///< of what was appended, written or not
};

}  // namespace gpuhist::app
