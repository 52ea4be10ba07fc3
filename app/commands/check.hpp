/// `gpuhist check`: compares constants of normalization with a set.
#pragma once

#include <string>
#include <vector>

namespace gpuhist::app {

struct CheckOptions {
    std::vector<std::string> inputs;  ///< a file with mean and std, and images, a directory of images, or results
    std::string engine = "auto";      ///< that measures images
    bool notes = true;
};

/// Compares the constants with the numbers of the set, and prints what they are. Says on standard error why it cannot.
/// Returns an ExitCode: policy_broken if the constants do not fit the set; data_refused if there are none, or the
/// set has other channels.
int check_constants(const CheckOptions& options);

}  // namespace gpuhist::app
