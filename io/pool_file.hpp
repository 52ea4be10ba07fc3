// Pools as JSON values, part of several files.
#pragma once

#include "gpuhist/io/dataset.hpp"
#include "gpuhist/pool.hpp"
#include "json.hpp"

namespace gpuhist::io {

Json pool_value(const Pool& pool);

/// Throws IoError naming the place.
Pool read_pool(const JsonReader& value, const ValueFiles& files);

}  // namespace gpuhist::io
