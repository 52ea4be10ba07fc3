// List of the measures, in the order of the enumeration.
#pragma once

#include "measures/brightness.hpp"
#include "measures/colorfulness.hpp"
#include "measures/contrast.hpp"
#include "measures/exposure.hpp"
#include "measures/gray.hpp"
#include "measures/hashes.hpp"
#include "measures/laplacian.hpp"
#include "measures/noise.hpp"
#include "measures/tenengrad.hpp"
#include "measures/thresholds.hpp"

namespace gpuhist::measures {

template <class... Each>
struct List {
    /// Calls function(measure) for each, as a value of its type.
    template <class Function>
    static constexpr void for_each(const Function& function) {
        (function(Each{}), ...);
    }
    /// Number of measures up to one.
    static constexpr int size = sizeof...(Each);
};

/// Sums over pixels.
using OfPixels = List<Laplacian, Tenengrad, Noise, Colorfulness, Gray>;

using All = List<Laplacian, Tenengrad, Noise, Colorfulness, Contrast, Brightness, Exposure, Gray, Thresholds, Hashes>;

static_assert(All::size == static_cast<int>(std::size(all_measures)), "a measure is in one of the two lists alone");

}  // namespace gpuhist::measures
