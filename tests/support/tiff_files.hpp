// TIFF files that libtiff writes into memory, of samples as they are given: the oracle of a test is the array.
#pragma once

#include <gtest/gtest.h>
#include <tiffio.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "gpuhist/io/decode.hpp"

namespace tiff_files {

using Bytes = std::vector<unsigned char>;

struct Spec {
    int bits = 0;          ///< 0: those of the array
    int photometric = -1;  ///< -1: RGB of three and more samples, otherwise zero is black
    int compression = COMPRESSION_NONE, predictor = PREDICTOR_NONE;
    int rows = 5, tile_width = 0, tile_height = 0;  ///< of a strip; of a tile, if not 0
    bool planar = false;
    std::vector<std::uint16_t> extra;
    std::string mode = "w";             ///< "wb", "wl", "w8": byte order, BigTIFF
    std::function<void(TIFF*)> fields;  ///< more of them, before the pixels
    int jpeg_mode = JPEGCOLORMODE_RAW;  ///< RGB: the samples are RGB, whatever the file keeps
};

/// Samples of `bits`, the first one most significant, each row filled up to whole bytes.
inline Bytes packed(const cv::Mat& samples, int bits) {
    Bytes result;
    const cv::Mat flat = samples.reshape(1);
    for (int y = 0; y < flat.rows; ++y) {
        unsigned held = 0;
        int holds = 0;
        for (int x = 0; x < flat.cols; ++x) {
            held = held << bits | (flat.depth() == CV_8U ? flat.at<uchar>(y, x) : flat.at<ushort>(y, x));
            for (holds += bits; holds >= 8; holds -= 8)
                result.push_back(static_cast<unsigned char>(held >> (holds - 8)));
        }
        if (holds) result.push_back(static_cast<unsigned char>(held << (8 - holds)));
    }
    return result;
}

inline Bytes rows_of(const cv::Mat& samples, int bits) {
    if (bits != static_cast<int>(samples.elemSize1()) * 8) return packed(samples, bits);
    Bytes result;
    for (int y = 0; y < samples.rows; ++y)
        result.insert(result.end(), samples.ptr(y),
                      samples.ptr(y) + static_cast<std::size_t>(samples.cols) * samples.elemSize());
    return result;
}

struct Memory {
    Bytes bytes;
    std::uint64_t position = 0;
};

inline Memory& memory_of(thandle_t handle) {
    return *static_cast<Memory*>(handle);
}

/// Opens memory, for writing or reading.
inline TIFF* open(Memory& memory, const std::string& mode) {
    return TIFFClientOpen(
        "memory", mode.c_str(), &memory,
        [](thandle_t handle, void* to, tmsize_t size) -> tmsize_t {
            Memory& m = memory_of(handle);
            const std::uint64_t end = m.bytes.size(), begin = std::min(m.position, end);
            const std::uint64_t count = std::min<std::uint64_t>(end - begin, static_cast<std::uint64_t>(size));
            std::memcpy(to, m.bytes.data() + begin, count);
            m.position = begin + count;
            return static_cast<tmsize_t>(count);
        },
        [](thandle_t handle, void* from, tmsize_t size) {
            Memory& m = memory_of(handle);
            m.bytes.resize(std::max<std::uint64_t>(m.bytes.size(), m.position + static_cast<std::uint64_t>(size)));
            std::memcpy(m.bytes.data() + m.position, from, static_cast<std::size_t>(size));
            m.position += static_cast<std::uint64_t>(size);
            return size;
        },
        [](thandle_t handle, toff_t offset, int from) -> toff_t {
            Memory& m = memory_of(handle);
            const std::uint64_t base = from == SEEK_CUR ? m.position : from == SEEK_END ? m.bytes.size() : 0;
            return m.position = base + offset;
        },
        [](thandle_t) { return 0; }, [](thandle_t handle) -> toff_t { return memory_of(handle).bytes.size(); },
        [](thandle_t, void**, toff_t*) { return 0; }, [](thandle_t, void*, toff_t) {});
}

/// Writes a page: the channels of `samples` are the samples of the file, in its order.
inline void write_page(TIFF* tiff, const cv::Mat& samples, const Spec& spec) {
    const int channels = samples.channels(), bits = spec.bits ? spec.bits : static_cast<int>(samples.elemSize1()) * 8;
    TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, samples.cols);
    TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, samples.rows);
    TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, bits);
    TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, channels);
    if (samples.depth() >= CV_32F) TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_IEEEFP);
    TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC,
                 spec.photometric >= 0 ? spec.photometric
                 : channels >= 3       ? PHOTOMETRIC_RGB
                                       : PHOTOMETRIC_MINISBLACK);
    TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, spec.planar ? PLANARCONFIG_SEPARATE : PLANARCONFIG_CONTIG);
    TIFFSetField(tiff, TIFFTAG_COMPRESSION, spec.compression);
    if (spec.predictor != PREDICTOR_NONE) TIFFSetField(tiff, TIFFTAG_PREDICTOR, spec.predictor);
    if (!spec.extra.empty())
        TIFFSetField(tiff, TIFFTAG_EXTRASAMPLES, static_cast<int>(spec.extra.size()), spec.extra.data());
    const bool tiled = spec.tile_width > 0;
    if (tiled) {
        TIFFSetField(tiff, TIFFTAG_TILEWIDTH, spec.tile_width);
        TIFFSetField(tiff, TIFFTAG_TILELENGTH, spec.tile_height);
    } else {
        TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, spec.rows);
    }
    if (spec.compression == COMPRESSION_JPEG) {
        TIFFSetField(tiff, TIFFTAG_JPEGQUALITY, 100);
        TIFFSetField(tiff, TIFFTAG_JPEGCOLORMODE, spec.jpeg_mode);
    }
    if (spec.fields) spec.fields(tiff);
    std::vector<cv::Mat> planes{samples};
    if (spec.planar) cv::split(samples, planes);
    const int width = tiled ? spec.tile_width : samples.cols, height = tiled ? spec.tile_height : spec.rows;
    std::uint32_t index = 0;
    for (const cv::Mat& plane : planes)
        for (int y = 0; y < samples.rows; y += height)
            for (int x = 0; x < samples.cols; x += width, ++index) {
                cv::Mat piece =
                    plane(cv::Rect(x, y, width, height) & cv::Rect(0, 0, samples.cols, samples.rows)).clone();
                if (tiled)  // what lies beyond the edges is not zero
                    cv::copyMakeBorder(piece, piece, 0, height - piece.rows, 0, width - piece.cols, cv::BORDER_REFLECT);
                Bytes bytes = rows_of(piece, bits);
                const auto size = static_cast<tmsize_t>(bytes.size());
                const tmsize_t written = tiled ? TIFFWriteEncodedTile(tiff, index, bytes.data(), size)
                                               : TIFFWriteEncodedStrip(tiff, index, bytes.data(), size);
                if (written != size) throw std::runtime_error("libtiff does not write");
            }
}

