#include "gpuhist/columns.hpp"

#include <algorithm>
#include <functional>
#include <string>

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

/// The value of a column's percentile in a list of Statistics.
template <auto Member>
ColumnValue percentile(const ColumnRow& row, const Column& column) {
    for (const Percentile& one : row.statistics->*Member)
        if (one.micro == column.micro) return value_of(one.value);
    return {};
}

constexpr std::uint8_t of_region = 2, of_image = 1 | 2, of_set = 4, of_failure = 8, of_quality = 16,
                       everywhere = 7;  // of ColumnFile
constexpr const char *every = "all", *regions = "regions", *finite = "finite samples", *varied = "varied samples",
                     *one_white = "sets of one white", *weighted = "weighted images";

/// Names of the depths whose samples are counted in bins of no values.
std::string names_in_bins() {
    return list_depths([](const DepthTraits& depth) { return depth.counting == Counting::bins ? depth.name : ""; }, " ",
                       " ");
}

// Texts about the depths follow from their table.
const std::string types = "Sample type: " + depth_names(" or ") + ".";
const char* const integers = "integers";
const std::string by_value = "all but " + names_in_bins(), countable = by_value + "; of " + names_in_bins() + " sets";
const std::string nan_source = "numpy.isnan; 0 of integers", inf_source = "numpy.isinf; 0 of integers";
const char* const what_is_white = "The highest of the type, 1 of floats, or as file or --white say.";
const std::string of_white = "integers, sets of one white";

using Type = ColumnType;

// The table: a column is a line. A new one goes to the end, so that those who read by place are not misled.

const Column before_percentiles[] = {
    {"path", "none", Type::text, "The input as it was given; - is standard input.", "gpuhist", "images",
     of_image | of_failure | of_quality, false, field<&ColumnRow::path>},
    {"region", "none", Type::text, "Label, or name of a rectangle.", "gpuhist", regions, of_region, false,
     field<&ColumnRow::region>},
    {"x", "pixels", Type::integer, "Left and top of its box.", "skimage's bbox", regions, of_region, false,
     field<&ColumnRow::x>},
    {"y", "pixels", Type::integer, "Left and top of its box.", "skimage's bbox", regions, of_region, false,
     field<&ColumnRow::y>},
    {"width", "pixels", Type::integer, "Pixels in a row, of regions of their box.", "the decoder", "images", of_image,
     false, field<&ColumnRow::width>},
    {"height", "pixels", Type::integer, "Rows of pixels.", "the decoder", "images", of_image, false,
     field<&ColumnRow::height>},
    {"area", "pixels", Type::integer, "Pixels of the region, valid or not.", "skimage's area", regions, of_region,
     false, field<&ColumnRow::area>},
    {"group", "none", Type::text, "Directory or region measured together; empty: the whole set.", "gpuhist", "sets",
     of_set, false, field<&ColumnRow::group>},
    {"depth", "none", Type::text, types.c_str(), "the decoder", every, everywhere, false,
     [](const ColumnRow& row, const Column&) -> ColumnValue { return to_string(row.depth); }},
    {"channel", "none", Type::text,
     "gray; or red, green, blue, luma (brightness), all (colors and bands as one population), alpha; bands c0, c1, ...",
     "gpuhist", every, everywhere, true,
     [](const ColumnRow& row, const Column&) -> ColumnValue {
         const Channel channel = row.statistics->channel;
         return row.bands ? row_name(channel, *row.bands) : to_string(channel);
     }},
    {"images", "images", Type::integer, "Images that the row is about.", "gpuhist", "sets", of_set, true,
     field<&ColumnRow::images>},
    {"pixels", "samples", Type::integer, "Samples of the row: valid + masked + nodata + nan + inf.", "width x height",
     every, everywhere, true, statistic<&Statistics::pixels>},
    {"nan", "samples", Type::integer, "NaN samples.", nan_source.c_str(), every, everywhere, true,
     statistic<&Statistics::nan>},
    {"inf", "samples", Type::integer, "+Inf and -Inf samples.", inf_source.c_str(), every, everywhere, true,
     statistic<&Statistics::infinite>},
    {"min", "sample value", Type::number, "The lowest finite sample.", "numpy.min", finite, everywhere, true,
     statistic<&Statistics::min>},
    {"max", "sample value", Type::number, "The highest finite sample.", "numpy.max", finite, everywhere, true,
     statistic<&Statistics::max>},
    {"mean", "sample value", Type::number, "sum x / n, exact, rounded once (f32: to about 1e-15 of their spread).",
     "numpy.mean to rounding", finite, everywhere, true, statistic<&Statistics::mean>},
    {"std", "sample value", Type::number,
     "Standard deviation of the population, sqrt(n sum x^2 - (sum x)^2) / n, from exact integers.",
     "numpy.std, OpenCV, GDAL, Pillow; not ImageMagick, libvips (n - 1)", finite, everywhere, true,
     statistic<&Statistics::std>},
    {"std_sample", "sample value", Type::number, "Standard deviation with n - 1 in place of n.",
     "numpy.std(ddof=1), ImageMagick, libvips", "two finite samples", everywhere, true,
     statistic<&Statistics::std_sample>},
    {"skewness", "1", Type::number, "m3 / m2^1.5 of the population, mk the k-th central moment.",
     "scipy.stats.skew; not ImageMagick (sample form)", varied, everywhere, true, statistic<&Statistics::skewness>},
    {"kurtosis", "1", Type::number, "Excess kurtosis of the population, m4 / m2^2 - 3.",
     "scipy.stats.kurtosis; not ImageMagick (sample form)", varied, everywhere, true, statistic<&Statistics::kurtosis>},
    {"entropy", "bits", Type::number, "-sum p log2 p, one bin per possible value.",
     "scikit-image, libvips, Pillow; not ImageMagick", by_value.c_str(), everywhere, true,
     statistic<&Statistics::entropy>},
};

