// Plan: the list of passes that measure an image. It is made without pixels, from the facts of the image, the request,
// the normalization and the abilities of a backend.
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

/// Accumulator for the samples of a depth. A backend may also sort samples of 8 and 16 bits.
constexpr Accumulator accumulator_of(Depth depth, const Abilities& abilities) {
    const Counting counting = traits_of(depth).counting;
    if (counting == Counting::bins) return Accumulator::bins;
    return counting == Counting::sorted || abilities.sorts_all ? Accumulator::sorted : Accumulator::values;
}

/// Pixels that a pass reads.
enum class Pixels : std::uint8_t {
    given,       ///< those of the image, with its mask
    masked,      ///< those of the image, with a mask made from the rules
    substituted  ///< a copy of floats in which NaN stands for excluded samples
};

/// Role of a pass: the use of its findings.
enum class Role : std::uint8_t {
    channels,  ///< channels of the result
    luma,      ///< luma, which is counted in other pixels than the channels
    measures,  ///< `Analysis::measured`
    range,     ///< range of the bins of all later passes
    pooled     ///< order statistics of all samples together
};

/// Percentiles in percent whose nearest ranks a copy of f32 needs, in addition to the reported ones.
struct Stretch {
    double low, high;
};

/// Pass over an image.
struct Pass {
    Role role = Role::channels;
    int first = 0;      ///< position in the pixel of the first channel to read
    int channels = 0;   ///< number of channels to read; 0: all samples as one channel
    bool part = false;  ///< the channels are copied out of the pixels before; else they are read in place
    Pixels pixels = Pixels::given;
    rules::PixelsOf of = rules::PixelsOf::unmasked;  ///< Pixels::masked: the pixels that the mask keeps
    Accumulator accumulator = Accumulator::values;
    AnalysisRequest request{};         ///< without rules, except for Accumulator::weights
    std::optional<Stretch> stretch{};  ///< f32
    bool on_host = false;              ///< the CPU executes the pass in place of the backend
};

/// Rows of an image: all in memory, or strip after strip.
enum class Rows : std::uint8_t { whole, strips };

/// Copy: the part of the engine that writes it.
enum class Copy : std::uint8_t {
    none,
    executor,  ///< executor, rules included
    findings,  ///< CPU, from the findings, or in device memory the copier
    bands      ///< band by band, each as an image of its own, or all samples as one channel
};

/// Plan of an analysis.
struct Plan {
    AnalysisRequest request;     ///< with luma if the copy needs it, without weights that are all equal
    rules::ImageRules rules;     ///< rules of that request
    std::vector<Pass> passes{};  ///< in this order: first Role::range, then luma, then measures
    bool finds_range = false;    ///< passes find the range of the bins of the others
    bool luma_of_copy = false;   ///< luma is only counted for the copy
    std::uint64_t weight = 0;    ///< weight of every sample of an image without alpha; 0: samples have no weights
    Copy copy = Copy::none;

    /// Pass that counts the channels.
    const Pass& main() const { return passes.back().role == Role::pooled ? passes[passes.size() - 2] : passes.back(); }
    bool substituted() const { return main().pixels == Pixels::substituted; }
    bool luma_apart() const;
    bool parts() const { return main().part; }
};

/// Returns whether an image is measured in one pass over its pixels as they are. Such images with the same request can
/// share a launch.
bool is_direct(const ImageView& image, const AnalysisRequest& request, const Normalization* copy);

/// Measures, of some, that a backend finds in an image.
Measures found_by(const Abilities& abilities, const Measures& measures, const ImageView& image, Rows rows);

/// Request without weights, for an image without alpha. Its samples get their weight afterwards.
AnalysisRequest without_weights(AnalysisRequest request);

/// Makes the plan of an analysis, and of a copy if `copy` is not null. Pixels only matter for Rows::whole. Throws
/// InvalidArgument for arguments that break their rules, and the exceptions of `refuse`.
Plan make_plan(const ImageView& image, const AnalysisRequest& request, const Normalization* copy, Rows rows,
               const Abilities& abilities);

/// Passes that leave out the excluded samples of an image that a backend sweeps: one for luma if it needs its own, and
/// one for the channels.
std::vector<Pass> passes_of(const ImageView& image, const rules::ImageRules& rules, const AnalysisRequest& request,
                            const Abilities& abilities);

/// Returns whether the channels of an image are measured apart. Four channels are swept together, except for a fourth
/// band of f32, which must not enter the order statistics of all colors, or a copy, which would treat it as alpha.
bool is_by_parts(const ImageView& image, bool copied);

/// Returns whether the copy of an image is made band by band. `valid` says whether all its samples are valid.
bool copies_bands(const ImageView& image, bool valid);

/// Returns whether luma is counted: if the request asks for it, or if it decides about the copy.
bool needs_luma(const AnalysisRequest& request, const Normalization& copy);

}  // namespace gpuhist::plan
