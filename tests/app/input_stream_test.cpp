// The list that a thread of its own reads ahead: nothing of it reaches who has left.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "run/input_stream.hpp"
#include "support/temporary_directory.hpp"

namespace {

using namespace gpuhist::app;

const auto never = [] { return false; };

TEST(InputStream, SaysItsNotesOnTheThreadThatAsks) {
    InputOptions options;
    options.arguments = {"a.png", "./a.png", "b.png", "b.png"};
    std::vector<std::string> notes;
    const auto asking = std::this_thread::get_id();
    InputStream stream(std::make_shared<InputList>(options, "out"), [&](const std::string& note) {
        EXPECT_EQ(std::this_thread::get_id(), asking);
        notes.push_back(note);
    });
    std::vector<std::string> paths;
    for (auto inputs = stream.next(9, never); !inputs.empty(); inputs = stream.next(9, never))
        for (const Input& input : inputs) paths.push_back(input.path);
    EXPECT_EQ(paths, (std::vector<std::string>{"a.png", "b.png"}));
    EXPECT_EQ(notes, (std::vector<std::string>{"./a.png: given more than once, measured once",
                                               "b.png: given more than once, measured once"}));
}

/// A thread that is left while it waits for a list goes on when the list does, and ends.
TEST(InputStream, MayBeLeftWhileItsListIsRead) {
    const gpuhist::test::TemporaryDirectory temporary;
    const std::string path = temporary.path() / "pipe";
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    const int ends = open(path.c_str(), O_RDWR);
    InputOptions options;
    options.files_from = path;
    auto list = std::make_shared<InputList>(options, "out");
    const std::weak_ptr<InputList> watched = list;
    {
        auto target = std::make_unique<std::vector<std::string>>();
        InputStream stream(std::move(list), [&](const std::string& note) { target->push_back(note); });
        ASSERT_EQ(write(ends, "a.png\n", 6), 6);
        EXPECT_EQ(stream.next(9, never).size(), 1U);
    }
    ASSERT_EQ(write(ends, "b.png\n", 6), 6);
    close(ends);
    while (!watched.expired()) std::this_thread::yield();
}

}  // namespace
