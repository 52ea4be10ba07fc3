// The words of the command line: commands, options, variables, configuration files, and the texts about them.
//
// Environment: GPUHIST_PROGRAM, the program.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cstddef>
#include <cstdio>
#include <functional>
#include <regex>
#include <set>
#include <sstream>

#include "support/command.hpp"

namespace {

using namespace command;
namespace fs = std::filesystem;
using Words = std::vector<std::string>;

class CommandLine : public Command {
  protected:
    void SetUp() override {
        Command::SetUp();
        save("x.png", make_image(16, 16, CV_8UC1));
    }

    /// Runs it with these variables.
    Outcome run_in(const Words& variables, const Words& arguments) const {
        Setting setting;
        setting.environment = variables;
        return run(arguments, setting);
    }

    void expect_refused(const Outcome& outcome, const std::string& message) const {
        EXPECT_EQ(outcome.code, usage_error) << outcome.err;
        EXPECT_EQ(outcome.out, "");
        EXPECT_TRUE(contains(outcome.err, message)) << message << '\n' << outcome.err;
        EXPECT_FALSE(fs::exists(at("gpuhist-out")));
    }
};

/// What a shell command prints; ends with its exit code.
std::string shell(const std::string& line) {
    FILE* const pipe = popen(("{ " + line + "; } 2>&1; echo $?").c_str(), "r");
    require(pipe != nullptr, "popen");
    std::string text;
    std::array<char, 4096> part{};
    for (std::size_t got; (got = fread(part.data(), 1, part.size(), pipe)) > 0;) text.append(part.data(), got);
    pclose(pipe);
    return text;
}

bool have(const std::string& program) {
    return shell("command -v " + program + " >/dev/null") == "0\n";
}

/// Long options that a help text shows.
std::set<std::string> options_in(const std::string& help) {
    std::set<std::string> options;
    const std::regex line("(^|\n)  (?:-., *)?--([a-z-]+)");
    for (auto found = std::sregex_iterator(help.begin(), help.end(), line); found != std::sregex_iterator(); ++found)
        options.insert((*found)[2]);
    return options;
}

// -------------------------------------------------------------------------------------------------------- commands

TEST_F(CommandLine, AMistypedCommandIsNoFile) {
    for (const auto& [word, meant] : {std::pair("merg", "merge"),
                                      {"mreeg", "merge"},
                                      {"Merge", "merge"},
                                      {"colums", "columns"},
                                      {"devcies", "devices"},
                                      {"device", "devices"},
                                      {"licences", "licenses"},
                                      {"completions", "completion"}}) {
        const std::string message = "no such file or command '" + std::string(word) + "': did you mean " + meant + "?";
        expect_refused(run({word}), message);
        expect_refused(run({word, "x.png", "-q"}), message);
        expect_refused(run({"-q", "--threads", "2", word, "x.png"}), message);
    }
    EXPECT_EQ(run({"x.pg"}).code, inputs_failed);  // near no command: a file that is missing
    EXPECT_EQ(run({"./merg"}).code, inputs_failed);
}

TEST_F(CommandLine, FilesWithTheNamesOfCommandsAndOptionsCanBeNamed) {
    for (const char* name : {"merge", "devices", "device", "-q"}) fs::copy_file(at("x.png"), at(name));
    EXPECT_EQ(run({"./devices"}).code, all_done);
    EXPECT_EQ(run({"device"}).code, all_done);
    EXPECT_EQ(run({"--", "-q"}).code, all_done);
    EXPECT_TRUE(fs::exists(at("gpuhist-out/-q.histogram.csv")));
    EXPECT_EQ(run({"--", "merge"}).code, all_done);
    const Outcome both = run({"x.png", "merge", "devices", "--write", "none", "--format", "csv"});
    EXPECT_EQ(both.code, all_done) << both.err;
    EXPECT_TRUE(contains(both.out, "\nmerge,16,") && contains(both.out, "\ndevices,16,")) << both.out;
}

TEST_F(CommandLine, CommandsTakeTheirOptionsBeforeAndAfter) {
    ASSERT_EQ(run({"x.png", "./x.png", "-q", "-o", "parts", "--shard", "1/1"}).code, all_done);
    for (const Words& words : {Words{"-q", "merge", "parts", "-o", "a"},
                               {"merge", "-q", "parts", "-o", "b"},
                               {"-q", "-oc", "merge", "parts"},
                               {"--output=d", "--quiet", "merge", "parts"}}) {
        const Outcome outcome = run(words);
        EXPECT_EQ(outcome.code, all_done) << outcome.err;
        EXPECT_EQ(outcome.out + outcome.err, "") << testing::PrintToString(words);
    }
    for (const char* output : {"b", "c", "d"})
        EXPECT_EQ(read_text(at("a/stats.csv")), read_text(at(output) / "stats.csv"));
    EXPECT_EQ(run({"--format", "json", "columns"}).out, run({"columns", "--format", "json"}).out);
    expect_refused(run({"--engine", "cpu", "merge", "parts"}), "'merge' has no option '--engine'");
}

TEST_F(CommandLine, AMistypedOptionGetsASuggestion) {
    expect_refused(run({"x.png", "--enigne", "cpu"}), "no option '--enigne': did you mean --engine?");
    expect_refused(run({"x.png", "--outptu=there"}), "did you mean --output?");
    expect_refused(run({"merge", "--outputs", "there", "."}),
                   "'merge' has no option '--outputs': did you mean --output?");
    for (const char* word : {"--frobnicate", "-x"}) {
        const Outcome outcome = run({"x.png", word});
        expect_refused(outcome, std::string("no option '") + word + "'\n");
        EXPECT_FALSE(contains(outcome.err, "did you mean")) << outcome.err;
    }
}

TEST_F(CommandLine, NumbersOutOfBoundsAreRefusedInOurWords) {
    const struct {
        const char *option, *value, *allowed;
    } cases[] = {
        {"--threads", "0", "a whole number from 1 to 4096"},
        {"--threads", "4097", "a whole number from 1 to 4096"},
        {"--threads", "1.5", "a whole number from 1 to 4096"},
        {"--threads", "99999999999999999999", "a whole number from 1 to 4096"},
        {"--threads", "", "a whole number from 1 to 4096"},
        {"--gpu", "-1", "a whole number from 0 to 1023"},
        {"--max-pixels", "0", "a whole number from 1 to 4611686018427387904"},
        {"--max-errors", "0x10", "a whole number from 1 to 4611686018427387904"},
        {"--checkpoint", "-1", "a number from 0 to 86400"},
        {"--checkpoint", "nan", "a number from 0 to 86400"},
    };
    for (const auto& [option, value, allowed] : cases)
        expect_refused(run({"x.png", option, value}),
                       "gpuhist: " + std::string(option) + ": '" + value + "' is not " + allowed + "\n");
    expect_refused(run_in({"GPUHIST_THREADS=0"}, {"x.png"}),
                   "gpuhist: GPUHIST_THREADS: --threads: '0' is not a whole number from 1 to 4096\n");
}

TEST_F(CommandLine, ValuesThatAreMissingOrTooManyAreRefusedInOurWords) {
    expect_refused(run({"x.png", "--threads"}), "gpuhist: --threads needs a value: --threads N\n");
    expect_refused(run({"x.png", "-o"}), "gpuhist: --output needs a value: --output DIR\n");
    expect_refused(run({"columns", "--format"}), "gpuhist: --format needs a value: --format FORM\n");
    expect_refused(run({"x.png", "--engine", "cpu", "--engine", "cpu"}), "gpuhist: --engine is given twice\n");
    expect_refused(run({"x.png", "-o", "a", "-o", "b"}), "gpuhist: --output is given twice\n");
    expect_refused(run({"x.png", "--resume=maybe"}), "gpuhist: --resume: 'maybe' is neither true nor false\n");
}

/// Whatever option stands before the inputs, it takes one value and no input, in both forms; what is repeatable does so
/// each time, on the line, in a variable and in a file.
TEST_F(CommandLine, AnOptionTakesOneValueAndNoInput) {
    fs::create_directory(at("dir"));
    fs::copy_file(at("x.png"), at("dir/y.png"));
    write_text(at("rois.csv"), "path,name,x,y,w,h\nx.png,a,0,0,3,3\n");
    write_text(at("none.conf"), "");
    write_text(at("p.json"), "{}");
    const Words switches{"null",
                         "dry-run",
                         "no-recursive",
                         "follow-links",
                         "force",
                         "quiet",
                         "log",
                         "robust",
                         "quality",
                         "nodata-any",
                         "label-zero",
                         "clip-rois",
                         "resume",
                         "fail-fast",
                         "help",
                         "version",
                         "die-with-parent",
                         "keep-counts",
                         "keep-image-counts",
                         "keep-thumbnails",
                         "split-pages"};
    const Words inputs_themselves{"files-from", "manifest"}, made_before{"lut-in"};
    const std::vector<std::pair<std::string, Words>> values{{"include", {"*.png", "*.tif"}},
                                                            {"exclude", {"*.tif", "*.gif"}},
                                                            {"nodata", {"7", "red:8,9", "tag"}},
                                                            {"valid", {"0,200", "red:1,2"}},
                                                            {"roi", {"a=0,0,9,9", "b=1,1,3,3"}},
                                                            {"pages", {"1"}},
                                                            {"max-pixels", {"999"}},
                                                            {"raw", {"u8,1,1"}},
                                                            {"decoder", {"own"}},
                                                            {"report", {"page.html"}},
                                                            {"on-damaged", {"accept"}},
                                                            {"output", {"out"}},
                                                            {"write", {"stats,plot,histogram,normalized"}},
                                                            {"format", {"csv"}},
                                                            {"color", {"never"}},
                                                            {"plot-range", {"0,9"}},
                                                            {"plot-format", {"png,svg"}},
                                                            {"plot-theme", {"dark"}},
                                                            {"group-by", {"dir"}},
                                                            {"percentile-columns", {"1,50"}},
                                                            {"clip-sigma", {"2"}},
                                                            {"quality-scale", {"64"}},
                                                            {"policy", {"p.json"}},
                                                            {"bins", {"16"}},
                                                            {"range", {"0,9"}},
                                                            {"white", {"200"}},
                                                            {"mask", {"x.png"}},
                                                            {"labels", {"x.png"}},
                                                            {"rois", {"rois.csv"}},
                                                            {"alpha", {"ignore"}},
                                                            {"normalize", {"minmax"}},
                                                            {"percentiles", {"2,98"}},
                                                            {"gamma", {"2.2"}},
                                                            {"levels", {"5,250"}},
                                                            {"clip-limit", {"3"}},
                                                            {"tiles", {"4,3"}},
                                                            {"stretch", {"asinh"}},
                                                            {"interval", {"zscale"}},
                                                            {"threshold", {"li"}},
                                                            {"clip-bins", {"white"}},
                                                            {"reference", {"x.png"}},
                                                            {"channels", {"separate"}},
                                                            {"depth", {"u8"}},
                                                            {"apply-to", {"all"}},
                                                            {"space", {"lab"}},
                                                            {"fill", {"0"}},
                                                            {"size", {"8"}},
                                                            {"compression", {"lzw"}},
                                                            {"png-level", {"3"}},
                                                            {"link", {"dataset"}},
                                                            {"lut-out", {"lut"}},
                                                            {"engine", {"cpu"}},
                                                            {"gpus", {"0"}},
                                                            {"jpeg-on", {"cpu"}},
                                                            {"threads", {"1"}},
                                                            {"memory", {"64M"}},
                                                            {"config", {"none.conf"}},
                                                            {"max-errors", {"3"}},
                                                            {"shard", {"1/2"}},
                                                            {"checkpoint", {"1"}}};
    std::set<std::string> known(switches.begin(), switches.end());
    known.insert(inputs_themselves.begin(), inputs_themselves.end());
    known.insert(made_before.begin(), made_before.end());
    for (const auto& [option, ignored] : values) known.insert(option);
    for (const std::string& option : options_in(run({"--help"}).out)) EXPECT_EQ(known.count(option), 1u) << option;
    const auto expect_listed = [&](const Outcome& outcome, const std::string& option) {
        EXPECT_EQ(outcome.code, all_done) << option << ": " << outcome.err;
        EXPECT_EQ(outcome.out, option == "pages"   ? "x.png#1\ndir/y.png#1\n"
                               : option == "shard" ? "x.png\n"
                                                   : "x.png\ndir/y.png\n")
            << option;
    };
    const auto with_inputs = [&](Words words) {
        for (const auto& [option, mode] : {std::pair("--percentiles", "percentile"),
                                           {"--gamma", "gamma"},
                                           {"--levels", "levels"},
                                           {"--clip-limit", "clahe"},
                                           {"--clip-bins", "clahe"},
                                           {"--tiles", "background"},
                                           {"--stretch", "stretch"},
                                           {"--interval", "stretch"},
                                           {"--threshold", "threshold"},
                                           {"--reference", "match"}})
            if (words[1].substr(0, words[1].find('=')) == option) {
                words.insert(words.begin(), std::string("--normalize=") + mode);
                break;
            }
        if (words[1].rfind("--policy", 0) == 0 || words[1].rfind("--quality-scale", 0) == 0)
            words.insert(words.begin(), "--quality");
        if (words[1].rfind("--clip-sigma", 0) == 0) words.insert(words.begin(), "--robust");
        words.insert(words.end(), {"x.png", "dir"});
        return words;
    };
    for (const auto& [option, all] : values) {
        const std::string name = "--" + option;
        expect_listed(run(with_inputs({"--dry-run", name, all[0]})), option);
        expect_listed(run(with_inputs({"--dry-run", name + "=" + all[0]})), option);
        if (all.size() == 1) continue;
        Words apart{"--dry-run"}, with_equals = apart;
        std::string variable = "GPUHIST_" + option + "=", file;
        for (char& c : variable) c = c == '-' ? '_' : static_cast<char>(std::toupper(c));
        for (const std::string& value : all) {
            apart.insert(apart.end(), {name, value});
            with_equals.push_back(name + "=" + value);
            variable += value + "\n";
            file += option + " = " + value + "\n";
        }
        write_text(at("file.conf"), file);
        expect_listed(run(with_inputs(apart)), option);
        expect_listed(run(with_inputs(with_equals)), option);
        expect_listed(run_in({variable}, with_inputs({"--dry-run", "-q"})), option);
        expect_listed(run(with_inputs({"--dry-run", "--config", "file.conf"})), option);
    }
}

TEST_F(CommandLine, NamesInBracketsAreNoLists) {
    for (const char* name : {"[dir]", "[x.png,y]", "[]"}) {
        fs::create_directory(at(name));
        fs::copy_file(at("x.png"), at(name) / std::string("z.png"));
    }
    const std::string listed = "[dir]/z.png\n[x.png,y]/z.png\n[]/z.png\n";
    for (const Words& words : {Words{"--dry-run", "[dir]", "[x.png,y]", "[]"},
                               {"[dir]", "-q", "[x.png,y]", "--dry-run", "[]"},
                               {"--exclude", "[y]", "--dry-run", "[dir]", "--", "[x.png,y]", "[]"}})
        EXPECT_EQ(run(words).out, listed) << testing::PrintToString(words);
    EXPECT_EQ(run({"--mask", "[dir]", "x.png", "--dry-run"}).out, "x.png\n");
    ASSERT_EQ(run({"[dir]", "-q", "--shard", "1/1", "-o", "[parts]"}).code, all_done);
    EXPECT_EQ(run({"merge", "[parts]", "-q", "-o", "merged"}).code, all_done);
    EXPECT_TRUE(fs::exists(at("merged/stats.csv")));
    expect_refused(run({"devices", "[dir]"}), "'[dir]' is not an option");
}

TEST_F(CommandLine, QuietAndNothingWrittenTellsWhetherFilesAreValid) {
    fs::create_directory(at("dir"));
    fs::copy_file(at("x.png"), at("dir/y.png"));
    for (const Words& inputs : {Words{"x.png"}, {"dir"}, {"x.png", "dir"}}) {
        Words words{"-q", "--write", "none"};
        words.insert(words.end(), inputs.begin(), inputs.end());
        const Outcome valid = run(words);
        EXPECT_EQ(valid.code, all_done) << valid.err;
        EXPECT_EQ(valid.out + valid.err, "");
    }
    write_text(at("bad.png"), read_text(at("x.png")).substr(0, 60));
    const Outcome bad = run({"-q", "--write", "none", "x.png", "bad.png"});
    EXPECT_EQ(bad.code, inputs_failed);
    EXPECT_TRUE(contains(bad.err, "bad.png: ")) << bad.err;
    EXPECT_FALSE(fs::exists(at("gpuhist-out")));
}

TEST_F(CommandLine, OneIsNoPlural) {
    const Outcome outcome = run({"missing.png", "x.png", "--fail-fast"});
    EXPECT_EQ(outcome.code, inputs_failed);
    EXPECT_TRUE(contains(outcome.err, "stopped after 1 error: 1 input is done")) << outcome.err;
}

// ---------------------------------------------------------------------------------------------------------- texts

TEST_F(CommandLine, HelpIsInGroups) {
    const Outcome help = run({"--help"});
    std::size_t last = 0;
    for (const char* group :
         {"\nInputs (", "\nValid pixels (", "\nRegions (", "\nStatistics (", "\nCopies (", "\nTone (", "\nOutputs (",
          "\nEngine (", "\nMachines and interruption (", "\nCommands,"}) {
        const std::size_t at = help.out.find(group);
        ASSERT_NE(at, help.out.npos) << group << help.out;
        EXPECT_GT(at, last) << group;
        last = at;
    }
    for (const char* command : {"manifest", "merge", "duplicates", "gate", "columns", "formats", "devices",
                                "completion", "manual", "licenses", "help"}) {
        EXPECT_TRUE(contains(help.out, "\n  " + std::string(command) + "  ")) << command;
        const Outcome own = run({command, "--help"});
        EXPECT_EQ(own.code, all_done);
        EXPECT_TRUE(contains(own.out, "Usage: gpuhist " + std::string(command))) << own.out;
    }
}

TEST_F(CommandLine, VersionNamesWhatTheProgramIsMadeOf) {
    const Outcome outcome = run({"--version"});
    EXPECT_EQ(outcome.code, all_done);
    EXPECT_TRUE(std::regex_search(outcome.out, std::regex(R"(^gpuhist \d+\.\d+\.\d+( \(commit [0-9a-f]{12,}\))?\n)")))
        << outcome.out;
    for (const char* name : {"OpenCV", "libjpeg-turbo", "libpng", "libtiff", "libwebp", "OpenJPEG", "OpenEXR", "zlib",
                             "libdeflate", "zstd", "liblzma", "oneTBB"})
        EXPECT_TRUE(std::regex_search(outcome.out, std::regex(std::string("\n").append(name).append(R"( +\d+\.\d+)"))))
            << name << '\n'
            << outcome.out;
    EXPECT_TRUE(std::regex_search(outcome.out, std::regex(R"(\nOpenCV +\S+, its core: it decodes nothing\n)")))
        << outcome.out;
    const std::string devices = run({"devices"}).out;
    EXPECT_TRUE(contains(devices, "\n  libpng ") && !contains(devices, "OpenCV")) << devices;
    EXPECT_TRUE(std::regex_search(outcome.out, std::regex(R"(\nCUDA +(none|\d+\.\d+))"))) << outcome.out;
    EXPECT_TRUE(std::regex_search(outcome.out, std::regex(R"(\ninstruction set +x86-64)"))) << outcome.out;
    EXPECT_EQ(run({"-V"}).out, outcome.out);
    EXPECT_EQ(run({"--version"}, {Out::full_device}).code, output_failed);
}

TEST_F(CommandLine, LicensesAreThere) {
    const Outcome outcome = run({"licenses"});
    EXPECT_EQ(outcome.code, all_done);
    for (const char* part :
         {"=== gpuhist\n\nMIT License", "=== DejaVu", "Bitstream", "=== stb_truetype", "Sean Barrett", "=== CLI11",
          "University of Cincinnati", "Niels Lohmann", "=== CUB", "OpenCV  ", "libwebp  "})
        EXPECT_TRUE(contains(outcome.out, part)) << part;
}

/// What is said of an option in one place is said in all: they are made from one list.
TEST_F(CommandLine, EveryOptionIsInHelpManualCompletionVariablesAndFiles) {
    const Outcome manual = run({"manual"}), bash = run({"completion", "bash"}), zsh = run({"completion", "zsh"}),
                  fish = run({"completion", "fish"});
    std::size_t total = 0;
    write_text(at("p.json"), "{\"gate\": {\"errors\": 0}}");
    for (const std::string command : {"", "gate", "merge", "duplicates", "columns", "formats"}) {
        const bool tells = command == "columns" || command == "formats";
        const auto options = options_in(run(command.empty() ? Words{"--help"} : Words{command, "--help"}).out);
        total += options.size();
        for (const std::string& option : options) {
            std::string roff = option;
            for (std::size_t at = 0; (at = roff.find('-', at)) != roff.npos; at += 2) roff.insert(at, 1, '\\');
            EXPECT_TRUE(contains(manual.out, std::string("\\fB\\-\\-").append(roff).append("\\fR"))) << option;
            EXPECT_TRUE(contains(bash.out, "--" + option + " ") || contains(bash.out, "--" + option + "'")) << option;
            EXPECT_TRUE(contains(zsh.out, "'--" + option + "[") || contains(zsh.out, "--" + option + "=[")) << option;
            EXPECT_TRUE(contains(fish.out, " -l " + option + " ")) << option;
            if (option == "help" || option == "version") continue;
            std::string variable = "GPUHIST_" + (command.empty() ? "" : command + "_") + option;
            for (char& c : variable) c = c == '-' ? '_' : static_cast<char>(std::toupper(c));
            EXPECT_TRUE(contains(manual.out, variable + "\n")) << variable;
            if (option == "config") continue;
            // What is understood in the file is understood in a variable; and a wrong value is refused in both.
            const std::string key = (command.empty() ? "" : command + ".") + option;
            write_text(at("file"), key + " = \x01\n");
            Words words = command.empty() ? Words{"x.png", "-q", "--write", "none"} : Words{command};
            if (command == "merge" || command == "duplicates" || command == "gate") words.push_back("missing");
            if (command == "gate") words.insert(words.end(), {"--policy", "p.json"});
            const Outcome by_variable = run_in({variable + "=\x01"}, words);
            if (!tells) words.insert(words.end(), {"--config", "file"});
            const Outcome by_file = run(words);
            EXPECT_FALSE(contains(by_file.err, "no option")) << by_file.err;
            if (by_variable.code == usage_error) {
                EXPECT_TRUE(contains(by_variable.err, variable)) << option << '\n' << by_variable.err;
            }
            if (tells) continue;
            EXPECT_EQ(by_file.code, by_variable.code) << option << by_file.err << by_variable.err;
            if (by_file.code == usage_error) {
                EXPECT_TRUE(contains(by_file.err, "file:1: " + key)) << by_file.err;
            }
        }
    }
    EXPECT_GT(total, 40u);
    // No option is in a group that has no topic.
    const std::size_t begin = bash.out.find("'') options='") + 13;
    std::istringstream offered(bash.out.substr(begin, bash.out.find('\'', begin) - begin));
    const auto shown = options_in(run({"--help"}).out);
    for (std::string word; offered >> word;)
        if (word.rfind("--", 0) == 0) {
            EXPECT_EQ(shown.count(word.substr(2)), 1u) << word;
        }
    for (const char* column : {"p01", "kurtosis", "clipped\\_low", "effective\\_bits"}) {
        std::string name = column;
        name.erase(std::remove(name.begin(), name.end(), '\\'), name.end());
        EXPECT_TRUE(contains(manual.out, "\\fB" + name + "\\fR")) << name;
    }
}

TEST_F(CommandLine, TheManualIsGoodRoff) {
    const Outcome manual = run({"manual"});
    EXPECT_EQ(manual.code, all_done);
    write_text(at("gpuhist.1"), manual.out);
    if (!have("groff")) GTEST_SKIP() << "groff is not installed";
    const std::string said = shell("groff -man -ww -z -Tutf8 '" + at("gpuhist.1").string() + "'");
    EXPECT_EQ(said, "0\n");
}

TEST_F(CommandLine, BashCompletes) {
    if (!have("bash")) GTEST_SKIP() << "bash is not installed";
    write_text(at("completion"), run({"completion", "bash"}).out);
    fs::create_directory(at("sub"));
    const auto completed = [&](const std::string& words) {  // of the last of these words
        return shell("cd '" + at("").string() + "' && bash -c 'compopt() { :; }; source ./completion && COMP_WORDS=(" +
                     words +
                     ") && COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) && { _gpuhist gpuhist \"${COMP_WORDS[COMP_CWORD]}\"; "
                     "printf \"%s \" \"${COMPREPLY[@]}\"; }'");
    };
    EXPECT_EQ(completed("gpuhist --engi"), "--engine 0\n");
    EXPECT_EQ(completed("gpuhist --engine cu"), "cuda 0\n");
    EXPECT_EQ(completed("gpuhist --format = js"), "json 0\n");
    EXPECT_EQ(completed("gpuhist mer"), "merge 0\n");
    EXPECT_EQ(completed("gpuhist x"), "x.png 0\n");
    EXPECT_EQ(completed("gpuhist -o s"), "sub 0\n");
    EXPECT_EQ(completed("gpuhist -q merge --ou"), "--output 0\n");
    EXPECT_EQ(completed("gpuhist merge --engi"), " 0\n");
    EXPECT_EQ(completed("gpuhist columns --format mark"), "markdown 0\n");
    EXPECT_EQ(completed("gpuhist completion ba"), "bash 0\n");
    EXPECT_EQ(completed("gpuhist help regi"), "regions 0\n");
    EXPECT_EQ(completed("gpuhist help merg"), "merge 0\n");
    expect_refused(run({"completion"}), "name the shell");
    expect_refused(run({"completion", "tcsh"}), "'tcsh' is not one of bash, zsh, fish");
    for (const char* other : {"zsh", "fish"}) {
        write_text(at("completion"), run({"completion", other}).out);
        if (!have(other)) continue;
        EXPECT_EQ(shell(std::string(other) + " -n '" + at("completion").string() + "'"), "0\n");
    }
}

// ------------------------------------------------------------------------------------ variables, configuration files

TEST_F(CommandLine, TheLineGoesBeforeTheEnvironmentBeforeTheFile) {
    const Words common{"x.png", "--write", "none", "--config", "file"};
    const auto words = [&](Words more) {
        more.insert(more.begin(), common.begin(), common.end());
        return more;
    };
    write_text(at("file"), "# results\n\n  format =  json \r\nquiet=false\n#engine = cuda\nengine = cpu\n");
    EXPECT_TRUE(contains(run(words({})).out, "{\"schema\""));
    EXPECT_TRUE(contains(run_in({"GPUHIST_FORMAT=csv"}, words({})).out, "path,width"));
    EXPECT_TRUE(contains(run_in({"GPUHIST_FORMAT=csv"}, words({"--format", "table"})).out, "median"));
    EXPECT_TRUE(contains(run_in({"GPUHIST_FORMAT="}, words({})).out, "{\"schema\""));  // as if it were not there
    EXPECT_TRUE(contains(run_in({"GPUHIST_CONFIG=file"}, {"x.png", "--write", "none"}).out, "{\"schema\""));
    EXPECT_TRUE(contains(run({"x.png", "--write", "none"}).out, "median"));  // no file is read unasked

    // -q of the line goes before a format from elsewhere, but not before its own; "false" of a variable before the
    // file.
    EXPECT_EQ(run(words({"-q"})).out, "");
    EXPECT_TRUE(contains(run(words({"-q", "--format", "csv"})).out, "path,width"));
    EXPECT_TRUE(contains(run_in({"GPUHIST_QUIET=1"}, words({"--format", "csv"})).out, "path,width"));
    write_text(at("file"), "quiet = yes\n");
    EXPECT_EQ(run(words({})).out, "");
    EXPECT_TRUE(contains(run_in({"GPUHIST_QUIET=off"}, words({})).out, "median"));

    // Options of commands; what is repeatable.
    EXPECT_TRUE(contains(run_in({"GPUHIST_COLUMNS_FORMAT=markdown", "GPUHIST_FORMAT=csv"}, {"columns"}).out, "|---|"));
    for (const char* name : {"a.png", "b.png", "c.png"}) {
        fs::create_directories(at("dir"));
        fs::copy_file(at("x.png"), at("dir") / name);
    }
    const Words dir{"dir", "--write", "none", "--format", "csv"};
    const std::string excluded = run_in({"GPUHIST_EXCLUDE=a*\nb*"}, dir).out;
    EXPECT_TRUE(contains(excluded, "c.png") && !contains(excluded, "a.png") && !contains(excluded, "b.png"))
        << excluded;
    write_text(at("file"), "exclude = c*\nexclude = b*\nmerge.output = elsewhere\n");
    const std::string file = run({"dir", "--write", "none", "--format", "csv", "--config", "file"}).out;
    EXPECT_TRUE(contains(file, "a.png") && !contains(file, "c.png") && !contains(file, "b.png")) << file;
    ASSERT_EQ(run({"dir", "-q", "-o", "parts", "--shard", "1/1"}).code, all_done);
    EXPECT_EQ(run({"merge", "-q", "parts", "--config", "file"}).code, all_done);
    EXPECT_TRUE(fs::exists(at("elsewhere/stats.csv")));
}

TEST_F(CommandLine, WhatHasNoEffectIsAnErrorOfTheLineAlone) {
    const Words line{"x.png", "--write", "none", "--format", "csv"};
    const std::string plain = run(line).out;
    for (const char* variable :
         {"GPUHIST_OUTPUT=there", "GPUHIST_NORMALIZE=equalize", "GPUHIST_PERCENTILES=2,98", "GPUHIST_LINK=dataset",
          "GPUHIST_RESUME=1", "GPUHIST_INCLUDE=*.tif", "GPUHIST_NULL=1", "GPUHIST_LOG=true", "GPUHIST_GROUP_BY=dir",
          "GPUHIST_FILES_FROM=list", "GPUHIST_CHECKPOINT=1"}) {
        const Outcome outcome = run_in({variable}, line);
        EXPECT_EQ(outcome.code, all_done) << variable << '\n' << outcome.err;
        EXPECT_EQ(outcome.out, plain) << variable;
        std::string key = std::string(variable).substr(8);
        for (char& c : key) c = c == '_' ? '-' : static_cast<char>(std::tolower(c));
        write_text(at("file"), key + "\n");
        EXPECT_EQ(run({"x.png", "--write", "none", "--format", "csv", "--config", "file"}).out, plain) << key;
    }
    EXPECT_FALSE(fs::exists(at("there")));
    expect_refused(run({"x.png", "--write", "none", "-o", "there"}), "--output names a directory");

    // The line's option stands where another does not go with it.
    EXPECT_EQ(run_in({"GPUHIST_GPU=0"}, {"x.png", "--engine", "cpu", "-q", "--write", "none"}).code, all_done);
    EXPECT_EQ(run_in({"GPUHIST_MAX_ERRORS=1"}, {"no1", "no2", "x.png", "-q"}).code, inputs_failed);
    const Outcome failing = run_in({"GPUHIST_MAX_ERRORS=2"}, {"missing1", "missing2", "--fail-fast", "-q"});
    EXPECT_TRUE(contains(failing.err, "stopped after 1 error:")) << failing.err;
    fs::remove_all(at("gpuhist-out"));
    // A shard is never left out: each of many runs would do the work of all.
    expect_refused(run_in({"GPUHIST_SHARD=1/2"}, {"x.png", "--write", "none", "-q"}), "--shard applies to files");
}

TEST_F(CommandLine, AFileIsReadStrictly) {
    const struct {
        const char *text, *message;
    } cases[] = {
        {"engine = cpu\nenigne = cpu\n", "file:2: no option 'enigne': did you mean engine?"},
        {"--engine = cpu\n", "file:1: no option '--engine'"},
        {"engine cpu\n", "file:1: 'engine cpu' is not KEY = VALUE"},
        {"resume\n", "file:1: 'resume' is not KEY = VALUE"},
        {"engine = cpu\nengine = cpu\n", "file:2: 'engine' is given twice"},
        {"engine = gpu\n", "file:1: engine: --engine: 'gpu' is not one of auto, cuda, cpu"},
        {"resume = perhaps\n", "file:1: resume: 'perhaps' is neither true nor false"},
        {"config = other\n", "no option 'config'"},
        {"help = true\n", "no option 'help'"},
        {"threads = 0\n", "file:1: threads: --threads: '0' is not a whole number from 1 to 4096"},
        {"merge.engine = cpu\n", "no option 'merge.engine'"},
    };
    for (const auto& [text, message] : cases) {
        write_text(at("file"), text);
        expect_refused(run({"x.png", "--config", "file"}), message);
    }
    expect_refused(run({"x.png", "--config", "missing"}), "--config: missing: ");
    expect_refused(run({"x.png", "--config", "."}), "--config: .: a directory");
    expect_refused(run_in({"GPUHIST_ENGINE=gpu"}, {"x.png"}), "GPUHIST_ENGINE: --engine: 'gpu' is not one of");
    expect_refused(run_in({"GPUHIST_RESUME=maybe"}, {"x.png"}), "GPUHIST_RESUME: 'maybe' is neither true nor false");
    write_text(at("file"), "");
    EXPECT_EQ(run({"x.png", "-q", "--write", "none", "--config", "file"}).code, all_done);
}

// --------------------------------------------------------------------------------------------- names in the results

TEST_F(CommandLine, ControlBytesOfNamesReachFilesButNoTerminal) {
    const std::string name =
        "a\033[31m\x07\x7f\xc2\x9b"
        "31m\xff.png";
    fs::copy_file(at("x.png"), at(name));
    const Words csv{name, "missing\033.png", "--write", "none", "--format", "csv"};
    Words json = csv;
    json.back() = "json";
    EXPECT_TRUE(contains(run(csv).out, "\n" + name + ",16,"));
    const std::string line = run(json).out;
    EXPECT_TRUE(contains(line, R"("path":"a\u001b[31m\u0007\u007f\u009b31m)"
                               "\xef\xbf\xbd"
                               R"(.png")"))
        << line;
    const int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0) GTEST_SKIP() << "this system has no pseudo-terminals: /dev/pts is not mounted";
    close(master);
    for (const Words& words : {csv, json}) {
        const std::string shown = run(words, {Out::terminal}).out;
        for (const char* byte : {"\033", "\x07", "\x7f", "\xc2\x9b", "\xff"})
            EXPECT_FALSE(contains(shown, byte)) << shown;
        EXPECT_TRUE(contains(shown, "[31m")) << shown;
    }
    EXPECT_TRUE(contains(run(csv, {Out::terminal}).out, "\na?[31m???31m?.png,16,"));
}

/// Characters that reorder text, or break lines, reach files but no terminal: neither in results nor in messages.
TEST_F(CommandLine, NothingReordersWhatATerminalShows) {
    const std::string shown_well = "\u05d0\u0301\u200d\U0001f600\u2027\u202f\u2065\u2070";
    const auto is_listed = [](const std::string& text, const std::string& name) {
        return contains(text, "\n" + name + ",16,");
    };
    for (const std::string part :
         {"\u202e", "\u202a", "\u202b", "\u202c", "\u202d", "\u2066", "\u2067", "\u2068", "\u2069", "\u200e", "\u200f",
          "\u061c", "\u2028", "\u2029", "\u206a", "\xc0\x9b", "\xe0\x80\x8a", "\xed\xa0\x80", "\xf4\x90\x80\x80"}) {
        const std::string name = "a" + part + shown_well + "gnp.png";
        fs::copy_file(at("x.png"), at(name));
        const Words words{name, part + "missing.png", "--write", "none", "--format", "csv"};
        const Outcome outcome = run(words);
        EXPECT_TRUE(is_listed(outcome.out, name));
        EXPECT_FALSE(contains(outcome.err, part)) << outcome.err;
        EXPECT_TRUE(contains(outcome.err, "?missing.png: "));
        EXPECT_FALSE(contains(run({name, "--write", "none"}).out, part));
        EXPECT_TRUE(contains(run({name, "--write", "none"}).out, shown_well));
        const int master = posix_openpt(O_RDWR | O_NOCTTY);
        if (master < 0) continue;
        close(master);
        for (const char* format : {"csv", "json"}) {
            const std::string shown = run({name, "--write", "none", "--format", format}, {Out::terminal}).out;
            EXPECT_FALSE(contains(shown, part)) << shown;
            EXPECT_TRUE(contains(shown, shown_well)) << shown;
        }
        const std::string listed = run({"--dry-run", name}, {Out::terminal}).out;
        EXPECT_FALSE(contains(listed, part)) << listed;
    }
}

TEST_F(CommandLine, NoSpreadsheetRunsANameOfTheResults) {
    for (const char* name : {"=1+1.png", "+a.png", "-b.png", "@c.png", "=d,\"e.png"})
        fs::copy_file(at("x.png"), at(name));
    fs::create_directory(at("=dir"));
    fs::copy_file(at("x.png"), at("=dir/x.png"));
    const Outcome outcome = run({"--group-by", "dir", "-q", "--write", "stats", "--", "=1+1.png", "+a.png", "-b.png",
                                 "@c.png", "=d,\"e.png", "=dir", "x.png", "=missing.png"});
    ASSERT_EQ(outcome.code, inputs_failed) << outcome.err;
    for (const char* file : {"stats.csv", "errors.csv", "dataset.csv"}) {
        std::istringstream lines(read_text(at("gpuhist-out") / file));
        for (std::string line; std::getline(lines, line);) {
            const char first = line[0] == '"' ? line[1] : line[0];
            EXPECT_FALSE(first == '=' || first == '+' || first == '-' || first == '@') << file << ": " << line;
        }
    }
    const std::string stats = read_text(at("gpuhist-out/stats.csv"));
    for (const char* row : {"\n./=1+1.png,16,", "\n./+a.png,", "\n./-b.png,", "\n./@c.png,", "\n\"./=d,\"\"e.png\",",
                            "\n./=dir/x.png,", "\nx.png,16,"})
        EXPECT_TRUE(contains(stats, row)) << row << '\n' << stats;
    // Standard input, and numbers, are what they are; JSON has no formulas.
    Setting from_file;
    from_file.input = at("x.png").string();
    EXPECT_TRUE(contains(run({"-", "--write", "none", "--format", "csv"}, from_file).out, "\n-,16,"));
    cv::Mat floats(8, 8, CV_32FC1, cv::Scalar(-3.5));
    save("f.tiff", floats);
    EXPECT_TRUE(contains(run({"f.tiff", "--write", "none", "--format", "csv"}).out, ",-3.5,"));
    EXPECT_TRUE(contains(run({"--write", "none", "--format", "json", "--", "=1+1.png"}).out, "\"path\":\"=1+1.png\""));
}

TEST_F(CommandLine, NamesThatAreNoUtf8AreWholeInBase64) {
    const std::string name = "a\xff\xfe.png";
    fs::create_directory(at("d\xff"));
    fs::copy_file(at("x.png"), at("d\xff/" + name));
    const Outcome outcome = run({"d\xff", "x.png", "-q", "--format", "json", "--group-by", "dir"});
    ASSERT_EQ(outcome.code, all_done) << outcome.err;
    EXPECT_TRUE(contains(outcome.out,
                         "\"path\":\"d\xef\xbf\xbd/a\xef\xbf\xbd\xef\xbf\xbd.png\","
                         "\"path_base64\":\"ZP8vYf/+LnBuZw==\","))
        << outcome.out;
    EXPECT_TRUE(contains(outcome.out, "\"path\":\"x.png\",\"width\"")) << outcome.out;
    const std::string set = read_text(at("gpuhist-out/dataset.json"));
    EXPECT_TRUE(contains(set, "\"group\":\"d\xef\xbf\xbd\",\"group_base64\":\"ZP8=\",")) << set;
}

// ------------------------------------------------------------------------------------------------- the parent process

class WithParent : public CommandLine {
  protected:
    /// Starts the program in the working directory after `prepare`, in a process that is its parent's and the test's.
    pid_t start(const Words& arguments, const std::function<void()>& prepare) const {
        Words words = arguments;
        std::vector<char*> argv;
        for (std::string& word : words) argv.push_back(word.data());
        argv.push_back(nullptr);
        const std::string err = at("err").string();
        const pid_t child = fork();
        require(child >= 0, "fork");
        if (child == 0) {
            const int file = open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
            if (file < 0 || dup2(file, 2) < 0 || chdir(directory_.c_str()) != 0) _exit(126);
            prepare();
            execv(argv[0], argv.data());
            _exit(127);
        }
        return child;
    }

