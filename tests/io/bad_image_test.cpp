// Files that cannot be read: cut off, damaged, of an unsupported kind, claiming too much. What is refused, and how it
// is said.

#include <sys/resource.h>

#include "support/image_files.hpp"
#include "support/jpeg_files.hpp"
#include "support/tiff_files.hpp"

namespace {

using namespace image_files;
using jpeg_files::make_jpeg;

#define EXPECT_SAYS(bytes, part) EXPECT_TRUE(contains(failure(bytes), part))

TEST_F(ImageFile, EveryTruncatedPrefixIsRefused) {
    const cv::Mat image = picture(40, 60, CV_8UC3);
    tiff_files::Spec deflate;
    deflate.compression = COMPRESSION_ADOBE_DEFLATE;
    std::string text_ppm = "P3\n60 40\n255";
    for (const int sample : Bytes(image.datastart, image.dataend)) text_ppm += ' ' + std::to_string(sample);
    std::vector<std::pair<std::string, Bytes>> files{
        {"baseline", encode(".jpg", image)},
        {"progressive", make_jpeg(image, {JCS_RGB, JCS_YCbCr, 2, 2, true})},
        {"restarts", make_jpeg(image, {JCS_RGB, JCS_YCbCr, 2, 2, false, false, 4})},
        {"exif", with_orientation(encode(".jpg", image), 6)},
        {"png", encode(".png", image)},
        {"tiff lzw", encode(".tiff", image)},
        {"tiff deflate", tiff_files::write(image, deflate)},
        {"bmp", encode(".bmp", image)},
        {"webp", gpuhist::test::encode_lossy_webp(image, 80)},
        {"lossless webp", encode(".webp", image)},
        {"ppm", encode(".ppm", image)},
        {"text ppm", bytes_of(text_ppm)},
        {"pam", encode(".pam", image)},
        {"ras", encode(".ras", image)},
    };
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
        // A number in text may lose its last digits without a trace.
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
    std::vector<Bytes> files{encode(".hdr", real), encode(".exr", real), encode(".jp2", picture(40, 60, CV_8UC3))};
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
    accept.on_damaged = OnDamaged::accept;
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
    EXPECT_SAYS(bytes_of("DDS |"), "a DDS texture is not a format that gpuhist reads: convert it with ImageMagick");
    Bytes dicom(128);
    const Bytes words = bytes_of("DICM and what follows");
    dicom.insert(dicom.end(), words.begin(), words.end());
    EXPECT_SAYS(dicom, "a DICOM file is not a format");
    const Bytes preamble = bytes_of(std::string("II*\0\0\x10\0\0", 8));  // a TIFF's, which leads nowhere
    std::copy(preamble.begin(), preamble.end(), dicom.begin());
    EXPECT_SAYS(dicom, "a DICOM file is not a format");
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
    EXPECT_SAYS(tiff(24, 3, 1),
                "depth f24 is not supported: gpuhist reads u8, s8, u16, s16, u32, s32, f16, f32 and f64");
    EXPECT_SAYS(tiff(12, 2, 1), "depth s12");
    EXPECT_SAYS(tiff(24, 1, 3), "depth u24");
    EXPECT_SAYS(tiff(64, 1, 1),
                "integers of 64 bits are not supported beyond the range of 32 bits: row 0 has 506381209866536711");
    EXPECT_SAYS(tiff(64, 5, 1), "depth complex 64");
    EXPECT_SAYS(tiff(8, 1, 65), "65 channels are not supported: gpuhist reads 1 to 64");
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
    std::vector<Bytes> files{encode(".jpg", image),  encode(".png", image),
                             encode(".tiff", image), encode(".bmp", image),
                             encode(".webp", image), encode(".ppm", image),
                             encode(".exr", real),   encode(".hdr", real),
                             make_tiff(big),         encode(".jp2", picture(40, 60, CV_8UC3))};
    for (Bytes& bytes : files)
        for (std::size_t i = 0; i < std::min<std::size_t>(bytes.size(), 400); ++i)
            for (const int value : {0x00, 0x7F, 0xFF}) {
                const unsigned char before = std::exchange(bytes[i], static_cast<unsigned char>(value));
                EXPECT_NO_THROW(failure(bytes, options)) << i;
                bytes[i] = before;
            }
    testing::internal::GetCapturedStderr();
}

}  // namespace
