// Files in: formats, orientation, what is refused and how it is said. Files out: whole or not at all.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <set>
#include <sstream>
#include <thread>
#include <utility>

#include "decode/formats.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/io/decode.hpp"
#include "gpuhist/io/encode.hpp"
#include "gpuhist/io/files.hpp"
#include "gpuhist/io/pinned.hpp"
#include "gpuhist/io/walk.hpp"
#include "support/temporary_directory.hpp"

namespace {

namespace fs = std::filesystem;
using gpuhist::IoError;
using gpuhist::io::decode_image;
using gpuhist::io::DecodeOptions;
using gpuhist::io::OnTruncated;
using gpuhist::io::read_image;
using gpuhist::io::write_file;
using gpuhist::io::write_image;
using Bytes = std::vector<unsigned char>;

/// Something smooth with noise over it, so that every codec has work.
cv::Mat picture(int rows, int columns, int type) {
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

/// Equal in every bit, NaN included.
bool same(const cv::Mat& a, const cv::Mat& b) {
    if (a.type() != b.type() || a.size() != b.size()) return false;
    for (int y = 0; y < a.rows; ++y)
        if (std::memcmp(a.ptr(y), b.ptr(y), static_cast<std::size_t>(a.cols) * a.elemSize()) != 0) return false;
    return true;
}

Bytes encode(const std::string& extension, const cv::Mat& image, const std::vector<int>& parameters = {}) {
    Bytes bytes;
    if (!cv::imencode(extension, image, bytes, parameters)) throw std::runtime_error("imencode " + extension);
    return bytes;
}

Bytes bytes_of(const std::string& text) {
    Bytes bytes(text.size());
    if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
    return bytes;
}

void append(Bytes& bytes, std::uint64_t value, unsigned count, bool big_endian = false) {
    for (unsigned i = 0; i < count; ++i)
        bytes.push_back(static_cast<unsigned char>(value >> 8 * (big_endian ? count - 1 - i : i)));
}

/// What decoding says where it fails; empty where it does not.
std::string failure(const Bytes& bytes, const DecodeOptions& options = {}) {
    try {
        decode_image(bytes, "some.file", options);
    } catch (const IoError& error) {
        return error.what();
    }
    return {};
}

testing::AssertionResult contains(const std::string& text, const std::string& part) {
    if (text.find(part) != text.npos) return testing::AssertionSuccess();
    return testing::AssertionFailure() << '"' << text << "\" does not contain \"" << part << '"';
}

#define EXPECT_SAYS(bytes, part) EXPECT_TRUE(contains(failure(bytes), part))

struct TiffOptions {
    std::uint32_t width = 40, height = 30, rows_per_strip = 7, tile = 0, bits = 8, samples = 1, format = 1;
    bool big_endian = false, big_tiff = false, directory_first = false, orientation_six = false;
    std::vector<unsigned> leave_out;  ///< tags
};

/// An uncompressed TIFF, made by hand; the sample at (x, y) is (7 x + 13 y) mod 251 in every byte.
Bytes make_tiff(const TiffOptions& o) {
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
Bytes with_orientation(const Bytes& jpeg, int orientation) {
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

std::uint32_t crc32(const unsigned char* data, std::size_t count) {
    std::uint32_t crc = 0xFFFFFFFF;
    for (std::size_t i = 0; i < count; ++i) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320U : 0U);
    }
    return ~crc;
}

Bytes png_chunk(const std::string& type, const Bytes& data) {
    Bytes chunk;
    append(chunk, data.size(), 4, true);
    for (const char c : type) chunk.push_back(static_cast<unsigned char>(c));
    chunk.insert(chunk.end(), data.begin(), data.end());
    append(chunk, crc32(chunk.data() + 4, chunk.size() - 4), 4, true);
    return chunk;
}

/// A PNG of the given bits and colour type whose rows are given packed, without compression.
Bytes make_png(std::uint32_t width, std::uint32_t height, int bits, int color_type, const Bytes& rows,
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

// --- Formats
// -----------------------------------------------------------------------------------------------------------

TEST_F(ImageFile, LosslessFormatsRoundTrip) {
    struct Case {
        const char* extension;
        std::vector<int> types;
    };
    const std::vector<Case> cases{{".png", {CV_8UC1, CV_8UC3, CV_8UC4, CV_16UC1, CV_16UC3, CV_16UC4}},
                                  {".tiff", {CV_8UC1, CV_8UC3, CV_16UC1, CV_16UC3, CV_16UC4}},
                                  {".bmp", {CV_8UC1, CV_8UC3}},
                                  {".ppm", {CV_8UC3, CV_16UC3}},
                                  {".pgm", {CV_8UC1, CV_16UC1}},
                                  {".pam", {CV_8UC1, CV_8UC3, CV_8UC4, CV_16UC3}},
                                  {".pfm", {CV_32FC1, CV_32FC3}},
                                  {".ras", {CV_8UC3}},
                                  {".jp2", {CV_8UC1, CV_8UC3, CV_16UC3}}};
    for (const auto& [extension, types] : cases)
        for (const int type : types) {
            if (!cv::haveImageWriter(extension)) continue;  // an OpenCV built without this codec
            SCOPED_TRACE(extension + std::string(" ") + cv::typeToString(type));
            const cv::Mat image = picture(37, 53, type);
            std::vector<int> parameters;
            if (std::string(extension) == ".jp2") parameters = {cv::IMWRITE_JPEG2000_COMPRESSION_X1000, 1000};
            if (std::string(extension) == ".pam")
                parameters = {cv::IMWRITE_PAM_TUPLETYPE, CV_MAT_CN(type) == 1   ? cv::IMWRITE_PAM_FORMAT_GRAYSCALE
                                                         : CV_MAT_CN(type) == 3 ? cv::IMWRITE_PAM_FORMAT_RGB
                                                                                : cv::IMWRITE_PAM_FORMAT_RGB_ALPHA};
            const Bytes bytes = encode(extension, image, parameters);
            EXPECT_TRUE(same(read_image(put("image" + std::string(extension), bytes)), image));
        }
    const cv::Mat image = picture(37, 53, CV_8UC4);
    EXPECT_TRUE(same(decode_image(encode(".webp", image, {cv::IMWRITE_WEBP_QUALITY, 101}), "x"), image));
}

TEST_F(ImageFile, LossyFormatsAreAsOpenCvReadsThem) {
    for (const char* extension : {".jpg", ".webp", ".hdr", ".exr"})
        for (const int channels : {1, 3}) {
            SCOPED_TRACE(extension);
            const bool real = extension == std::string(".hdr") || extension == std::string(".exr");
            const cv::Mat image = picture(37, 53, CV_MAKETYPE(real ? CV_32F : CV_8U, channels));
            const fs::path path = put("image" + std::string(extension), encode(extension, image));
            const cv::Mat read = read_image(path);
            EXPECT_EQ(read.depth(), image.depth());
            EXPECT_TRUE(same(read, cv::imread(path.string(), cv::IMREAD_ANYCOLOR | cv::IMREAD_ANYDEPTH)));
        }
}

TEST_F(ImageFile, FloatTiffKeepsEveryBit) {
    for (const int channels : {1, 3, 4}) {
        cv::Mat image(11, 7, CV_32FC(channels));
        cv::randu(image, -1e30, 1e30);
        auto* samples = image.ptr<float>();
        samples[0] = std::numeric_limits<float>::quiet_NaN();
        samples[1] = -std::numeric_limits<float>::infinity();
        samples[2] = std::numeric_limits<float>::denorm_min();
        samples[3] = -0.0F;
        write_image(directory / "f.tiff", image);
        EXPECT_TRUE(same(read_image(directory / "f.tiff"), image)) << channels;
    }
    const cv::Mat image = picture(9, 10, CV_16UC3);
    write_image(directory / "u.png", image);
    EXPECT_TRUE(same(read_image(directory / "u.png"), image));
    EXPECT_THROW(write_image(directory / "u.nonsense", image), IoError);
    EXPECT_EQ(names().size(), 2U);
}

TEST_F(ImageFile, FewBitsAndPalettesAreExpanded) {
    const Bytes rows{0b00011011, 0b11100100};
    const auto row = [](const cv::Mat& image, int y) {
        const cv::Mat flat = image.reshape(1);
        return Bytes(flat.ptr(y), flat.ptr(y) + flat.cols);
    };
    EXPECT_EQ(row(decode_image(make_png(8, 2, 1, 0, rows), "x"), 0), (Bytes{0, 0, 0, 255, 255, 0, 255, 255}));
    EXPECT_EQ(row(decode_image(make_png(4, 2, 2, 0, rows), "x"), 1), (Bytes{255, 170, 85, 0}));
    EXPECT_EQ(row(decode_image(make_png(2, 2, 4, 0, rows), "x"), 0), (Bytes{17, 187}));
    const Bytes palette{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    EXPECT_EQ(row(decode_image(make_png(4, 2, 2, 3, rows, {{"PLTE", palette}}), "x"), 0),
              (Bytes{3, 2, 1, 6, 5, 4, 9, 8, 7, 12, 11, 10}));
    const cv::Mat transparent = decode_image(make_png(4, 2, 2, 3, rows, {{"PLTE", palette}, {"tRNS", {50}}}), "x");
    EXPECT_EQ(row(transparent, 0), (Bytes{3, 2, 1, 50, 6, 5, 4, 255, 9, 8, 7, 255, 12, 11, 10, 255}));
    // Grey with alpha comes as colour with alpha.
    EXPECT_EQ(row(decode_image(make_png(1, 1, 8, 4, {9, 200}), "x"), 0), (Bytes{9, 9, 9, 200}));

    EXPECT_EQ(row(decode_image(bytes_of("P1\n# a comment\n3 1\n101"), "x"), 0), (Bytes{0, 255, 0}));
    EXPECT_EQ(row(decode_image(bytes_of("P3 1 1 255 1 2 3"), "x"), 0), (Bytes{3, 2, 1}));
}

TEST_F(ImageFile, SideChunksOfPngDoNotMatter) {
    const Bytes rows{10, 20, 30, 40};
    const cv::Mat plain = decode_image(make_png(2, 2, 8, 0, rows), "x");
    testing::internal::CaptureStderr();
    const cv::Mat other = decode_image(make_png(2, 2, 8, 0, rows, {{"iCCP", {1, 2}}, {"tEXt", {3}}}), "x");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    EXPECT_TRUE(same(plain, other));
}

TEST_F(ImageFile, TiffOfEveryBuild) {
    std::vector<TiffOptions> builds(10);
    builds[1].big_endian = true;
    builds[2].big_tiff = true;
    builds[3].big_endian = builds[3].big_tiff = true;
    builds[4].bits = 16;
    builds[5].samples = 3;
    builds[6].tile = 32;
    builds[7].directory_first = true;
    builds[8].leave_out = {279};
    builds[8].rows_per_strip = 30;
    builds[9].tile = 16;
    builds[9].bits = 16;
    builds[9].directory_first = true;
    for (std::size_t i = 0; i < builds.size(); ++i) {
        SCOPED_TRACE(i);
        const cv::Mat image = decode_image(make_tiff(builds[i]), "x");
        ASSERT_EQ(image.size(), cv::Size(40, 30));
        ASSERT_EQ(image.type(), CV_MAKETYPE(builds[i].bits == 8 ? CV_8U : CV_16U, static_cast<int>(builds[i].samples)));
        // Every byte of a sample is the same.
        const cv::Mat bytes(30, 40 * static_cast<int>(image.elemSize()), CV_8U, image.data, image.step);
        for (int y = 0; y < 30; ++y)
            for (int x = 0; x < bytes.cols; ++x)
                ASSERT_EQ(bytes.at<unsigned char>(y, x), (7 * (x / static_cast<int>(image.elemSize())) + 13 * y) % 251);
    }
}

TEST_F(ImageFile, OrientationIsAppliedAsImreadDoes) {
    for (const int type : {CV_8UC1, CV_8UC3}) {
        const Bytes jpeg = encode(".jpg", picture(24, 40, type));
        const cv::Mat upright = decode_image(jpeg, "x");
        for (int orientation = 1; orientation <= 8; ++orientation) {
            SCOPED_TRACE(orientation);
            const fs::path path = put("photo.jpg", with_orientation(jpeg, orientation));
            const cv::Mat image = read_image(path);
            EXPECT_EQ(image.rows, orientation <= 4 ? 24 : 40);
            EXPECT_EQ(same(image, upright), orientation == 1);
            EXPECT_TRUE(same(image, cv::imread(path.string(), cv::IMREAD_ANYCOLOR | cv::IMREAD_ANYDEPTH)));
        }
    }
}

// --- Bad input
// -----------------------------------------------------------------------------------------------------------

TEST_F(ImageFile, EveryTruncatedPrefixIsRefused) {
    const cv::Mat image = picture(40, 60, CV_8UC3);
    std::vector<std::pair<std::string, Bytes>> files{
        {"baseline", encode(".jpg", image)},
        {"progressive", encode(".jpg", image, {cv::IMWRITE_JPEG_PROGRESSIVE, 1})},
        {"restarts", encode(".jpg", image, {cv::IMWRITE_JPEG_RST_INTERVAL, 4})},
        {"exif", with_orientation(encode(".jpg", image), 6)},
        {"png", encode(".png", image)},
        {"tiff lzw", encode(".tiff", image)},
        {"tiff deflate", encode(".tiff", image, {cv::IMWRITE_TIFF_COMPRESSION, 8})},
        {"bmp", encode(".bmp", image)},
        {"webp", encode(".webp", image)},
        {"lossless webp", encode(".webp", image, {cv::IMWRITE_WEBP_QUALITY, 101})},
        {"ppm", encode(".ppm", image)},
        {"text ppm", encode(".ppm", image, {cv::IMWRITE_PXM_BINARY, 0})},
        {"pam", encode(".pam", image, {cv::IMWRITE_PAM_TUPLETYPE, cv::IMWRITE_PAM_FORMAT_RGB})},
        {"ras", encode(".ras", image)},
    };
    // Of a number in text the last digit may be missing without a trace.
    auto& text = files[11].second;
    while (std::isspace(text.back())) text.pop_back();
    cv::Mat real;
    image.convertTo(real, CV_32F);
    files.emplace_back("pfm", encode(".pfm", real));
    for (const bool directory_first : {false, true})
        for (const std::uint32_t tile : {0U, 32U})
            for (const bool big : {false, true}) {
                TiffOptions options;
                options.directory_first = directory_first;
                options.tile = tile;
                options.big_tiff = options.big_endian = big;
                files.emplace_back("built tiff", make_tiff(options));
            }
    for (const auto& [name, bytes] : files) {
        SCOPED_TRACE(name);
        EXPECT_EQ(failure(bytes), "");
        const std::size_t last = name == "text ppm" ? bytes.size() - 3 : bytes.size() - 1;
        // All lengths near both ends, and a walk with an odd stride between.
        for (std::size_t length = 0; length <= last; length += length < 300 || length + 300 > last ? 1 : 97) {
            const std::string message =
                failure(Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length)));
            ASSERT_TRUE(contains(message, "some.file: ")) << length << " of " << bytes.size();
            if (length > 64) {
                ASSERT_TRUE(contains(message, "truncated: ")) << length << " of " << bytes.size();
            }
        }
    }
}

TEST_F(ImageFile, CodecsThatCheckThemselvesRefuseHalfAFile) {
    cv::Mat real;
    picture(40, 60, CV_8UC3).convertTo(real, CV_32F);
    std::vector<Bytes> files{encode(".hdr", real), encode(".exr", real)};
    if (cv::haveImageWriter(".jp2")) files.push_back(encode(".jp2", picture(40, 60, CV_8UC3)));
    for (const Bytes& bytes : files) {
        EXPECT_EQ(failure(bytes), "");
        for (const std::size_t length : {bytes.size() / 10, bytes.size() / 2, bytes.size() * 9 / 10})
            EXPECT_NE(failure(Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length))), "") << length;
    }
}

