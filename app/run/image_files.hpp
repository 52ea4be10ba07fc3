/// Files about each image: its histogram, plot and normalized copy.
#pragma once

#include <filesystem>
#include <functional>
#include <opencv2/core/mat.hpp>
#include <optional>
#include <string>
#include <vector>

#include "gpuhist/io/plot.hpp"
#include "run/options.hpp"
#include "run/outcome.hpp"
#include "run/output_directory.hpp"

namespace gpuhist::app {

/// Writer of the files about one image each. Safe to use from several threads.
class ImageFiles {
  public:
    /// `single`: there is one input, whose files are written at the same time.
    ImageFiles(const Options& options, OutputDirectory& output, bool single)
        : options_(options), output_(output), single_(single) {}

    /// Writes what is wanted of an image; `copy_depth` is that of `normalized`. Files that cannot be written are named
    /// in the outcome. Returns the suffixes of those that were.
    std::vector<std::string> write(Outcome& outcome, const Writes& writes, const Histogram& histogram,
                                   const io::PlotPanel& panel, const cv::Mat& normalized, Depth copy_depth,
                                   Samples samples) const;

  private:
    std::optional<Failure> attempt(const std::filesystem::path& path, const std::function<void()>& writer) const;

    const Options& options_;
    OutputDirectory& output_;
    const bool single_;
};

}  // namespace gpuhist::app
