// TIFF, classic and big.
#include <tiffio.h>

#include <algorithm>
#include <memory>
#include <new>
#include <opencv2/core.hpp>
#include <stdexcept>

#include "decode/formats.hpp"
#include "decode/tiff_codecs.hpp"
#include "decode/tiff_layout.hpp"
#include "decode/tiff_samples.hpp"
#include "files/window.hpp"

namespace gpuhist::io {
namespace {

using namespace std::string_view_literals;
using Finish = TiffLayout::Finish;

bool matches(const Bytes& file) {
    return file.starts_with("II\x2A\0"sv) || file.starts_with("MM\0\x2A"sv) || file.starts_with("II\x2B\0"sv) ||
           file.starts_with("MM\0\x2B"sv);
}

void inspect(const Bytes& file, Probe& probe) {
    if (probe.place == 0) probe.place = tiff_first_page(file);
    TiffLayout layout(file, probe.place);
    probe.held_bytes = layout.longest + FileWindow::kept;
    probe.set_size(layout.width, layout.height);
    probe.pixel_bytes = layout.pixel_bytes();
    probe.unsupported = std::move(layout.unsupported);
    probe.damaged = std::move(layout.damaged);
    probe.truncated = std::move(layout.truncated);
    probe.too_large = std::move(layout.too_large);
}

/// Memory for a strip or tile whose samples do not lie as those of the matrix do.
class Scratch {
  public:
    unsigned char* of(std::uint64_t bytes) {
        if (bytes > size_) memory_.reset(new unsigned char[size_ = bytes]);
        return memory_.get();
    }

  private:
    std::unique_ptr<unsigned char[]> memory_;
    std::uint64_t size_ = 0;
};

void decode_pieces(const EncodedImage& file, const TiffLayout& layout, Image& image, cv::Mat& stored) {
    const auto codec = layout.by_libtiff() ? libtiff_codec(file.bytes, layout) : own_tiff_codec(file.bytes, layout);
    TiffSamples samples(layout, stored);
    Scratch scratch;
    for (std::uint64_t i = 0; i < layout.pieces(); ++i) {
        const TiffPiece piece = layout.piece(i);
        unsigned char* place = samples.in_place(piece);
        if (!place) place = scratch.of(piece.bytes);
        const std::string wrong = codec->decode(i, piece, place);
        if (!wrong.empty()) file.report(image, "the TIFF's " + layout.name_of(i) + ": " + wrong);
        samples.put(piece, place);
        file.bytes.let_go();
    }
}

void find_pages(const Bytes& file, PageList& list) {
    for (const std::uint64_t place : tiff_pages(file, list.rest, list.rest_kind)) {
        const TiffLayout layout(file, place, false);
        PageFacts& page = list.pages.emplace_back();
        page.place = place;
        page.width = layout.width;
        page.height = layout.height;
        page.samples = layout.samples;
        for (const std::string* problem : {&layout.unsupported, &layout.too_large, &layout.damaged, &layout.truncated})
            if (page.problem.empty()) page.problem = *problem;
        if (page.problem.empty()) page.depth = layout.depth;
        file.let_go();
    }
}

Image decode(const EncodedImage& file) {
    const TiffLayout layout(file.bytes, file.probe.place);
    if (!layout.decodable && layout.damaged.empty())
        file.refuse("truncated: " + layout.truncated, IoError::Kind::truncated);
    if (!layout.decodable) file.refuse("damaged: " + layout.damaged, IoError::Kind::damaged);
    if (layout.by_libtiff() && !TIFFIsCODECConfigured(static_cast<std::uint16_t>(layout.compression)))
        file.refuse("libtiff was built without the compression " + std::to_string(layout.compression));
    // Tiles may be larger than a small image.
    const std::uint64_t most = std::max<std::uint64_t>(file.options.max_pixels, 1 << 24);
    if (saturating_product(layout.piece_width, layout.piece_height) > most)
        file.refuse("its tiles are of more than " + std::to_string(most) + " pixels", IoError::Kind::too_large);
    Image image;
    image.depth = layout.depth;
    image.samples = layout.finish == Finish::none ? layout.meaning : Samples::color;
    image.white = layout.white;
    image.alpha = layout.alpha;
    if (file.options.page == 0) {
        std::string rest;
        IoError::Kind kind{};
        image.pages = std::max<std::uint64_t>(1, tiff_pages(file.bytes, rest, kind).size());
    }
    const int depth = opencv_depth(layout.depth);
    cv::Mat stored = file.allocate(layout.height, layout.width, CV_MAKETYPE(depth, static_cast<int>(layout.channels)));
    try {
        decode_pieces(file, layout, image, stored);
    } catch (const std::bad_alloc&) {
        file.refuse("no memory for its strips or tiles", IoError::Kind::memory);
    } catch (const IoError&) {
        throw;
    } catch (const std::runtime_error& error) {
        file.refuse(std::string("damaged: the TIFF's directory: ") + error.what(), IoError::Kind::damaged);
    }
    image.pixels = stored;
    if (layout.finish == Finish::ycbcr) finish_ycbcr(layout, image.pixels);
    if (layout.finish == Finish::log_luv) finish_log_luv(image.pixels);
    if (layout.finish == Finish::cmyk) {
        image.pixels = file.allocate(layout.height, layout.width, CV_8UC3);
        finish_cmyk(stored, image.pixels);
    }
    file.put_upright(image.pixels, layout.orientation);
    return image;
}

}  // namespace

const ImageFormat tiff_format{
    "a TIFF",
    {".tif", ".tiff"},
    16,
    matches,
    inspect,
    decode,
    {"TIFF, BigTIFF",
     {"libtiff", "libdeflate", "zlib", "zstd", "liblzma"},
     "whole numbers of 8, 16 and 32 bits with a sign or without, floats of 16, 32 and 64; 9 to 15 bits as u16 "
     "unscaled, "
     "white 2^bits - 1; 1 to 7 bits as 0 to 255",
     "directories without overviews, thumbnails and masks",
     "strips, tiles, planes, both byte orders, predictors, fill orders, missing lengths: no difference; palettes as "
     "u8, or u16 where 16 bits of the map matter; zero-is-white inverted; gray, RGB, bands; alpha as stored; YCbCr, "
     "LogLuv "
     "and JPEG as RGB; CMYK of 8 bits by the formula of cv::imread; CCITT, LZW, WebP",
     "other depths, mixed depths, more than 64 samples, bands beside alpha, Lab, CFA, other inks, "
     "old JPEG, JPEG 2000, LERC and unknown compressions, sparse strips and tiles, floats whose zero is white"},
    find_pages};

}  // namespace gpuhist::io
