/// `gpuhist same`: whether two images, or the images of two trees, have the same pixels.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "gpuhist/io/shard.hpp"

namespace gpuhist::app {

struct MergeOptions;

struct SameOptions {
    std::vector<std::string> trees;  ///< two images, or two directories
    std::filesystem::path output = "gpuhist-out";
    std::string format = "table";        ///< of standard output
    bool resume = false;                 ///< pairs that an interrupted run compared are not compared again
    std::optional<io::ShardId> shard{};  ///< of the pairs
    bool force = false;                  ///< files that gpuhist did not write are replaced
    bool notes = true;
    bool by_opencv = false;  ///< the images of the second tree are read by OpenCV
};

/// Writes same.csv, with a row per pair, and errors to standard error. Returns an ExitCode: policy_broken if a pair
/// differs or an image has no counterpart, else inputs_failed if images cannot be read.
int compare_pixels(const SameOptions& options);

/// Files in a directory that each describe a shard of such a comparison.
std::vector<std::filesystem::path> same_part_files(const std::filesystem::path& directory);

/// Merges the shards of a comparison into same.csv. Returns an ExitCode as `compare_pixels`, or data_refused.
int merge_pixels(const MergeOptions& options);

}  // namespace gpuhist::app
