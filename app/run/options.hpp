/// Options of a run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "cli/table.hpp"
#include "gpuhist/engine.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/flags.hpp"
#include "gpuhist/io/decode.hpp"
#include "gpuhist/io/encode.hpp"
#include "gpuhist/io/plot.hpp"
#include "gpuhist/io/shard.hpp"
#include "gpuhist/normalize.hpp"
#include "gpuhist/statistics.hpp"
#include "run/engine_choice.hpp"
#include "run/image_request.hpp"
#include "run/inputs.hpp"
#include "run/rectangles.hpp"

namespace gpuhist::app {

/// Files that are written.
struct Writes {
    bool stats = false, histogram = false, plot = false, normalized = false;
    bool parquet = false;  ///< of the tables, after the run
    bool any() const { return stats || histogram || plot || normalized; }
};

/// Kind of the groups of a set, which have numbers in addition to those of the whole set.
/// `key`: the path of an image up to the first dot in its name, as WebDataset has it.
enum class GroupBy { none, directory, file, key, region };

/// Everything that a run is asked to do.
struct Options : ImageRequest {
    InputOptions inputs;
    std::filesystem::path output = "gpuhist-out";
    std::optional<Writes> write;  ///< absent: everything of a file, only stats of what a directory or list holds
    GroupBy group_by = GroupBy::none;
    Normalization normalization;
    std::filesystem::path reference;    ///< image that `match` takes as its reference, if it has a name
    bool normalize = false;             ///< was asked for by more than --write: of what a directory or list holds too
    bool linked = false;                ///< all images are normalized by one table, that of the whole set
    std::filesystem::path tables_from;  ///< or by those of this file, if it has a name
    std::filesystem::path tables_to;    ///< where the tables of the whole set are kept, if it has a name
    bool split_pages = false;           ///< copies of a TIFF's pages are a file each
    std::int64_t copy_size = 0;         ///< longest side of normalized copies; 0: they are as large as their images
    io::TiffCompression compression = io::TiffCompression::deflate;  ///< of copies that are TIFFs
    int png_level = io::EncodeOptions{}.png_level;                   ///< of copies that are PNGs
    std::string masks;                  ///< an image, or a directory of such, that is 0 at masked pixels
    std::string labels;                 ///< a label image, or a directory of such: regions
    bool label_zero = false;            ///< label 0 is a region too
    std::vector<Rectangle> rectangles;  ///< regions of every image
    std::string rectangles_from;        ///< a file that has others, of some images
    bool keep_counts = false;           ///< exact counts of the set and its groups are written
    bool keep_image_counts = false;     ///< and those of each image
    bool keep_thumbnails = false;       ///< of the images that a page would show
    bool clip_rectangles = false;       ///< to the image; else one that leaves it is an error
    io::PlotRequest plots;              ///< their range and logarithmic axis are those of the table's histogram too
    std::string engine = "auto";
    EngineOptions engine_options;
    std::vector<int> gpus;  ///< numbers of those that share the work; none: the one of engine_options
    bool all_gpus = false;  ///< all of the machine share the work
    GpuTerms gpu_terms;     ///< on which `auto` takes the GPU
    JpegOn jpeg_on = JpegOn::automatic;
    io::DecodeOptions decode;
    bool compare_decoders = false;  ///< the images are read by OpenCV too, and compared; nothing else is done
    std::uint64_t max_pixels_in_strips = io::Strips{}.max_pixels;  ///< of images that are read so
    std::string format = "table";  ///< of standard output: `none`, `table`, or one of io::make_sink
    bool table_of_each = false;    ///< of what a directory or list holds too, instead of one of the whole set
    TableStyle style;
    bool quiet = false;  ///< no remarks on standard error; errors are always said

    bool dry_run = false;          ///< list the inputs, and do nothing else
    std::filesystem::path report;  ///< page about the results, if it has a name
    std::string policy;            ///< a file with the thresholds of flags, if it has a name
    FlagThresholds flags;          ///< of the images of the set, where measures are written

    bool force = false;  ///< files that gpuhist did not write are replaced, but for inputs
    bool resume = false;
    bool temporary = false;                   ///< results are read and removed by whoever runs it: nobody resumes it
    bool die_with_parent = false;             ///< the end of the parent process is an interruption
    std::optional<std::uint64_t> max_errors;  ///< stop once so many inputs have failed
    std::uint64_t memory = 0;                 ///< bytes for images in flight; 0: a quarter of what there is
    std::optional<io::ShardId> shard;
    double checkpoint_seconds = 5;  ///< how much work an interruption may cost

    std::vector<int> gpus_used() const { return gpus.empty() ? std::vector{engine_options.gpu} : gpus; }
    Writes writes_of(const Input& input) const {
        if (write) return *write;
        const bool copied = !space || traits_of(*space).lightness >= 0;
        return input.from_directory ? Writes{true, false, false, normalize} : Writes{true, true, true, copied};
    }
    bool regions_asked() const { return !labels.empty() || !rectangles.empty() || !rectangles_from.empty(); }
    /// Whether the copy of an input is a page of a TIFF: it is one of several pages of one.
    bool copied_into_stack(const Input& input) const {
        return !split_pages && inputs.pages && !inputs.pages->one() && input.page > 0 && input.pages &&
               input.pages->pages.size() > 1 && input.pages->format == io::tiff_format_name;
    }
    bool flags_asked() const { return !measures.empty(); }
    bool copies_asked() const { return normalize || (write && write->normalized); }
    bool table_of(const Input& input) const { return format == "table" && (table_of_each || !input.from_directory); }
};

/// A manifest or a table that a run is told to use is missing or damaged.
class DataError : public IoError {
  public:
    explicit DataError(const IoError& error) : IoError(error) {}
};

/// Reads files that the options name. Throws DataError.
template <class Read>
auto read_data(const Read& read) {
    try {
        return read();
    } catch (const IoError& error) {
        throw DataError(error);
    }
}

/// Reason why a run does not begin, or ends: its options do not fit the inputs or the files on disk.
class UsageError : public Error {
    using Error::Error;
};

}  // namespace gpuhist::app
