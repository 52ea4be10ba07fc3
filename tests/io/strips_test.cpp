// Images handed over in strips: the rows of those that come whole.
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <opencv2/imgproc.hpp>
#include <optional>
#include <random>

#include "gpuhist/io/decode.hpp"
#include "support/codecs.hpp"
#include "support/temporary_directory.hpp"
#include "support/tiff_files.hpp"

namespace {

using namespace gpuhist;
using namespace gpuhist::io;
using namespace tiff_files;

/// Image put together from its strips.
struct Joined {
    Image image;
    cv::Mat pixels, mask;
    std::size_t strips = 0;
    int passes = 0;
    std::uint64_t most_bytes = 0;  ///< of pixels that were admitted
};

class StripsOf : public Tiff {
  protected:
    /// Reads a file in strips of about `strip_bytes`.
    Joined join(const std::string& name, const Bytes& file, std::uint64_t strip_bytes = 1000,
                const DecodeOptions& given = {}) {
        const auto path = directory_.path() / name;
        std::ofstream(path, std::ios::binary)
            .write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
        Joined joined;
        Strips strips;
        strips.strip_bytes = strip_bytes;
        strips.refusal = [](const StripFacts&) { return std::string(); };
        cv::Mat first, before, kept;
        const auto expect_kept = [&] {  // the strip before is as it was
            for (int y = 0; y < before.rows; ++y)
                EXPECT_EQ(
                    std::memcmp(before.ptr(y), kept.ptr(y), static_cast<std::size_t>(kept.cols) * kept.elemSize()), 0)
                    << "row " << y;
        };
        strips.take = [&](const Image& strip, std::uint64_t row) {
            expect_kept();
            EXPECT_EQ(row, static_cast<std::uint64_t>(joined.pixels.rows));
            EXPECT_EQ(view(strip).depth, strip.depth);
            before = strip.pixels;
            kept = strip.pixels.clone();
            joined.pixels.push_back(kept);
            if (!strip.mask.empty()) joined.mask.push_back(strip.mask);
            ++joined.strips;
        };
        strips.again = [&] {
            expect_kept();
            if (++joined.passes == 2) {  // the same once more
                EXPECT_EQ(joined.pixels.size(), first.size());
                for (int y = 0; y < first.rows; ++y)
                    EXPECT_EQ(std::memcmp(joined.pixels.ptr(y), first.ptr(y),
                                          static_cast<std::size_t>(first.cols) * first.elemSize()),
                              0);
                return false;
            }
            std::swap(first, joined.pixels);
            joined.mask.release();
            before = cv::Mat();
            joined.strips = 0;
            return true;
        };
        DecodeOptions options = given;
        options.strips = &strips;
        options.admit = [&](std::uint64_t, std::uint64_t pixels) {
            joined.most_bytes = std::max(joined.most_bytes, pixels);
        };
        joined.image = read_image(path, options);
        return joined;
    }

    /// Expects of strips what the image is when it comes whole.
    void expect_same(const std::string& name, const Bytes& file, const DecodeOptions& options = {}) {
        SCOPED_TRACE(name);
        const Joined joined = join(name, file, 1000, options);
        const Image whole = decode_image(file, name, options);
        ASSERT_GT(joined.strips, 2U);
        EXPECT_TRUE(joined.image.pixels.empty());
        EXPECT_EQ(joined.image.width, static_cast<std::uint64_t>(whole.pixels.cols));
        EXPECT_EQ(joined.image.height, static_cast<std::uint64_t>(whole.pixels.rows));
        ASSERT_EQ(joined.pixels.size(), whole.pixels.size());
        ASSERT_EQ(joined.pixels.type(), whole.pixels.type());
        for (int y = 0; y < whole.pixels.rows; ++y)
            ASSERT_EQ(std::memcmp(joined.pixels.ptr(y), whole.pixels.ptr(y),
                                  static_cast<std::size_t>(whole.pixels.cols) * whole.pixels.elemSize()),
                      0)
                << "row " << y;
        ASSERT_EQ(joined.mask.size(), whole.mask.size());
        EXPECT_TRUE(whole.mask.empty() || cv::norm(joined.mask, whole.mask, cv::NORM_INF) == 0);
        EXPECT_EQ(joined.image.depth, whole.depth);
        EXPECT_EQ(joined.image.samples, whole.samples);
        EXPECT_EQ(joined.image.alpha, whole.alpha);
        EXPECT_EQ(joined.image.white, whole.white);
        EXPECT_EQ(joined.image.pages, whole.pages);
        EXPECT_EQ(joined.image.damage, whole.damage);
    }

