// The sink of JSON's lines.
#pragma once

#include <memory>

#include "gpuhist/io/report.hpp"

namespace gpuhist::io {

std::unique_ptr<Sink> make_json_sink(const Percentiles& percentiles);

}  // namespace gpuhist::io
