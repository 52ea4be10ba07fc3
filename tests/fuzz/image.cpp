// Image files: whatever the bytes, an IoError, or an image within what was allowed and foreseen.
//
// Built twice. fuzz_image ends where the decoders begin: it is about the checks that come before them, and fast.
// fuzz_decode goes on through the decoder of one format, of which GPUHIST_FORMAT names an extension; files of other
// formats are left out, so that the search stays with it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <opencv2/core.hpp>
#include <optional>
#include <vector>

#include "decode/formats.hpp"
#include "decode/profile.hpp"
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

/// The most that a pixel takes while it is decoded: 64 samples of f64, twice.
constexpr std::uint64_t most_pixel_bytes = 2 * most_channels * sizeof(double);

void decode(const std::vector<unsigned char>& bytes, io::OnDamaged on_damaged, std::uint64_t page = 0, bool raw = false,
            std::optional<ColorSpace> space = {}) {
    io::DecodeOptions options;
    options.page = page;
    options.raw = raw;
    options.space = space;
    options.mask_transparent = true;
    options.max_pixels = 1 << 16;
    options.on_damaged = on_damaged;
    std::uint64_t foreseen = 0;
    options.admit = [&](std::uint64_t file, std::uint64_t pixels) {
        foreseen = file + pixels;
        constexpr std::uint64_t most_inflated = std::uint64_t{1} << 27;  // of a PNG, and its data in one piece
        require((page > 0 || file >= bytes.size()) && file <= 2 * bytes.size() + most_inflated && pixels > 0 &&
                pixels <= options.max_pixels * most_pixel_bytes);
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

#ifdef FUZZ_DECODER
/// Decodes in strips, and expects the rows of the image that comes whole.
void decode_in_strips(const std::vector<unsigned char>& bytes) {
    io::DecodeOptions options;
    options.max_pixels = 1 << 16;
    options.on_damaged = io::OnDamaged::accept;
    std::uint64_t rows = 0, columns = 0;
    cv::Mat whole;
    try {
        whole = io::decode_image(bytes, "image", options).pixels;
    } catch (const IoError&) {
        return;
    }
    io::Strips strips;
    strips.strip_bytes = 256;
    strips.max_pixels = options.max_pixels;
    strips.refusal = [](const io::StripFacts&) { return std::string(); };
    const bool upright = sought() != &io::jpeg_format && sought() != &io::tiff_format;  // others are not turned
    bool same = true;
    strips.take = [&](const io::Image& strip, std::uint64_t row) {
        require(row == rows && strip.pixels.type() == whole.type());
        rows += static_cast<std::uint64_t>(strip.pixels.rows);
        columns = static_cast<std::uint64_t>(strip.pixels.cols);
        for (int y = 0; y < strip.pixels.rows && upright; ++y)
            same = same && std::memcmp(strip.pixels.ptr(y), whole.ptr(static_cast<int>(row) + y),
                                       static_cast<std::size_t>(whole.cols) * whole.elemSize()) == 0;
    };
    options.strips = &strips;
    const io::Image image = io::decode_image(bytes, "image", options);
    if (!image.pixels.empty()) return;  // it came whole
    require(same && rows * columns == whole.total());
}
#endif

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::vector<unsigned char> bytes(data, data + size);
#ifdef FUZZ_DECODER
    if (sought() && io::probe(io::Bytes(data, size)).format != sought()) return -1;
#endif
    decode(bytes, io::OnDamaged::error);
    decode(bytes, io::OnDamaged::accept);
    decode(bytes, io::OnDamaged::accept, 0, true);
#ifdef FUZZ_DECODER
    decode_in_strips(bytes);
    decode(bytes, io::OnDamaged::accept, 0, false, size % 2 ? ColorSpace::lab : ColorSpace::oklab);
#else
    io::profile_name(io::Bytes(data, size), io::probe(io::Bytes(data, size)));
#endif
    try {
        const auto found = io::probe_pages(bytes, "image");
        require(!found->pages.empty() && found->pages.size() <= size);
        for (std::uint64_t page = 1; page <= std::min<std::uint64_t>(4, found->pages.size() + 1); ++page)
            decode(bytes, io::OnDamaged::accept, page);
    } catch (const IoError&) {
    }
    return 0;
}
