/// LUT files: lookup tables to keep and to reuse.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gpuhist/lut.hpp"

namespace gpuhist::io {

/// Tables as CSV a person can read: for each depth a line `# gpuhist tables: depth u8, mode minmax, channels joint`, a
/// header `value,` and the columns' channels, then a line for every value; of f32 a header `number,` and the channels,
/// then the lines `lower` and `upper`, or `mean` and `std`, and for equalize one for each of the 65536 bins. Numbers
/// read back to the same tables.
std::string luts_csv(const std::vector<LutSet>& tables);

/// Reads it; lines may end in CR LF. `name` is for messages. Throws IoError naming it, the line and what is wrong
/// there.
std::vector<LutSet> parse_luts(std::string_view csv, const std::string& name);

}  // namespace gpuhist::io