    test::TemporaryDirectory directory_;
};

TEST_F(StripsOf, TiffsAreTheImage) {
    for (const int compression : lossless)
        for (const bool planar : {false, true})
            for (const int bits : {8, 16}) {
                Spec spec;
                spec.compression = compression;
                spec.planar = planar;
                if (bits == 16 && compression == COMPRESSION_ADOBE_DEFLATE) spec.predictor = PREDICTOR_HORIZONTAL;
                const std::string name = std::to_string(compression) + (planar ? "p" : "c") + std::to_string(bits);
                expect_same(name + ".tif", write(samples(67, 41, 3, bits), spec));
                spec.tile_width = 32;
                spec.tile_height = 16;
                expect_same(name + "t.tif", write(samples(67, 41, 3, bits), spec));
            }
}

TEST_F(StripsOf, TiffsAreTheImageOnAnyNumberOfThreadsWhichChanges) {
    Spec spec;
    spec.compression = COMPRESSION_ADOBE_DEFLATE;
    spec.tile_width = spec.tile_height = 16;
    const Bytes file = write(samples(407, 401, 3), spec);
    int asked = 0;
    DecodeOptions options;
    options.threads_now = [&] { return std::array{1, 3, 64, 0, 2}[static_cast<std::size_t>(asked++) % 5]; };
    const Joined joined = join("x.tif", file, 40000, options);
    EXPECT_GT(joined.strips, 5U);
    EXPECT_GE(asked, static_cast<int>(joined.strips));
    expect_same("y.tif", file, options);
    EXPECT_EQ(cv::norm(joined.pixels, decode_image(file, "x.tif").pixels, cv::NORM_INF), 0);
}

TEST_F(StripsOf, TiffsOfEveryKindAreTheImage) {
    Spec one;
    one.rows = 67;  // a strip that is not compressed is read in parts
    expect_same("one.tif", write(samples(67, 141, 1, 16), one));
    one.planar = true;
    one.mode = "wb8";
    expect_same("planes.tif", write(samples(67, 41, 5, 16), one));
    Spec spec;
    spec.bits = 12;
    expect_same("bits12.tif", write(samples(67, 141, 1, 12), spec));
    spec = {};
    spec.photometric = PHOTOMETRIC_MINISWHITE;
    expect_same("white.tif", write(samples(67, 141, 1), spec));
    spec = {};
    spec.photometric = PHOTOMETRIC_SEPARATED;
    expect_same("inks.tif", write(samples(67, 41, 4), spec));
    spec = {};
    spec.extra = {EXTRASAMPLE_UNASSALPHA};
    expect_same("alpha.tif", write(samples(67, 41, 4), spec));
    expect_same("gray_alpha.tif", write(samples(67, 41, 2), spec));
    spec = {};
    spec.compression = COMPRESSION_JPEG;
    spec.photometric = PHOTOMETRIC_YCBCR;
    spec.jpeg_mode = JPEGCOLORMODE_RGB;
    spec.rows = 16;
    expect_same("jpeg.tif", write(smooth(67, 48, 3), spec));
    spec = {};
    expect_same("float.tif", write(samples(67, 41, 3, 32, true), spec));
}

TEST_F(StripsOf, MasksOfTiffsAreTheImage) {
    for (const int rows : {1, 5, 16, 200})
        for (const int tile : {0, 16, 48})
            for (const bool beside : {false, true}) {
                tiff_files::Memory memory;
                TIFF* tiff = tiff_files::open(memory, "w");
                Spec spec;
                write_page(tiff, samples(167, 41, 3), spec);
                TIFFWriteDirectory(tiff);
                spec.bits = 1;
                spec.rows = rows;
                spec.tile_width = spec.tile_height = tile;
                spec.compression = rows == 5 ? COMPRESSION_NONE : COMPRESSION_ADOBE_DEFLATE;
                const cv::Mat mask = samples(167, 41, 1, 1);
                spec.fields = [&](TIFF* fields) {
                    if (!beside) TIFFSetField(fields, TIFFTAG_SUBFILETYPE, FILETYPE_MASK);
                };
                if (!beside) write_page(tiff, mask, spec), TIFFWriteDirectory(tiff);
                TIFFClose(tiff);
                const auto path = directory_.path() / "masked.tif.msk";
                std::filesystem::remove(path);
                if (beside) {
                    const Bytes file = write(mask, spec);
                    std::ofstream(path, std::ios::binary)
                        .write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
                }
                const Joined joined = join("masked.tif", memory.bytes);
                ASSERT_GT(joined.strips, 10U);
                ASSERT_EQ(joined.mask.size(), mask.size());
                EXPECT_EQ(cv::norm(joined.mask != 0, mask != 0, cv::NORM_INF), 0);
                const Image whole = read_image(directory_.path() / "masked.tif");
                EXPECT_EQ(cv::norm(whole.mask != 0, mask != 0, cv::NORM_INF), 0);
                if (!beside) expect_same("masked.tif", memory.bytes);
            }
}

TEST_F(StripsOf, AMaskBesideATiffIsOfItsSides) {
    const auto save = [&](const std::string& name, const Bytes& file) {
        std::ofstream(directory_.path() / name, std::ios::binary)
            .write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
    };
    const auto failure = [&](const DecodeOptions& options = {}) -> std::string {
        try {
            read_image(directory_.path() / "x.tif", options);
        } catch (const IoError& error) {
            return error.what();
        }
        return "";
    };
    save("x.tif", write(samples(20, 30, 1)));
    EXPECT_EQ(failure(), "");
    const std::string path = (directory_.path() / "x.tif").string(), start = path + ": its mask " + path + ".msk: ";
    save("x.tif.msk", write(samples(20, 31, 1)));
    EXPECT_EQ(failure(), start + "31 x 20 pixels, and the image has 30 x 20 pixels");
    save("x.tif.msk", Bytes{'n', 'o'});
    EXPECT_EQ(failure(), start + "not a TIFF");
    save("x.tif.msk", write(samples(20, 30, 3)));
    EXPECT_EQ(failure(), start + "a mask of other than one whole number of up to 8 bits per pixel is not supported");
    DecodeOptions without;
    without.masks = false;
    EXPECT_EQ(failure(without), "");
    // Masks are not looked for beside other formats, second pages and files without a path.
    save("x.png", test::encode(".png", samples(20, 30, 1)));
    save("x.png.msk", Bytes{'n', 'o'});
    EXPECT_TRUE(read_image(directory_.path() / "x.png").mask.empty());
    for (const char* name : {"a/b.TIFF", "c.tif", "scan.001", "d"})
        EXPECT_EQ(mask_path_of(name), std::string(name) + ".msk");
    for (const char* name : {"a/b.png", "c.JPG", "d.exr"}) EXPECT_EQ(mask_path_of(name), "");
    save("x.tif", write(std::vector<cv::Mat>(2, samples(20, 30, 1))));
    save("x.tif.msk", write(samples(20, 30, 1)));
    DecodeOptions page;
    page.page = 1;
    EXPECT_FALSE(read_image(directory_.path() / "x.tif", page).mask.empty());
    page.page = 2;
    EXPECT_TRUE(read_image(directory_.path() / "x.tif", page).mask.empty());
}

TEST_F(StripsOf, TiffsThatAreTurnedHaveTheSidesThatAreShown) {
    for (const std::uint16_t orientation : {2, 3, 5, 6, 8}) {
        Spec spec;
        spec.fields = [&](TIFF* tiff) { TIFFSetField(tiff, TIFFTAG_ORIENTATION, orientation); };
        const cv::Mat stored = samples(67, 41, 1);
        const Joined joined = join("turned.tif", write(stored, spec));
        EXPECT_TRUE(std::equal(stored.begin<uchar>(), stored.end<uchar>(), joined.pixels.begin<uchar>()));
        EXPECT_EQ(joined.image.width, orientation < 5 ? 41U : 67U);
        EXPECT_EQ(joined.image.height, orientation < 5 ? 67U : 41U);
    }
}

TEST_F(StripsOf, OtherFormatsAreTheImage) {
    for (const int type : {CV_8UC1, CV_8UC3, CV_16UC1, CV_16UC3}) {
        cv::Mat image(67, 141, type);
        cv::randu(image, 0, image.depth() == CV_8U ? 256 : 65536);
        for (const char* extension : {".png", ".ppm", ".pgm"})
            if ((image.channels() == 3) != (std::string(extension) == ".pgm"))
                expect_same("x" + std::to_string(type) + extension, test::encode(extension, image));
    }
    for (const int channels : {1, 3}) {
        cv::Mat image(67, 141, CV_8UC(channels));
        cv::randu(image, 0, 256);
        expect_same("x.jpg", test::encode(".jpg", image));
    }
    const std::string header = "P7\nWIDTH 50\nHEIGHT 40\nDEPTH 2\nMAXVAL 65535\nTUPLTYPE GRAYSCALE_ALPHA\nENDHDR\n";
    Bytes pam(header.begin(), header.end());
    for (int i = 0; i < 50 * 40 * 4; ++i) pam.push_back(static_cast<unsigned char>(i * 37));
    expect_same("x.pam", pam);
    const std::string bits = "P4 801 60\n";
    Bytes pbm(bits.begin(), bits.end());
    for (int i = 0; i < 101 * 60; ++i) pbm.push_back(static_cast<unsigned char>(i * 73));
    expect_same("x.pbm", pbm);
    // A file that is read through a window, of more than one image.
    const std::string large = "P5 3001 300 65535\n";
    Bytes pgm(large.begin(), large.end());
    for (int i = 0; i < 3001 * 300 * 2; ++i) pgm.push_back(static_cast<unsigned char>(i * 11 + i / 255));
    pgm.insert(pgm.end(), pbm.begin(), pbm.end());
    expect_same("x.pgm", pgm);
}

TEST_F(StripsOf, DamageThatIsAcceptedIsTheImage) {
    DecodeOptions accept;
    accept.on_damaged = OnDamaged::accept;
    cv::Mat image(97, 141, CV_8UC3);
    cv::randu(image, 0, 256);
    Spec spec;
    spec.compression = COMPRESSION_ADOBE_DEFLATE;
    for (const auto& [name, whole] : {std::pair<std::string, Bytes>{"x.tif", write(image, spec)},

                                      {"x.png", test::encode(".png", image)},
                                      {"x.jpg", test::encode(".jpg", image)},
                                      {"x.ppm", test::encode(".ppm", image)}}) {
        Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(whole.size() * 6 / 10));
        if (name == "x.tif") {  // whose directory is at the end
            cut = whole;
            std::fill(cut.begin() + 1500, cut.begin() + 1600, static_cast<unsigned char>(0));
        }
        EXPECT_THROW(join(name, cut), IoError) << name;
        expect_same(name, cut, accept);
    }
}

