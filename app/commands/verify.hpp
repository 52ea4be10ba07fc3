/// `gpuhist verify`: whether results still hold for the images that they are of.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "run/options.hpp"

namespace gpuhist::app {

struct VerifyOptions {
    std::vector<std::string> directories;  ///< with the results of a run: one
    std::optional<std::uint64_t> sample;   ///< images that are measured; absent: all
    std::uint64_t seed = 1;                ///< by which these are chosen
    Options run;                           ///< those of the run that change numbers, and the engine
    bool notes = true;
};

/// Measures the images of results again, and prints the rows that differ, the images that are gone, and those that
/// fail. Returns an ExitCode: policy_broken if there are any; data_refused if the results cannot be read, or were made
/// with other options.
int verify(const VerifyOptions& options);

}  // namespace gpuhist::app
