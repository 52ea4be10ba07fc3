/// What `--resume` needs: how far an interrupted run had come, with everything before that on disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gpuhist/pool.hpp"

namespace gpuhist::app {

struct Journal {
    std::map<std::string, std::string> options;  ///< all that changes results, by the names of the options
    std::int64_t process = 0;        ///< whose temporary files may be left
    bool complete = false;           ///< nothing is left to do but to give files their names
    std::uint64_t inputs = 0;        ///< done, of all that are listed
    std::uint64_t images = 0;        ///< measured, of these
    std::string paths_hash;          ///< of these inputs
    std::uint64_t stats_bytes = 0, errors_bytes = 0;
    /// Standard output where it is a file: which, and how long it was.
    struct Output {
        std::uint64_t device = 0, file = 0, bytes = 0;
    };
    std::optional<Output> standard_output;
    std::map<std::string, std::uint64_t> errors;  ///< by kind
    std::map<std::string, Pool> pools;            ///< by group
};

/// Replaces the file so that, whatever happens, it is the old one or the new one. Throws IoError.
void save_journal(const std::filesystem::path& path, const Journal& journal);

/// Throws IoError where the file is there and is no journal. Absent where there is no file.
std::optional<Journal> load_journal(const std::filesystem::path& path);

/// Any bytes as text that JSON can hold.
std::string escape_bytes(const std::string& bytes);
std::string unescape_bytes(const std::string& text);

/// Makes sure that a file, or the names in a directory, are on disk. Throws IoError.
void make_durable(const std::filesystem::path& path);

}  // namespace gpuhist::app