// Files that are read in pieces, and what is wrong with them: as of their bytes in memory.
TEST_F(StripsOf, FilesReadInPiecesAreThoseInMemory) {
    cv::Mat image(600, 700, CV_8UC3);
    cv::randu(image, 0, 256);
    Bytes text;
    for (const char letter : std::string("P3\n600 200 255\n")) text.push_back(static_cast<unsigned char>(letter));
    for (int i = 0; i < 600 * 200 * 3; ++i)
        for (const char letter : std::to_string(i * 31 % 256) + (i % 600 == 0 ? "\n# a remark\n" : " "))
            text.push_back(static_cast<unsigned char>(letter));
    std::mt19937 random(7);
    for (const auto& [name, whole] : {std::pair<std::string, Bytes>{"x.png", test::encode(".png", image)},
                                      {"x.jpg", test::encode(".jpg", image)},
                                      {"x.ppm", text}}) {
        ASSERT_GT(whole.size(), std::size_t{1} << 18) << name;  // smaller ones are read whole
        for (int damage = 0; damage < 12; ++damage) {
            SCOPED_TRACE(name + ", damage " + std::to_string(damage));
            Bytes file = whole;
            if (damage % 3 == 1) file.resize(file.size() * static_cast<std::size_t>(damage) / 12);
            if (damage % 3 == 2) file[random() % file.size()] ^= 0x11;
            const auto path = directory_.path() / name;
            std::ofstream(path, std::ios::binary)
                .write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
            for (const OnDamaged on_damaged : {OnDamaged::error, OnDamaged::accept}) {
                DecodeOptions options;
                options.on_damaged = on_damaged;
                const auto read = [&](const auto& reader) {
                    std::pair<std::string, cv::Mat> result;
                    try {
                        const Image found = reader();
                        result = {std::to_string(found.pages) + found.cause, found.pixels};
                    } catch (const IoError& error) {
                        result.first = error.what();
                    }
                    return result;
                };
                const auto pieces = read([&] { return read_image(path, options); });
                const auto memory = read([&] { return decode_image(file, path.string(), options); });
                EXPECT_EQ(pieces.first, memory.first);
                ASSERT_EQ(pieces.second.size(), memory.second.size());
                EXPECT_TRUE(std::equal(pieces.second.begin<cv::Vec3b>(), pieces.second.end<cv::Vec3b>(),
                                       memory.second.begin<cv::Vec3b>()));
            }
        }
        if (name != "x.ppm") expect_same(name, whole);  // text comes whole
    }
}