TEST_F(ImageFile, TruncatedFilesCanBeAccepted) {
    const cv::Mat image = picture(64, 64, CV_8UC3);
    Bytes jpeg = encode(".jpg", image);
    const cv::Mat whole = decode_image(jpeg, "x");
    jpeg.resize(jpeg.size() / 2);
    DecodeOptions accept;
    accept.on_truncated = OnTruncated::accept;
    const cv::Mat part = decode_image(jpeg, "x", accept);
    ASSERT_EQ(part.size(), whole.size());
    EXPECT_TRUE(same(part.rowRange(0, 8), whole.rowRange(0, 8)));
    EXPECT_FALSE(same(part, whole));
    // Too little to know the size of.
    jpeg.resize(20);
    EXPECT_TRUE(contains(failure(jpeg, accept), "truncated"));
    // The limit holds here too.
    jpeg = encode(".jpg", image);
    jpeg.resize(jpeg.size() / 2);
    accept.max_pixels = 64 * 64 - 1;
    EXPECT_TRUE(contains(failure(jpeg, accept), "64 x 64"));
}

TEST_F(ImageFile, WhatIsNoImageIsNamed) {
    EXPECT_TRUE(contains(read_failure(put("notes.png", bytes_of("Dear reader,\n"))),
                         "notes.png: not an image: the file begins with text"));
    EXPECT_TRUE(contains(read_failure(put("empty.png", {})), "empty.png: empty"));
    EXPECT_TRUE(contains(read_failure(directory / "missing.png"), "missing.png: cannot be opened: No such file"));
    EXPECT_TRUE(contains(read_failure(directory), "a directory"));
    EXPECT_SAYS({}, "some.file: empty");
    EXPECT_SAYS(bytes_of("P5 is a format, and this is a text"), "begins with text");
    EXPECT_SAYS(bytes_of("BM, which begins this text too"), "begins with text");
    EXPECT_SAYS(bytes_of("GIF89a"), "a GIF is not a format");
    EXPECT_SAYS((Bytes{0, 1, 2, 0xAB}), "begins with the bytes 00 01 02 ab");
    EXPECT_SAYS((Bytes{0xFF, 0xD8, 0xFF, 0xD9}), "damaged");
}

