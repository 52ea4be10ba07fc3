// JPEGs for a GPU: whatever the bytes, a reason, damage, or the pixels of libjpeg, which has no remark on them. The
// first byte chooses how large chunks and blocks of threads are.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "gpuhist/jpeg.hpp"
#include "support/jpeg_emulation.hpp"
#include "support/jpeg_random.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace gpuhist;
    if (size == 0) return 0;
    static const test::JpegSizes all_sizes[] = {{}, {64, 16, 3, 7}, {256, 32, 4, 50}, {96, 2, 1, 1}};
    const std::vector<unsigned char> file(data + 1, data + size);
    const JpegImage image = JpegDecoder::inspect({file.data(), file.size()});
    if (image.reason.empty() && image.view.pixels() > 1 << 20) return 0;
    const test::EmulatedJpeg decoded = test::emulate_jpeg(file, all_sizes[data[0] % 4]);
    if (!image.reason.empty() && decoded.reason != image.reason) std::abort();
    if (!decoded.reason.empty() || decoded.damage != 0) return 0;
    const jpeg_files::Reading expected = jpeg_files::read(file);
    if (!expected.error.empty() || expected.warnings != 0) std::abort();
    const auto bytes = expected.pixels.total() * expected.pixels.elemSize();
    if (image.view.width != expected.pixels.cols || image.view.height != expected.pixels.rows ||
        decoded.pixels.size() != bytes || std::memcmp(decoded.pixels.data(), expected.pixels.data, bytes) != 0)
        std::abort();
    return 0;
}