inline Bytes write(const std::vector<cv::Mat>& pages, const Spec& spec = {}) {
    Memory memory;
    TIFF* tiff = open(memory, spec.mode);
    for (const cv::Mat& page : pages) {
        write_page(tiff, page, spec);
        TIFFWriteDirectory(tiff);
    }
    TIFFClose(tiff);
    return memory.bytes;
}

inline Bytes write(const cv::Mat& samples, const Spec& spec = {}) {
    return write(std::vector<cv::Mat>{samples}, spec);
}

/// Where a strip or tile lies.
struct Place {
    std::size_t offset, length;
};
inline Place place_of(const Bytes& file, std::uint32_t index) {
    Memory memory{file};
    TIFF* tiff = open(memory, "r");
    const Place place{TIFFGetStrileOffset(tiff, index), TIFFGetStrileByteCount(tiff, index)};
    TIFFClose(tiff);
    return place;
}

/// Replaces the values of a field of the first directory of a little-endian classic TIFF that are kept in the entry.
inline Bytes with_value(Bytes file, unsigned tag, std::uint32_t value) {
    const auto number = [&](std::size_t at, int count) {
        std::uint32_t result = 0;
        for (int i = count - 1; i >= 0; --i) result = result << 8 | file[at + static_cast<std::size_t>(i)];
        return result;
    };
    const std::size_t directory = number(4, 4);
    for (std::size_t i = 0; i < number(directory, 2); ++i)
        if (const std::size_t entry = directory + 2 + 12 * i; number(entry, 2) == tag) {
            for (std::size_t byte = 0; byte < 4; ++byte)
                file[entry + 8 + byte] = static_cast<unsigned char>(value >> 8 * byte);
            return file;
        }
    throw std::runtime_error("no such field");
}

