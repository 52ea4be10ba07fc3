// Files out: whole or not at all.
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <thread>

#include "support/image_files.hpp"

namespace {

using namespace image_files;

TEST_F(ImageFile, WritingReplacesAndLeavesNothingBehind) {
    const fs::path path = directory / "result.csv";
    write_file(path, std::string("first, and longer"));
    write_file(path, std::string("second"));
    const Bytes bytes = gpuhist::io::read_bytes(path);
    EXPECT_EQ(std::string(bytes.begin(), bytes.end()), "second");
    EXPECT_EQ(names(), std::vector<std::string>{"result.csv"});

    // As long a name as the file system takes.
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

}  // namespace
