/// LUT files: lookup tables that are kept and reused.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gpuhist/lut.hpp"

namespace gpuhist::io {

/// Writes tables as readable CSV. The first line has the checksum of the lines below it. Each depth begins with a line
/// `# gpuhist tables: depth u8, mode minmax, channels joint`, with `, copies u16` if the copies have another depth than
/// the mode's. Then there is a header `value,` with the channels of the columns, and one line per value. f32 has the
/// header `number,` with the channels, then the lines `lower` and `upper`, or `mean` and `std`, and for equalize one
/// line for each of the 65536 bins. The numbers read back to the same tables.
std::string luts_csv(const std::vector<LutSet>& tables);

/// Reads such CSV. Lines may end in CR LF, and the line with the checksum may be missing. `name` is for messages.
/// Throws IoError with the name, the line and the fault.
std::vector<LutSet> parse_luts(std::string_view csv, const std::string& name);

/// Returns whether the first line is that of the checksum. Without it, damage would go unnoticed.
bool has_checksum(std::string_view csv);

}  // namespace gpuhist::io
