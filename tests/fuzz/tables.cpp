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
        const int channels = tables.find(Channel::red) ? 3 : 1;
        apply_luts(tables, packed_view(pixels.data(), 2, 1, channels, tables.depth),
                   packed_view(normalized.data(), 2, 1, channels, tables.copy_depth()));
    }
    return 0;
}
