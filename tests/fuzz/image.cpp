// Image files: whatever the bytes, an IoError, or an image within what was allowed and foreseen.
//
// Built twice. fuzz_image ends where the decoders begin: it is about the checks that come before them, fast, and a
// test. fuzz_decode goes on through OpenCV and the libraries behind it, whose faults it finds too; it is no test.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "decode/probe.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/io/image_file.hpp"

namespace {

using namespace gpuhist;

void require(bool holds) {
    if (!holds) std::abort();
}

/// What remains of a sound PNG is a sound PNG of the same size, with nothing more to leave out.
void check_essential_png(const std::vector<unsigned char>& bytes) {
    const std::string essential = io::essential_png(bytes.data(), bytes.size());
    const io::Container before = io::inspect(bytes.data(), bytes.size());
    if (essential.empty() || !before.damaged.empty()) return;
    const auto* data = reinterpret_cast<const unsigned char*>(essential.data());
    const io::Container after = io::inspect(data, essential.size());
    require(after.format == io::Format::png && after.width == before.width && after.height == before.height);
    require(after.truncated.empty() == before.truncated.empty() && after.damaged.empty());
    require(essential.size() < bytes.size() && io::essential_png(data, essential.size()).empty());
}

#ifndef FUZZ_DECODER
struct DecoderReached {};
#endif

void decode(const std::vector<unsigned char>& bytes, io::OnTruncated on_truncated) {
    io::DecodeOptions options;
    options.max_pixels = 1 << 16;
    options.on_truncated = on_truncated;
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
    decode(bytes, io::OnTruncated::error);
    decode(bytes, io::OnTruncated::accept);
    if (io::inspect(data, size).format == io::Format::png) check_essential_png(bytes);
    return 0;
}
