// Pages of files: which there are, and what is in each, held against the arrays they were made of.
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <thread>

#include "gpuhist/io/pages.hpp"
#include "support/codecs.hpp"
#include "support/temporary_directory.hpp"
#include "support/tiff_files.hpp"

using namespace gpuhist;
using namespace gpuhist::io;
using tiff_files::bgr;
using tiff_files::Bytes;
using tiff_files::samples;
using tiff_files::Spec;

namespace {

Image page_of(const Bytes& bytes, std::uint64_t page, OnDamaged on_damaged = OnDamaged::error) {
    DecodeOptions options;
    options.page = page;
    options.on_damaged = on_damaged;
    return decode_image(bytes, "x", options);
}

std::string failure(const Bytes& bytes, std::uint64_t page) {
    try {
        page_of(bytes, page);
    } catch (const IoError& error) {
        return error.what();
    }
    return {};
}

bool equal(const cv::Mat& a, const cv::Mat& b) {
    return a.size() == b.size() && a.type() == b.type() && cv::norm(a, b, cv::NORM_INF) == 0;
}

/// Directory of a stack: what it holds, and what NewSubfileType says of it.
struct Directory {
    cv::Mat array;
    int kind = 0;
    int compression = COMPRESSION_NONE;
    int tile = 0;
};

Bytes write_stack(const std::vector<Directory>& directories, const std::string& mode, int sub_directories = 0) {
    tiff_files::Memory memory;
    TIFF* tiff = tiff_files::open(memory, mode);
    for (const Directory& directory : directories) {
        Spec spec;
        spec.compression = directory.compression;
        spec.tile_width = spec.tile_height = directory.tile;
        spec.fields = [&](TIFF* fields) {
            if (directory.kind) TIFFSetField(fields, TIFFTAG_SUBFILETYPE, directory.kind);
            std::vector<toff_t> places(static_cast<std::size_t>(sub_directories), 0);
            if (sub_directories) TIFFSetField(fields, TIFFTAG_SUBIFD, sub_directories, places.data());
        };
        tiff_files::write_page(tiff, directory.array, spec);
        TIFFWriteDirectory(tiff);
        if (const int many = sub_directories; many > 0) {  // libtiff puts the next ones below it
            spec.fields = {};
            for (int i = 0; i < many; ++i) {
                tiff_files::write_page(tiff, samples(7, 5, 1), spec);
                TIFFWriteDirectory(tiff);
            }
        }
    }
    TIFFClose(tiff);
    return memory.bytes;
}

class Pages : public tiff_files::Tiff {
  protected:
    std::filesystem::path save(const std::string& name, const Bytes& bytes) const {
        const auto path = directory_.path() / name;
        std::ofstream(path, std::ios::binary)
            .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
        return path;
    }
    test::TemporaryDirectory directory_;
};

TEST_F(Pages, OfATiffAreItsDirectoriesWithoutOverviewsThumbnailsMasksAndSubIfds) {
    const std::vector<Directory> directories{{samples(21, 37, 3), 0, COMPRESSION_LZW},
                                             {samples(10, 18, 3), FILETYPE_REDUCEDIMAGE},
                                             {samples(33, 16, 1, 16), FILETYPE_PAGE, COMPRESSION_ADOBE_DEFLATE, 16},
                                             {samples(33, 16, 1), FILETYPE_MASK},
                                             {samples(12, 9, 1, 32, true), 0, COMPRESSION_LZW},
                                             {samples(5, 5, 1), FILETYPE_REDUCEDIMAGE | FILETYPE_PAGE},
                                             {samples(40, 40, 3, 16), FILETYPE_PAGE}};
    for (const char* mode : {"wl", "wb", "wl8", "wb8"})
        for (const int sub_directories : {0, 2}) {
            const Bytes file = write_stack(directories, mode, sub_directories);
            const auto path = save("stack.tif", file);
            for (const auto& found : {probe_pages(file, "x"), probe_pages(path)}) {
                EXPECT_EQ(found->format, "a TIFF");
                EXPECT_FALSE(found->rest);
                ASSERT_EQ(found->pages.size(), 4U) << mode;
                std::uint64_t page = 0;
                for (const std::size_t i : {0U, 2U, 4U, 6U}) {
                    const cv::Mat array = directories[i].array;
                    const PageFacts& facts = found->pages[page++];
                    EXPECT_EQ(facts.width, static_cast<std::uint64_t>(array.cols));
                    EXPECT_EQ(facts.height, static_cast<std::uint64_t>(array.rows));
                    EXPECT_EQ(facts.samples, static_cast<std::uint64_t>(array.channels()));
                    EXPECT_EQ(facts.depth, depth_of(array.depth()));
                    EXPECT_EQ(facts.problem, "");
                    DecodeOptions options;
                    options.page = page;
                    if (found->bytes > 0) options.pages = found;
                    for (const Image& image : {decode_image(file, "x", options), read_image(path, options)}) {
                        EXPECT_TRUE(equal(image.pixels, array.channels() == 3 ? bgr(array) : array))
                            << mode << ' ' << page;
                        EXPECT_EQ(image.page, page);
                        EXPECT_EQ(image.pages, 4U);
                    }
                }
            }
            EXPECT_EQ(read_image(path).pages, 4U);
            EXPECT_EQ(failure(file, 5), "x#5: there is no page 5: the file has 4 pages");
        }
}

TEST_F(Pages, TheFirstIsNoThumbnail) {
    const cv::Mat main = samples(21, 37, 1);
    const Bytes file = write_stack({{samples(4, 4, 1), FILETYPE_REDUCEDIMAGE}, {main}}, "w");
    EXPECT_TRUE(equal(decode_image(file, "x").pixels, main));
    EXPECT_TRUE(equal(page_of(file, 1).pixels, main));
    EXPECT_EQ(decode_image(file, "x").pages, 1U);
    // Where there are thumbnails alone, the first is measured.
    const Bytes alone = write_stack({{main, FILETYPE_REDUCEDIMAGE}, {samples(4, 4, 1), FILETYPE_REDUCEDIMAGE}}, "w");
    EXPECT_TRUE(equal(decode_image(alone, "x").pixels, main));
    EXPECT_EQ(probe_pages(alone, "x")->pages.size(), 1U);
}

/// File of a first directory with SubIFDs. `kinds`: of the directory, and of those below it.
Bytes write_below(const cv::Mat& first, int kind, const std::vector<std::pair<cv::Mat, int>>& below,
                  const std::string& mode) {
    tiff_files::Memory memory;
    TIFF* tiff = tiff_files::open(memory, mode);
    const auto add = [&](const cv::Mat& array, int of, std::size_t sub_directories) {
        Spec spec;
        spec.fields = [&](TIFF* fields) {
            if (of) TIFFSetField(fields, TIFFTAG_SUBFILETYPE, of);
            std::vector<toff_t> places(sub_directories, 0);
            if (sub_directories) TIFFSetField(fields, TIFFTAG_SUBIFD, static_cast<int>(sub_directories), places.data());
        };
        tiff_files::write_page(tiff, array, spec);
        TIFFWriteDirectory(tiff);
    };
    add(first, kind, below.size());
    for (const auto& [array, of] : below) add(array, of, 0);
    TIFFClose(tiff);
    return memory.bytes;
}

TEST_F(Pages, APictureBelowAThumbnailIsThePage) {
    const cv::Mat thumbnail = samples(8, 6, 3), preview = samples(20, 15, 3), picture = samples(64, 48, 1, 16),
                  another = samples(60, 50, 3);
    for (const char* mode : {"wl", "wb", "wl8", "wb8"})
        for (const int kind : {FILETYPE_REDUCEDIMAGE, 0}) {
            SCOPED_TRACE(testing::Message() << mode << ' ' << kind);
            const Bytes file =
                write_below(thumbnail, kind, {{preview, FILETYPE_REDUCEDIMAGE}, {picture, 0}, {another, 0}}, mode);
            EXPECT_EQ(decode_image(file, "x").pages, 2U);
            EXPECT_TRUE(equal(decode_image(file, "x").pixels, picture));
            EXPECT_TRUE(equal(page_of(file, 1).pixels, picture));
            EXPECT_TRUE(equal(page_of(file, 2).pixels, bgr(another)));
            EXPECT_EQ(probe_pages(file, "x")->pages[0].width, 48U);
        }
    // Smaller ones are a pyramid's; previews are no picture.
    EXPECT_TRUE(equal(decode_image(write_below(picture, 0, {{preview, 0}, {thumbnail, 0}}, "w"), "x").pixels, picture));
    EXPECT_TRUE(
        equal(decode_image(write_below(thumbnail, FILETYPE_REDUCEDIMAGE, {{preview, FILETYPE_REDUCEDIMAGE}}, "w"), "x")
                  .pixels,
              bgr(thumbnail)));
    // The picture's directory is not there.
    Bytes cut = write_below(thumbnail, FILETYPE_REDUCEDIMAGE, {{picture, 0}}, "wl");
    const auto place = static_cast<std::ptrdiff_t>(probe_pages(cut, "x")->pages[0].place);
    cut.resize(static_cast<std::size_t>(place) + 1);
    EXPECT_EQ(failure(cut, 1), "x#1: truncated: the TIFF ends before its directory");
}

TEST_F(Pages, AStackBehindOneDirectoryHasOnePerPlane) {
    std::vector<cv::Mat> planes;
    for (int i = 0; i < 4; ++i) planes.push_back(samples(40, 30, 1, 16) / (i + 1));
    // Files that are built by hand: header, directory, planes.
    const auto built = [&](const std::string& words, bool metamorph, std::size_t there, unsigned strips) {
        Bytes file{'I', 'I', 42, 0, 8, 0, 0, 0};
        const auto number = [&](std::uint32_t value, int bytes) {
            for (int i = 0; i < bytes; ++i) file.push_back(static_cast<unsigned char>(value >> 8 * i));
        };
        const unsigned fields = metamorph ? 9 : 8, plane = 40 * 30 * 2;
        const std::uint32_t behind = 8 + 2 + 12 * fields + 4, text = static_cast<std::uint32_t>(words.size()) + 1,
                            offsets = behind + (text + 1) / 2 * 2, lengths = offsets + 4 * strips,
                            uic = lengths + 4 * strips, data = uic + (metamorph ? 32 : 0);
        number(fields, 2);
        const auto field = [&](std::uint32_t tag, std::uint32_t type, std::uint32_t count, std::uint32_t value) {
            number(tag, 2), number(type, 2), number(count, 4), number(value, 4);
        };
        field(256, 4, 1, 30), field(257, 4, 1, 40), field(258, 3, 1, 16), field(262, 3, 1, 1);
        field(270, 2, text, behind), field(273, 4, strips, strips == 1 ? data : offsets);
        field(278, 4, 1, 40 / strips), field(279, 4, strips, strips == 1 ? plane : lengths);
        if (metamorph) field(33629, 5, 4, uic);
        number(0, 4);
        for (const char letter : words) number(static_cast<unsigned char>(letter), 1);
        while (file.size() < offsets) number(0, 1);
        for (unsigned i = 0; i < strips; ++i) number(data + i * (plane / strips), 4);
        for (unsigned i = 0; i < strips; ++i) number(plane / strips, 4);
        while (file.size() < data) number(0, 1);
        for (const cv::Mat& one : planes) file.insert(file.end(), one.data, one.data + plane);
        file.resize(data + there);
        return file;
    };
    constexpr std::size_t all = 4 * 40 * 30 * 2;
    const std::string imagej = "ImageJ=1.53t\nimages=4\nslices=4\n",
                      shaped = R"({"shape": [4, 40, 30], "truncated": true})";
    for (const unsigned strips : {1U, 5U})
        for (const Bytes& file :
             {built(imagej, false, all, strips), built(shaped, false, all, strips), built("", true, all, strips)}) {
            EXPECT_EQ(decode_image(file, "x").pages, 4U);
            EXPECT_TRUE(equal(decode_image(file, "x").pixels, planes[0]));
            const auto path = save("stack.tif", file);
            const auto found = probe_pages(path);
            ASSERT_EQ(found->pages.size(), 4U);
            EXPECT_FALSE(found->rest);
            for (std::size_t i = 0; i < 4; ++i) {
                EXPECT_TRUE(equal(page_of(file, i + 1).pixels, planes[i])) << i;
                DecodeOptions options;
                options.page = i + 1;
                options.pages = found;
                EXPECT_TRUE(equal(read_image(path, options).pixels, planes[i])) << i;
            }
        }
    // The file ends within the third plane. A text that is older than the file says nothing.
    const Bytes cut = built(imagej, false, all / 4 * 2 + 100, 1);
    EXPECT_TRUE(equal(page_of(cut, 2).pixels, planes[1]));
    EXPECT_EQ(failure(cut, 3), "x#3: truncated: the TIFF ends before image 3 of the 4 behind its directory");
    EXPECT_EQ(decode_image(built(imagej, false, all / 4, 1), "x").pages, 1U);
    EXPECT_EQ(decode_image(built(R"({"shape": [4, 40, 30]})", false, all, 1), "x").pages, 1U);
    EXPECT_EQ(decode_image(built("ImageJ=1.53t\nimages=1\n", false, all, 1), "x").pages, 1U);
}

TEST_F(Pages, DamageOfOneIsNotThatOfOthers) {
    const std::vector<Directory> directories{{samples(20, 20, 1), 0, COMPRESSION_ADOBE_DEFLATE},
                                             {samples(30, 30, 1), 0, COMPRESSION_ADOBE_DEFLATE},
                                             {samples(40, 40, 1, 16)}};
    Bytes file = write_stack(directories, "w");
    const Bytes second = write_stack({directories[0]}, "w");  // as long as what lies before it
    for (std::size_t i = second.size() + 40; i < second.size() + 60; ++i) file[i] ^= 0x55;
    EXPECT_TRUE(equal(page_of(file, 1).pixels, directories[0].array));
    EXPECT_NE(failure(file, 2).find("x#2: damaged: the TIFF's strip"), std::string::npos) << failure(file, 2);
    EXPECT_TRUE(equal(page_of(file, 3).pixels, directories[2].array));
    EXPECT_EQ(page_of(file, 2, OnDamaged::accept).damage, Damage::damaged);

    // The file ends behind the second page: the third is not found, and may not be the last.
    const auto found = probe_pages(write_stack(directories, "w"), "x");
    Bytes cut = write_stack(directories, "w");
    cut.resize(found->pages[2].place + 1);
    ASSERT_EQ(probe_pages(cut, "x")->pages.size(), 2U);
    EXPECT_TRUE(equal(page_of(cut, 2).pixels, directories[1].array));
    EXPECT_EQ(failure(cut, 3), "x#3: truncated: the TIFF ends before its directory 3");
}

TEST_F(Pages, LoopsEnd) {
    const std::vector<Directory> directories{{samples(20, 20, 1)}, {samples(30, 30, 1)}};
    Bytes file = write_stack(directories, "w");
    const auto found = probe_pages(file, "x");
    const std::size_t last = found->pages[1].place, next = last + 2 + 12 * (file[last] | file[last + 1] << 8);
    for (std::size_t i = 0; i < 4; ++i) file[next + i] = static_cast<unsigned char>(found->pages[0].place >> 8 * i);
    EXPECT_EQ(decode_image(file, "x").pages, 2U);
    EXPECT_TRUE(equal(page_of(file, 2).pixels, directories[1].array));
    EXPECT_EQ(failure(file, 3), "x#3: damaged: the TIFF's directories form a loop, or overlap");
}

TEST_F(Pages, LoopsOfEveryLengthEndBehindTheLastNewDirectory) {
    const auto append = [](Bytes& file, std::uint64_t number, int bytes) {
        for (int i = 0; i < bytes; ++i) file.push_back(static_cast<unsigned char>(number >> 8 * i));
    };
    constexpr std::uint64_t directory_bytes = 2 + 2 * 12 + 4, first = 8;
    for (std::uint64_t count = 1; count <= 20; ++count)
        for (std::uint64_t back = 0; back < count; ++back) {
            Bytes file{'I', 'I', 42, 0};
            append(file, first, 4);
            for (std::uint64_t i = 0; i < count; ++i) {
                append(file, 2, 2);
                for (const std::uint64_t tag : {TIFFTAG_IMAGEWIDTH, TIFFTAG_IMAGELENGTH}) {
                    append(file, tag, 2);
                    append(file, TIFF_LONG, 2);
                    append(file, 1, 4);
                    append(file, i + 1, 4);
                }
                append(file, first + (i + 1 < count ? i + 1 : back) * directory_bytes, 4);
            }
            const auto found = probe_pages(file, "x");
            ASSERT_EQ(found->pages.size(), count) << back;
            for (std::uint64_t i = 0; i < count; ++i) EXPECT_EQ(found->pages[i].width, i + 1);
            ASSERT_TRUE(found->rest);
            EXPECT_EQ(std::string(found->rest->what()), "x: damaged: the TIFF's directories form a loop, or overlap");
        }
}

TEST_F(Pages, AMaskOfALaterPageIsNotThatOfTheFirst) {
    const cv::Mat mask = samples(8, 8, 1) > 99;
    for (const bool alike : {false, true}) {
        const cv::Mat second = alike ? samples(8, 8, 1) : samples(9, 9, 1);
        const Bytes file = write_stack({{samples(8, 8, 1)}, {second}, {mask, FILETYPE_MASK}}, "w");
        EXPECT_EQ(decode_image(file, "x").pages, 2U);
        EXPECT_EQ(decode_image(file, "x").mask.empty(), alike);
        EXPECT_EQ(page_of(file, 1).mask.empty(), alike);
        EXPECT_EQ(page_of(file, 2).mask.empty(), !alike);
    }
}

TEST_F(Pages, TheirListTakesNoMoreMemoryThanItMay) {
    const std::string one = "P5 2 1 255\nyz";
    std::string many;
    for (int i = 0; i < 1000; ++i) many += one;
    std::vector<Directory> directories(1000, {samples(1, 2, 1)});
    for (const Bytes& file : {Bytes(many.begin(), many.end()), write_stack(directories, "w")}) {
        EXPECT_EQ(probe_pages(file, "x")->pages.size(), 1000U);
        EXPECT_FALSE(probe_pages(file, "x")->rest);
        EXPECT_EQ(decode_image(file, "x").pages, 1000U);
        DecodeOptions options;
        options.most_page_bytes = 100 * sizeof(PageFacts);
        options.pages = probe_pages(file, "x", options.most_page_bytes);
        const std::size_t count = options.pages->pages.size();
        EXPECT_GE(count, 20U);
        EXPECT_LE(count, 100U);
        ASSERT_TRUE(options.pages->rest);
        EXPECT_EQ(options.pages->rest->kind(), IoError::Kind::memory);
        options.page = count;
        EXPECT_EQ(decode_image(file, "x", options).pixels.cols, 2);
        ++options.page;
        try {
            decode_image(file, "x", options);
            ADD_FAILURE();
        } catch (const IoError& error) {
            EXPECT_EQ(error.what(), "x#" + std::to_string(count + 1) + ": it has more than " + std::to_string(count) +
                                        " pages, and there is no memory to list the others");
        }
    }
}

TEST_F(Pages, SidesAreShownBeforeThereIsMemoryForPixels) {
    const std::string pnm = "P5 40 30 255\n" + std::string(1200, 'x');
    const Bytes stack = write_stack({{samples(30, 40, 1)}, {samples(30, 40, 1)}}, "w");
    for (const Bytes& file : {Bytes(pnm.begin(), pnm.end()), stack})
        for (const std::uint64_t page : {0U, 1U, 2U}) {
            if (page == 2 && file.size() == pnm.size()) continue;
            DecodeOptions options;
            options.page = page;
            std::uint64_t asked = 0;
            options.admit = [&](std::uint64_t, std::uint64_t pixels) { asked += pixels; };
            options.sides = [](std::uint64_t width, std::uint64_t height) {
                throw IoError(std::to_string(width) + " by " + std::to_string(height));
            };
            for (const bool of_file : {false, true}) try {
                    of_file ? read_image(save("some.file", file), options) : decode_image(file, "x", options);
                    ADD_FAILURE();
                } catch (const IoError& error) {
                    EXPECT_EQ(std::string(error.what()), "40 by 30");
                }
            EXPECT_EQ(asked, 0U);
        }
}

TEST_F(Pages, NoMoreIsReadThanAPageTakes) {
    std::vector<Directory> directories;
    for (int i = 0; i < 400; ++i) {
        directories.push_back({cv::Mat(64, 64, CV_16UC1), FILETYPE_PAGE, i % 2 ? COMPRESSION_LZW : COMPRESSION_NONE});
        cv::RNG(static_cast<std::uint64_t>(i)).fill(directories.back().array, cv::RNG::UNIFORM, 0, 65536);
    }
    const auto path = save("stack.tif", write_stack(directories, "w"));
    const auto bytes_read = [] {
        std::ifstream file("/proc/self/io");
        std::string word;
        std::uint64_t bytes = 0;
        file >> word >> bytes;
        return bytes;
    };
    DecodeOptions options;
    options.pages = probe_pages(path);
    ASSERT_EQ(options.pages->pages.size(), 400U);
    std::atomic<int> wrong{0};
    const std::uint64_t before = bytes_read();
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t)
        threads.emplace_back([&, t] {
            DecodeOptions own = options;
            for (std::size_t i = static_cast<std::size_t>(t); i < 400; i += 3) {
                own.page = i + 1;
                wrong += !equal(read_image(path, own).pixels, directories[i].array);
            }
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_LT(bytes_read() - before, 400U * 100000);  // the file has 4 MB, which 400 times are 1.6 GB

    options.page = 1;
    std::ofstream(path, std::ios::app) << "more";
    try {
        read_image(path, options);
        FAIL();
    } catch (const IoError& error) {
        EXPECT_EQ(error.what(), path.string() + "#1: was changed after its pages were found");
    }
}

TEST_F(Pages, OfANetpbmFileFollowEachOther) {
    const std::string text =
        "P5 2 1 255\nabP6 1 1 65535\n\1\2\3\4\5\6P7\nWIDTH 1\nHEIGHT 1\nDEPTH 2\nMAXVAL 9\n"
        "TUPLTYPE GRAYSCALE_ALPHA\nENDHDR\n\7\3P5 1 1 255\nz";
    const Bytes file(text.begin(), text.end());
    const auto path = save("x.pnm", file);
    DecodeOptions options;
    const auto page = [&](std::uint64_t number) {
        options.page = number;
        const Image image = read_image(path, options);
        EXPECT_EQ(image.pages, 4U);
        EXPECT_TRUE(equal(image.pixels, page_of(file, number).pixels));
        return image;
    };
    EXPECT_TRUE(equal(page(1).pixels, (cv::Mat_<uchar>(1, 2) << 'a', 'b')));
    EXPECT_EQ(page(2).pixels.at<cv::Vec3w>(0), cv::Vec3w(0x0506, 0x0304, 0x0102));
    EXPECT_EQ(page(3).pixels.at<cv::Vec4b>(0), cv::Vec4b(7, 7, 7, 3));
    EXPECT_EQ(page(3).white, 9);
    EXPECT_EQ(page(4).pixels.at<uchar>(0), 'z');
    EXPECT_EQ(failure(file, 5), "x#5: there is no page 5: the file has 4 pages");
}

TEST_F(Pages, OfANetpbmFileEndWhereAHeaderDoes) {
    const std::string one = "P5 1 1 255\nz", pam = "P7\nWIDTH 11\nHEIGHT 8\nDEPTH 3\nMAXVAL 255\n";
    for (const std::string& text : {std::string("P7\n"), pam, std::string("P5 1"), std::string("P5 0 3 255\nabc")}) {
        EXPECT_EQ(probe_pages(Bytes(text.begin(), text.end()), "x")->pages.size(), 1U) << text;
        const std::string after = one + text;
        EXPECT_EQ(probe_pages(Bytes(after.begin(), after.end()), "x")->pages.size(), 1U) << text;
    }
    const Bytes file(pam.begin(), pam.end());
    EXPECT_EQ(failure(file, 1), "x#1: truncated: the file ends inside its header");
}

TEST_F(Pages, AFormatWithoutPagesHasOne) {
    const Bytes jpeg = test::encode(".jpg", cv::Mat(8, 8, CV_8UC1, cv::Scalar(7)));
    EXPECT_EQ(page_of(jpeg, 1).pixels.at<uchar>(0), 7);
    EXPECT_EQ(failure(jpeg, 2), "x#2: there is no page 2: the file has 1 page");
    const auto found = probe_pages(jpeg, "x");
    EXPECT_EQ(found->format, "a JPEG");
    EXPECT_EQ(found->pages.size(), 1U);
    EXPECT_THROW(probe_pages(Bytes{1, 2, 3}, "x"), IoError);
    EXPECT_THROW(probe_pages(directory_.path()), IoError);
}

void append_number(Bytes& bytes, std::uint32_t value, int count = 4, bool big = true) {
    for (int i = 0; i < count; ++i) bytes.push_back(static_cast<unsigned char>(value >> 8 * (big ? count - 1 - i : i)));
}

/// CIPA DC-007: an entry of 16 bytes per picture, whose place counts from behind the name of the data.
TEST_F(Pages, PicturesOfAnMpo) {
    const auto jpeg = [](int value) { return test::encode(".jpg", cv::Mat(8, 16, CV_8UC1, cv::Scalar(value))); };
    const Bytes first = jpeg(10), preview = jpeg(20), second = jpeg(30);
    Bytes data{'M', 'M', 0, 42, 0, 0, 0, 8, 0, 2};
    for (const unsigned word : {0xB0010004U, 1U, 4U, 0xB0020007U, 64U, 38U, 0U}) append_number(data, word, 4, true);
    const std::uint64_t size = 4 + 4 + 38 + 64;          // of the segment: marker, length and name before what counts
    const std::uint64_t end = size + first.size() - 10;  // behind the first marker and eight bytes of the segment
    const std::uint64_t entries[][3]{{0x20030000, size + first.size(), 0},
                                     {0x00010001, preview.size(), end},
                                     {0x00020002, second.size(), end + preview.size()},
                                     {0x00020002, second.size() + 1, end + preview.size()}};  // past the end
    for (const auto& [attribute, length, place] : entries)
        for (const std::uint64_t word : {attribute, length, place, std::uint64_t{0}})
            append_number(data, static_cast<unsigned>(word), 4, true);
    ASSERT_EQ(data.size() + 8, size);
    Bytes file(first.begin(), first.begin() + 2);
    file.insert(file.end(), {0xFF, 0xE2, 0, static_cast<unsigned char>(size - 2), 'M', 'P', 'F', 0});
    file.insert(file.end(), data.begin(), data.end());
    file.insert(file.end(), first.begin() + 2, first.end());
    file.insert(file.end(), preview.begin(), preview.end());
    file.insert(file.end(), second.begin(), second.end());
    EXPECT_EQ(page_of(file, 1).pixels.at<uchar>(0), 10);
    const Image image = page_of(file, 2);
    EXPECT_EQ(image.pixels.size(), cv::Size(16, 8));
    EXPECT_EQ(image.pixels.at<uchar>(0), 30);
    EXPECT_EQ(image.pages, 3U);
    EXPECT_NE(failure(file, 3).find("outside of the file"), std::string::npos) << failure(file, 3);
    EXPECT_EQ(failure(file, 4), "x#4: there is no page 4: the file has 3 pages");
    const auto path = save("two.mpo", file);
    const auto found = probe_pages(path);
    ASSERT_EQ(found->pages.size(), 3U);
    DecodeOptions options;
    options.page = 2;
    EXPECT_EQ(read_image(path, options).pixels.at<uchar>(0), 30);
}

// --------------------------------------------------------------------------------------------------- animations

Bytes numbers(std::initializer_list<std::uint32_t> values) {
    Bytes bytes;
    for (const std::uint32_t value : values) append_number(bytes, value);
    return bytes;
}

void append_chunk(Bytes& png, const std::string& type, const Bytes& data) {
    append_number(png, static_cast<std::uint32_t>(data.size()));
    const std::size_t start = png.size();
    png.insert(png.end(), type.begin(), type.end());
    png.insert(png.end(), data.begin(), data.end());
    append_number(png, static_cast<std::uint32_t>(crc32(0, png.data() + start, static_cast<uInt>(png.size() - start))));
}

/// zlib stream of a picture's rows, each without a filter.
Bytes deflated(const cv::Mat& rgba) {
    Bytes rows;
    for (int y = 0; y < rgba.rows; ++y) {
        rows.push_back(0);
        for (std::size_t i = 0; i < rgba.cols * rgba.elemSize() / rgba.elemSize1(); ++i) {
            if (rgba.depth() == CV_8U)
                rows.push_back(rgba.ptr<uchar>(y)[i]);
            else
                append_number(rows, rgba.ptr<ushort>(y)[i], 2);
        }
    }
    Bytes stream(compressBound(rows.size()));
    uLongf size = stream.size();
    compress2(stream.data(), &size, rows.data(), rows.size(), 6);
    stream.resize(size);
    return stream;
}

struct Frame {
    cv::Mat rgba;
    unsigned x = 0, y = 0;
    unsigned char dispose = 0, blend = 0;
};

/// APNG of 4 samples per pixel. `hidden`: a first picture that is no frame.
Bytes apng(const cv::Size& size, const std::vector<Frame>& frames, const cv::Mat& hidden = {}) {
    Bytes png{0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
    Bytes header = numbers({static_cast<unsigned>(size.width), static_cast<unsigned>(size.height)});
    const auto bits = static_cast<unsigned char>(8 * frames.front().rgba.elemSize1());
    header.insert(header.end(), {bits, 6, 0, 0, 0});
    append_chunk(png, "IHDR", header);
    append_chunk(png, "acTL", numbers({static_cast<unsigned>(frames.size()), 0}));
    if (!hidden.empty()) append_chunk(png, "IDAT", deflated(hidden));
    unsigned sequence = 0;
    for (const Frame& frame : frames) {
        Bytes control = numbers({sequence++, static_cast<unsigned>(frame.rgba.cols),
                                 static_cast<unsigned>(frame.rgba.rows), frame.x, frame.y, 0x0001000A});
        control.insert(control.end(), {frame.dispose, frame.blend});
        append_chunk(png, "fcTL", control);
        const Bytes stream = deflated(frame.rgba);
        if (sequence == 1 && hidden.empty()) {
            append_chunk(png, "IDAT", stream);
            continue;
        }
        Bytes data = numbers({sequence++});
        data.insert(data.end(), stream.begin(), stream.end());
        append_chunk(png, "fdAT", data);
    }
    append_chunk(png, "IEND", {});
    return png;
}

constexpr unsigned char dispose_background = 1, dispose_previous = 2, blend_over = 1;

/// Pixels of a page, row by row, as red, green, blue, alpha.
template <class Pixel>
std::vector<Pixel> rgba_of(const Image& image) {
    std::vector<Pixel> pixels(image.pixels.begin<Pixel>(), image.pixels.end<Pixel>());
    for (Pixel& pixel : pixels) std::swap(pixel[0], pixel[2]);
    return pixels;
}

using Four = std::vector<cv::Vec4b>;

TEST_F(Pages, FramesOfAPngAreComposed) {
    const cv::Vec4b red(255, 0, 0, 255), green(0, 255, 0, 255), blue(0, 0, 255, 255), nothing(0, 0, 0, 0),
        half(100, 200, 0, 128);
    const auto filled = [](int rows, int columns, const cv::Vec4b& color) {
        return cv::Mat(rows, columns, CV_8UC4, cv::Scalar(color));
    };
    const Bytes file = apng({3, 1}, {{filled(1, 3, red)},
                                     {filled(1, 1, green), 1, 0, dispose_background},
                                     {filled(1, 1, blue), 2, 0, dispose_previous},
                                     {filled(1, 2, half), 1, 0, 0, blend_over},
                                     {filled(1, 1, nothing), 0, 0, 0, blend_over},
                                     {filled(1, 1, nothing), 0, 0}});
    const auto page = [&](std::uint64_t number) { return rgba_of<cv::Vec4b>(page_of(file, number)); };
    EXPECT_EQ(page(1), (Four{red, red, red}));
    EXPECT_EQ(page(2), (Four{red, green, red}));
    EXPECT_EQ(page(3), (Four{red, nothing, blue}));
    // Over red: (100 · 128 + 255 · 127) / 255 = 177.2, 200 · 128 / 255 = 100.4; over nothing as it is.
    EXPECT_EQ(page(4), (Four{red, half, {177, 100, 0, 255}}));
    EXPECT_EQ(page(5), page(4));
    EXPECT_EQ(page(6), (Four{nothing, half, {177, 100, 0, 255}}));
    EXPECT_EQ(page_of(file, 6).pages, 6U);
    EXPECT_EQ(page_of(file, 6).alpha, Alpha::straight);
    EXPECT_EQ(rgba_of<cv::Vec4b>(decode_image(file, "x")), page(1));
    EXPECT_EQ(failure(file, 7), "x#7: there is no page 7: the file has 6 pages");

    // In any order, and by several threads, from one file.
    const auto path = save("x.png", file);
    DecodeOptions options;
    options.pages = probe_pages(path);
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (int t = 0; t < 3; ++t)
        threads.emplace_back([&, t] {
            DecodeOptions own = options;
            for (const std::uint64_t number : {3, 1, 6, 2, 5, 4, 1 + t}) {
                own.page = number;
                wrong += rgba_of<cv::Vec4b>(read_image(path, own)) != page(number);
            }
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
}

TEST_F(Pages, FramesOfAPngMayLeaveTheFirstPictureOut) {
    cv::Mat hidden(2, 2, CV_16UC4, cv::Scalar(1, 2, 3, 65535)), part(1, 1, CV_16UC4, cv::Scalar(10, 20, 30, 40));
    const Bytes file = apng({2, 2}, {{part, 1, 1}, {part, 0, 0, 0, blend_over}}, hidden);
    EXPECT_EQ(rgba_of<cv::Vec4w>(decode_image(file, "x")).front(), cv::Vec4w(1, 2, 3, 65535));
    EXPECT_EQ(decode_image(file, "x").pages, 2U);
    const cv::Vec4w some(10, 20, 30, 40), none;
    EXPECT_EQ(rgba_of<cv::Vec4w>(page_of(file, 1)), (std::vector<cv::Vec4w>{none, none, none, some}));
    EXPECT_EQ(rgba_of<cv::Vec4w>(page_of(file, 2)), (std::vector<cv::Vec4w>{some, none, none, some}));
}

TEST_F(Pages, FramesOverADamagedOneAreErrors) {
    const cv::Mat whole(4, 4, CV_8UC4, cv::Scalar(9, 9, 9, 255)), part(1, 1, CV_8UC4, cv::Scalar(5, 5, 5, 255));
    Bytes file = apng({4, 4}, {{whole}, {part}, {part, 1, 1}, {whole}, {part, 2, 2}});
    const std::string fdat = "fdAT";
    const auto at = std::search(file.begin(), file.end(), fdat.begin(), fdat.end());
    at[10] ^= 1;
    EXPECT_EQ(failure(file, 1), "");
    EXPECT_NE(failure(file, 2).find("x#2: damaged: the checksum of the PNG's fdAT chunk"), std::string::npos)
        << failure(file, 2);
    EXPECT_EQ(failure(file, 3), "x#3: damaged: the PNG's frame 2, over which it is composed, is damaged");
    EXPECT_EQ(failure(file, 4), "");
    EXPECT_EQ(failure(file, 5), "");
    EXPECT_EQ(page_of(file, 3, OnDamaged::accept).damage, Damage::damaged);

    Bytes cut = apng({4, 4}, {{whole}, {part}, {part, 1, 1}});
    cut.resize(cut.size() - 12 - 12 - 4);  // in the data of the last
    EXPECT_EQ(failure(cut, 2), "");
    EXPECT_NE(failure(cut, 3).find("x#3: truncated: "), std::string::npos) << failure(cut, 3);
}

/// Animated WebP of lossless frames, as libwebp encodes them alone.
Bytes webp(const cv::Size& size, const std::vector<Frame>& frames, bool alpha) {
    Bytes body{'W', 'E', 'B', 'P', 'V', 'P', '8', 'X', 10, 0, 0, 0, static_cast<unsigned char>(alpha ? 18 : 2),
               0,   0,   0};
    append_number(body, static_cast<unsigned>(size.width - 1), 3, false);
    append_number(body, static_cast<unsigned>(size.height - 1), 3, false);
    body.insert(body.end(), {'A', 'N', 'I', 'M', 6, 0, 0, 0, 1, 2, 3, 4, 0, 0});
    for (const Frame& frame : frames) {
        const cv::Mat color = frame.rgba.clone();
        const Bytes alone =
            test::encode(".webp", alpha ? tiff_files::bgr(color) : tiff_files::channels_of(color, {2, 1, 0}));
        const std::string name = "VP8L";
        const auto data = std::search(alone.begin(), alone.end(), name.begin(), name.end());
        Bytes payload;
        append_number(payload, frame.x / 2, 3, false);
        append_number(payload, frame.y / 2, 3, false);
        append_number(payload, static_cast<unsigned>(color.cols - 1), 3, false);
        append_number(payload, static_cast<unsigned>(color.rows - 1), 3, false);
        append_number(payload, 100, 3, false);
        payload.push_back(static_cast<unsigned char>(frame.dispose | (frame.blend == blend_over ? 0 : 2)));
        payload.insert(payload.end(), data, alone.end());
        body.insert(body.end(), {'A', 'N', 'M', 'F'});
        append_number(body, static_cast<unsigned>(payload.size()), 4, false);
        body.insert(body.end(), payload.begin(), payload.end());
    }
    Bytes file{'R', 'I', 'F', 'F'};
    append_number(file, static_cast<unsigned>(body.size()), 4, false);
    file.insert(file.end(), body.begin(), body.end());
    return file;
}

TEST_F(Pages, FramesOfAWebpAreComposed) {
    const auto filled = [](int rows, int columns, const cv::Vec4b& color) {
        return cv::Mat(rows, columns, CV_8UC4, cv::Scalar(color));
    };
    const cv::Vec4b red(255, 0, 0, 255), green(0, 255, 0, 255), blue(0, 0, 255, 255), nothing(0, 0, 0, 0),
        half(10, 20, 30, 100);
    const Bytes file = webp({4, 2},
                            {{filled(2, 2, half), 2, 0, dispose_background},
                             {filled(2, 2, red), 0, 0},
                             {filled(2, 4, green), 0, 0, 0, blend_over},
                             {filled(2, 2, nothing), 2, 0},
                             {filled(2, 2, blue), 2, 0, 0, blend_over}},
                            true);
    const auto top_row = [&](std::uint64_t number) {
        auto pixels = rgba_of<cv::Vec4b>(page_of(file, number));
        EXPECT_TRUE(std::equal(pixels.begin(), pixels.begin() + 4, pixels.begin() + 4));
        pixels.resize(4);
        for (cv::Vec4b& pixel : pixels)
            if (pixel[3] == 0) pixel = {};
        return pixels;
    };
    EXPECT_EQ(probe_pages(file, "x")->pages.size(), 5U);
    EXPECT_EQ(top_row(1), (Four{nothing, nothing, half, half}));
    EXPECT_EQ(top_row(2), (Four{red, red, nothing, nothing}));
    EXPECT_EQ(top_row(3), (Four{green, green, green, green}));
    EXPECT_EQ(top_row(4), (Four{green, green, nothing, nothing}));
    EXPECT_EQ(top_row(5), (Four{green, green, blue, blue}));
    const Image first = decode_image(file, "x");
    EXPECT_EQ(first.pages, 5U);
    EXPECT_EQ(first.page, 0U);
    EXPECT_TRUE(equal(first.pixels, page_of(file, 1).pixels));

    // What has nothing transparent has three channels.
    const Bytes opaque = webp({2, 2}, {{filled(2, 2, red)}, {filled(2, 2, blue)}}, false);
    EXPECT_EQ(page_of(opaque, 2).pixels.at<cv::Vec3b>(0), cv::Vec3b(255, 0, 0));
    EXPECT_EQ(page_of(opaque, 2).alpha, Alpha::none);
}

}  // namespace
