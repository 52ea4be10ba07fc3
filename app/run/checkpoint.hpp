/// What `--resume` needs: how far an interrupted run had come, with everything before that on disk.
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

struct Journal {
    std::string temporary;     ///< what the names of the run's temporary files begin with
    int pass = 1;              ///< 2: images are normalised by the tables of the whole set
    bool complete = false;     ///< nothing is left to do but to give files their names
    std::uint64_t inputs = 0;  ///< done in this pass, of all that are listed
    std::string paths_hash;    ///< of these
    std::uint64_t images = 0;  ///< measured
    std::uint64_t rows_bytes = 0, errors_bytes = 0, values_bytes = 0, bad_bytes = 0;  ///< of the files that grow
    /// Standard output where it is a file: which, and how long it was.
    struct Output {
        std::uint64_t device = 0, file = 0, bytes = 0;
    };
    std::optional<Output> standard_output;
    std::map<std::string, std::uint64_t> errors;  ///< by kind
    io::Part part;                                ///< what was found; of a run that is not shared out part 1 of 1
};

/// Replaces the file so that, whatever happens, it is the old one or the new one. Throws IoError.
void save_journal(const std::filesystem::path& path, const Journal& journal);

/// With the file of values, which then goes on where it was. Throws IoError where the journal is there and is none, or
/// the values are not. Absent where there is no journal.
std::optional<Journal> load_journal(const std::filesystem::path& path,
                                    const std::shared_ptr<io::FrequencyFile>& values);

/// What the names of that run's temporary files begin with, of one that nobody goes on with. Throws and is absent as
/// `load_journal`.
std::optional<std::string> load_temporary_prefix(const std::filesystem::path& path);

/// Makes sure that a file, or the names in a directory, are on disk. Throws IoError.
void make_durable(const std::filesystem::path& path);

}  // namespace gpuhist::app
