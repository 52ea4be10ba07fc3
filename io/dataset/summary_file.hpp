// Summaries as JSON values, which several files hold.
#pragma once

#include "dataset/json.hpp"
#include "gpuhist/dataset.hpp"
#include "gpuhist/io/dataset.hpp"

namespace gpuhist::io {

/// Reads a run of values: Base64, or [place, bytes].
FrequencyRun read_run(const JsonReader& value, const FrequencyFiles& files);

Json summary_value(const Summary& summary);

/// Reads it back. Throws IoError naming the place.
Summary read_summary(const JsonReader& value, const FrequencyFiles& files);

}  // namespace gpuhist::io
