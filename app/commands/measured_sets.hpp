/// Sets of images that a command reads from results, or measures itself.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "commands/output_failure.hpp"
#include "commands/results_there.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/io/shard.hpp"

namespace gpuhist::app {

struct Options;

/// What a command needs to know of sets, and how it measures.
struct MeasuringOptions {
    std::string engine = "auto";
    bool by_directory = false;  ///< counts of each directory too
    bool of_images = false;     ///< counts of each image too
};

/// Options of runs, by name, as their fingerprints have them.
using RunOptions = std::map<std::string, std::string>;

/// Options that change the numbers of an image, or are named as `further`, and differ in two runs, for a message; empty
/// if there are none.
std::string differing_options(const RunOptions& a, const RunOptions& b, const std::vector<const char*>& further = {});

/// A set with its exact counts.
struct MeasuredSet {
    std::string name;      ///< as the user gave it
    ResultsThere results;  ///< which have its counts
    io::Shard counts;      ///< of the whole set, and of its groups
    const Summary& whole() const { return counts.groups.front().summary; }
    /// Number of images.
    std::uint64_t images() const;
    /// Counts of the directory of this name; absent if no image is in it.
    std::optional<Summary> find(const std::string& directory) const;
    /// Visits the directories, in byte order of their names.
    void each_directory(const std::function<void(const io::Group&)>& visit) const;
    /// Visits the images: visit(path, counts). Throws IoError for images whose counts were not kept.
    void each_image(const std::function<void(std::string_view path, const Summary& counts)>& visit) const;
};

/// Reads sets, and measures those of which there are no counts. Its runs write into a temporary directory.
class MeasuredSets {
  public:
    explicit MeasuredSets(MeasuringOptions options) : options_(std::move(options)) {}
    ~MeasuredSets();
    MeasuredSets(const MeasuredSets&) = delete;
    MeasuredSets& operator=(const MeasuredSets&) = delete;

    /// Finds a set by its name: a directory with results, or an image or directory of images, which are measured. If
    /// results lack the counts, their images are measured again, and must give the same numbers. Throws IoError, and
    /// RunEnded.
    MeasuredSet find(const std::string& name);
    /// Finds the rows of a set in the same way: results need no counts. Throws as `find`.
    ResultsThere find_results(const std::string& name);
    /// Returns inputs_failed if an input of any run could not be measured; else all_done.
    int exit_code() const { return code_; }

    /// Measures inputs by the options that `set` makes of those of a run, and keeps no counts but those that it asks
    /// for. Throws RunEnded, and IoError if there are no images.
    ResultsThere measure(const std::string& name, const std::function<void(Options&)>& set);
    /// Name of a new directory, or file, that is removed at the end.
    std::filesystem::path next_directory();

  private:
    void keep_counts(Options& run) const;
    MeasuredSet measure_again(const std::string& name, const ResultsThere& results);
    const MeasuringOptions options_;
    std::filesystem::path temporary_;
    int runs_ = 0;
    int code_ = 0;
};

}  // namespace gpuhist::app
