/// `gpuhist same`: whether two images, or the images of two trees, have the same pixels.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace gpuhist::app {

struct SameOptions {
    std::vector<std::string> trees;  ///< two images, or two directories
    std::filesystem::path output = "gpuhist-out";
    std::string format = "table";  ///< of standard output
    bool resume = false;           ///< pairs that an interrupted run compared are not compared again
    bool force = false;            ///< files that gpuhist did not write are replaced
    bool notes = true;
    bool by_opencv = false;  ///< the images of the second tree are read by OpenCV
};

/// Writes same.csv, with a row per pair, and errors to standard error. Returns an ExitCode: policy_broken if a pair
/// differs or an image has no counterpart, else inputs_failed if images cannot be read.
int compare_pixels(const SameOptions& options);

}  // namespace gpuhist::app
