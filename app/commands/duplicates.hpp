/// `gpuhist duplicates`: which images of results are the same, or nearly the same.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace gpuhist::app {

struct DuplicatesOptions {
    std::vector<std::string> results;  ///< directories with quality.csv
    std::filesystem::path output = "gpuhist-out";
    std::string hash = "dhash";  ///< column of the hashes of similar images
    int distance = 4;            ///< most bits in which these differ
    /// Two sets, only between which duplicates are looked for: results, or directories of images. Or none.
    std::vector<std::string> between;
    bool force = false;  ///< files that gpuhist did not write are replaced
    bool notes = true;
};

/// Writes groups.csv, and errors to standard error. Returns an ExitCode: data_refused if results have no hashes; then
/// nothing is written.
int find_duplicates(const DuplicatesOptions& options);

}  // namespace gpuhist::app
