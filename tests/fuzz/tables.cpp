// Files of lookup tables: whatever the bytes, an IoError or tables that read back and can be applied.
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string_view>

#include "gpuhist/error.hpp"
#include "gpuhist/io/lut_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace gpuhist;
    std::vector<LutSet> all;
    try {
        all = io::parse_luts({reinterpret_cast<const char*>(data), size}, "tables");
    } catch (const IoError&) {
        return 0;
    }
    if (io::parse_luts(io::luts_csv(all), "tables") != all) std::abort();
    for (const LutSet& tables : all) {
        const std::array<std::uint16_t, 6> whole{0, 255, 7, 65535, 256, 13};
        const std::array<float, 6> floats{0, -1e38F, 0.5F, std::numeric_limits<float>::infinity(), 256, std::nanf("")};
        std::array<float, 6> normalized{};
        ImageView image;
        image.data = tables.depth == Depth::f32 ? static_cast<const void*>(floats.data()) : whole.data();
        image.width = 2;
        image.height = 1;
        image.channels = tables.find(Channel::red) ? 3 : 1;
        image.depth = tables.depth;
        MutableImageView output;
        output.data = normalized.data();
        output.width = 2;
        output.height = 1;
        output.channels = image.channels;
        output.depth = tables.copy_depth();
        apply_luts(tables, image, output);
    }
    return 0;
}
