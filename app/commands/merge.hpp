/// `gpuhist merge`: one result from the shards of a run.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace gpuhist::app {

struct MergeOptions {
    std::vector<std::string> directories;  ///< that hold shard files
    std::filesystem::path output = "gpuhist-out";
    bool force = false;  ///< files that gpuhist did not write are replaced
    bool notes = true;
};

/// Writes stats.csv, errors.csv where inputs failed, and the files of the data set: byte for byte those of a single
/// run. Says on standard error what is wrong. Returns an ExitCode: as the single run, inputs_failed where inputs had
/// failed, and where the shards make no whole.
int merge(const MergeOptions& options);

}  // namespace gpuhist::app
