/// Files about a whole set of images, and the text in which its summaries are stored.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpuhist/dataset.hpp"
#include "gpuhist/io/encode.hpp"
#include "gpuhist/io/notes.hpp"
#include "gpuhist/io/plot.hpp"
#include "gpuhist/io/sink.hpp"

namespace gpuhist::io {

class FrequencyFile;

/// Part of the set with its own results. The group "" is the whole set.
struct Group {
    std::string name;  ///< any bytes
    Summary summary;
};

class StoredGroups;  // gpuhist/io/groups.hpp

/// Makes dataset.csv with the columns of ColumnFile::dataset. Groups are in byte order of their names.
std::string dataset_csv(const std::vector<Group>& groups, const StatisticsRequest& asked = {});

/// Makes dataset.json: an array with one object, on a line of its own, per group and depth. An object has
/// - `schema`, which is 1;
/// - `luma`, its formula, if there is such a row;
/// - `"normalize": {"mean": [red, green, blue], "std": [...]}` on the scale from 0 to 1, ready to paste into training
///   code. Among colors, a gray image is treated as R = G = B. Bands and alpha are left out. Gray images have one
///   number each, under `normalize_gray` if there are colors too. It is null if the images have different values for
///   white;
/// - the rows of dataset.csv;
/// - `quality`, the rows of dataset.quality.csv, if the images have measures;
/// - `manifest`, its checksum, if the inputs of the whole set came from a manifest;
/// - the histogram in the bins of `options`, or null. 8 and 16 bits need a range of whole numbers; otherwise they use
///   the range of the type. f32 that was counted over a given range stays in those bins.
///
/// The first object also has `columns`: the unit and the definition of each column, by name. Bytes of names that are
/// not UTF-8 are replaced by U+FFFD.
std::string dataset_json(const std::vector<Group>& groups, const HistogramOptions& options = {},
                         const StatisticsRequest& asked = {});

/// Rows of one depth among those of `Summary::statistics`, and the number of its images.
struct DepthRows {
    std::vector<Statistics> rows;
    std::uint64_t images = 0;
};
DepthRows rows_of(const std::vector<SummaryRow>& all, Depth depth);

/// Picture of a set. Each depth has panels for gray images, colors and bands. `rows` are those of
/// `Summary::statistics`. Floats whose values were not counted, and which have several ranges, have no panel. The title
/// names the group.
Plot dataset_plot(const Summary& set, const std::vector<SummaryRow>& rows, const std::string& group = "",
                  const PlotRange& range = {});

/// Names of all files that a set can have, except the pictures of groups.
std::vector<std::string> dataset_file_names();
/// Returns whether a name is that of the picture of a group, `GROUP/dataset.histogram.png`.
bool is_group_plot(const std::string& name);

/// Numbers that training code subtracts and divides by, on the scale from 0 to 1: one per channel, or a single one for
/// gray images.
struct Normalizers {
    std::vector<std::optional<double>> mean, std;
};

/// Numbers for training code from the images of a depth, as `normalize` of dataset.json has them. Both are absent if
/// the images have different values for white. Each is absent if there are no such images.
struct TrainingNumbers {
    std::optional<Normalizers> colors, gray;
};

/// Numbers of a set: the rows of `Summary::statistics`, and for each of its depths a histogram and the numbers for
/// training code, as in dataset.json.
struct SetNumbers {
    std::vector<SummaryRow> rows;
    std::vector<std::optional<Histogram>> histograms;
    std::vector<TrainingNumbers> training;
};
SetNumbers set_numbers(const Summary& summary, const HistogramOptions& options = {},
                       const StatisticsRequest& asked = {});

/// Records of a group for the table `dataset`, one per depth. `numbers` are those of its summary.
std::vector<Record> records_of(const std::string& group, const Summary& summary, const SetNumbers& numbers);

/// Subject in `Notes` for images of a depth whose first channel is this one.
std::string kind_subject(Depth depth, Channel first);
/// Subject for images with 8 to 14 bits in 16. Numbers that refer to white are easily misread there.
inline constexpr const char* spare_bits_subject = "bits";
/// Number of bits that samples from `lowest` to `highest` need, for such images; else 0.
int spare_bits(Depth depth, double lowest, double highest);
/// Text of a note about that number of bits.
std::string spare_bits_text(int bits);

/// Remarks on a set, one line each: depths whose images have different values for white, and so no numbers that refer
/// to it; gray images that `normalize` treats as colors; and bands, which it leaves out. `notes` has the first of these
/// images.
std::vector<std::string> dataset_notes(const Summary& summary, const Notes& notes = {});

/// Function that receives the numbers of each group while they are written, the whole set first.
using LookAtGroup = std::function<void(const std::string& name, const SetNumbers& numbers)>;

/// Writes all files of a set into an existing directory, by `write`. `more` are groups after `groups`. The picture of a
/// group is in a directory with the name of the group; for the group `.`, it is `dataset.top.histogram.png`. If names
/// of several groups give one path, only the first group has a picture. `manifest` is the checksum of the manifest with
/// the inputs; empty if there is none. Returns the numbers of the whole set. Throws IoError with the name of the file
/// that cannot be written.
SetNumbers write_dataset(const std::filesystem::path& directory, const std::vector<Group>& groups,
                         const StoredGroups& more, const HistogramOptions& options = {}, const PlotRequest& plots = {},
                         const StatisticsRequest& asked = {}, const FileWriter& write = whole_file_writer(),
                         const LookAtGroup& look = {}, const std::string& manifest = {});

/// Text of a summary: one JSON value without line ends. Integers from 2^53 on are strings, counts are runs, power sums
/// are hexadecimal strings. Runs of the values of floats are Base64, or [place, bytes, checksum] if they are in `file`.
/// If few characters stand for much memory, spaces follow: a reader needs at most 64 MiB of counts and 1 KiB per
/// character.
///
/// Equal summaries have the same text if they come from `Summary::merged_values` or have no values. Throws
/// InvalidArgument if runs are in a file and `file` is null.
std::string summary_json(const Summary& summary, const FrequencyFile* file = nullptr);

/// Text of `summary_json` of one image, whose runs of values are in the text. `values` are as in Summary::add. Empty if
/// runs are in a storage, or if the text would have more than 4 MiB.
std::string image_counts(const Analysis& image, const std::vector<FrequencyTable>& values = {});

/// Storages for parsing a summary: for the runs that are not in the text, and for runs that are made of them. Either
/// may be null.
struct FrequencyFiles {
    std::shared_ptr<FrequencyFile> runs;
    std::shared_ptr<FrequencyStorage> new_runs;
    /// Runs by place, if several summaries may have the same runs. Runs that are read are added. May be null.
    std::shared_ptr<std::map<std::uint64_t, FrequencyRun>> known = nullptr;
};

/// Reads the text of a summary. The checksums of runs are checked before the runs are used. `name` is for messages.
/// Throws IoError with the name and the place in the text if it is not a text of `summary_json` or breaks the rules of
/// a summary.
Summary parse_summary(std::string_view json, const std::string& name, const FrequencyFiles& files = {});

}  // namespace gpuhist::io
