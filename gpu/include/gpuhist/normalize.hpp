/// Normalized copies: the modes, and the tables that map the stored values to the written ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "gpuhist/frequency_table.hpp"
#include "gpuhist/image.hpp"
#include "gpuhist/request.hpp"

namespace gpuhist {

struct Analysis;

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
/// Curves. x is v as a fraction of the range of its type, from 0 to 1, and for floats v itself. Formulas are computed
/// in double, the same bits on every machine, and rounded once; integers take the nearest level, with halves up.
///   gamma       x^(1/gamma), as ImageMagick's -gamma. skimage.exposure.adjust_gamma has the inverse exponent. Floats
///               below 0 stay.
///   auto-gamma  the gamma that takes the mean of x to 0.5, log(mean) / log(0.5), as ImageMagick's -auto-gamma. A mean
///               of 0 or 1, or outside, changes nothing.
///   levels      clamp((v − level_low) / (level_high − level_low), 0, 1)^(1/gamma), as ImageMagick's -level with levels
///               in units of the samples
///   stretch     f(clamp((v − lo) / (hi − lo), 0, 1)), with f as StretchFunction and lo and hi as StretchInterval. If
///   lo
///               and hi are equal, the image does not change. Within 8 ulp of astropy.visualization.
///   robust      (v − median) / (1.4826 MAD) as floats, with the median of numpy.median and the median distance from
///               it; 0 where MAD is 0
///   match       the histogram becomes that of the reference: the value of the reference at the fraction of samples up
///               to v, interpolated between the fractions of its values, as skimage.exposure.match_histograms; integers
///               are rounded, where it truncates or returns floats. Both must have the same depth.
///   gray-world  v · g / mean, with g the mean of the means of red, green and blue. Each color has its own factor.
///   white-patch v · w / p, with p the nearest-rank percentile `high` of a color, and w the largest of the three
///   threshold   top where v > t, and else 0, with t as ThresholdRule
/// gray-world and white-patch do not change gray images, and colors whose mean or percentile is not over 0; integers
/// are clamped. Signed integers count from their lowest value.
///
/// By place. The copy has the depth of the image, and needs all pixels at once.
///   clahe       contrast-limited adaptive histogram equalization; of u8 and u16 gray without excluded samples bit for
///               bit cv::createCLAHE. Tiles count their valid samples. Colors use the tables of luma, or with
///               joint = false their own.
///   background  v − b, with b the bilinear surface through the medians of the tiles at their centers, constant beyond
///               the outermost centers. Tiles end at floor(i · side / tiles). Integers are rounded, with halves up, and
///               clamped at the lowest value. Each channel has its own surface. Tiles without a valid sample take the
///               median of the medians of the others.
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
enum class NormalizeMode : std::uint8_t {
    minmax,
    percentile,
    equalize,
    zscore,
    gamma,
    auto_gamma,
    levels,
    stretch,
    robust,
    match,
    gray_world,
    white_patch,
    threshold,
    clahe,
    background
};

/// Findings that a mode needs to make its table.
enum class NormalizeNeeds : std::uint8_t {
    nothing,   ///< no findings: the copy follows from the parameters, or from the pixels. Sets have no table
    extremes,  ///< smallest and largest value
    ranks,     ///< values at the two nearest ranks; f32 is then analyzed in full
    mean_std,  ///< mean and std of the population
    counts,    ///< all counts; f32: over equal bins
};

/// Kind of a mode: how the new value of a sample follows.
enum class NormalizeKind : std::uint8_t {
    exact,  ///< by a formula of its own for each type; GPUs make its table or its numbers themselves
    curve,  ///< by a function of the value, in double
    place   ///< by the value and its place in the image
};

/// Facts of a mode: one row of the table of modes. All code that depends on a mode asks here. The formulas of a mode
/// are in one file of gpu/normalize.
struct NormalizeTraits {
    NormalizeMode mode;
    const char* name;      ///< in files and options
    NormalizeNeeds needs;  ///< see needs_of
    NormalizeKind kind;
    bool joint_by_luma;  ///< a joint table: luma decides for all colors; else the colors together, as one population
    bool per_color;      ///< each color has a table of its own, whatever Normalization::joint is
    bool real;           ///< whether the copy holds real numbers, of depth DepthTraits::real; else the depth stays
};

inline constexpr NormalizeTraits all_normalize_modes[] = {
    {NormalizeMode::minmax, "minmax", NormalizeNeeds::extremes, NormalizeKind::exact, false, false, false},
    {NormalizeMode::percentile, "percentile", NormalizeNeeds::ranks, NormalizeKind::exact, false, false, false},
    {NormalizeMode::equalize, "equalize", NormalizeNeeds::counts, NormalizeKind::exact, true, false, false},
    {NormalizeMode::zscore, "zscore", NormalizeNeeds::mean_std, NormalizeKind::exact, false, false, true},
    {NormalizeMode::gamma, "gamma", NormalizeNeeds::nothing, NormalizeKind::curve, false, false, false},
    {NormalizeMode::auto_gamma, "auto-gamma", NormalizeNeeds::mean_std, NormalizeKind::curve, false, false, false},
    {NormalizeMode::levels, "levels", NormalizeNeeds::nothing, NormalizeKind::curve, false, false, false},
    {NormalizeMode::stretch, "stretch", NormalizeNeeds::extremes, NormalizeKind::curve, false, false, false},
    {NormalizeMode::robust, "robust", NormalizeNeeds::counts, NormalizeKind::curve, false, false, true},
    {NormalizeMode::match, "match", NormalizeNeeds::counts, NormalizeKind::curve, true, false, false},
    {NormalizeMode::gray_world, "gray-world", NormalizeNeeds::mean_std, NormalizeKind::curve, false, true, false},
    {NormalizeMode::white_patch, "white-patch", NormalizeNeeds::ranks, NormalizeKind::curve, false, true, false},
    {NormalizeMode::threshold, "threshold", NormalizeNeeds::counts, NormalizeKind::curve, true, false, false},
    {NormalizeMode::clahe, "clahe", NormalizeNeeds::nothing, NormalizeKind::place, false, false, false},
    {NormalizeMode::background, "background", NormalizeNeeds::nothing, NormalizeKind::place, false, false, false},
};

/// Row of a mode in the table. The mode must be one of the enumeration.
constexpr const NormalizeTraits& traits_of(NormalizeMode mode) {
    return all_normalize_modes[static_cast<std::size_t>(mode)];
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

/// Functions of NormalizeMode::stretch, of x from 0 to 1. Parameters are fixed as in astropy.visualization.
enum class StretchFunction : std::uint8_t {
    linear,
    sqrt,
    log,     ///< log(1000 x + 1) / log(1001)
    asinh,   ///< asinh(x / 0.1) / asinh(1 / 0.1)
    sinh,    ///< sinh(3 x) / sinh(3)
    power,   ///< x^power
    sigmoid  ///< from 0 to 1 along 1 / (1 + exp(contrast (midpoint − x))), as ImageMagick's -sigmoidal-contrast
};

/// Intervals of NormalizeMode::stretch.
enum class StretchInterval : std::uint8_t {
    minmax,      ///< the extremes
    percentile,  ///< the nearest-rank percentiles `low` and `high`
    /// IRAF's zscale, as astropy.visualization.ZScaleInterval: a line through 1000 sorted samples. Every k-th valid
    /// sample is taken in the order of the pixels, and for a joint table of the colors in each pixel. Needs all pixels.
    zscale,
    sigma  ///< mean ± sigmas · std
};

/// Thresholds of NormalizeMode::threshold.
enum class ThresholdRule : std::uint8_t {
    otsu,      ///< the threshold of Otsu, as the column otsu; for floats and 32 bits over 256 equal bins between the
               ///< extremes, at the center of a bin, as skimage.filters.threshold_otsu
    triangle,  ///< the threshold of the triangle algorithm, as the column triangle; for floats and 32 bits over such
               ///< bins
    li,        ///< the threshold of Li's cross entropy, as the column li; for floats and 32 bits over such bins
    value      ///< threshold_value
};

/// Image whose histogram NormalizeMode::match gives to copies.
struct NormalizeReference {
    std::shared_ptr<const Analysis> analysis;  ///< with luma, if it has colors
    std::vector<FrequencyTable> values{};      ///< f32: the tables of count_frequencies
};

/// Normalization: a mode and its parameters.
struct Normalization {
    NormalizeMode mode = NormalizeMode::minmax;
    /// Percentiles of the modes percentile and stretch, and of white-patch (`high`), in percent: 0 ≤ low < high ≤ 100,
    /// resolved to 1e-6 percent.
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
    double gamma = 1;                      ///< gamma and levels: above 0
    double level_low = 0, level_high = 0;  ///< levels, in units of the samples: level_low < level_high
    StretchFunction stretch = StretchFunction::linear;
    double power = 2;                     ///< StretchFunction::power: above 0
    double contrast = 3, midpoint = 0.5;  ///< StretchFunction::sigmoid: above 0, and from 0 to 1
    StretchInterval interval = StretchInterval::minmax;
    double sigmas = 3;  ///< StretchInterval::sigma: above 0
    ThresholdRule threshold = ThresholdRule::otsu;
    double threshold_value = 0;       ///< ThresholdRule::value, in units of the samples
    double clip_limit = 40;           ///< clahe: a multiple of the mean count per bin; 0: without a limit
    double tiles_x = 8, tiles_y = 8;  ///< clahe and background: tiles across and down
    bool clip_white = false;          ///< clahe: bins are the values up to `white`, and not all of the type
    std::optional<double> white{};    ///< value that stands for white in the image; absent: the highest of its type
    /// match: the image whose histogram copies get. A gray one stands for each color; a gray image takes the luma of
    /// one with colors.
    std::shared_ptr<const NormalizeReference> reference{};

    friend bool operator==(const Normalization& a, const Normalization& b) {
        const auto fields = [](const Normalization& of) {
            return std::tie(of.mode, of.low, of.high, of.joint, of.depth, of.valid_only, of.fill, of.gamma,
                            of.level_low, of.level_high, of.stretch, of.power, of.contrast, of.midpoint, of.interval,
                            of.sigmas, of.threshold, of.threshold_value, of.clip_limit, of.tiles_x, of.tiles_y,
                            of.clip_white, of.white, of.reference);
        };
        return fields(a) == fields(b);
    }
    friend bool operator!=(const Normalization& a, const Normalization& b) { return !(a == b); }
};

/// Findings that a normalization needs of an image.
constexpr NormalizeNeeds needs_of(const Normalization& of) {
    if (of.mode == NormalizeMode::threshold && of.threshold == ThresholdRule::value) return NormalizeNeeds::nothing;
    if (of.mode != NormalizeMode::stretch) return traits_of(of.mode).needs;
    switch (of.interval) {
        case StretchInterval::minmax:
            return NormalizeNeeds::extremes;
        case StretchInterval::percentile:
            return NormalizeNeeds::ranks;
        case StretchInterval::sigma:
            return NormalizeNeeds::mean_std;
        case StretchInterval::zscale:
            break;
    }
    return NormalizeNeeds::nothing;
}

/// Returns whether a normalization depends on the places of samples, and so needs the whole image.
constexpr bool needs_places(const Normalization& of) {
    return traits_of(of.mode).kind == NormalizeKind::place ||
           (of.mode == NormalizeMode::stretch && of.interval == StretchInterval::zscale);
}

/// Returns whether copies of a depth need all pixels together, so that strips cannot be copied.
constexpr bool needs_whole(Depth depth, const Normalization& of) {
    const Counting counting = traits_of(depth).counting;
    return counting == Counting::sorted || needs_places(of) ||
           (counting == Counting::bins && needs_of(of) == NormalizeNeeds::counts);
}

/// Set of modes.
class NormalizeModes {
  public:
    constexpr NormalizeModes(std::initializer_list<NormalizeMode> modes) {
        for (const NormalizeMode mode : modes) bits_ |= bit(mode);
    }
    constexpr bool has(NormalizeMode mode) const { return (bits_ & bit(mode)) != 0; }

  private:
    static constexpr std::uint32_t bit(NormalizeMode mode) { return std::uint32_t{1} << static_cast<unsigned>(mode); }
    std::uint32_t bits_ = 0;
};

/// Parameter of modes, with one number or two: a row of the table of parameters. Options, keywords of Python, checks
/// and fingerprints follow from it.
struct NormalizeParameter {
    const char* name;  ///< option --name, and keyword in Python, there with _ for -
    NormalizeModes modes;
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
    {"percentiles",
     {NormalizeMode::percentile, NormalizeMode::stretch, NormalizeMode::white_patch},
     &Normalization::low,
     &Normalization::high,
     0,
     100,
     false,
     true,
     "0 <= low < high <= 100",
     "LO,HI",
     "0 <= LO < HI <= 100",
     "Percentiles to stretch between [1,99]"},
    {"gamma",
     {NormalizeMode::gamma, NormalizeMode::levels},
     &Normalization::gamma,
     nullptr,
     0.001,
     1000,
     false,
     false,
     "from 0.001 to 1000",
     "G",
     "from 0.001 to 1000",
     "Gamma: values become v^(1/G) [1]\nAbove 1, the copy is brighter."},
    {"levels",
     {NormalizeMode::levels},
     &Normalization::level_low,
     &Normalization::level_high,
     -1.7976931348623157e308,
     1.7976931348623157e308,
     false,
     true,
     "low < high",
     "LO,HI",
     "LO < HI",
     "Values that become black and white"},
    {"clip-limit",
     {NormalizeMode::clahe},
     &Normalization::clip_limit,
     nullptr,
     0,
     1e9,
     false,
     false,
     "from 0 to 1e9",
     "L",
     "from 0 to 1e9",
     "Highest count per bin of clahe [40]\nA multiple of the mean count. Small limits keep noise low; 0 is no limit."},
    {"tiles",
     {NormalizeMode::clahe, NormalizeMode::background},
     &Normalization::tiles_x,
     &Normalization::tiles_y,
     1,
     256,
     true,
     false,
     "whole numbers from 1 to 256",
     "X,Y",
     "X and Y from 1 to 256",
     "Tiles across and down [8,8]"},
};

/// Parameter of modes, as text: a row of the table of such parameters, from which options, keywords of Python and
/// fingerprints follow.
struct NormalizeWord {
    const char* name;  ///< option --name, and keyword in Python, there with _ for -
    NormalizeModes modes;
    const char* unit;   ///< the option's argument
    const char* words;  ///< that are possible, for messages
    const char* help;
    /// Sets the parameter from a text. Returns false if the text is not possible.
    bool (*set)(Normalization& of, std::string_view text);
    std::string (*text)(const Normalization& of);
};

extern const NormalizeWord all_normalize_words[4];

/// Measures an image in host memory as the reference of NormalizeMode::match, by the validity of a request. Throws
/// InvalidArgument for a view or a request that breaks its rules.
std::shared_ptr<const NormalizeReference> reference_of(const ImageView& image, const AnalysisRequest& request = {});

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

/// Default depth of the normalized image: that of the input. For zscore and robust it is f32, or f64 if the input is
/// u32, s32 or f64; alpha is then converted, and otherwise copied.
constexpr Depth normalized_depth(Depth input, NormalizeMode mode) {
    return traits_of(mode).real ? traits_of(input).real : input;
}

/// Depth of the normalized image, by request or by default.
constexpr Depth normalized_depth(Depth input, const Normalization& normalization) {
    return normalization.depth.value_or(normalized_depth(input, normalization.mode));
}

}  // namespace gpuhist
