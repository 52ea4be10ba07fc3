/// Shards: what each process of a run that is shared out leaves, and how they become one result again.
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

/// Lines of a manifest, counted from 0: from `first` to before `end`.
struct LineRange {
    std::uint64_t first = 0, end = 0;
    friend bool operator==(const LineRange& a, const LineRange& b) { return a.first == b.first && a.end == b.end; }
};

/// Shard K of N has the inputs whose index i, counted from 0 over all inputs, is K − 1 modulo N; of a manifest it has
/// lines that follow each other.
struct ShardId {
    std::uint64_t number = 1, count = 1;  ///< K, N
    std::optional<LineRange> lines;       ///< of a manifest

    bool has(std::uint64_t index) const {
        return lines ? lines->first <= index && index < lines->end : index % count == number - 1;
    }
    /// Number of its own among the first `inputs` that are listed: of a manifest no others are.
    std::uint64_t own(std::uint64_t inputs) const { return lines ? inputs : (inputs + count - number) / count; }
};

/// Results of a shard.
struct Shard {
    ShardId id;
    std::uint64_t inputs = 0;                    ///< of all shards together
    std::string inputs_hash;                     ///< of all inputs' paths; the checksum of their manifest
    RowCounts rows;                              ///< in its rows file, of each table that the run writes
    FileChecksums rows_file;                     ///< of that
    std::map<std::string, std::string> options;  ///< all that changes results, versions included: alike in all shards
    Percentiles percentiles;                     ///< that have a column; alike in all shards
    HistogramOptions histogram;                  ///< of dataset.json; alike in all shards
    PlotRequest plots;                           ///< pictures of the set; alike in all shards
    std::vector<Group> groups;                   ///< in byte order, "" first
    StoredGroups stored;                         ///< further ones, which lie in the frequency file
    Notes notes;                                 ///< on its inputs

    std::uint64_t rows_of(ColumnFile table) const {
        const auto found = rows.find(table);
        return found == rows.end() ? 0 : found->second;
    }
};

/// Whether results are of a set: of several inputs, or of several pages where pages are measured (the option
/// `--pages`). `whole` is the summary of all, `errors` the number of those that failed.
bool is_set(const Shard& shard, const Summary& whole, std::uint64_t errors);

/// Whether the groups are regions (the option `--group-by`), which may be many, overlap, and leave pixels out.
bool groups_are_regions(const Shard& shard);

/// Names of a shard's files: `part-K-of-N.json`, `part-K-of-N.stats.csv` and, where there are stored groups or runs of
/// values too long for the first, the frequency file `part-K-of-N.values`.
std::string shard_file_name(ShardId id);
std::string shard_rows_file_name(ShardId id);
std::string shard_frequency_file_name(ShardId id);

/// Shard as one line of JSON, sealed by its checksum: of the stored groups that which lies in the storage. Runs of
/// values that are not in memory, and these groups, lie in `file`.
std::string shard_json(const Shard& shard, const FrequencyFile* file = nullptr);

/// Reads it back. `name` is for messages. Throws IoError naming it and the place where the text is not what
/// `shard_json` writes, and by its format that of another version.
Shard parse_shard(std::string_view json, const std::string& name, const FrequencyFiles& files = {});

/// Writes the frequency file, which no file may have the name of, and then, by `write`, the shard file, with which the
/// shard is there: the same bytes for equal shards. The former is on disk before the latter is written. Returns the
/// names of the files. Throws IoError.
std::vector<std::string> write_shard(const std::filesystem::path& directory, const Shard& shard,
                                     const FileWriter& write = whole_file_writer());

/// Sink of a shard's rows file: CSV of the tables of inputs, row after row in the order of the inputs, behind the
/// columns `index`, of the input, and `file`, which is the table's name; where bands have names of their own in a row
/// of stats, the channel is added: `stats c0`. The header is that of stats.csv.
std::unique_ptr<Sink> make_shard_sink(const Percentiles& percentiles = {});

