#include "gpuhist/error.hpp"
#include "gpuhist/io/report.hpp"
#include "report/csv.hpp"
#include "report/json.hpp"

namespace gpuhist::io {
namespace {

/// A line a format.
constexpr struct {
    const char* name;
    std::unique_ptr<Sink> (*make)(const Percentiles& percentiles);
} formats[] = {{"csv", make_csv_sink}, {"json", make_json_sink}};

}  // namespace

std::vector<std::string> sink_formats() {
    std::vector<std::string> names;
    for (const auto& format : formats) names.emplace_back(format.name);
    return names;
}

std::unique_ptr<Sink> make_sink(std::string_view format, const Percentiles& percentiles) {
    std::string names;
    for (const auto& known : formats) {
        if (format == known.name) return known.make(percentiles);
        names.append(names.empty() ? "" : ", ").append(known.name);
    }
    throw InvalidArgument("format '" + std::string(format) + "' is none of " + names);
}

}  // namespace gpuhist::io
