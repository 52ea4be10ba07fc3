/// Constants of normalization, mean and std per channel, as people write them in configurations.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::io {

/// Number of a configuration, and how exactly it is written.
struct Constant {
    double value = 0;
    double half_digit = 0;  ///< half a unit of its last digit
};

/// Mean and std of channels, in the order in which they are written; one per channel, equally many.
struct Constants {
    std::vector<Constant> mean, std;
    std::uint64_t mean_line = 0, std_line = 0;  ///< lines where they are, from 1
};

/// Finds the constants in a text: JSON, YAML, TOML, Python or other code, whatever its extension. They are lists of
/// numbers, `[…]`, `(…)` or YAML's lines with `-`, or single numbers, after names that contain `mean` and `std`, such
/// as `image_mean:` or `mean=`; single ones only if there is no such list. Numbers may be divided by another, as
/// `123.675 / 255`. Without such names, the first two lists of equally many numbers are mean and std, as in
/// `Normalize([0.485, …], [0.229, …])`. Comments, which begin with #, are left out.
///
/// `name` is for messages. Throws IoError, with the lines, if there are none, if there are several that differ, if
/// their numbers of channels differ, and for a std that is not over 0.
Constants parse_constants(std::string_view text, const std::string& name);
/// Reads a file with constants. Throws IoError.
Constants read_constants(const std::filesystem::path& path);

}  // namespace gpuhist::io
