#include "run/sinks.hpp"

#include "gpuhist/io/shard.hpp"
#include "run/options.hpp"

namespace gpuhist::app {

Formatted& Formatted::operator+=(const Formatted& next) {
    rows += next.rows;
    regions += next.regions;
    printed += next.printed;
    return *this;
}

Formatted Sinks::format(const io::Record& record) const {
    const auto by = [&](const std::unique_ptr<io::Sink>& sink) { return sink ? sink->format(record) : std::string(); };
    return {by(rows), by(regions), by(printed)};
}

Sinks make_sinks(const Options& options) {
    const io::Table stats(ColumnFile::stats, options.percentiles), regions(ColumnFile::regions, options.percentiles);
    Sinks sinks;
    if ((!options.write || options.write->stats) && options.shard) {
        sinks.rows = io::make_shard_sink(options.percentiles);
    } else if (!options.write || options.write->stats) {
        sinks.rows = io::make_sink("csv", {stats});
        if (options.regions_asked()) sinks.regions = io::make_sink("csv", {regions});
        sinks.errors = io::make_sink("csv", {io::Table(ColumnFile::errors)});
    }
    if (options.format != "none" && options.format != "table")
        sinks.printed = io::make_sink(options.format, {stats, regions});
    return sinks;
}

}  // namespace gpuhist::app
