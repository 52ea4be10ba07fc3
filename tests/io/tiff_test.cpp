// TIFF: what is read of it, sample by sample. The oracle is the array that was written.
#include <thread>

#include "support/image_files.hpp"
#include "support/tiff_files.hpp"

namespace {

using namespace image_files;
using namespace tiff_files;
using gpuhist::Samples;
using gpuhist::io::Alpha;
using gpuhist::io::Image;

#define EXPECT_SAYS(bytes, part) EXPECT_TRUE(contains(failure(bytes), part))

TEST_F(Tiff, LayoutsCompressionsAndPredictorsMakeNoDifference) {
    struct Kind {
        int channels, bits;
        bool floating;
    };
    int turn = 0;
    for (const Kind& kind : {Kind{1, 8, false},
                             {3, 8, false},
                             {4, 8, false},
                             {1, 16, false},
                             {3, 16, false},
                             {4, 16, false},
                             {1, 32, true},
                             {3, 32, true},
                             {4, 32, true}}) {
        const cv::Mat array = samples(21, 37, kind.channels, kind.bits, kind.floating);
        const cv::Mat expected = kind.channels == 1 ? array : bgr(array);
        for (const int compression : lossless)
            for (const bool planar : {false, true})
                for (const bool tiled : {false, true})
                    for (int predictor = 1; predictor <= (kind.floating ? 3 : 2); ++predictor) {
                        if (predictor > 1 && (compression == COMPRESSION_NONE || compression == COMPRESSION_PACKBITS))
                            continue;
                        const char* modes[]{"w", "wb", "w8", "w8b", "wl"};
                        Spec spec;
                        spec.compression = compression;
                        spec.planar = planar;
                        spec.predictor = predictor;
                        spec.mode = modes[turn % 5];
                        spec.rows = turn % 3 == 0 ? 5 : turn % 3 == 1 ? 1 : 21;
                        if (tiled) spec.tile_width = 16, spec.tile_height = turn % 2 ? 32 : 16;
                        if (kind.channels == 4) spec.extra = {EXTRASAMPLE_UNASSALPHA};
                        ++turn;
                        // libtiff 4.5 writes these with the bytes of each sample the wrong way round.
                        if (predictor == PREDICTOR_FLOATINGPOINT && spec.mode.back() == 'b') spec.mode = "w";
                        SCOPED_TRACE(testing::Message()
                                     << kind.channels << " x " << kind.bits << " bits, compression " << compression
                                     << ", predictor " << predictor << ", mode " << spec.mode
                                     << (planar ? ", planar" : "") << (tiled ? ", tiles" : ""));
                        ASSERT_TRUE(same(read(write(array, spec)), expected));
                    }
    }
}

TEST_F(Tiff, SamplesKeepTheirValues) {
    for (int bits = 1; bits <= 16; ++bits)
        for (const int channels : {1, 3})
            for (const bool planar : {false, true})
                for (const int compression : {COMPRESSION_NONE, COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE}) {
                    SCOPED_TRACE(testing::Message() << bits << " bits, " << channels << " channels");
                    const cv::Mat array = samples(21, 37, channels, bits);
                    Spec spec;
                    spec.bits = bits;
                    spec.planar = planar;
                    spec.compression = compression;
                    const Image image = read(write(array, spec));
                    cv::Mat expected = channels == 1 ? array : bgr(array);
                    if (bits < 8) expected.convertTo(expected, CV_8U, 255.0 / ((1 << bits) - 1));
                    ASSERT_TRUE(same(image, expected));
                    EXPECT_EQ(image.white, bits <= 8 ? 255 : (1 << bits) - 1);
                }
    EXPECT_EQ(read(write(samples(9, 9, 1, 32, true))).white, 1);
}

TEST_F(Tiff, ZeroIsWhiteIsInvertedAtEveryDepth) {
    Spec spec;
    spec.photometric = PHOTOMETRIC_MINISWHITE;
    for (const int bits : {1, 4, 8, 12, 16}) {
        spec.bits = bits;
        const cv::Mat array = samples(21, 37, 1, bits);
        cv::Mat expected = cv::Scalar((1 << bits) - 1) - array;
        if (bits < 8) expected.convertTo(expected, CV_8U, 255.0 / ((1 << bits) - 1));
        EXPECT_TRUE(same(read(write(array, spec)), expected)) << bits;
    }
    spec.bits = 8;
    spec.extra = {EXTRASAMPLE_UNASSALPHA};
    const cv::Mat array = samples(21, 37, 2);
    cv::Mat inverted = array.clone();
    cv::subtract(cv::Scalar(255, 0), array, inverted);
    std::vector<cv::Mat> planes;
    cv::split(array, planes);
    planes[0] = 255 - planes[0];
    cv::Mat expected;
    cv::merge(std::vector<cv::Mat>{planes[0], planes[0], planes[0], planes[1]}, expected);
    EXPECT_TRUE(same(read(write(array, spec)), expected));
    spec.extra.clear();
    spec.bits = 32;
    EXPECT_SAYS(write(samples(9, 9, 1, 32, true), spec), "f32 whose zero is white is not supported");
}

TEST_F(Tiff, AlphaAndBandsAreAsStored) {
    for (const int bits : {8, 16, 32})
        for (const bool planar : {false, true}) {
            SCOPED_TRACE(testing::Message() << bits << (planar ? " planar" : ""));
            Spec spec;
            spec.planar = planar;
            const auto array = [&](int channels) { return samples(21, 37, channels, bits, bits == 32); };
            const auto image = [&](int channels, int photometric, std::vector<std::uint16_t> extra) {
                spec.photometric = photometric;
                spec.extra = std::move(extra);
                return read(write(array(channels), spec));
            };
            const auto expect = [&](const Image& found, Samples meaning, Alpha alpha, const cv::Mat& pixels) {
                EXPECT_EQ(found.samples, meaning);
                EXPECT_EQ(found.alpha, alpha);
                EXPECT_TRUE(same(found, pixels));
            };
            expect(image(4, PHOTOMETRIC_RGB, {EXTRASAMPLE_UNASSALPHA}), Samples::color, Alpha::straight, bgr(array(4)));
            expect(image(4, PHOTOMETRIC_RGB, {EXTRASAMPLE_ASSOCALPHA}), Samples::color, Alpha::premultiplied,
                   bgr(array(4)));
            expect(image(4, PHOTOMETRIC_RGB, {EXTRASAMPLE_UNSPECIFIED}), Samples::color_bands, Alpha::none,
                   bgr(array(4)));
            expect(image(4, PHOTOMETRIC_RGB, {}), Samples::color_bands, Alpha::none, bgr(array(4)));
            const cv::Mat gray_alpha = channels_of(array(2), {0, 0, 0, 1});
            expect(image(2, PHOTOMETRIC_MINISBLACK, {EXTRASAMPLE_UNASSALPHA}), Samples::gray_alpha, Alpha::straight,
                   gray_alpha);
            expect(image(2, PHOTOMETRIC_MINISBLACK, {EXTRASAMPLE_ASSOCALPHA}), Samples::gray_alpha,
                   Alpha::premultiplied, gray_alpha);
            for (const int channels : {3, 4})
                expect(image(channels, PHOTOMETRIC_MINISBLACK,
                             std::vector<std::uint16_t>(static_cast<std::size_t>(channels) - 1)),
                       Samples::bands, Alpha::none, array(channels));
            spec.extra.clear();
            expect(read(write(array(2), spec)), Samples::bands, Alpha::none, array(2));
        }
}

TEST_F(Tiff, PalettesBecomeTheirColors) {
    for (const int bits : {1, 2, 4, 8, 16})
        for (const int kind : {0, 1, 2, 3}) {  // 8 bits in the upper byte, in both, alone; 16 bits
            SCOPED_TRACE(testing::Message() << bits << " bits, map " << kind);
            const int entries = 1 << bits;
            cv::Mat map(1, entries, CV_16UC3);
            cv::RNG random(5);
            random.fill(map, cv::RNG::UNIFORM, 0, kind == 3 ? 65536 : 256);
            map.at<cv::Vec3w>(0, 1) = kind == 3 ? cv::Vec3w(65535, 257, 12345) : cv::Vec3w(250, 10, 20);
            std::vector<std::vector<std::uint16_t>> in_file(3);
            for (int i = 0; i < entries; ++i)
                for (int c = 0; c < 3; ++c)
                    in_file[static_cast<std::size_t>(c)].push_back(
                        static_cast<std::uint16_t>(map.at<cv::Vec3w>(0, i)[c] * (kind == 0   ? 256
                                                                                 : kind == 1 ? 257
                                                                                             : 1)));
            Spec spec;
            spec.bits = bits;
            spec.photometric = PHOTOMETRIC_PALETTE;
            spec.planar = bits == 2;
            spec.fields = [&](TIFF* tiff) {
                TIFFSetField(tiff, TIFFTAG_COLORMAP, in_file[0].data(), in_file[1].data(), in_file[2].data());
            };
            const cv::Mat array = samples(21, 37, 1, bits);
            cv::Mat expected(21, 37, CV_16UC3);
            for (int y = 0; y < 21; ++y)
                for (int x = 0; x < 37; ++x)
                    expected.at<cv::Vec3w>(y, x) =
                        map.at<cv::Vec3w>(0, bits == 16 ? array.at<ushort>(y, x) : array.at<uchar>(y, x));
            if (kind != 3) expected.convertTo(expected, CV_8U);
            const Image image = read(write(array, spec));
            EXPECT_TRUE(same(image, bgr(expected)));
            EXPECT_EQ(image.white, kind == 3 ? 65535 : 255);
        }
}

TEST_F(Tiff, OrientationIsApplied) {
    for (int orientation = 1; orientation <= 8; ++orientation)
        for (const int channels : {1, 3})
            for (const int bits : {8, 16, 32}) {
                SCOPED_TRACE(testing::Message() << orientation << ", " << channels << " x " << bits);
                Spec spec;
                spec.rows = 24;
                spec.fields = [&](TIFF* tiff) { TIFFSetField(tiff, TIFFTAG_ORIENTATION, orientation); };
                const cv::Mat array = samples(24, 40, channels, bits, bits == 32);
                EXPECT_TRUE(same(read(write(array, spec)), turned(channels == 1 ? array : bgr(array), orientation)));
            }
}

TEST_F(Tiff, CmykIsTurnedLikeThatOfJpeg) {
    for (const bool planar : {false, true})
        for (const int compression : {COMPRESSION_NONE, COMPRESSION_LZW}) {
            Spec spec;
            spec.photometric = PHOTOMETRIC_SEPARATED;
            spec.planar = planar;
            spec.compression = compression;
            const cv::Mat array = samples(21, 37, 4);
            cv::Mat expected(21, 37, CV_8UC3);
            for (int y = 0; y < 21; ++y)
                for (int x = 0; x < 37; ++x) {
                    const auto& ink = array.at<cv::Vec4b>(y, x);
                    const int light = 255 - ink[3];
                    for (int c = 0; c < 3; ++c)
                        expected.at<cv::Vec3b>(y, x)[2 - c] = static_cast<uchar>(light - (ink[c] * light >> 8));
                }
            const Image image = read(write(array, spec));
            EXPECT_TRUE(same(image, expected));
            EXPECT_EQ(image.samples, Samples::color);
            EXPECT_EQ(image.alpha, Alpha::none);
        }
}

TEST_F(Tiff, JpegInTiff) {
    // Quality 100 gives what was written, but for roundings.
    for (const int channels : {1, 3, 4})
        for (const bool planar : {false, true})
            for (const bool ycbcr : {false, true}) {
                if (ycbcr && (channels != 3 || planar)) continue;
                SCOPED_TRACE(testing::Message() << channels << (planar ? " planar" : "") << (ycbcr ? " YCbCr" : ""));
                Spec spec;
                spec.compression = COMPRESSION_JPEG;
                spec.rows = 16;
                spec.planar = planar;
                if (channels == 4) spec.extra = {EXTRASAMPLE_UNASSALPHA};
                if (ycbcr) {
                    spec.photometric = PHOTOMETRIC_YCBCR;
                    spec.jpeg_mode = JPEGCOLORMODE_RGB;
                }
                const cv::Mat array = smooth(45, 70, channels);
                const Bytes file = write(array, spec);
                const Image image = read(file);
                ASSERT_EQ(image.pixels.type(), array.type());
                EXPECT_LE(cv::norm(image.pixels, channels == 1 ? array : bgr(array), cv::NORM_INF), ycbcr ? 12 : 3);
                if (ycbcr) {
                    EXPECT_TRUE(same(image, gpuhist::test::decode(file)));
                }
                Bytes bad = file;
                const auto place = place_of(file, 1);
                std::fill_n(bad.begin() + static_cast<std::ptrdiff_t>(place.offset + place.length / 2),
                            place.length / 3, 0xFF);
                EXPECT_SAYS(bad, "damaged: the TIFF's strip 2 of ");
            }
}

TEST_F(Tiff, FaxAndOtherCodecsOfLibtiff) {
    cv::Mat array = samples(21, 37, 1, 1);
    cv::Mat expected = array * 255;
    for (const int compression : {COMPRESSION_CCITTRLE, COMPRESSION_CCITTFAX3, COMPRESSION_CCITTFAX4})
        for (const bool white : {false, true})
            for (const int order : {FILLORDER_MSB2LSB, FILLORDER_LSB2MSB}) {
                Spec spec;
                spec.bits = 1;
                spec.compression = compression;
                spec.photometric = white ? PHOTOMETRIC_MINISWHITE : PHOTOMETRIC_MINISBLACK;
                spec.fields = [&](TIFF* tiff) { TIFFSetField(tiff, TIFFTAG_FILLORDER, order); };
                const Bytes file = write(array, spec);
                EXPECT_TRUE(same(read(file), white ? cv::Mat(255 - expected) : expected)) << compression;
            }
    if (!TIFFIsCODECConfigured(COMPRESSION_WEBP)) GTEST_SKIP() << "libtiff was built without WebP";
    for (const int channels : {3, 4}) {
        Spec spec;
        spec.compression = COMPRESSION_WEBP;
        if (channels == 4) spec.extra = {EXTRASAMPLE_UNASSALPHA};
        spec.fields = [](TIFF* tiff) { TIFFSetField(tiff, TIFFTAG_WEBP_LOSSLESS, 1); };
        array = cv::max(samples(21, 37, channels), 1);  // of alpha 0 WebP drops the colors
        EXPECT_TRUE(same(read(write(array, spec)), bgr(array)));
    }
}

TEST_F(Tiff, FillOrderIsThatOfTheFile) {
    for (const int compression : lossless)
        for (const int bits : {1, 8, 16}) {
            Spec spec;
            spec.bits = bits;
            spec.compression = compression;
            spec.fields = [](TIFF* tiff) { TIFFSetField(tiff, TIFFTAG_FILLORDER, FILLORDER_LSB2MSB); };
            const cv::Mat array = samples(21, 37, 1, bits);
            EXPECT_TRUE(same(read(write(array, spec)), bits == 1 ? cv::Mat(array * 255) : array)) << compression;
        }
}

TEST_F(Tiff, PagesAreCountedWithoutOverviewsAndMasks) {
    const cv::Mat array = samples(21, 37, 1);
    for (const char* mode : {"w", "w8b"}) {
        Spec spec;
        spec.mode = mode;
        int page = 0;
        spec.fields = [&](TIFF* tiff) {
            constexpr int types[]{0, FILETYPE_REDUCEDIMAGE, FILETYPE_PAGE, FILETYPE_MASK, FILETYPE_PAGE};
            TIFFSetField(tiff, TIFFTAG_SUBFILETYPE, types[page++]);
        };
        const Image image = read(write(std::vector<cv::Mat>(5, array), spec));
        EXPECT_EQ(image.pages, 3U);
        EXPECT_TRUE(same(image, array));
    }
    // Directories in a loop.
    Bytes file = write(array);
    for (std::size_t byte = 0; byte < 4; ++byte) {
        const std::size_t directory = file[4] | file[5] << 8, count = file[directory];
        file[directory + 2 + 12 * count + byte] = file[4 + byte];
    }
    EXPECT_EQ(read(file).pages, 1U);
}

TEST_F(Tiff, OddFieldsMakeNoDifference) {
    const cv::Mat array = samples(21, 37, 3);
    for (const int compression : {COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE}) {
        Spec spec;
        spec.compression = compression;
        spec.fields = [](TIFF* tiff) {
            static const TIFFFieldInfo infos[]{
                {65000, -1, -1, TIFF_ASCII, FIELD_CUSTOM, 1, 0, const_cast<char*>("Private")}};
            TIFFMergeFieldInfo(tiff, infos, 1);
            TIFFSetField(tiff, 65000, "a private field");
            TIFFSetField(tiff, TIFFTAG_SOFTWARE, "caf\xE9");
            TIFFSetField(tiff, TIFFTAG_ICCPROFILE, 5, "wrong");
            TIFFSetField(tiff, TIFFTAG_RESOLUTIONUNIT, 9);
            TIFFSetField(tiff, TIFFTAG_MINSAMPLEVALUE, 99);
        };
        Bytes file = write(array, spec);
        file.insert(file.end(), 1000, 0x55);
        testing::internal::CaptureStderr();
        EXPECT_TRUE(same(read(file), bgr(array)));
        EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    }
}

TEST_F(Tiff, ThreadsDecodeAtOnce) {
    std::vector<Bytes> files;
    const cv::Mat array = smooth(64, 64, 3), expected = bgr(array);
    for (const int compression : lossless) {
        Spec spec;
        spec.compression = compression;
        files.push_back(write(array, spec));
    }
    std::vector<int> wrong(4, 0);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < wrong.size(); ++t)
        threads.emplace_back([&, t] {
            for (std::size_t i = 0; i < 40; ++i) wrong[t] += !same(read(files[(i + t) % files.size()]), expected);
        });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

}  // namespace
