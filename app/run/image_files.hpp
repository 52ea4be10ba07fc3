/// Files about each image: its histogram, plot and normalized copy.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <opencv2/core/mat.hpp>
#include <optional>
#include <string>
#include <vector>

#include "run/options.hpp"
#include "run/outcome.hpp"

namespace gpuhist::app {

/// Writer of the files about one image each. Safe to use from several threads.
class ImageFiles {
  public:
    /// `single`: there is one input, whose files are written at the same time.
    ImageFiles(const Options& options, std::shared_ptr<const InputList> inputs, bool single)
        : options_(options), inputs_(std::move(inputs)), single_(single) {}

    /// Writes what is wanted of an image. Files that cannot be written are named in the outcome. Returns the suffixes
    /// of those that were.
    std::vector<std::string> write(Outcome& outcome, const Writes& writes, const Histogram& histogram,
                                   const cv::Mat& normalized, Samples samples) const;

  private:
    std::optional<Failure> attempt(const std::filesystem::path& path, const std::function<void()>& writer) const;

    const Options& options_;
    const std::shared_ptr<const InputList> inputs_;
    const bool single_;
};

/// Makes a directory, and those above it. Throws IoError.
void make_directories(const std::filesystem::path& directory);

}  // namespace gpuhist::app
