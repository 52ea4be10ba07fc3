/// `gpuhist joint`: joint histograms of two channels, of each image and of the set.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "gpuhist/io/plot.hpp"
#include "run/options.hpp"

namespace gpuhist::app {

struct MergeOptions;

/// Two channels, by name or number from 0.
struct ChannelPair {
    std::string first, second;
    std::uint32_t bins = 256;
};

/// Files about each image.
struct JointWrites {
    bool csv = true, npy = true, plot = true;
    bool any() const { return csv || npy || plot; }
};

struct JointOptions {
    Options run;  ///< inputs, valid samples, decoding, output, memory, threads and shard
    std::vector<ChannelPair> pairs;
    std::string with;                   ///< partner of each image of the set: an image, a directory or a pattern
    std::uint32_t with_bins = 256;      ///< of channels and their partners, if no pair is given
    std::optional<Range> range;         ///< of both channels
    std::optional<JointWrites> writes;  ///< absent: all of a single image, none of each image of a set
    io::PlotTheme theme = io::PlotTheme::light;
    bool notes = true;
};

/// Writes joint.csv, with a row per pair of each image and of the set, and the counts as files. Reports errors on
/// standard error. Returns an ExitCode: inputs_failed if images have no such channels, or cannot be read.
int joint(const JointOptions& options);

/// Files in a directory that each describe a shard of such a command.
std::vector<std::filesystem::path> joint_part_files(const std::filesystem::path& directory);

/// Merges the shards into joint.csv and the files of the set. Returns an ExitCode as `joint`, or data_refused.
int merge_joints(const MergeOptions& options);

}  // namespace gpuhist::app
