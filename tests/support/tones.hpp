// Normalizations by curves, and in other depths than that of the mode, which a GPU makes in launches behind the
// analysis.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "gpuhist/normalize.hpp"

namespace gpuhist::test {

/// All of them, in every depth that a GPU writes.
inline std::vector<Normalization> tones(int channels) {
    std::vector<Normalization> all;
    const auto add = [&](NormalizeMode mode, const auto& more) {
        for (const bool joint : {true, false}) {
            if (channels == 1 && !joint) continue;
            for (const std::optional<Depth> copies : {std::optional<Depth>(), std::optional(Depth::u8),
                                                      std::optional(Depth::u16), std::optional(Depth::f32)}) {
                Normalization& of = all.emplace_back();
                of.mode = mode;
                of.joint = joint;
                of.depth = copies;
                of.gamma = 1.8;
                of.level_low = 0.1;
                of.level_high = 180.5;
                of.high = 90;
                more(of);
            }
        }
    };
    const auto nothing = [](Normalization&) {};
    for (const NormalizeMode mode : {NormalizeMode::gamma, NormalizeMode::auto_gamma, NormalizeMode::levels,
                                     NormalizeMode::gray_world, NormalizeMode::white_patch})
        add(mode, nothing);
    add(NormalizeMode::threshold, [](Normalization& of) {
        of.threshold = ThresholdRule::value;
        of.threshold_value = 0.4;
    });
    for (const auto& [function, interval] : {std::pair(StretchFunction::asinh, StretchInterval::minmax),
                                             {StretchFunction::log, StretchInterval::percentile},
                                             {StretchFunction::sigmoid, StretchInterval::sigma},
                                             {StretchFunction::power, StretchInterval::percentile},
                                             {StretchFunction::sqrt, StretchInterval::sigma},
                                             {StretchFunction::sinh, StretchInterval::minmax}})
        add(NormalizeMode::stretch, [f = function, i = interval](Normalization& of) {
            of.stretch = f;
            of.interval = i;
        });
    for (const NormalizeMode mode : {NormalizeMode::minmax, NormalizeMode::percentile, NormalizeMode::equalize})
        add(mode, nothing);
    return all;
}

/// Some of them, other ones in each turn, behind those that are given.
inline std::vector<Normalization> with_tones(std::vector<Normalization> given, int channels, std::size_t turn) {
    const std::vector<Normalization> all = tones(channels);
    for (std::size_t i = turn % 29; i < all.size(); i += 29) given.push_back(all[i]);
    return given;
}

}  // namespace gpuhist::test
