/// Files of rows, which grow while a run lasts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "run/output_directory.hpp"

namespace gpuhist::app {

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
    std::uint64_t bytes() const { return written_ + buffer_.size(); }
    const std::filesystem::path& partial() const { return partial_; }
    /// Brings to disk what was appended.
    void sync();
    /// Goes on after the first `bytes` of an interrupted run.
    void resume(std::uint64_t bytes);
    /// Lets it have its name when the directory's files get theirs.
    void complete(OutputDirectory& output);
    /// Takes the name for this run, and keeps other runs from it.
    void begin();
    /// Removes what is there under the temporary name, which must be a run's. Throws IoError where another run is
    /// writing it.
    void discard();

  private:
    void open(bool resumed);
    void flush();

    std::filesystem::path path_, partial_;
    std::string buffer_;
    int file_ = -1;
    std::uint64_t written_ = 0;
};

}  // namespace gpuhist::app
