/// From the arguments to the images, and the names of what is written about each.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace gpuhist::app {

struct Input {
    std::string path;         ///< as given, or as found in a directory that was given; `-` for standard input
    std::string output_name;  ///< relative, with `/` where only the path tells two images apart; no two are the same
    bool from_directory = false;
};

struct Inputs {
    std::vector<Input> images;         ///< in the order of the arguments; what is not there is found out by reading it
    std::vector<std::string> errors;   ///< directories that cannot be read or hold no image
    std::vector<std::string> notes;    ///< inputs that were given twice and are measured once
    std::set<std::string> full_paths;  ///< of all images, absolute, symbolic links of their directories resolved
};

/// The absolute path with the symbolic links of its directory resolved; the file itself need not exist.
std::string full_path(const std::filesystem::path& path);

/// Expands the arguments. Images that lie in `output` are left out of the directories around it: they are results.
Inputs list_inputs(const std::vector<std::string>& arguments, const std::filesystem::path& output);

}  // namespace gpuhist::app