/// Sets GDAL's tag of the value that stands for no data.
inline void set_text(TIFF* tiff, unsigned tag, const std::string& text) {
    static const TIFFFieldInfo fields[]{
        {42112, -1, -1, TIFF_ASCII, FIELD_CUSTOM, 1, 0, const_cast<char*>("GDALMetadata")},
        {42113, -1, -1, TIFF_ASCII, FIELD_CUSTOM, 1, 0, const_cast<char*>("GDALNoData")}};
    TIFFMergeFieldInfo(tiff, fields, 2);
    TIFFSetField(tiff, tag, text.c_str());
}
inline void set_nodata(TIFF* tiff, const std::string& text) {
    set_text(tiff, 42113, text);
}
/// Describes samples as GDAL 3.6.2 does, which escapes twice.
inline void set_descriptions(TIFF* tiff, const std::vector<std::string>& escaped) {
    std::string text = "<GDALMetadata>\n  <Item name=\"TIME\" sample=\"0\">noon</Item>\n";
    for (std::size_t i = 0; i < escaped.size(); ++i)
        text += "  <Item name=\"DESCRIPTION\" sample=\"" + std::to_string(i) + "\" role=\"description\">" + escaped[i] +
                "</Item>\n";
    set_text(tiff, 42112, text + "</GDALMetadata>\n");
}

/// Leaves strips or tiles out of a little-endian classic TIFF of one page: their offsets and lengths become 0, as GDAL
/// writes it. `keep`: the numbers of these that stay. Without `lengths` the offsets alone are 0, which nobody writes.
inline Bytes sparse(Bytes file, const std::function<bool(std::uint32_t)>& keep, bool lengths = true) {
    const auto number = [&](std::size_t at, unsigned count) {
        std::uint32_t result = 0;
        for (unsigned i = count; i-- > 0;) result = result << 8 | file[at + i];
        return result;
    };
    const std::size_t directory = number(4, 4);
    for (std::size_t i = 0; i < number(directory, 2); ++i) {
        const std::size_t entry = directory + 2 + 12 * i;
        const std::uint32_t tag = number(entry, 2), count = number(entry + 4, 4);
        const unsigned bytes = number(entry + 2, 2) == TIFF_SHORT ? 2 : 4;
        if (tag != TIFFTAG_STRIPOFFSETS && tag != TIFFTAG_STRIPBYTECOUNTS && tag != TIFFTAG_TILEOFFSETS &&
            tag != TIFFTAG_TILEBYTECOUNTS)
            continue;
        if (!lengths && (tag == TIFFTAG_STRIPBYTECOUNTS || tag == TIFFTAG_TILEBYTECOUNTS)) continue;
        const std::size_t first = count * bytes <= 4 ? entry + 8 : number(entry + 8, 4);
        for (std::uint32_t piece = 0; piece < count; ++piece)
            if (!keep(piece)) std::fill_n(file.begin() + static_cast<std::ptrdiff_t>(first + piece * bytes), bytes, 0);
    }
    return file;
}

