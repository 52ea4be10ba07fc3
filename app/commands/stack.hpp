/// `gpuhist stack`: statistics of each pixel over a set of equal images.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "gpuhist/pixel_stack.hpp"
#include "run/options.hpp"

namespace gpuhist::app {

struct MergeOptions;

/// What a stack writes.
struct StackWrites {
    std::vector<StackStatistic> statistics{StackStatistic::mean, StackStatistic::std, StackStatistic::min,
                                           StackStatistic::max, StackStatistic::count};
    bool pixels = true;  ///< the list of odd pixels
    bool has(StackStatistic statistic) const;
};

struct StackOptions {
    Options run;  ///< inputs, valid samples, decoding, output, memory, threads and shard
    StackWrites writes;
    double sigmas = 10;                ///< beyond which a pixel is hot or cold
    std::uint64_t most_pixels = 1000;  ///< listed of each kind and channel
    bool notes = true;
};

/// Writes stack.STATISTIC.tiff for each statistic, and stack.pixels.csv; or, of a shard, its sums. Reports errors on
/// standard error. Returns an ExitCode: inputs_failed if an image cannot be read, or differs from the first; then
/// nothing is written.
int stack(const StackOptions& options);

/// Files in a directory that each describe a shard of a stack.
std::vector<std::filesystem::path> stack_part_files(const std::filesystem::path& directory);

/// Merges the shards of a stack into the files of a single command. Returns an ExitCode: data_refused if parts are
/// missing, damaged or do not belong together; then nothing is written.
int merge_stacks(const MergeOptions& options);

}  // namespace gpuhist::app
