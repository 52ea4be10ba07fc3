// JPEG: every coding as libjpeg reads it by itself; damage and claims that are refused, and notes that are not.
#include "support/image_files.hpp"
#include "support/jpeg_files.hpp"
#include "support/tiff_files.hpp"

namespace {

using namespace image_files;
using gpuhist::io::Damage;
using gpuhist::io::Image;
using jpeg_files::channels_of, jpeg_files::every_coding, jpeg_files::JpegOptions, jpeg_files::make_jpeg,
    jpeg_files::pixels_of;

/// Position of the nth marker of a kind, which no segment of these files holds by chance.
std::size_t place(const Bytes& jpeg, unsigned char marker, int nth = 0) {
    for (std::size_t at = 0; at + 1 < jpeg.size(); ++at)
        if (jpeg[at] == 0xFF && jpeg[at + 1] == marker && nth-- == 0) return at;
    throw std::runtime_error("no such marker");
}

Bytes with(Bytes bytes, std::size_t at, const Bytes& more) {
    bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), more.begin(), more.end());
    return bytes;
}

Bytes without(Bytes bytes, std::size_t from, std::size_t to) {
    bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(from), bytes.begin() + static_cast<std::ptrdiff_t>(to));
    return bytes;
}

constexpr unsigned char sos = 0xDA, eoi = 0xD9;

#define EXPECT_SAYS(bytes, part) EXPECT_TRUE(contains(failure(bytes), part))

/// Colors of ink, which Adobe's JPEGs keep as light: each times the light that black lets through, as cv::imread has
/// it.
cv::Mat colors_of(const cv::Mat& light) {
    cv::Mat colors(light.size(), CV_8UC3);
    for (int y = 0; y < light.rows; ++y)
        for (int x = 0; x < light.cols; ++x) {
            const auto& from = light.at<cv::Vec4b>(y, x);
            for (int c = 0; c < 3; ++c)
                colors.at<cv::Vec3b>(y, x)[2 - c] =
                    static_cast<unsigned char>(from[3] - ((255 - from[c]) * from[3] >> 8));
        }
    return colors;
}

TEST(Jpeg, EveryCodingIsAsLibjpegReadsIt) {
    const std::vector<JpegOptions> codings = every_coding();
    for (const auto& size : {cv::Size(1, 1), cv::Size(16, 16), cv::Size(37, 23), cv::Size(65, 33)})
        for (std::size_t i = 0; i < codings.size(); ++i) {
            SCOPED_TRACE(std::to_string(i) + " of " + std::to_string(size.width) + " x " + std::to_string(size.height));
            const int channels = channels_of(codings[i]);
            const Bytes jpeg = make_jpeg(picture(size.height, size.width, CV_8UC(channels)), codings[i]);
            const Image image = decode_image(jpeg, "x");
            EXPECT_TRUE(same(image.pixels, channels == 4 ? colors_of(pixels_of(jpeg)) : pixels_of(jpeg)));
            EXPECT_EQ(image.pixels.channels(), channels == 1 ? 1 : 3);
            EXPECT_EQ(image.damage, Damage::none);
        }
}

