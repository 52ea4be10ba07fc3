/// What comes of all inputs, in their order: rows, pools, and the journal of how far the run has come.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/console.hpp"
#include "run/checkpoint.hpp"
#include "run/image_task.hpp"

namespace gpuhist::app {

/// A text file that grows under a name of its own, NAME.partial, and gets its name when it is complete. A short one
/// appears at once.
class RowFile {
  public:
    explicit RowFile(std::filesystem::path path);
    ~RowFile();
    RowFile(const RowFile&) = delete;
    RowFile& operator=(const RowFile&) = delete;

    // All throw IoError.
    void append(const std::string& text);
    std::uint64_t bytes() const { return written_ + buffer_.size(); }
    const std::filesystem::path& partial() const { return partial_; }
    /// All that was appended is on disk afterwards.
    void sync();
    /// Goes on after so many bytes of an interrupted run.
    void resume(std::uint64_t bytes);
    void complete();
    /// Takes the name for this run, and keeps other runs from it.
    void begin();
    /// What is there under the temporary name is removed. Throws IoError where another run is writing it.
    void discard();

  private:
    void open();
    void flush();

    std::filesystem::path path_, partial_;
    std::string buffer_;
    int file_ = -1;
    std::uint64_t written_ = 0;
};

/// A hash of all paths so far, in their order.
class PathsHash {
  public:
    void add(const std::string& path);
    std::string text() const;

  private:
    std::uint64_t high_ = 0xcbf29ce484222325u, low_ = 0x84222325cbf29ce4u;
};

class Results {
  public:
    Results(const Options& options, Console& console, bool single);

    /// Looks for an interrupted run. With --resume takes up where it was, and returns the number of inputs that are
    /// done; otherwise clears it away, with a note. Throws UsageError where it was another run, IoError.
    std::uint64_t begin();
    /// 1, or 2 where the first was done before.
    int pass() const { return journal_.pass; }
    /// All inputs are measured, and are now gone through again. Throws IoError.
    void begin_second_pass();
    /// Whether the first pass found nothing in this input. Asked in the order of the inputs.
    bool is_bad(const Input& input);
    /// What normalises the whole set. Throws InvalidArgument.
    std::vector<LutSet> tables() const;
    /// Takes note of an input that was done before. Throws UsageError, at the last of them, where they are others now.
    void skip(const Input& input);
    /// All was done but for the names of the files.
    bool only_to_finish() const { return complete_; }

    /// Whether images are to be added up.
    bool pooled() const { return pooled_; }
    /// Where the counts of their values are to lie.
    const std::shared_ptr<io::FrequencyFile>& values() const { return values_; }
    /// The next input's. Throws IoError where a file cannot be written: nothing since the last checkpoint then counts.
    void record(Outcome& outcome);
    /// `checkpoint`, if it is time for one. To be called where what was recorded ends with pools.
    void checkpoint_now_and_then();
    /// Makes sure that what was recorded is on disk, and says so in the journal. Throws IoError.
    void checkpoint();
    /// Gives the files their names. Throws IoError.
    void finish();

    /// Whether --resume can go on from here.
    bool resumable() const { return journal_saved_; }
    std::uint64_t failed() const;  ///< inputs
    const std::map<std::string, std::uint64_t>& errors() const { return journal_.errors; }
    std::uint64_t inputs() const { return journal_.inputs; }
    std::uint64_t images() const { return journal_.images; }
    std::uint64_t images_now() const { return images_; }  ///< measured by this run alone
    std::uint64_t pixels() const { return pixels_; }      ///< of these

  private:
    void keep_values();
    void begin_files();
    void add_error(const Input& input, const Failure& failure);
    void add_image(Outcome& outcome);
    void add_to_pool(io::Group& group);
    void settle_pools();
    void print(const std::string& text);
    void finish_rows(RowFile& file, const char* name, std::uint64_t bytes);
    void finish_part();
    void finish_dataset();
    void print_set();

    const Options& options_;
    Console& console_;
    const bool journaled_;  ///< more than one input, and something to write
    const bool stats_wanted_;
    const bool table_wanted_;  ///< of the whole set, where it comes from directories or lists
    const bool pooled_;
    const bool sharded_;
    const bool linked_;  ///< there are two passes
    std::filesystem::path journal_path_;
    RowFile rows_;    ///< stats.csv, or all rows of a part
    RowFile errors_;  ///< errors.csv, which a part has none of
    RowFile bad_;     ///< the indices of those that a second pass leaves out, a line each
    std::ifstream bad_lines_;
    std::optional<std::uint64_t> next_bad_;
    const std::shared_ptr<io::FrequencyFile> values_;
    Checkpoint journal_;
    /// Of each group the latest f32 images. They are merged many at a time, on all threads: merging one with all values
    /// of the set takes a millisecond or more.
    std::map<std::string, std::vector<Summary>> latest_;
    std::optional<io::SetNumbers> numbers_;  ///< of the whole set, once it has been written
    std::size_t latest_bytes_ = 0;
    PathsHash hash_;
    std::string expected_hash_;  ///< of the inputs to be skipped
    std::uint64_t skipped_ = 0, to_skip_ = 0, images_ = 0, pixels_ = 0;
    bool in_doubt_ = false;  ///< an input is recorded in part, or pools are merged in part
    bool begun_ = false, complete_ = false, journal_saved_ = false, printed_ = false, from_directory_ = false;
    std::vector<std::string> written_;
    std::chrono::steady_clock::time_point last_checkpoint_;
    std::chrono::steady_clock::duration pause_;
};

/// A run that is not begun because its options do not go with what is there.
class UsageError : public Error {
    using Error::Error;
};

}  // namespace gpuhist::app
