#include "gpuhist/io/report.hpp"

#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "report/fields.hpp"
#include "report/json.hpp"

namespace gpuhist::io {
std::string csv_field(const std::string& field) {
    if (field.find_first_of(",\"\r\n") == field.npos) return field;
    std::string quoted = "\"";
    for (const char c : field) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    return quoted + '"';
}

std::string shortest(double value) {
    std::array<char, 32> buffer;
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
    return {buffer.data(), end};
}

std::string stats_csv_header() {
    std::string line = "path,width,height,depth,channel";
    visit_fields(Statistics{}, [&](const char* name, const auto&) { line.append(",").append(name); });
    return line + '\n';
}

std::string stats_csv_rows(const ImageInfo& image, const std::vector<Statistics>& rows) {
    const std::string start = csv_field(image.path) + ',' + std::to_string(image.width) + ',' +
                              std::to_string(image.height) + ',' + to_string(image.depth) + ',';
    std::string lines;
    for (const Statistics& row : rows) {
        lines.append(start).append(to_string(row.channel));
        visit_fields(row, [&](const char*, const auto& value) { append_text(lines += ',', value); });
        lines += '\n';
    }
    return lines;
}

std::string errors_csv_header() {
    return "path,kind,message\n";
}

std::string errors_csv_row(const Failure& failure) {
    return csv_field(failure.path) + ',' + csv_field(failure.kind) + ',' + csv_field(failure.message) + '\n';
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
    return lines;
}

std::string stats_json(const ImageInfo& image, std::string_view engine, const std::vector<Statistics>& rows) {
    Json object{{"path", image.path},     {"width", image.width},
                {"height", image.height}, {"depth", to_string(image.depth)},
                {"engine", engine},       {"channels", Json::array()}};
    for (const Statistics& row : rows) {
        Json fields{{"channel", to_string(row.channel)}};
        add_fields(fields, row);
        object["channels"].push_back(std::move(fields));
    }
    return object.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace gpuhist::io