TEST_F(ImageFile, UnreadableFilesAreNamed) {
    const fs::path path = put("secret.png", encode(".png", picture(3, 3, CV_8UC1)));
    fs::permissions(path, fs::perms::none);
    if (::access(path.c_str(), R_OK) == 0) GTEST_SKIP() << "this user (root) may read every file";
    EXPECT_TRUE(contains(read_failure(path), "secret.png: cannot be opened: Permission denied"));
}

TEST_F(ImageFile, DamageIsNoticed) {
    Bytes png = encode(".png", picture(40, 60, CV_8UC3));
    png[png.size() / 2] ^= 1;
    EXPECT_SAYS(png, "damaged: the checksum of the PNG's IDAT chunk");
    TiffOptions options;
    Bytes tiff = make_tiff(options);
    options.leave_out = {256};
    EXPECT_SAYS(make_tiff(options), "damaged");
    EXPECT_SAYS(make_png(0, 1, 8, 0, {1}), "0 x 1");
}

TEST_F(ImageFile, UnsupportedSamplesAreNamed) {
    const auto tiff = [](std::uint32_t bits, std::uint32_t format, std::uint32_t samples) {
        TiffOptions options;
        options.bits = bits;
        options.format = format;
        options.samples = samples;
        return make_tiff(options);
    };
    EXPECT_SAYS(encode(".tiff", picture(5, 5, CV_64FC1)), "depth f64 is not supported: gpuhist reads u8, u16 and f32");
    EXPECT_SAYS(tiff(16, 3, 1), "depth f16");
    EXPECT_SAYS(tiff(8, 2, 1), "depth s8");
    EXPECT_SAYS(tiff(16, 2, 3), "depth s16");
    EXPECT_SAYS(tiff(32, 1, 1), "depth u32");
    EXPECT_SAYS(tiff(8, 1, 2), "2 channels");
    EXPECT_SAYS(tiff(16, 1, 2), "2 channels");
    EXPECT_SAYS(tiff(16, 1, 5), "5 channels");
    EXPECT_SAYS(bytes_of("P7\nWIDTH 1\nHEIGHT 1\nDEPTH 2\nMAXVAL 255\nTUPLTYPE GRAYSCALE_ALPHA\nENDHDR\nab"),
                "2 channels");
}

