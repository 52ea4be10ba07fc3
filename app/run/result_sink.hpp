/// Results of all inputs, in their order: rows, summaries, and the checkpoint of how far the run has come.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/console.hpp"
#include "gpuhist/lut.hpp"
#include "run/checkpoint.hpp"
#include "run/first_pass.hpp"
#include "run/image_flags.hpp"
#include "run/one_table.hpp"
#include "run/outcome.hpp"
#include "run/output_directory.hpp"
#include "run/printed_tail.hpp"
#include "run/row_file.hpp"
#include "run/run_state.hpp"
#include "run/set_summary.hpp"
#include "run/set_table.hpp"

namespace gpuhist::app {

/// Recorder of outcomes.
class Results {
  public:
    /// Groups' summaries take up to `group_bytes` of memory.
    Results(const Options& options, const Sinks& sinks, Console& console, OutputDirectory& output, bool single,
            std::uint64_t group_bytes);

    /// Checks that no foreign file has the name of a file that will be written. Throws IoError.
    void reserve_names();
    /// Looks for an interrupted run. With --resume, continues it and returns the number of finished inputs; otherwise
    /// removes it, with a note. Throws UsageError if it was a different run, and IoError.
    std::uint64_t begin();
    /// The pass that the run is in: 1, or 2 where the first was done before.
    int pass() const { return checkpoint_.pass; }
    /// Begins the second pass over the inputs, which are all measured. Throws IoError.
    void begin_second_pass();
    /// Compares an input of the second pass with the findings of the first: it is left out if it failed there, fails if
    /// it was missing there, and inputs before it that have disappeared are reported. Call it in the order of the
    /// inputs. Throws IoError.
    void look_back(Outcome& outcome);
    /// LUTs that normalize the whole set. Throws InvalidArgument.
    std::vector<LutSet> luts() const;
    /// Takes note of an input that was done before. Throws UsageError, at the last of them, where they are others now,
    /// or files were replaced. Returns false, at the last, where something else of them is not as it was: all is then
    /// to be measured anew.
    bool skip(const Input& input);
    /// Forgets the interrupted run, to measure all anew. Throws IoError.
    void begin_anew();
    /// Returns whether everything is done except the names of the files.
    bool only_to_finish() const { return complete_; }

    /// Returns whether a finished run is there that has these options, so that only the inputs are to be compared.
    bool finished() const { return !finished_.empty(); }
    /// Takes note of an input, for that.
    void compare(const Input& input) { count(input); }
    /// Returns whether these are all inputs of the finished run as they were; says so. If not, forgets that run.
    bool settle_finished();

    /// Tells whether inputs want their stamps.
    bool stamped() const { return journaled_; }

    /// Tells whether images are to be added up.
    bool summed() const { return summed_; }
    /// The file in which the counts of their values are to lie.
    const std::shared_ptr<io::FrequencyFile>& values() const { return values_; }
    /// Records the next input. Throws IoError where a file cannot be written: nothing since the last checkpoint then
    /// counts; UsageError, nothing being recorded, for an image that the options do not go with.
    void record(Outcome& outcome);
    /// Calls `checkpoint` if it is time for one. Call it when the summaries include all recorded inputs.
    void checkpoint_now_and_then();
    /// Brings everything that was recorded to disk, and writes a checkpoint. Throws IoError.
    void checkpoint();
    /// Gives the files their names. Throws IoError.
    void finish();
    /// Removes state that cannot be resumed. Throws IoError.
    void abandon();

    /// Returns whether --resume can continue from here.
    bool resumable() const { return checkpoint_saved_; }
    std::uint64_t failed() const;  ///< inputs
    const std::map<std::string, std::uint64_t>& errors() const { return checkpoint_.errors; }
    std::uint64_t inputs() const { return checkpoint_.inputs; }
    std::uint64_t own_inputs() const { return own_; }  ///< of this shard
    std::uint64_t images() const { return checkpoint_.images; }
    std::uint64_t images_now() const { return images_; }  ///< measured by this run alone
    std::uint64_t pixels() const { return pixels_; }      ///< of these

  private:
    std::vector<std::string> table_names() const;
    std::string list_name() const;
    void check_files(const Input& input) const;
    std::vector<std::string> working_names();
    bool keeps_counts() const;
    bool keeps_thumbnails() const;
    std::vector<RowFile*> growing();
    void append(Formatted formatted);
    void add_rows(Formatted rows);
    io::FileWriter writer();
    void keep_values();
    void begin_files();
    Checkpoint first_checkpoint() const;
    void note_anew(const std::string& what) const;
    void count(const Input& input);
    void forget_inputs();
    bool may_be_listed() const;
    std::string options_checksum() const;
    void list_finished();
    bool look_for_finished();
    void count_all();
    void add_error(const Input& input, const Failure& failure);
    void add_gone(std::uint64_t index, const std::vector<std::string>& paths);
    void remark(const Outcome& outcome);
    void say_notes();
    void add_image(Outcome& outcome);
    void print(const std::string& text);
    std::optional<Checkpoint::Output> printed_place() const;
    void add_to_stack(const Input& input);
    void finish_stacks();
    void finish_stack(const Checkpoint::Stack& stack);
    void finish_rows(RowFile& file);
    void finish_shard();
    void write_flags();
    void stage_thumbnails(const std::string& name, const FlagFinder& flags);
    void stage_thumbnails_of_shard();
    void finish_dataset();
    void print_set();

    const Options& options_;
    const Sinks& sinks_;
    Console& console_;
    OutputDirectory& output_;
    const bool single_;     ///< there is one input
    const bool journaled_;  ///< more than one input, and something to write
    const bool stats_wanted_;
    const bool table_wanted_;  ///< of the whole set, where it comes from directories or lists
    const bool summed_;
    const bool sharded_;
    const bool linked_;  ///< there are two passes
    std::filesystem::path checkpoint_path_;
    std::deque<RowFile> rows_;  ///< of `sinks_`
    FirstPass first_pass_;
    const std::shared_ptr<io::FrequencyFile> values_;
    const std::uint64_t group_bytes_;
    Checkpoint checkpoint_;
    SetSummary summary_{checkpoint_.shard};
    std::optional<io::SetNumbers> numbers_;  ///< of the whole set, once it has been written
    GroupRows groups_;                       ///< as far as they have been written
    std::string flags_;                      ///< what the terminal shows of them
    OneTable one_table_;
    PathsHash hash_;        ///< of all inputs
    PathsHash files_hash_;  ///< of their files, which all shards know, while pages are known of their own alone
    std::uint64_t files_ = 0, own_ = 0;
    std::optional<std::uint64_t> last_file_;
    StampsHash stamps_, beside_;
    std::string expected_hash_, expected_stamps_, expected_beside_;  ///< of the inputs to be skipped
    std::string finished_;  ///< checksum of the inputs of the finished run that is there; else empty
    std::string changed_;   ///< the first of them that was changed after the checkpoint
    PrintedTail printed_tail_;
    std::uint64_t skipped_ = 0, to_skip_ = 0, images_ = 0, pixels_ = 0;
    bool in_doubt_ = false;  ///< an input is recorded in part
    bool begun_ = false, complete_ = false, checkpoint_saved_ = false, printed_ = false, from_directory_ = false;
    std::vector<std::string> written_;
    std::chrono::steady_clock::time_point last_checkpoint_;
    std::chrono::steady_clock::duration pause_;
};

}  // namespace gpuhist::app
