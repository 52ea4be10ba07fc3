/// Files that were written, for a person.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace gpuhist::app {

/// Lines that begin with `wrote`: the names of files in a directory; the number of files about images below it, by
/// suffix; and one line per file elsewhere. Empty if nothing was written.
std::string written_text(const std::filesystem::path& directory, std::vector<std::string> names,
                         const std::map<std::string, std::uint64_t>& below = {},
                         const std::vector<std::filesystem::path>& elsewhere = {});

}  // namespace gpuhist::app