TEST_F(ImageFile, HugeClaimsAreRefusedBeforeMemoryIsTaken) {
    constexpr std::uint32_t side = 60000;
    Bytes jpeg = encode(".jpg", picture(16, 16, CV_8UC1));
    const unsigned char sof[]{0xFF, 0xC0};
    auto at = std::search(jpeg.begin(), jpeg.end(), sof, sof + 2) + 5;
    ASSERT_LT(at, jpeg.end() - 4);
    for (int i = 0; i < 2; ++i) {
        *at++ = static_cast<unsigned char>(side >> 8);
        *at++ = static_cast<unsigned char>(side & 255);
    }
    const auto patch = [](Bytes bytes, std::size_t offset, std::uint32_t value, bool big_endian) {
        Bytes number;
        append(number, value, 4, big_endian);
        std::copy(number.begin(), number.end(), bytes.begin() + static_cast<std::ptrdiff_t>(offset));
        return bytes;
    };
    TiffOptions tiff_options;
    tiff_options.directory_first = true;
    const Bytes tiff = make_tiff(tiff_options);
    const Bytes bmp = encode(".bmp", picture(16, 16, CV_8UC3));
    const Bytes ras = encode(".ras", picture(16, 16, CV_8UC3));
    const std::vector<Bytes> files{jpeg,
                                   make_png(side, side, 8, 0, Bytes(side, 0)),
                                   patch(patch(tiff, 8 + 2 + 8, side, false), 8 + 2 + 12 + 8, side, false),
                                   patch(patch(bmp, 18, side, false), 22, side, false),
                                   patch(patch(bmp, 18, side, false), 22, 0U - side, false),
                                   patch(patch(ras, 4, side, true), 8, side, true),
                                   bytes_of("P5\n60000 60000\n255\n"),
                                   bytes_of("P7\nWIDTH 60000\nHEIGHT 60000\nDEPTH 1\nMAXVAL 255\nENDHDR\n"),
                                   bytes_of("PF\n60000 60000\n-1.0\n"),
                                   bytes_of("#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 60000 +X 60000\n")};
    const auto start = std::chrono::steady_clock::now();
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const long memory_before = usage.ru_maxrss;
    for (std::size_t i = 0; i < files.size(); ++i) {
        SCOPED_TRACE(i);
        EXPECT_SAYS(files[i], "60000 x 60000 pixels, more than the 1073741824 allowed");
    }
    ::getrusage(RUSAGE_SELF, &usage);
    EXPECT_LT(usage.ru_maxrss - memory_before, 64 * 1024) << "KiB";
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));

    // The limit is the caller's, and exact.
    const Bytes small = encode(".png", picture(30, 40, CV_8UC1));
    DecodeOptions options;
    options.max_pixels = 1200;
    EXPECT_EQ(failure(small, options), "");
    options.max_pixels = 1199;
    EXPECT_TRUE(contains(failure(small, options), "30"));
}

