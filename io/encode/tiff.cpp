#include <tiffio.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstring>
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

// Tags that libtiff does not know.
enum : std::uint32_t {
    tag_pixel_scale = 33550,
    tag_tiepoints = 33922,
    tag_transformation = 34264,
    tag_geo_keys = 34735,
    tag_geo_numbers = 34736,
    tag_geo_text = 34737,
    tag_gdal_metadata = 42112,
    tag_gdal_nodata = 42113,
    tag_rational_model = 50844
};

constexpr TIFFFieldInfo numbers_field(std::uint32_t tag, TIFFDataType type, const char* name) {
    return {tag, TIFF_VARIABLE2, TIFF_VARIABLE2, type, FIELD_CUSTOM, 1, 1, const_cast<char*>(name)};
}
constexpr TIFFFieldInfo text_field(std::uint32_t tag, const char* name) {
    return {tag, TIFF_VARIABLE, TIFF_VARIABLE, TIFF_ASCII, FIELD_CUSTOM, 1, 0, const_cast<char*>(name)};
}

constexpr std::array gdal_fields{numbers_field(tag_pixel_scale, TIFF_DOUBLE, "ModelPixelScale"),
                                 numbers_field(tag_tiepoints, TIFF_DOUBLE, "ModelTiepoint"),
                                 numbers_field(tag_transformation, TIFF_DOUBLE, "ModelTransformation"),
                                 numbers_field(tag_geo_keys, TIFF_SHORT, "GeoKeyDirectory"),
                                 numbers_field(tag_geo_numbers, TIFF_DOUBLE, "GeoDoubleParams"),
                                 text_field(tag_geo_text, "GeoAsciiParams"),
                                 text_field(tag_gdal_metadata, "GDALMetadata"),
                                 text_field(tag_gdal_nodata, "GDALNoData"),
                                 numbers_field(tag_rational_model, TIFF_DOUBLE, "RPCCoefficient")};

/// Number as GDAL writes it: every digit that it takes to be the same again.
std::string nodata_text(double value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
    std::array<char, 32> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
    return {text.data(), end};
}

