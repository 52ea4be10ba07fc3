#include <tiffio.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <exception>
#include <memory>
#include <opencv2/core.hpp>
#include <string>
#include <vector>

#include "encode/encode.hpp"
#include "files/failure.hpp"
#include "gpuhist/io/opencv.hpp"

namespace gpuhist::io {
namespace {

/// File that libtiff writes, and its error.
struct Output {
    EncodedBytes& to;
    std::uint64_t position = 0, size = 0;
    std::string error{};
    std::exception_ptr thrown{};  ///< by `to`: nothing may pass through libtiff
};

Output& output_of(thandle_t handle) {
    return *static_cast<Output*>(handle);
}

tmsize_t write(thandle_t handle, void* data, tmsize_t size) {
    Output& output = output_of(handle);
    try {
        output.to.write(output.position, data, static_cast<std::size_t>(size));
    } catch (...) {
        output.thrown = std::current_exception();
        return -1;
    }
    output.position += static_cast<std::uint64_t>(size);
    output.size = std::max(output.size, output.position);
    return size;
}

toff_t seek(thandle_t handle, toff_t offset, int from) {
    Output& output = output_of(handle);
    const std::uint64_t base = from == SEEK_CUR ? output.position : from == SEEK_END ? output.size : 0;
    return output.position = base + offset;
}

int take_error(TIFF*, void* to, const char*, const char* format, va_list arguments) {
    char text[256];
    std::vsnprintf(text, sizeof text, format, arguments);
    static_cast<Output*>(to)->error = text;
    return 1;
}

class TiffEncoder final : public RowEncoder {
  public:
    TiffEncoder(EncodedBytes& to, cv::Size sides, int type, Samples samples, const std::string& name, bool u32)
        : output_{to}, name_(name) {
        // OpenCV moves no channels of half precision, but of words.
        const int depth = CV_MAT_DEPTH(type), moved = depth == CV_16F ? CV_16U : depth;
        const bool gray_alpha = samples == Samples::gray_alpha;
        const bool colors = samples == Samples::color_bands || (samples == Samples::color && CV_MAT_CN(type) > 2);
        const int channels = gray_alpha ? 2 : CV_MAT_CN(type);
        from_type_ = CV_MAKETYPE(moved, CV_MAT_CN(type));
        // Source of each sample in a row of the file, in which colors are in the order R, G, B.
        if (gray_alpha) from_to_ = {0, 0, 3, 1};
        if (colors) from_to_ = {2, 0, 1, 1, 0, 2};
        for (int c = 3; colors && c < channels; ++c) from_to_.insert(from_to_.end(), {c, c});
        row_ = cv::Mat(1, sides.width, CV_MAKETYPE(moved, channels));
        open(static_cast<std::uint64_t>(sides.height));
        const int extra = gray_alpha ? 1 : channels - (colors ? 3 : 1);
        const bool alpha = gray_alpha || samples == Samples::color;
        const std::vector<std::uint16_t> kinds(static_cast<std::size_t>(extra),
                                               alpha ? EXTRASAMPLE_UNASSALPHA : EXTRASAMPLE_UNSPECIFIED);
        const bool floating = depth == CV_16F || depth == CV_32F || depth == CV_64F;
        const bool unsigned_integers = depth == CV_8U || depth == CV_16U || u32;
        TIFF* tiff = tiff_.get();
        TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, static_cast<std::uint32_t>(sides.width));
        TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, static_cast<std::uint32_t>(sides.height));
        TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, static_cast<int>(row_.elemSize1() * 8));
        TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, channels);
        TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT,
                     floating            ? SAMPLEFORMAT_IEEEFP
                     : unsigned_integers ? SAMPLEFORMAT_UINT
                                         : SAMPLEFORMAT_INT);
        TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, colors ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK);
        TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
        if (extra > 0) TIFFSetField(tiff, TIFFTAG_EXTRASAMPLES, extra, kinds.data());
        TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP,
                     std::max<std::uint32_t>(
                         1, static_cast<std::uint32_t>((1 << 20) / std::max<std::uint64_t>(1, row_bytes()))));
    }

    void add(const cv::Mat& rows) override {
        const cv::Mat from(rows.rows, rows.cols, from_type_, const_cast<unsigned char*>(rows.data), rows.step[0]);
        for (int y = 0; y < from.rows; ++y) {
            if (from_to_.empty())
                from.row(y).copyTo(row_);  // libtiff takes what it may change
            else
                cv::mixChannels(from.row(y), row_, from_to_);
            check(TIFFWriteScanline(tiff_.get(), row_.ptr(), next_row_++, 0) == 1);
        }
    }
    void finish() override { check(TIFFFlush(tiff_.get()) == 1); }

  private:
    struct Close {
        void operator()(TIFF* tiff) const { TIFFClose(tiff); }
    };

    std::uint64_t row_bytes() const { return static_cast<std::uint64_t>(row_.cols) * row_.elemSize(); }

    void open(std::uint64_t height) {
        const std::unique_ptr<TIFFOpenOptions, decltype(&TIFFOpenOptionsFree)> options(TIFFOpenOptionsAlloc(),
                                                                                       TIFFOpenOptionsFree);
        TIFFOpenOptionsSetErrorHandlerExtR(options.get(), take_error, &output_);
        TIFFOpenOptionsSetWarningHandlerExtR(
            options.get(), [](TIFF*, void*, const char*, const char*, va_list) { return 1; }, nullptr);
        const bool big = row_bytes() * height > (std::uint64_t{4} << 30) - (1 << 20);
        tiff_.reset(TIFFClientOpenExt(
            name_.c_str(), big ? "w8" : "w", &output_, [](thandle_t, void*, tmsize_t) -> tmsize_t { return 0; }, write,
            seek, [](thandle_t) { return 0; }, [](thandle_t handle) -> toff_t { return output_of(handle).size; },
            [](thandle_t, void**, toff_t*) { return 0; }, [](thandle_t, void*, toff_t) {}, options.get()));
        check(tiff_ != nullptr);
    }
    void check(bool done) const {
        if (output_.thrown) std::rethrow_exception(output_.thrown);
        if (!done) fail(name_, "cannot be encoded: " + output_.error);
    }

    Output output_;
    const std::string name_;
    int from_type_ = 0;
    std::vector<int> from_to_;  ///< of samples that change their places
    cv::Mat row_;
    std::uint32_t next_row_ = 0;
    std::unique_ptr<TIFF, Close> tiff_;
};

}  // namespace

std::unique_ptr<RowEncoder> tiff_encoder(EncodedBytes& to, cv::Size sides, int type, Samples samples,
                                         const std::string& name, bool u32) {
    return std::make_unique<TiffEncoder>(to, sides, type, samples, name, u32);
}

}  // namespace gpuhist::io