TEST_F(ImageFile, NoBytesWhateverBringItDown) {
    // Every byte of small files damaged in turn: an image or an IoError, nothing else.
    const cv::Mat image = picture(9, 11, CV_8UC3);
    cv::Mat real;
    image.convertTo(real, CV_32F);
    TiffOptions big;
    big.width = 11;
    big.height = 9;
    big.big_tiff = true;
    DecodeOptions options;
    options.max_pixels = 1 << 20;
    testing::internal::CaptureStderr();  // the decoders complain, and may
    std::vector<Bytes> files{encode(".jpg", image), encode(".png", image),  encode(".tiff", image),
                             encode(".bmp", image), encode(".webp", image), encode(".ppm", image),
                             encode(".exr", real),  encode(".hdr", real),   make_tiff(big)};
    if (cv::haveImageWriter(".jp2")) files.push_back(encode(".jp2", picture(40, 60, CV_8UC3)));
    for (Bytes& bytes : files)
        for (std::size_t i = 0; i < std::min<std::size_t>(bytes.size(), 400); ++i)
            for (const int value : {0x00, 0x7F, 0xFF}) {
                const unsigned char before = std::exchange(bytes[i], static_cast<unsigned char>(value));
                EXPECT_NO_THROW(failure(bytes, options)) << i;
                bytes[i] = before;
            }
    testing::internal::GetCapturedStderr();
}

