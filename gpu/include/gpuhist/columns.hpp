/// Columns of the results: one table, from which files, help and documentation are made.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gpuhist/image.hpp"
#include "gpuhist/request.hpp"
#include "gpuhist/statistics.hpp"

namespace gpuhist {

struct MeasureSummary;
struct ChannelComparison;
struct PixelDifference;
struct OddPixel;
class JointHistogram;

/// Row of results, from which columns read: numbers, and facts about the image, the set or the failure.
struct ColumnRow {
    const Statistics* statistics = nullptr;  ///< never null when a column of a channel is read,
                                             ///< unless there is a comparison
    Depth depth = Depth::u8;

    std::optional<double> white{};  ///< value of white, to which numbers refer; absent if images have different ones

    // An image, a region of one, or a failure.
    std::uint64_t index = 0;  ///< number of the input, counted from 0
    std::string_view path{};

    // An image, or a region of one.
    std::int64_t width = 0, height = 0;                   ///< those of a region: its box
    std::string_view alpha{}, damage{};                   ///< empty: none
    std::uint64_t pages = 1;                              ///< number of pages in the file of the image
    std::optional<double> pixel_width{}, pixel_height{};  ///< in `pixel_unit`; absent: unknown
    std::string_view pixel_unit{};                        ///< empty: unknown
    const std::vector<MeasureValue>* measures = nullptr;  ///< its `measure_values`; null: none

    // A region.
    std::string_view region{};
    std::int64_t x = 0, y = 0;
    std::uint64_t area = 0;
    std::optional<double> centroid_x{}, centroid_y{};

    // A set.
    std::string_view group{};
    std::uint64_t images = 0;

    // A column of measures, in a set.
    const MeasureSummary* measure = nullptr;

    // An image of a group of duplicates.
    std::uint64_t distance = 0;
    std::string_view kept{};

    // A failure.
    std::string_view kind{}, message{};

    // A flag of an image.
    std::string_view flag{};
    std::optional<double> value{}, threshold{};

    // An image whose counts are kept.
    std::string_view counts{};

    // A comparison of two sets or images, which have names.
    std::string_view a{}, b{};
    const ChannelComparison* comparison = nullptr;  ///< never null when a number of a comparison is read

    // A pair of images, whose files are `a` and `b`.
    std::string_view relation{}, cause{};
    const PixelDifference* difference = nullptr;  ///< null if they can't be compared

    // A pixel of a stack that stands out, in the channel with this name.
    const OddPixel* pixel = nullptr;
    std::string_view channel{};

    // A joint histogram of two channels, which have names.
    std::string_view first{}, second{};
    const JointHistogram* joint = nullptr;
};

/// Value in a column, or nothing if the number is undefined. An integer is an Int128 only if a std::uint64_t does not
/// hold it. Text is not copied: it belongs to the row.
using ColumnValue = std::variant<std::monostate, std::uint64_t, double, std::string_view, Int128>;

/// Value of a measure, as a column has it. Text belongs to the argument.
ColumnValue column_value(const MeasureValue& value);

/// Type of the values in a column.
enum class ColumnType : std::uint8_t { text, integer, number };

/// Table of columns: one bit per table, for `Column::files`.
enum class ColumnFile : std::uint16_t {
    stats = 1,
    regions = 2,
    dataset = 4,
    errors = 8,
    quality = 16,
    set_quality = 32,
    groups = 64,
    flags = 128,
    image_counts = 256,
    comparison = 512,
    same = 1024,
    stack_pixels = 2048,
    joint = 4096
};

/// Subject of the records of a table.
enum class TableSubject : std::uint8_t {
    image,
    failure,
    set,
    finding  ///< about an image, but known when all are measured
};

struct TableTraits {
    ColumnFile table;
    const char* name;      ///< name of its file, NAME.csv, and in the rows of shards
    TableSubject subject;  ///< a region belongs to an image
    bool per_channel;      ///< one row per channel; else one per record
    bool always;           ///< whether every run that writes results has it; else a run asks for it

    std::string file_name() const { return std::string(name) + ".csv"; }
};

/// All tables. A run gives the files their names in this order; a merge does it in the opposite order.
inline constexpr TableTraits all_tables[] = {
    {ColumnFile::stats, "stats", TableSubject::image, true, true},
    {ColumnFile::regions, "regions", TableSubject::image, true, false},
    {ColumnFile::quality, "quality", TableSubject::image, false, false},
    {ColumnFile::image_counts, "image_counts", TableSubject::image, false, false},
    {ColumnFile::flags, "flags", TableSubject::finding, false, false},
    {ColumnFile::errors, "errors", TableSubject::failure, false, true},
    {ColumnFile::dataset, "dataset", TableSubject::set, true, true},
    {ColumnFile::set_quality, "dataset.quality", TableSubject::set, false, false},
    {ColumnFile::groups, "groups", TableSubject::finding, false, false},
    {ColumnFile::comparison, "comparison", TableSubject::finding, true, false},
    {ColumnFile::same, "same", TableSubject::finding, false, false},
    {ColumnFile::stack_pixels, "stack.pixels", TableSubject::finding, false, false},
    {ColumnFile::joint, "joint", TableSubject::finding, false, false},
};

/// Tables of images and failures, whose rows come in the order of the inputs.
const std::vector<TableTraits>& input_tables();

/// Row of a table in `all_tables`. The table must be one of the enumeration.
constexpr const TableTraits& traits_of(ColumnFile table) {
    const TableTraits* traits = all_tables;
    while (traits->table != table) ++traits;
    return *traits;
}

/// Column of results: one row of the table.
struct Column {
    std::string name;        ///< in CSV, and the key in JSON
    const char* unit;        ///< `none` for text, `1` for a number without dimension
    ColumnType type;         ///< type of its values
    const char* definition;  ///< a sentence, ASCII
    const char* source;      ///< tool or formula with the same value, or `gpuhist`
    const char* images;      ///< images, or sets, that have a value
    std::uint16_t files;     ///< files that have the column: bits of ColumnFile
    bool of_channel;         ///< one value per channel; else one per image, or per group and depth
    ColumnValue (*read)(const ColumnRow& row, const Column& column);
    std::uint32_t micro = 0;  ///< for percentiles, in units of 1e-6 percent
    std::size_t place = 0;    ///< for measures, among `measure_columns()`
    bool robust = false;      ///< a number that StatisticsRequest::clip_sigma asks for

    ColumnValue value(const ColumnRow& row) const { return read(row, *this); }
};

/// All columns except those of failures, robust ones included; or the columns of one file, robust ones if they are
/// asked for. They are in the order of the table, which every file has. Percentiles are in the order of their list.
std::vector<Column> columns(const StatisticsRequest& request = {});
std::vector<Column> columns(const StatisticsRequest& request, ColumnFile file);

/// Name of a type: `text`, `integer`, `number`.
const char* to_string(ColumnType type);

/// Name of the column of a percentile in units of 1e-6 percent, as Percentiles::name.
std::string percentile_name(std::uint32_t micro);
/// Name of the column of a weighted percentile: `wp01`, `wp50`, `wp99.9`.
std::string weighted_percentile_name(std::uint32_t micro);

/// Formula of luma for a depth, as text.
const char* luma_formula(Depth depth);

/// Value on the scale from 0 to 1: value / white. Absent if either is absent.
std::optional<double> unit_scale(const std::optional<double>& value, const std::optional<double>& white);

}  // namespace gpuhist
