/// Exact counts of a set, which a run or a merge keeps on request.
#pragma once

#include <string>
#include <vector>

#include "gpuhist/io/shard.hpp"
#include "run/output_directory.hpp"

namespace gpuhist::app {

/// Option of a run, in its fingerprint: empty, `set`, or `images`, which are kept then too.
inline constexpr const char* keep_counts_option = "--keep-counts or --keep-image-counts";

/// Returns whether the run of a shard keeps counts.
bool counts_are_kept(const io::Shard& shard);

/// Names of the files with the counts of a set.
std::vector<std::string> kept_counts_names();

/// Writes the counts of a run and its groups. The files get their names with the next `commit`. Returns these names.
/// Throws IoError.
std::vector<std::string> stage_counts(OutputDirectory& output, const io::Shard& run);

}  // namespace gpuhist::app