TEST_F(ImageFile, ThreadsDecodeAtOnce) {
    const cv::Mat image = picture(64, 64, CV_8UC3);
    const Bytes png = encode(".png", image), tiff = encode(".tiff", image);
    std::vector<int> wrong(4, 0);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < wrong.size(); ++t)
        threads.emplace_back([&, t] {
            for (int i = 0; i < 50; ++i) wrong[t] += !same(decode_image(t % 2 ? png : tiff, "x"), image);
        });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

TEST_F(ImageFile, PathsAreBytes) {
    const cv::Mat image = picture(5, 5, CV_8UC3);
    const std::string name = "\xFF\xFEpicture, \"odd\".png";
    write_image(directory / name, image);
    EXPECT_TRUE(same(read_image(directory / name), image));
}

// --- Writing
// -----------------------------------------------------------------------------------------------------------

TEST_F(ImageFile, WritingReplacesAndLeavesNothingBehind) {
    const fs::path path = directory / "result.csv";
    write_file(path, std::string("first, and longer"));
    write_file(path, std::string("second"));
    const Bytes bytes = gpuhist::io::read_bytes(path);
    EXPECT_EQ(std::string(bytes.begin(), bytes.end()), "second");
    EXPECT_EQ(names(), std::vector<std::string>{"result.csv"});

    // As long a name as the file system takes.
    write_file(directory / std::string(255, 'n'), std::string("x"));
    EXPECT_EQ(names().size(), 2U);
}

TEST_F(ImageFile, ReadersNeverSeeHalfAFile) {
    const fs::path path = directory / "data";
    constexpr std::size_t size = 1 << 20;
    write_file(path, std::string(size, 'a'));
    std::thread writer([&] {
        for (int i = 0; i < 60; ++i) write_file(path, std::string(size, static_cast<char>('a' + i % 26)));
    });
    for (int i = 0; i < 60; ++i) {
        const Bytes bytes = gpuhist::io::read_bytes(path);
        EXPECT_EQ(bytes.size(), size);
        EXPECT_EQ(std::count(bytes.begin(), bytes.end(), bytes.front()), static_cast<std::ptrdiff_t>(size));
    }
    writer.join();
    EXPECT_EQ(names().size(), 1U);
}

