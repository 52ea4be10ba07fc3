/// `gpuhist merge`: one result from the shards of a run.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "gpuhist/io/shard.hpp"

namespace gpuhist::app {

struct MergeOptions {
    std::vector<std::string> directories;  ///< that hold shard files
    std::filesystem::path output = "gpuhist-out";
    bool force = false;                 ///< files that gpuhist did not write are replaced
    std::optional<io::ShardId> joined;  ///< makes this shard of some instead of a result of all
    bool notes = true;
};

/// Writes stats.csv, errors.csv where inputs failed, and the files of the data set: byte for byte those of a single
/// run. With `joined`, the files of a shard, from which the result can be made as from those it is made of. Reports
/// errors on standard error. Returns an ExitCode: as the single run, inputs_failed where inputs had failed;
/// data_refused if the shards do not make a whole; then nothing is written.
int merge(const MergeOptions& options);

}  // namespace gpuhist::app
