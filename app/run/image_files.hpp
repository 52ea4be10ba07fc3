/// Files about each image: its histogram, plot and normalized copy.
#pragma once

#include <exception>
#include <filesystem>
#include <functional>
#include <opencv2/core/mat.hpp>
#include <optional>
#include <string>
#include <vector>

#include "gpuhist/io/encode.hpp"
#include "gpuhist/io/plot.hpp"
#include "run/options.hpp"
#include "run/outcome.hpp"
#include "run/output_directory.hpp"

namespace gpuhist::app {

/// Normalized copy of an image: its pixels, or the file into which they were written already.
struct Copy {
    cv::Mat pixels{};
    Depth depth{};
    std::optional<io::NewFile> file{};
    std::exception_ptr error{};  ///< why that cannot be written
};

/// Writer of the files about one image each. Safe to use from several threads.
class ImageFiles {
  public:
    /// `single`: there is one input, whose files are written at the same time.
    ImageFiles(const Options& options, OutputDirectory& output, bool single)
        : options_(options), output_(output), single_(single) {}

    /// Writes the requested files about an image. Names in the outcome the files that cannot be written. Returns the
    /// suffixes of the others.
    std::vector<std::string> write(Outcome& outcome, const Writes& writes, const Histogram& histogram,
                                   const io::PlotPanel& panel, Copy& copy, Samples samples) const;
    /// Begins the file of a normalized copy. Throws IoError.
    io::NewFile open_copy(const Input& input, Depth depth, Samples samples) const;

  private:
    std::optional<Failure> attempt(const std::filesystem::path& path, const std::function<void()>& writer) const;

    const Options& options_;
    OutputDirectory& output_;
    const bool single_;
};

}  // namespace gpuhist::app
