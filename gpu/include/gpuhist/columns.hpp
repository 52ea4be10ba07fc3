/// Columns of the results: one table that the files, the help and the documentation are made from.
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

/// Row of results, as columns read it: numbers, and the image, the set or the failure that they are about.
struct ColumnRow {
    const Statistics* statistics = nullptr;  ///< never null where a column of a channel is read
    Depth depth = Depth::u8;

    std::optional<double> white{};  ///< that numbers refer to; absent: images of several are together

    // An image, a region of one, or a failure.
    std::uint64_t index = 0;  ///< of the input, counted from 0
    std::string_view path{};

    // An image, or a region of one.
    std::int64_t width = 0, height = 0;               ///< of a region: of its box
    std::string_view alpha{}, damage{};               ///< empty: none
    const std::vector<std::string>* bands = nullptr;  ///< their names by place, where the file has such
    std::uint64_t pages = 1;                          ///< of the file, of which the image is one
    const std::vector<Measured>* measured = nullptr;  ///< what its measures found; null: none

    // A region.
    std::string_view region{};
    std::int64_t x = 0, y = 0;
    std::uint64_t area = 0;

    // A set.
    std::string_view group{};
    std::uint64_t images = 0;

    // A failure.
    std::string_view kind{}, message{};
};

/// Value in a column; nothing where the number is undefined. Text is not copied: it is the row's.
using ColumnValue = std::variant<std::monostate, std::uint64_t, double, std::string_view>;

/// Type of a column's values.
enum class ColumnType : std::uint8_t { text, integer, number };

/// Table that has columns: a bit of its own, for `Column::files`.
enum class ColumnFile : std::uint8_t { stats = 1, regions = 2, dataset = 4, errors = 8, quality = 16 };

/// What the records of a table are about.
enum class TableSubject : std::uint8_t { image, failure, set };

struct TableTraits {
    ColumnFile table;
    const char* name;      ///< of its file, NAME.csv, and in the rows of shards
    TableSubject subject;  ///< a region is of an image
    bool per_channel;      ///< one row per channel; else one per record
    bool always;           ///< in every run that writes results; else where a run asks for it

    std::string file_name() const { return std::string(name) + ".csv"; }
};

/// All tables. A run gives the files their names in this order, merging in the opposite one.
inline constexpr TableTraits all_tables[] = {
    {ColumnFile::stats, "stats", TableSubject::image, true, true},
    {ColumnFile::regions, "regions", TableSubject::image, true, false},
    {ColumnFile::quality, "quality", TableSubject::image, false, false},
    {ColumnFile::errors, "errors", TableSubject::failure, false, true},
    {ColumnFile::dataset, "dataset", TableSubject::set, true, true},
};

/// Tables of images and failures, whose rows come in the order of the inputs.
const std::vector<TableTraits>& input_tables();

/// Row of a table. A value outside the enumeration is not allowed.
constexpr const TableTraits& traits_of(ColumnFile table) {
    const TableTraits* traits = all_tables;
    while (traits->table != table) ++traits;
    return *traits;
}

/// Column of results: one row of the table.
struct Column {
    std::string name;        ///< in CSV, and the key in JSON
    const char* unit;        ///< `none` of text, `1` of a number without dimension
    ColumnType type;         ///< of its values
    const char* definition;  ///< a sentence, ASCII
    const char* source;      ///< the tool or formula whose value it equals, or `gpuhist`
    const char* images;      ///< the images, or sets, that have a value
    std::uint8_t files;      ///< the files that have it: bits of ColumnFile
    bool of_channel;         ///< one value per channel; else one per image, or a group and depth
    ColumnValue (*read)(const ColumnRow& row, const Column& column);
    std::uint32_t micro = 0;  ///< percentiles: in units of 1e-6 percent

    ColumnValue value(const ColumnRow& row) const { return read(row, *this); }
};

/// Columns, all but those of failures alone or those of a file, in the order of the table, which is that of each file.
/// The percentiles' stand in the order of the list.
std::vector<Column> columns(const Percentiles& percentiles = {});
std::vector<Column> columns(const Percentiles& percentiles, ColumnFile file);

/// Name of a type: `text`, `integer`, `number`.
const char* to_string(ColumnType type);

/// Name of a channel's row: a band's own where there is one, by place; else that of `to_string`. The text is not
/// copied.
std::string_view row_name(Channel channel, const std::vector<std::string>& bands);

/// Name of a percentile's column, given it in units of 1e-6 percent; as Percentiles::name.
std::string percentile_name(std::uint32_t micro);
/// Name of that of weighted samples: `wp01`, `wp50`, `wp99.9`.
std::string weighted_percentile_name(std::uint32_t micro);

/// Formula of luma in images of a depth.
const char* luma_formula(Depth depth);

/// Value on the 0-1 scale: over white; absent where either is.
std::optional<double> unit_scale(const std::optional<double>& value, const std::optional<double>& white);

}  // namespace gpuhist
