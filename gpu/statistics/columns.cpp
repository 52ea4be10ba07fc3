#include "gpuhist/columns.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <type_traits>
#include <variant>

#include "gpuhist/compare.hpp"
#include "gpuhist/dataset.hpp"
#include "gpuhist/joint.hpp"
#include "gpuhist/pixel_difference.hpp"
#include "gpuhist/pixel_stack.hpp"

namespace gpuhist {
namespace {

template <class T>
ColumnValue value_of(const std::optional<T>& value) {
    if (!value) return {};
    return *value;
}
ColumnValue value_of(std::uint64_t value) {
    return value;
}
ColumnValue value_of(std::string_view value) {
    return value;
}

/// The value of a field of the row.
template <auto Member>
ColumnValue field(const ColumnRow& row, const Column&) {
    return value_of(row.*Member);
}

/// The value of a text of the row; nothing where it is empty.
template <auto Member>
ColumnValue text(const ColumnRow& row, const Column&) {
    if ((row.*Member).empty()) return {};
    return row.*Member;
}

/// The value of a member of Statistics, a field or a function.
template <auto Member>
ColumnValue statistic(const ColumnRow& row, const Column&) {
    return value_of(std::invoke(Member, *row.statistics));
}

/// The value of a member of Statistics on the 0-1 scale.
template <auto Member>
ColumnValue on_unit_scale(const ColumnRow& row, const Column&) {
    return value_of(unit_scale(row.statistics->*Member, row.white));
}

/// Sum, which is a whole number for integers.
ColumnValue sum(const ColumnRow& row, const Column&) {
    const std::optional<SampleSum>& found = row.statistics->sum;
    if (!found) return {};
    if (const auto* real = std::get_if<double>(&*found)) return *real;
    const Int128& whole = std::get<Int128>(*found);
    if (whole.high == 0) return whole.low;
    return whole;
}

/// The weight: a whole number of samples that are.
ColumnValue weight(const ColumnRow& row, const Column&) {
    const std::optional<double>& found = row.statistics->weight;
    if (found && !traits_of(row.depth).floating && *found < 0x1p64) return static_cast<std::uint64_t>(*found);
    return value_of(found);
}

/// The value of a column's percentile in a list of Statistics.
template <auto Member>
ColumnValue percentile(const ColumnRow& row, const Column& column) {
    for (const Percentile& one : row.statistics->*Member)
        if (one.micro == column.micro) return value_of(one.value);
    return {};
}

constexpr std::uint16_t of_region = 2, of_image = 1 | 2, of_set = 4, of_failure = 8, of_quality = 16,
                        of_set_quality = 32, of_duplicates = 64, of_flag = 128, of_counts = 256, of_comparison = 512,
                        of_same = 1024, of_stack = 2048, of_joint = 4096,
                        everywhere = 7;  // of ColumnFile
constexpr const char *every = "all", *regions = "regions", *finite = "valid samples", *varied = "samples that vary",
                     *one_white = "sets with a single white", *weighted = "weighted images",
                     *measured_sets = "--quality, sets", *comparisons = "comparisons";

/// Names of the depths whose samples are counted in bins of no values.
std::string names_in_bins() {
    return list_depths([](const DepthTraits& depth) { return depth.counting == Counting::bins ? depth.name : ""; }, " ",
                       " ");
}

// Texts about the depths follow from their table.
const std::string types = "The sample type: " + depth_names(" or ") + ".";
const char* const integers = "integers";
const std::string by_value = "all types but " + names_in_bins(),
                  countable = by_value + ", and sets of " + names_in_bins();
const std::string nan_source = "numpy.isnan; 0 for integers", inf_source = "numpy.isinf; 0 for integers";
const char* const what_is_white =
    "Value of white: from --white or the file, otherwise the highest value of the type, or 1 for floats.";
const char* const what_is_centroid = "Mean x and y of the region's pixels, valid or not, in the image.";
const char* const what_is_weighted_centroid =
    "sum v x / sum v and sum v y / sum v over the channel's valid samples v, with exact sums; in weighted images, "
    "alpha v takes the place of v.";
const char* const some_sum = "regions, sum not 0";
const char* const what_is_pixel_size = "Size of a pixel, by OME-XML, ImageJ or GeoTIFF.";
const char* const sized = "TIFFs that say so";
const char* const if_robust = "--robust";
const char* const sigma_clip = "astropy.stats.sigma_clip(maxiters=None)";
const char* const what_clipping_leaves =
    "Mean and std of the samples that sigma clipping leaves: samples below median - k std or above median + k std are "
    "taken out (k = 3, or --clip-sigma), then median and std are computed again, until no sample is taken out.";
const std::string of_white = "integers; sets with a single white";

using Type = ColumnType;

// The table: one line per column. Add new columns at the end, so that readers that go by position still work.

const Column before_percentiles[] = {
    {"group", "none", Type::text,
     "The directory or region whose images are pooled; empty for the whole set. In groups.csv, the number of the "
     "group.",
     "gpuhist", "sets, duplicates, comparisons", of_set | of_set_quality | of_duplicates | of_comparison, false,
     field<&ColumnRow::group>},
    {"path", "none", Type::text, "The input as you gave it; - is standard input.", "gpuhist", "images",
     of_image | of_failure | of_quality | of_duplicates | of_flag | of_counts | of_same | of_joint, false,
     field<&ColumnRow::path>},
    {"region", "none", Type::text, "The label, or the name of the rectangle.", "gpuhist", regions, of_region, false,
     field<&ColumnRow::region>},
    {"x", "pixels", Type::integer, "The left column and the top row of the region's bounding box.",
     "skimage.measure.regionprops", regions, of_region, false, field<&ColumnRow::x>},
    {"y", "pixels", Type::integer, "The left column and the top row of the region's bounding box.",
     "skimage.measure.regionprops", regions, of_region, false, field<&ColumnRow::y>},
    {"width", "pixels", Type::integer, "Width of the image, or of the region's bounding box.", "the decoder", "images",
     of_image, false, field<&ColumnRow::width>},
    {"height", "pixels", Type::integer, "Height of the image, or of the region's bounding box.", "the decoder",
     "images", of_image, false, field<&ColumnRow::height>},
    {"area", "pixels", Type::integer, "Number of pixels in the region, valid or not.", "skimage.measure.regionprops",
     regions, of_region, false, field<&ColumnRow::area>},
    {"depth", "none", Type::text, types.c_str(), "the decoder", every, everywhere | of_set_quality, false,
     [](const ColumnRow& row, const Column&) -> ColumnValue { return to_string(row.depth); }},
    {"channel", "none", Type::text,
     "gray; or red, green, blue, luma (brightness), all (colors and bands pooled) and alpha; or the name of a band. A "
     "band without a name is c0, c1 and so on, or, beside colors, extra1, extra2 and so on.",
     "gpuhist", every, everywhere | of_comparison, true,
     [](const ColumnRow& row, const Column&) -> ColumnValue {
         return row.comparison ? channel_name(*row.comparison) : channel_name(*row.statistics);
     }},
    {"images", "images", Type::integer, "Number of images that the row describes.", "gpuhist", "sets", of_set, true,
     field<&ColumnRow::images>},
    {"pixels", "samples", Type::integer, "Number of samples in the channel: valid + masked + nodata + nan + inf.",
     "width x height", every, everywhere, true, statistic<&Statistics::pixels>},
    {"nan", "samples", Type::integer, "Number of samples that are NaN.", nan_source.c_str(), every, everywhere, true,
     statistic<&Statistics::nan>},
    {"inf", "samples", Type::integer, "Number of samples that are +Inf or -Inf.", inf_source.c_str(), every, everywhere,
     true, statistic<&Statistics::infinite>},
    {"min", "sample value", Type::number, "The lowest valid sample.", "numpy.min", finite, everywhere, true,
     statistic<&Statistics::min>},
    {"max", "sample value", Type::number, "The highest valid sample.", "numpy.max", finite, everywhere, true,
     statistic<&Statistics::max>},
    {"mean", "sample value", Type::number,
     "sum x / n, computed exactly and rounded once (f32: accurate to about 1e-15 of the spread).",
     "numpy.mean to rounding", finite, everywhere, true, statistic<&Statistics::mean>},
    {"std", "sample value", Type::number,
     "Standard deviation of the population: sqrt(n sum x^2 - (sum x)^2) / n, from exact integers.",
     "numpy.std, OpenCV, GDAL, Pillow; not ImageMagick, libvips (n - 1)", finite, everywhere, true,
     statistic<&Statistics::std>},
    {"std_sample", "sample value", Type::number, "Standard deviation with n - 1 in place of n.",
     "numpy.std(ddof=1), ImageMagick, libvips", "two valid samples", everywhere, true,
     statistic<&Statistics::std_sample>},
    {"skewness", "1", Type::number, "Skewness of the population: m3 / m2^1.5, where mk is the k-th central moment.",
     "scipy.stats.skew; not ImageMagick (sample form)", varied, everywhere, true, statistic<&Statistics::skewness>},
    {"kurtosis", "1", Type::number, "Excess kurtosis of the population: m4 / m2^2 - 3.",
     "scipy.stats.kurtosis; not ImageMagick (sample form)", varied, everywhere, true, statistic<&Statistics::kurtosis>},
    {"entropy", "bits", Type::number, "-sum p log2 p, with one bin per possible value.",
     "scikit-image, libvips, Pillow; not ImageMagick", by_value.c_str(), everywhere, true,
     statistic<&Statistics::entropy>},
};

const Column any_percentile = {
    "",
    "sample value",
    Type::number,
    "The value at index q / 100 (n - 1) of the sorted samples, interpolated linearly; q = 50 for the median.",
    "numpy.percentile; not vips percent",
    finite,
    everywhere,
    true,
    percentile<&Statistics::percentiles>};

const Column after_percentiles[] = {
    {"clipped_low", "fraction", Type::number, "Fraction of the samples at the lowest value of the type.", "gpuhist",
     integers, everywhere, true, statistic<&Statistics::clipped_low>},
    {"clipped_high", "fraction", Type::number, "Fraction of the samples at white or above.", "gpuhist",
     of_white.c_str(), everywhere, true, statistic<&Statistics::clipped_high>},
    {"unique", "values", Type::integer, "Number of different values.", "numpy.unique", countable.c_str(), everywhere,
     true, statistic<&Statistics::unique>},
    {"effective_bits", "bits", Type::integer,
     "Number of bits from the lowest to the highest bit that varies (or & ~and): 12 for 12-bit data in 16 bits, "
     "shifted left or not.",
     "gpuhist", integers, everywhere, true, statistic<&Statistics::effective_bits>},
    {"mean_01", "fraction", Type::number, "mean and std divided by white.", "torchvision's normalize", one_white,
     of_set, true, on_unit_scale<&Statistics::mean>},
    {"std_01", "fraction", Type::number, "mean and std divided by white.", "torchvision's normalize", one_white, of_set,
     true, on_unit_scale<&Statistics::std>},
    {"white", "sample value", Type::number, what_is_white, "the decoder", "images; sets with a single white",
     everywhere, false, field<&ColumnRow::white>},
    {"alpha", "none", Type::text, "straight or premultiplied, as the file stores it.", "the decoder",
     "images with alpha", of_image, false, text<&ColumnRow::alpha>},
    {"damage", "none", Type::text, "damaged or truncated, if --on-damaged accept measured such a file.", "the decoder",
     "images accepted despite damage", of_image, false, text<&ColumnRow::damage>},
    {"pages", "pages", Type::integer, "Number of pages in the file.", "the decoder", "images", of_image, false,
     field<&ColumnRow::pages>},
    {"valid", "samples", Type::integer, "Number of valid samples, from which all other numbers are computed.",
     "numpy.ma.count", every, everywhere, true, statistic<&Statistics::valid>},
    {"masked", "samples", Type::integer, "Number of samples in pixels that a mask or alpha excludes.", "gpuhist", every,
     everywhere, true, statistic<&Statistics::masked>},
    {"nodata", "samples", Type::integer, "Number of samples that --nodata or --valid excludes.", "gdalinfo -stats",
     every, everywhere, true, statistic<&Statistics::nodata>},
    {"weight", "alpha", Type::number, "Sum of alpha over the valid samples.", "gpuhist", weighted, everywhere, true,
     weight},
};

/// The value of a measure in a set.
template <class Read>
ColumnValue of_measure(const ColumnRow& row, Read read) {
    return row.measure ? ColumnValue(read(*row.measure)) : ColumnValue();
}

/// Columns of measures in a set: a row for each column of quality.csv.
const Column of_set_measures[] = {
    {"measure", "none", Type::text, "The column of quality.csv that the row describes.", "gpuhist", measured_sets,
     of_set_quality, false,
     [](const ColumnRow& row, const Column&) {
         return of_measure(row, [](const MeasureSummary& one) { return std::string_view(one.column); });
     }},
    {"measure_images", "images", Type::integer, "Number of images that have a number in this column.", "gpuhist",
     measured_sets, of_set_quality, false,
     [](const ColumnRow& row, const Column&) {
         return of_measure(row, [](const MeasureSummary& one) { return one.images; });
     }},
    {"measure_mean", "as measure", Type::number, "Mean of these numbers, computed exactly and rounded once.",
     "math.fsum", measured_sets, of_set_quality, false,
     [](const ColumnRow& row, const Column&) {
         return of_measure(row, [](const MeasureSummary& one) { return one.mean(); });
     }},
    {"measure_min", "as measure", Type::number, "The lowest and the highest of these numbers.", "min", measured_sets,
     of_set_quality, false,
     [](const ColumnRow& row, const Column&) {
         return of_measure(row, [](const MeasureSummary& one) { return one.minimum; });
     }},
    {"measure_max", "as measure", Type::number, "The lowest and the highest of these numbers.", "max", measured_sets,
     of_set_quality, false,
     [](const ColumnRow& row, const Column&) {
         return of_measure(row, [](const MeasureSummary& one) { return one.maximum; });
     }},
};

/// Columns that duplicates alone have.
const Column of_groups[] = {
    {"distance", "bits", Type::integer,
     "Number of bits in which the hash of the image differs from that of the kept one.", "numpy.bitwise_count",
     "duplicates", of_duplicates, false, field<&ColumnRow::distance>},
    {"kept", "none", Type::text, "The first image of the group, which stays if you remove the others.", "gpuhist",
     "duplicates", of_duplicates, false, field<&ColumnRow::kept>},
};

/// Columns after the weighted percentiles.
const Column last_columns[] = {
    {"sum", "sample value", Type::number,
     "sum x, exact for integers and rounded once for floats (f32: accurate to about 1e-15 of n times the spread); in "
     "weighted images, sum alpha x.",
     "numpy.sum(dtype=object), math.fsum", finite, everywhere, true, sum},
    {"mode", "sample value", Type::number,
     "Most frequent value, or the lowest of several; in weighted images, by the sum of alpha.", "scipy.stats.mode",
     countable.c_str(), everywhere, true, statistic<&Statistics::mode>},
};

/// Columns of regions alone, after those.
const Column region_columns[] = {
    {"centroid_x", "pixels", Type::number, what_is_centroid, "skimage.measure.regionprops, centroid", regions,
     of_region, false, field<&ColumnRow::centroid_x>},
    {"centroid_y", "pixels", Type::number, what_is_centroid, "skimage.measure.regionprops, centroid", regions,
     of_region, false, field<&ColumnRow::centroid_y>},
    {"weighted_centroid_x", "pixels", Type::number, what_is_weighted_centroid,
     "skimage.measure.regionprops, centroid_weighted", some_sum, of_region, true,
     statistic<&Statistics::weighted_centroid_x>},
    {"weighted_centroid_y", "pixels", Type::number, what_is_weighted_centroid,
     "skimage.measure.regionprops, centroid_weighted", some_sum, of_region, true,
     statistic<&Statistics::weighted_centroid_y>},
};

/// Columns that are asked for, after those.
const Column robust_columns[] = {
    {"mad", "sample value", Type::number,
     "Median of abs(v - median), not scaled; in weighted images, both medians are weighted, as wp50 is.",
     "numpy.median, astropy.stats.median_absolute_deviation", if_robust, everywhere, true, statistic<&Statistics::mad>,
     0, 0, true},
    {"clipped_mean", "sample value", Type::number, what_clipping_leaves, sigma_clip, if_robust, everywhere, true,
     statistic<&Statistics::clipped_mean>, 0, 0, true},
    {"clipped_std", "sample value", Type::number, what_clipping_leaves, sigma_clip, if_robust, everywhere, true,
     statistic<&Statistics::clipped_std>, 0, 0, true},
    {"clipped_share", "fraction", Type::number, "Fraction of the samples that sigma clipping takes out.", sigma_clip,
     if_robust, everywhere, true, statistic<&Statistics::clipped_share>, 0, 0, true},
};

/// Columns of images and regions, after those.
const Column pixel_size_columns[] = {
    {"pixel_width", "pixel_unit", Type::number, what_is_pixel_size, "the decoder", sized, of_image, false,
     field<&ColumnRow::pixel_width>},
    {"pixel_height", "pixel_unit", Type::number, what_is_pixel_size, "the decoder", sized, of_image, false,
     field<&ColumnRow::pixel_height>},
    {"pixel_unit", "none", Type::text, "Unit of the size of a pixel, such as m or degree.", "the decoder", sized,
     of_image, false, text<&ColumnRow::pixel_unit>},
};

/// Columns that flags alone have.
const Column of_flags[] = {
    {"flag", "none", Type::text, "The name of the flag.", "gpuhist", "flags", of_flag, false, field<&ColumnRow::flag>},
    {"value", "the flag's", Type::number, "The number that the flag is about.", "gpuhist", "flags", of_flag, false,
     field<&ColumnRow::value>},
    {"threshold", "the flag's", Type::number, "The threshold that the value is beyond.", "gpuhist",
     "flags with a threshold", of_flag, false, field<&ColumnRow::threshold>},
};

/// Columns of the kept counts of images.
const Column of_kept_counts[] = {
    {"counts", "none", Type::text,
     "The exact counts of the image, as JSON that gpuhist reads back; empty if they are too many.", "gpuhist",
     "--keep-image-counts", of_counts, false, text<&ColumnRow::counts>},
};

/// The value of a member of a comparison.
template <auto Member>
ColumnValue compared(const ColumnRow& row, const Column&) {
    return value_of(row.comparison->*Member);
}

const char* const what_is_compared = "The two sets or images that are compared. a is the reference.";
const char* const what_is_depth = "The sample types of a and b.";
const char* const means_of_both = "Mean and std of a and of b.";
const char* const opencv = "cv::compareHist of the shares";
const char *const of_samples = "comparisons, both with valid samples", *const varies = "comparisons, samples that vary",
                  *const bin_unit = "1", *const compared_unit = "as scale";

/// Columns that comparisons alone have. p and q are the shares of the samples of a and of b.
const Column of_comparisons[] = {
    {"a", "none", Type::text, what_is_compared, "gpuhist", "comparisons, pairs", of_comparison | of_same, false,
     field<&ColumnRow::a>},
    {"b", "none", Type::text, what_is_compared, "gpuhist", "comparisons, pairs", of_comparison | of_same, false,
     field<&ColumnRow::b>},
    {"depth_a", "none", Type::text, what_is_depth, "the decoder", comparisons, of_comparison, true,
     [](const ColumnRow& row, const Column&) -> ColumnValue { return to_string(row.comparison->depth_a); }},
    {"depth_b", "none", Type::text, what_is_depth, "the decoder", comparisons, of_comparison, true,
     [](const ColumnRow& row, const Column&) -> ColumnValue { return to_string(row.comparison->depth_b); }},
    {"scale", "none", Type::text,
     "value if sample values are compared; white if depth or white differ: then values are fractions of white.",
     "gpuhist", comparisons, of_comparison, true,
     [](const ColumnRow& row, const Column&) -> ColumnValue { return row.comparison->of_white ? "white" : "value"; }},
    {"images_a", "images", Type::integer, "Number of images of a and of b.", "gpuhist", comparisons, of_comparison,
     true, compared<&ChannelComparison::images_a>},
    {"images_b", "images", Type::integer, "Number of images of a and of b.", "gpuhist", comparisons, of_comparison,
     true, compared<&ChannelComparison::images_b>},
    {"valid_a", "samples", Type::integer, "Number of valid samples of a and of b.", "numpy.ma.count", comparisons,
     of_comparison, true, compared<&ChannelComparison::valid_a>},
    {"valid_b", "samples", Type::integer, "Number of valid samples of a and of b.", "numpy.ma.count", comparisons,
     of_comparison, true, compared<&ChannelComparison::valid_b>},
    {"mean_a", compared_unit, Type::number, means_of_both, "numpy.mean, numpy.std", of_samples, of_comparison, true,
     compared<&ChannelComparison::mean_a>},
    {"mean_b", compared_unit, Type::number, means_of_both, "numpy.mean, numpy.std", of_samples, of_comparison, true,
     compared<&ChannelComparison::mean_b>},
    {"std_a", compared_unit, Type::number, means_of_both, "numpy.mean, numpy.std", of_samples, of_comparison, true,
     compared<&ChannelComparison::std_a>},
    {"std_b", compared_unit, Type::number, means_of_both, "numpy.mean, numpy.std", of_samples, of_comparison, true,
     compared<&ChannelComparison::std_b>},
    {"mean_difference", compared_unit, Type::number, "mean_b - mean_a and std_b - std_a.", "numpy.mean, numpy.std",
     of_samples, of_comparison, true, compared<&ChannelComparison::mean_difference>},
    {"std_difference", compared_unit, Type::number, "mean_b - mean_a and std_b - std_a.", "numpy.mean, numpy.std",
     of_samples, of_comparison, true, compared<&ChannelComparison::std_difference>},
    {"std_ratio", "1", Type::number, "std_b / std_a.", "numpy.std", varies, of_comparison, true,
     compared<&ChannelComparison::std_ratio>},
    {"smd", "1", Type::number,
     "Standardized mean difference: mean_difference / sqrt((std_a^2 + std_b^2) / 2). Below 0.1 is negligible.",
     "Austin 2009; Cohen's d of samples of equal size", varies, of_comparison, true, compared<&ChannelComparison::smd>},
    {"bins", "bins", Type::integer,
     "Bins of p and q: one per value of the type for integers of 8 and 16 bits on the scale value; else 256 from the "
     "lowest to the highest sample of both.",
     "numpy.histogram", of_samples, of_comparison, true, compared<&ChannelComparison::bins>},
    {"correlation", bin_unit, Type::number, "Correlation of p and q over the bins; 1 if either is uniform.", opencv,
     of_samples, of_comparison, true, compared<&ChannelComparison::correlation>},
    {"chi_square", bin_unit, Type::number, "sum (p - q)^2 / p over the bins with p > 0.", opencv, of_samples,
     of_comparison, true, compared<&ChannelComparison::chi_square>},
    {"intersection", bin_unit, Type::number, "sum min(p, q); 1 for equal shares.", opencv, of_samples, of_comparison,
     true, compared<&ChannelComparison::intersection>},
    {"bhattacharyya", bin_unit, Type::number,
     "Hellinger distance sqrt(1 - sum sqrt(p q)), computed as sqrt(sum (sqrt(p) - sqrt(q))^2 / 2).", opencv, of_samples,
     of_comparison, true, compared<&ChannelComparison::bhattacharyya>},
    {"jensen_shannon", bin_unit, Type::number,
     "Jensen-Shannon distance: the square root of the divergence to base 2, from 0 to 1.",
     "scipy.spatial.distance.jensenshannon(base=2)", of_samples, of_comparison, true,
     compared<&ChannelComparison::jensen_shannon>},
    {"wasserstein", compared_unit, Type::number,
     "Earth mover's distance: the integral of abs(F_a - F_b), where F are the distribution functions of all samples.",
     "scipy.stats.wasserstein_distance", of_samples, of_comparison, true, compared<&ChannelComparison::wasserstein>},
    {"ks", "1", Type::number, "Statistic D of Kolmogorov and Smirnov: max abs(F_a - F_b). 0 only if all shares agree.",
     "scipy.stats.ks_2samp", of_samples, of_comparison, true, compared<&ChannelComparison::ks>},
    {"psi", "1", Type::number,
     "Population stability index: sum (q - p) ln(q / p) over ten intervals, each up to a decile of a (the lowest v "
     "with "
     "F_a(v) >= k / 10); shares below 1e-6 count as 1e-6. Below 0.1 little changed, from 0.25 on much.",
     "numpy.quantile(method='inverted_cdf'); Siddiqi 2006", of_samples, of_comparison, true,
     compared<&ChannelComparison::psi>},
};

/// The value of a member of the difference of two images.
template <auto Member>
ColumnValue of_pair(const ColumnRow& row, const Column&) {
    return row.difference ? value_of(row.difference->*Member) : ColumnValue();
}

/// The place of the largest distance.
template <auto Member>
ColumnValue worst(const ColumnRow& row, const Column&) {
    if (!row.difference || !row.difference->x) return {};
    if constexpr (Member == 0) return static_cast<std::uint64_t>(*row.difference->x);
    if constexpr (Member == 1) return static_cast<std::uint64_t>(*row.difference->y);
    return static_cast<std::uint64_t>(row.difference->channel);
}

const char *const pairs = "pairs", *const distances = "pairs that differ or are identical",
                  *const compared_pairs = "pairs that are compared", *const differing = "pairs that differ";
const char* const what_is_distance =
    "Largest and mean abs(a - b) of the finite samples: sample values, or fractions of white if depth or white differ.";
const char* const what_is_worst =
    "Column, row and place in the pixel, from 0, of the first sample with the largest distance.";

/// Columns that pairs of images alone have.
const Column of_pairs[] = {
    {"relation", "none", Type::text,
     "identical: same type and samples. widened: another type or white, and all samples follow by one rule. different. "
     "only_a, only_b: there is no counterpart. failed: see cause.",
     "gpuhist", pairs, of_same, false, text<&ColumnRow::relation>},
    {"rule", "none", Type::text,
     "How the samples of the wider type follow from the others: x 257 (u8 to u16), x 256, x 1, / 255 (as floats).",
     "gpuhist", "widened pairs", of_same, false,
     [](const ColumnRow& row, const Column&) -> ColumnValue {
         if (!row.difference || row.difference->rule.empty()) return {};
         return std::string_view(row.difference->rule);
     }},
    {"samples", "samples", Type::integer, "Number of samples of each image, and of those that differ.",
     "numpy.count_nonzero", compared_pairs, of_same, false, of_pair<&PixelDifference::samples>},
    {"different", "samples", Type::integer, "Number of samples of each image, and of those that differ.",
     "numpy.count_nonzero", compared_pairs, of_same, false, of_pair<&PixelDifference::different>},
    {"max_distance", "sample value, fraction", Type::number, what_is_distance, "cv::norm, numpy.abs", distances,
     of_same, false, of_pair<&PixelDifference::max>},
    {"mean_distance", "sample value, fraction", Type::number, what_is_distance, "cv::norm, numpy.abs", distances,
     of_same, false, of_pair<&PixelDifference::mean>},
    {"psnr", "dB", Type::number,
     "Peak signal-to-noise ratio: 10 log10(white^2 / mean square of the distances), over all samples.", "cv::PSNR",
     differing, of_same, false, of_pair<&PixelDifference::psnr>},
    {"worst_x", "pixels", Type::integer, what_is_worst, "numpy.argmax", differing, of_same, false, worst<0>},
    {"worst_y", "pixels", Type::integer, what_is_worst, "numpy.argmax", differing, of_same, false, worst<1>},
    {"worst_channel", "1", Type::integer, what_is_worst, "numpy.argmax", differing, of_same, false, worst<2>},
    {"cause", "none", Type::text, "Why the images can't be compared.", "gpuhist", pairs, of_same, false,
     text<&ColumnRow::cause>},
};

/// The value of a member of an odd pixel of a stack.
template <auto Member>
ColumnValue of_pixel(const ColumnRow& row, const Column&) {
    const auto value = row.pixel->*Member;
    if constexpr (std::is_same_v<decltype(value), const double>) {
        if (!std::isfinite(value)) return {};
        return value;
    } else if constexpr (std::is_same_v<decltype(value), const char* const>) {
        return std::string_view(value);
    } else {
        return static_cast<std::uint64_t>(value);
    }
}

const char* const odd = "odd pixels of a stack";
const char* const what_is_place = "Column and row of the pixel, from 0.";

/// Columns that odd pixels of a stack alone have.
const Column of_stacks[] = {
    {"stack_channel", "none", Type::text, "The channel in which the pixel stands out.", "gpuhist", odd, of_stack, false,
     field<&ColumnRow::channel>},
    {"pixel_x", "pixels", Type::integer, what_is_place, "numpy.argwhere", odd, of_stack, false, of_pixel<&OddPixel::x>},
    {"pixel_y", "pixels", Type::integer, what_is_place, "numpy.argwhere", odd, of_stack, false, of_pixel<&OddPixel::y>},
    {"pixel", "none", Type::text,
     "stuck: two or more valid samples, all equal. hot, cold: far above or below its neighbors; see pixel_score.",
     "gpuhist", odd, of_stack, false, of_pixel<&OddPixel::kind>},
    {"pixel_mean", "sample value", Type::number, "Mean of the pixel's valid samples over the set.", "numpy.mean", odd,
     of_stack, false, of_pixel<&OddPixel::mean>},
    {"pixel_neighbors", "sample value", Type::number, "Median of the means of the up to eight neighbors.",
     "numpy.nanmedian", odd, of_stack, false, of_pixel<&OddPixel::neighbors>},
    {"pixel_score", "1", Type::number,
     "(r - median r) / (1.4826 median abs(r - median r)), where r is pixel_mean - pixel_neighbors, and the medians are "
     "over the channel. Empty if the denominator is 0, and for stuck pixels.",
     "numpy.nanmedian", "hot and cold pixels", of_stack, false,
     [](const ColumnRow& row, const Column&) -> ColumnValue {
         if (row.pixel->score == 0 || !std::isfinite(row.pixel->score)) return {};
         return row.pixel->score;
     }},
};

/// The value of a member of a joint histogram.
template <auto Member>
ColumnValue of_histogram(const ColumnRow& row, const Column&) {
    return value_of(std::invoke(Member, *row.joint));
}
/// An end of the range of an axis.
template <int axis, auto Member>
ColumnValue joint_end(const ColumnRow& row, const Column&) {
    return row.joint->axis(axis).range.*Member;
}

const char *const joints = "gpuhist joint", *const joint_pixels = "gpuhist joint, valid pixels";
const char* const what_are_ends = "Range of the bins of each channel.";
const char* const what_are_pairs =
    "Number of pixels with valid samples in both channels, and of those that are outside of the bins.";

/// Columns that joint histograms alone have.
const Column of_joints[] = {
    {"first", "none", Type::text, "The two channels.", "gpuhist", joints, of_joint, false, field<&ColumnRow::first>},
    {"second", "none", Type::text, "The two channels.", "gpuhist", joints, of_joint, false, field<&ColumnRow::second>},
    {"joint_images", "images", Type::integer, "Number of images that the row describes.", "gpuhist", joints, of_joint,
     false, field<&ColumnRow::images>},
    {"joint_bins", "bins", Type::integer, "Number of bins of each channel.", "numpy.histogram2d", joints, of_joint,
     false, [](const ColumnRow& row, const Column&) -> ColumnValue { return std::uint64_t{row.joint->bins()}; }},
    {"first_lower", "sample value", Type::number, what_are_ends, "numpy.histogram2d", joints, of_joint, false,
     joint_end<0, &Range::lower>},
    {"first_upper", "sample value", Type::number, what_are_ends, "numpy.histogram2d", joints, of_joint, false,
     joint_end<0, &Range::upper>},
    {"second_lower", "sample value", Type::number, what_are_ends, "numpy.histogram2d", joints, of_joint, false,
     joint_end<1, &Range::lower>},
    {"second_upper", "sample value", Type::number, what_are_ends, "numpy.histogram2d", joints, of_joint, false,
     joint_end<1, &Range::upper>},
    {"joint_pixels", "pixels", Type::integer, what_are_pairs, "numpy.ma.count", joints, of_joint, false,
     of_histogram<&JointHistogram::pixels>},
    {"joint_outside", "pixels", Type::integer, what_are_pairs, "numpy.ma.count", joints, of_joint, false,
     of_histogram<&JointHistogram::outside>},
    {"covariance", "sample value^2", Type::number,
     "(n sum xy - sum x sum y) / n^2 of the samples x and y of all these pixels, from exact sums.", "numpy.cov(ddof=0)",
     joint_pixels, of_joint, false, of_histogram<&JointHistogram::covariance>},
    {"pearson", "1", Type::number,
     "Pearson's correlation of the samples of all these pixels, from exact sums. Empty if a channel doesn't vary.",
     "scipy.stats.pearsonr, numpy.corrcoef", joint_pixels, of_joint, false, of_histogram<&JointHistogram::pearson>},
    {"mutual_information", "bits", Type::number,
     "sum p log2(p / (p1 p2)) over the cells, where p1 and p2 are the shares of the rows and columns.",
     "sklearn.metrics.mutual_info_score / log 2", joint_pixels, of_joint, false,
     of_histogram<&JointHistogram::mutual_information>},
};

/// Columns that errors alone have.
const Column of_failures[] = {
    {"kind", "none", Type::text, "The kind of the error, one word.", "gpuhist", "failures", of_failure, false,
     field<&ColumnRow::kind>},
    {"message", "none", Type::text, "The cause of the error.", "gpuhist", "failures", of_failure, false,
     field<&ColumnRow::message>},
};

const Column any_weighted_percentile = {
    "",
    "sample value",
    Type::number,
    "Lowest value v for which the samples up to v have at least q / 100 of the weight.",
    "gpuhist",
    weighted,
    everywhere,
    true,
    percentile<&Statistics::weighted_percentiles>};

/// The value in a column of a measure.
ColumnValue measured(const ColumnRow& row, const Column& column) {
    return row.measures ? column_value(row.measures->at(column.place)) : ColumnValue();
}

/// Columns that any of these files has.
std::vector<Column> columns_of(const Percentiles& percentiles, bool robust, std::uint16_t files) {
    std::vector<Column> list(std::begin(before_percentiles), std::end(before_percentiles));
    for (std::size_t i = 0; i < percentiles.size(); ++i) {
        Column& column = list.emplace_back(any_percentile);
        column.name = percentiles.name(i);
        column.micro = percentiles.micro(i);
    }
    list.insert(list.end(), std::begin(after_percentiles), std::end(after_percentiles));
    for (std::size_t i = 0; i < percentiles.size(); ++i) {
        Column& column = list.emplace_back(any_weighted_percentile);
        column.micro = percentiles.micro(i);
        column.name = weighted_percentile_name(column.micro);
    }
    list.insert(list.end(), std::begin(last_columns), std::end(last_columns));
    list.insert(list.end(), std::begin(region_columns), std::end(region_columns));
    if (robust) list.insert(list.end(), std::begin(robust_columns), std::end(robust_columns));
    list.insert(list.end(), std::begin(pixel_size_columns), std::end(pixel_size_columns));
    std::size_t place = 0;
    for (const MeasureColumn& of : measure_columns())
        list.push_back(
            {of.name, of.unit, of.type, of.definition, of.source, of.images, of_quality, false, measured, 0, place++});
    list.insert(list.end(), std::begin(of_set_measures), std::end(of_set_measures));
    list.insert(list.end(), std::begin(of_groups), std::end(of_groups));
    list.insert(list.end(), std::begin(of_flags), std::end(of_flags));
    list.insert(list.end(), std::begin(of_kept_counts), std::end(of_kept_counts));
    list.insert(list.end(), std::begin(of_comparisons), std::end(of_comparisons));
    list.insert(list.end(), std::begin(of_pairs), std::end(of_pairs));
    list.insert(list.end(), std::begin(of_stacks), std::end(of_stacks));
    list.insert(list.end(), std::begin(of_joints), std::end(of_joints));
    list.insert(list.end(), std::begin(of_failures), std::end(of_failures));
    const auto other = [&](const Column& column) { return (column.files & files) == 0; };
    list.erase(std::remove_if(list.begin(), list.end(), other), list.end());
    return list;
}

}  // namespace

std::vector<Column> columns(const StatisticsRequest& request) {
    return columns_of(request.percentiles, true, static_cast<std::uint16_t>(~of_failure));
}

std::vector<Column> columns(const StatisticsRequest& request, ColumnFile file) {
    return columns_of(request.percentiles, request.clip_sigma.has_value(), static_cast<std::uint16_t>(file));
}

const std::vector<TableTraits>& input_tables() {
    static const std::vector<TableTraits> tables = [] {
        std::vector<TableTraits> list;
        for (const TableTraits& traits : all_tables)
            if (traits.subject == TableSubject::image || traits.subject == TableSubject::failure)
                list.push_back(traits);
        return list;
    }();
    return tables;
}

ColumnValue column_value(const MeasureValue& value) {
    return std::visit(
        [](const auto& one) -> ColumnValue {
            if constexpr (std::is_same_v<std::decay_t<decltype(one)>, std::string>)
                return std::string_view(one);
            else
                return one;
        },
        value);
}

const char* to_string(ColumnType type) {
    constexpr const char* names[] = {"text", "integer", "number"};
    return names[static_cast<std::size_t>(type)];
}

std::string percentile_name(std::uint32_t micro) {
    return Percentiles({micro / 1e6}).name(0);
}

std::string weighted_percentile_name(std::uint32_t micro) {
    const std::string name = percentile_name(micro);
    return name == "median" ? "wp50" : "w" + name;
}

const char* luma_formula(Depth depth) {
    return traits_of(depth).floating ? "0.299 R + 0.587 G + 0.114 B" : "(9798 R + 19235 G + 3735 B + 16384) >> 15";
}

std::optional<double> unit_scale(const std::optional<double>& value, const std::optional<double>& white) {
    return value && white ? std::optional(*value / *white) : std::nullopt;
}

}  // namespace gpuhist
