// JPEG of small pictures, for pages.
#include <csetjmp>
#include <cstddef>
#include <cstdio>  // for jpeglib.h
#include <cstdlib>
#include <memory>
#include <opencv2/core.hpp>
#include <string>
#include <vector>

#include <jpeglib.h>

#include "gpuhist/error.hpp"
#include "gpuhist/io/encode.hpp"

namespace gpuhist::io {
namespace {

/// Encoder of libjpeg, and its error.
struct Encoder {
    jpeg_compress_struct info{};
    jpeg_error_mgr errors{};
    std::jmp_buf failed{};
    unsigned char* bytes = nullptr;
    unsigned long size = 0;
    char message[JMSG_LENGTH_MAX] = {};
};

void on_error(j_common_ptr info) {
    auto* const encoder = static_cast<Encoder*>(info->client_data);
    info->err->format_message(info, encoder->message);
    std::longjmp(encoder->failed, 1);
}

void on_message(j_common_ptr, int) {}

// libjpeg leaves this by a jump, so nothing in it has a destructor.
bool encode(Encoder& encoder, const cv::Mat& image, int quality) {
    if (setjmp(encoder.failed)) return false;
    jpeg_create_compress(&encoder.info);
    jpeg_mem_dest(&encoder.info, &encoder.bytes, &encoder.size);
    encoder.info.image_width = static_cast<JDIMENSION>(image.cols);
    encoder.info.image_height = static_cast<JDIMENSION>(image.rows);
    encoder.info.input_components = image.channels();
    encoder.info.in_color_space = image.channels() == 1 ? JCS_GRAYSCALE : JCS_EXT_BGR;
    jpeg_set_defaults(&encoder.info);
    jpeg_set_quality(&encoder.info, quality, TRUE);
    encoder.info.optimize_coding = TRUE;
    jpeg_start_compress(&encoder.info, TRUE);
    while (encoder.info.next_scanline < encoder.info.image_height) {
        auto* row = const_cast<JSAMPLE*>(image.ptr<unsigned char>(static_cast<int>(encoder.info.next_scanline)));
        jpeg_write_scanlines(&encoder.info, &row, 1);
    }
    jpeg_finish_compress(&encoder.info);
    return true;
}

}  // namespace

std::vector<unsigned char> encode_jpeg(const cv::Mat& image, int quality) {
    if (image.depth() != CV_8U || (image.channels() != 1 && image.channels() != 3))
        throw InvalidArgument("a JPEG has 8 bits, and one or three channels");
    Encoder encoder;
    encoder.info.err = jpeg_std_error(&encoder.errors);
    encoder.errors.error_exit = on_error;
    encoder.errors.emit_message = on_message;
    encoder.info.client_data = &encoder;
    const bool done = encode(encoder, image, quality);
    jpeg_destroy_compress(&encoder.info);
    const std::unique_ptr<unsigned char, void (*)(void*)> bytes(encoder.bytes, std::free);
    if (!done) throw IoError(std::string("a picture cannot be encoded: ") + encoder.message);
    return {bytes.get(), bytes.get() + encoder.size};
}

}  // namespace gpuhist::io
