// Files of images: encoded as support/codecs.hpp says, or made by hand where a file needs what no encoder writes.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <opencv2/core.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "gpuhist/error.hpp"
#include "gpuhist/io/decode.hpp"
#include "gpuhist/io/encode.hpp"
#include "gpuhist/io/files.hpp"
#include "support/codecs.hpp"
#include "support/temporary_directory.hpp"

namespace image_files {

namespace fs = std::filesystem;

using gpuhist::IoError;
using gpuhist::io::decode_image;
using gpuhist::io::DecodeOptions;
using gpuhist::io::OnDamaged;
using gpuhist::io::read_image;
using gpuhist::io::write_file;
using gpuhist::io::write_image;
using gpuhist::test::encode, gpuhist::test::read_picture, gpuhist::test::write_picture;
using Bytes = std::vector<unsigned char>;

/// Something smooth with noise over it, so that every codec has work.
inline cv::Mat picture(int rows, int columns, int type) {
    cv::Mat_<float> ramp(rows, columns);
    for (int y = 0; y < rows; ++y)
        for (int x = 0; x < columns; ++x) ramp(y, x) = static_cast<float>((x + 2 * y) % 190);
    std::vector<cv::Mat> planes;
    cv::RNG random(7);
    for (int c = 0; c < CV_MAT_CN(type); ++c) {
        cv::Mat noise(rows, columns, CV_32F);
        random.fill(noise, cv::RNG::UNIFORM, 0, 50);
        cv::Mat plane = ramp + noise + 5 * c;
        plane.convertTo(plane, CV_MAT_DEPTH(type), CV_MAT_DEPTH(type) == CV_16U ? 256.7 : 1.0);
        planes.push_back(plane);
    }
    cv::Mat image;
    cv::merge(planes, image);
    return image;
}

/// Images are equal in every bit, NaN included.
inline bool same(const cv::Mat& a, const cv::Mat& b) {
    if (a.type() != b.type() || a.size() != b.size()) return false;
    for (int y = 0; y < a.rows; ++y)
        if (std::memcmp(a.ptr(y), b.ptr(y), static_cast<std::size_t>(a.cols) * a.elemSize()) != 0) return false;
    return true;
}

/// Image that is stored with an orientation, 1 to 8, as it is seen.
inline cv::Mat turned(const cv::Mat& stored, int orientation) {
    cv::Mat image = stored.clone();
    if (orientation >= 5 && orientation <= 8) cv::transpose(image, image);
    if (orientation == 2 || orientation == 6) cv::flip(image.clone(), image, 1);
    if (orientation == 3 || orientation == 7) cv::flip(image.clone(), image, -1);
    if (orientation == 4 || orientation == 8) cv::flip(image.clone(), image, 0);
    return image;
}

inline Bytes bytes_of(const std::string& text) {
    Bytes bytes(text.size());
    if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
    return bytes;
}

inline void append(Bytes& bytes, std::uint64_t value, unsigned count, bool big_endian = false) {
    for (unsigned i = 0; i < count; ++i)
        bytes.push_back(static_cast<unsigned char>(value >> 8 * (big_endian ? count - 1 - i : i)));
}

/// What decoding says where it fails; empty where it does not.
inline std::string failure(const Bytes& bytes, const DecodeOptions& options = {}) {
    try {
        decode_image(bytes, "some.file", options);
    } catch (const IoError& error) {
        return error.what();
    }
    return {};
}

inline testing::AssertionResult contains(const std::string& text, const std::string& part) {
    if (text.find(part) != text.npos) return testing::AssertionSuccess();
    return testing::AssertionFailure() << '"' << text << "\" does not contain \"" << part << '"';
}

struct TiffOptions {
    std::uint32_t width = 40, height = 30, rows_per_strip = 7, tile = 0, bits = 8, samples = 1, format = 1;
    bool big_endian = false, big_tiff = false, directory_first = false, orientation_six = false;
    std::vector<unsigned> leave_out;  ///< tags
};

/// An uncompressed TIFF, made by hand; the sample at (x, y) is (7 x + 13 y) mod 251 in every byte.
inline Bytes make_tiff(const TiffOptions& o) {
    const unsigned word = o.big_tiff ? 8 : 4;
    const std::uint32_t pixel_bytes = o.bits / 8 * o.samples;
    std::vector<Bytes> pieces;
    const auto sample = [&](std::uint32_t x, std::uint32_t y) {
        return static_cast<unsigned char>((7 * x + 13 * y) % 251);
    };
    const std::uint32_t piece_width = o.tile ? o.tile : o.width, piece_height = o.tile ? o.tile : o.rows_per_strip;
    for (std::uint32_t top = 0; top < o.height; top += piece_height)
        for (std::uint32_t left = 0; left < o.width; left += piece_width) {
            Bytes piece;
            for (std::uint32_t y = top; y < top + piece_height && (o.tile || y < o.height); ++y)
                for (std::uint32_t x = left; x < left + piece_width; ++x)
                    piece.insert(piece.end(), pixel_bytes, sample(x, y));
            pieces.push_back(piece);
        }
    struct Field {
        unsigned tag, type;
        std::vector<std::uint64_t> values;
    };
    std::vector<Field> fields{{256, 4, {o.width}},
                              {257, 4, {o.height}},
                              {258, 3, std::vector<std::uint64_t>(o.samples, o.bits)},
                              {259, 3, {1}},
                              {262, 3, {o.samples >= 3 ? 2U : 1U}},
                              {o.tile ? 324U : 273U, 4, std::vector<std::uint64_t>(pieces.size())},
                              {274, 3, {o.orientation_six ? 6U : 1U}},
                              {277, 3, {o.samples}},
                              {278, 4, {o.rows_per_strip}},
                              {o.tile ? 325U : 279U, 4, {}},
                              {284, 3, {1}},
                              {322, 4, {o.tile}},
                              {323, 4, {o.tile}},
                              {339, 3, std::vector<std::uint64_t>(o.samples, o.format)}};
    for (auto& field : fields)
        if (field.tag == 279 || field.tag == 325)
            for (const auto& piece : pieces) field.values.push_back(piece.size());
    fields.erase(std::remove_if(fields.begin(), fields.end(),
                                [&](const Field& field) {
                                    const bool of_other =
                                        o.tile ? field.tag == 278 : field.tag == 322 || field.tag == 323;
                                    return of_other || std::count(o.leave_out.begin(), o.leave_out.end(), field.tag);
                                }),
                 fields.end());
    std::sort(fields.begin(), fields.end(), [](const Field& a, const Field& b) { return a.tag < b.tag; });

    const std::uint64_t header = o.big_tiff ? 16 : 8;
    const std::uint64_t directory_bytes = (o.big_tiff ? 8 : 2) + fields.size() * (o.big_tiff ? 20 : 12) + word;
    std::uint64_t outside_bytes = 0, data_bytes = 0;
    for (const auto& field : fields)
        if (field.values.size() * (field.type == 3 ? 2 : 4) > word)
            outside_bytes += field.values.size() * (field.type == 3 ? 2 : 4);
    for (const auto& piece : pieces) data_bytes += piece.size();
    const std::uint64_t directory = o.directory_first ? header : header + data_bytes;
    std::uint64_t data = o.directory_first ? header + directory_bytes + outside_bytes : header;
    for (auto& field : fields)
        if (field.tag == 273 || field.tag == 324)
            for (std::size_t i = 0; i < pieces.size(); ++i) {
                field.values[i] = data;
                data += pieces[i].size();
            }

    Bytes directory_part, outside, file;
    const auto put = [&](Bytes& part, std::uint64_t value, unsigned count) {
        append(part, value, count, o.big_endian);
    };
    put(directory_part, fields.size(), o.big_tiff ? 8 : 2);
    for (const auto& field : fields) {
        const unsigned size = field.type == 3 ? 2 : 4;
        put(directory_part, field.tag, 2);
        put(directory_part, field.type, 2);
        put(directory_part, field.values.size(), word);
        Bytes values;
        for (const auto value : field.values) put(values, value, size);
        if (values.size() > word) {
            put(directory_part, directory + directory_bytes + outside.size(), word);
            outside.insert(outside.end(), values.begin(), values.end());
        } else {
            values.resize(word);
            directory_part.insert(directory_part.end(), values.begin(), values.end());
        }
    }
    put(directory_part, 0, word);
    directory_part.insert(directory_part.end(), outside.begin(), outside.end());

    file = bytes_of(o.big_endian ? "MM" : "II");
    put(file, o.big_tiff ? 43 : 42, 2);
    if (o.big_tiff) {
        put(file, 8, 2);
        put(file, 0, 2);
    }
    put(file, directory, word);
    if (o.directory_first) file.insert(file.end(), directory_part.begin(), directory_part.end());
    for (const auto& piece : pieces) file.insert(file.end(), piece.begin(), piece.end());
    if (!o.directory_first) file.insert(file.end(), directory_part.begin(), directory_part.end());
    return file;
}

/// A JPEG with an EXIF segment that holds an orientation, and a thumbnail's end-of-image marker to stumble over.
inline Bytes with_orientation(const Bytes& jpeg, int orientation) {
    Bytes exif = bytes_of(std::string("Exif\0\0MM\0\x2A\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01", 24));
    append(exif, static_cast<std::uint64_t>(orientation), 2, true);
    append(exif, 0, 6, true);
    append(exif, 0xFFD8FFD9, 4, true);
    Bytes result(jpeg.begin(), jpeg.begin() + 2);
    append(result, 0xFFE1, 2, true);
    append(result, exif.size() + 2, 2, true);
    result.insert(result.end(), exif.begin(), exif.end());
    result.insert(result.end(), jpeg.begin() + 2, jpeg.end());
    return result;
}

inline std::uint32_t crc32(const unsigned char* data, std::size_t count) {
    std::uint32_t crc = 0xFFFFFFFF;
    for (std::size_t i = 0; i < count; ++i) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320U : 0U);
    }
    return ~crc;
}