/// Noise of all values of `bits`; of floats, of -1 to 2.
inline cv::Mat samples(int rows, int columns, int channels, int bits = 8, bool floating = false) {
    cv::Mat image(rows, columns, CV_MAKETYPE(floating ? CV_32F : bits > 8 ? CV_16U : CV_8U, channels));
    cv::RNG random(static_cast<std::uint64_t>(31 * bits + channels));
    random.fill(image, cv::RNG::UNIFORM, floating ? -1 : 0, floating ? 2 : 1 << bits);
    return image;
}

/// Something that compresses.
inline cv::Mat smooth(int rows, int columns, int channels, int bits = 8, bool floating = false) {
    cv::Mat image = samples(rows, columns, channels, bits, floating);
    cv::blur(image, image, cv::Size(9, 9));
    return image;
}

/// Channels of `from` in another order, or some of them.
inline cv::Mat channels_of(const cv::Mat& from, const std::vector<int>& which) {
    std::vector<cv::Mat> all, some;
    cv::split(from, all);
    for (const int channel : which) some.push_back(all[static_cast<std::size_t>(channel)]);
    cv::Mat result;
    cv::merge(some, result);
    return result;
}

inline cv::Mat bgr(const cv::Mat& rgb) {
    return channels_of(rgb, rgb.channels() == 4 ? std::vector{2, 1, 0, 3} : std::vector{2, 1, 0});
}

inline gpuhist::io::Image read(const Bytes& bytes, gpuhist::io::OnDamaged on_damaged = gpuhist::io::OnDamaged::error) {
    gpuhist::io::DecodeOptions options;
    options.on_damaged = on_damaged;
    return gpuhist::io::decode_image(bytes, "some.file", options);
}

/// What libtiff makes of the rows of a page that has no tiles and no separate planes: samples of 8 bits or more, in the
/// file's order. `colors`: these are red, green and blue.
inline cv::Mat samples_of(const Bytes& bytes, bool& colors) {
    Memory memory{bytes};
    TIFF* tiff = open(memory, "r");
    if (!tiff) throw std::runtime_error("libtiff does not read");
    std::uint32_t width = 0, height = 0;
    std::uint16_t bits = 0, channels = 0, format = 0, photometric = 0, compression = 0;
    TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &width);
    TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &height);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_BITSPERSAMPLE, &bits);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLESPERPIXEL, &channels);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLEFORMAT, &format);
    TIFFGetField(tiff, TIFFTAG_PHOTOMETRIC, &photometric);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_COMPRESSION, &compression);
    if (compression == COMPRESSION_JPEG) TIFFSetField(tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
    colors = photometric == PHOTOMETRIC_RGB || compression == COMPRESSION_JPEG;
    const int depth = format == SAMPLEFORMAT_IEEEFP ? (bits == 64 ? CV_64F : CV_32F) : bits == 16 ? CV_16U : CV_8U;
    cv::Mat image(static_cast<int>(height), static_cast<int>(width), CV_MAKETYPE(depth, channels));
    bool read = TIFFScanlineSize(tiff) == static_cast<tmsize_t>(image.step);
    for (std::uint32_t y = 0; read && y < height; ++y)
        read = TIFFReadScanline(tiff, image.ptr(static_cast<int>(y)), y) == 1;
    TIFFClose(tiff);
    if (!read) throw std::runtime_error("libtiff does not read");
    return image;
}

inline constexpr int lossless[]{COMPRESSION_NONE, COMPRESSION_LZW,  COMPRESSION_ADOBE_DEFLATE, COMPRESSION_DEFLATE,
                                COMPRESSION_ZSTD, COMPRESSION_LZMA, COMPRESSION_PACKBITS};
/// Compressions that are decoded to their end.
inline constexpr int checked[]{COMPRESSION_ADOBE_DEFLATE, COMPRESSION_ZSTD, COMPRESSION_LZMA, COMPRESSION_PACKBITS};

/// What libtiff remarks while the tests write is not printed; the decoder has handlers of its own.
class Tiff : public testing::Test {
  protected:
    Tiff() : handler_(TIFFSetWarningHandler(nullptr)) {}
    ~Tiff() override { TIFFSetWarningHandler(handler_); }

  private:
    TIFFErrorHandler handler_;
};

}  // namespace tiff_files
