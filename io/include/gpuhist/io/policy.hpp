/// Policies: thresholds of flags, and the rules that a set of images must obey. Users write them as JSON files.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpuhist/flags.hpp"

namespace gpuhist::io {

/// Rules that a set must obey. Absent rules are not checked.
struct GateRules {
    /// Interval for a number of the whole set. Both ends are inside; an absent one is open.
    struct Interval {
        std::string column;
        std::string of;  ///< in `dataset` the channel; in `quality` which number of the column: mean, min or max
        std::optional<double> lowest, highest;

        bool contains(double value) const { return !(lowest && value < *lowest) && !(highest && value > *highest); }
    };
    /// No image of one set may be in another one. A set has the images below a directory of its name.
    struct Leaks {
        std::vector<std::string> between;       ///< names of the sets, two or more
        std::optional<std::uint64_t> distance;  ///< distance of hashes; absent: only equal pixels
    };
    std::optional<std::uint64_t> errors;                    ///< largest number of inputs that failed
    std::array<std::optional<double>, flag_count> flagged;  ///< largest share of images with a flag
    std::vector<Interval> dataset;                          ///< for columns of dataset.csv
    std::vector<Interval> quality;                          ///< for columns of quality.csv, over the images of the set
    std::optional<Leaks> leaks;

    const std::optional<double>& share_of(Flag flag) const { return flagged[static_cast<std::size_t>(flag)]; }
    /// Returns the number of rules.
    std::size_t size() const;
};

/// Limits for the numbers of comparison.csv. An interval of no channel, an empty name, is for each.
using ComparisonRules = std::vector<GateRules::Interval>;

/// Usual limits of drift: an smd from -0.1 to 0.1, a std_ratio from 0.9 to 1.1, and a psi up to 0.1.
ComparisonRules usual_comparison_rules();

struct Policy {
    FlagThresholds flags;
    GateRules gate;
    ComparisonRules compare = usual_comparison_rules();
};

/// Reads the text of a policy. Keys that are left out have their defaults. `name` is for messages. Throws IoError, with
/// the name and the place, if the text is not a policy: for unknown keys, keys that are given twice, wrong types,
/// numbers out of bounds, and rules about flags that are switched off.
Policy parse_policy(std::string_view json, const std::string& name);
/// Reads a file with a policy. Throws IoError.
Policy read_policy(const std::filesystem::path& path);

/// Policy to start from: all defaults, and rules against failed inputs, NaN and duplicates.
Policy first_policy();
/// Text of a policy, with every flag, in several lines.
std::string policy_json(const Policy& policy);
/// Text of a policy without rules, in one line. Equal thresholds give equal texts.
std::string flags_json(const FlagThresholds& flags);

}  // namespace gpuhist::io
