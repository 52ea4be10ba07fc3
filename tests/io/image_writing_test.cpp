// Files out: whole or not at all.
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <opencv2/core.hpp>
#include <thread>

#include "support/image_files.hpp"
#include "support/repetitions.hpp"

namespace {

using namespace image_files;

TEST_F(ImageFile, WritingReplacesAndLeavesNothingBehind) {
    const fs::path path = directory / "result.csv";
    write_file(path, std::string("first, and longer"));
    write_file(path, std::string("second"));
    const Bytes bytes = gpuhist::io::read_bytes(path);
    EXPECT_EQ(std::string(bytes.begin(), bytes.end()), "second");
    EXPECT_EQ(names(), std::vector<std::string>{"result.csv"});

    // A name as long as the file system takes.
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

TEST_F(ImageFile, GrayWithAlphaAndBandsAreReadAsTheyWereWritten) {
    using gpuhist::Samples;
    for (const int depth : {CV_8U, CV_16U, CV_32F}) {
        cv::Mat pixels = picture(37, 53, CV_MAKETYPE(depth, 4));
        cv::Mat pairs = pixels.clone();
        for (int place : {1, 2}) cv::mixChannels(pixels, pairs, std::vector<int>{0, place});
        const auto expect = [&](const char* name, const cv::Mat& image, Samples samples) {
            SCOPED_TRACE(testing::Message() << name << ' ' << depth << ' ' << image.channels());
            write_image(directory / name, image, samples);
            const gpuhist::io::Image read = read_image(directory / name);
            EXPECT_EQ(read.samples, samples);
            EXPECT_TRUE(same(read, image));
        };
        if (depth != CV_32F) expect("pair.png", pairs, Samples::gray_alpha);
        expect("pair.tiff", pairs, Samples::gray_alpha);
        expect("three.tiff", picture(37, 53, CV_MAKETYPE(depth, 3)), Samples::bands);
        if (depth != CV_32F) expect("four.tiff", pixels, Samples::bands);
        if (depth != CV_32F) expect("colors.tiff", pixels, Samples::color_bands);
    }
    EXPECT_THROW(write_image(directory / "x.png", picture(4, 4, CV_8UC3), Samples::bands), IoError);
}

TEST_F(ImageFile, RowsOneAfterTheOtherMakeTheFileOfTheWhole) {
    using gpuhist::Samples;
    const auto expect = [&](const char* name, const cv::Mat& image, Samples samples) {
        SCOPED_TRACE(testing::Message() << name << ' ' << cv::typeToString(image.type()));
        const fs::path path = directory / name;
        gpuhist::io::NewFile file(path);
        {
            const auto encoder = gpuhist::io::encode_rows(file, image.size(), image.type(), samples);
            for (int y = 0, rows = 1; y < image.rows; y += rows, rows = rows % 7 + 1)
                encoder->add(image.rowRange(y, std::min(y + rows, image.rows)));
            encoder->finish();
        }
        const std::uint64_t bytes = file.bytes();
        file.replace();
        EXPECT_EQ(bytes, fs::file_size(path));
        EXPECT_EQ(gpuhist::io::read_bytes(path), gpuhist::io::encode_image(path, image, samples));
        EXPECT_TRUE(same(read_image(path), image));
    };
    for (const int depth : {CV_8U, CV_16U, CV_32F})
        for (const int channels : {1, 3, 4}) {
            const cv::Mat image = picture(301, 53, CV_MAKETYPE(depth, channels));
            if (depth != CV_32F) expect("x.png", image, Samples::color);
            expect("x.tiff", image, Samples::color);
        }
    expect("bands.tiff", picture(37, 53, CV_16UC(5)), Samples::bands);
}

// The disk is full amid the image: the cause is told, and nothing is left.
TEST_F(ImageFile, APngDependsOnPixelsAndLevelAlone) {
    using gpuhist::Samples;
    for (const int type : {CV_8UC1, CV_8UC3, CV_8UC4, CV_16UC1, CV_16UC3, CV_16UC4})
        for (const Samples samples : {Samples::color, Samples::gray_alpha}) {
            if ((samples == Samples::gray_alpha && CV_MAT_CN(type) != 4) || gpuhist::test::left_out()) continue;
            cv::Mat pixels = picture(1203, 701, type);  // several blocks
            if (samples == Samples::gray_alpha)
                for (int place : {1, 2}) cv::mixChannels(pixels.clone(), pixels, std::vector<int>{0, place});
            std::vector<std::size_t> sizes;
            for (const int level : {0, 1, 6}) {
                SCOPED_TRACE(testing::Message() << "type " << type << ", level " << level);
                gpuhist::io::EncodeOptions options;
                options.png_level = level;
                const Bytes bytes = gpuhist::io::encode_image("x.png", pixels, samples, std::nullopt, options);
                sizes.push_back(bytes.size());
                const gpuhist::io::Image read = gpuhist::io::decode_image(bytes, "x.png");
                EXPECT_TRUE(same(read.pixels, pixels));
                EXPECT_EQ(read.samples, samples);
                for (const int threads : {2, 3, 16}) {
                    options.threads = threads;
                    EXPECT_TRUE(bytes == gpuhist::io::encode_image("x.png", pixels, samples, std::nullopt, options));
                    gpuhist::io::NewFile file(directory / "rows.png");
                    const auto encoder =
                        gpuhist::io::encode_rows(file, pixels.size(), type, samples, std::nullopt, options);
                    for (int y = 0, rows = 1; y < pixels.rows; y += rows, rows = 1 + rows * 3 % 211)
                        encoder->add(pixels.rowRange(y, std::min(pixels.rows, y + rows)));
                    encoder->finish();
                    file.replace();
                    EXPECT_TRUE(bytes == gpuhist::io::read_bytes(directory / "rows.png")) << threads << " threads";
                }
            }
            EXPECT_GT(sizes[0], sizes[1]);
            EXPECT_GT(sizes[1], sizes[2]);
        }
}

TEST_F(ImageFile, AnEncoderThatCannotWriteSaysSo) {
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    rlimit limit = before;
    limit.rlim_cur = 200000;
    cv::Mat image(600, 600, CV_16UC3);
    cv::randu(image, 0, 65536);
    for (const char* name : {"x.png", "x.tiff"}) {
        std::string message;
        ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
        try {
            gpuhist::io::NewFile file(directory / name);
            const auto encoder = gpuhist::io::encode_rows(file, image.size(), image.type());
            encoder->add(image);
            encoder->finish();
        } catch (const IoError& error) {
            message = error.what();
        }
        ::setrlimit(RLIMIT_FSIZE, &before);
        EXPECT_TRUE(contains(message, std::string(name) + ": cannot be written: File too large")) << message;
    }
    std::signal(SIGXFSZ, handler);
    EXPECT_TRUE(names().empty());
}

}  // namespace