TEST_F(ImageFile, AFailedWriteIsToldAndKeepsTheOldFile) {
    const fs::path path = directory / "result.bin";
    write_file(path, std::string("old"));
    // A file system that is full, as far as this process sees: no file may grow past 4096 bytes.
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    rlimit limit = before;
    limit.rlim_cur = 4096;
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
    std::string message;
    try {
        write_file(path, std::string(100000, 'x'));
    } catch (const IoError& error) {
        message = error.what();
    }
    ::setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    EXPECT_TRUE(contains(message, "result.bin: cannot be written: File too large"));
    const Bytes bytes = gpuhist::io::read_bytes(path);
    EXPECT_EQ(std::string(bytes.begin(), bytes.end()), "old");
    EXPECT_EQ(names(), std::vector<std::string>{"result.bin"});

    EXPECT_THROW(write_file(directory / "no" / "such" / "place", std::string("x")), IoError);
    fs::create_directory(directory / "taken");
    EXPECT_THROW(write_file(directory / "taken", std::string("x")), IoError);
    EXPECT_EQ(names().size(), 2U);
}

TEST_F(ImageFile, AsksForMemoryBeforeItIsTaken) {
    const cv::Mat image = picture(30, 40, CV_8UC3);
    for (const char* name : {"x.png", "x.jpg", "x.tiff", "x.bmp", "x.ppm"}) {
        const fs::path path = directory / name;
        ASSERT_TRUE(cv::imwrite(path.string(), image));
        std::vector<std::uint64_t> asked;
        DecodeOptions options;
        options.admit = [&](std::uint64_t bytes) { asked.push_back(bytes); };
        EXPECT_EQ(read_image(path, options).total(), 1200U);
        ASSERT_EQ(asked.size(), 2U) << name;
        const std::uint64_t file = fs::file_size(path);
        EXPECT_GE(asked[0], file);
        EXPECT_GE(asked[1], file + 3600) << name;
        EXPECT_LE(asked[1], file + 16 * 1200) << name;
        options.admit = [](std::uint64_t) { throw std::runtime_error("no"); };
        EXPECT_THROW(read_image(path, options), std::runtime_error);
    }
}

TEST_F(ImageFile, SaysOfWhatKindAFailureIs) {
    const auto kind = [&](const fs::path& path, const DecodeOptions& options = {}) {
        try {
            read_image(path, options);
        } catch (const IoError& error) {
            return error.kind();
        }
        return IoError::Kind::other;
    };
    ASSERT_TRUE(cv::imwrite((directory / "x.png").string(), picture(30, 40, CV_8UC1)));
    Bytes bytes = gpuhist::io::read_bytes(directory / "x.png");
    DecodeOptions few;
    few.max_pixels = 1000;
    EXPECT_EQ(kind(directory / "x.png", few), IoError::Kind::too_large);
    EXPECT_EQ(kind(directory / "missing.png"), IoError::Kind::missing);
    EXPECT_EQ(kind(directory / "x.png" / "below"), IoError::Kind::missing);
    EXPECT_EQ(kind(put("text.png", {'t', 'e', 'x', 't'})), IoError::Kind::unsupported);
    EXPECT_EQ(kind(put("half.png", Bytes(bytes.begin(), bytes.begin() + 200))), IoError::Kind::truncated);
    EXPECT_EQ(kind(put("empty.png", {})), IoError::Kind::truncated);
    bytes[bytes.size() / 2] ^= 0xff;
    EXPECT_EQ(kind(put("damaged.png", bytes)), IoError::Kind::damaged);
}

TEST_F(ImageFile, PixelsMayLieInMemoryThatIsReused) {
    gpuhist::PinnedPool pool(1 << 20, -1);
    gpuhist::io::PinnedAllocator allocator(pool);
    DecodeOptions options;
    options.allocator = &allocator;
    const unsigned char* place = nullptr;
    for (const char* name : {"x.png", "x.tiff", "x.bmp", "x.webp"}) {
        const fs::path path = directory / name;
        ASSERT_TRUE(cv::imwrite(path.string(), picture(30, 40, CV_8UC3)));
        const cv::Mat ours = read_image(path, options), plain = read_image(path);
        EXPECT_EQ(ours.type(), plain.type());
        EXPECT_EQ(cv::norm(ours, plain, cv::NORM_INF), 0) << name;
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(ours.data) % 64, 0U);
        EXPECT_TRUE(!place || place == ours.data) << name;
        place = ours.data;
    }
}

// --- Listing
// -----------------------------------------------------------------------------------------------------------