// A claim of more pixels than are allowed is seen in the beginning.
TEST_F(StripsOf, FilesOfTooManyPixelsAreNotRead) {
    for (const char* extension : {".png", ".jpg"}) {
        cv::Mat image(600, 700, CV_8UC3);
        cv::randu(image, 0, 256);
        const Bytes file = test::encode(extension, image);
        const auto path = directory_.path() / (std::string("x") + extension);
        std::ofstream(path, std::ios::binary)
            .write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
        DecodeOptions options;
        options.max_pixels = 1000;
        std::uint64_t admitted = 0;
        options.admit = [&](std::uint64_t bytes, std::uint64_t) { admitted = bytes; };
        EXPECT_THROW(read_image(path, options), IoError);
        EXPECT_EQ(admitted, 0U);
        options.max_pixels = 1 << 20;
        EXPECT_EQ(read_image(path, options).pixels.size(), image.size());
        EXPECT_GT(admitted, 0U);
    }
}

TEST_F(StripsOf, RowsOfAPngBeforeAnEndThatIsMissingAreThere) {
    DecodeOptions accept;
    accept.on_damaged = OnDamaged::accept;
    const Bytes whole = test::encode_png(samples(97, 141, 3), 0);  // nothing is compressed
    for (std::size_t missing = 1; missing < 40; ++missing)
        expect_same("x.png", Bytes(whole.begin(), whole.end() - static_cast<std::ptrdiff_t>(missing)), accept);
}

