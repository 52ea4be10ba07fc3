#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "dataset/json.hpp"
#include "report/csv.hpp"
#include "report/dataset.hpp"
#include "report/formats.hpp"

namespace gpuhist::io {
namespace {

constexpr int schema = 1;  ///< goes up when what a key means changes, or a key goes

struct ToJson {
    Json operator()(std::monostate) const { return nullptr; }
    template <class T>
    Json operator()(const T& value) const {
        return value;
    }
};

/// Columns of a file: those of a channel, or the others.
std::vector<Column> columns_of(ColumnFile file, bool of_channel, const Percentiles& percentiles) {
    std::vector<Column> list = columns(percentiles, file);
    list.erase(
        std::remove_if(list.begin(), list.end(), [&](const Column& one) { return one.of_channel != of_channel; }),
        list.end());
    return list;
}

/// Bytes in the alphabet of RFC 4648, padded.
std::string base64(std::string_view bytes) {
    constexpr const char* alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        unsigned group = 0;
        for (std::size_t j = i; j < i + 3; ++j)
            group = group << 8 | (j < bytes.size() ? static_cast<unsigned char>(bytes[j]) : 0U);
        for (std::size_t j = 0; j < 4; ++j) text += i + j <= bytes.size() ? alphabet[group >> (18 - 6 * j) & 63] : '=';
    }
    return text;
}

/// Adds the columns' values. Of text that is no UTF-8 all bytes stand beside it, in KEY_base64.
void add_columns(Json& object, const std::vector<Column>& list, const ColumnRow& row) {
    for (const Column& column : list) {
        const ColumnValue value = column.value(row);
        object[column.name] = std::visit(ToJson{}, value);
        if (const auto* text = std::get_if<std::string_view>(&value); text && !is_utf8(*text))
            object[column.name + "_base64"] = base64(*text);
    }
}

/// The value's text, with U+FFFD for what is no UTF-8. Every control character is escaped, those from 0x7f to 0x9f too,
/// which JSON allows and terminals obey.
std::string text_of(const Json& value) {
    const std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    std::string safe;
    safe.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        const unsigned next = byte == 0xc2 ? static_cast<unsigned char>(text[i + 1]) : 0U;
        if (byte == 0x7f) {
            safe += "\\u007f";
        } else if (next >= 0x80 && next < 0xa0) {
            safe.append("\\u00").append({"0123456789abcdef"[next >> 4], "0123456789abcdef"[next & 15]});
            ++i;
        } else {
            safe += text[i];
        }
    }
    return safe;
}

/// Line with the columns' values of a row, and an object a channel.
std::string line_of(ColumnRow row, const std::vector<Statistics>& rows, const std::vector<Column>& of_all,
                    const std::vector<Column>& of_channel) {
    Json object{{"schema", schema}}, channels = Json::array();
    add_columns(object, of_all, row);
    for (const Statistics& statistics : rows) {
        row.statistics = &statistics;
        if (statistics.channel == Channel::luma) object["luma"] = luma_formula(row.depth);
        add_columns(channels.emplace_back(Json::object()), of_channel, row);
    }
    object["channels"] = std::move(channels);
    return text_of(object) + '\n';
}

class JsonSink final : public Sink {
  public:
    explicit JsonSink(const Percentiles& percentiles)
        : of_image_(columns_of(ColumnFile::stats_json, false, percentiles)),
          of_channel_(columns_of(ColumnFile::stats_json, true, percentiles)) {}

    std::string format(const ImageResult& image) const override { return line(image.info, image.rows); }
    std::string line(const ImageInfo& image, const std::vector<Statistics>& rows) const {
        return line_of(row_of(image), rows, of_image_, of_channel_);
    }

  private:
    std::vector<Column> of_image_, of_channel_;
};

Json histogram_value(const Histogram& histogram) {
    Json value{{"range", {histogram.range.lower, histogram.range.upper}}, {"channels", Json::array()}};
    if (histogram.weighted) value["weighted"] = true;
    for (const Histogram::Column& column : histogram.columns) {
        Json& channel = value["channels"].emplace_back(Json{{"channel", to_string(column.channel)},
                                                            {"below", column.below},
                                                            {"above", column.above},
                                                            {"nan", column.nan}});
        if (column.masked > 0) channel["masked"] = column.masked;
        if (column.nodata > 0) channel["nodata"] = column.nodata;
        channel["counts"] = column.counts;
    }
    return value;
}

