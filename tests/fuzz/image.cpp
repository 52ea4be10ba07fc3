// Image files: whatever the bytes, an IoError, or an image within what was allowed and foreseen.
//
// Built twice. fuzz_image ends where the decoders begin: it is about the checks that come before them, and fast.
// fuzz_decode goes on through the decoder of one format, of which GPUHIST_FORMAT names an extension; files of other
// formats are left out, so that the search stays with it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "decode/formats.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/io/decode.hpp"
#include "gpuhist/io/pages.hpp"

namespace {

using namespace gpuhist;

void require(bool holds) {
    if (!holds) std::abort();
}

#ifdef FUZZ_DECODER
/// Format that is searched; null: all.
const io::ImageFormat* sought() {
    static const io::ImageFormat* const found = [] {
        const char* extension = std::getenv("GPUHIST_FORMAT");
        if (!extension) return static_cast<const io::ImageFormat*>(nullptr);
        for (const io::ImageFormat* format : io::image_formats)
            for (const auto& known : format->extensions)
                if (known == extension) return format;
        std::abort();
    }();
    return found;
}
#else
struct DecoderReached {};
#endif

void decode(const std::vector<unsigned char>& bytes, io::OnDamaged on_damaged, std::uint64_t page = 0) {
    io::DecodeOptions options;
    options.page = page;
    options.max_pixels = 1 << 16;
    options.on_damaged = on_damaged;
    std::uint64_t foreseen = 0;
    options.admit = [&](std::uint64_t file, std::uint64_t pixels) {
        foreseen = file + pixels;
        require((page == 0 ? file == bytes.size() : file <= bytes.size()) && pixels > 0 &&
                pixels <= options.max_pixels * 32);
#ifndef FUZZ_DECODER
        throw DecoderReached{};
#endif
    };
    try {
        const io::Image image = io::decode_image(bytes, "image", options);
        require(!image.pixels.empty() && image.pixels.total() <= options.max_pixels);
        require((page == 0 ? bytes.size() : 0) + image.pixels.total() * image.pixels.elemSize() <= foreseen);
        require(on_damaged == io::OnDamaged::accept || image.damage == io::Damage::none);
        require((image.damage == io::Damage::none) == image.cause.empty());
        io::view(image);
    } catch (const IoError&) {
#ifndef FUZZ_DECODER
    } catch (const DecoderReached&) {
#endif
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::vector<unsigned char> bytes(data, data + size);
#ifdef FUZZ_DECODER
    if (sought() && io::probe(io::Bytes(data, size)).format != sought()) return -1;
#endif
    decode(bytes, io::OnDamaged::error);
    decode(bytes, io::OnDamaged::accept);
    try {
        const auto found = io::probe_pages(bytes, "image");
        require(!found->pages.empty() && found->pages.size() <= size);
        for (std::uint64_t page = 1; page <= std::min<std::uint64_t>(4, found->pages.size() + 1); ++page)
            decode(bytes, io::OnDamaged::accept, page);
    } catch (const IoError&) {
    }
    return 0;
}
