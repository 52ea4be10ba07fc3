// Formats of the results of many images: each is a file of this room, and an entry of the list below.
#pragma once

#include <array>
#include <memory>

#include "gpuhist/io/report.hpp"

namespace gpuhist::io {

/// Format: its word, and what makes its sinks.
struct SinkFormat {
    const char* name;
    std::unique_ptr<Sink> (*make)(const Percentiles& percentiles);
};

/// Maker for a class of sinks.
template <class OneSink>
std::unique_ptr<Sink> make_sink_of(const Percentiles& percentiles) {
    return std::make_unique<OneSink>(percentiles);
}

extern const SinkFormat csv_sink, json_sink;

inline constexpr std::array all_sinks{&csv_sink, &json_sink};

}  // namespace gpuhist::io
