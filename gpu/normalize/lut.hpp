// Lookup tables from counts, for one image's and for a pool's. Host only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpuhist/lut.hpp"
#include "gpuhist/normalize.hpp"

namespace gpuhist::core {

/// Fills `table`, a value for each count: float for zscore, unsigned integers for all else. Not all counts are zero.
template <class Value>
void fill_table(const std::vector<std::uint64_t>& counts, const Normalization& normalization, Value* table);

/// Each value itself.
template <class Value>
void identity(Value* table, std::size_t values) {
    for (std::size_t v = 0; v < values; ++v) table[v] = static_cast<Value>(v);
}

/// Throws InvalidArgument where tables are not as they promise.
void validate(const LutSet& tables);

}  // namespace gpuhist::core
