// Directories: which images are found, in which order.
#include "gpuhist/io/walk.hpp"

#include "support/image_files.hpp"

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
    EXPECT_TRUE(walk_finds("a/b/x.jpg", {true, {"a/*/x.jpg"}, {}}));
    EXPECT_FALSE(walk_finds("a/b/c/x.jpg", {true, {"a/*/x.jpg"}, {}}));
}

}  // namespace
