// Formats of tables: each is a file of this room, and an entry of the list below.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gpuhist/io/sink.hpp"

namespace gpuhist::io {

/// Format: its name, and the function that makes its sinks.
struct SinkFormat {
    const char* name;
    std::unique_ptr<Sink> (*make)(std::vector<Table> tables);
};

extern const SinkFormat csv_sink, json_sink;

inline constexpr std::array all_sinks{&csv_sink, &json_sink};
/// Formats that the table of a set is written in: dataset.csv, dataset.json.
inline constexpr std::array set_sinks{&csv_sink, &json_sink};

/// Sink of CSV whose tables differ in columns, under the header of the first.
std::unique_ptr<Sink> make_csv_sink(std::vector<Table> tables);

/// Field of CSV with this text, which is not a file's name.
std::string csv_field(std::string_view text);

}  // namespace gpuhist::io
