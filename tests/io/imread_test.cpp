// Pixels as `cv::imread` reads them, bit for bit: of what is lossy, turned or converted. This file is built where
// OpenCV's imgcodecs is installed, which brings a hundred libraries along and is needed for no other test.
#include <cstdlib>
#include <opencv2/imgcodecs.hpp>
#include <tuple>

#include "support/image_files.hpp"
#include "support/jpeg_files.hpp"
#include "support/tiff_files.hpp"

namespace {

using namespace image_files;
using namespace tiff_files;

/// OpenCV writes and reads OpenEXR only where this is set, and looks when it does so first.
[[maybe_unused]] const int openexr_enabled = ::setenv("OPENCV_IO_ENABLE_OPENEXR", "1", 0);

using Imread = Tiff;

Bytes by_opencv(const std::string& extension, const cv::Mat& image, const std::vector<int>& parameters = {}) {
    Bytes bytes;
    if (!cv::imencode(extension, image, bytes, parameters)) throw std::runtime_error("imencode " + extension);
    return bytes;
}

testing::AssertionResult as_imread(const Bytes& file, int flags = cv::IMREAD_UNCHANGED) {
    const cv::Mat ours = decode_image(file, "x"), theirs = cv::imdecode(file, flags);
    if (same(ours, theirs)) return testing::AssertionSuccess();
    return testing::AssertionFailure() << cv::typeToString(ours.type()) << ' ' << ours.size() << ", imread "
                                       << cv::typeToString(theirs.type()) << ' ' << theirs.size();
}

/// IMREAD_UNCHANGED leaves the orientation of a JPEG alone.
constexpr int oriented = cv::IMREAD_ANYCOLOR | cv::IMREAD_ANYDEPTH;

TEST_F(Imread, LossyFormats) {
    for (const char* extension : {".jpg", ".webp", ".hdr", ".exr"})
        for (const int channels : {1, 3}) {
            SCOPED_TRACE(extension);
            const bool real = extension == std::string(".hdr") || extension == std::string(".exr");
            const cv::Mat image = picture(37, 53, CV_MAKETYPE(real ? CV_32F : CV_8U, channels));
            const Bytes file = by_opencv(extension, image);
            EXPECT_EQ(decode_image(file, "x").pixels.depth(), image.depth());
            EXPECT_TRUE(as_imread(file, oriented));
        }
}

TEST_F(Imread, EveryCodingOfJpeg) {
    const auto codings = jpeg_files::every_coding();
    for (const auto& size : {cv::Size(1, 1), cv::Size(16, 16), cv::Size(37, 23), cv::Size(65, 33)})
        for (std::size_t i = 0; i < codings.size(); ++i)
            EXPECT_TRUE(as_imread(
                jpeg_files::make_jpeg(picture(size.height, size.width, CV_8UC(jpeg_files::channels_of(codings[i]))),
                                      codings[i]),
                oriented))
                << i << " of " << size;
}

TEST_F(Imread, DamagedJpeg) {
    DecodeOptions accept;
    accept.on_damaged = OnDamaged::accept;
    Bytes jpeg = encode(".jpg", picture(64, 80, CV_8UC3));
    jpeg.resize(jpeg.size() * 6 / 10);
    append(jpeg, 0xFFD9, 2, true);
    EXPECT_TRUE(same(decode_image(jpeg, "x", accept), cv::imdecode(jpeg, oriented)));
}

TEST_F(Imread, Orientations) {
    for (const int type : {CV_8UC1, CV_8UC3})
        for (int orientation = 0; orientation <= 9; ++orientation)
            EXPECT_TRUE(as_imread(with_orientation(encode(".jpg", picture(24, 40, type)), orientation), oriented))
                << orientation;
    for (int orientation = 1; orientation <= 8; ++orientation)
        for (const int channels : {1, 3})
            for (const int bits : {8, 16, 32}) {
                Spec spec;
                spec.rows = 24;
                spec.fields = [&](TIFF* tiff) { TIFFSetField(tiff, TIFFTAG_ORIENTATION, orientation); };
                EXPECT_TRUE(as_imread(write(samples(24, 40, channels, bits, bits == 32), spec)))
                    << orientation << ", " << channels << " x " << bits;
            }
}

TEST_F(Imread, ColorsOfOtherKindsInTiff) {
    Spec spec;
    spec.photometric = PHOTOMETRIC_YCBCR;
    for (const bool planar : {false, true}) {
        spec.planar = planar;
        spec.fields = [](TIFF* tiff) { TIFFSetField(tiff, TIFFTAG_YCBCRSUBSAMPLING, 1, 1); };
        const Bytes file = write(samples(21, 37, 3), spec);
        EXPECT_TRUE(as_imread(file)) << planar;
    }
    spec.planar = false;
    for (const int across : {1, 2, 4})
        for (const int down : {1, 2, 4}) {
            if (down > across) continue;
            // A block is its luma samples, then its chroma: written as rows of bytes, which is what they are.
            const int blocks_across = (37 + across - 1) / across, blocks_down = (21 + down - 1) / down;
            const Bytes data = [&] {
                const cv::Mat noise = samples(1, blocks_across * blocks_down * (across * down + 2), 1);
                return Bytes(noise.datastart, noise.dataend);
            }();
            tiff_files::Memory memory;
            TIFF* tiff = tiff_files::open(memory, "w");
            TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, 37);
            TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, 21);
            TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, 8);
            TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, 3);
            TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_YCBCR);
            TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
            TIFFSetField(tiff, TIFFTAG_COMPRESSION, down == 1 ? COMPRESSION_ADOBE_DEFLATE : COMPRESSION_NONE);
            TIFFSetField(tiff, TIFFTAG_YCBCRSUBSAMPLING, across, down);
            TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, 21);
            if (across == 2) {
                const float range[]{16, 235, 128, 240, 128, 240}, luma[]{0.2126F, 0.7152F, 0.0722F};
                TIFFSetField(tiff, TIFFTAG_REFERENCEBLACKWHITE, range);
                TIFFSetField(tiff, TIFFTAG_YCBCRCOEFFICIENTS, luma);
            }
            Bytes copy = data;
            ASSERT_EQ(TIFFWriteEncodedStrip(tiff, 0, copy.data(), static_cast<tmsize_t>(copy.size())),
                      static_cast<tmsize_t>(data.size()));
            TIFFClose(tiff);
            EXPECT_TRUE(as_imread(memory.bytes)) << across << " x " << down;
        }

    for (const int compression : {COMPRESSION_SGILOG, COMPRESSION_SGILOG24}) {
        const Bytes log_luv = by_opencv(".tif", smooth(21, 37, 3, 32, true) + cv::Scalar::all(1.1),
                                        {cv::IMWRITE_TIFF_COMPRESSION, compression});
        EXPECT_TRUE(as_imread(log_luv));
        EXPECT_EQ(read(log_luv).white, 1);
    }
}

