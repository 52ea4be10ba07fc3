#include "commands/formats.hpp"

#include <nlohmann/json.hpp>
#include <vector>

#include "cli/console.hpp"
#include "commands/columns.hpp"
#include "gpuhist/io/formats.hpp"
#include "run/exit_code.hpp"

namespace gpuhist::app {
namespace {

std::string joined(const std::vector<std::string>& words, const char* between) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
    return text;
}

std::string decoders_of(const io::FormatInfo& format) {
    std::vector<std::string> names;
    for (const io::LibraryVersion& library : format.decoders) names.push_back(library.name + ' ' + library.version);
    if (!format.missing.empty()) return "not in this build: it needs " + format.missing;
    return names.empty() ? "gpuhist" : joined(names, ", ");
}

std::string not_read() {
    return "Refused, with an error that names the format: " + joined(io::list_unread_formats(), ", ") + ".\n";
}

std::string as_text() {
    std::string text;
    for (const io::FormatInfo& format : io::list_formats()) {
        text += format.name + '\n';
        const auto line = [&](const char* name, const std::string& words) {
            if (!words.empty()) text += definition(name, words);
        };
        line("extensions", joined(format.extensions, " "));
        line("samples", format.samples);
        line("pages", format.pages.empty() ? "one" : format.pages);
        line("decoder", decoders_of(format));
        line("read", format.read);
        line("refused", format.refused);
    }
    return text + not_read();
}

std::string as_json() {
    using Json = nlohmann::ordered_json;
    Json formats = Json::array();
    for (const io::FormatInfo& format : io::list_formats()) {
        Json decoders = Json::array();
        for (const io::LibraryVersion& library : format.decoders)
            decoders.push_back(Json{{"name", library.name}, {"version", library.version}});
        formats.push_back(Json{{"name", format.name},
                               {"extensions", format.extensions},
                               {"samples", format.samples},
                               {"pages", format.pages},
                               {"decoders", decoders},
                               {"missing", format.missing},
                               {"read", format.read},
                               {"refused", format.refused}});
    }
    return Json{{"formats", formats}, {"not_read", io::list_unread_formats()}}.dump(2) + '\n';
}

std::string as_markdown() {
    std::string text =
        "| format | extensions | samples | pages | decoder | read | refused by name |\n|---|---|---|---|---|---|---|\n";
    for (const io::FormatInfo& format : io::list_formats())
        text += "| " + format.name + " | " + joined(format.extensions, " ") + " | " + format.samples + " | " +
                format.pages + " | " + decoders_of(format) + " | " + format.read + " | " + format.refused + " |\n";
    return text + '\n' + not_read();
}

}  // namespace

int show_formats(const FormatsOptions& options) {
    Console console(true);
    console.print(options.format == "json" ? as_json() : options.format == "markdown" ? as_markdown() : as_text());
    return console.failed() ? output_failed : all_done;
}

}  // namespace gpuhist::app