inline Bytes png_chunk(const std::string& type, const Bytes& data) {
    Bytes chunk;
    append(chunk, data.size(), 4, true);
    for (const char c : type) chunk.push_back(static_cast<unsigned char>(c));
    chunk.insert(chunk.end(), data.begin(), data.end());
    append(chunk, crc32(chunk.data() + 4, chunk.size() - 4), 4, true);
    return chunk;
}

/// A PNG of the given bits and color type whose rows are given packed, without compression.
inline Bytes make_png(std::uint32_t width, std::uint32_t height, int bits, int color_type, const Bytes& rows,
                      const std::vector<std::pair<std::string, Bytes>>& before_data = {}) {
    Bytes header;
    append(header, width, 4, true);
    append(header, height, 4, true);
    for (const int value : {bits, color_type, 0, 0, 0}) header.push_back(static_cast<unsigned char>(value));
    Bytes raw;
    const std::size_t row_bytes = rows.size() / height;
    for (std::size_t y = 0; y < height; ++y) {
        raw.push_back(0);
        raw.insert(raw.end(), rows.begin() + static_cast<std::ptrdiff_t>(y * row_bytes),
                   rows.begin() + static_cast<std::ptrdiff_t>((y + 1) * row_bytes));
    }
    Bytes data{0x78, 0x01, 0x01};  // zlib; one stored block, the last
    append(data, raw.size(), 2);
    append(data, ~raw.size(), 2);
    std::uint32_t a = 1, b = 0;
    for (const unsigned char byte : raw) {
        data.push_back(byte);
        a = (a + byte) % 65521;
        b = (b + a) % 65521;
    }
    append(data, b << 16 | a, 4, true);
    Bytes png = bytes_of("\x89PNG\r\n\x1a\n");
    const auto add = [&](const std::string& type, const Bytes& content) {
        const Bytes chunk = png_chunk(type, content);
        png.insert(png.end(), chunk.begin(), chunk.end());
    };
    add("IHDR", header);
    for (const auto& [type, content] : before_data) add(type, content);
    add("IDAT", data);
    add("IEND", {});
    return png;
}