TEST_F(StripsOf, WhatCannotBeComesWhole) {
    Spec spec;
    spec.compression = COMPRESSION_ADOBE_DEFLATE;
    spec.rows = 67;  // one strip
    const auto comes_whole = [&](const std::string& name, const Bytes& file) {
        const Joined joined = join(name, file);
        EXPECT_EQ(joined.strips, 0U) << name;
        EXPECT_FALSE(joined.image.pixels.empty()) << name;
        EXPECT_EQ(joined.image.width, 0U) << name;
    };
    comes_whole("one.tif", write(samples(67, 41, 3), spec));
    cv::Mat image(67, 41, CV_8UC3, cv::Scalar(1, 2, 3));
    comes_whole("x.webp", test::encode(".webp", image));
    comes_whole("x.bmp", test::encode(".bmp", image));
}

TEST_F(StripsOf, NoMoreIsAskedForThanAStrip) {
    const Bytes file = write(samples(500, 100, 3));
    EXPECT_LE(join("x.tif", file, 10000).most_bytes, 20000U);  // two strips
    EXPECT_GE(join("x.tif", file, 10000).most_bytes, 10000U);
    // Strips of 5 rows: less than these is not decoded.
    Spec spec;
    spec.compression = COMPRESSION_LZW;
    EXPECT_EQ(join("y.tif", write(samples(500, 100, 3), spec), 1).most_bytes, 2U * 5 * 100 * 6);
}

