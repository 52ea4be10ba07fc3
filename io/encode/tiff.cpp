#include <tiffio.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>
#include <opencv2/core.hpp>
#include <utility>

#include "encode/encode.hpp"
#include "files/failure.hpp"
#include "gpuhist/io/opencv.hpp"

namespace gpuhist::io {
namespace {

/// File in memory, as libtiff writes it.
struct MemoryFile {
    std::vector<unsigned char> bytes;
    std::uint64_t position = 0;
};

MemoryFile& file_of(thandle_t handle) {
    return *static_cast<MemoryFile*>(handle);
}

tmsize_t read(thandle_t handle, void* data, tmsize_t size) {
    MemoryFile& file = file_of(handle);
    const std::uint64_t end = file.bytes.size();
    const std::uint64_t count =
        std::min<std::uint64_t>(static_cast<std::uint64_t>(size), end - std::min(end, file.position));
    std::memcpy(data, file.bytes.data() + file.position, count);
    file.position += count;
    return static_cast<tmsize_t>(count);
}

tmsize_t write(thandle_t handle, void* data, tmsize_t size) {
    MemoryFile& file = file_of(handle);
    file.bytes.resize(std::max<std::uint64_t>(file.bytes.size(), file.position + static_cast<std::uint64_t>(size)));
    std::memcpy(file.bytes.data() + file.position, data, static_cast<std::size_t>(size));
    file.position += static_cast<std::uint64_t>(size);
    return size;
}

toff_t seek(thandle_t handle, toff_t offset, int from) {
    MemoryFile& file = file_of(handle);
    const std::uint64_t base = from == SEEK_CUR ? file.position : from == SEEK_END ? file.bytes.size() : 0;
    return file.position = base + offset;
}

toff_t size_of(thandle_t handle) {
    return file_of(handle).bytes.size();
}

}  // namespace

std::vector<unsigned char> encode_tiff(const cv::Mat& samples_of_image, Samples samples, const std::string& name,
                                       bool u32) {
    // OpenCV moves no channels of half precision, but of words.
    const int type = samples_of_image.depth();
    const cv::Mat image(samples_of_image.rows, samples_of_image.cols,
                        CV_MAKETYPE(type == CV_16F ? CV_16U : type, samples_of_image.channels()), samples_of_image.data,
                        samples_of_image.step[0]);
    const bool gray_alpha = samples == Samples::gray_alpha;
    const bool colors = samples == Samples::color_bands || (samples == Samples::color && image.channels() > 2);
    const int channels = gray_alpha ? 2 : image.channels();
    // Where each sample of the file's row comes from: colours stand there in the order R, G, B.
    std::vector<int> from_to = gray_alpha ? std::vector<int>{0, 0, 3, 1} : std::vector<int>{2, 0, 1, 1, 0, 2};
    for (int c = 3; colors && c < channels; ++c) from_to.insert(from_to.end(), {c, c});
    const bool moved = gray_alpha || colors;
    cv::Mat row(1, image.cols, CV_MAKETYPE(image.depth(), channels));
    MemoryFile file;
    std::string error;
    const auto take_error = [](TIFF*, void* to, const char*, const char* format, va_list arguments) {
        char text[256];
        std::vsnprintf(text, sizeof text, format, arguments);
        *static_cast<std::string*>(to) = text;
        return 1;
    };
    const auto ignore = [](TIFF*, void*, const char*, const char*, va_list) { return 1; };
    const std::unique_ptr<TIFFOpenOptions, decltype(&TIFFOpenOptionsFree)> options(TIFFOpenOptionsAlloc(),
                                                                                   TIFFOpenOptionsFree);
    TIFFOpenOptionsSetErrorHandlerExtR(options.get(), take_error, &error);
    TIFFOpenOptionsSetWarningHandlerExtR(options.get(), ignore, nullptr);
    const std::uint64_t row_bytes = static_cast<std::uint64_t>(row.cols) * row.elemSize();
    const bool big = row_bytes * static_cast<std::uint64_t>(image.rows) > (std::uint64_t{4} << 30) - (1 << 20);
    TIFF* tiff = TIFFClientOpenExt(
        name.c_str(), big ? "w8" : "w", &file, read, write, seek, [](thandle_t) { return 0; }, size_of,
        [](thandle_t, void**, toff_t*) { return 0; }, [](thandle_t, void*, toff_t) {}, options.get());
    if (!tiff) fail(name, "cannot be encoded: " + error);
    const int extra = gray_alpha ? 1 : channels - (colors ? 3 : 1);
    const bool alpha = gray_alpha || samples == Samples::color;
    const std::vector<std::uint16_t> kinds(static_cast<std::size_t>(extra),
                                           alpha ? EXTRASAMPLE_UNASSALPHA : EXTRASAMPLE_UNSPECIFIED);
    const bool floating = type == CV_16F || type == CV_32F || type == CV_64F;
    const bool unsigned_integers = type == CV_8U || type == CV_16U || u32;
    TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, static_cast<std::uint32_t>(image.cols));
    TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, static_cast<std::uint32_t>(image.rows));
    TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, static_cast<int>(image.elemSize1() * 8));
    TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, channels);
    TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT,
                 floating            ? SAMPLEFORMAT_IEEEFP
                 : unsigned_integers ? SAMPLEFORMAT_UINT
                                     : SAMPLEFORMAT_INT);
    TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, colors ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK);
    TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
    if (extra > 0) TIFFSetField(tiff, TIFFTAG_EXTRASAMPLES, extra, kinds.data());
    TIFFSetField(
        tiff, TIFFTAG_ROWSPERSTRIP,
        std::max<std::uint32_t>(1, static_cast<std::uint32_t>((1 << 20) / std::max<std::uint64_t>(1, row_bytes))));
    bool done = true;
    for (int y = 0; y < image.rows && done; ++y) {
        if (moved)
            cv::mixChannels(image.row(y), row, from_to);
        else
            image.row(y).copyTo(row);  // libtiff takes what it may change
        done = TIFFWriteScanline(tiff, row.ptr(), static_cast<std::uint32_t>(y), 0) == 1;
    }
    done = done && TIFFFlush(tiff) == 1;
    TIFFClose(tiff);
    if (!done) fail(name, "cannot be encoded: " + error);
    return std::move(file.bytes);
}

}  // namespace gpuhist::io
