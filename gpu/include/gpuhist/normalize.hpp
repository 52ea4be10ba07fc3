/// Normalized copies: the modes, and the tables that map the stored values to the written ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gpuhist/image.hpp"
#include "gpuhist/request.hpp"

namespace gpuhist {

/// Modes of normalization. lo and hi are the chosen extremes, top is the highest value of the type (1 for floats), and
/// n is the number of samples. For signed integers, v and top are distances from the lowest value.
///   minmax      (v − lo) · top / (hi − lo), with lo and hi the smallest and the largest value. Exact in integers, with
///               halves rounded up; floats are computed in double and rounded once. u8 equals
///               cv::normalize(NORM_MINMAX), except at exact halves; in u16, OpenCV computes in f32 and may be off by
///               one.
///   percentile  the minmax formula, with lo and hi two nearest-rank percentiles (the smallest v with
///               cum(v) ≥ ceil(q n), at least 1; numpy's method inverted_cdf), and clamped. If the two are equal, the
///               image does not change. scikit-image's rescale_intensity truncates where this rounds.
///   equalize    with i0 the first non-empty bin and scale = top / (n − h[i0]) in float,
///               rint(float(Σ h[i0+1..v]) · scale); bit for bit cv::equalizeHist on 8-bit gray. Joint: the table of the
///               luma histogram for every channel. f32: 65536 equal bins over the finite range of colors and luma, and
///               results in [0, 1]; a population within one bin does not change. u32, s32: Σ · top / (n − h[i0]) in
///               whole numbers, with halves rounded up; f16, f64: Σ / (n − h[i0]) in double.
///   zscore      (v − mean) / std in double, rounded to f32, but not for u32, s32 and f64. std is that of the
///               population.
/// A constant channel does not change (zscore: it becomes 0), and neither does a channel without a finite sample. NaN
/// stays NaN; ±Inf follow the formula in IEEE arithmetic.
///
/// Copies of another depth than that of the mode (`Normalization::depth`):
///   integers to integers    the same formulas with the top of the other type, so nothing is rounded twice
///   integers to floats      minmax and percentile as for floats with these values; equalize to f32
///                           float(Σ h[i0+1..v]) · (1 / (n − h[i0])), at most 1; to f16 and f64 as for these types
///   f32 to others           the copy in f32, converted
///   f16 and f64 to others   the number in double, converted
/// Samples that do not change, and alpha, are converted: v · top / (top of v's type), to integers with halves rounded
/// up. Floats have top 1, are clamped to [0, 1] before, including ±Inf, and NaN becomes the lowest value.
///
/// Excluded samples (request.hpp): nodata is never mapped by a table. A sample with a value of Validity::nodata, masked
/// or not, keeps its value in a copy of the depth of its image. In a copy of another depth, it becomes NaN in floats
/// and 0 in integers. With Validity::nodata_any, the other samples of its pixel are treated in the same way.
/// Normalization::valid_only decides about samples that a mask, alpha or Validity::valid excludes. Normalization::fill
/// replaces nodata. None of this applies to alpha, but in copies of another depth, alpha is 0 if its pixel has an
/// excluded sample.
enum class NormalizeMode : std::uint8_t { minmax, percentile, equalize, zscore };

/// Findings that a mode needs to make its table.
enum class NormalizeNeeds : std::uint8_t {
    nothing,   ///< no findings: the table is made on the host and is the same for all images. Sets have no table,
               ///< and GPUs write no copies
    extremes,  ///< smallest and largest value
    ranks,     ///< values at the two nearest ranks; f32 is then analyzed in full
    mean_std,  ///< mean and std of the population
    counts,    ///< all counts; f32: over equal bins
};

/// Facts of a mode: one row of the table of modes. All code that depends on a mode asks here. The formulas of a mode
/// are in one file of gpu/normalize.
struct NormalizeTraits {
    NormalizeMode mode;
    const char* name;  ///< in files and options
    NormalizeNeeds needs;
    bool joint_by_luma;  ///< a joint table: luma decides for all colors; else the colors together, as one population
    bool real;           ///< whether the copy holds real numbers, of depth DepthTraits::real; else the depth stays
    /// Whether the new value of a sample depends on its place. Such a mode needs the whole image, of 8- or 16-bit
    /// integers. It `needs` nothing, and cpu/normalize.cpp calls its writer.
    bool by_place;
};

inline constexpr NormalizeTraits all_normalize_modes[] = {
    {NormalizeMode::minmax, "minmax", NormalizeNeeds::extremes, false, false, false},
    {NormalizeMode::percentile, "percentile", NormalizeNeeds::ranks, false, false, false},
    {NormalizeMode::equalize, "equalize", NormalizeNeeds::counts, true, false, false},
    {NormalizeMode::zscore, "zscore", NormalizeNeeds::mean_std, false, true, false},
};

/// Row of a mode in the table. The mode must be one of the enumeration.
constexpr const NormalizeTraits& traits_of(NormalizeMode mode) {
    return all_normalize_modes[static_cast<std::size_t>(mode)];
}

/// Returns whether copies of a depth by a mode need all pixels together, so that strips cannot be copied.
constexpr bool needs_whole(Depth depth, NormalizeMode mode) {
    const Counting counting = traits_of(depth).counting;
    return counting == Counting::sorted || traits_of(mode).by_place ||
           (counting == Counting::bins && traits_of(mode).needs == NormalizeNeeds::counts);
}

/// Name of a mode in files and options.
constexpr const char* to_string(NormalizeMode mode) {
    return traits_of(mode).name;
}

/// Mode with this name; absent if there is none.
constexpr std::optional<NormalizeMode> normalize_mode(std::string_view name) {
    for (const NormalizeTraits& traits : all_normalize_modes)
        if (name == traits.name) return traits.mode;
    return std::nullopt;
}

/// Normalization: a mode and its parameters.
struct Normalization {
    NormalizeMode mode = NormalizeMode::minmax;
    /// Ends of the percentile mode, in percent: 0 ≤ low < high ≤ 100, resolved to 1e-6 percent.
    double low = 1;
    double high = 99;
    bool joint = true;  ///< one table for all color channels, which keeps their hue; false: one table per channel
    std::optional<Depth> depth{};  ///< depth of the copy; absent: that of the mode. zscore: floats only
    /// Rule for samples that are excluded, but not nodata by value. If true, they keep their values, which needs a copy
    /// of the depth of the image. If false, the table of the valid samples maps them too, or, in a copy of another
    /// depth, they are 0, or `fill` if it is set.
    bool valid_only = false;
    /// Value that stands for nodata in the copy, also in a copy of the depth of the image. In integers it is the lowest
    /// or the highest value of the type. Then no other sample has this value: tables use the other levels, a sample
    /// that keeps its value gets the nearest of these levels, and NaN becomes this value too. In floats it is any
    /// value.
    std::optional<double> fill{};
};

/// Parameter of a mode, with one number or two: a row of the table of parameters. Options, keywords of Python, checks
/// and fingerprints follow from it.
struct NormalizeParameter {
    const char* name;  ///< option --name, and keyword in Python, there with _ for -
    NormalizeMode mode;
    double Normalization::*first;
    double Normalization::*second;  ///< null if there is one number
    double least, most;
    bool whole;          ///< whether the numbers must be whole
    bool ascending;      ///< whether the first number must be less than the second
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
     "0 <= low < high <= 100", "LO,HI", "0 <= LO < HI <= 100", "Percentiles to stretch between [1,99]"},
};

