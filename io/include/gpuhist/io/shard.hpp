/// Shards: the parts of a run that several processes share, their files, and the merge into one result.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpuhist/io/checksum.hpp"
#include "gpuhist/io/dataset.hpp"
#include "gpuhist/io/groups.hpp"
#include "gpuhist/io/notes.hpp"
#include "gpuhist/io/sink.hpp"

namespace gpuhist::io {

/// Lines of a manifest, counted from 0: from `first` up to, but without, `end`.
struct LineRange {
    std::uint64_t first = 0, end = 0;
    friend bool operator==(const LineRange& a, const LineRange& b) { return a.first == b.first && a.end == b.end; }
};

/// Identity of a shard. Shard K of N has the inputs whose index i, counted from 0 over all inputs, is K − 1 modulo N. A
/// shard of a manifest has consecutive lines.
struct ShardId {
    std::uint64_t number = 1, count = 1;  ///< K, N
    std::optional<LineRange> lines;       ///< lines of a manifest; absent without one

    bool has(std::uint64_t index) const {
        return lines ? lines->first <= index && index < lines->end : index % count == number - 1;
    }
    /// Number of inputs of the shard among the first `inputs` that are listed. A shard of a manifest only lists its
    /// own.
    std::uint64_t own(std::uint64_t inputs) const { return lines ? inputs : (inputs + count - number) / count; }
};

/// Results of a shard. Options, numbers, histogram and plots must be the same in all shards of a run.
struct Shard {
    ShardId id;
    std::uint64_t inputs = 0;  ///< number of inputs of all shards together
    std::string inputs_hash;   ///< hash of the paths of all inputs; for a manifest, its checksum
    RowCounts rows;            ///< number of rows in the rows file, for each table that the run writes
    FileChecksums rows_file;   ///< length and checksums of the rows file
    std::map<std::string, std::string> options;  ///< everything that changes results, including versions
    Percentiles percentiles;                     ///< percentiles that have a column
    std::optional<double> clip_sigma{};          ///< as in StatisticsRequest
    HistogramOptions histogram;                  ///< histogram of dataset.json
    PlotRequest plots;                           ///< pictures of the set
    std::vector<Group> groups;                   ///< in byte order, "" first
    StoredGroups stored;                         ///< further groups, in the frequency file
    Notes notes;                                 ///< on its inputs

    /// Numbers that have columns.
    StatisticsRequest asked() const { return {percentiles, clip_sigma}; }
    std::uint64_t rows_of(ColumnFile table) const {
        const auto found = rows.find(table);
        return found == rows.end() ? 0 : found->second;
    }
};

/// Returns whether the results are those of a set: of several inputs, or of several pages if pages are measured (the
/// option `--pages`). `whole` is the summary of all inputs, and `errors` is the number of those that failed.
bool is_set(const Shard& shard, const Summary& whole, std::uint64_t errors);

/// Returns whether the groups are regions (the option `--group-by`). There may be many; they may overlap, and leave
/// pixels out.
bool groups_are_regions(const Shard& shard);
/// Whether groups have plots: regions and keys have none, because they may be many.
bool groups_have_plots(const Shard& shard);

/// Names of the files of a shard: `part-K-of-N.json`, `part-K-of-N.stats.csv`, and the frequency file
/// `part-K-of-N.values` if there are stored groups or runs of values that are too long for the first.
std::string shard_file_name(ShardId id);
std::string shard_rows_file_name(ShardId id);
std::string shard_frequency_file_name(ShardId id);

/// Text of a shard: one line of JSON with its checksum. It has those of the stored groups that are in the storage.
/// `file` has these groups, and the runs of values that are not in memory.
std::string shard_json(const Shard& shard, const FrequencyFile* file = nullptr);

/// Reads the text of a shard. `name` is for messages. Throws IoError with the name and the place if it is not a text of
/// `shard_json`, and for the format of another version.
Shard parse_shard(std::string_view json, const std::string& name, const FrequencyFiles& files = {});

/// Writes the frequency file, whose name no file may have, and then the shard file, by `write`. With the shard file,
/// the shard is complete. Equal shards give the same bytes. The frequency file is on disk before the shard file is
/// written. Returns the names of the files. Throws IoError.
std::vector<std::string> write_shard(const std::filesystem::path& directory, const Shard& shard,
                                     const FileWriter& write = whole_file_writer());

/// Files of the kept counts of a run, which have the form of a shard's: `counts.json`, and `counts.values` if there are
/// stored groups or long runs of values.
inline constexpr const char *counts_file_name = "counts.json", *counts_values_file_name = "counts.values";

/// Writes the exact counts of a whole run and of its groups, by `write`: first `counts.values`, if there is anything to
/// be in it, then `counts.json`. `run` has the counts, the options and the notes; its rows are left out. Equal counts
/// give the same bytes. The directory must exist. Returns the names of the files. Throws IoError.
std::vector<std::string> write_counts(const std::filesystem::path& directory, const Shard& run,
                                      const FileWriter& write = whole_file_writer());
/// Reads kept counts back. Runs of values stay in their file. `storage` receives runs that are made of them; it may be
/// null. Throws IoError with the name of the file and the fault.
Shard read_counts(const std::filesystem::path& directory, const std::shared_ptr<FrequencyStorage>& storage = nullptr);

/// Makes the sink of the rows file of a shard: CSV of the tables of inputs, in the order of the inputs. Two columns
/// come first: `index`, that of the input, and `file`, the name of the table. The header is that of stats.csv.
std::unique_ptr<Sink> make_shard_sink(const StatisticsRequest& asked = {});

/// Reader of the rows file of a shard, row by row. Quoted fields may contain line ends. Each block of the file is
/// checked before it is used.
class ShardRows {
  public:
    /// Opens the file. Throws IoError if it cannot be opened, or for another header.
    ShardRows(const std::filesystem::path& path, FileChecksums checksums, const StatisticsRequest& asked = {});
    ~ShardRows();
    ShardRows(ShardRows&&) noexcept;
    ShardRows& operator=(ShardRows&&) noexcept;