TEST_F(Imread, EveryCompressionOfOpenExr) {
    const cv::Mat image = picture(70, 53, CV_32FC3) / 256;
    for (int compression = 0; compression < 10; ++compression)
        for (const bool half : {true, false}) {
            const Bytes file = gpuhist::test::encode_openexr(image, compression, half);
            cv::Mat floats;
            decode_image(file, "x").pixels.convertTo(floats, CV_32F);
            EXPECT_TRUE(same(floats, cv::imdecode(file, cv::IMREAD_UNCHANGED)))
                << compression << (half ? " half" : " float");
        }
}

TEST_F(Imread, TheTestsCodecsAgree) {
    for (const auto& [extension, depths, channels] :
         std::vector<std::tuple<const char*, std::vector<int>, std::vector<int>>>{
             {".png", {CV_8U, CV_16U}, {1, 3, 4}},
             {".tiff", {CV_8U, CV_16U, CV_32F}, {1, 3}},
             {".bmp", {CV_8U}, {1, 3}},
             {".ras", {CV_8U}, {3}},
             {".webp", {CV_8U}, {3, 4}},
             {".jp2", {CV_8U, CV_16U}, {1, 3}},
             {".exr", {CV_32F}, {1, 3}},
             {".pgm", {CV_8U, CV_16U}, {1}},
             {".ppm", {CV_8U, CV_16U}, {3}},
             {".pfm", {CV_32F}, {1, 3}}})
        for (const int depth : depths)
            for (const int count : channels) {
                const cv::Mat image = picture(37, 53, CV_MAKETYPE(depth, count));
                SCOPED_TRACE(extension + std::string(" ") + cv::typeToString(image.type()));
                EXPECT_TRUE(same(cv::imdecode(encode(extension, image), cv::IMREAD_UNCHANGED), image));
                // OpenCV's TIFF of three floats is LogLuv, which keeps no bits.
                const bool exact =
                    depth != CV_32F && (extension == std::string(".png") || extension == std::string(".tiff"));
                if (exact) {
                    EXPECT_TRUE(same(gpuhist::test::decode(by_opencv(extension, image)), image));
                }
            }
}

TEST_F(Imread, ReadsWhatIsWritten) {
    const gpuhist::test::TemporaryDirectory temporary;
    for (const int depth : {CV_8U, CV_16U, CV_32F})
        for (const int channels : {1, 3, 4})
            for (const char* name : {"x.png", "x.tiff"}) {
                const bool tiff = name == std::string("x.tiff");
                if (!tiff && depth == CV_32F) continue;                 // there is no such PNG
                if (tiff && depth == CV_8U && channels == 4) continue;  // it multiplies alpha in
                const cv::Mat image = picture(37, 53, CV_MAKETYPE(depth, channels));
                write_image(temporary.path() / name, image);
                EXPECT_TRUE(same(cv::imread((temporary.path() / name).string(), cv::IMREAD_UNCHANGED), image))
                    << name << ' ' << cv::typeToString(image.type());
            }
}

}  // namespace
