// Directories: which images are found, in which order.
#include "gpuhist/io/walk.hpp"

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>

#include "decode/formats.hpp"
#include "gpuhist/io/formats.hpp"
#include "support/image_files.hpp"
#include "support/text_files.hpp"

namespace {

using namespace image_files;

TEST_F(ImageFile, ListsImagesInByteOrder) {
    const fs::path sub = directory / "b";
    fs::create_directories(sub);
    fs::create_directories(directory / ".hidden");
    fs::create_directories(directory / "directory.png");
    for (const char* name :
         {"c.PNG", "a.jpg", "Z.tiff", "b.txt", ".d.png", "b/x.JPeG", ".hidden/y.png", "b-.png", "none"})
        put(name, {1});
    fs::create_directory_symlink(directory, sub / "loop");
    fs::create_symlink("nowhere", directory / "broken.png");
    fs::create_symlink("a.jpg", directory / "link.jpg");
    std::vector<std::string> found;
    for (const auto& path : gpuhist::io::list_images(directory))
        found.push_back(path.lexically_relative(directory).string());
    EXPECT_EQ(found, (std::vector<std::string>{"Z.tiff", "a.jpg", "b-.png", "b/x.JPeG", "c.PNG", "link.jpg"}));
    EXPECT_TRUE(gpuhist::io::list_images(directory / ".hidden").size() == 1);
    EXPECT_THROW(gpuhist::io::list_images(directory / "missing"), IoError);
}

TEST_F(ImageFile, AWalkGoesOnAfterADirectoryThatCannotBeListed) {
    for (const char* name : {"a", "b"}) fs::create_directories(directory / name);
    for (const char* name : {"a/x.png", "b/x.png", "z.png"}) put(name, {1});
    gpuhist::io::Walk walk(directory);
    walk.skip("b");
    ASSERT_EQ(walk.next()->relative, "a/x.png");
    ASSERT_EQ(walk.next()->relative, "z.png");
    EXPECT_FALSE(walk.next());

    gpuhist::io::Walk vanishing(directory);
    ASSERT_EQ(vanishing.next()->relative, "a/x.png");
    fs::remove_all(directory / "b");
    const auto failed = vanishing.next();
    ASSERT_TRUE(failed && failed->failure);
    EXPECT_EQ(failed->relative, "b");
    EXPECT_EQ(failed->failure->kind(), IoError::Kind::missing);
    EXPECT_EQ(vanishing.next()->relative, "z.png");
    EXPECT_FALSE(vanishing.next());
}

TEST_F(ImageFile, AWalkCountsWhatItLeavesOut) {
    for (const char* name : {"a.png", "b.txt", "c.TXT", "d.a name that is no extension", ".e.txt", "none"})
        put(name, {1});
    fs::create_directories(directory / "sub" / "link to");
    fs::create_directory_symlink("../sub", directory / "sub" / "loop");
    fs::create_symlink("nowhere", directory / "broken.png");
    for (int i = 0; i < 200; ++i) put("sub/" + std::to_string(i) + "." + std::to_string(i), {1});
    const auto walk = [&](const gpuhist::io::WalkOptions& options) {
        gpuhist::io::Walk all(directory, options);
        while (all.next()) continue;
        return all.left_out();
    };
    const gpuhist::io::LeftOut left_out = walk({});
    EXPECT_EQ(left_out.by_extension.at(".txt"), 2U);
    EXPECT_LE(left_out.by_extension.size(), 101U);
    std::uint64_t files = 0;
    for (const auto& [extension, count] : left_out.by_extension) files += count;
    EXPECT_EQ(files, 204U);
    EXPECT_EQ(left_out.broken_links, 1U);
    EXPECT_EQ(left_out.first_broken_link, directory / "broken.png");
    EXPECT_EQ(left_out.links, 1U);
    EXPECT_EQ(walk({true, {"a*", "?.png", "sub", "*.tif"}, {"sub", "none?"}}).matched,
              (std::set<std::string>{"?.png", "a*", "sub"}));
    EXPECT_FALSE(walk({true, {"a*"}, {"sub"}, true}).any());
    EXPECT_EQ(to_string(walk({true, {}, {"*.txt", "[0-9]*"}, true})),
              "1 .txt, 2 other files, 1 broken link, 1 directory that a link had led to");
}

TEST(Formats, OfThePageAreThoseOfTheList) {
    const char* data = std::getenv("GPUHIST_DATA");
    ASSERT_NE(data, nullptr) << "GPUHIST_DATA must name the folder data/ of the sources";
    std::ifstream page(fs::path(data) / ".." / "io" / "README.md");
    std::multiset<std::string> written, known;
    bool in_table = false;
    for (std::string line; std::getline(page, line);) {
        if (line.rfind("## ", 0) == 0) in_table = line == "## Formats";
        if (!in_table || line.rfind("| `", 0) != 0) continue;
        std::istringstream words(line.substr(line.rfind('|', line.size() - 2)));
        for (std::string word; words >> word;)
            if (word.front() == '.') written.insert(word);
    }
    for (const gpuhist::io::ImageFormat* format : gpuhist::io::image_formats)
        for (const std::string_view extension : format->extensions)
            if (!extension.empty()) {
                known.emplace(extension);
                EXPECT_TRUE(gpuhist::io::walk_finds(std::string("x").append(extension), {})) << extension;
            }
    EXPECT_EQ(written, known);
    EXPECT_EQ(known.size(), std::set<std::string>(known.begin(), known.end()).size());
}

/// The table of the page is that of the decoders: it is printed where it is not.
TEST(Formats, WordsOfThePageAreThoseOfTheDecoders) {
    const char* data = std::getenv("GPUHIST_DATA");
    ASSERT_NE(data, nullptr) << "GPUHIST_DATA must name the folder data/ of the sources";
    const std::string page = gpuhist::test::read_text(fs::path(data) / ".." / "io" / "README.md");
    std::string table = "| format | samples | pages | decoder | read | refused by name |\n|---|---|---|---|---|---|\n";
    for (const gpuhist::io::FormatInfo& format : gpuhist::io::list_formats()) {
        std::string decoders;
        for (const auto& library : format.decoders) decoders += (decoders.empty() ? "" : ", ") + library.name;
        const std::string begin = "| " + format.name + " | " + format.samples + " | " + format.pages + " | ";
        if (const std::size_t at = page.find(begin); !format.missing.empty() && at != page.npos)
            decoders = page.substr(at + begin.size(), page.find(" |", at + begin.size()) - at - begin.size());
        table +=
            begin + (decoders.empty() ? "gpuhist" : decoders) + " | " + format.read + " | " + format.refused + " |\n";
        for (const std::string& text : {format.name, format.samples, format.pages, format.read, format.refused})
            EXPECT_EQ(text.find('|'), text.npos) << text;
    }
    EXPECT_NE(page.find(table), page.npos) << table;
}

TEST(WalkFinds, TellsFromThePathAlone) {
    using gpuhist::io::walk_finds;
    EXPECT_TRUE(walk_finds("a/b/x.JPG", {}));
    EXPECT_FALSE(walk_finds("a/.b/x.jpg", {}));
    EXPECT_FALSE(walk_finds("a/b/.x.jpg", {}));
    EXPECT_FALSE(walk_finds("a/b/x.txt", {}));
    EXPECT_FALSE(walk_finds("a/x.jpg", {false, {}, {}}));
    EXPECT_TRUE(walk_finds("x.jpg", {false, {}, {}}));
    EXPECT_FALSE(walk_finds("a/b/x.jpg", {true, {}, {"b"}}));
    EXPECT_FALSE(walk_finds("a/b/x.jpg", {true, {"*.png"}, {}}));
    EXPECT_TRUE(walk_finds("a/b/x.dat", {true, {"*.dat"}, {}}));
    EXPECT_FALSE(walk_finds("a/b/.x.dat", {true, {"*.dat"}, {}}));
    EXPECT_TRUE(walk_finds("a/b/x.jpg", {true, {"a/*/x.jpg"}, {}}));
    EXPECT_FALSE(walk_finds("a/b/c/x.jpg", {true, {"a/*/x.jpg"}, {}}));
}

}  // namespace
