// Plan: what is done to measure an image, as a list of passes. Made from the facts of the image, the request, the
// normalization and the abilities of a backend, without pixels.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gpuhist/image.hpp"
#include "gpuhist/normalize.hpp"
#include "gpuhist/request.hpp"
#include "plan/abilities.hpp"
#include "rules/classes.hpp"
#include "rules/rules.hpp"

namespace gpuhist::plan {

/// Accumulator: how a pass counts samples.
enum class Accumulator : std::uint8_t {
    values,   ///< a count per value
    bins,     ///< equal bins, moments and order statistics of f32
    sorted,   ///< a count per value that occurs
    weights,  ///< a sum of weights per value
    measures  ///< sums over neighborhoods
};

/// Accumulator for the samples of a depth, of which a backend may sort those of 8 and 16 bits too.
constexpr Accumulator accumulator_of(Depth depth, const Abilities& abilities) {
    const Counting counting = traits_of(depth).counting;
    if (counting == Counting::bins) return Accumulator::bins;
    return counting == Counting::sorted || abilities.sorts_all ? Accumulator::sorted : Accumulator::values;
}

/// Pixels that a pass reads in place of the image's.
enum class Pixels : std::uint8_t {
    given,       ///< the image's, with its mask
    masked,      ///< the image's, with a mask that is made of the rules
    substituted  ///< a copy of floats in which NaN stands for excluded samples
};

/// Role of a pass: what its findings become.
enum class Role : std::uint8_t {
    channels,  ///< channels of the result
    luma,      ///< luma, which is made of other pixels than the channels
    measures,  ///< `Analysis::measured`
    range,     ///< the range of the bins of all passes behind it
    pooled     ///< order statistics of all samples together
};

/// Percentiles, in percent, whose nearest ranks a copy of f32 needs beside the reported ones.
struct Stretch {
    double low, high;
};

/// Pass over an image.
struct Pass {
    Role role = Role::channels;
    int first = 0;      ///< position in the pixel of the first channel that is read
    int channels = 0;   ///< channels that are read; 0: all samples as one channel
    bool part = false;  ///< they are taken out of the pixels before; else all are read where they lie
    Pixels pixels = Pixels::given;
    rules::PixelsOf of = rules::PixelsOf::unmasked;  ///< Pixels::masked: what the mask keeps
    Accumulator accumulator = Accumulator::values;
    AnalysisRequest request{};         ///< without rules, but for Accumulator::weights
    std::optional<Stretch> stretch{};  ///< f32
    bool on_host = false;              ///< the CPU executes it in place of the backend
};

/// Rows of an image: all in memory, or strip after strip.
enum class Rows : std::uint8_t { whole, strips };

/// Copy: who writes it.
enum class Copy : std::uint8_t {
    none,
    executor,  ///< the executor, rules included
    findings,  ///< the CPU, from the findings
    bands      ///< each band as an image of its own, or all samples as one channel
};

/// Plan of an analysis.
struct Plan {
    AnalysisRequest request;     ///< with luma where the copy needs it, without weights that are all equal
    rules::ImageRules rules;     ///< of that request
    std::vector<Pass> passes{};  ///< in this order: those of Role::range come first, then luma, then measures
    bool finds_range = false;    ///< passes find the range of the others' bins
    bool luma_of_copy = false;   ///< luma is counted for the copy alone
    std::uint64_t weight = 0;    ///< of every sample of an image without alpha; 0: samples have none
    Copy copy = Copy::none;

    /// Pass by which the channels are counted.
    const Pass& main() const { return passes.back().role == Role::pooled ? passes[passes.size() - 2] : passes.back(); }
    bool substituted() const { return main().pixels == Pixels::substituted; }
    bool luma_apart() const;
    bool parts() const { return main().part; }
};

/// Verdict on an image: whether it is measured in one pass over the pixels as they are. Images that are asked the
/// same can then share a launch.
bool is_direct(const ImageView& image, const AnalysisRequest& request, const Normalization* copy);

/// Request for an image without alpha, whose samples are weighed afterwards.
AnalysisRequest without_weights(AnalysisRequest request);

/// Makes the plan of an analysis, and of a copy where `copy` is not null. Pixels matter where rows are whole. Throws
/// InvalidArgument for what breaks its rules, and what `refuse` throws.
Plan make_plan(const ImageView& image, const AnalysisRequest& request, const Normalization* copy, Rows rows,
               const Abilities& abilities);

/// Passes by which excluded samples are left out of an image that a backend sweeps: of luma, where it needs one of its
/// own, and of the channels.
std::vector<Pass> passes_of(const ImageView& image, const rules::ImageRules& rules, const AnalysisRequest& request,
                            const Abilities& abilities);

/// Verdict on an image: whether its channels are measured apart. Four channels are swept together, but for a fourth
/// band of f32, which has no part in the order statistics of all colors, and of a copy, where it would be alpha.
bool is_by_parts(const ImageView& image, bool copied);

/// Verdict on an image: whether its copy is made band by band. `valid`: all its samples are valid.
bool copies_bands(const ImageView& image, bool valid);

/// Verdict: whether luma is counted, where it is asked for or where it decides about a copy.
bool needs_luma(const AnalysisRequest& request, const Normalization& copy);

}  // namespace gpuhist::plan
