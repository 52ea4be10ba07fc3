// Classes of samples on the GPU: which of them are valid by the rules of a request. Plain C++.
#pragma once

#include <cstdint>

#include "core/portable.hpp"
#include "cuda/host/parameters.hpp"
#include "rules/classes.hpp"

namespace gpuhist::cuda {

/// Rules of a request for an image's samples, as rules::ImageRules, which launches carry with them.
struct ClassRules {
    static constexpr int most_rules = 8, most_values = 64;

    /// Rule: a sample is nodata that is one of some values, or lies outside a closed interval.
    struct Rule {
        double lowest, highest;
        std::int32_t first, last;  ///< values [first, last)
        bool nan;                  ///< NaN is nodata
    };
    Rule rules[most_rules];
    double values[most_values];
    std::uint8_t rule_of[most_channels];  ///< by position in the pixel
    std::int32_t channels, colors;        ///< of a pixel; of which luma is made
    std::int32_t kept;                    ///< channels but alpha where that is left out
    bool any;                             ///< some sample may be nodata
    bool nodata_any;                      ///< then its pixel's others are too
    rules::AlphaMask alpha_mask;

    /// Verdict on a value: whether it stands for no data, as rules::SampleRule::names.
    GPUHIST_HD bool names(int position, double value) const {
        const Rule& rule = rules[rule_of[position]];
        if (value != value) return rule.nan;
        bool named = false;
        for (std::int32_t i = rule.first; i < rule.last; ++i) named = named || value == values[i];
        return named;
    }
    GPUHIST_HD bool is_nodata(int position, double value) const {
        const Rule& rule = rules[rule_of[position]];
        if (value != value) return rule.nan;
        bool nodata = value < rule.lowest || value > rule.highest;
        for (std::int32_t i = rule.first; i < rule.last; ++i) nodata = nodata || value == values[i];
        return nodata;
    }
};

/// Outputs for an image. The counts are added to the sums.
struct ClassOutput {
    void* copy;           ///< floats: packed samples, NaN for excluded ones; or null
    std::int32_t copied;  ///< channels of it: those that are kept, or all, of which the others are NaN
    std::uint8_t* mask;   ///< packed, one byte per pixel, 1 where it is not masked; or null
    std::uint64_t also;   ///< one bit per position in the pixel: nor nodata there
    rules::ClassCounts* sums;
    std::uint8_t nodata = 0;  ///< byte of the mask for those
};

/// Enqueues that an image's samples are sorted into classes. Throws CudaError; does not synchronize.
void launch_classes(const Image& image, Depth depth, const Mask& mask, const ClassRules& rules, const ClassOutput& to,
                    const Launch& launch);

/// Results of a request with rules, of one image, as they are put together of others.
struct ValidParameters {
    Common common;  ///< results: where they go
    ClassRules rules;
    std::int32_t channels;
    bool substituted;                ///< of a copy with NaN, of which the sums tell how many stand for others
    bool without_alpha;              ///< which is not measured
    const char* found;               ///< what was found of the unmasked pixels
    const char* found_luma;          ///< of those of which no color is nodata, for luma; or null: it is in `found`
    const rules::ClassCounts* sums;  ///< of what was made; null where nothing was
    std::uint32_t* arrived;          ///< zero before and after
};

/// Enqueues the writing of a result from those of counting launches before it: nodata of integers are taken out by
/// value, NaN that stand for other samples are not NaN. One that is to have tables is not `ready` yet. Throws
/// CudaError; does not synchronize.
void launch_valid_result(const ValidParameters& parameters, const Launch& launch);

}  // namespace gpuhist::cuda
