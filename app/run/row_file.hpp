/// Files of rows, which grow while a run lasts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <istream>
#include <memory>
#include <string>

#include "gpuhist/io/checksum.hpp"
#include "run/output_directory.hpp"

namespace gpuhist::app {

/// Text file that grows under a name of its own, NAME.partial, and gets its name when it is complete. A short one
/// appears at once.
class RowFile {
  public:
    RowFile(OutputDirectory& output, const std::string& name);
    ~RowFile();
    RowFile(const RowFile&) = delete;
    RowFile& operator=(const RowFile&) = delete;

    // The functions throw IoError.
    void append(const std::string& text);
    Extent extent() const { return {sums_.bytes(), sums_.value()}; }
    io::FileChecksums checksums() const { return sums_.all(); }
    std::string name() const { return path_.filename().string(); }
    const std::filesystem::path& partial() const { return partial_; }
    /// Reader of all rows so far, or of the complete file of an interrupted run.
    std::unique_ptr<std::istream> read();
    /// Brings to disk what was appended.
    void sync();
    /// Continues after these bytes of an interrupted run, once they are checked.
    void resume(const Extent& extent);
    /// Lets it have its name when the directory's files get theirs.
    void complete();
    /// Checks the complete file of an interrupted run.
    void check_complete(const Extent& extent);
    /// Takes the name for this run in the directory, which is made, and keeps other runs from it.
    void begin();
    /// Removes the file with the temporary name, which an earlier run left, and starts a new one. Throws IoError if
    /// another run is writing it.
    void discard();

  private:
    void go_to_end();
    void check(int file, const std::filesystem::path& path, const Extent& extent);
    void flush();

    OutputDirectory& output_;
    std::filesystem::path path_, partial_;
    std::string buffer_;
    int file_ = -1;
    std::uint64_t written_ = 0;
    io::BlockChecksums sums_;  ///< of what was appended, written or not
};

}  // namespace gpuhist::app