const Column any_percentile = {"",
                               "sample value",
                               Type::number,
                               "Linear interpolation at index q / 100 (n - 1) of the samples in order; median: q = 50.",
                               "numpy.percentile; not vips percent",
                               finite,
                               everywhere,
                               true,
                               percentile<&Statistics::percentiles>};

const Column after_percentiles[] = {
    {"clipped_low", "fraction", Type::number, "Fraction at the type's lowest value.", "gpuhist", integers, everywhere,
     true, statistic<&Statistics::clipped_low>},
    {"clipped_high", "fraction", Type::number, "Fraction at white or over it.", "gpuhist", of_white.c_str(), everywhere,
     true, statistic<&Statistics::clipped_high>},
    {"unique", "values", Type::integer, "Different values.", "numpy.unique", countable.c_str(), everywhere, true,
     statistic<&Statistics::unique>},
    {"effective_bits", "bits", Type::integer,
     "Span of the bits that vary (or & ~and), inclusive: 12 of 12-bit data in 16 bits, low or shifted left.", "gpuhist",
     integers, everywhere, true, statistic<&Statistics::effective_bits>},
    {"mean_01", "fraction", Type::number, "mean and std over white.", "torchvision's normalize", one_white, of_set,
     true, on_unit_scale<&Statistics::mean>},
    {"std_01", "fraction", Type::number, "mean and std over white.", "torchvision's normalize", one_white, of_set, true,
     on_unit_scale<&Statistics::std>},
    {"white", "sample value", Type::number, what_is_white, "the decoder", "images; sets of one white", everywhere,
     false, field<&ColumnRow::white>},
    {"alpha", "none", Type::text, "straight or premultiplied, as stored.", "the decoder", "images with alpha", of_image,
     false, text<&ColumnRow::alpha>},
    {"damage", "none", Type::text, "damaged or truncated: what --on-damaged accept let pass.", "the decoder",
     "images let pass", of_image, false, text<&ColumnRow::damage>},
    {"pages", "pages", Type::integer, "Pages in the file.", "the decoder", "images", of_image, false,
     field<&ColumnRow::pages>},
    {"valid", "samples", Type::integer, "Samples that every other number is of.", "numpy.ma.count", every, everywhere,
     true, statistic<&Statistics::valid>},
    {"masked", "samples", Type::integer, "Samples of pixels that --mask or alpha leaves out.", "gpuhist", every,
     everywhere, true, statistic<&Statistics::masked>},
    {"nodata", "samples", Type::integer, "Samples that --nodata or --valid leaves out.", "gdalinfo -stats", every,
     everywhere, true, statistic<&Statistics::nodata>},
    {"weight", "alpha", Type::integer, "Alpha of valid samples.", "gpuhist", weighted, everywhere, true,
     statistic<&Statistics::weight>},
};

/// Columns that errors alone have.
const Column of_failures[] = {
    {"kind", "none", Type::text, "Kind of failure.", "gpuhist", "failures", of_failure, false, field<&ColumnRow::kind>},
    {"message", "none", Type::text, "Cause.", "gpuhist", "failures", of_failure, false, field<&ColumnRow::message>},
};

const Column any_weighted_percentile = {
    "",       "sample value", Type::number, "Lowest v with cum(v) >= q / 100 weight.",    "gpuhist",
    weighted, everywhere,     true,         percentile<&Statistics::weighted_percentiles>};

ColumnValue measured(const ColumnRow& row, const Column& column) {
    if (!row.measured) return {};
    for (const Measured& found : *row.measured)
        if (column.name == traits_of(found.measure).name) return value_of(number_of(found, row.depth));
    return {};
}

/// Columns that any of these files has.
std::vector<Column> columns_of(const Percentiles& percentiles, std::uint8_t files) {
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
    for (const MeasureTraits& measure : all_measures)
        if (Measures::quality().has(measure.measure))
            list.push_back({measure.name, measure.unit, Type::number, measure.definition, measure.source,
                            measure.images, of_quality, false, measured});
    list.insert(list.end(), std::begin(of_failures), std::end(of_failures));
    const auto other = [&](const Column& column) { return (column.files & files) == 0; };
    list.erase(std::remove_if(list.begin(), list.end(), other), list.end());
    return list;
}

}  // namespace

std::vector<Column> columns(const Percentiles& percentiles) {
    return columns_of(percentiles, static_cast<std::uint8_t>(~of_failure));
}

std::vector<Column> columns(const Percentiles& percentiles, ColumnFile file) {
    return columns_of(percentiles, static_cast<std::uint8_t>(file));
}

const std::vector<TableTraits>& input_tables() {
    static const std::vector<TableTraits> tables = [] {
        std::vector<TableTraits> list;
        for (const TableTraits& traits : all_tables)
            if (traits.subject != TableSubject::set) list.push_back(traits);
        return list;
    }();
    return tables;
}

const char* to_string(ColumnType type) {
    constexpr const char* names[] = {"text", "integer", "number"};
    return names[static_cast<std::size_t>(type)];
}

std::string_view row_name(Channel channel, const std::vector<std::string>& bands) {
    const auto place = static_cast<std::size_t>(channel) - static_cast<std::size_t>(Channel::c0);
    return is_band(channel) && place < bands.size() ? std::string_view(bands[place]) : to_string(channel);
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
