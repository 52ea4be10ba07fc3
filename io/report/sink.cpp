#include "gpuhist/error.hpp"
#include "report/formats.hpp"

namespace gpuhist::io {

std::vector<std::string> sink_formats() {
    std::vector<std::string> names;
    for (const SinkFormat* format : all_sinks) names.emplace_back(format->name);
    return names;
}

std::unique_ptr<Sink> make_sink(std::string_view format, const Percentiles& percentiles) {
    std::string names;
    for (const SinkFormat* known : all_sinks) {
        if (format == known->name) return known->make(percentiles);
        names.append(names.empty() ? "" : ", ").append(known->name);
    }
    throw InvalidArgument("format '" + std::string(format) + "' is none of " + names);
}

}  // namespace gpuhist::io
