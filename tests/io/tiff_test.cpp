// TIFF: what is read of it, sample by sample. The oracle is the array that was written.
#include <cmath>
#include <limits>
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
            // Alpha beside bands is a band of that name.
            const Image behind = image(4, PHOTOMETRIC_MINISBLACK,
                                       {EXTRASAMPLE_UNSPECIFIED, EXTRASAMPLE_UNSPECIFIED, EXTRASAMPLE_UNASSALPHA});
            expect(behind, Samples::bands, Alpha::straight, array(4));
            EXPECT_EQ(behind.bands, (std::vector<std::string>{"", "", "", "alpha"}));
            for (const bool first : {false, true}) {
                const Image colors =
                    image(5, PHOTOMETRIC_RGB,
                          first ? std::vector<std::uint16_t>{EXTRASAMPLE_ASSOCALPHA, EXTRASAMPLE_UNSPECIFIED}
                                : std::vector<std::uint16_t>{EXTRASAMPLE_UNSPECIFIED, EXTRASAMPLE_ASSOCALPHA});
                expect(colors, Samples::color_bands, Alpha::premultiplied, channels_of(array(5), {2, 1, 0, 3, 4}));
                EXPECT_EQ(colors.bands[3], first ? "alpha" : "");
                EXPECT_EQ(colors.bands[4], first ? "" : "alpha");
            }
            EXPECT_TRUE(image(5, PHOTOMETRIC_RGB, {0, 0}).bands.empty());
            spec.photometric = PHOTOMETRIC_MINISBLACK;
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
            const cv::Mat deep = samples(21, 37, 4, 16);
            const Image colors = read(write(deep, spec));
            ASSERT_EQ(colors.depth, gpuhist::Depth::u16);
            EXPECT_EQ(colors.white, 65535);
            for (int y = 0; y < 21; ++y)
                for (int x = 0; x < 37; ++x) {
                    const auto& ink = deep.at<cv::Vec<ushort, 4>>(y, x);
                    const std::int64_t light = 65535 - ink[3];
                    const auto& color = colors.pixels.at<cv::Vec<ushort, 3>>(y, x);
                    for (int c = 0; c < 3; ++c) EXPECT_EQ(color[2 - c], light - ink[c] * light / 65536);
                }
        }
}

TEST_F(Tiff, Lerc) {
    if (!TIFFIsCODECConfigured(COMPRESSION_LERC)) GTEST_SKIP() << "this libtiff has no LERC";
    for (const char* mode : {"wl", "wb"})  // tests/cases have files of others
        for (const int bits : {8, 16, 32})
            for (const int channels : {1, 3}) {
                Spec spec;
                spec.mode = mode;
                spec.compression = COMPRESSION_LERC;
                const cv::Mat array = samples(24, 40, channels, bits, bits == 32);
                const Bytes file = write(array, spec);
                if (bits > 8 && mode[1] == 'b')
                    EXPECT_SAYS(file, "the compression LERC (34887) in a big-endian TIFF is not supported");
                else
                    EXPECT_TRUE(same(read(file), channels == 1 ? array : bgr(array))) << mode << bits;
            }
}

TEST_F(Tiff, IntegersOf64BitsWithValuesOf32) {
    // The matrix lends its bytes; OpenCV has no integers of 64 bits.
    for (const bool has_sign : {false, true})
        for (const int compression : {COMPRESSION_NONE, COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE})
            for (const char* mode : {"wl", "wb"}) {
                std::vector<std::int64_t> values(7 * 40);
                for (std::size_t i = 0; i < values.size(); ++i)
                    values[i] = static_cast<std::int64_t>(i * 2654435761U % 4294967296U) - (has_sign ? 2147483648 : 0);
                Spec spec;
                spec.mode = mode;
                spec.compression = compression;
                spec.bits = 64;
                spec.fields = [&](TIFF* tiff) {
                    TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT, has_sign ? SAMPLEFORMAT_INT : SAMPLEFORMAT_UINT);
                };
                const auto file = [&] { return write(cv::Mat(7, 40, CV_64F, values.data()), spec); };
                const Image image = read(file());
                ASSERT_EQ(image.depth, has_sign ? gpuhist::Depth::s32 : gpuhist::Depth::u32);
                for (int i = 0; i < 7 * 40; ++i) {
                    const auto stored = image.pixels.at<std::int32_t>(i / 40, i % 40);
                    EXPECT_EQ(has_sign ? std::int64_t{stored} : std::int64_t{static_cast<std::uint32_t>(stored)},
                              values[static_cast<std::size_t>(i)]);
                }
                values[41] = has_sign ? -2147483649 : 4294967296;
                EXPECT_SAYS(file(), "beyond the range of 32 bits: row 1 has " + std::to_string(values[41]));
            }
}

