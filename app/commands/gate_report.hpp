/// Reports of a gate: lines for people, JUnit XML, and annotations of GitHub.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpuhist/io/policy.hpp"

namespace gpuhist::app {

/// Number in a line, with six digits.
std::string shown(double value);
/// Range of a rule: `0 to 1`, `5 or less`.
std::string range_text(const io::GateRules::Interval& rule);

/// Image, or file, that a rule is about.
struct GateItem {
    std::string path;
    std::string value;  ///< in short
    std::string why;    ///< in words
};

/// Result of a rule.
struct GateResult {
    static constexpr std::size_t most_items = 100;

    std::string rule;                   ///< in words
    std::optional<std::string> broken;  ///< by what, if it is
    std::uint64_t count = 0;            ///< of items
    std::vector<GateItem> items{};      ///< the first of them

    void add(std::string path, std::string value, std::string why);
    void take_items(GateResult& other);
    /// One line: what broke the rule, and the first items.
    std::string line() const;
};

/// Report as JUnit XML: a test case per rule. Bytes that XML cannot hold are replaced by a question mark.
std::string junit_xml(const std::string& directory, const std::vector<GateResult>& results);

/// Commands of GitHub that mark the first items of each broken rule as errors, one per line.
std::string github_annotations(const std::vector<GateResult>& results);

}  // namespace gpuhist::app
