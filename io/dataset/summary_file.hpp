// Pools as JSON values, part of several files.
#pragma once

#include "dataset/json.hpp"
#include "gpuhist/dataset.hpp"
#include "gpuhist/io/dataset.hpp"

namespace gpuhist::io {

Json pool_value(const Summary& pool);

/// Throws IoError naming the place.
Summary read_pool(const JsonReader& value, const FrequencyFiles& files);

}  // namespace gpuhist::io
