#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <utility>

#include "report/formats.hpp"

namespace gpuhist::io {
namespace {

/// Kind of text, by the prefix that it may get.
enum class Text { name, other };

/// Whether a spreadsheet would run the field as a formula. A lone - is standard input, and -#N a page of it.
bool looks_like_formula(std::string_view field) {
    const bool page = field.substr(0, 2) == "-#" && field.find_first_not_of("0123456789", 2) == field.npos;
    return !field.empty() && field != "-" && !page && std::string_view("=+-@\t\r\n").find(field.front()) != field.npos;
}

/// Field by RFC 4180: in quotes if it contains a comma, a quote or a line end. Text that looks like a formula gets a
/// harmless prefix: names of files get ./, which is the same file for every program, and other text an apostrophe.
/// Numbers do not come here.
void append_field(std::string& line, std::string_view field, Text kind) {
    const std::string_view guard = !looks_like_formula(field) ? "" : kind == Text::name ? "./" : "'";
    if (field.find_first_of(",\"\r\n") == field.npos) {
        line.append(guard).append(field);
        return;
    }
    line.append("\"").append(guard);
    for (const char c : field) line.append(c == '"' ? 2 : 1, c);
    line += '"';
}

/// A value's field. Doubles are written as by `shortest`, which writes whole numbers of up to five digits without an
/// exponent; these are quicker as integers.
struct AppendValue {
    std::string& line;
    Text kind;

    void operator()(std::monostate) const {}
    void operator()(std::string_view text) const { append_field(line, text, kind); }
    void operator()(std::uint64_t value) const {
        std::array<char, 20> digits;
        line.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
    }
    void operator()(const Int128& value) const { line += to_string(value); }
    void operator()(double value) const {
        if (value > 0 && value < 1e5 && value == static_cast<double>(static_cast<std::uint32_t>(value)))
            return (*this)(static_cast<std::uint64_t>(value));
        std::array<char, 32> text;
        line.append(text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr);
    }
};

class CsvSink final : public Sink {
  public:
    explicit CsvSink(std::vector<Table> tables) {
        for (Table& table : tables) {
            Lines& lines = tables_.emplace_back(Lines{traits_of(table.name), {}});
            for (Column& column : table.columns) {
                const bool is_name = column.name == "path" || column.name == "group" || column.name == "region" ||
                                     column.name == "kept" || column.name == "a" || column.name == "b";
                lines.fields.push_back({std::move(column), is_name ? Text::name : Text::other});
            }
        }
    }

    std::string begin() override {
        std::string line;
        for (const Field& field : tables_.front().fields)
            line.append(line.empty() ? "" : ",").append(field.column.name);
        return line + '\n';
    }
    std::string format(const Record& record) const override {
        std::string text;
        for (const Lines& lines : tables_) {
            if (lines.traits.table != record.table) continue;
            if (!lines.traits.per_channel && record.rows.empty()) append_line(text, lines, record.about);
            for (const ColumnRow& row : record.rows) append_line(text, lines, row);
        }
        return text;
    }

  private:
    struct Field {
        Column column;
        Text kind;
    };
    /// Lines of a table.
    struct Lines {
        TableTraits traits;
        std::vector<Field> fields;
    };

    static void append_line(std::string& text, const Lines& lines, const ColumnRow& row) {
        for (const Field& field : lines.fields) {
            if (&field != &lines.fields.front()) text += ',';
            std::visit(AppendValue{text, field.kind}, field.column.value(row));
        }
        text += '\n';
    }

    std::vector<Lines> tables_;
};

/// Sink of one table, which the header is of.
std::unique_ptr<Sink> make_csv_sink_of_one(std::vector<Table> tables) {
    tables.erase(tables.begin() + 1, tables.end());
    return make_csv_sink(std::move(tables));
}

}  // namespace

const SinkFormat csv_sink{"csv", make_csv_sink_of_one};

std::unique_ptr<Sink> make_csv_sink(std::vector<Table> tables) {
    return std::make_unique<CsvSink>(std::move(tables));
}

std::string stats_csv_header(const StatisticsRequest& asked) {
    return CsvSink({Table(ColumnFile::stats, asked)}).begin();
}

std::string stats_csv_rows(const ImageInfo& image, const std::vector<Statistics>& rows,
                           const StatisticsRequest& asked) {
    return CsvSink({Table(ColumnFile::stats, asked)}).format(record_of({0, image, rows}));
}

std::string csv_field(std::string_view text) {
    std::string field;
    append_field(field, text, Text::other);
    return field;
}

std::string shortest(double value) {
    std::array<char, 32> buffer;
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
    return {buffer.data(), end};
}

std::string formatted(const char* format, double value) {
    std::array<char, 40> text{};
    std::snprintf(text.data(), text.size(), format, value);
    return text.data();
}

std::string grouped(std::uint64_t number) {
    std::string digits = std::to_string(number);
    for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
    return digits;
}

namespace {

/// Count of a histogram's samples, or their weight.
std::string sum_text(const Histogram& histogram, std::uint64_t count) {
    const double weight = static_cast<double>(count) * histogram.unit;
    if (histogram.unit == 1) return std::to_string(count);
    return weight == std::floor(weight) ? std::to_string(static_cast<std::uint64_t>(weight)) : shortest(weight);
}

}  // namespace

std::string histogram_csv(const Histogram& histogram) {
    std::string lines = "bin,lower,upper";
    for (const auto& column : histogram.columns) append_field(lines += ',', channel_name(column), Text::other);
    lines += '\n';
    const std::size_t bins = histogram.columns.empty() ? 0 : histogram.columns.front().counts.size();
    std::string lower = shortest(histogram.edge(0));
    for (std::size_t bin = 0; bin < bins; ++bin) {
        std::string upper = shortest(histogram.edge(bin + 1));
        lines.append(std::to_string(bin)).append(",").append(lower).append(",").append(upper);
        for (const auto& column : histogram.columns) lines.append(",").append(sum_text(histogram, column.counts[bin]));
        lines += '\n';
        lower = std::move(upper);
    }
    const auto samples_text = [](std::uint64_t samples) { return std::to_string(samples); };
    const auto weight_text = [&](std::uint64_t weight) { return sum_text(histogram, weight); };
    const auto append_outside = [&](const char* name, std::uint64_t Histogram::Column::*count, const auto& text) {
        bool any = false;
        for (const auto& column : histogram.columns) any = any || column.*count != 0;
        if (!any) return;
        lines.append(name).append(",,");
        for (const auto& column : histogram.columns) lines.append(",").append(text(column.*count));
        lines += '\n';
    };
    append_outside("below", &Histogram::Column::below, weight_text);
    append_outside("above", &Histogram::Column::above, weight_text);
    append_outside("nan", &Histogram::Column::nan, samples_text);
    append_outside("masked", &Histogram::Column::masked, samples_text);
    append_outside("nodata", &Histogram::Column::nodata, samples_text);
    return lines;
}

}  // namespace gpuhist::io
