// JPEG files that libjpeg writes into memory, and what it reads of them as it is.
#pragma once

#include <cstdio>  // jpeglib.h needs it

#include <jpeglib.h>

#include <cstdlib>
#include <opencv2/core.hpp>
#include <stdexcept>
#include <utility>
#include <vector>

namespace jpeg_files {

using Bytes = std::vector<unsigned char>;

struct JpegOptions {
    J_COLOR_SPACE input = JCS_RGB, stored = JCS_YCbCr;
    int across = 1, down = 1;  ///< sampling of the first component
    bool progressive = false, arithmetic = false;
    unsigned restart = 0;
    bool one_component_a_scan = false, spectral_only = false;
};

[[noreturn]] inline void throw_error(j_common_ptr info) {  // through libjpeg, which keeps its unwind tables
    char text[JMSG_LENGTH_MAX];
    info->err->format_message(info, text);
    throw std::runtime_error(text);
}

/// JPEG of a picture. `configure` is called with libjpeg's settings, which are the default ones but for these.
template <class Configure>
Bytes write_jpeg(const cv::Mat& image, J_COLOR_SPACE input, J_COLOR_SPACE stored, int quality,
                 const Configure& configure) {
    jpeg_compress_struct info{};
    jpeg_error_mgr errors{};
    info.err = jpeg_std_error(&errors);
    errors.error_exit = throw_error;
    jpeg_create_compress(&info);
    unsigned char* data = nullptr;
    unsigned long size = 0;
    jpeg_mem_dest(&info, &data, &size);
    info.image_width = static_cast<JDIMENSION>(image.cols);
    info.image_height = static_cast<JDIMENSION>(image.rows);
    info.input_components = image.channels();
    info.in_color_space = input;
    jpeg_set_defaults(&info);
    jpeg_set_colorspace(&info, stored);
    jpeg_set_quality(&info, quality, TRUE);
    configure(info);
    jpeg_start_compress(&info, TRUE);
    for (int y = 0; y < image.rows; ++y) {
        auto* row = const_cast<unsigned char*>(image.ptr(y));
        jpeg_write_scanlines(&info, &row, 1);
    }
    jpeg_finish_compress(&info);
    Bytes bytes(data, data + size);
    std::free(data);
    jpeg_destroy_compress(&info);
    return bytes;
}

/// JPEG of a picture, with as many channels as its color space has components.
inline Bytes make_jpeg(const cv::Mat& image, const JpegOptions& o = {}) {
    std::vector<jpeg_scan_info> scans;  // which libjpeg reads until the end
    return write_jpeg(image, o.input, o.stored, 90, [&](jpeg_compress_struct& info) {
        info.comp_info[0].h_samp_factor = o.across;
        info.comp_info[0].v_samp_factor = o.down;
        info.arith_code = o.arithmetic;
        info.restart_interval = o.restart;
        if (o.progressive) jpeg_simple_progression(&info);
        if (o.one_component_a_scan)
            for (int c = 0; c < image.channels(); ++c) scans.push_back({1, {c}, 0, 63, 0, 0});
        if (o.spectral_only) {
            scans.push_back({3, {0, 1, 2}, 0, 0, 0, 0});
            for (int c = 0; c < 3; ++c) scans.push_back({1, {c}, 1, 5, 0, 0});
            for (int c = 0; c < 3; ++c) scans.push_back({1, {c}, 6, 63, 0, 0});
        }
        if (!scans.empty()) {
            info.scan_info = scans.data();
            info.num_scans = static_cast<int>(scans.size());
        }
    });
}

/// Every sampling, coding and color space that this writes.
inline std::vector<JpegOptions> every_coding() {
    std::vector<JpegOptions> codings;
    for (const auto& [across, down] : {std::pair{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}, {1, 4}, {4, 2}})
        for (const bool progressive : {false, true})
            for (const bool arithmetic : {false, true})
                for (const unsigned restart : {0U, 2U})
                    codings.push_back({JCS_RGB, JCS_YCbCr, across, down, progressive, arithmetic, restart});
    codings.push_back({JCS_RGB, JCS_RGB});
    codings.push_back({JCS_RGB, JCS_RGB, 1, 1, true});
    codings.push_back({JCS_GRAYSCALE, JCS_GRAYSCALE});
    codings.push_back({JCS_GRAYSCALE, JCS_GRAYSCALE, 2, 2, true, true, 3});
    for (const auto stored : {JCS_CMYK, JCS_YCCK})
        for (const int across : {1, 2}) codings.push_back({JCS_CMYK, stored, across, 1, across == 2});
    codings.push_back({JCS_RGB, JCS_YCbCr, 2, 2});
    codings.back().one_component_a_scan = true;
    codings.push_back({JCS_RGB, JCS_YCbCr, 2, 2, true});
    codings.back().spectral_only = true;
    return codings;
}

inline int channels_of(const JpegOptions& coding) {
    return coding.input == JCS_GRAYSCALE ? 1 : coding.input == JCS_CMYK ? 4 : 3;
}

/// What libjpeg makes of a file: gray, B G R, or ink as stored. Warnings are passed over.
inline cv::Mat pixels_of(const Bytes& jpeg) {
    jpeg_decompress_struct info{};
    jpeg_error_mgr errors{};
    info.err = jpeg_std_error(&errors);
    errors.error_exit = throw_error;
    errors.emit_message = [](j_common_ptr, int) {};
    jpeg_create_decompress(&info);
    jpeg_mem_src(&info, jpeg.data(), static_cast<unsigned long>(jpeg.size()));
    jpeg_read_header(&info, TRUE);
    info.out_color_space = info.num_components == 1 ? JCS_GRAYSCALE : info.num_components == 3 ? JCS_EXT_BGR : JCS_CMYK;
    jpeg_start_decompress(&info);
    cv::Mat image(static_cast<int>(info.output_height), static_cast<int>(info.output_width),
                  CV_8UC(info.output_components));
    for (int y = 0; y < image.rows; ++y) {
        unsigned char* row = image.ptr(y);
        jpeg_read_scanlines(&info, &row, 1);
    }
    jpeg_finish_decompress(&info);
    jpeg_destroy_decompress(&info);
    return image;
}

}  // namespace jpeg_files
