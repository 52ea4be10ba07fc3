// Files underneath: checksums, and files that one process writes at a time.
#include "gpuhist/io/files.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "gpuhist/error.hpp"
#include "gpuhist/io/checksum.hpp"
#include "support/sealed.hpp"
#include "support/summaries.hpp"
#include "support/temporary_directory.hpp"
#include "support/text_files.hpp"

namespace {

using namespace gpuhist;
namespace fs = std::filesystem;

TEST(Checksum, IsXxh3InWhateverPiecesTheBytesCome) {
    EXPECT_EQ(io::checksum_text(io::checksum("")), "2d06800538d394c2");  // of the specification of XXH3
    std::string text;
    for (int i = 0; i < 200'000; ++i) text += static_cast<char>(i * i % 251);
    for (const std::size_t piece : {1UL, 7UL, 240UL, 65'536UL, 100'000UL}) {
        io::Checksum sum;
        io::BlockChecksums blocks;
        for (std::size_t at = 0; at < text.size(); at += piece) {
            sum.add(text.data() + at, std::min(piece, text.size() - at));
            blocks.add(text.data() + at, std::min(piece, text.size() - at));
        }
        EXPECT_EQ(sum.value(), io::checksum(text));
        EXPECT_EQ(blocks.all().blocks, test::checksums_of(text).blocks);
        EXPECT_EQ(blocks.all().blocks.substr(16, 16),
                  io::checksum_text(
                      io::checksum(text.substr(io::BlockChecksums::block_bytes, io::BlockChecksums::block_bytes))));
        EXPECT_EQ(blocks.all().bytes, text.size());
    }
}

TEST(RegularFile, IsNoFifoAndNoDirectory) {
    const test::TemporaryDirectory directory;
    const fs::path fifo = directory.path() / "fifo", file = directory.path() / "file";
    ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
    EXPECT_EQ(test::failure_of([&] { io::read_text(fifo); }), fifo.string() + ": a pipe, not a file");
    EXPECT_EQ(test::failure_of([&] { io::open_locked(fifo, io::Opened::may_exist); }),
              fifo.string() + ": a pipe, not a file");
    EXPECT_EQ(test::failure_of([&] { io::read_text(directory.path()); }),
              directory.path().string() + ": a directory, not a file");
    test::write_text(file, "");
    EXPECT_EQ(io::read_text(file), "");
    fs::create_symlink(file, directory.path() / "link");
    EXPECT_NE(test::failure_of([&] { io::open_locked(directory.path() / "link", io::Opened::may_exist); }),
              "no failure");
}

TEST(LockedFile, IsTheOneThatTheNameLeadsTo) {
    const test::TemporaryDirectory directory;
    const fs::path path = directory.path() / "rows", complete = directory.path() / "complete";
    EXPECT_EQ(io::open_locked(path, io::Opened::exists), -1);
    std::atomic<int> wrong{0};
    const auto work = [&] {
        for (int round = 0; round < 3000; ++round) {
            try {
                const int file = io::open_locked(path, io::Opened::may_exist);
                struct stat status {
                }, named{};
                if (fstat(file, &status) != 0 || stat(path.c_str(), &named) != 0 || status.st_ino != named.st_ino)
                    ++wrong;
                if (rename(path.c_str(), complete.c_str()) != 0) ++wrong;
                close(file);
            } catch (const io::LockedError&) {
            }
        }
    };
    std::thread first(work), second(work), third(work);
    first.join();
    second.join();
    third.join();
    EXPECT_EQ(wrong, 0);
    const int held = io::open_locked(path, io::Opened::may_exist);
    EXPECT_EQ(test::failure_of([&] { io::open_locked(path, io::Opened::may_exist); }),
              path.string() + ": another run is writing it; name another --output");
    close(held);
}

}  // namespace