TEST_F(Tiff, NodataBeyond32Bits) {
    using Limits = std::numeric_limits<std::int64_t>;
    struct Case {
        bool has_sign;
        std::int64_t nodata;  // its bits
        std::string text;
    };
    for (const Case& one : {Case{false, -1, "18446744073709551615"}, Case{true, Limits::min(), "-9223372036854775808"},
                            Case{true, 4294967296, " 4294967296\n"}, Case{false, 4294967296, "4294967296"}})
        for (const bool planar : {false, true})
            for (const int tile : {0, 16}) {
                SCOPED_TRACE(testing::Message() << one.text << planar << tile);
                const int channels = planar ? 3 : 1;
                std::vector<std::int64_t> values(static_cast<std::size_t>(20 * 30 * channels));
                for (std::size_t i = 0; i < values.size(); ++i)
                    values[i] = i % 7 == 3 ? one.nodata : static_cast<std::int64_t>(i * 2654435761U % 2147483647U);
                Spec spec;
                spec.bits = 64;
                spec.planar = planar;
                spec.tile_width = spec.tile_height = tile;
                spec.photometric = PHOTOMETRIC_MINISBLACK;
                if (planar) spec.extra = {0, 0};
                std::string text = one.text;
                spec.fields = [&](TIFF* tiff) {
                    TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT, one.has_sign ? SAMPLEFORMAT_INT : SAMPLEFORMAT_UINT);
                    static const TIFFFieldInfo field{42113,        -1, -1, TIFF_ASCII,
                                                     FIELD_CUSTOM, 1,  0,  const_cast<char*>("GDAL_NODATA")};
                    TIFFMergeFieldInfo(tiff, &field, 1);
                    TIFFSetField(tiff, 42113, text.c_str());
                };
                const auto file = [&] { return write(cv::Mat(20, 30, CV_64FC(channels), values.data()), spec); };
                const double replaced = one.has_sign ? -2147483648.0 : 4294967295.0;
                Image image = read(file());
                EXPECT_EQ(image.nodata, replaced);
                EXPECT_EQ(image.nodata_problem, "");
                for (std::size_t i = 0; i < values.size(); ++i) {
                    const auto stored = reinterpret_cast<const std::int32_t*>(image.pixels.ptr(static_cast<int>(
                        i / (30 * static_cast<std::size_t>(channels)))))[i % (30 * static_cast<std::size_t>(channels))];
                    const auto found =
                        one.has_sign ? std::int64_t{stored} : std::int64_t{static_cast<std::uint32_t>(stored)};
                    ASSERT_EQ(found, i % 7 == 3 ? static_cast<std::int64_t>(replaced) : values[i]) << i;
                }
                DecodeOptions options;
                options.nodata = false;
                const std::string shown =
                    one.has_sign ? std::to_string(one.nodata) : std::to_string(static_cast<std::uint64_t>(one.nodata));
                EXPECT_TRUE(contains(failure(file(), options), "beyond the range of 32 bits: row 0 has " + shown));
                values[8] = static_cast<std::int64_t>(replaced);
                EXPECT_SAYS(file(), "beside samples that are " + std::to_string(values[8]));
                values[8] = one.nodata + (one.nodata == 4294967296 ? 1 : one.has_sign ? 5 : -5);
                EXPECT_SAYS(file(), "beyond the range of 32 bits: row 0 has ");
                text = "-1e30";  // not a value of the type
                EXPECT_SAYS(file(), "beyond the range of 32 bits: row 0 has " + shown);
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

// The right values are those that gdalinfo 3.6.2 has of files with these texts.
TEST_F(Tiff, TheTagOfNodataIsReadAsGdalReadsIt) {
    constexpr double infinite = std::numeric_limits<double>::infinity();
    const auto tagged = [](const std::string& text, Spec spec = {}) {
        const auto fields = spec.fields;
        spec.fields = [=](TIFF* tiff) {
            if (fields) fields(tiff);
            set_nodata(tiff, text);
        };
        return read(write(samples(9, 9, 1, spec.bits == 0 ? 8 : spec.bits), spec));
    };
    for (const auto& [text, value] : {std::pair<const char*, double>{"255 255 255", 255},
                                      {"+9999", 9999},
                                      {"-9999,0", -9999},
                                      {"-9999.0 ", -9999},
                                      {"0x10", 16},
                                      {"1e3", 1000},
                                      {" 7", 7},
                                      {"12abc", 12},
                                      {"1,5,6", 1.5},
                                      {".5", 0.5},
                                      {"1.5.3", 1.5},
                                      {"3d", 3},
                                      {"inf", infinite},
                                      {"-inf", -infinite},
                                      {"infinity", infinite},
                                      {"1.#INF", infinite},
                                      {"1e400", infinite}}) {
        EXPECT_EQ(tagged(text).nodata, value) << text;
        EXPECT_EQ(tagged(text).nodata_problem, "") << text;
    }
    for (const char* text : {"nan", "-nan", "NaN", "-1.#IND"}) {
        const auto value = tagged(text).nodata;
        EXPECT_TRUE(value && std::isnan(*value)) << text;
    }
    for (const char* text : {"none", "abc", "--5", " "}) {
        EXPECT_FALSE(tagged(text).nodata) << text;
        EXPECT_EQ(tagged(text).nodata_problem, "its nodata tag is not a number") << text;
    }
    EXPECT_FALSE(read(write(samples(9, 9, 1))).nodata);

    // The tag is about stored samples.
    Spec spec;
    spec.bits = 4;
    EXPECT_EQ(tagged("15", spec).nodata, 255);
    EXPECT_EQ(tagged("3", spec).nodata, 51);
    EXPECT_EQ(tagged("255", spec).nodata, 255 + 0.0) << "which no sample of 4 bits is";
    spec.photometric = PHOTOMETRIC_MINISWHITE;
    EXPECT_EQ(tagged("15", spec).nodata, 0);
    spec.bits = 8;
    EXPECT_EQ(tagged("255", spec).nodata, 0);
    EXPECT_EQ(tagged("1", spec).nodata, 254);
    spec.photometric = PHOTOMETRIC_PALETTE;
    spec.fields = [](TIFF* tiff) {
        std::vector<std::uint16_t> map(256, 3);
        TIFFSetField(tiff, TIFFTAG_COLORMAP, map.data(), map.data(), map.data());
    };
    EXPECT_FALSE(tagged("0", spec).nodata);
    EXPECT_EQ(tagged("0", spec).nodata_problem,
              "its nodata tag names an index of its palette, but gpuhist measures colors");
}

TEST_F(Tiff, StripsAndTilesThatAreLeftOutAreNodataOrZero) {
    const auto keep = [](std::uint32_t piece) { return piece % 3 != 1; };
    for (const int compression : {COMPRESSION_NONE, COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE, COMPRESSION_JPEG})
        for (const int bits : {1, 4, 8, 12, 16, 32})
            for (const bool planar : {false, true})
                for (const bool tiled : {false, true})
                    for (const int nodata : {-1, 1}) {
                        if (compression == COMPRESSION_JPEG && bits != 8) continue;
                        SCOPED_TRACE(testing::Message()
                                     << compression << ", " << bits << " bits" << (planar ? " planar" : "")
                                     << (tiled ? " tiled " : " ") << nodata);
                        Spec spec;
                        spec.bits = bits;
                        spec.compression = compression;
                        spec.planar = planar;
                        spec.rows = 16;
                        if (tiled) spec.tile_width = spec.tile_height = 16;
                        if (nodata >= 0) spec.fields = [](TIFF* tiff) { set_nodata(tiff, "1"); };
                        const cv::Mat array = samples(45, 37, 3, bits, bits == 32);
                        const Bytes whole = write(array, spec);
                        cv::Mat expected = read(whole).pixels.clone();
                        const int across = tiled ? 3 : 1, per_plane = 3 * across;
                        const double scale = bits < 8 ? 255.0 / ((1 << bits) - 1) : 1;
                        std::vector<cv::Mat> planes;
                        cv::split(expected, planes);
                        for (int piece = 0; piece < per_plane * (planar ? 3 : 1); ++piece) {
                            if (keep(static_cast<std::uint32_t>(piece))) continue;
                            const int place = piece % per_plane;
                            const cv::Rect all(0, 0, 37, 45),
                                box(tiled ? place % across * 16 : 0, place / across * 16, tiled ? 16 : 37, 16);
                            for (int c = 0; c < 3; ++c)
                                if (!planar || piece / per_plane == 2 - c)
                                    planes[static_cast<std::size_t>(c)](box & all) = nodata < 0 ? 0 : nodata * scale;
                        }
                        cv::merge(planes, expected);
                        ASSERT_TRUE(same(read(sparse(whole, keep)), expected));
                    }
    // What the type does not hold becomes its nearest value; all of an image may be left out.
    Spec spec;
    spec.fields = [](TIFF* tiff) { set_nodata(tiff, "-9999"); };
    EXPECT_EQ(
        cv::countNonZero(read(sparse(write(samples(20, 20, 1), spec), [](std::uint32_t) { return false; })).pixels), 0);
    spec.fields = [](TIFF* tiff) { set_nodata(tiff, "1e6"); };
    spec.rows = 20;
    EXPECT_EQ(cv::countNonZero(
                  read(sparse(write(samples(20, 20, 1), spec), [](std::uint32_t) { return false; })).pixels != 255),
              0);
}

TEST_F(Tiff, AMaskInsideIsThatOfThePageBeforeWithItsSides) {
    const cv::Mat image = samples(45, 37, 3), other = samples(30, 37, 1);
    const auto mask_of = [](int rows, int columns, int seed) {
        cv::Mat mask(rows, columns, CV_8UC1);
        cv::RNG random(static_cast<std::uint64_t>(seed));
        random.fill(mask, cv::RNG::UNIFORM, 0, 2);
        return mask;
    };
    const cv::Mat first = mask_of(45, 37, 1), second = mask_of(30, 37, 2);
    struct Directory {
        cv::Mat array;
        int kind, photometric, bits;
    };
    const std::vector<Directory> directories{
        {image, 0, PHOTOMETRIC_RGB, 8},
        {other, FILETYPE_PAGE, PHOTOMETRIC_MINISBLACK, 8},
        {mask_of(45, 37, 3), FILETYPE_REDUCEDIMAGE | FILETYPE_MASK, PHOTOMETRIC_MASK, 1},  // of an overview
        {first, FILETYPE_MASK, PHOTOMETRIC_MASK, 1},
        {second * 255, FILETYPE_MASK, PHOTOMETRIC_MASK, 8},
        {mask_of(9, 9, 3), FILETYPE_MASK, PHOTOMETRIC_MASK, 1}};
    for (const char* mode : {"wl", "wb", "w8"})
        for (const int tile : {0, 16})
            for (const int compression : {COMPRESSION_NONE, COMPRESSION_ADOBE_DEFLATE, COMPRESSION_LZW}) {
                Memory memory;
                TIFF* tiff = tiff_files::open(memory, mode);
                for (const Directory& one : directories) {
                    Spec spec;
                    spec.bits = one.bits;
                    spec.photometric = one.photometric;
                    spec.compression = compression;
                    spec.tile_width = spec.tile_height = tile;
                    spec.fields = [&](TIFF* fields) { TIFFSetField(fields, TIFFTAG_SUBFILETYPE, one.kind); };
                    write_page(tiff, one.array, spec);
                    TIFFWriteDirectory(tiff);
                }
                TIFFClose(tiff);
                gpuhist::io::DecodeOptions options;
                const auto page = [&](std::uint64_t number) {
                    options.page = number;
                    return gpuhist::io::decode_image(memory.bytes, "some.file", options);
                };
                for (const std::uint64_t number : {0, 1}) {
                    EXPECT_TRUE(same(page(number), bgr(image)));
                    EXPECT_TRUE(same(page(number).mask != 0, first != 0));
                    EXPECT_EQ(page(number).pages, 2U);
                }
                EXPECT_TRUE(same(page(2), other));
                EXPECT_TRUE(same(page(2).mask != 0, second != 0));
                options.masks = false;
                EXPECT_TRUE(page(0).mask.empty());
                EXPECT_TRUE(same(page(0), bgr(image)));
            }
}

TEST_F(Tiff, AMaskIsTurnedWithItsImage) {
    const cv::Mat image = samples(24, 40, 1), mask = samples(24, 40, 1, 1);
    for (int orientation = 1; orientation <= 8; ++orientation) {
        Memory memory;
        TIFF* tiff = tiff_files::open(memory, "w");
        for (const bool is_mask : {false, true}) {
            Spec spec;
            spec.bits = is_mask ? 1 : 8;
            spec.fields = [&](TIFF* fields) {
                TIFFSetField(fields, TIFFTAG_ORIENTATION, orientation);
                if (is_mask) TIFFSetField(fields, TIFFTAG_SUBFILETYPE, FILETYPE_MASK);
            };
            write_page(tiff, is_mask ? mask : image, spec);
            TIFFWriteDirectory(tiff);
        }
        TIFFClose(tiff);
        const Image found = read(memory.bytes);
        EXPECT_TRUE(same(found, turned(image, orientation)));
        EXPECT_TRUE(same(found.mask != 0, turned(mask, orientation) != 0));
    }
}

TEST_F(Tiff, WhatIsWrongWithAMaskIsNamed) {
    const auto with_mask = [](const cv::Mat& mask, int bits, int compression) {
        Memory memory;
        TIFF* tiff = tiff_files::open(memory, "w");
        write_page(tiff, samples(20, 20, 1), {});
        TIFFWriteDirectory(tiff);
        Spec spec;
        spec.bits = bits;
        spec.compression = compression;
        spec.photometric = mask.channels() == 1 ? PHOTOMETRIC_MINISBLACK : PHOTOMETRIC_RGB;
        spec.fields = [](TIFF* fields) { TIFFSetField(fields, TIFFTAG_SUBFILETYPE, FILETYPE_MASK); };
        write_page(tiff, mask, spec);
        TIFFWriteDirectory(tiff);
        TIFFClose(tiff);
        return memory.bytes;
    };
    EXPECT_SAYS(
        with_mask(samples(20, 20, 3), 8, COMPRESSION_NONE),
        "some.file: its mask: a mask of other than one whole number of up to 8 bits per pixel is not supported");
    EXPECT_SAYS(with_mask(samples(20, 20, 1, 16), 16, COMPRESSION_NONE), "its mask: a mask of other than");
    Bytes damaged = with_mask(smooth(20, 20, 1), 8, COMPRESSION_ADOBE_DEFLATE);
    std::fill_n(damaged.begin() + 560, 20, static_cast<unsigned char>(0x55));
    EXPECT_SAYS(damaged, "some.file: its mask: damaged: the TIFF's strip");
    gpuhist::io::DecodeOptions options;
    options.masks = false;
    EXPECT_TRUE(same(gpuhist::io::decode_image(damaged, "x", options), samples(20, 20, 1)));
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

TEST_F(Tiff, ThreadsOfOneImageMakeNoDifference) {
    std::vector<int> compressions(std::begin(lossless), std::end(lossless));
    compressions.push_back(COMPRESSION_JPEG);
    for (const int compression : compressions)
        for (const bool planar : {false, true})
            for (const int tile : {0, 16}) {
                if (compression == COMPRESSION_JPEG && planar) continue;
                Spec spec;
                spec.compression = compression;
                spec.planar = planar;
                spec.tile_width = spec.tile_height = tile;
                spec.rows = 8;
                const cv::Mat array = smooth(88, 104, 3);
                const Bytes bytes = write(array, spec);
                SCOPED_TRACE(testing::Message()
                             << "compression " << compression << (planar ? ", planar" : "") << ", tile " << tile);
                if (compression != COMPRESSION_JPEG) {
                    EXPECT_TRUE(same(read(bytes), bgr(array)));
                }
                expect_same_on_threads(bytes, 61);
            }
}

}  // namespace
