#include "gpuhist/io/sink.hpp"

#include <utility>

#include "gpuhist/error.hpp"
#include "report/formats.hpp"

namespace gpuhist::io {
namespace {

Record record_of(ColumnFile table, const ColumnRow& about, const std::vector<Statistics>& rows) {
    Record record{table, about};
    record.rows.assign(rows.size(), about);
    for (std::size_t i = 0; i < rows.size(); ++i) record.rows[i].statistics = &rows[i];
    return record;
}

ColumnRow row_of(const ImageResult& image) {
    ColumnRow row = io::row_of(image.info);
    row.index = image.index;
    row.measures = &image.measures;
    return row;
}

}  // namespace

const Column& decoder_column() {
    static const Column column{
        "decoder",
        "none",
        ColumnType::text,
        "opencv: cv::imread has read the image.",
        "gpuhist",
        "images, with --decoder opencv",
        static_cast<std::uint16_t>(ColumnFile::stats) | static_cast<std::uint16_t>(ColumnFile::regions),
        false,
        [](const ColumnRow&, const Column&) -> ColumnValue { return std::string_view("opencv"); }};
    return column;
}

ColumnRow row_of(const ImageInfo& info) {
    ColumnRow row;
    row.depth = info.depth;
    row.path = info.path;
    row.width = info.width;
    row.height = info.height;
    row.white = info.white > 0 ? info.white : traits_of(info.depth).highest;
    row.alpha = info.alpha;
    row.damage = info.damage;
    row.pages = info.pages;
    if (info.pixel_width > 0 && info.pixel_height > 0) {
        row.pixel_width = info.pixel_width;
        row.pixel_height = info.pixel_height;
        row.pixel_unit = info.pixel_unit;
    }
    return row;
}

Record record_of(const ImageResult& image) {
    return record_of(ColumnFile::stats, row_of(image), image.rows);
}

Record quality_of(const ImageResult& image) {
    return {ColumnFile::quality, row_of(image)};
}

Record counts_of(const ImageResult& image) {
    Record record{ColumnFile::image_counts, row_of(image)};
    record.about.counts = image.counts;
    return record;
}

Record record_of(const ImageResult& image, const RegionInfo& region, const std::vector<Statistics>& rows) {
    ColumnRow row = row_of(image);
    row.region = region.name;
    row.x = region.x;
    row.y = region.y;
    row.width = region.width;
    row.height = region.height;
    row.area = region.area;
    row.centroid_x = region.centroid_x;
    row.centroid_y = region.centroid_y;
    return record_of(ColumnFile::regions, row, rows);
}

Record record_of(std::uint64_t index, const Failure& failure) {
    Record record{ColumnFile::errors};
    record.about.index = index;
    record.about.path = failure.path;
    record.about.kind = failure.kind;
    record.about.message = failure.message;
    return record;
}

std::vector<std::string> sink_formats() {
    std::vector<std::string> names;
    for (const SinkFormat* format : all_sinks) names.emplace_back(format->name);
    return names;
}

std::unique_ptr<Sink> make_sink(std::string_view format, std::vector<Table> tables) {
    std::string names;
    for (const SinkFormat* known : all_sinks) {
        if (format == known->name) return known->make(std::move(tables));
        names.append(names.empty() ? "" : ", ").append(known->name);
    }
    throw InvalidArgument("format '" + std::string(format) + "' is not one of " + names);
}

}  // namespace gpuhist::io