TEST(Jpeg, NotesAreNoDamage) {
    const Bytes jpeg = make_jpeg(picture(40, 60, CV_8UC3));
    const cv::Mat right = pixels_of(jpeg);
    const std::size_t end = place(jpeg, eoi);
    Bytes version = jpeg, transform = jpeg;
    version[place(jpeg, 0xE0) + 9] = 9;
    const Bytes adobe{0xFF, 0xEE, 0, 14, 'A', 'd', 'o', 'b', 'e', 0, 100, 0, 0, 0, 0, 7};
    testing::internal::CaptureStderr();
    for (const auto& [what, changed] : {std::pair{"fill bytes", with(jpeg, end, Bytes(9, 0xFF))},
                                        {"bytes after the end", with(jpeg, jpeg.size(), Bytes(5000, 0x42))},
                                        {"an image after the end", with(jpeg, jpeg.size(), jpeg)},
                                        {"version of JFIF", version},
                                        {"transform of Adobe's", with(jpeg, 2, adobe)}}) {
        EXPECT_EQ(failure(changed), "") << what;
        const Image image = decode_image(changed, "x");
        EXPECT_TRUE(same(image.pixels, right)) << what;
        EXPECT_EQ(image.note, "") << what;
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

Bytes repeated(const Bytes& pattern, std::size_t times) {
    Bytes bytes;
    for (std::size_t i = 0; i < times; ++i) bytes.insert(bytes.end(), pattern.begin(), pattern.end());
    return bytes;
}

TEST(Jpeg, PaddingBeforeTheEndIsPassedOver) {
    for (const bool progressive : {false, true}) {
        const Bytes jpeg = make_jpeg(picture(40, 60, CV_8UC3), {JCS_RGB, JCS_YCbCr, 2, 2, progressive});
        const cv::Mat right = pixels_of(jpeg);
        const std::size_t end = jpeg.size() - 2;
        ASSERT_NE(jpeg[end - 1], 0);
        for (const Bytes& padding : {Bytes(16, 0), Bytes(70000, 0x11), Bytes(16, 0x11),
                                     with(Bytes(16, 0), 16, Bytes(3, 0xFF)), repeated({0xFF, 0}, 40)}) {
            const Image image = decode_image(with(jpeg, end, padding), "x");
            EXPECT_TRUE(same(image.pixels, right));
            EXPECT_EQ(image.damage, Damage::none);
            EXPECT_EQ(image.note, "passed over: padding before its end");
        }
        EXPECT_EQ(failure(with(jpeg, end, {0x11})), "");
        Bytes late = repeated({0}, 5000);  // padding, but for one byte
        late[2000] = 1;
        const Bytes coded(jpeg.begin() + static_cast<std::ptrdiff_t>(end - 60),
                          jpeg.begin() + static_cast<std::ptrdiff_t>(end));
        for (const Bytes& more : {repeated({0, 0x13}, 2048), repeated({0x11, 0x12}, 12), coded, late,
                                  with(Bytes(20, 0xA5), 20, {0xA4}), with(Bytes(20, 0), 10, {0xFF})}) {
            EXPECT_SAYS(with(jpeg, end, more), "damaged: the JPEG at row 40 of 40");
            EXPECT_SAYS(with(jpeg, end, more), " extraneous bytes before marker 0xd9");
        }
    }
}

TEST(Jpeg, PaddingOfAStripInATiffIsPassedOver) {
    const cv::Mat picture = image_files::picture(40, 60, CV_8UC1);
    const Bytes jpeg = make_jpeg(picture, {JCS_GRAYSCALE, JCS_GRAYSCALE, 1, 1});
    const auto tiff = [&](Bytes strip) {
        tiff_files::Memory memory;
        TIFF* file = tiff_files::open(memory, "w");
        TIFFSetField(file, TIFFTAG_IMAGEWIDTH, 60);
        TIFFSetField(file, TIFFTAG_IMAGELENGTH, 40);
        TIFFSetField(file, TIFFTAG_BITSPERSAMPLE, 8);
        TIFFSetField(file, TIFFTAG_SAMPLESPERPIXEL, 1);
        TIFFSetField(file, TIFFTAG_ROWSPERSTRIP, 40);
        TIFFSetField(file, TIFFTAG_COMPRESSION, COMPRESSION_JPEG);
        TIFFSetField(file, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
        TIFFWriteRawStrip(file, 0, strip.data(), static_cast<tmsize_t>(strip.size()));
        TIFFClose(file);
        return memory.bytes;
    };
    const std::size_t end = jpeg.size() - 2;
    const Bytes coded(jpeg.begin() + static_cast<std::ptrdiff_t>(end - 60),
                      jpeg.begin() + static_cast<std::ptrdiff_t>(end));
    EXPECT_TRUE(same(decode_image(tiff(jpeg), "x").pixels, pixels_of(jpeg)));
    for (const Bytes& padding : {Bytes(16, 0), Bytes(70000, 0x11), repeated({0xFF, 0}, 40)})
        EXPECT_TRUE(same(decode_image(tiff(with(jpeg, end, padding)), "x").pixels, pixels_of(jpeg)));
    for (const Bytes& more : {repeated({0, 0x13}, 2048), coded})
        EXPECT_SAYS(tiff(with(jpeg, end, more)), "extraneous bytes before marker 0xd9");
}

TEST(Jpeg, BytesBetweenHeaderSegmentsArePassedOverWhereNoTableIsLost) {
    const Bytes jpeg = make_jpeg(picture(40, 60, CV_8UC3));
    const cv::Mat right = pixels_of(jpeg);
    std::string prose = "Adobe Photoshop, and what else a segment has whose length is too small";
    for (const unsigned char marker : {0xDB, 0xC0, 0xC4, 0xDA})
        for (const Bytes& junk : {Bytes(9, 0x11), Bytes(300, 0), bytes_of(prose)}) {
            const Image image = decode_image(with(jpeg, place(jpeg, marker), junk), "x");
            EXPECT_TRUE(same(image.pixels, right));
            EXPECT_EQ(image.note,
                      "passed over: " + std::to_string(junk.size()) + " bytes between the segments of its header");
        }
    // Tables without their markers, and overwritten ones.
    for (const unsigned char marker : {0xDB, 0xC4})
        for (int nth = 0; nth < (marker == 0xDB ? 2 : 4); ++nth) {
            const std::size_t at = place(jpeg, marker, nth), size = 256U * jpeg[at + 2] + jpeg[at + 3];
            Bytes changed = jpeg;
            changed[at] = changed[at + 1] = 0;
            EXPECT_SAYS(changed, "damaged: a table of the JPEG is lost among bytes between its header's segments");
            std::fill_n(changed.begin() + static_cast<std::ptrdiff_t>(at), 30, static_cast<unsigned char>(0x11));
            EXPECT_SAYS(changed, "damaged: ");
            const Bytes table(jpeg.begin() + static_cast<std::ptrdiff_t>(at + 2),
                              jpeg.begin() + static_cast<std::ptrdiff_t>(at + 2 + size));
            EXPECT_SAYS(with(jpeg, place(jpeg, sos), table), "damaged: a table of the JPEG is lost");
        }
    EXPECT_SAYS(with(jpeg, place(jpeg, 0xDB), {0, 14, 'A', 'd', 'o', 'b', 'e', 0, 100, 0, 0, 0, 0, 0}),
                "damaged: a table of the JPEG is lost");
}

TEST(Jpeg, DamageIsRefused) {
    const cv::Mat image = picture(64, 80, CV_8UC3);
    testing::internal::CaptureStderr();
    for (const bool progressive : {false, true})
        for (const bool arithmetic : {false, true}) {
            SCOPED_TRACE((progressive ? "progressive" : "baseline") + std::string(arithmetic ? ", arithmetic" : ""));
            const Bytes jpeg = make_jpeg(image, {JCS_RGB, JCS_YCbCr, 2, 2, progressive, arithmetic});
            const std::size_t scan = place(jpeg, sos, progressive ? 4 : 0), middle = scan + 100;
            Bytes cut(jpeg.begin(), jpeg.begin() + static_cast<std::ptrdiff_t>(middle));
            EXPECT_SAYS(cut, "truncated: ");
            if (arithmetic) continue;  // its data may end in zeros that are not written: nobody can notice
            append(cut, 0xFFD9, 2, true);
            EXPECT_SAYS(cut, "damaged: the JPEG");
        }
    const Bytes jpeg = make_jpeg(image);
    Bytes ones = jpeg;
    for (std::size_t i = 0, at = jpeg.size() / 2; i < 64; ++i) ones[at + i] = i % 2 ? 0 : 0xFF;
    EXPECT_SAYS(ones, "libjpeg: Corrupt JPEG data: bad Huffman code");
    EXPECT_SAYS(ones, "at row ");
    EXPECT_SAYS(ones, " of 64");

    const Bytes restarts = make_jpeg(image, {JCS_RGB, JCS_YCbCr, 1, 1, false, false, 4});
    const std::size_t first = place(restarts, 0xD0), second = place(restarts, 0xD1);
    Bytes swapped = restarts;
    std::swap(swapped[first + 1], swapped[second + 1]);
    EXPECT_SAYS(swapped, "damaged: ");
    EXPECT_SAYS(without(restarts, first, first + 2), "damaged: ");
    EXPECT_SAYS(without(restarts, first, second), "damaged: ");
    EXPECT_SAYS(with(restarts, first, Bytes(20, 0x11)), "damaged: ");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Jpeg, ScansThatAreMissingAreDamage) {
    for (const bool spectral_only : {false, true}) {
        JpegOptions options{JCS_RGB, JCS_YCbCr, 2, 2, true};
        options.spectral_only = spectral_only;
        const Bytes jpeg = make_jpeg(picture(40, 60, CV_8UC3), options);
        const std::size_t scans = spectral_only ? 7 : 10;
        for (std::size_t left = 1; left < scans; ++left) {
            // The tables before a scan go with it.
            Bytes cut = without(jpeg, place(jpeg, sos, static_cast<int>(left)), jpeg.size() - 2);
            EXPECT_SAYS(cut, "damaged: the JPEG's scans leave out ") << left;
        }
    }
    JpegOptions options;
    options.one_component_a_scan = true;
    const Bytes jpeg = make_jpeg(picture(40, 60, CV_8UC3), options);
    EXPECT_SAYS(without(jpeg, place(jpeg, sos, 2), jpeg.size() - 2),
                "damaged: the JPEG's scans leave out coefficient 0 of component 3");
}

TEST(Jpeg, DamageMayBeAccepted) {
    DecodeOptions accept;
    accept.on_damaged = OnDamaged::accept;
    const Bytes jpeg = make_jpeg(picture(64, 80, CV_8UC3));
    Bytes cut(jpeg.begin(), jpeg.begin() + static_cast<std::ptrdiff_t>(jpeg.size() * 6 / 10));
    EXPECT_EQ(decode_image(cut, "x", accept).damage, Damage::truncated);
    append(cut, 0xFFD9, 2, true);
    const Image image = decode_image(cut, "x", accept);
    EXPECT_EQ(image.damage, Damage::damaged);
    EXPECT_TRUE(contains(image.cause, "libjpeg: Corrupt JPEG data: premature end of data segment"));
    EXPECT_TRUE(same(image.pixels, pixels_of(cut)));
    // Where libjpeg gives up, the rows to come are zeros.
    const Bytes unknown_marker = with(jpeg, jpeg.size() / 2, {0xFF, 0x02, 0x00, 0x04, 0x00, 0x00});
    EXPECT_EQ(decode_image(unknown_marker, "x", accept).damage, Damage::damaged);
}

TEST(Jpeg, VariantsThatAreNotReadAreNamed) {
    const Bytes jpeg = make_jpeg(picture(16, 16, CV_8UC3));
    const std::size_t frame = place(jpeg, 0xC0);
    const auto changed = [&](std::size_t at, unsigned char value) {
        Bytes bytes = jpeg;
        bytes[frame + at] = value;
        return bytes;
    };
    EXPECT_SAYS(changed(1, 0xC3), "lossless JPEG is not supported");
    EXPECT_SAYS(changed(1, 0xCB), "lossless JPEG is not supported");
    EXPECT_SAYS(changed(1, 0xF7), ": JPEG-LS is not supported");
    EXPECT_SAYS(changed(1, 0xC5), "hierarchical JPEG is not supported");
    EXPECT_SAYS(changed(4, 12), "12-bit JPEG is not supported");
    EXPECT_SAYS(changed(9, 2), "JPEG of 2 components is not supported");
    Bytes no_height = changed(5, 0);
    no_height[frame + 6] = 0;
    EXPECT_SAYS(no_height, "(DNL) is not supported");
    Bytes fractions = changed(11, 0x31);
    fractions[frame + 14] = 0x21;
    EXPECT_SAYS(fractions, "the JPEG cannot be read: libjpeg: Fractional sampling not implemented yet");
}

TEST(Jpeg, ClaimsThatTheFileCannotHoldAreRefused) {
    for (const bool progressive : {false, true}) {
        Bytes jpeg = make_jpeg(picture(16, 16, CV_8UC3), {JCS_RGB, JCS_YCbCr, 1, 1, progressive});
        const std::size_t frame = place(jpeg, progressive ? 0xC2 : 0xC0);
        for (const std::size_t at : {frame + 5, frame + 7}) {
            jpeg[at] = 32000 >> 8;
            jpeg[at + 1] = 32000 & 255;
        }
        DecodeOptions accept;
        accept.on_damaged = OnDamaged::accept;
        EXPECT_SAYS(jpeg, "cannot hold the 32000 x 32000 pixels that its header claims");
        jpeg.resize(jpeg.size() - 20);
        EXPECT_TRUE(contains(failure(jpeg, accept), "cannot hold the 32000 x 32000 pixels that its header claims"));
    }
    // What is flat takes two bits per block.
    for (const auto stored : {JCS_YCbCr, JCS_RGB})
        EXPECT_EQ(failure(make_jpeg(cv::Mat(1000, 1000, CV_8UC3, cv::Scalar::all(128)), {JCS_RGB, stored, 1, 1})), "");
    EXPECT_EQ(failure(make_jpeg(cv::Mat(1000, 1000, CV_8UC3, cv::Scalar::all(128)), {JCS_RGB, JCS_YCbCr, 2, 2, true})),
              "");
    EXPECT_EQ(failure(make_jpeg(cv::Mat(1000, 1000, CV_8UC1, cv::Scalar(9)),
                                {JCS_GRAYSCALE, JCS_GRAYSCALE, 1, 1, false, true})),
              "");

    const Bytes jpeg = make_jpeg(picture(16, 16, CV_8UC3), {JCS_RGB, JCS_YCbCr, 1, 1, true});
    const std::size_t last = place(jpeg, sos, 9);
    Bytes scans;
    for (int i = 0; i < 500; ++i)
        scans.insert(scans.end(), jpeg.begin() + static_cast<std::ptrdiff_t>(last), jpeg.end() - 2);
    EXPECT_SAYS(with(jpeg, last, scans), "more than 500 scans");
}

/// MPF data of so many pictures, each with the type in its attribute.
Bytes mpf(bool big_endian, const std::vector<std::uint64_t>& attributes, std::uint64_t claimed) {
    Bytes tiff = bytes_of(big_endian ? "MM" : "II");
    append(tiff, 42, 2, big_endian);
    append(tiff, 8, 4, big_endian);
    append(tiff, 3, 2, big_endian);
    const std::uint64_t list = 8 + 2 + 3 * 12 + 4, size = 16 * attributes.size();
    const std::uint64_t entries[][4] = {{0xB000, 7, 4, 0x30313030}, {0xB001, 4, 1, claimed}, {0xB002, 7, size, list}};
    for (const auto& [tag, type, count, value] : entries) {
        append(tiff, tag, 2, big_endian);
        append(tiff, type, 2, big_endian);
        append(tiff, count, 4, big_endian);
        append(tiff, value, 4, big_endian);
    }
    append(tiff, 0, 4, big_endian);
    for (const std::uint64_t attribute : attributes) {
        append(tiff, attribute, 4, big_endian);
        for (int i = 0; i < 3; ++i) append(tiff, 1000, 4, big_endian);
    }
    Bytes segment{0xFF, 0xE2};
    append(segment, tiff.size() + 6, 2, true);
    for (const char c : {'M', 'P', 'F', '\0'}) segment.push_back(static_cast<unsigned char>(c));
    segment.insert(segment.end(), tiff.begin(), tiff.end());
    return segment;
}

/// CIPA DC-007: 0x03 is the first picture, 0x02 one of several angles, 0x01 a large preview of the first.
TEST(Jpeg, SeveralPicturesAreCounted) {
    const cv::Mat pixels = picture(24, 40, CV_8UC3);
    const Bytes one = make_jpeg(pixels);
    EXPECT_EQ(decode_image(one, "x").pages, 1U);
    constexpr std::uint64_t first = 0x20030000, disparity = 0x020002, preview = 0x010001, panorama = 0x020001;
    for (const bool big_endian : {false, true}) {
        const auto pages = [&](const std::vector<std::uint64_t>& attributes, std::uint64_t claimed) {
            Bytes file = with(one, 2, mpf(big_endian, attributes, claimed));
            const Image image =
                decode_image(with(file, file.size(), one), "x");  // the second picture follows the first
            EXPECT_TRUE(same(image.pixels, pixels_of(one)));
            return image.pages;
        };
        EXPECT_EQ(pages({first, disparity}, 2), 2U);
        EXPECT_EQ(pages({first, panorama, panorama, panorama}, 4), 4U);
        EXPECT_EQ(pages({first, preview}, 2), 1U);
        EXPECT_EQ(pages({first, preview, disparity}, 3), 2U);
        EXPECT_EQ(pages({first}, 1), 1U);
        EXPECT_EQ(pages({first, disparity}, 0), 1U);
        EXPECT_EQ(pages({first, disparity}, 0xFFFFFFFF), 2U);  // there are no more in the list
    }
    // Other data of applications in such a segment, and MPF data that end early.
    Bytes profile = mpf(true, {first, disparity}, 2);
    profile[4] = 'I';
    EXPECT_EQ(decode_image(with(one, 2, profile), "x").pages, 1U);
    EXPECT_EQ(decode_image(with(with(one, 2, mpf(true, {first, disparity}, 2)), 2, profile), "x").pages, 2U);
    const Bytes whole = mpf(true, {first, disparity}, 2);
    for (std::size_t length = 4; length < whole.size(); ++length) {
        Bytes part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
        part[3] = static_cast<unsigned char>(length - 2);
        EXPECT_EQ(decode_image(with(one, 2, part), "x").pages, 1U) << length;
    }
}

// A caller that decodes elsewhere gets the bytes and the facts, and later the same image as others.
TEST(Jpeg, MayBeLeftEncoded) {
    const Bytes jpeg = make_jpeg(picture(23, 37, CV_8UC3));
    const cv::Mat stored = pixels_of(jpeg);
    int asked = 0;
    gpuhist::io::DecodeOptions options;
    options.leave_encoded = [&](const Bytes& bytes) {
        ++asked;
        return bytes.size() % 2 == 0;
    };
    for (int orientation = 1; orientation <= 8; ++orientation) {
        SCOPED_TRACE(orientation);
        Bytes file = with_orientation(jpeg, orientation);
        if (file.size() % 2 != 0) file = with(file, file.size() - 2, {0xFF});  // a fill byte
        const Image expected = decode_image(file, "x");
        Image image = decode_image(file, "x", options);
        EXPECT_EQ(image.encoded, file);
        EXPECT_TRUE(image.pixels.empty());
        EXPECT_EQ(image.width, static_cast<std::uint64_t>(expected.pixels.cols));
        EXPECT_EQ(image.height, static_cast<std::uint64_t>(expected.pixels.rows));
        EXPECT_EQ(image.format, expected.format);
        EXPECT_EQ(image.pages, 1U);
        gpuhist::io::take_pixels(image, stored.clone());
        EXPECT_TRUE(same(image.pixels, expected.pixels));
        EXPECT_EQ(image.width, 0U);
        EXPECT_TRUE(image.encoded.empty());
    }
    EXPECT_EQ(asked, 8);
    Bytes odd = jpeg.size() % 2 ? jpeg : with(jpeg, jpeg.size() - 2, {0xFF});
    EXPECT_TRUE(same(decode_image(odd, "x", options).pixels, stored));
    EXPECT_EQ(asked, 9);
    EXPECT_ANY_THROW(decode_image(Bytes(jpeg.begin(), jpeg.begin() + 200), "x", options));
    EXPECT_EQ(asked, 9) << "for a file that ends in its header";
}

TEST(Jpeg, OrientationIsOfTheFirstApplicationSegment) {
    const Bytes jpeg = make_jpeg(picture(24, 40, CV_8UC3));
    const cv::Mat stored = pixels_of(jpeg);
    const auto exif = [](bool big_endian, std::uint64_t orientation) {
        Bytes tiff = bytes_of(big_endian ? "MM" : "II");
        append(tiff, 42, 2, big_endian);
        append(tiff, 8, 4, big_endian);
        append(tiff, 2, 2, big_endian);
        for (const auto& [tag, value] : {std::pair<std::uint64_t, std::uint64_t>{0x0103, 6}, {0x0112, orientation}}) {
            append(tiff, tag, 2, big_endian);
            append(tiff, 3, 2, big_endian);
            append(tiff, 1, 4, big_endian);
            append(tiff, value, 2, big_endian);
            append(tiff, 0, 2, big_endian);
        }
        append(tiff, 0, 4, big_endian);
        Bytes segment{0xFF, 0xE1};
        append(segment, tiff.size() + 8, 2, true);
        for (const char c : {'E', 'x', 'i', 'f', '\0', '\0'}) segment.push_back(static_cast<unsigned char>(c));
        segment.insert(segment.end(), tiff.begin(), tiff.end());
        return segment;
    };
    const Bytes xmp{0xFF, 0xE1, 0, 12, 'h', 't', 't', 'p', ':', '/', '/', 'n', 's', 0};
    for (const bool big_endian : {false, true})
        for (int orientation = 0; orientation <= 9; ++orientation) {
            const Bytes once = with(jpeg, 2, exif(big_endian, static_cast<std::uint64_t>(orientation)));
            EXPECT_TRUE(same(decode_image(once, "x").pixels, turned(stored, orientation))) << orientation;
            const Bytes twice = with(once, 2, exif(!big_endian, 6));
            EXPECT_TRUE(same(decode_image(twice, "x").pixels, turned(stored, 6))) << orientation;
            const Bytes behind_xmp = with(once, 2, xmp);
            EXPECT_TRUE(same(decode_image(behind_xmp, "x").pixels, stored)) << orientation;
        }
    // Cut off before the end of its value, it is no orientation.
    const Bytes whole = exif(true, 6);
    for (std::size_t length = 4; length < whole.size(); ++length) {
        Bytes part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
        part[3] = static_cast<unsigned char>(length - 2);
        const Bytes file = with(jpeg, 2, part);
        EXPECT_TRUE(same(decode_image(file, "x").pixels, turned(stored, length < 42 ? 1 : 6))) << length;
    }
}

}  // namespace
