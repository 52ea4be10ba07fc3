/// Files about a whole set of images, and those in which its summaries are kept.
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

/// Part of the set with results of its own. The group "" is the whole set.
struct Group {
    std::string name;  ///< any bytes
    Summary summary;
};

class StoredGroups;  // gpuhist/io/groups.hpp

/// dataset.csv: the columns of ColumnFile::dataset. Groups in byte order of their names.
std::string dataset_csv(const std::vector<Group>& groups, const Percentiles& percentiles = {});

/// dataset.json: an array with an object, and a line, a group and depth: `schema`, which is 1; `luma`, the formula,
/// where there is such a row; `"normalize": {"mean": [red, green, blue],
/// "std": [...]}` on the 0–1 scale, ready to paste into training code, gray images among colors counted as R = G = B,
/// bands and alpha left out (of gray images one number each, under `normalize_gray` where there are colors too; null
/// where the images have several whites); the rows of dataset.csv;
/// and the histogram in the bins of `options`, null where there is none: 8 and 16 bits take a range of whole numbers
/// only, else that of the type; f32 that was counted over a given range stays in those bins. Bytes of names that are
/// not UTF-8 are replaced by U+FFFD.
std::string dataset_json(const std::vector<Group>& groups, const HistogramOptions& options = {},
                         const Percentiles& percentiles = {});

/// Rows of one depth among those of `Summary::statistics`, and how many images they are about.
struct DepthRows {
    std::vector<Statistics> rows;
    std::uint64_t images = 0;
};
DepthRows rows_of(const std::vector<SummaryRow>& all, Depth depth);

/// Picture of a set: a panel for each depth, and in it for gray images, colors and bands. `rows` are those of
/// `Summary::statistics`. Floats whose values were not counted, over several ranges, have none. The title has the
/// group.
Plot dataset_plot(const Summary& set, const std::vector<SummaryRow>& rows, const std::string& group = "",
                  const PlotRange& range = {});

/// Names of all of these files, whichever a set has, but those of groups' pictures.
std::vector<std::string> dataset_file_names();
/// Tells whether this is the name of a group's picture, `GROUP/dataset.histogram.png`.
bool is_group_plot(const std::string& name);

/// Numbers that training code subtracts and divides by, on the 0–1 scale: one per channel, or one of gray images.
struct Normalizers {
    std::vector<std::optional<double>> mean, std;
};

/// What training code takes of the images of a depth, as `normalize` of dataset.json says it. Absent are both where
/// images have several whites, and each where there are no such images.
struct TrainingNumbers {
    std::optional<Normalizers> colors, gray;
};

/// Numbers of a set: the rows of `Summary::statistics`, and of each of its depths a histogram and the numbers for
/// training code, as in dataset.json.
struct SetNumbers {
    std::vector<SummaryRow> rows;
    std::vector<std::optional<Histogram>> histograms;
    std::vector<TrainingNumbers> training;
};
SetNumbers set_numbers(const Summary& summary, const HistogramOptions& options = {},
                       const Percentiles& percentiles = {});

/// Records of a group for the table `dataset`: one per depth. `numbers` are those of its summary.
std::vector<Record> records_of(const std::string& group, const Summary& summary, const SetNumbers& numbers);

/// Subject in `Notes` of the images of a depth whose first channel is this one.
std::string kind_subject(Depth depth, Channel first);
/// Subject of images of 8 to 14 bits in 16, which are few enough for what refers to white to be misread.
inline constexpr const char* spare_bits_subject = "bits";
/// Bits that samples from `lowest` to `highest` need, where they are such; else 0.
int spare_bits(Depth depth, double lowest, double highest);
/// Words about them.
std::string spare_bits_text(int bits);

/// Remarks on a set, one line each: depths whose images have several whites, and so no numbers that refer to it; gray
/// images that count as colors in `normalize`, and bands that do not. `notes` know the first of these.
std::vector<std::string> dataset_notes(const Summary& summary, const Notes& notes = {});

/// Function that is shown the numbers of each group while they are written, the whole set first.
using LookAtGroup = std::function<void(const std::string& name, const SetNumbers& numbers)>;

/// Writes all of these into a directory that exists, `more` after `groups`, each by `write`; the picture of a group
/// into a directory of the group's name there, of the group `.` as `dataset.top.histogram.png`. Where names of several
/// groups make one path the first has a picture. Returns what they say of the whole set. Throws IoError naming the file
/// that cannot be written.
SetNumbers write_dataset(const std::filesystem::path& directory, const std::vector<Group>& groups,
                         const StoredGroups& more, const HistogramOptions& options = {}, const PlotRequest& plots = {},
                         const Percentiles& percentiles = {}, const FileWriter& write = whole_file_writer(),
                         const LookAtGroup& look = {});

/// Summary as one JSON value without line ends: integers (from 2^53 on in strings), counts as runs, power sums as
/// hexadecimal strings, runs of the values of floats in Base64, or [place, bytes, checksum] where they lie in
/// `file`. Spaces behind it where few characters stand for much memory: reading takes at most 64 MiB of counts
/// and 1 KiB for each character. Throws InvalidArgument where runs lie in a file and `file` is null. Equal summaries
/// that come from `Summary::merged_values`, or have no values, have the same text.
std::string summary_json(const Summary& summary, const FrequencyFile* file = nullptr);

/// Storage of runs of values that are not in the text, and of those that will be made of them; either may be null.
struct FrequencyFiles {
    std::shared_ptr<FrequencyFile> runs;
    std::shared_ptr<FrequencyStorage> new_runs;
    /// Runs by their places, where several summaries may have the same: what is read is added. May be null.
    std::shared_ptr<std::map<std::uint64_t, FrequencyRun>> known = nullptr;
};

/// Reads it back; the checksums of runs are checked before these are used. `name` is for messages. Throws IoError
/// naming it and the place where the text is not what `summary_json` writes or breaks what a summary promises.
Summary parse_summary(std::string_view json, const std::string& name, const FrequencyFiles& files = {});

}  // namespace gpuhist::io
