// Constants: whatever the bytes, an IoError or equally many numbers.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "gpuhist/error.hpp"
#include "gpuhist/io/constants.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace gpuhist;
    io::Constants found;
    try {
        found = io::parse_constants({reinterpret_cast<const char*>(data), size}, "constants");
    } catch (const IoError&) {
        return 0;
    }
    if (found.mean.empty() || found.mean.size() != found.std.size()) std::abort();
    for (const io::Constant& one : found.std)
        if (!(one.value > 0) || std::isnan(one.half_digit)) std::abort();
    return 0;
}