    int end_of(pid_t process) const {
        int status = 0;
        require(waitpid(process, &status, 0) == process, "waitpid");
        return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    }
};

TEST_F(WithParent, EndsWithItsParentAsIfInterrupted) {
    ASSERT_EQ(mkfifo(at("list").c_str(), 0600), 0);
    ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);  // what the parent leaves behind becomes ours
    const pid_t parent = start(
        {"/bin/sh", "-c", "\"$@\" & echo $! >pid.new; mv pid.new pid; wait", "sh", from_environment("GPUHIST_PROGRAM"),
         "--files-from", "list", "--write", "stats", "-q", "--die-with-parent", "--checkpoint", "0"},
        [] {});
    const int list = open(at("list").c_str(), O_WRONLY);
    ASSERT_GE(list, 0);
    ASSERT_EQ(write(list, "x.png\n./x.png\n", 14), 14);
    while (!fs::exists(at("pid")) || !fs::exists(at("gpuhist-out/gpuhist.journal")))
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const pid_t program = std::stoi(read_text(at("pid")));
    kill(parent, SIGKILL);
    EXPECT_EQ(end_of(parent), -SIGKILL);
    EXPECT_EQ(end_of(program), was_interrupted);  // though its list goes on
    close(list);
    EXPECT_TRUE(contains(read_text(at("err")), "interrupted: ")) << read_text(at("err"));
    EXPECT_TRUE(fs::exists(at("gpuhist-out/gpuhist.journal")));
    EXPECT_FALSE(fs::exists(at("gpuhist-out/stats.csv")));
}

TEST_F(WithParent, ASystemThatCannotWatchIsNamed) {
    const pid_t program = start({from_environment("GPUHIST_PROGRAM"), "x.png", "-q", "--die-with-parent"}, [] {
        std::array<sock_filter, 4> filter{{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                                           BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 0, 1),
                                           BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
                                           BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)}};
        const sock_fprog program_of{filter.size(), filter.data()};
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program_of) != 0)
            _exit(99);
    });
    const int code = end_of(program);
    if (code == 99) GTEST_SKIP() << "this system lets no filter be set";
    EXPECT_EQ(code, usage_error);
    EXPECT_TRUE(contains(read_text(at("err")),
                         "--die-with-parent: the parent process cannot be watched: this system has "
                         "no pidfd_open"))
        << read_text(at("err"));
    EXPECT_FALSE(fs::exists(at("gpuhist-out")));
}

}  // namespace
