// The README: its commands run as they stand there, and its blocks of output are what they print.
//
// Environment: GPUHIST_PROGRAM, beside which the README's program lies; GPUHIST_DATA, in the folder of the README.
#include <sstream>

#include "support/command.hpp"

namespace {

using namespace command;
using Lines = std::vector<std::string>;

constexpr const char* skipped = "…";  // stands for any number of lines

Lines lines_of(const std::string& text) {
    Lines lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

/// Whether the lines are those, but for what is skipped.
bool shows(const Lines& shown, const Lines& printed) {
    auto at = printed.begin();
    for (auto line = shown.begin(); line != shown.end(); ++line) {
        if (*line == skipped) {
            if (line + 1 == shown.end()) return true;
            at = std::find(at, printed.end(), line[1]);
        } else if (at == printed.end() || *at++ != *line) {
            return false;
        }
    }
    return at == printed.end();
}

/// Block of output, and the command that stands before it in a comment.
struct Block {
    std::string command;
    Lines output;
};

class ReadmeText : public Command {
  protected:
    void SetUp() override {
        Command::SetUp();
        const fs::path data = fs::absolute(from_environment("GPUHIST_DATA"));
        readme_ = lines_of(read_text(data / ".." / "README.md"));
        // Files that its commands name: a folder of classes with a damaged file, scans, photographs.
        fs::create_directory_symlink(data, at("data"));
        for (const auto& [name, copy] : {std::pair("camera.png", "scan.png"),
                                         {"camera.png", "scans/1.png"},
                                         {"bilevel.png", "scans/2.png"},
                                         {"camera.png", "stacks/1.png"},
                                         {"camera.png", "cells/1.png"},
                                         {"camera.png", "dem/1.png"},
                                         {"chelsea.png", "train/cats/chelsea.png"},
                                         {"rocket.jpg", "train/rockets/rocket.jpg"},
                                         {"rocket.jpg", "train/rockets/cut.jpg"},
                                         {"hubble.jpg", "photos/hubble.jpg"},
                                         {"rocket.jpg", "photos/rocket.jpg"}}) {
            fs::create_directories(at(copy).parent_path());
            fs::copy_file(data / name, at(copy));
        }
        fs::resize_file(at("train/rockets/cut.jpg"), 20000);
    }

    /// Commands of the indented blocks.
    Lines commands() const {
        Lines found;
        for (const std::string& line : readme_)
            if (line.rfind("    gpuhist ", 0) == 0) found.push_back(line.substr(4));
        return found;
    }

    /// Blocks without a language: they show output.
    std::vector<Block> blocks() const {
        std::vector<Block> found;
        bool inside = false, output = false;
        for (std::size_t i = 0; i < readme_.size(); ++i) {
            if (readme_[i].rfind("```", 0) == 0) {
                inside = !inside;
                output = inside && readme_[i] == "```";
                if (output) {
                    const std::string& before = readme_.at(i - 1);
                    const bool named = before.rfind("<!-- ", 0) == 0;
                    found.push_back({named ? before.substr(5, before.find(" -->") - 5) : "", {}});
                }
            } else if (output) {
                found.back().output.push_back(readme_[i]);
            }
        }
        return found;
    }

    /// Runs a line of the shell where `gpuhist` and the README's program are on the PATH.
    Outcome shell(std::string line) const {
        const fs::path programs = fs::path(from_environment("GPUHIST_PROGRAM")).parent_path();
        if (line.rfind("./dev run ", 0) == 0) line.replace(0, 9, "gpuhist");
        write_text(root_ / "line", "cd '" + directory_.string() + "' && PATH='" + programs.string() +
                                       "':$PATH && export LC_ALL=C.UTF-8 TERM=xterm\n" + line + "\n");
        const int status =
            std::system(("bash '" + (root_ / "line").string() + "' >'" + (root_ / "both").string() + "' 2>&1").c_str());
        Outcome outcome;
        outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
        outcome.out = read_text(root_ / "both");
        return outcome;
    }

    Lines readme_;
};

TEST_F(ReadmeText, BlocksOfOutputAreWhatTheirCommandsPrint) {
    const std::vector<Block> all = blocks();
    EXPECT_GE(all.size(), 2U);
    for (const Block& block : all) {
        ASSERT_NE(block.command, "") << "no <!-- COMMAND --> before the block of\n" << block.output.at(0);
        const Outcome outcome = shell(block.command);
        EXPECT_TRUE(outcome.code == all_done || outcome.code == inputs_failed) << block.command;
        EXPECT_TRUE(shows(block.output, lines_of(outcome.out))) << block.command << " prints\n" << outcome.out;
    }
}

TEST_F(ReadmeText, EveryCommandRuns) {
    const Lines all = commands();
    EXPECT_GE(all.size(), 5U);
    for (const std::string& line : all) {
        // One of many machines: the others do their parts, too.
        const std::string shard = "--shard 7/100";
        const std::size_t place = line.find(shard);
        for (int part = place == line.npos ? 100 : 1; part <= 100; ++part) {
            std::string command = line;
            if (place != line.npos) command.replace(place, shard.size(), "--shard " + std::to_string(part) + "/100");
            const Outcome outcome = shell(command);
            const bool damaged = contains(line, "train/");
            EXPECT_EQ(outcome.code, damaged ? inputs_failed : all_done) << command << '\n' << outcome.out;
        }
    }
    EXPECT_TRUE(fs::exists(at("results/dataset.json")));
}

TEST_F(ReadmeText, ItsProgramNamesAMissingFile) {
    const Outcome outcome = shell("readme_example missing.png");
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(outcome.out, "missing.png: cannot be opened: No such file or directory\n");
}

TEST(ReadmeBlocks, AreComparedLineByLine) {
    EXPECT_TRUE(shows({"a", "b"}, {"a", "b"}));
    EXPECT_TRUE(shows({"a", skipped, "d"}, {"a", "b", "c", "d"}));
    EXPECT_TRUE(shows({"a", skipped}, {"a", "b", "c"}));
    EXPECT_FALSE(shows({"a", "b"}, {"a", "c"}));
    EXPECT_FALSE(shows({"a"}, {"a", "b"}));
    EXPECT_FALSE(shows({"a", "b"}, {"a"}));
    EXPECT_FALSE(shows({"a", skipped, "d"}, {"a", "b", "c"}));
    EXPECT_FALSE(shows({"a", skipped, "b"}, {"a", "b", "c"}));
}

}  // namespace
