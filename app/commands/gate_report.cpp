#include "commands/gate_report.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "cli/table.hpp"
#include "gpuhist/io/report.hpp"

namespace gpuhist::app {
namespace {

constexpr std::size_t named = 3;         // in a line
constexpr std::size_t annotations = 10;  // GitHub shows no more per step

std::string with_value(const GateItem& item) {
    return item.path + (item.value.empty() ? "" : ' ' + item.value);
}

std::string xml(std::string_view text) {
    std::string escaped;
    for (const char c : printable(text)) {
        if (c == '&')
            escaped += "&amp;";
        else if (c == '<')
            escaped += "&lt;";
        else if (c == '>')
            escaped += "&gt;";
        else if (c == '"')
            escaped += "&quot;";
        else
            escaped += c;
    }
    return escaped;
}

/// Text in a command of GitHub; in a property, : and , mean something too.
std::string github(std::string_view text, bool property) {
    std::string escaped;
    for (const char c : text) {
        if (c == '%')
            escaped += "%25";
        else if (c == '\r')
            escaped += "%0D";
        else if (c == '\n')
            escaped += "%0A";
        else if (property && c == ':')
            escaped += "%3A";
        else if (property && c == ',')
            escaped += "%2C";
        else
            escaped += c;
    }
    return escaped;
}

}  // namespace

std::string shown(double value) {
    return io::formatted("%.6g", value);
}

std::string range_text(const io::GateRules::Interval& rule) {
    if (!rule.highest) return shown(*rule.lowest) + " or more";
    if (!rule.lowest) return shown(*rule.highest) + " or less";
    return shown(*rule.lowest) + " to " + shown(*rule.highest);
}

void GateResult::add(std::string path, std::string value, std::string why) {
    ++count;
    if (items.size() < most_items) items.push_back({std::move(path), std::move(value), std::move(why)});
}

void GateResult::take_items(GateResult& other) {
    count = other.count;
    items = std::move(other.items);
}

std::string GateResult::line() const {
    std::string text = broken.value_or(rule);
    const bool of_set = items.size() == 1 && items.front().why == text;
    if (of_set) return text;
    for (std::size_t i = 0; i < std::min(items.size(), named); ++i)
        text += (i == 0 ? ": " : ", ") + with_value(items[i]);
    if (count > named) text += " and " + std::to_string(count - named) + " more";
    return text;
}

std::string junit_xml(const std::string& directory, const std::vector<GateResult>& results) {
    const auto broken = std::count_if(results.begin(), results.end(), [](const auto& one) { return !!one.broken; });
    const std::string counts =
        "tests=\"" + std::to_string(results.size()) + "\" failures=\"" + std::to_string(broken) + "\" errors=\"0\"";
    std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites " + counts +
                       ">\n  <testsuite name=\"gpuhist gate " + xml(directory) + "\" " + counts + ">\n";
    for (const GateResult& result : results) {
        text += "    <testcase classname=\"gpuhist.gate\" name=\"" + xml(result.rule) + "\"";
        if (!result.broken) {
            text += "/>\n";
            continue;
        }
        text += ">\n      <failure message=\"" + xml(*result.broken) + "\">";
        for (const GateItem& item : result.items) text += '\n' + xml(item.path) + ": " + xml(item.why);
        if (result.count > result.items.size())
            text += "\nand " + std::to_string(result.count - result.items.size()) + " more";
        text += "\n      </failure>\n    </testcase>\n";
    }
    return text + "  </testsuite>\n</testsuites>\n";
}

std::string github_annotations(const std::vector<GateResult>& results) {
    std::string text;
    for (const GateResult& result : results) {
        if (!result.broken) continue;
        for (std::size_t i = 0; i < std::min(result.items.size(), annotations); ++i) {
            const GateItem& item = result.items[i];
            const std::string why = item.why == *result.broken ? "" : ": " + item.why;
            text += "::error file=" + github(item.path, true) + "::" + github(*result.broken + why, false) + '\n';
        }
    }
    return text;
}

}  // namespace gpuhist::app
