// Parsing of the command line: which command, its options, then what the environment and a file say.
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
#include "run/exit_code.hpp"

namespace gpuhist::app {
namespace {

using Words = std::vector<std::string>;

/// Words that an option takes from those that follow `word`; nothing where the option is unknown.
std::optional<int> values_of(const CLI::App& app, const std::string& word) {
    const bool is_long = word[1] == '-';
    const auto takes = [&](const std::string& name) -> std::optional<int> {
        const CLI::Option* const option = app.get_option_no_throw(name);
        return option ? std::optional(is_switch(*option) ? 0 : 1) : std::nullopt;
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

/// Place of the first word that is no option and no option's value; the end where there is none.
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

/// Parses the words by CLI11, and says in our words what it says of how often an option and its value stand there.
void parse_options(CLI::App& app, Words words) {
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
    left.erase(std::remove(left.begin(), left.end(), "--"), left.end());  // the mark itself, which CLI11 counts
    if (left.empty()) return;
    const bool of_run = app.get_name() == "gpuhist";
    const std::string& word = left.front();
    if (word.front() != '-')
        throw CLI::ParseError("'" + app.get_name() + "' takes no images: '" + word +
                                  "' does not belong there (a file of the command's name: ./" + app.get_name() + ")",
                              usage_error);
    Words names;
    for (const CLI::Option* option : app.get_options())
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    throw CLI::ParseError((of_run ? "no option '" : "'" + app.get_name() + "' has no option '") + word + "'" +
                              suggestion(word.substr(0, word.find('=')), names),
                          usage_error);
}

/// What the run is asked to do, where that depends on more than one option.
void conclude(const Grammar& grammar, const std::map<std::string, Source>& sources, Options& options) {
    const auto source = [&](const char* option) {
        const auto found = sources.find(option);
        return found == sources.end() ? Source::none : found->second;
    };
    const auto given = [&](const char* option) { return source(option) != Source::none; };
    options.quiet = grammar.quiet;
    options.inputs.shard = options.shard.value_or(io::ShardId{});
    if (grammar.quiet && source("--format") < source("--quiet")) options.format = "none";
    options.table_of_each = given("--format");
    for (const char* option : {"--depth", "--size", "--link", "--lut-in"})
        options.normalize = options.normalize || given(option);
    for (const std::string& option : table_options()) options.normalize = options.normalize || given(option.c_str());
    check(options, given);
    if (grammar.fail_fast) options.max_errors = 1;
    if (given("--gpu")) options.engine = "cuda";
}

void check_manifest(const ManifestOptions& options, const std::map<std::string, Source>& sources) {
    const auto given = [&](const char* option) {
        const auto found = sources.find(option);
        return found != sources.end() && found->second != Source::none;
    };
    if (!options.lines) {
        check_inputs(options.inputs, given);
        if (given("--null") && !options.inputs.files_from)
            throw Contradiction({"--null"}, "--null is about the names that --files-from reads");
        return;
    }
    for (const char* option : {"--files-from", "--null", "--no-recursive", "--follow-links", "--include", "--exclude"})
        if (given(option))
            throw Contradiction({option, "--lines"}, std::string(option) + " is about a list that --lines has made");
    if (!options.inputs.arguments.empty()) throw Contradiction({"--lines"}, "--lines names the inputs: name no others");
}

void check_merge(const MergeOptions& options) {
    const auto& directories = options.directories;
    if (directories.empty()) throw Contradiction({}, "merge: no directory: name those that hold the part files");
    if (std::count(directories.begin(), directories.end(), "") > 0 || options.output.empty())
        throw Contradiction({}, "merge: the name of a directory is empty");
}

/// Option that is left out so that a contradiction is none: the one of the weakest source, but never one of the line,
/// and never --shard, without which a run would do the work of all.
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

/// Parses the words but for what the environment and the file say of the options in `dropped`. Returns what is to be
/// left out as well, if anything, or an exit code.
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
        return print(app.help(line.command == Command::run ? "" : "gpuhist"));
    } catch (const CLI::CallForVersion&) {
        return print(version_text());
    }
    const auto sources = apply_settings(grammar, app, dropped);
    try {
        if (line.command == Command::run) conclude(grammar, sources, line.run);
        if (line.command == Command::manifest) check_manifest(line.manifest, sources);
        if (line.command == Command::merge) check_merge(line.merge);
    } catch (const Contradiction& contradiction) {
        const std::string left_out = weakest(contradiction, sources);
        if (left_out.empty()) throw;
        again = true;
        dropped.insert(left_out);
        return std::nullopt;
    }
    if (line.command == Command::manual) return print(manual(grammar));
    if (line.command == Command::completion) {
        if (grammar.shell.empty()) throw Contradiction({}, "completion: name the shell: bash, zsh or fish");
        return print(completion(grammar, grammar.shell));
    }
    line.merge.notes = line.manifest.notes = !grammar.quiet;
    line.run.style = table_style(grammar.color, line.run.plots.options.log_counts);
    return std::nullopt;
}

}  // namespace

std::optional<int> parse_command_line(int argc, const char* const* argv, CommandLine& line) {
    if (argc < 2) {
        std::fputs(Grammar(line).run.help().c_str(), stderr);
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
