#include "run/sinks.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "gpuhist/io/shard.hpp"
#include "run/options.hpp"

namespace gpuhist::app {
namespace {

bool is_wanted(const TableTraits& traits, const Options& options) {
    return traits.always || (traits.table == ColumnFile::regions && options.regions_asked()) ||
           (traits.table == ColumnFile::quality && !options.measures.empty()) ||
           (traits.table == ColumnFile::image_counts && options.keep_image_counts);
}

}  // namespace

Formatted& Formatted::operator+=(const Formatted& next) {
    files.resize(std::max(files.size(), next.files.size()));
    for (std::size_t i = 0; i < next.files.size(); ++i) files[i] += next.files[i];
    printed += next.printed;
    for (const auto& [table, count] : next.rows) rows[table] += count;
    return *this;
}

Formatted Sinks::format(const io::Record& record) const {
    Formatted formatted;
    for (const RowSink& file : files) formatted.files.push_back(file.sink->format(record));
    if (printed) formatted.printed = printed->format(record);
    formatted.rows[record.table] = traits_of(record.table).per_channel ? record.rows.size() : 1;
    return formatted;
}

Sinks make_sinks(const Options& options) {
    Sinks sinks;
    std::vector<io::Table> printed;
    const bool stats = !options.write || options.write->stats;
    if (stats && options.shard)
        sinks.files.push_back(
            {io::shard_rows_file_name(*options.shard), {}, io::make_shard_sink(options.statistics())});
    for (const TableTraits& traits : input_tables()) {
        if (!is_wanted(traits, options)) continue;
        io::Table table(traits.table, options.statistics());
        if (options.by_opencv && (io::decoder_column().files & static_cast<std::uint16_t>(traits.table)) != 0)
            table.columns.push_back(io::decoder_column());
        if (traits.table == ColumnFile::quality)  // beside the statistics of its image
            std::copy_if(table.columns.begin(), table.columns.end(), std::back_inserter(printed.front().columns),
                         [&](const Column& column) {
                             return (column.files & static_cast<std::uint16_t>(ColumnFile::stats)) == 0;
                         });
        else if (traits.subject == TableSubject::image && traits.table != ColumnFile::image_counts)
            printed.push_back(table);
        if (stats && !options.shard) sinks.files.push_back({traits.file_name(), {}, io::make_sink("csv", {table})});
        if (stats) sinks.files.back().tables.push_back(traits);
    }
    if (options.format != "none" && options.format != "table")
        sinks.printed = io::make_sink(options.format, std::move(printed));
    return sinks;
}

}  // namespace gpuhist::app
