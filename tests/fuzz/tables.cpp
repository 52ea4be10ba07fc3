// Files of lookup tables: whatever the bytes, an IoError or tables that read back and can be applied.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
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
        // Bytes of 2 x 1 pixels of 4 channels of the widest type, as samples of any type.
        alignas(double) std::array<unsigned char, 64> pixels{};
        for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<unsigned char>(37 * i + size);
        std::array<double, 8> normalized{};
        ImageView image;
        image.data = pixels.data();
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