    /// Moves to the next row. Returns false at the end. Throws IoError with the line for a row without the first two
    /// columns, without end or with more than 16 MiB, for another length or checksum of the file, and if reading fails.
    bool next();
    std::uint64_t index() const { return index_; }
    ColumnFile table() const { return table_; }  ///< one of the tables of `input_tables`
    /// Row of that table, with its LF.
    std::string_view row() const { return std::string_view(row_).substr(start_); }
    const std::string& record() const { return row_; }  ///< whole row in this file

    [[noreturn]] void refuse(const std::string& what) const;

  private:
    class Blocks;
    bool read_record();

    std::string name_;
    std::unique_ptr<Blocks> blocks_;
    std::uint64_t line_ = 0, next_line_ = 1;
    std::uint64_t index_ = 0;
    ColumnFile table_ = ColumnFile::stats;
    std::string row_;
    std::size_t start_ = 0;  ///< place of the row of the table in it
};

/// Facts of a channel over all images that follow both from the rows of stats.csv and from a summary.
struct ChannelFacts : SampleCounts {
    std::uint64_t images = 0;
    std::optional<double> minimum, maximum;  ///< lowest and highest finite sample
    friend bool operator==(const ChannelFacts& a, const ChannelFacts& b) {
        return a.by_class() == b.by_class() && a.images == b.images && a.minimum == b.minimum && a.maximum == b.maximum;
    }
};
/// Facts by depth and by the name of the channel in CSV.
using Facts = std::map<std::pair<Depth, std::string>, ChannelFacts>;

/// Shard and its files. ShardSet has its groups.
struct ShardFile {
    std::filesystem::path path, rows_path, frequency_path;
    Shard shard;
    Facts facts;  ///< facts of the whole set, from its summary
};

/// All shards of a run.
struct ShardSet {
    std::vector<ShardFile> files;  ///< shards 1, 2, …
    std::vector<Group> groups;     ///< the whole set
    StoredGroups stored;           ///< the groups, of all shards, merged
    Notes notes;                   ///< on the inputs of all shards
};

/// Reads the shard files in these directories. They must be all shards of one run and, for a manifest, have all of its
/// lines. If a shard is there twice, both must be the same, byte for byte, with their rows and frequency files. The
/// groups must add up to the whole set. With `joined`, K of M, it only reads the K-th of M ranges of shards, for shards
/// of a manifest; the others may be missing.
///
/// `storage` receives long runs of values that are made of those of the shards, and groups that need too much memory.
/// Throws IoError with the files and the fault.
ShardSet collect_shards(const std::vector<std::filesystem::path>& directories,
                        const std::shared_ptr<FrequencyFile>& storage, std::optional<ShardId> joined = std::nullopt);

/// Row in the rows file of a shard.
struct ShardRow {
    std::uint64_t index = 0;
    ColumnFile table = ColumnFile::stats;
    std::string_view row, record;  ///< row of the table, and whole row of the rows file
};

/// Passes the rows of all shards to `write` in the order of the inputs, without headers. The rows files of the shards
/// of a manifest are open one at a time, others all at once. Memory does not grow with the number of rows. Throws
/// IoError for a file that cannot be read, for rows that do not belong to the shard, for another number of rows or
/// another content than the summary of the shard has, and for an input without rows. Passes on the exceptions of
/// `write`.
void merge_rows(const ShardSet& shards, const std::function<void(const ShardRow&)>& write);

/// The whole run as one shard, made from all of its shards, without rows.
Shard whole_run(const ShardSet& shards);

/// Makes the shard `joined` of M from the shards that were collected for it. The caller writes its rows file.
Shard joined_shard(const ShardSet& shards, ShardId joined);

}  // namespace gpuhist::io
