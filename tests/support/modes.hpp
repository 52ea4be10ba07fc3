// Modes of normalization, for the tests that go through them.
#pragma once

#include <string>
#include <vector>

#include "gpuhist/normalize.hpp"

namespace gpuhist::test {

/// Rows of the exact modes, for which tests have oracles of integers.
inline std::vector<NormalizeTraits> exact_modes() {
    std::vector<NormalizeTraits> modes;
    for (const NormalizeTraits& traits : all_normalize_modes)
        if (traits.kind == NormalizeKind::exact) modes.push_back(traits);
    return modes;
}

inline constexpr NormalizeMode all_exact_modes[] = {NormalizeMode::minmax, NormalizeMode::percentile,
                                                    NormalizeMode::equalize, NormalizeMode::zscore};

/// Names as messages list them: with commas between.
inline std::string mode_names() {
    std::string names;
    for (const NormalizeTraits& traits : all_normalize_modes)
        names.append(names.empty() ? "" : ", ").append(traits.name);
    return names;
}

}  // namespace gpuhist::test
