/// Checkpoints: how far an interrupted run had come, with everything before that on disk, for `--resume`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "gpuhist/io/frequency_file.hpp"
#include "gpuhist/io/shard.hpp"

namespace gpuhist::app {

/// State of a run between two inputs.
struct Checkpoint {
    int pass = 1;              ///< 2: images are normalised by the tables of the whole set
    bool complete = false;     ///< nothing is left to do but to give files their names
    std::uint64_t inputs = 0;  ///< done in this pass, of all that are listed
    std::string paths_hash;    ///< of these
    std::uint64_t images = 0;  ///< measured
    std::uint64_t rows_bytes = 0, errors_bytes = 0, frequency_bytes = 0, bad_bytes = 0;  ///< of the files that grow
    /// Standard output where it is a file: which, and how long it was.
    struct Output {
        std::uint64_t device = 0, file = 0, bytes = 0;
    };
    std::optional<Output> standard_output;
    std::map<std::string, std::uint64_t> errors;  ///< by kind
    io::Shard shard;                              ///< what was found; of a run that is not shared out shard 1 of 1
};

/// Replaces the file so that, whatever happens, it is the old one or the new one. Throws IoError.
void save_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint);

/// Reads a checkpoint, and lets the frequency file go on where it was. Throws IoError where the file is there and is no
/// checkpoint, or the frequency file is shorter than it says. Absent where there is none.
std::optional<Checkpoint> load_checkpoint(const std::filesystem::path& path,
                                          const std::shared_ptr<io::FrequencyFile>& frequencies);

}  // namespace gpuhist::app