/// What decoding gives: pixels and damage, or the error.
struct Decoded {
    cv::Mat pixels, mask;
    std::string words;
    friend bool operator==(const Decoded& a, const Decoded& b) {
        return a.words == b.words && a.pixels.size() == b.pixels.size() &&
               (a.pixels.empty() || same(a.pixels, b.pixels)) && a.mask.size() == b.mask.size() &&
               (a.mask.empty() || same(a.mask, b.mask));
    }
};

inline Decoded decoded(const Bytes& bytes, int threads, gpuhist::io::OnDamaged on_damaged) {
    DecodeOptions options;
    options.threads = threads;
    options.on_damaged = on_damaged;
    try {
        const gpuhist::io::Image image = gpuhist::io::decode_image(bytes, "x", options);
        return {image.pixels, image.mask, image.cause};
    } catch (const IoError& error) {
        return {{}, {}, error.what()};
    }
}

/// Expects that an image, and damaged copies of it, are the same on any number of threads. Damage is at so many places.
inline void expect_same_on_threads(const Bytes& bytes, std::size_t places) {
    using gpuhist::io::OnDamaged;
    for (const int threads : {2, 3, 8, 64})
        EXPECT_TRUE(decoded(bytes, threads, OnDamaged::error) == decoded(bytes, 1, OnDamaged::error)) << threads;
    for (std::size_t at = 16; at < bytes.size(); at += 1 + bytes.size() / places) {
        Bytes damaged = bytes;
        for (std::size_t i = at; i < std::min(at + 3, bytes.size()); ++i) damaged[i] ^= 0x5A;
        for (const OnDamaged on_damaged : {OnDamaged::error, OnDamaged::accept}) {
            const Decoded expected = decoded(damaged, 1, on_damaged);
            for (const int threads : {2, 64}) {
                const Decoded found = decoded(damaged, threads, on_damaged);
                ASSERT_TRUE(found == expected)
                    << threads << " threads, byte " << at << ": " << found.words << " and " << expected.words;
            }
        }
    }
}

class ImageFile : public testing::Test {
  protected:
    fs::path put(const std::string& name, const Bytes& bytes) const {
        std::ofstream file(directory / name, std::ios::binary);
        file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
        return directory / name;
    }
    std::vector<std::string> names() const {
        std::vector<std::string> all;
        for (const auto& entry : fs::directory_iterator(directory)) all.push_back(entry.path().filename().string());
        return all;
    }
    std::string read_failure(const fs::path& path) const {
        try {
            read_image(path);
        } catch (const IoError& error) {
            return error.what();
        }
        return {};
    }

    const gpuhist::test::TemporaryDirectory temporary;
    const fs::path directory = temporary.path();
};

}  // namespace image_files
