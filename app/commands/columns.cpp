#include "commands/columns.hpp"

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>
#include <vector>

#include "cli/console.hpp"
#include "cli/layout.hpp"
#include "gpuhist/columns.hpp"
#include "gpuhist/io/sink.hpp"
#include "run/exit_code.hpp"

namespace gpuhist::app {
namespace {

/// Columns that are told apart by their names alone.
struct Entry {
    std::vector<std::string> names;
    Column column;
};

/// Columns of all tables except errors.csv, with the optional ones.
std::vector<Column> all_columns(const Percentiles& percentiles) {
    std::vector<Column> list = columns(percentiles);
    list.push_back(io::decoder_column());
    return list;
}

std::vector<Entry> entries_of(const Percentiles& percentiles) {
    std::vector<Entry> entries;
    for (const Column& column : all_columns(percentiles)) {
        if (entries.empty() || std::string_view(entries.back().column.definition) != column.definition)
            entries.push_back({{}, column});
        entries.back().names.push_back(column.name);
    }
    return entries;
}

std::string joined(const std::vector<std::string>& names, const std::string& quote) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + quote + name + quote;
    return text;
}

std::string as_text(const Percentiles& percentiles) {
    std::vector<std::vector<std::string>> lines{{"name", "unit", "type", "for", "source", "definition"}};
    for (const Column& column : all_columns(percentiles))
        lines.push_back(
            {column.name, column.unit, to_string(column.type), column.images, column.source, column.definition});
    return aligned(lines);
}

std::string as_json(const Percentiles& percentiles) {
    using Json = nlohmann::ordered_json;
    Json list = Json::array();
    for (const Column& column : all_columns(percentiles))
        list.push_back(Json{{"name", column.name},
                            {"unit", column.unit},
                            {"type", to_string(column.type)},
                            {"definition", column.definition},
                            {"source", column.source},
                            {"for", column.images}});
    return list.dump(2) + '\n';
}

std::string as_markdown(const Percentiles& percentiles) {
    std::string text = "| column | unit | definition | equals | for |\n|---|---|---|---|---|\n";
    for (const Entry& entry : entries_of(percentiles))
        text += "| " + joined(entry.names, "`") + " | " + entry.column.unit + " | " + entry.column.definition + " | " +
                entry.column.source + " | " + entry.column.images + " |\n";
    return text;
}

}  // namespace

std::string definition(const std::string& name, const std::string& text) {
    return entry(name, text, 15);
}

std::string sentences(const Column& column) {
    const std::string_view source = column.source;
    const bool known = source != "gpuhist" && source != "the decoder";
    return column.definition + (known ? " Equals " + std::string(source) + "." : "");
}

std::string column_definitions(const Percentiles& percentiles) {
    constexpr int compared = static_cast<int>(ColumnFile::comparison) | static_cast<int>(ColumnFile::same);
    std::string text;
    for (const Entry& entry : entries_of(percentiles))
        if ((entry.column.files & ~compared) != 0) text += definition(joined(entry.names, ""), sentences(entry.column));
    return text;
}

int show_columns(const ColumnsOptions& options) {
    Console console(true);
    console.print(options.format == "json"       ? as_json(options.percentiles)
                  : options.format == "markdown" ? as_markdown(options.percentiles)
                                                 : as_text(options.percentiles));
    return console.failed() ? output_failed : all_done;
}

}  // namespace gpuhist::app
