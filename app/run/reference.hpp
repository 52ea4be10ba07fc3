/// Reference of --normalize match.
#pragma once

#include <memory>

#include "gpuhist/normalize.hpp"
#include "run/options.hpp"

namespace gpuhist::app {

/// Reads and measures the reference of a run, by its rules for valid samples. Null if the run has none. Throws
/// DataError.
std::shared_ptr<const NormalizeReference> read_reference(const Options& options);

}  // namespace gpuhist::app
