#include <png.h>

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

/// Writes rows of gray and alpha. libpng leaves it by a jump, so nothing here has a destructor.
void write_rows(png_structp png, png_infop info, const cv::Mat& pairs) {
    if (setjmp(png_jmpbuf(png))) return;
    const int bits = pairs.depth() == CV_8U ? 8 : 16;
    png_set_IHDR(png, info, static_cast<png_uint_32>(pairs.cols), static_cast<png_uint_32>(pairs.rows), bits,
                 PNG_COLOR_TYPE_GRAY_ALPHA, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_compression_level(png, 1);
    png_set_filter(png, 0, PNG_FILTER_SUB);
    png_write_info(png, info);
    if (bits == 16) png_set_swap(png);
    for (int y = 0; y < pairs.rows; ++y) png_write_row(png, pairs.ptr(y));
    png_write_end(png, info);
}

}  // namespace

std::vector<unsigned char> encode_png(const cv::Mat& image, Samples samples, const std::string& name) {
    if (samples != Samples::gray_alpha || (image.depth() != CV_8U && image.depth() != CV_16U))
        fail(name, "PNG holds no such samples: write TIFF");
    cv::Mat pairs(image.rows, image.cols, CV_MAKETYPE(image.depth(), 2));
    cv::mixChannels(image, pairs, {0, 0, 3, 1});
    Output output;
    png_structp png =
        png_create_write_struct(PNG_LIBPNG_VER_STRING, &output, fail_here, [](png_structp, png_const_charp) {});
    png_infop info = png ? png_create_info_struct(png) : nullptr;
    if (info) {
        png_set_write_fn(png, &output, append, [](png_structp) {});
        write_rows(png, info, pairs);
    }
    png_destroy_write_struct(&png, &info);
    if (!output.error.empty()) fail(name, "cannot be encoded: " + output.error);
    return std::move(output.bytes);
}

}  // namespace gpuhist::io
