// Engines that gpu/front makes for itself.
#pragma once

#include <memory>

#include "gpuhist/engine.hpp"

namespace gpuhist::front {

/// Engine on the CPU for images with few pixels. Its analyses of 8 and 16 bits have values in place of counts.
std::unique_ptr<Engine> make_region_engine(const EngineOptions& options);

}  // namespace gpuhist::front
