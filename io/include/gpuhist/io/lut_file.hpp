/// LUT files: lookup tables to keep and to reuse.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gpuhist/lut.hpp"

namespace gpuhist::io {

/// Tables as CSV a person can read: a line with the checksum of those below it; for each depth a line `# gpuhist
/// tables: depth u8, mode minmax, channels joint`, with `, copies u16` where these have another depth than the mode's,
/// a header `value,` and the columns' channels, then a line for every value; of f32 a header `number,` and the
/// channels, then the lines `lower` and `upper`, or `mean` and `std`, and for equalize one for each of the 65536 bins.
/// Numbers read back to the same tables.
std::string luts_csv(const std::vector<LutSet>& tables);

/// Reads it; lines may end in CR LF, and the first may be left out. `name` is for messages. Throws IoError naming it,
/// the line and what is wrong there.
std::vector<LutSet> parse_luts(std::string_view csv, const std::string& name);

/// Tells whether the first line is that of the checksum: else nobody knows whether the numbers are as they were
/// written.
bool has_checksum(std::string_view csv);

}  // namespace gpuhist::io