class TiffEncoder final : public RowEncoder {
  public:
    TiffEncoder(EncodedBytes& to, cv::Size sides, int type, Samples samples, const std::string& name, bool u32,
                const EncodeOptions& form)
        : output_{to}, name_(name), height_(sides.height) {
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
        open(static_cast<std::uint64_t>(sides.height), form);
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
        if (form.compression != TiffCompression::none) compress(form, floating);
        if (form.metadata) put(*form.metadata);
        if (tile_rows_.empty())
            TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP,
                         std::max<std::uint32_t>(
                             1, static_cast<std::uint32_t>((1 << 20) / std::max<std::uint64_t>(1, row_bytes()))));
    }

    void add(const cv::Mat& rows) override {
        const cv::Mat from(rows.rows, rows.cols, from_type_, const_cast<unsigned char*>(rows.data), rows.step[0]);
        for (int y = 0; y < from.rows; ++y) {
            cv::Mat to = tile_rows_.empty() ? row_ : tile_rows_.row(static_cast<int>(next_row_) % tile_rows_.rows);
            if (from_to_.empty())
                from.row(y).copyTo(to);  // libtiff takes what it may change
            else
                cv::mixChannels(from.row(y), to, from_to_);
            if (tile_rows_.empty()) check(TIFFWriteScanline(tiff_.get(), row_.ptr(), next_row_, 0) == 1);
            ++next_row_;
            if (!tile_rows_.empty() &&
                (static_cast<int>(next_row_) % tile_rows_.rows == 0 || static_cast<int>(next_row_) == height_))
                write_tiles();
        }
    }
    void finish() override { check(TIFFFlush(tiff_.get()) == 1); }

  private:
    struct Close {
        void operator()(TIFF* tiff) const { TIFFClose(tiff); }
    };

    std::uint64_t row_bytes() const { return static_cast<std::uint64_t>(row_.cols) * row_.elemSize(); }

    void compress(const EncodeOptions& form, bool floating) {
        const TiffCompression compression = form.compression;
        constexpr int numbers[] = {COMPRESSION_NONE, COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE, COMPRESSION_ZSTD};
        const int number = numbers[static_cast<std::size_t>(compression)];
        if (!TIFFIsCODECConfigured(static_cast<std::uint16_t>(number)))
            fail(name_,
                 std::string("cannot be encoded: libtiff was built without the compression ") + to_string(compression));
        TIFFSetField(tiff_.get(), TIFFTAG_COMPRESSION, number);
        // Predictors are for whole bytes: libtiff has none for integers of 64 bits, which there are not here.
        if (form.predictor)
            TIFFSetField(tiff_.get(), TIFFTAG_PREDICTOR, floating ? PREDICTOR_FLOATINGPOINT : PREDICTOR_HORIZONTAL);
    }

    void put(const Metadata& metadata) {
        TIFF* const tiff = tiff_.get();
        const auto put_numbers = [&](std::uint32_t field, const auto& values) {
            if (!values.empty())
                check(TIFFSetField(tiff, field, static_cast<std::uint32_t>(values.size()), values.data()) == 1);
        };
        const auto put_text = [&](std::uint32_t field, const std::string& text) {
            if (!text.empty()) check(TIFFSetField(tiff, field, text.c_str()) == 1);
        };
        put_numbers(tag_pixel_scale, metadata.pixel_scale);
        put_numbers(tag_tiepoints, metadata.tiepoints);
        put_numbers(tag_transformation, metadata.transformation);
        put_numbers(tag_geo_keys, metadata.geo_keys);
        put_numbers(tag_geo_numbers, metadata.geo_numbers);
        put_numbers(tag_rational_model, metadata.rational_model);
        put_text(tag_geo_text, metadata.geo_text);
        put_text(tag_gdal_metadata, metadata.gdal);
        if (metadata.nodata) put_text(tag_gdal_nodata, nodata_text(*metadata.nodata));
        if (metadata.resolution.size() == 2) {
            TIFFSetField(tiff, TIFFTAG_XRESOLUTION, metadata.resolution[0]);
            TIFFSetField(tiff, TIFFTAG_YRESOLUTION, metadata.resolution[1]);
            TIFFSetField(tiff, TIFFTAG_RESOLUTIONUNIT, metadata.resolution_unit);
        }
        put_numbers(TIFFTAG_ICCPROFILE, metadata.icc);
        put_text(TIFFTAG_DOCUMENTNAME, metadata.document);
        put_text(TIFFTAG_IMAGEDESCRIPTION, metadata.description);
        put_text(TIFFTAG_ARTIST, metadata.artist);
        put_text(TIFFTAG_COPYRIGHT, metadata.copyright);
        put_text(TIFFTAG_DATETIME, metadata.date_time);
        // Rows of tiles are held in memory until they are complete.
        constexpr std::uint64_t most_held = std::uint64_t{1} << 28;
        const std::uint32_t width = metadata.tile_width, height = metadata.tile_height;
        if (width == 0 || width % 16 != 0 || height == 0 || height % 16 != 0 || row_bytes() * height > most_held)
            return;
        TIFFSetField(tiff, TIFFTAG_TILEWIDTH, width);
        TIFFSetField(tiff, TIFFTAG_TILELENGTH, height);
        tile_rows_ = cv::Mat(static_cast<int>(height), row_.cols, row_.type());
        tile_ = cv::Mat(static_cast<int>(height), static_cast<int>(width), row_.type());
    }

    /// Writes the tiles with the rows up to the last that was added.
    void write_tiles() {
        const int first = (static_cast<int>(next_row_) - 1) / tile_rows_.rows * tile_rows_.rows;
        const int rows = static_cast<int>(next_row_) - first;
        for (int x = 0; x < row_.cols; x += tile_.cols) {
            const int columns = std::min(tile_.cols, row_.cols - x);
            for (int y = 0; y < tile_.rows; ++y) {
                unsigned char* const to = tile_.ptr(y);
                std::memset(to, 0, static_cast<std::size_t>(tile_.cols) * tile_.elemSize());
                if (y < rows)
                    std::memcpy(to, tile_rows_.ptr(y, x), static_cast<std::size_t>(columns) * tile_.elemSize());
            }
            check(TIFFWriteTile(tiff_.get(), tile_.ptr(), static_cast<std::uint32_t>(x),
                                static_cast<std::uint32_t>(first), 0, 0) > 0);
        }
    }

    void open(std::uint64_t height, const EncodeOptions& form) {
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
        if (form.metadata) check(TIFFMergeFieldInfo(tiff_.get(), gdal_fields.data(), gdal_fields.size()) == 0);
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
    cv::Mat tile_rows_, tile_;  ///< of a file with tiles: the rows of those that are not complete, and one of them
    const int height_;
    std::uint32_t next_row_ = 0;
    std::unique_ptr<TIFF, Close> tiff_;
};

}  // namespace

std::unique_ptr<RowEncoder> tiff_encoder(EncodedBytes& to, cv::Size sides, int type, Samples samples,
                                         const std::string& name, bool u32, const EncodeOptions& form) {
    return std::make_unique<TiffEncoder>(to, sides, type, samples, name, u32, form);
}

}  // namespace gpuhist::io
