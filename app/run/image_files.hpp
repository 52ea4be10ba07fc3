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

/// Ends of the names of copies: of all, of those that are pages of a stack until the run ends, and of the stack.
inline constexpr const char* copy_end = ".normalized";
inline constexpr const char* page_copy_extension = ".partial.tiff";
inline constexpr const char* stack_extension = ".tiff";

/// Name of a page's file without the end for the page: that of its stack. Empty if it has no such end.
std::string stack_name(const Input& page);

/// Normalized copy of an image: its pixels, or the file into which they were written already.
struct Copy {
    cv::Mat pixels{};
    Depth depth{};
    std::optional<io::NewFile> file{};
    std::exception_ptr error{};  ///< why that cannot be written
    io::EncodeOptions form{};
    bool of_stack = false;  ///< it becomes a page of a TIFF when the run ends
    /// End of the name of its file. A georeferenced image stays a TIFF, because PNG has no place for that.
    const char* extension(Samples samples) const {
        if (of_stack) return page_copy_extension;
        return form.metadata && form.metadata->georeferenced() ? ".tiff" : io::lossless_extension(depth, samples);
    }
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
    io::NewFile open_copy(const Input& input, const Copy& copy, Samples samples) const;

  private:
    std::optional<Failure> attempt(const std::filesystem::path& path, const std::function<void()>& writer) const;

    const Options& options_;
    OutputDirectory& output_;
    const bool single_;
};

}  // namespace gpuhist::app
