// Image files: whatever the bytes, an IoError, or an image within what was allowed and foreseen.
//
// Built twice. fuzz_image ends where the decoders begin: it is about the checks that come before them, fast, and a
// test. fuzz_decode goes on through OpenCV and the libraries behind it, whose faults it finds too; it is no test.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "decode/formats.hpp"
#include "decode/png.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/io/decode.hpp"

namespace {

using namespace gpuhist;

void require(bool holds) {
    if (!holds) std::abort();
}

/// What remains of a sound PNG is a sound PNG of the same size, with nothing more to leave out.
void check_essential_png(const io::Bytes& file) {
    const std::string essential = io::essential_png(file);
    const io::Probe before = io::probe(file);
    if (essential.empty() || !before.damaged.empty()) return;
    const io::Bytes kept(reinterpret_cast<const unsigned char*>(essential.data()), essential.size());
    const io::Probe after = io::probe(kept);
    require(after.format == &io::png_format && after.width == before.width && after.height == before.height);
    require(after.truncated.empty() == before.truncated.empty() && after.damaged.empty());
    require(kept.size() < file.size() && io::essential_png(kept).empty());
}

#ifndef FUZZ_DECODER
struct DecoderReached {};
#endif

void decode(const std::vector<unsigned char>& bytes, io::OnDamaged on_truncated) {
    io::DecodeOptions options;
    options.max_pixels = 1 << 16;
    options.on_damaged = on_truncated;
    std::uint64_t foreseen = 0;
    options.admit = [&](std::uint64_t needed) {
        foreseen = needed;
        require(needed > bytes.size() && needed <= bytes.size() + options.max_pixels * 16);
#ifndef FUZZ_DECODER
        throw DecoderReached{};
#endif
    };
    try {
        const cv::Mat image = io::decode_image(bytes, "image", options);
        require(!image.empty() && image.total() <= options.max_pixels);
        require(bytes.size() + image.total() * image.elemSize() <= foreseen);
    } catch (const IoError&) {
#ifndef FUZZ_DECODER
    } catch (const DecoderReached&) {
#endif
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::vector<unsigned char> bytes(data, data + size);
    decode(bytes, io::OnDamaged::error);
    decode(bytes, io::OnDamaged::accept);
    const io::Bytes file(data, size);
    if (io::probe(file).format == &io::png_format) check_essential_png(file);
    return 0;
}
