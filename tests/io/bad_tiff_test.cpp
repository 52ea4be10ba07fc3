// TIFF: damage, claims that the file cannot hold, and variants that are not read. What is refused, and how it is said.
#include "support/image_files.hpp"
#include "support/tiff_files.hpp"

namespace {

using namespace image_files;
using namespace tiff_files;
using gpuhist::io::Damage;
using gpuhist::io::Image;

#define EXPECT_SAYS(bytes, part) EXPECT_TRUE(contains(failure(bytes), part))

TEST_F(Tiff, DamageIsNamedByStripOrTile) {
    for (const int compression : lossless) {
        SCOPED_TRACE(compression);
        // Bytes that zstd keeps as they are it does not check.
        const bool own_end =
            compression != COMPRESSION_NONE && compression != COMPRESSION_LZW && compression != COMPRESSION_ZSTD;
        for (const bool tiled : {false, true}) {
            Spec spec;
            spec.compression = compression;
            spec.rows = 16;
            if (tiled) spec.tile_width = 64, spec.tile_height = 16;
            const cv::Mat array = smooth(64, 64, 3);
            const Bytes file = write(array, spec);
            const auto place = place_of(file, 1);
            const std::string where = tiled ? "the TIFF's tile 2 of 4: " : "the TIFF's strip 2 of 4: ";
            // The strip says that it is shorter than it is.
            tiff_files::Memory memory{file};
            TIFF* tiff = tiff_files::open(memory, "r+");
            Bytes part(file.begin() + static_cast<std::ptrdiff_t>(place.offset),
                       file.begin() + static_cast<std::ptrdiff_t>(place.offset + place.length * 6 / 10));
            const auto size = static_cast<tmsize_t>(part.size());
            ASSERT_EQ(
                tiled ? TIFFWriteRawTile(tiff, 1, part.data(), size) : TIFFWriteRawStrip(tiff, 1, part.data(), size),
                size);
            TIFFClose(tiff);
            EXPECT_SAYS(memory.bytes, "some.file: damaged: " + where);
            // Accepted: the strips that are sound, and of the others what there is.
            const Image accepted = read(memory.bytes, OnDamaged::accept);
            EXPECT_EQ(accepted.damage, Damage::damaged);
            EXPECT_TRUE(contains(accepted.cause, where));
            EXPECT_TRUE(same(accepted.pixels.rowRange(0, 16), bgr(array).rowRange(0, 16)));
            EXPECT_TRUE(same(accepted.pixels.rowRange(32, 64), bgr(array).rowRange(32, 64)));
            EXPECT_FALSE(same(accepted.pixels.rowRange(16, 32), bgr(array).rowRange(16, 32)));
            EXPECT_EQ(cv::countNonZero(accepted.pixels.row(31).reshape(1)), 0);
            if (own_end) {
                Bytes changed = file;
                std::fill_n(changed.begin() + static_cast<std::ptrdiff_t>(place.offset + place.length / 2), 64, 0);
                EXPECT_SAYS(changed, "some.file: damaged: " + where);
            }
        }
    }
}

TEST_F(Tiff, WhatEndsEarlyMayBeAccepted) {
    const cv::Mat array = smooth(64, 64, 3);
    for (const int compression : {COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE, COMPRESSION_ZSTD, COMPRESSION_LZMA}) {
        Spec spec;
        spec.compression = compression;
        spec.rows = 64;
        const Bytes file = write(array, spec);
        // All data are there, but the strip claims more than the file has.
        const Bytes claims = with_value(file, TIFFTAG_STRIPBYTECOUNTS, static_cast<std::uint32_t>(file.size()));
        EXPECT_SAYS(claims, "some.file: truncated: the TIFF ends before its strip 1 of 1");
        const Image image = read(claims, OnDamaged::accept);
        EXPECT_EQ(image.damage, Damage::truncated);
        EXPECT_TRUE(same(image, bgr(array))) << compression;
        // None are there.
        const Bytes outside = with_value(file, TIFFTAG_STRIPOFFSETS, static_cast<std::uint32_t>(file.size()));
        EXPECT_SAYS(outside, "some.file: truncated: the TIFF ends before its strip 1 of 1");
        EXPECT_EQ(cv::countNonZero(read(outside, OnDamaged::accept).pixels.reshape(1)), 0);
    }
}

TEST_F(Tiff, AChecksumIsHeeded) {
    Spec spec;
    spec.compression = COMPRESSION_ADOBE_DEFLATE;
    spec.rows = 16;
    Bytes file = write(smooth(64, 64, 3), spec);
    const auto place = place_of(file, 3);
    file[place.offset + place.length - 1] ^= 1;
    EXPECT_SAYS(file, "strip 4 of 4: zlib: incorrect data check");
}

TEST_F(Tiff, SeededDamageIsRefused) {
    const cv::Mat array = smooth(96, 128, 3);
    for (const int compression : checked) {
        Spec spec;
        spec.compression = compression;
        spec.rows = 32;
        const Bytes file = write(array, spec);
        std::size_t begin = file.size(), end = 0;
        for (std::uint32_t i = 0; i < 3; ++i) {
            const auto place = place_of(file, i);
            begin = std::min(begin, place.offset);
            end = std::max(end, place.offset + place.length);
        }
        const cv::Mat expected = bgr(array);
        cv::RNG random(9);
        int changed = 0, refused = 0;
        for (int i = 0; i < 200; ++i) {
            Bytes bad = file;
            const int size = i % 2 ? 64 : 1;
            const auto at =
                static_cast<std::ptrdiff_t>(begin) + random.uniform(0, static_cast<int>(end - begin) - size);
            if (size == 1)
                bad[static_cast<std::size_t>(at)] ^= static_cast<unsigned char>(1 << random.uniform(0, 8));
            else
                std::fill_n(bad.begin() + at, size, 0);
            try {
                changed += !same(read(bad), expected);
            } catch (const IoError&) {
                ++changed;
                ++refused;
            }
        }
        EXPECT_GT(changed, 150) << compression;
        // PackBits and zstd (as libtiff writes it) have no checksum: of a byte that they keep as it is nobody can tell.
        const bool checksum = compression == COMPRESSION_ADOBE_DEFLATE || compression == COMPRESSION_LZMA;
        EXPECT_GE(refused, checksum ? changed : 1) << compression;
    }
}

TEST_F(Tiff, WhatIsNotReadIsNamed) {
    const cv::Mat array = samples(21, 37, 3);
    Spec spec;
    const auto with = [&](unsigned tag, std::uint32_t value) { return with_value(write(array, spec), tag, value); };
    for (const int lab : {PHOTOMETRIC_CIELAB, PHOTOMETRIC_ICCLAB, PHOTOMETRIC_ITULAB})
        EXPECT_SAYS(with(TIFFTAG_PHOTOMETRIC, static_cast<std::uint32_t>(lab)), "Lab");
    EXPECT_SAYS(with(TIFFTAG_PHOTOMETRIC, 60000), "the photometric interpretation 60000 is not supported");
    EXPECT_SAYS(with(TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_PALETTE), "a palette and further samples");
    EXPECT_SAYS(with(TIFFTAG_COMPRESSION, 50013), "the compression 50013 is not supported");
    EXPECT_SAYS(with(TIFFTAG_COMPRESSION, COMPRESSION_OJPEG), "old-style JPEG (6)");
    EXPECT_SAYS(with(TIFFTAG_COMPRESSION, COMPRESSION_JP2000), "JPEG 2000 (34712)");
    spec.compression = COMPRESSION_LZW;
    spec.predictor = PREDICTOR_HORIZONTAL;
    EXPECT_SAYS(with(TIFFTAG_PREDICTOR, 7), "the predictor 7");
    EXPECT_SAYS(with(TIFFTAG_COMPRESSION, COMPRESSION_PACKBITS), "the predictor 2 and the compression PackBits");
    spec = {};
    spec.rows = 21;
    EXPECT_SAYS(with(TIFFTAG_STRIPOFFSETS, 0), "the TIFF's 0 bytes of strips or tiles cannot hold");
    spec.rows = 7;
    EXPECT_SAYS(sparse(
                    write(array, spec), [](std::uint32_t strip) { return strip != 1; }, false),
                "damaged: the TIFF's strip 2 of 3 has no bytes");
    spec.rows = 21;
    EXPECT_SAYS(with(TIFFTAG_ROWSPERSTRIP, 0), "damaged: the TIFF has no strips or tiles of any size");
    EXPECT_SAYS(with(TIFFTAG_ROWSPERSTRIP, 7), "damaged: the TIFF has 1 strips");
    EXPECT_SAYS(with(TIFFTAG_PLANARCONFIG, 3), "damaged: the TIFF has the planar configuration 3");
    EXPECT_SAYS(with(TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MASK), "a transparency mask");
    spec.photometric = PHOTOMETRIC_SEPARATED;
    EXPECT_SAYS(write(samples(9, 9, 4, 32, true), spec), "CMYK of 32 bits");
    spec.photometric = PHOTOMETRIC_PALETTE;
    EXPECT_SAYS(write(samples(9, 9, 1), spec), "damaged: the TIFF has a color map of 0 values, not 768");
}

TEST_F(Tiff, LosslessJpegIsNoDamage) {
    Spec spec;
    spec.compression = COMPRESSION_JPEG;
    spec.rows = 16;
    for (const bool tiled : {false, true}) {
        if (tiled) spec.tile_width = spec.tile_height = 16;
        for (const auto& [frame, name] : {std::pair(0xC3, "lossless"), {0xC7, "lossless"}, {0xC5, "hierarchical"}}) {
            Bytes file = write(smooth(45, 70, 1), spec);
            const std::uint32_t pieces = tiled ? 15 : 3;
            for (std::uint32_t i = 0; i < pieces; ++i) {
                const auto place = place_of(file, i);
                for (std::size_t at = place.offset; at + 1 < place.offset + place.length; ++at)
                    if (file[at] == 0xFF && file[at + 1] == 0xC0) file[at + 1] = static_cast<unsigned char>(frame);
            }
            try {
                read(file);
                FAIL() << frame;
            } catch (const gpuhist::IoError& error) {
                EXPECT_EQ(error.kind(), gpuhist::IoError::Kind::unsupported);
                EXPECT_EQ(error.what(), std::string("some.file: ") + name + " JPEG in a TIFF is not supported");
            }
        }
    }
}

TEST_F(Tiff, VolumesAreNoDamage) {
    for (const int field : {TIFFTAG_IMAGEDEPTH, TIFFTAG_TILEDEPTH}) {
        Spec spec;
        spec.fields = [&](TIFF* tiff) { TIFFSetField(tiff, field, 3); };
        EXPECT_SAYS(write(samples(20, 20, 1), spec),
                    "some.file: a volume of 3 planes behind one directory (ImageDepth, TileDepth) is not supported");
    }
}

TEST_F(Tiff, ClaimsBeyondTheFileAreRefused) {
    for (const int compression : lossless) {
        SCOPED_TRACE(compression);
        Spec spec;
        spec.compression = compression;
        spec.rows = 16;
        const Bytes small = write(smooth(16, 16, 1), spec);
        Bytes file = with_value(small, TIFFTAG_IMAGEWIDTH, 32767);
        file = with_value(with_value(file, TIFFTAG_IMAGELENGTH, 32767), TIFFTAG_ROWSPERSTRIP, 32767);
        const bool unbounded = compression == COMPRESSION_ZSTD || compression == COMPRESSION_LZMA;
        EXPECT_SAYS(file, unbounded ? "damaged: the TIFF's strip 1 of 1" : "cannot hold the 32767 x 32767 pixels");
        if (compression == COMPRESSION_NONE) {
            DecodeOptions accept;
            accept.on_damaged = OnDamaged::accept;
            EXPECT_TRUE(contains(failure(file, accept), "that its header claims"));
        }
    }
}

TEST_F(Tiff, NothingIsPrinted) {
    const cv::Mat array = smooth(64, 64, 3);
    testing::internal::CaptureStderr();
    for (const int compression : {COMPRESSION_LZW, COMPRESSION_JPEG, COMPRESSION_ADOBE_DEFLATE}) {
        Spec spec;
        spec.compression = compression;
        spec.rows = 16;
        Bytes file = write(array, spec);
        const auto place = place_of(file, 2);
        std::fill_n(file.begin() + static_cast<std::ptrdiff_t>(place.offset + 20), place.length - 20, 0);
        EXPECT_SAYS(file, "damaged: the TIFF's strip 3 of 4: ");
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