/// Mean and std for training code; null where images have several whites.
Json normalize_value(const std::optional<Normalizers>& numbers) {
    if (!numbers) return nullptr;
    const auto list = [](const std::vector<std::optional<double>>& values) {
        Json all = Json::array();
        for (const auto& value : values) all.push_back(value ? Json(*value) : Json(nullptr));
        return all;
    };
    return Json{{"mean", list(numbers->mean)}, {"std", list(numbers->std)}};
}

class DatasetJson final : public DatasetText {
  public:
    explicit DatasetJson(const Percentiles& percentiles)
        : of_depth_(columns_of(ColumnFile::dataset_json, false, percentiles)),
          of_channel_(columns_of(ColumnFile::dataset_json, true, percentiles)) {}

    std::string begin() const override { return "[\n"; }
    std::string group(const GroupNumbers& numbers) override {
        std::string lines;
        for (std::size_t at = 0; at < numbers.found.histograms.size(); ++at) {
            if (!std::exchange(first_, false)) lines += ",\n";
            lines += text_of(depth_value(numbers, at));
        }
        return lines;
    }
    std::string end() const override { return "\n]\n"; }

  private:
    Json depth_value(const GroupNumbers& group, std::size_t at) const {
        const DepthSummary& summary = group.summary->depths()[at];
        const std::vector<SummaryRow>& rows = group.found.rows;
        const bool colors = summary.find(Channel::red), gray = summary.find(Channel::gray);
        ColumnRow source;
        source.depth = summary.depth;
        source.group = *group.name;
        source.white = summary.white;
        Json value{{"schema", schema}}, channels = Json::array();
        add_columns(value, of_depth_, source);
        for (const SummaryRow& row : rows) {
            if (row.depth != summary.depth) continue;
            if (row.statistics.channel == Channel::luma) value["luma"] = luma_formula(row.depth);
            add_columns(channels.emplace_back(Json::object()), of_channel_, row_of(group, row));
        }
        const TrainingNumbers& training = group.found.training[at];
        if (colors) value["normalize"] = normalize_value(training.colors);
        if (gray) value[colors ? "normalize_gray" : "normalize"] = normalize_value(training.gray);
        value["channels"] = std::move(channels);
        const auto& histogram = group.found.histograms[at];
        value["histogram"] = histogram ? histogram_value(*histogram) : Json(nullptr);
        return value;
    }

    std::vector<Column> of_depth_, of_channel_;
    bool first_ = true;
};

}  // namespace

const SinkFormat json_sink{"json", make_sink_of<JsonSink>};

std::string stats_json(const ImageInfo& image, const std::vector<Statistics>& rows, const Percentiles& percentiles) {
    return JsonSink(percentiles).line(image, rows);
}

struct RegionRows::Columns {
    CsvRows csv;
    std::vector<Column> of_region, of_channel;
};

RegionRows::RegionRows(const Percentiles& percentiles)
    : columns_(new Columns{CsvRows(ColumnFile::regions_csv, percentiles),
                           columns_of(ColumnFile::regions_csv, false, percentiles),
                           columns_of(ColumnFile::regions_csv, true, percentiles)}) {}

RegionRows::~RegionRows() = default;

std::string RegionRows::csv_header() const {
    return columns_->csv.header();
}

void RegionRows::append_csv(std::string& lines, const ImageInfo& image, const RegionInfo& region,
                            const std::vector<Statistics>& rows, std::string_view start) const {
    ColumnRow row = row_of(image, region);
    for (const Statistics& statistics : rows) {
        row.statistics = &statistics;
        lines += start;
        columns_->csv.append(lines, row);
    }
}

void RegionRows::append_json(std::string& lines, const ImageInfo& image, const RegionInfo& region,
                             const std::vector<Statistics>& rows) const {
    lines += line_of(row_of(image, region), rows, columns_->of_region, columns_->of_channel);
}

std::unique_ptr<DatasetText> dataset_json_text(const Percentiles& percentiles) {
    return std::make_unique<DatasetJson>(percentiles);
}

}  // namespace gpuhist::io