/// Value that stands for nodata in copies of a depth; floats are rounded to the nearest. Absent if copies of the depth
/// cannot use it: in integers, only the lowest and the highest value are possible.
std::optional<double> fill_in(Depth copy, double value);
/// Reason why copies of a depth cannot use this value, in words; empty if they can.
std::string fill_refusal(Depth copy, double value);

/// Writes the excluded samples of an image into its copy, according to a normalization. Both are in host memory and do
/// not overlap. Call it after `apply_luts`, with the `fill` of the LUTs; `Engine::normalize` has already done it.
/// Throws InvalidArgument for views that do not fit together, and for a `fill` that the copy cannot hold.
void settle_copy(const ImageView& image, const AnalysisRequest& request, const Normalization& normalization,
                 const MutableImageView& output, int threads = 1);
/// As above, without a `fill`.
void settle_copy(const ImageView& image, const AnalysisRequest& request, bool valid_only,
                 const MutableImageView& output, int threads = 1);

/// Default depth of the normalized image: that of the input. For zscore it is f32, or f64 if the input is u32, s32 or
/// f64; alpha is then converted, and otherwise copied.
constexpr Depth normalized_depth(Depth input, NormalizeMode mode) {
    return traits_of(mode).real ? traits_of(input).real : input;
}

/// Depth of the normalized image, by request or by default.
constexpr Depth normalized_depth(Depth input, const Normalization& normalization) {
    return normalization.depth.value_or(normalized_depth(input, normalization.mode));
}

}  // namespace gpuhist