TEST_F(ImageFile, ListsImagesInByteOrder) {
    const fs::path sub = directory / "b";
    fs::create_directories(sub);
    fs::create_directories(directory / ".hidden");
    fs::create_directories(directory / "directory.png");
    for (const char* name :
         {"c.PNG", "a.jpg", "Z.tiff", "b.txt", ".d.png", "b/x.JPeG", ".hidden/y.png", "b-.png", "none"})
        put(name, {1});
    fs::create_directory_symlink(directory, sub / "loop");
    fs::create_symlink("nowhere", directory / "broken.png");
    fs::create_symlink("a.jpg", directory / "link.jpg");
    std::vector<std::string> found;
    for (const auto& path : gpuhist::io::list_images(directory))
        found.push_back(path.lexically_relative(directory).string());
    EXPECT_EQ(found, (std::vector<std::string>{"Z.tiff", "a.jpg", "b-.png", "b/x.JPeG", "c.PNG", "link.jpg"}));
    EXPECT_TRUE(gpuhist::io::list_images(directory / ".hidden").size() == 1);
    EXPECT_THROW(gpuhist::io::list_images(directory / "missing"), IoError);
}

TEST_F(ImageFile, AWalkGoesOnAfterADirectoryThatCannotBeListed) {
    for (const char* name : {"a", "b"}) fs::create_directories(directory / name);
    for (const char* name : {"a/x.png", "b/x.png", "z.png"}) put(name, {1});
    gpuhist::io::Walk walk(directory);
    walk.skip("b");
    ASSERT_EQ(walk.next()->relative, "a/x.png");
    ASSERT_EQ(walk.next()->relative, "z.png");
    EXPECT_FALSE(walk.next());

    gpuhist::io::Walk vanishing(directory);
    ASSERT_EQ(vanishing.next()->relative, "a/x.png");
    fs::remove_all(directory / "b");
    const auto failed = vanishing.next();
    ASSERT_TRUE(failed && failed->failure);
    EXPECT_EQ(failed->relative, "b");
    EXPECT_EQ(failed->failure->kind(), IoError::Kind::missing);
    EXPECT_EQ(vanishing.next()->relative, "z.png");
    EXPECT_FALSE(vanishing.next());
}

TEST(Formats, OfThePageAreThoseOfTheList) {
    const char* data = std::getenv("GPUHIST_DATA");
    ASSERT_NE(data, nullptr) << "GPUHIST_DATA must name the folder data/ of the sources";
    std::ifstream page(fs::path(data) / ".." / "io" / "README.md");
    std::multiset<std::string> written, known;
    bool in_table = false;
    for (std::string line; std::getline(page, line);) {
        if (line.rfind("## ", 0) == 0) in_table = line == "## Formats";
        if (!in_table || line.rfind("| `", 0) != 0) continue;
        std::istringstream words(line.substr(line.rfind('|', line.size() - 2)));
        for (std::string word; words >> word;)
            if (word.front() == '.') written.insert(word);
    }
    for (const gpuhist::io::ImageFormat* format : gpuhist::io::image_formats)
        for (const std::string_view extension : format->extensions)
            if (!extension.empty()) {
                known.emplace(extension);
                EXPECT_TRUE(gpuhist::io::walk_finds("x" + std::string(extension), {})) << extension;
            }
    EXPECT_EQ(written, known);
    EXPECT_EQ(known.size(), std::set<std::string>(known.begin(), known.end()).size());
}

TEST(WalkFinds, TellsFromThePathAlone) {
    using gpuhist::io::walk_finds;
    EXPECT_TRUE(walk_finds("a/b/x.JPG", {}));
    EXPECT_FALSE(walk_finds("a/.b/x.jpg", {}));
    EXPECT_FALSE(walk_finds("a/b/.x.jpg", {}));
    EXPECT_FALSE(walk_finds("a/b/x.txt", {}));
    EXPECT_FALSE(walk_finds("a/x.jpg", {false, {}, {}}));
    EXPECT_TRUE(walk_finds("x.jpg", {false, {}, {}}));
    EXPECT_FALSE(walk_finds("a/b/x.jpg", {true, {}, {"b"}}));
    EXPECT_FALSE(walk_finds("a/b/x.jpg", {true, {"*.png"}, {}}));
    EXPECT_TRUE(walk_finds("a/b/x.jpg", {true, {"a/*/x.jpg"}, {}}));
    EXPECT_FALSE(walk_finds("a/b/c/x.jpg", {true, {"a/*/x.jpg"}, {}}));
}

}  // namespace
