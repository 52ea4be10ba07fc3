// Parsing of the command line: the command, its options, and then values from the environment and a file.
#include <langinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "cli/contradictions.hpp"
#include "cli/grammar.hpp"
#include "cli/settings.hpp"
#include "cli/words.hpp"
#include "run/companions.hpp"
#include "run/exit_code.hpp"

namespace gpuhist::app {
namespace {

using Words = std::vector<std::string>;

/// Number of following words that an option takes; nothing if the option is unknown.
std::optional<int> values_of(const CLI::App& app, const std::string& word) {
    const bool is_long = word[1] == '-';
    const auto takes = [&](const std::string& name) -> std::optional<int> {
        const CLI::Option* const option = app.get_option_no_throw(name);
        return option ? std::optional(is_switch(*option) ? 0 : option->get_expected_min()) : std::nullopt;
    };
    if (is_long) {
        const std::size_t equals = word.find('=');
        const auto values = takes(word.substr(0, equals));
        return values && equals != word.npos ? 0 : values;
    }
    for (std::size_t i = 1; i < word.size(); ++i) {  // -q0o DIR, -q0oDIR
        const auto values = takes({'-', word[i]});
        if (values != 0) return values && i + 1 < word.size() ? 0 : values;
    }
    return 0;
}

/// Place of the first word that is neither an option nor the value of one; the end if there is none.
std::size_t first_word(const CLI::App& app, const Words& words) {
    for (std::size_t at = 0; at < words.size(); ++at) {
        const std::string& word = words[at];
        if (word.size() < 2 || word.front() != '-') return at;
        const auto values = word == "--" ? std::nullopt : values_of(app, word);
        if (!values) break;
        at += static_cast<std::size_t>(*values);
    }
    return words.size();
}

/// Takes the name of a command out of the words. A first word that is no file, but nearly a command, is refused.
Command take_command(const Grammar& grammar, Words& words) {
    const std::size_t at = first_word(grammar.run, words);
    if (at == words.size()) return Command::run;
    const std::string word = words[at];
    std::vector<std::string> names;
    for (const Grammar::Entry& entry : grammar.commands) {
        if (word == entry.name()) {
            words.erase(words.begin() + static_cast<std::ptrdiff_t>(at));
            return entry.command;
        }
        names.push_back(entry.name());
    }
    std::error_code ignored;
    if (word.find('/') == word.npos && !std::filesystem::exists(std::filesystem::symlink_status(word, ignored)))
        if (const std::string meant = suggestion(word, names); !meant.empty())
            throw CLI::ParseError("no such file or command '" + word + "'" + meant, usage_error);
    return Command::run;
}

/// Option that an error of CLI11's is about; nothing where it names none.
const CLI::Option* option_of(const CLI::App& app, const std::string& error) {
    for (const CLI::Option* option : app.get_options())
        for (const std::string& name : option->get_lnames())
            if (const std::size_t at = error.find("--" + name); at != error.npos)
                if (const std::size_t end = at + 2 + name.size(); error[end] == ':' || error[end] == ' ') return option;
    return nullptr;
}

/// Marks inputs like [dir] by a byte that no word has, and takes the marks off again: CLI11 would read a list.
void mark_brackets(const CLI::App& app, Words& words) {
    bool options_end = false;
    for (std::size_t at = 0; at < words.size(); ++at) {
        std::string& word = words[at];
        if (!options_end && word.size() > 1 && word.front() == '-') {
            options_end = word == "--";
            if (!options_end) at += static_cast<std::size_t>(values_of(app, word).value_or(0));
        } else if (word.size() > 1 && word.front() == '[' && word.back() == ']') {
            word += '\0';
        }
    }
}
void take_marks(Words& words) {
    for (std::string& word : words)
        if (!word.empty() && word.back() == '\0') word.pop_back();
}

/// Parses the words with CLI11, and words its errors about repeated options and missing values in our way.
void parse_options(CLI::App& app, Words words) {
    mark_brackets(app, words);
    std::reverse(words.begin(), words.end());  // as CLI11 takes them
    try {
        app.parse(std::move(words));
    } catch (const CLI::ArgumentMismatch& error) {
        const CLI::Option* const option = option_of(app, error.what());
        if (!option) throw;
        const std::string name = "--" + long_name(*option);
        if (option->count() > 1) throw CLI::ParseError(name + " is given twice", usage_error);
        throw CLI::ParseError(name + " needs a value: " + name + ' ' + option->get_type_name(), usage_error);
    } catch (const CLI::ConversionError& error) {  // of a switch, the only ones whose values CLI11 converts
        const CLI::Option* const option = option_of(app, error.what());
        if (!option || option->results().empty()) throw;
        throw CLI::ParseError(
            "--" + long_name(*option) + ": '" + option->results().back() + "' is neither true nor false", usage_error);
    }
}

/// Parses the words by the options of a command.
void parse(CLI::App& app, Words words) {
    parse_options(app, std::move(words));
    Words left = app.remaining();
    take_marks(left);
    left.erase(std::remove(left.begin(), left.end(), "--"), left.end());  // the mark itself, which CLI11 counts
    if (left.empty()) return;
    const bool of_run = app.get_name() == "gpuhist";
    const std::string& word = left.front();
    if (word.front() != '-')
        throw CLI::ParseError("'" + app.get_name() + "' takes no images: '" + word +
                                  "' is not an option (to measure a file with the command's name, write ./" +
                                  app.get_name() + ")",
                              usage_error);
    Words names;
    for (const CLI::Option* option : app.get_options())
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    throw CLI::ParseError((of_run ? "no option '" : "'" + app.get_name() + "' has no option '") + word + "'" +
                              suggestion(word.substr(0, word.find('=')), names),
                          usage_error);
}

/// Sets which values are nodata: that depends on all words for it.
void conclude_nodata(const Grammar& grammar, Options& options) {
    const NodataWords& nodata = grammar.nodata;
    if (nodata.tag && nodata.none)
        throw Contradiction({"--nodata"}, "--nodata none ignores what files declare, but tag uses it");
    options.validity.nodata = nodata.values.nodata;
    options.validity.nodata_of_bands = nodata.values.nodata_of_bands;
    options.nodata_of_file = nodata.tag || (nodata.values == Validity() && !nodata.none);
    options.masks_of_file = !nodata.none;
}

/// Sets requests for the run that depend on more than one option.
void conclude(const Grammar& grammar, const std::map<std::string, Source>& sources, Options& options) {
    const auto source = [&](const char* option) {
        const auto found = sources.find(option);
        return found == sources.end() ? Source::none : found->second;
    };
    const auto given = [&](const char* option) { return source(option) != Source::none; };
    options.quiet = grammar.quiet;
    if (given("--report")) {
        if (options.measures.empty()) options.measures = Measures::quality();
        options.keep_thumbnails = true;
    }
    options.inputs.shard = options.shard.value_or(io::ShardId{});
    if (grammar.quiet && source("--format") < source("--quiet")) options.format = "none";
    options.table_of_each = given("--format");
    for (const char* option : {"--depth", "--size", "--link", "--lut-in"})
        options.normalize = options.normalize || given(option);
    for (const std::string& option : table_options()) options.normalize = options.normalize || given(option.c_str());
    conclude_nodata(grammar, options);
    check(options, given);
    if (grammar.fail_fast) options.max_errors = 1;
    if (given("--gpu") || given("--gpus")) options.engine = "cuda";
}

void check_manifest(const ManifestOptions& options, const std::map<std::string, Source>& sources) {
    const auto given = [&](const char* option) {
        const auto found = sources.find(option);
        return found != sources.end() && found->second != Source::none;
    };
    if (!options.lines) {
        check_inputs(options.inputs, given);
        if (given("--null") && !options.inputs.files_from)
            throw Contradiction({"--null"}, "--null applies to names that --files-from reads");
        return;
    }
    for (const char* option : {"--files-from", "--null", "--no-recursive", "--follow-links", "--include", "--exclude"})
        if (given(option))
            throw Contradiction({option, "--lines"}, std::string(option) + " has no effect with --lines");
    if (!options.inputs.arguments.empty())
        throw Contradiction({"--lines"}, "--lines already names the inputs: give no others");
}

void check_merge(const MergeOptions& options) {
    const auto& directories = options.directories;
    if (directories.empty())
        throw Contradiction({}, "merge: no directory: name the directories that hold the part files");
    if (std::count(directories.begin(), directories.end(), "") > 0 || options.output.empty())
        throw Contradiction({}, "merge: the name of a directory is empty");
}

void check_duplicates(const DuplicatesOptions& options) {
    const auto& results = options.results;
    if (results.empty()) throw Contradiction({}, "duplicates: no results: name directories with quality.csv");
    if (std::count(results.begin(), results.end(), "") > 0 || options.output.empty())
        throw Contradiction({}, "duplicates: the name of a directory is empty");
    for (std::size_t i = 0; i < results.size(); ++i)
        if (std::count(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(i), results[i]) > 0)
            throw Contradiction({}, "duplicates: " + results[i] + " is given twice");
    if (options.between.empty()) return;
    if (std::count(options.between.begin(), options.between.end(), "") > 0)
        throw Contradiction({"--between"}, "--between: the name of a set is empty");
    if (options.between[0] == options.between[1])
        throw Contradiction({"--between"}, "--between: name two sets, not '" + options.between[0] + "' twice");
}

void check_gate(const GateOptions& options) {
    const auto& directories = options.directories;
    if (options.print_policy) {
        if (!directories.empty()) throw Contradiction({}, "gate: --print-policy checks nothing: give no directory");
        return;
    }
    if (directories.size() != 1 || directories.front().empty())
        throw Contradiction({}, "gate: name one directory with the results of a run");
    if (options.policy.empty())
        throw Contradiction(
            {}, "gate: no policy: give --policy FILE; 'gpuhist gate --print-policy' prints one to start from");
}

void check_compare(const CompareOptions& options, const std::map<std::string, Source>& sources) {
    const auto given = [&](const char* option) {
        const auto found = sources.find(option);
        return found != sources.end() && found->second != Source::none;
    };
    const auto& sets = options.sets;
    if (options.print_policy) {
        if (!sets.empty()) throw Contradiction({}, "compare: --print-policy compares nothing: name no sets");
        return;
    }
    if (options.each ? sets.empty() || sets.size() > 2 : sets.size() != 2)
        throw Contradiction({}, options.each ? "compare: name a reference and a set, or one set, with --each"
                                             : "compare: name two images, directories of images, or results");
    if (std::count(sets.begin(), sets.end(), "") > 0 || options.output.empty())
        throw Contradiction({}, "compare: the name of a set or directory is empty");
    for (const char* option : {"--at-most", "--metric"})
        if (given(option) && !options.each) throw Contradiction({option}, std::string(option) + " needs --each");
    if (options.each && options.by_directory)
        throw Contradiction({"--each", "--group-by"}, "--each compares images, but --group-by compares directories");
}

void check_same(const SameOptions& options) {
    if (options.trees.size() != 2) throw Contradiction({}, "same: name two images, or two directories");
    if (std::count(options.trees.begin(), options.trees.end(), "") > 0 || options.output.empty())
        throw Contradiction({}, "same: the name of an image or directory is empty");
}

/// Checks the options of a command that looks at the pixels of a set itself. `name` is that of the command.
void check_set(const Options& options, const std::map<std::string, Source>& sources, const std::string& name) {
    const auto given = [&](const char* option) {
        const auto found = sources.find(option);
        return found != sources.end() && found->second != Source::none;
    };
    const InputOptions& inputs = options.inputs;
    check_inputs(inputs, given);
    if (std::count(inputs.arguments.begin(), inputs.arguments.end(), "-") > 0 || inputs.files_from == "-")
        throw Contradiction({}, name + ": standard input can be read only once: give files");
    if (given("--null") && !inputs.files_from)
        throw Contradiction({"--null"}, "--null applies to names that --files-from reads");
    if (options.output.empty()) throw Contradiction({"--output"}, name + ": the name of a directory is empty");
    check_companions(options);
    if (options.validity.alpha == AlphaRule::weight || options.validity.alpha == AlphaRule::ignore)
        throw Contradiction({"--alpha"}, std::string("--alpha ") + traits_of(options.validity.alpha).name +
                                             " has no meaning for '" + name + "': give row or mask");
    const bool nodata =
        options.nodata_of_file || !options.validity.nodata.empty() || !options.validity.nodata_of_bands.empty();
    if (given("--nodata-any") && !nodata && !given("--valid"))
        throw Contradiction({"--nodata-any"}, "--nodata-any needs --nodata or --valid");
    if (options.decode.array && given("--pages"))
        throw Contradiction({"--raw", "--pages"},
                            "--pages needs formats with pages, but --raw reads files without one");
}

void check_stack(StackOptions& options, const std::map<std::string, Source>& sources) {
    check_set(options.run, sources, "stack");
    if (!options.run.inputs.pages && !options.run.decode.array) options.run.inputs.pages = parse_pages("all");
    if (options.run.shard && options.writes.has(StackStatistic::median))
        throw Contradiction(
            {"--write", "--shard"},
            "--write median needs the samples of all images at once, but --shard stacks a part of them");
    for (const char* option : {"--sigmas", "--most"})
        if (const auto found = sources.find(option);
            found != sources.end() && found->second != Source::none && !options.writes.pixels)
            throw Contradiction({option},
                                std::string(option) + " applies to stack.pixels.csv, which --write leaves out");
}

void check_joint(JointOptions& options, const std::map<std::string, Source>& sources) {
    check_set(options.run, sources, "joint");
    const auto given = [&](const char* option) {
        const auto found = sources.find(option);
        return found != sources.end() && found->second != Source::none;
    };
    if (options.pairs.empty() && options.with.empty())
        throw Contradiction({}, "joint: name two channels, for example --channels red,green");
    for (std::size_t i = 0; i < options.pairs.size(); ++i)
        for (std::size_t j = 0; j < i; ++j)
            if (options.pairs[i].first == options.pairs[j].first && options.pairs[i].second == options.pairs[j].second)
                throw Contradiction({"--channels"}, "--channels " + options.pairs[i].first + ',' +
                                                        options.pairs[i].second + " is given twice");
    std::error_code failed;
    if (!options.with.empty() && !is_pattern(options.with) && !std::filesystem::exists(options.with, failed))
        throw Contradiction({"--with"}, "--with: " + options.with + " does not exist");
    if (given("--plot-theme") && options.writes && !options.writes->plot)
        throw Contradiction({"--plot-theme"}, "--plot-theme applies to pictures, which --write leaves out");
}

void check_check(const CheckOptions& options) {
    if (options.inputs.size() != 2)
        throw Contradiction({}, "check: name a file with mean and std, and then images or results");
    if (std::count(options.inputs.begin(), options.inputs.end(), "") > 0)
        throw Contradiction({}, "check: the name of a file or set is empty");
}

void check_verify(const VerifyOptions& options, const std::map<std::string, Source>& sources) {
    if (options.directories.size() != 1 || options.directories.front().empty())
        throw Contradiction({}, "verify: name one directory with the results of a run");
    check_space_and_alpha(options.run);
    const auto seed = sources.find("--seed");
    if (seed != sources.end() && seed->second != Source::none && !options.sample)
        throw Contradiction({"--seed"}, "--seed needs --sample");
}

void check_report(const ReportOptions& options) {
    if (options.directories.size() != 1 || options.directories.front().empty())
        throw Contradiction({}, "report: name one directory with the results of a run");
    if (options.output.empty()) throw Contradiction({"--output"}, "report: the name of the file is empty");
}

/// Option to drop in order to resolve a contradiction: the one from the weakest source, but never one from the command
/// line, and never --shard, because without it the run would do the work of all shards.
std::string weakest(const Contradiction& contradiction, const std::map<std::string, Source>& sources) {
    std::string weakest;
    Source least = Source::line;
    for (const std::string& option : contradiction.options())
        if (const auto found = sources.find(option); found != sources.end() && found->second < least) {
            weakest = option;
            least = found->second;
        }
    return weakest == "--shard" ? "" : weakest;
}

TableStyle table_style(const std::string& color, bool log_counts) {
    const auto set = [](const char* variable) {
        const char* value = std::getenv(variable);
        return value && *value;
    };
    const char* terminal = std::getenv("TERM");
    const bool wanted = isatty(STDOUT_FILENO) && !set("NO_COLOR") && terminal && std::strcmp(terminal, "dumb") != 0;
    TableStyle style;
    style.color = color == "always" || (color == "auto" && wanted);
    style.unicode = std::strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    style.log_counts = log_counts;
    return style;
}

/// Prints a text about the command line.
int print(const std::string& text) {
    const bool done = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
    return done ? all_done : output_failed;
}

/// The text that `help TOPIC` asks for.
std::string help_asked(Grammar& grammar) {
    if (grammar.topic.empty()) return help(grammar);
    std::vector<std::string> names;
    for (const Topic& topic : all_topics()) {
        if (grammar.topic == topic.name) return help_on(topic, grammar);
        names.emplace_back(topic.name);
    }
    for (const Grammar::Entry& entry : grammar.commands) {
        if (grammar.topic == entry.name()) return help_of(*entry.app);
        names.push_back(entry.name());
    }
    throw Contradiction({}, "help: no topic or command '" + grammar.topic + "'" + suggestion(grammar.topic, names));
}

/// Parses the words. Values of the options in `dropped` that come from the environment or the file are ignored. Returns
/// further options to drop, if there are any, or an exit code.
std::optional<int> parse_once(Words words, CommandLine& line, std::set<std::string>& dropped, bool& again) {
    static const CommandLine empty;
    line = empty;
    again = false;
    Grammar grammar(line);
    line.command = take_command(grammar, words);
    CLI::App& app = grammar.app_of(line.command);
    try {
        parse(app, words);
    } catch (const CLI::CallForHelp&) {
        return print(line.command == Command::run ? help(grammar) : help_of(app));
    } catch (const CLI::CallForVersion&) {
        return print(version_text());
    }
    for (Words* inputs : {&line.run.inputs.arguments, &line.manifest.inputs.arguments, &line.merge.directories,
                          &line.duplicates.results, &line.gate.directories, &line.compare.sets, &line.same.trees,
                          &line.stack.run.inputs.arguments, &line.joint.run.inputs.arguments, &line.check.inputs,
                          &line.verify.directories, &line.report.directories})
        take_marks(*inputs);
    const auto sources = apply_settings(grammar, app, dropped);
    try {
        if (line.command == Command::run) conclude(grammar, sources, line.run);
        if (line.command == Command::manifest) check_manifest(line.manifest, sources);
        if (line.command == Command::merge) check_merge(line.merge);
        if (line.command == Command::duplicates) check_duplicates(line.duplicates);
        if (line.command == Command::gate) check_gate(line.gate);
        if (line.command == Command::compare) check_compare(line.compare, sources);
        if (line.command == Command::same) check_same(line.same);
        if (line.command == Command::stack) {
            conclude_nodata(grammar, line.stack.run);
            check_stack(line.stack, sources);
        }
        if (line.command == Command::joint) {
            conclude_nodata(grammar, line.joint.run);
            check_joint(line.joint, sources);
        }
        if (line.command == Command::check) check_check(line.check);
        if (line.command == Command::report) check_report(line.report);
        if (line.command == Command::verify) {
            conclude_nodata(grammar, line.verify.run);
            check_verify(line.verify, sources);
        }
    } catch (const Contradiction& contradiction) {
        const std::string left_out = weakest(contradiction, sources);
        if (left_out.empty()) throw;
        again = true;
        dropped.insert(left_out);
        return std::nullopt;
    }
    if (line.command == Command::manual) return print(manual(grammar));
    if (line.command == Command::help) return print(help_asked(grammar));
    if (line.command == Command::completion) {
        if (grammar.shell.empty()) throw Contradiction({}, "completion: name the shell: bash, zsh or fish");
        return print(completion(grammar, grammar.shell));
    }
    line.merge.notes = line.manifest.notes = line.duplicates.notes = line.gate.notes = line.compare.notes =
        line.same.notes = line.stack.notes = line.joint.notes = line.check.notes = line.verify.notes =
            line.report.notes = !grammar.quiet;
    line.run.style = table_style(grammar.color, line.run.plots.options.log_counts);
    return std::nullopt;
}

}  // namespace

std::optional<int> parse_command_line(int argc, const char* const* argv, CommandLine& line) {
    if (argc < 2) {
        std::fputs(first_screen().c_str(), stderr);
        return usage_error;
    }
    std::string wrong;
    try {
        std::set<std::string> dropped;
        for (bool again = true; again;)
            if (const auto code = parse_once(Words(argv + 1, argv + argc), line, dropped, again)) return code;
        return std::nullopt;
    } catch (const CLI::ParseError& error) {
        wrong = error.what();
    } catch (const Contradiction& error) {
        wrong = error.what();
    }
    std::fprintf(stderr, "gpuhist: %s\nSee gpuhist --help.\n", printable(wrong).c_str());
    return usage_error;
}

}  // namespace gpuhist::app
