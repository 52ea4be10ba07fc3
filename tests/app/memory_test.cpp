// Memory of runs over large directories: it does not grow with them.
//
// Environment: GPUHIST_PROGRAM, the program.
#include <zlib.h>

#include <cstdio>
#include <opencv2/core.hpp>

#include "support/directory.hpp"

namespace {

using namespace command;
namespace fs = std::filesystem;

TEST_F(Directory, LargeNumbersOfFilesTakeNoMoreMemory) {
    save("tiny.png", make_image(16, 16, CV_8UC3));
    const auto fill = [&](const std::string& name, int from, int to) {
        for (int i = from; i < to; ++i) {  // a file system allows only so many links to one file
            const fs::path directory = at(name) / std::to_string(i / 1000), first = directory / "0.png";
            if (i % 1000 == 0) {
                fs::create_directories(directory);
                fs::copy_file(at("tiny.png"), first);
            } else {
                fs::create_hard_link(first, directory / (std::to_string(i) + ".png"));
            }
        }
    };
    fill("some", 0, 5000);
    fill("many", 0, 60000);
    fill("more", 0, 40000);
    // What is in flight depends on the number of threads, and on their luck.
    const Outcome some = run({"some", "-q", "--write", "stats", "--threads", "2"});
    const Outcome many = run({"many", "more", "-q", "--write", "stats", "--threads", "2"});
    ASSERT_EQ(some.code, all_done) << some.err;
    ASSERT_EQ(many.code, all_done) << many.err;
    std::printf("5,000 files: %.1f MB, 100,000 files: %.1f MB, %.0f files/s\n", some.most_memory * 1e-6,
                many.most_memory * 1e-6, 100000 / many.seconds);
    EXPECT_LT(many.most_memory, some.most_memory + (8 << 20));
    const std::string stats = read_text(at("gpuhist-out/stats.csv"));
    EXPECT_EQ(std::count(stats.begin(), stats.end(), '\n'), 500001);
}

TEST_F(Directory, LargeNumbersOfFloatValuesTakeNoMoreMemory) {
    const auto save_tens = [&](const std::string& name, int tens) {
        for (int i = 0; i < tens; ++i) save_floats(name + "/" + std::to_string(i), 10, CV_32FC3);
    };
    save_tens("some", 8);
    save_tens("many", 32);
    for (const int threads : {1, 2}) {
        const auto measure = [&](const std::string& name, const std::vector<std::string>& options = {}) {
            std::vector<std::string> words{name, "-q", "--write", "stats", "--threads", std::to_string(threads)};
            words.insert(words.end(), options.begin(), options.end());
            const Outcome outcome = run(words);
            EXPECT_EQ(outcome.code, all_done) << outcome.err;
            return outcome.most_memory;
        };
        const auto some = measure("some"), many = measure("many");
        const auto little = measure("many", {"--memory", "1M"});  // of which no pixels are kept for the next image
        std::printf(
            "%d threads, 3.2 million values per channel: %.1f MB, 12.8 million: %.1f MB, with --memory 1M %.1f MB\n",
            threads, some * 1e-6, many * 1e-6, little * 1e-6);
        // How many images are in flight at worst is luck where threads meet: 5 MB each.
        EXPECT_LT(many, some + threads * (16 << 20));
        EXPECT_LT(little, some + threads * (16 << 20));
    }
}

TEST_F(Directory, LargeNumbersOfGroupsTakeNoMoreMemory) {
    for (const int type : {CV_16UC3, CV_32FC3}) {
        cv::Mat image(24, 24, type);
        const auto fill = [&](const std::string& name, int from, int to) {
            for (int i = from; i < to; ++i) {
                cv::randu(image, 0, type == CV_16UC3 ? 65536 : 1);
                save(name + "/" + std::to_string(i) + (type == CV_16UC3 ? "/x.png" : "/x.pfm"), image);
            }
        };
        for (const char* old : {"some", "many", "parts"}) fs::remove_all(at(old));
        fill("some", 0, 50);
        fill("many", 0, 500);
        const auto measure = [&](const std::string& name, const std::vector<std::string>& options = {}) {
            std::vector<std::string> words{name,         "-q",  "--write",  "stats", "--engine",  "cpu",
                                           "--group-by", "dir", "--memory", "200M",  "--threads", "2"};
            words.insert(words.end(), options.begin(), options.end());
            const Outcome outcome = run(words);
            EXPECT_EQ(outcome.code, all_done) << outcome.err;
            return outcome.most_memory;
        };
        const auto some = measure("some"), many = measure("many");
        const auto part = measure("many", {"--shard", "1/1", "--checkpoint", "0.1", "-o", "parts"});
        const Outcome merged = run({"merge", "-q", "parts"});
        EXPECT_EQ(merged.code, all_done) << merged.err;
        std::printf("50 groups: %.1f MB, 500: %.1f MB, as a shard: %.1f MB, merged: %.1f MB\n", some * 1e-6,
                    many * 1e-6, part * 1e-6, merged.most_memory * 1e-6);
        for (const auto most : {many, part, merged.most_memory}) EXPECT_LT(most, some + (96 << 20));  // densely 1 GB
    }
}

TEST_F(Directory, LargeNumbersOfFailuresTakeNoMoreMemory) {
    const auto most_memory = [&](int count) {
        std::ofstream list(at("list"));
        for (int i = 0; i < count; ++i) list << std::string(100, 'x') << "/there is no image " << i << ".png\n";
        list.close();
        fs::remove_all(at("parts"));
        std::array<std::int64_t, 2> most{};  // of the parts, of the merge
        for (const char* part : {"1/2", "2/2"}) {
            const Outcome outcome = run({"--files-from", "list", "-q", "--write", "stats", "--engine", "cpu",
                                         "--threads", "2", "--shard", part, "--checkpoint", "0.1", "-o", "parts"});
            EXPECT_EQ(outcome.code, inputs_failed);
            most[0] = std::max(most[0], outcome.most_memory);
        }
        const Outcome outcome = run({"merge", "-q", "parts"});
        EXPECT_EQ(outcome.code, inputs_failed) << outcome.err;
        most[1] = outcome.most_memory;
        const std::string errors = read_text(at("gpuhist-out/errors.csv"));
        EXPECT_EQ(std::count(errors.begin(), errors.end(), '\n'), count + 1);
        return most;
    };
    const auto some = most_memory(5000), many = most_memory(200000);
    std::printf("5,000 failures: %.1f MB, merged %.1f MB; 200,000: %.1f MB, merged %.1f MB\n", some[0] * 1e-6,
                some[1] * 1e-6, many[0] * 1e-6, many[1] * 1e-6);
    EXPECT_LT(many[0], some[0] + (8 << 20));
    EXPECT_LT(many[1], some[1] + (8 << 20));
}

TEST_F(Directory, ImagesLargerThanTheMemoryAreMeasuredAsOthers) {
    for (const int type : {CV_8UC1, CV_8UC3, CV_16UC1, CV_16UC3}) {
        cv::Mat image(1500, 2100, type);
        cv::randu(image, 0, image.depth() == CV_8U ? 256 : 65536);
        const std::string name = "in/" + std::to_string(type);
        save(name + ".tif", image);
        save(name + ".png", image);
        save(name + (image.channels() == 1 ? ".pgm" : ".ppm"), image);
        if (image.depth() == CV_8U) save(name + ".jpg", image);
    }
    for (const int type : {CV_32FC1, CV_32FC3, CV_32FC4, CV_64FC1}) {
        cv::Mat image(400, 700, type);
        cv::randn(image, cv::Scalar::all(3), cv::Scalar::all(1));
        if (image.depth() == CV_64F) cv::randu(image, 0, 1000);  // of which the tables would be large
        if (image.depth() == CV_64F)
            image.forEach<double>([](double& value, const int*) { value = std::floor(value); });
        save("in/" + std::to_string(type) + ".tif", image);
    }
    const auto all = [&](const std::vector<std::string>& options) {
        std::vector<std::string> words{"in", "-q", "--write", "stats,histogram", "--engine", "cpu", "-o", "out"};
        words.insert(words.end(), options.begin(), options.end());
        fs::remove_all(at("out"));
        const Outcome outcome = run(words);
        EXPECT_EQ(outcome.code, all_done) << outcome.err;
        std::string texts;
        const std::string floats = std::to_string(CV_32FC3) + ".tif.histogram.csv";
        for (const std::string& file :
             Names{"stats.csv", "dataset.csv", "dataset.json", "16.png.histogram.csv", floats})
            texts += read_text(at("out/" + file));
        return std::pair(texts, outcome.most_memory);
    };
    const auto [whole, most] = all({"--threads", "1"});
    const auto [strips, less] = all({"--threads", "1", "--memory", "2M"});
    EXPECT_EQ(strips, whole);
    EXPECT_LT(less, most - (8 << 20)) << most;
}

TEST_F(Directory, FloatsLargerThanTheMemoryAreMeasuredAndDrawnAsOthers) {
    {  // what this process holds counts as the program's
        cv::Mat image(3000, 3000, CV_32FC1);
        cv::randn(image, 0, 1);
        image.at<float>(7, 7) = std::nanf("");
        image.at<float>(8, 8) = 1e9F;  // for which a picture of equal bins would show nothing
        save("x.tif", image);
        save("x.exr", image);  // compressed, and whole
    }
    const auto measure = [&](const std::vector<std::string>& options) {
        std::vector<std::string> words{"x.tif", "--engine", "cpu", "--threads", "2", "--write", "stats,histogram,plot",
                                       "-o",    "out",      "-q"};
        words.insert(words.end(), options.begin(), options.end());
        fs::remove_all(at("out"));
        const Outcome outcome = run(words);
        EXPECT_EQ(outcome.code, all_done) << outcome.err;
        std::string texts = outcome.out;
        for (const char* file : {"stats.csv", "x.tif.histogram.csv", "x.tif.histogram.png"})
            texts += read_text(at(std::string("out/") + file));
        return std::pair(texts, outcome.most_memory);
    };
    const auto [alone, little] = measure({});
    const auto [strips, less] = measure({"--memory", "16M"});
    fs::rename(at("x.exr"), at("x.tif"));
    const auto [whole, most] = measure({});
    EXPECT_EQ(alone, whole);
    EXPECT_EQ(strips, whole);
    std::printf("36 MB of floats: %.1f MB, a single file that is not compressed %.1f MB, in less memory %.1f MB\n",
                most * 1e-6, little * 1e-6, less * 1e-6);
    EXPECT_LT(little, most - (20 << 20));
    EXPECT_LT(less, most - (20 << 20));
}

TEST_F(Directory, ValuesThatTheMemoryDoesNotHoldAreRefused) {
    cv::Mat image(1000, 1000, CV_64FC1);
    cv::randu(image, 0, 1);
    save("x.tif", image);
    const Outcome outcome = run({"x.tif", "--engine", "cpu", "--write", "stats", "--memory", "4M"});
    EXPECT_EQ(outcome.code, inputs_failed);
    EXPECT_NE(outcome.err.find("x.tif: the different values of its f64 samples take more than half of --memory"),
              outcome.err.npos)
        << outcome.err;
    EXPECT_EQ(run({"x.tif", "--engine", "cpu", "--write", "stats", "--memory", "64M"}).code, all_done);
}

TEST_F(Directory, CopiesOfImagesLargerThanTheMemoryAreThoseOfOthers) {
    for (const int type : {CV_8UC3, CV_8UC4, CV_16UC1, CV_16UC3, CV_32FC1, CV_32FC3}) {
        cv::Mat image(500, 700, type);
        cv::randn(image, cv::Scalar::all(100), cv::Scalar::all(20));
        const std::string name = "in/" + std::to_string(type);
        save(name + ".tif", image);
        if (type == CV_8UC4 || type == CV_16UC3) save(name + ".png", image);
        if (type == CV_8UC3) save(name + ".jpg", image);
    }
    cv::Mat image(500, 700, CV_8UC2);
    cv::randu(image, 20, 200);
    save("in/alpha.png", image);
    const auto copies = [&](const std::vector<std::string>& options) {
        std::vector<std::string> words{"in",  "-q", "--write", "stats,normalized", "--engine",
                                       "cpu", "-o", "out",     "--threads",        "1"};
        words.insert(words.end(), options.begin(), options.end());
        fs::remove_all(at("out"));
        const Outcome outcome = run(words);
        EXPECT_EQ(outcome.code, all_done) << outcome.err;
        std::map<std::string, std::string> files;
        for (const auto& entry : fs::directory_iterator(at("out")))
            if (entry.is_regular_file()) files[entry.path().filename()] = read_text(entry.path());
        return files;
    };
    for (const Names& options :
         {Names{"--normalize", "percentile", "--channels", "separate"}, Names{"--normalize", "equalize"},
          Names{"--normalize", "zscore"}, Names{"--normalize", "minmax", "--depth", "u8"},
          Names{"--normalize", "minmax", "--link", "dataset", "--include", "16.*"},
          Names{"--normalize", "minmax", "--size", "100"}}) {
        SCOPED_TRACE(options[1] + (options.size() > 2 ? options[2] : ""));
        const auto whole = copies(options);
        Names little = options;
        little.insert(little.end(), {"--memory", "1M"});
        const auto strips = copies(little);
        EXPECT_GE(whole.size(), 6U);
        ASSERT_EQ(strips.size(), whole.size());
        for (const auto& [name, bytes] : whole) {
            if (name == ".gpuhist") continue;  // names of files in the order in which they were written
            EXPECT_TRUE(strips.count(name) == 1 && strips.at(name) == bytes) << name;
        }
    }
}

TEST_F(Directory, LargeCopiesTakeNoMoreMemoryThanIsAllowed) {
    {  // what this process holds counts as the program's
        cv::Mat image(2000, 3000, CV_16UC3);
        cv::randu(image, 100, 60000);
        save("x.tif", image);
    }
    const auto measure = [&](const std::string& output, const std::vector<std::string>& options) {
        std::vector<std::string> words{"x.tif",       "-q",         "--engine", "cpu",     "--threads",
                                       "2",           "--format",   "csv",      "--write", "stats,normalized",
                                       "--normalize", "percentile", "-o",       output};
        words.insert(words.end(), options.begin(), options.end());
        const Outcome outcome = run(words);
        EXPECT_EQ(outcome.code, all_done) << outcome.err;
        return outcome.most_memory;
    };
    const auto most = measure("whole", {}), less = measure("strips", {"--memory", "16M"});
    EXPECT_TRUE(read_text(at("strips/x.tif.normalized.png")) == read_text(at("whole/x.tif.normalized.png")));
    std::printf("36 MB of u16 and a copy: %.1f MB, in strips %.1f MB\n", most * 1e-6, less * 1e-6);
    EXPECT_LT(less, 40 << 20);
    EXPECT_GT(most, 72 << 20);
}

/// Appends a number of `bytes` bytes, the lowest first.
void append(std::string& text, std::uint64_t number, int bytes) {
    for (int i = 0; i < bytes; ++i) text += static_cast<char>(number >> 8 * i & 255);
}

/// Writes a BigTIFF of u16, 60,000 x 60,000, of strips of 16 rows: those given, in turn. Without any it is one strip,
/// of which nothing is written.
void write_large(const fs::path& path, const std::vector<std::vector<unsigned char>>& strips) {
    constexpr std::uint64_t side = 60000, rows = 16, first = 16, entries = 9;
    const std::uint64_t count = strips.empty() ? 1 : side / rows;
    const std::uint64_t lists = first + 8 + entries * 20 + 8, data = lists + 16 * count;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> places;
    std::uint64_t end = data;
    for (const auto& strip : strips) {
        places.emplace_back(end, strip.size());
        end += strip.size();
    }
    if (strips.empty()) places.emplace_back(data, side * side * 2);
    std::string text("II\x2B\0\x08\0\0\0", 8);
    append(text, first, 8);
    append(text, entries, 8);
    const auto field = [&](std::uint64_t tag, std::uint64_t type, std::uint64_t values, std::uint64_t value) {
        append(text, tag, 2);
        append(text, type, 2);
        append(text, values, 8);
        append(text, value, 8);
    };
    constexpr std::uint64_t shorts = 3, longs = 4, wide = 16, deflate = 8, none = 1;
    field(256, longs, 1, side);
    field(257, longs, 1, side);
    field(258, shorts, 1, 16);
    field(259, shorts, 1, strips.empty() ? none : deflate);
    field(262, shorts, 1, 1);
    field(273, wide, count, count == 1 ? places[0].first : lists);
    field(277, shorts, 1, 1);
    field(278, longs, 1, strips.empty() ? side : rows);
    field(279, wide, count, count == 1 ? places[0].second : lists + 8 * count);
    append(text, 0, 8);
    for (std::uint64_t i = 0; i < count; ++i) append(text, places[i % places.size()].first, 8);
    for (std::uint64_t i = 0; i < count; ++i) append(text, places[i % places.size()].second, 8);
    std::ofstream file(path, std::ios::binary);
    file << text;
    for (const auto& strip : strips)
        file.write(reinterpret_cast<const char*>(strip.data()), static_cast<std::streamsize>(strip.size()));
    file.close();
    if (strips.empty()) fs::resize_file(path, data + side * side * 2);
}

TEST_F(Directory, LargeImagesTakeNoMoreMemoryThanIsAllowed) {
    constexpr int side = 60000, rows = 16, different = 25;
    write_large(at("holes.tif"), {});
    cv::Mat noise(different * rows, side, CV_16UC1);
    cv::randu(noise, 0, 65536);
    std::vector<std::vector<unsigned char>> strips;
    for (int i = 0; i < different; ++i) {
        uLongf size = compressBound(side * rows * 2);
        strips.emplace_back(size);
        ASSERT_EQ(compress2(strips.back().data(), &size, noise.ptr(i * rows), side * rows * 2, 1), Z_OK);
        strips.back().resize(size);
    }
    write_large(at("noise.tif"), strips);
    save("part.tif", noise);  // the noise of a strip each once
    const auto measure = [&](const std::string& name) {
        const Outcome outcome = run({name, "--format", "csv", "-q", "--write", "none", "--memory", "512M"});
        EXPECT_EQ(outcome.code, all_done) << outcome.err;
        std::printf("%s: %.1f s, %.1f MB\n", name.c_str(), outcome.seconds, outcome.most_memory * 1e-6);
        EXPECT_LT(outcome.most_memory, 400 << 20);
        return table(outcome.out).at(0);
    };
    const auto holes = measure("holes.tif");
    EXPECT_EQ(holes.at("pixels"), "3600000000");
    for (const char* column : {"min", "max", "mean", "std", "median"}) EXPECT_EQ(holes.at(column), "0") << column;
    const auto large = measure("noise.tif"), part = measure("part.tif");
    EXPECT_EQ(large.at("pixels"), "3600000000");
    EXPECT_EQ(large.at("width"), "60000");
    for (const char* column : {"min", "max", "mean", "std", "unique", "entropy", "median"})
        EXPECT_EQ(large.at(column), part.at(column)) << column;
}

TEST_F(Directory, WhatIsNotCopiedInStripsSaysWhy) {
    write_large(at("x.tif"), {});
    const auto failure = [&](const std::vector<std::string>& options) {
        std::vector<std::string> words{"x.tif", "-q", "--engine", "cpu", "--memory", "64M"};
        words.insert(words.end(), options.begin(), options.end());
        const Outcome outcome = run(words);
        EXPECT_EQ(outcome.code, inputs_failed);
        return outcome.err;
    };
    const std::string err = failure({"--normalize", "minmax", "--size", "100"});
    EXPECT_NE(err.find("60000 x 60000 pixels, more than the 1073741824 allowed in one piece (its normalized copy "
                       "must be shrunk)"),
              err.npos)
        << err;
}

}  // namespace
