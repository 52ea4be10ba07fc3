/// `gpuhist compare`: how far the samples of two sets, or of many images, are apart.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace gpuhist::app {

struct CompareOptions {
    std::vector<std::string> sets;  ///< the reference, and what is compared with it; with `each` also one alone
    std::filesystem::path output = "gpuhist-out";
    bool each = false;                   ///< the images of the second set, or, of one set, each with each
    std::optional<double> at_most;       ///< distance above which pairs of images are left out
    std::string metric = "wasserstein";  ///< column of that distance
    bool by_directory = false;           ///< directories of the same name are compared too
    std::string policy;                  ///< a file with limits, if it has a name
    bool print_policy = false;           ///< and nothing else
    std::string format = "table";        ///< of standard output
    std::string engine = "auto";         ///< that measures images
    bool force = false;                  ///< files that gpuhist did not write are replaced
    bool notes = true;
};

/// Writes comparison.csv, and comparison.svg for two sets, prints a line per channel, and errors on standard error.
/// Returns an ExitCode: policy_broken if a number is outside of the limits of a policy; data_refused if sets have no
/// channel in common, or counts are missing; then nothing is written.
int compare(const CompareOptions& options);

}  // namespace gpuhist::app
