/// Checkpoints, for `--resume`: the progress of an interrupted run; everything before it is on disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "gpuhist/io/frequency_file.hpp"
#include "gpuhist/io/shard.hpp"
#include "run/row_file.hpp"

namespace gpuhist::app {

/// State of a run between two inputs.
struct Checkpoint {
    int pass = 1;                           ///< 2: images are normalized by the tables of the whole set
    bool complete = false;                  ///< nothing is left to do but to give files their names
    std::uint64_t inputs = 0;               ///< done in this pass, of all that are listed
    std::uint64_t own_inputs = 0;           ///< inputs of this shard among them
    bool from_directory = false;            ///< at least one input is
    bool printed = false;                   ///< rows or tables were printed
    std::string paths_hash;                 ///< of the inputs done
    std::string stamps_hash;                ///< of the sizes and times of those of them that are this shard's
    std::string beside_hash;                ///< of what else their stamps say: masks, and when they were changed
    std::uint64_t time = 0;                 ///< when this was so: nanoseconds since 1970
    std::uint64_t images = 0;               ///< measured
    std::map<std::string, Extent> extents;  ///< of the files that grow, by name
    std::uint64_t frequency_bytes = 0;      ///< of that of values, whose runs have their checksums in `shard`
    /// Standard output where it is a file: which, and where that begins which may be printed again.
    struct Output {
        std::uint64_t device = 0, file = 0, bytes = 0;
    };
    std::optional<Output> standard_output;
    std::map<std::string, std::uint64_t> errors;  ///< by kind
    std::map<std::string, std::uint64_t> files;   ///< about images, by what their names end in
    /// Copies of the pages of a file that become one file.
    struct Stack {
        std::string name;                  ///< of that file, without its end
        std::uint64_t index = 0;           ///< of the input
        bool whole = false;                ///< `pages` are all pages of the input
        std::uint64_t count = 0;           ///< of the pages of the input
        std::vector<std::uint64_t> pages;  ///< wanted as copies, from 1
    };
    std::vector<Stack> stacks;  ///< kept on disk if the run is complete; else skipped inputs give them again
    io::Shard shard;            ///< what was found; of a run that is not shared out shard 1 of 1
};

/// Replaces the file so that, whatever happens, it is the old one or the new one. Long runs of values lie in
/// `frequencies`. Throws IoError.
void save_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint,
                     const io::FrequencyFile& frequencies);

/// Reads a checkpoint, and resumes the frequency file at its place. Throws IoError if the file is not a checkpoint, or
/// is damaged, or if the frequency file differs from it. Absent if there is no checkpoint.
std::optional<Checkpoint> load_checkpoint(const std::filesystem::path& path,
                                          const std::shared_ptr<io::FrequencyFile>& frequencies);

}  // namespace gpuhist::app
