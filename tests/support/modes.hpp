// Modes of normalization, all of them, for the tests that go through them.
#pragma once

#include <array>
#include <iterator>
#include <string>

#include "gpuhist/normalize.hpp"

namespace gpuhist::test {

inline constexpr auto all_modes = [] {
    std::array<NormalizeMode, std::size(all_normalize_modes)> modes{};
    for (std::size_t i = 0; i < modes.size(); ++i) modes[i] = all_normalize_modes[i].mode;
    return modes;
}();

/// Names as messages list them: with commas between.
inline std::string mode_names() {
    std::string names;
    for (NormalizeMode mode : all_modes) names.append(names.empty() ? "" : ", ").append(to_string(mode));
    return names;
}

}  // namespace gpuhist::test
