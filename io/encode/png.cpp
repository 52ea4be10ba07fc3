#include <png.h>
#include <zlib.h>

#include <csetjmp>
#include <opencv2/core.hpp>
#include <optional>
#include <unordered_map>
#include <utility>

#include "encode/encode.hpp"
#include "files/failure.hpp"

namespace gpuhist::io {
namespace {

struct Output {
    std::vector<unsigned char> bytes;
    std::string error;
};

void append(png_structp png, png_bytep data, png_size_t size) {
    auto& bytes = static_cast<Output*>(png_get_io_ptr(png))->bytes;
    bytes.insert(bytes.end(), data, data + size);
}

[[noreturn]] void fail_here(png_structp png, png_const_charp message) {
    static_cast<Output*>(png_get_error_ptr(png))->error = message;
    png_longjmp(png, 1);
}

/// What is written, and how: plain data, over which libpng may jump.
struct Rows {
    const cv::Mat& pixels;  ///< gray, gray with alpha, colors in the order B, G, R, A, or places in the palette
    int kind;
    const png_color* palette;
    int colors;
    int filter, strategy;
};

/// Writes rows. libpng leaves it by a jump, so nothing here has a destructor.
void write_rows(png_structp png, png_infop info, const Rows& rows) {
    if (setjmp(png_jmpbuf(png))) return;
    const cv::Mat& pixels = rows.pixels;
    const int bits = pixels.depth() == CV_8U ? 8 : 16;
    png_set_IHDR(png, info, static_cast<png_uint_32>(pixels.cols), static_cast<png_uint_32>(pixels.rows), bits,
                 rows.kind, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    if (rows.colors > 0) png_set_PLTE(png, info, rows.palette, rows.colors);
    png_set_filter(png, 0, rows.filter);
    png_set_compression_level(png, Z_BEST_SPEED);
    png_set_compression_strategy(png, rows.strategy);
    png_write_info(png, info);
    if (pixels.channels() > 2) png_set_bgr(png);
    if (bits == 16) png_set_swap(png);
    for (int y = 0; y < pixels.rows; ++y) png_write_row(png, pixels.ptr(y));
    png_write_end(png, info);
}

std::vector<unsigned char> encode(const Rows& rows, const std::string& name) {
    Output output;
    png_structp png =
        png_create_write_struct(PNG_LIBPNG_VER_STRING, &output, fail_here, [](png_structp, png_const_charp) {});
    png_infop info = png ? png_create_info_struct(png) : nullptr;
    if (info) {
        png_set_write_fn(png, &output, append, [](png_structp) {});
        write_rows(png, info, rows);
    }
    png_destroy_write_struct(&png, &info);
    if (!output.error.empty()) fail(name, "cannot be encoded: " + output.error);
    return std::move(output.bytes);
}

/// Colors of an image, and the place of each pixel's among them.
struct Palette {
    std::vector<png_color> colors;
    cv::Mat places;
};

/// Palette of an image; none where it has more colors than one holds.
std::optional<Palette> palette_of(const cv::Mat& image) {
    Palette palette{{}, cv::Mat(image.size(), CV_8UC1)};
    std::unordered_map<unsigned, unsigned char> place_of;
    unsigned before = ~0U;  // no color, which have 24 bits
    unsigned char place = 0;
    for (int y = 0; y < image.rows; ++y) {
        const auto* pixel = image.ptr(y);
        auto* places = palette.places.ptr(y);
        for (int x = 0; x < image.cols; ++x, pixel += 3) {
            const unsigned color = pixel[0] | pixel[1] << 8U | pixel[2] << 16U;
            if (color != before) {
                const auto [found, is_new] = place_of.try_emplace(color, palette.colors.size());
                if (is_new && palette.colors.size() == PNG_MAX_PALETTE_LENGTH) return std::nullopt;
                if (is_new) palette.colors.push_back({pixel[2], pixel[1], pixel[0]});
                place = found->second;
                before = color;
            }
            places[x] = place;
        }
    }
    return palette;
}

}  // namespace

std::vector<unsigned char> encode_png(const cv::Mat& image, Samples samples, const std::string& name) {
    const bool gray_alpha = samples == Samples::gray_alpha,
               integers = image.depth() == CV_8U || image.depth() == CV_16U;
    if (!integers || image.channels() > 4 || (!gray_alpha && samples != Samples::color))
        fail(name, "PNG holds no such samples: write TIFF");
    cv::Mat pixels = image;
    if (gray_alpha) {
        pixels = cv::Mat(image.rows, image.cols, CV_MAKETYPE(image.depth(), 2));
        cv::mixChannels(image, pixels, {0, 0, 3, 1});
    }
    constexpr int kinds[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGBA};
    // Row differences and run lengths are twice as fast as any level of zlib that looks further, and within 6 % of the
    // smallest file.
    return encode({pixels, kinds[pixels.channels() - 1], nullptr, 0, PNG_FILTER_SUB, Z_RLE}, name);
}

// Most rows of a drawing are those above them: run lengths of such differences are as small as what zlib finds at its
// level 6, in a third of the time. A palette takes two thirds off both.
std::vector<unsigned char> encode_drawing(const cv::Mat& image, const std::string& name) {
    const auto palette = palette_of(image);
    if (!palette) return encode({image, PNG_COLOR_TYPE_RGB, nullptr, 0, PNG_FILTER_UP, Z_RLE}, name);
    return encode({palette->places, PNG_COLOR_TYPE_PALETTE, palette->colors.data(),
                   static_cast<int>(palette->colors.size()), PNG_FILTER_UP, Z_RLE},
                  name);
}

}  // namespace gpuhist::io