/// Reader of a shard's rows file, row by row, whose quoted fields may hold line ends. Each block of the file is checked
/// before it is used.
class ShardRows {
  public:
    /// Opens the file. Throws IoError where it cannot, or where the header is another.
    ShardRows(const std::filesystem::path& path, FileChecksums checksums, const Percentiles& percentiles = {});
    ~ShardRows();
    ShardRows(ShardRows&&) noexcept;
    ShardRows& operator=(ShardRows&&) noexcept;

    /// Goes to the next row; false at the end. Throws IoError, with the line, for a row without the first two columns
    /// or without end and one of more than 16 MiB; for a file of another length or checksum; and where reading fails.
    bool next();
    std::uint64_t index() const { return index_; }
    ColumnFile table() const { return table_; }  ///< one of `input_tables`
    /// Row of that table, with its LF.
    std::string_view row() const { return std::string_view(row_).substr(start_); }
    const std::string& record() const { return row_; }  ///< as it stands in this file
    /// Channel of a row of stats.csv, where its name does not tell.
    std::optional<Channel> channel() const { return channel_; }

    [[noreturn]] void refuse(const std::string& what) const;

  private:
    class Blocks;
    bool read_record();

    std::string name_;
    std::unique_ptr<Blocks> blocks_;
    std::uint64_t line_ = 0, next_line_ = 1;
    std::uint64_t index_ = 0;
    ColumnFile table_ = ColumnFile::stats;
    std::optional<Channel> channel_;
    std::string row_;
    std::size_t start_ = 0;  ///< of the row in it
};

/// What rows of stats.csv and a summary both say of a channel of all images.
struct ChannelFacts : SampleCounts {
    std::uint64_t images = 0;
    std::optional<double> minimum, maximum;  ///< of the finite samples
    friend bool operator==(const ChannelFacts& a, const ChannelFacts& b) {
        return a.by_class() == b.by_class() && a.images == b.images && a.minimum == b.minimum && a.maximum == b.maximum;
    }
};
using Facts = std::map<std::pair<Depth, Channel>, ChannelFacts>;

/// Shard and its files. Its groups are not here but in ShardSet.
struct ShardFile {
    std::filesystem::path path, rows_path, frequency_path;
    Shard shard;
    Facts facts;  ///< of the whole set, as its summary has them
};

/// Shards of one run, all of them.
struct ShardSet {
    std::vector<ShardFile> files;  ///< shard 1, 2, …
    std::vector<Group> groups;     ///< the whole set
    StoredGroups stored;           ///< the groups, of all shards, merged
    Notes notes;                   ///< on the inputs of all shards
};

/// Reads the shard files lying in these directories. They must be of one run and none missing, and have all lines of a
/// manifest; shards that are there twice must be the same, byte for byte, with their rows and frequency files. Groups
/// must add up to the whole set. With `joined`, K of M, the K-th of M ranges of shards is read, which shards of a
/// manifest have, and no others need be there. Long runs of values that are made of theirs will lie in `storage`, and
/// groups for which there is no memory. Throws IoError naming the files and what is wrong.
ShardSet collect_shards(const std::vector<std::filesystem::path>& directories,
                        const std::shared_ptr<FrequencyFile>& storage, std::optional<ShardId> joined = std::nullopt);

/// Row of a shard, as its rows file has it.
struct ShardRow {
    std::uint64_t index = 0;
    ColumnFile table = ColumnFile::stats;
    std::string_view row, record;  ///< of that table; with what is before it in the rows file
};

/// Hands out the rows of all shards, in the order of the inputs, without headers. The rows files of a manifest's shards
/// are open one at a time, others all; memory does not grow with the rows. Throws IoError for a file that
/// cannot be read, rows that are not the shard's, not as many as it says, or not those of its summary, and an input
/// without any; and what the functions throw.
void merge_rows(const ShardSet& shards, const std::function<void(const ShardRow&)>& write);

/// Shard `joined` of M, made of the shards that were collected for it; its rows file is the caller's.
Shard joined_shard(const ShardSet& shards, ShardId joined);

}  // namespace gpuhist::io
