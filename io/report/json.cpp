#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "dataset/json.hpp"
#include "gpuhist/io/dataset.hpp"
#include "report/formats.hpp"

namespace gpuhist::io {
namespace {

constexpr int schema = 1;  ///< goes up when what a key means changes, or a key goes

struct ToJson {
    Json operator()(std::monostate) const { return nullptr; }
    Json operator()(const Int128& value) const {  // readers of JSON have 64 bits, and doubles
        const auto low = static_cast<std::int64_t>(value.low);
        if (value.high == (low < 0 ? -1 : 0)) return low;
        return to_double(value);
    }
    template <class T>
    Json operator()(const T& value) const {
        return value;
    }
};

/// Adds the values of the columns. If a text is not UTF-8, KEY_base64 has its bytes.
void add_columns(Json& object, const std::vector<Column>& list, const ColumnRow& row) {
    for (const Column& column : list) {
        const ColumnValue value = column.value(row);
        object[column.name] = std::visit(ToJson{}, value);
        if (const auto* text = std::get_if<std::string_view>(&value); text && !is_utf8(*text))
            object[column.name + "_base64"] = base64(*text);
    }
}

/// Text of the value, with U+FFFD in place of bytes that are not UTF-8. All control characters are escaped, including
/// those from 0x7f to 0x9f, which JSON allows but terminals obey.
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

Json histogram_value(const Histogram& histogram) {
    Json value{{"range", {histogram.range.lower, histogram.range.upper}}, {"channels", Json::array()}};
    if (histogram.weighted) value["weighted"] = true;
    const auto sum = [&](std::uint64_t count) {
        return histogram.unit == 1 ? Json(count) : Json(static_cast<double>(count) * histogram.unit);
    };
    for (const Histogram::Column& column : histogram.columns) {
        Json& channel = value["channels"].emplace_back(Json{{"channel", channel_name(column)}});
        if (!is_utf8(column.name)) channel["channel_base64"] = base64(column.name);
        channel["below"] = sum(column.below);
        channel["above"] = sum(column.above);
        channel["nan"] = column.nan;
        if (column.masked > 0) channel["masked"] = column.masked;
        if (column.nodata > 0) channel["nodata"] = column.nodata;
        Json& counts = channel["counts"] = Json::array();
        for (const std::uint64_t count : column.counts) counts.push_back(sum(count));
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

/// An object per record, and in it one per channel. A set is an array of these, one line each; others are lines alone.
class JsonSink final : public Sink {
  public:
    explicit JsonSink(std::vector<Table> tables) : array_(tables.front().name == ColumnFile::dataset) {
        for (Table& table : tables) {
            Keys& keys = tables_.emplace_back(Keys{table.name, {}, {}});
            for (Column& column : table.columns)
                (column.of_channel ? keys.of_channel : keys.of_record).push_back(std::move(column));
        }
        if (!array_) return;
        Json columns;
        const Keys& keys = tables_.front();
        for (const std::vector<Column>* list : {&keys.of_record, &keys.of_channel, &measures_})
            for (const Column& column : *list)
                columns[column.name] = {{"unit", column.unit}, {"definition", column.definition}};
        definitions_ = ",\"columns\":" + text_of(columns);
    }

    std::string begin() override { return array_ ? "[\n" : ""; }
    std::string format(const Record& record) const override {
        std::string text;
        for (const Keys& keys : tables_)
            if (keys.table == record.table)
                text = array_ ? between + text_of(value_of(record, keys)) : text_of(value_of(record, keys)) + '\n';
        return text;
    }
    std::string append(std::string formatted) override {
        if (!array_ || formatted.empty() || !std::exchange(first_, false)) return formatted;
        // The first of the objects, each of which is a line.
        const std::size_t next = formatted.find(between, between.size());
        formatted.insert((next == formatted.npos ? formatted.size() : next) - 1, definitions_);
        return formatted.erase(0, between.size());
    }
    std::string end() override { return array_ ? "\n]\n" : ""; }

  private:
    struct Keys {
        ColumnFile table;
        std::vector<Column> of_record, of_channel;
    };
    inline static const std::string between = ",\n";

    /// Columns of measures in a set, but for those of the set.
    static std::vector<Column> columns_of_measures() {
        std::vector<Column> columns = gpuhist::columns({}, ColumnFile::set_quality);
        columns.erase(std::remove_if(columns.begin(), columns.end(),
                                     [](const Column& column) {
                                         return (column.files & static_cast<std::uint16_t>(ColumnFile::dataset)) != 0;
                                     }),
                      columns.end());
        return columns;
    }

    Json value_of(const Record& record, const Keys& keys) const {
        Json value{{"schema", schema}}, channels = Json::array();
        add_columns(value, keys.of_record, record.about);
        bool colors = false, gray = false;
        for (const ColumnRow& row : record.rows) {
            if (!row.statistics) {
                add_columns(channels.emplace_back(Json::object()), keys.of_channel, row);
                continue;
            }
            const Channel channel = row.statistics->channel;
            if (channel == Channel::luma) value["luma"] = luma_formula(row.depth);
            colors = colors || channel == Channel::red;
            gray = gray || channel == Channel::gray;
            add_columns(channels.emplace_back(Json::object()), keys.of_channel, row);
        }
        if (record.training && colors) value["normalize"] = normalize_value(record.training->colors);
        if (record.training && gray)
            value[colors ? "normalize_gray" : "normalize"] = normalize_value(record.training->gray);
        if (!keys.of_channel.empty()) value["channels"] = std::move(channels);
        for (const ColumnRow& measure : record.measures)
            add_columns(value["quality"].emplace_back(Json::object()), measures_, measure);
        if (!record.manifest.empty()) value["manifest"] = record.manifest;
        if (record.training) value["histogram"] = record.histogram ? histogram_value(*record.histogram) : Json(nullptr);
        return value;
    }

    std::vector<Keys> tables_;
    const std::vector<Column> measures_ = columns_of_measures();
    const bool array_;
    std::string definitions_;  ///< of the columns, for the first object of an array
    bool first_ = true;
};

}  // namespace

const SinkFormat json_sink{"json", [](std::vector<Table> tables) -> std::unique_ptr<Sink> {
                               return std::make_unique<JsonSink>(std::move(tables));
                           }};

std::string stats_json(const ImageInfo& image, const std::vector<Statistics>& rows, const StatisticsRequest& asked) {
    return JsonSink({Table(ColumnFile::stats, asked)}).format(record_of({0, image, rows}));
}

}  // namespace gpuhist::io
