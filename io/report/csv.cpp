#include "report/csv.hpp"

#include <array>
#include <charconv>

#include "report/dataset.hpp"
#include "report/formats.hpp"

namespace gpuhist::io {
namespace {

/// Kind of text, by what may stand before it.
enum class Text { name, other };

/// Whether a spreadsheet would run the field as a formula. A lone - is standard input, and -#N a page of it.
bool looks_like_formula(std::string_view field) {
    const bool page = field.substr(0, 2) == "-#" && field.find_first_not_of("0123456789", 2) == field.npos;
    return !field.empty() && field != "-" && !page && std::string_view("=+-@\t\r\n").find(field.front()) != field.npos;
}

/// Field as RFC 4180 wants it: in quotes where it holds a comma, a quote or a line's end. What looks like a formula
/// begins with something harmless: names of files with ./, which is the same file to every program, other text with an
/// apostrophe. Numbers do not come here.
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
    void operator()(double value) const {
        if (value > 0 && value < 1e5 && value == static_cast<double>(static_cast<std::uint32_t>(value)))
            return (*this)(static_cast<std::uint64_t>(value));
        std::array<char, 32> text;
        line.append(text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr);
    }
};

class CsvSink final : public Sink {
  public:
    explicit CsvSink(const Percentiles& percentiles) : rows_(ColumnFile::stats_csv, percentiles) {}
    std::string begin() override { return rows_.header(); }
    std::string format(const ImageResult& image) const override {
        std::string lines;
        rows_.append(lines, image.info, image.rows);
        return lines;
    }

  private:
    CsvRows rows_;
};

class DatasetCsv final : public DatasetText {
  public:
    explicit DatasetCsv(const Percentiles& percentiles) : rows_(ColumnFile::dataset_csv, percentiles) {}
    std::string begin() const override { return rows_.header(); }
    std::string group(const GroupNumbers& numbers) override {
        std::string lines;
        for (const SummaryRow& found : numbers.found.rows) rows_.append(lines, row_of(numbers, found));
        return lines;
    }
    std::string end() const override { return {}; }

  private:
    CsvRows rows_;
};

}  // namespace

const SinkFormat csv_sink{"csv", make_sink_of<CsvSink>};

std::string CsvRows::header() const {
    std::string line;
    for (const Column& column : columns_) line.append(line.empty() ? "" : ",").append(column.name);
    return line + '\n';
}

void CsvRows::append(std::string& lines, const ColumnRow& row) const {
    for (const Column& column : columns_) {
        if (&column != &columns_.front()) lines += ',';
        const bool is_name = column.name == "path" || column.name == "group" || column.name == "region";
        std::visit(AppendValue{lines, is_name ? Text::name : Text::other}, column.value(row));
    }
    lines += '\n';
}

void CsvRows::append(std::string& lines, const ImageInfo& image, const std::vector<Statistics>& rows,
                     std::string_view start) const {
    ColumnRow row = row_of(image);
    for (const Statistics& statistics : rows) {
        row.statistics = &statistics;
        append(lines += start, row);
    }
}

std::string stats_csv_header(const Percentiles& percentiles) {
    return CsvRows(ColumnFile::stats_csv, percentiles).header();
}

std::string stats_csv_rows(const ImageInfo& image, const std::vector<Statistics>& rows,
                           const Percentiles& percentiles) {
    std::string lines;
    CsvRows(ColumnFile::stats_csv, percentiles).append(lines, image, rows);
    return lines;
}

std::unique_ptr<DatasetText> dataset_csv_text(const Percentiles& percentiles) {
    return std::make_unique<DatasetCsv>(percentiles);
}

std::string shortest(double value) {
    std::array<char, 32> buffer;
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
    return {buffer.data(), end};
}

std::string errors_csv_header() {
    return "path,kind,message\n";
}

std::string errors_csv_row(const Failure& failure) {
    std::string line;
    append_field(line, failure.path, Text::name);
    append_field(line += ',', failure.kind, Text::other);
    append_field(line += ',', failure.message, Text::other);
    return line + '\n';
}

std::string histogram_csv(const Histogram& histogram) {
    std::string lines = "bin,lower,upper";
    for (const auto& column : histogram.columns) lines.append(",").append(to_string(column.channel));
    lines += '\n';
    const std::size_t bins = histogram.columns.empty() ? 0 : histogram.columns.front().counts.size();
    std::string lower = shortest(histogram.edge(0));
    for (std::size_t bin = 0; bin < bins; ++bin) {
        std::string upper = shortest(histogram.edge(bin + 1));
        lines.append(std::to_string(bin)).append(",").append(lower).append(",").append(upper);
        for (const auto& column : histogram.columns) lines.append(",").append(std::to_string(column.counts[bin]));
        lines += '\n';
        lower = std::move(upper);
    }
    const auto append_outside = [&](const char* name, std::uint64_t Histogram::Column::*count) {
        bool any = false;
        for (const auto& column : histogram.columns) any = any || column.*count != 0;
        if (!any) return;
        lines.append(name).append(",,");
        for (const auto& column : histogram.columns) lines.append(",").append(std::to_string(column.*count));
        lines += '\n';
    };
    append_outside("below", &Histogram::Column::below);
    append_outside("above", &Histogram::Column::above);
    append_outside("nan", &Histogram::Column::nan);
    append_outside("masked", &Histogram::Column::masked);
    append_outside("nodata", &Histogram::Column::nodata);
    return lines;
}

}  // namespace gpuhist::io
