// Files in: formats, orientation, memory, kinds of failure. Bad files: bad_image_test.cpp.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <limits>
#include <thread>
#include <utility>

#include "gpuhist/io/pinned.hpp"
#include "support/image_files.hpp"

namespace {

using namespace image_files;

TEST_F(ImageFile, LosslessFormatsRoundTrip) {
    struct Case {
        const char* extension;
        std::vector<int> types;
    };
    const std::vector<Case> cases{{".png", {CV_8UC1, CV_8UC3, CV_8UC4, CV_16UC1, CV_16UC3, CV_16UC4}},
                                  {".tiff", {CV_8UC1, CV_8UC3, CV_16UC1, CV_16UC3, CV_16UC4, CV_32FC3}},
                                  {".bmp", {CV_8UC1, CV_8UC3}},
                                  {".ppm", {CV_8UC3, CV_16UC3}},
                                  {".pgm", {CV_8UC1, CV_16UC1}},
                                  {".pam", {CV_8UC1, CV_8UC3, CV_8UC4, CV_16UC1, CV_16UC3}},
                                  {".pfm", {CV_32FC1, CV_32FC3}},
                                  {".ras", {CV_8UC3}},
                                  {".webp", {CV_8UC3, CV_8UC4}},
                                  {".exr", {CV_32FC1, CV_32FC3, CV_32FC4}},
                                  {".jp2", {CV_8UC1, CV_8UC3, CV_16UC3}}};
    for (const auto& [extension, types] : cases)
        for (const int type : types) {
            SCOPED_TRACE(extension + std::string(" ") + cv::typeToString(type));
            const cv::Mat image = picture(37, 53, type);
            EXPECT_TRUE(same(read_image(put("image" + std::string(extension), encode(extension, image))), image));
        }
}

TEST_F(ImageFile, AnImageKnowsItsFormatAndWhatItsNameSays) {
    const Bytes png = encode(".png", picture(3, 2, CV_8UC1));
    const auto facts = [&](const std::string& name) {
        const gpuhist::io::Image image = read_image(put(name, png));
        return image.format + '|' + image.named;
    };
    EXPECT_EQ(facts("a.png"), "a PNG|");
    EXPECT_EQ(facts("a.PNG"), "a PNG|");
    EXPECT_EQ(facts("a.Jpeg"), "a PNG|a JPEG");
    EXPECT_EQ(facts("a.png.tif"), "a PNG|a TIFF");
    EXPECT_EQ(facts("a.dat"), "a PNG|");
    EXPECT_EQ(decode_image(png, "-").named, "");
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
    // Gray with alpha comes as color with alpha.
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

TEST_F(ImageFile, OrientationIsApplied) {
    for (const int type : {CV_8UC1, CV_8UC3}) {
        const Bytes jpeg = encode(".jpg", picture(24, 40, type));
        const cv::Mat stored = decode_image(jpeg, "x");
        for (int orientation = 1; orientation <= 8; ++orientation) {
            SCOPED_TRACE(orientation);
            const fs::path path = put("photo.jpg", with_orientation(jpeg, orientation));
            const cv::Mat image = read_image(path);
            EXPECT_EQ(image.rows, orientation <= 4 ? 24 : 40);
            EXPECT_TRUE(same(image, turned(stored, orientation)));
        }
    }
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

TEST_F(ImageFile, OtherReadersReadWhatIsWritten) {
    for (const int depth : {CV_8U, CV_16U, CV_32F})
        for (const int channels : {1, 3, 4})
            for (const char* name : {"x.png", "x.tiff"}) {
                SCOPED_TRACE(testing::Message() << name << ' ' << depth << ' ' << channels);
                const cv::Mat image = picture(37, 53, CV_MAKETYPE(depth, channels));
                if (depth == CV_32F && std::string(name) == "x.png") {
                    EXPECT_THROW(write_image(directory / name, image), IoError);
                    continue;
                }
                write_image(directory / name, image);
                EXPECT_TRUE(same(read_image(directory / name), image));
                EXPECT_TRUE(same(read_picture(directory / name), image));
            }
    EXPECT_THROW(write_image(directory / "x.jpg", picture(4, 4, CV_8UC3)), IoError);
}

TEST_F(ImageFile, PathsAreBytes) {
    const cv::Mat image = picture(5, 5, CV_8UC3);
    const std::string name = "\xFF\xFEpicture, \"odd\".png";
    write_image(directory / name, image);
    EXPECT_TRUE(same(read_image(directory / name), image));
}

TEST_F(ImageFile, AsksForMemoryBeforeItIsTaken) {
    const cv::Mat image = picture(30, 40, CV_8UC3);
    for (const char* name : {"x.png", "x.jpg", "x.tiff", "x.bmp", "x.ppm"}) {
        const fs::path path = directory / name;
        write_picture(path, image);
        std::vector<std::uint64_t> asked;
        DecodeOptions options;
        options.admit = [&](std::uint64_t bytes, std::uint64_t pixels) { asked.push_back(bytes + pixels); };
        EXPECT_EQ(read_image(path, options).pixels.total(), 1200U);
        ASSERT_EQ(asked.size(), 2U) << name;
        const std::uint64_t file = fs::file_size(path);
        EXPECT_GE(asked[0], file);
        EXPECT_GE(asked[1], file + 3600) << name;
        EXPECT_LE(asked[1], file + 16 * 1200) << name;
        options.admit = [](std::uint64_t, std::uint64_t) { throw std::runtime_error("no"); };
        EXPECT_THROW(read_image(path, options), std::runtime_error);
    }
}

/// Bytes that this process has asked the system to read.
std::uint64_t bytes_read() {
    std::ifstream counts("/proc/self/io");
    std::string word;
    std::uint64_t bytes = 0;
    counts >> word >> bytes;
    return word == "rchar:" ? bytes : 0;
}

TEST_F(ImageFile, TheFirstBytesDecideBeforeTheRestIsRead) {
    const auto expect_refused = [&](const fs::path& path, const std::string& cause) {
        fs::resize_file(path, std::uint64_t{4} << 30);  // no block of which is on the disk
        DecodeOptions options;
        options.admit = [](std::uint64_t, std::uint64_t) { FAIL() << "memory is taken"; };
        const std::uint64_t before = bytes_read();
        try {
            read_image(path, options);
            FAIL() << path;
        } catch (const IoError& error) {
            EXPECT_EQ(error.what(), path.string() + ": " + cause);
        }
        EXPECT_LT(bytes_read() - before, 100'000U);
    };
    expect_refused(put("zeros.png", {}),
                   "not an image of a known format: the file begins with the bytes 00 00 00 00 00 00 00 00; --decoder "
                   "opencv asks OpenCV");
    const std::string large = "P5\n60000 60000\n255\n";
    expect_refused(put("large.pgm", {large.begin(), large.end()}),
                   "its header claims 60000 x 60000 pixels, more than the 1073741824 allowed: raise the limit if you "
                   "trust the file");
}

TEST_F(ImageFile, AFileThatChangesWhileItIsReadIsAnError) {
    const std::string header = "P5\n100 100\n255\n";
    Bytes bytes(header.begin(), header.end());
    bytes.resize(header.size() + 10000, 7);
    const auto failure_at = [&](std::uint64_t size) -> std::string {
        const fs::path path = put("x.pgm", bytes);
        DecodeOptions options;
        options.admit = [&](std::uint64_t, std::uint64_t pixels) {
            if (pixels == 0) fs::resize_file(path, size);
        };
        try {
            read_image(path, options);
        } catch (const IoError& error) {
            return std::string(error.what()).substr(path.string().size());
        }
        return "";
    };
    EXPECT_EQ(failure_at(bytes.size()), "");
    EXPECT_EQ(failure_at(8000), ": shrank while it was read, from 10015 bytes to 8000");
    EXPECT_EQ(failure_at(0), ": shrank while it was read, from 10015 bytes to 4096");
    EXPECT_EQ(failure_at(1 << 20), ": grew while it was read, from 10015 bytes to 10016 or more");
}

TEST_F(ImageFile, PipesAreReadWhereTheyAreAllowed) {
    const fs::path pipe = directory / "pipe", file = directory / "x.png";
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    write_picture(file, picture(100, 100, CV_8UC1));
    const Bytes bytes = gpuhist::io::read_bytes(file);
    const int ends = open(pipe.c_str(), O_RDWR);
    ASSERT_EQ(write(ends, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));

    DecodeOptions options;
    options.max_pipe_bytes = 0;
    const auto failure = [&] {
        try {
            read_image(pipe, options);
        } catch (const IoError& error) {
            return std::string(error.what()).substr(pipe.string().size());
        }
        return std::string();
    };
    EXPECT_EQ(failure(), ": a pipe, not a file");
    EXPECT_THROW(gpuhist::io::read_bytes(pipe), IoError);
    options.max_pipe_bytes = bytes.size() + 1;
    options.while_reading = [end = false]() mutable {
        if (std::exchange(end, true)) throw std::runtime_error("enough of it");  // as the pipe brings no more
    };
    EXPECT_THROW(read_image(pipe, options), std::runtime_error);
    EXPECT_EQ(write(ends, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    options.while_reading = nullptr;
    options.max_pipe_bytes = bytes.size() - 1;
    EXPECT_EQ(failure(), ": more than the " + std::to_string(bytes.size() - 1) +
                             " bytes that are read of standard input or a pipe");
    close(ends);

    const int descriptor = open(file.c_str(), O_RDONLY);
    EXPECT_TRUE(same(read_image(descriptor, "x", DecodeOptions{}), read_image(file)));
    close(descriptor);
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
    write_picture(directory / "x.png", picture(30, 40, CV_8UC1));
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
    std::set<const unsigned char*> places;
    for (const char* name : {"x.png", "x.tiff", "x.bmp", "x.webp", "x.png", "x.tiff"}) {
        const fs::path path = directory / name;
        write_picture(path, picture(30, 40, CV_8UC3));
        const cv::Mat ours = read_image(path, options), plain = read_image(path);
        EXPECT_EQ(ours.type(), plain.type());
        EXPECT_EQ(cv::norm(ours, plain, cv::NORM_INF), 0) << name;
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(ours.data) % 64, 0U);
        places.insert(ours.data);
    }
    EXPECT_LE(places.size(), 2U) << "one piece for the pixels, and one for the inflated rows of a PNG";
}

}  // namespace
