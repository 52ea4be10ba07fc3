// The README and the guide: their commands run as they stand there, in the order of each page, and their blocks of
// output are what these print.
//
// Environment: GPUHIST_PROGRAM, beside which the programs of the pages lie; GPUHIST_DATA, in the folder of the README.
#include <regex>
#include <set>
#include <sstream>

#include "support/command.hpp"

namespace {

using namespace command;
using Lines = std::vector<std::string>;

constexpr const char* skipped = "…";  // stands for any number of lines

// Pages, by their paths in the project.
constexpr const char* pages[] = {"README.md",
                                 "app/guide/README.md",
                                 "app/guide/check.md",
                                 "app/guide/columns.md",
                                 "app/guide/compare.md",
                                 "app/guide/configuration.md",
                                 "app/guide/copies.md",
                                 "app/guide/tone.md",
                                 "app/guide/spaces.md",
                                 "app/guide/damaged-files.md",
                                 "app/guide/duplicates.md",
                                 "app/guide/first-image.md",
                                 "app/guide/flags.md",
                                 "app/guide/formats.md",
                                 "app/guide/gpu-images.md",
                                 "app/guide/joint.md",
                                 "app/guide/library.md",
                                 "app/guide/many-machines.md",
                                 "app/guide/outputs.md",
                                 "app/guide/pages.md",
                                 "app/guide/pictures.md",
                                 "app/guide/python.md",
                                 "app/guide/quality.md",
                                 "app/guide/rasters.md",
                                 "app/guide/regions.md",
                                 "app/guide/report.md",
                                 "app/guide/same.md",
                                 "app/guide/sets.md",
                                 "app/guide/stack.md",
                                 "app/guide/valid-pixels.md",
                                 "app/guide/verify.md"};

fs::path project() {
    return fs::absolute(from_environment("GPUHIST_DATA")).parent_path();
}

Lines lines_of(const std::string& text) {
    Lines lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

bool begins(const std::string& text, const std::string& with) {
    return text.rfind(with, 0) == 0;
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

/// Command of a page, and what the page says it prints.
struct Step {
    std::string command;
    std::optional<Lines> output;
};

/// Steps of a page: indented lines, and blocks of output behind their command in a comment. A command is not repeated
/// for the block that follows it.
std::vector<Step> steps_of(const Lines& page) {
    std::vector<Step> steps;
    bool inside = false, output = false;
    for (std::size_t i = 0; i < page.size(); ++i) {
        const std::string& line = page[i];
        if (begins(line, "```")) {
            inside = !inside;
            output = inside && line == "```";
            if (!output) continue;
            const std::string& before = page.at(i - 1);
            const std::string command = begins(before, "<!-- ") ? before.substr(5, before.find(" -->") - 5) : "";
            if (steps.empty() || steps.back().output || steps.back().command != command) steps.push_back({command, {}});
            steps.back().output.emplace();
        } else if (output) {
            steps.back().output->push_back(line);
        } else if (!inside && begins(line, "    ") && !begins(line, "     ")) {
            steps.push_back({line.substr(4), {}});
        }
    }
    return steps;
}

/// Whether a command builds or installs something: CI does that, and not this test.
bool builds(const std::string& command) {
    for (const char* tool : {"./dev ", "cmake ", "pip ", "export "})
        if (begins(command, tool) && !begins(command, "./dev run ")) return true;
    return begins(command, "./dev run ") && contains(command, "#");
}

class GuidePage : public Command, public testing::WithParamInterface<const char*> {
  protected:
    void SetUp() override {
        Command::SetUp();
        const fs::path data = fs::absolute(from_environment("GPUHIST_DATA"));
        // Files that pages name without making them.
        fs::create_directory_symlink(data, at("data"));
        for (const auto& [name, copy] : {std::pair("camera.png", "scan.png"),
                                         {"camera.png", "scans/1.png"},
                                         {"bilevel.png", "scans/2.png"},
                                         {"palette.png", "stacks/1.png"},
                                         {"palette.png", "cells/1.png"},
                                         {"camera.png", "dem/1.png"},
                                         {"float-gray.tiff", "dem/2.tiff"},
                                         {"chelsea.png", "train/cats/chelsea.png"},
                                         {"rocket.jpg", "train/rockets/rocket.jpg"},
                                         {"hubble.jpg", "photos/hubble.jpg"},
                                         {"rocket.jpg", "photos/rocket.jpg"}}) {
            fs::create_directories(at(copy).parent_path());
            fs::copy_file(data / name, at(copy));
        }
        fs::create_directories(at("masks"));
        fs::copy_file(project() / "app/guide/scene.tif", at("scene.tif"));
        fs::copy_file(project() / "app/guide/cells.ome.tif", at("cells.ome.tif"));
        fs::copy_file(project() / "app/guide/cells_cp_masks.tif", at("masks/cells_cp_masks.tif"));
    }

    /// Runs a line of the shell where `gpuhist` and the programs of the pages are on the PATH.
    Outcome shell(std::string line) const {
        const fs::path programs = fs::path(from_environment("GPUHIST_PROGRAM")).parent_path();
        if (begins(line, "./dev run ")) line.replace(0, 9, "gpuhist");
        write_text(root_ / "line", "cd '" + directory_.string() + "' && PATH='" + programs.string() +
                                       "':$PATH && export LC_ALL=C.UTF-8 TERM=xterm\n" + line + "\n");
        const int status =
            std::system(("bash '" + (root_ / "line").string() + "' >'" + (root_ / "both").string() + "' 2>&1").c_str());
        Outcome outcome;
        outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
        outcome.out = read_text(root_ / "both");
        return outcome;
    }

    /// Runs a command, and where it measures one of several parts, the others before it.
    Outcome run_line(const std::string& command) const {
        static const std::regex shard("--shard ([0-9]+)/([0-9]+)");
        if (std::smatch found; std::regex_search(command, found, shard))
            for (int part = 1; part <= std::stoi(found[2]); ++part)
                if (part != std::stoi(found[1])) {
                    const std::string other = found.prefix().str() + "--shard " + std::to_string(part) + "/" +
                                              found[2].str() + found.suffix().str();
                    EXPECT_EQ(shell(other).code, all_done) << other;
                }
        return shell(command);
    }
};

TEST_P(GuidePage, PrintsWhatItShows) {
    for (const Step& step : steps_of(lines_of(read_text(project() / GetParam())))) {
        ASSERT_NE(step.command, "") << "a block without <!-- COMMAND --> before it";
        if (builds(step.command)) continue;
        if (begins(step.command, "example_mat") &&
            !fs::exists(fs::path(from_environment("GPUHIST_PROGRAM")).replace_filename("example_mat")))
            continue;  // built only where imgcodecs is found
        const Outcome outcome = run_line(step.command);
        if (contains(outcome.out, "OpenCV's decoders are not installed")) continue;  // nor is imgcodecs
        EXPECT_TRUE(outcome.code == all_done || (step.output && outcome.code == inputs_failed)) << step.command << '\n'
                                                                                                << outcome.out;
        EXPECT_TRUE(!step.output || shows(*step.output, lines_of(outcome.out))) << step.command << " prints\n"
                                                                                << outcome.out;
    }
}
INSTANTIATE_TEST_SUITE_P(All, GuidePage, testing::ValuesIn(pages), [](const auto& page) {
    return std::regex_replace(std::string(page.param), std::regex("[^a-zA-Z]+"), "_");
});

TEST(GuidePages, AreAllTested) {
    std::set<std::string> found{"README.md"};
    for (const auto& entry : fs::directory_iterator(project() / "app/guide"))
        if (entry.path().extension() == ".md") found.insert("app/guide/" + entry.path().filename().string());
    EXPECT_EQ(found, std::set<std::string>(std::begin(pages), std::end(pages)));
}

TEST(GuideBlocks, AreComparedLineByLine) {
    EXPECT_TRUE(shows({"a", "b"}, {"a", "b"}));
    EXPECT_TRUE(shows({"a", skipped, "d"}, {"a", "b", "c", "d"}));
    EXPECT_TRUE(shows({"a", skipped}, {"a", "b", "c"}));
    EXPECT_FALSE(shows({"a", "b"}, {"a", "c"}));
    EXPECT_FALSE(shows({"a"}, {"a", "b"}));
    EXPECT_FALSE(shows({"a", "b"}, {"a"}));
    EXPECT_FALSE(shows({"a", skipped, "d"}, {"a", "b", "c"}));
    EXPECT_FALSE(shows({"a", skipped, "b"}, {"a", "b", "c"}));
}

TEST(GuideSteps, AreIndentedLinesAndBlocks) {
    const std::vector<Step> steps =
        steps_of({"# Title", "", "    first", "", "<!-- first -->", "```", "a", "```", "", "    second", "- list",
                  "      deeper", "<!-- third -->", "```", "```", "```cpp", "    code", "```"});
    ASSERT_EQ(steps.size(), 3U);
    EXPECT_EQ(steps[0].command, "first");
    EXPECT_EQ(steps[0].output, Lines{"a"});
    EXPECT_EQ(steps[1].command, "second");
    EXPECT_FALSE(steps[1].output);
    EXPECT_EQ(steps[2].command, "third");
    EXPECT_EQ(steps[2].output, Lines{});
}

}  // namespace