TEST_F(StripsOf, LimitsOfPixelsAreTheirOwn) {
    DecodeOptions options;
    options.max_pixels = 100;
    const Bytes file = write(samples(67, 41, 1));
    EXPECT_THROW(decode_image(file, "x.tif", options), IoError);
    EXPECT_EQ(join("x.tif", file, 1000, options).pixels.rows, 67);
    // What is read in pieces, and says in its end what its strips are.
    EXPECT_EQ(join("large.tif", write(samples(500, 400, 1, 16)), 10000, options).pixels.rows, 500);
    const auto failure = [&](const Bytes& bytes, const std::string& refusal) -> std::string {
        Strips strips;
        strips.strip_bytes = 1000;
        strips.refusal = [&](const StripFacts&) { return refusal; };
        options.strips = &strips;
        try {
            decode_image(bytes, "x.tif", options);
        } catch (const IoError& error) {
            EXPECT_EQ(error.kind(), IoError::Kind::too_large);
            return error.what();
        }
        return "";
    };
    const std::string claim = "x.tif: its header claims 41 x 67 pixels, more than the 100 allowed in one piece (",
                      end = "): raise the limit if you trust the file";
    EXPECT_EQ(failure(file, "it is so"), claim + "it is so" + end);
    Spec spec;
    spec.compression = COMPRESSION_LZW;
    spec.rows = 67;
    EXPECT_EQ(failure(write(samples(67, 41, 1), spec), ""), claim + "its rows are not decoded one by one" + end);
}

TEST_F(StripsOf, TheReceiverKnowsWhetherSamplesAreCompressed) {
    const auto stored = [](const Bytes& file, const std::string& name) {
        Strips strips;
        bool found = false;
        strips.refusal = [](const StripFacts&) { return std::string(); };
        strips.whole_bytes = [&](const StripFacts& facts) {
            found = facts.stored;
            return std::uint64_t{1} << 30;
        };
        DecodeOptions options;
        options.strips = &strips;
        decode_image(file, name, options);
        return found;
    };
    Spec spec;
    spec.compression = COMPRESSION_LZW;
    spec.rows = 8;
    EXPECT_TRUE(stored(write(samples(67, 41, 1)), "x.tif"));
    EXPECT_FALSE(stored(write(samples(67, 41, 1), spec), "x.tif"));
    EXPECT_TRUE(stored(test::encode(".pgm", samples(67, 41, 1)), "x.pgm"));
    EXPECT_FALSE(stored(test::encode(".png", samples(67, 41, 1)), "x.png"));
}

TEST_F(StripsOf, WhatTheReceiverThrowsComesOut) {
    Strips strips;
    strips.refusal = [](const StripFacts&) { return std::string(); };
    strips.strip_bytes = 100;
    strips.take = [](const Image&, std::uint64_t) { throw InvalidArgument("enough"); };
    DecodeOptions options;
    options.strips = &strips;
    EXPECT_THROW(decode_image(write(samples(67, 41, 1)), "x.tif", options), InvalidArgument);
    EXPECT_THROW(decode_image(test::encode(".png", samples(67, 41, 1)), "x.png", options), InvalidArgument);
    EXPECT_THROW(decode_image(test::encode(".jpg", samples(67, 41, 1)), "x.jpg", options), InvalidArgument);
}

}  // namespace
