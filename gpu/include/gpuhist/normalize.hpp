/// Normalized copies: which table maps the stored values to the written ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "gpuhist/image.hpp"
#include "gpuhist/request.hpp"

namespace gpuhist {

/// Modes of normalization. With lo and hi the chosen extremes, top the type's highest value (1 for floats), n the
/// number of samples; what is said of v and top holds for signed integers of their distances from the lowest value:
///   minmax      (v − lo) · top / (hi − lo), lo and hi the smallest and largest value; integers exact, halves rounded
///   up;
///               floats in double, rounded once. As cv::normalize(NORM_MINMAX) but for exact halves.
///   percentile  the minmax formula between two nearest-rank percentiles (smallest v with cum(v) ≥ ceil(q n), at least
///               1), clamped; where the two are equal the image is left as it is.
///   equalize    i0 the first non-empty bin, scale = top / (n − h[i0]) in float,
///               rint(float(Σ h[i0+1..v]) · scale); bit for bit cv::equalizeHist on 8-bit gray. Joint: the table of the
///               luma histogram on every channel. f32: 65536 equal bins over the finite range of colors and luma,
///               result in [0, 1]; a population within one bin is left as it is. u32, s32: Σ · top / (n − h[i0]) in
///               whole numbers, halves rounded up; f16, f64: Σ / (n − h[i0]) in double.
///   zscore      (v − mean) / std in double, rounded to f32, of u32, s32 and f64 not at all; std is the population's.
/// A constant channel is left as it is (zscore: becomes 0), and so is one without a finite sample. NaN stays NaN; ±Inf
/// follow the formula in IEEE arithmetic.
///
/// Copies of another depth than these (`Normalization::depth`), zscore's of other floats:
///   integers to each other  the same formulas with the other type's top, at once: nothing is rounded twice
///   integers to floats      minmax and percentile as of floats of these values; equalize to f32
///                           float(Σ h[i0+1..v]) · (1 / (n − h[i0])), at most 1, to f16 and f64 as theirs
///   f32 to others           the copy in f32, brought to the depth
///   f16 and f64 to others   the number in double, brought to the depth
/// What is left as it is, and alpha, is brought to the depth: v · top / (top of v's type), to integers with halves
/// rounded up; floats have top 1, are clamped to [0, 1] before, ±Inf too, and NaN becomes the lowest value.
enum class NormalizeMode : std::uint8_t { minmax, percentile, equalize, zscore };

/// Findings from which a mode's table follows.
enum class NormalizeNeeds : std::uint8_t {
    nothing,   ///< the same for all images, and made on the host: there is no table of a set, and GPUs write no copies
    extremes,  ///< the smallest and the largest value
    ranks,     ///< the values at the two nearest ranks; f32 is then analyzed in full
    mean_std,  ///< mean and population std
    counts,    ///< all counts; f32: over equal bins
};

/// Mode's facts, one row of a table: whatever depends on the mode asks here. Its formulas are in one file of
/// gpu/normalize.
struct NormalizeTraits {
    NormalizeMode mode;
    const char* name;  ///< in files and options
    NormalizeNeeds needs;
    bool joint_by_luma;  ///< joint: the luma row decides for all colors; else the colors together, as one population
    bool real;           ///< the copy holds real numbers, of depth DepthTraits::real; else the depth stays
    /// What becomes of a sample depends on its place: the whole image is needed, of 8- or 16-bit integers, and
    /// cpu/normalize.cpp calls a writer. It `needs` nothing.
    bool by_place;
};

inline constexpr NormalizeTraits all_normalize_modes[] = {
    {NormalizeMode::minmax, "minmax", NormalizeNeeds::extremes, false, false, false},
    {NormalizeMode::percentile, "percentile", NormalizeNeeds::ranks, false, false, false},
    {NormalizeMode::equalize, "equalize", NormalizeNeeds::counts, true, false, false},
    {NormalizeMode::zscore, "zscore", NormalizeNeeds::mean_std, false, true, false},
};

/// Row of a mode. A value outside the enumeration is not allowed.
constexpr const NormalizeTraits& traits_of(NormalizeMode mode) {
    return all_normalize_modes[static_cast<std::size_t>(mode)];
}

/// Verdict on copies of a depth by a mode: whether all pixels are needed together, so that there are none of strips.
constexpr bool needs_whole(Depth depth, NormalizeMode mode) {
    const Counting counting = traits_of(depth).counting;
    return counting == Counting::sorted || traits_of(mode).by_place ||
           (counting == Counting::bins && traits_of(mode).needs == NormalizeNeeds::counts);
}

/// Name in files and options.
constexpr const char* to_string(NormalizeMode mode) {
    return traits_of(mode).name;
}

/// Mode of this name; absent where there is none.
constexpr std::optional<NormalizeMode> normalize_mode(std::string_view name) {
    for (const NormalizeTraits& traits : all_normalize_modes)
        if (name == traits.name) return traits.mode;
    return std::nullopt;
}

/// Normalization that is asked for.
struct Normalization {
    NormalizeMode mode = NormalizeMode::minmax;
    double low = 1;  ///< percentile: in percent, 0 ≤ low < high ≤ 100, resolved to 1e-6 percent
    double high = 99;
    bool joint = true;  ///< one table for all color channels, so that colors keep their hue; false: one per channel
    std::optional<Depth> depth{};  ///< of the copy; absent: the mode's. zscore: floats
    /// Excluded samples (request.hpp) stay as they are; else the table that the valid ones make maps them too. In a
    /// copy of another depth, where this may not be asked, they are 0, and the alpha of their pixels too.
    bool valid_only = false;
};

/// Parameter of a mode, one number or two, a row of a table: options, keywords of Python, checks and fingerprints loop
/// over it.
struct NormalizeParameter {
    const char* name;  ///< option --name, and keyword in Python, there with _ for -
    NormalizeMode mode;
    double Normalization::*first;
    double Normalization::*second;  ///< null where it is one number
    double least, most;
    bool whole;          ///< whole numbers
    bool ascending;      ///< the first is less than the second
    const char* limits;  ///< in messages
    const char* unit;    ///< the option's argument
    const char* unit_limits;
    const char* help;

    bool admits(const Normalization& of) const {
        const auto fits = [&](double v) {
            return v >= least && v <= most && (!whole || v == static_cast<double>(static_cast<std::int64_t>(v)));
        };
        return fits(of.*first) && (!second || (fits(of.*second) && (!ascending || of.*first < of.*second)));
    }
};

inline constexpr NormalizeParameter all_normalize_parameters[] = {
    {"percentiles", NormalizeMode::percentile, &Normalization::low, &Normalization::high, 0, 100, false, true,
     "0 <= low < high <= 100", "LO,HI", "0 <= LO < HI <= 100", "Between which percentiles to stretch [1,99]"},
};

/// Writes in a copy of an image what becomes of its excluded samples, both in host memory: as
/// Normalization::valid_only says. `Engine::normalize` has done so; copies by LUTs have not. Throws InvalidArgument for
/// views that do not fit together.
void settle_copy(const ImageView& image, const AnalysisRequest& request, bool valid_only,
                 const MutableImageView& output, int threads = 1);

/// Depth of the normalized image where none is asked for: that of the input; for zscore f32, of u32, s32 and f64 f64.
/// Alpha is then copied (zscore: converted).
constexpr Depth normalized_depth(Depth input, NormalizeMode mode) {
    return traits_of(mode).real ? traits_of(input).real : input;
}

/// Depth of the normalized image.
constexpr Depth normalized_depth(Depth input, const Normalization& normalization) {
    return normalization.depth.value_or(normalized_depth(input, normalization.mode));
}

}  // namespace gpuhist
