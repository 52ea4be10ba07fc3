#include "cli/options.hpp"

#include <langinfo.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iostream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gpuhist/columns.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/io/report.hpp"
#include "run/exit_code.hpp"

namespace gpuhist::app {
namespace {

constexpr std::uint32_t most_bins = 1u << 24;

constexpr const char* files_and_codes =
    R"(Files, in the output directory: stats.csv, and per input NAME.histogram.csv, NAME.histogram.png and
NAME.normalized.png (.tiff for floats). NAME is the whole file name; of inputs that share it, each is
written in sub-directories named as the end of its path, as far up as tells them apart (a/x.png and
b/x.png). Images of a directory are written in a tree that mirrors it, of several directories below a
name for each; those of a list by their paths, '..' as 'up'. Standard input is '-' in the results and
writes stdin.*. An input given twice is measured once. Of more than one input: errors.csv for those
that failed (path,kind,message), and dataset.csv, .json and .histogram.png for the whole set.

An interrupted run leaves NAME.partial and a journal; the same command with --resume goes on, and ends
with the same bytes as if it had not been interrupted.

Exit codes: 0 all done, 1 some inputs failed, 2 usage, 3 engine or GPU, 4 output could not be
written, 75 another process is writing it: try again later, 130 interrupted)";

/// The columns of the results, and what else has a definition.
std::string definitions() {
    return "Definitions:\n" + column_definitions() +
           definition("luma", std::string(luma_formula(Depth::u8)) +
                                  " of the stored values, as cv::cvtColor (floats: " + luma_formula(Depth::f32) +
                                  ", each step rounded to float).") +
           definition("stretches",
                      "Percentiles that stretch are nearest-rank: the smallest v with cum(v) >= ceil(q n).") +
           definition("bins", "N equal bins over [LO, HI); values outside are counted as below and above.") + '\n';
}

CLI::ValidationError contradiction(const std::string& text) {
    return CLI::ValidationError(text);
}

std::vector<std::string> split(const std::string& list) {
    std::vector<std::string> items{""};
    for (const char byte : list) {
        if (byte == ',')
            items.emplace_back();
        else
            items.back() += byte;
    }
    return items;
}

std::pair<double, double> parse_pair(const std::string& option, const std::string& text) {
    const auto items = split(text);
    std::vector<double> values;
    for (const std::string& item : items) {
        double value = 0;
        const auto [end, status] = std::from_chars(item.data(), item.data() + item.size(), value);
        if (status == std::errc() && end == item.data() + item.size() && std::isfinite(value)) values.push_back(value);
    }
    if (items.size() != 2 || values.size() != 2)
        throw CLI::ValidationError(option, "'" + text + "' is not two numbers LO,HI");
    return {values[0], values[1]};
}

Writes parse_writes(const std::string& text) {
    Writes writes;
    const auto items = split(text);
    for (const std::string& item : items) {
        if (item == "stats")
            writes.stats = true;
        else if (item == "histogram")
            writes.histogram = true;
        else if (item == "plot")
            writes.plot = true;
        else if (item == "normalized")
            writes.normalized = true;
        else if (item != "none")
            throw CLI::ValidationError("--write", "'" + item + "' is none of stats,histogram,plot,normalized,none");
        else if (items.size() > 1)
            throw CLI::ValidationError("--write", "'none' stands alone");
    }
    return writes;
}

Percentiles parse_percentile_columns(const std::string& text) {
    constexpr const char* option = "--percentile-columns";
    std::vector<double> percents;
    for (const std::string& item : split(text)) {
        double& percent = percents.emplace_back();
        const auto [end, status] = std::from_chars(item.data(), item.data() + item.size(), percent);
        if (status != std::errc() || end != item.data() + item.size() || !std::isfinite(percent))
            throw CLI::ValidationError(option, "'" + item + "' is no number: percentiles are listed as 1,50,99.9");
    }
    try {
        return Percentiles(percents);
    } catch (const InvalidArgument& error) {
        throw CLI::ValidationError(option, error.what());
    }
}

std::uint32_t parse_bins(const std::string& text) {
    if (text == "full") return 0;
    std::uint32_t bins = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), bins);
    if (status != std::errc() || end != text.data() + text.size() || bins < 1 || bins > most_bins)
        throw CLI::ValidationError("--bins", "'" + text + "' is neither a number from 1 to 16777216 nor 'full'");
    return bins;
}

/// Bytes, with K, M, G or T for powers of 1024.
std::uint64_t parse_size(const std::string& option, const std::string& text) {
    constexpr std::string_view units = "KMGT";
    double value = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    const std::string unit(end, text.data() + text.size());
    const std::size_t power = unit.empty() ? 0 : units.find(unit.front()) + 1;
    const double bytes = std::ldexp(value, 10 * static_cast<int>(power));
    if (status != std::errc() || unit.size() > 1 || (!unit.empty() && power == 0) || !(bytes >= 1 && bytes < 0x1p62))
        throw CLI::ValidationError(option, "'" + text + "' is not a size like 500M or 8G");
    return static_cast<std::uint64_t>(bytes);
}

double parse_white(const std::string& text) {
    double white = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), white);
    if (status != std::errc() || end != text.data() + text.size() || !std::isfinite(white) || !(white > 0))
        throw CLI::ValidationError("--white", "'" + text + "' is not a number over 0, as 4095");
    return white;
}

io::ShardId parse_shard_of(const std::string& text) {
    io::ShardId shard;
    const char* const end = text.data() + text.size();
    const auto number = std::from_chars(text.data(), end, shard.number);
    const bool slash = number.ec == std::errc() && number.ptr != end && *number.ptr == '/';
    const auto count = slash ? std::from_chars(number.ptr + 1, end, shard.count) : number;
    if (!slash || count.ec != std::errc() || count.ptr != end || shard.number < 1 || shard.number > shard.count ||
        shard.count > 1000000)
        throw CLI::ValidationError("--shard", "'" + text + "' is not K/N with 1 <= K <= N");
    return shard;
}

/// Option that takes one of a few words.
template <class Value>
CLI::Option* add_choice(CLI::App& app, const std::string& option, Value& value,
                        const std::vector<std::pair<std::string, Value>>& choices, const std::string& description,
                        const std::string& type_name) {
    const auto choose = [&value, choices, option](const std::string& word) {
        std::string words;
        for (const auto& [name, chosen] : choices) {
            if (name == word) {
                value = chosen;
                return;
            }
            words += (words.empty() ? "" : ", ") + name;
        }
        throw CLI::ValidationError(option, "'" + word + "' is none of " + words);
    };
    return app.add_option_function<std::string>(option, choose, description)->type_name(type_name);
}

/// Words of choices, as a sentence lists them.
template <class Value>
std::string listed(const std::vector<std::pair<std::string, Value>>& choices, const char* after_first = "") {
    std::string words = choices.front().first + after_first;
    for (std::size_t i = 1; i < choices.size(); ++i)
        words += (i + 1 < choices.size() ? ", " : " or ") + choices[i].first;
    return words;
}

/// Words that the parser leaves for afterwards, because what they mean depends on more than one option.
struct Raw {
    std::string color = "auto";
    bool quiet = false;
    bool fail_fast = false;
    CLI::App* devices = nullptr;
    CLI::App* columns = nullptr;
    CLI::App* merge = nullptr;
};

void bind(CLI::App& app, CommandLine& line, Raw& raw) {
    Options& options = line.run;
    const auto add_text = [&](const char* option, const std::function<void(const std::string&)>& parse,
                              const char* description, const char* type_name) {
        app.add_option_function<std::string>(option, parse, description)->type_name(type_name);
    };
    const auto parse_output = [&](const std::string& directory) {
        if (directory.empty()) throw CLI::ValidationError("--output", "the name of the directory is empty");
        options.output = directory;
    };
    const auto parse_percentiles = [&](const std::string& text) {
        std::tie(options.normalization.low, options.normalization.high) = parse_pair("--percentiles", text);
        if (options.normalization.low < 0 || options.normalization.high > 100 ||
            options.normalization.low >= options.normalization.high)
            throw CLI::ValidationError("--percentiles", "'" + text + "' is not 0 <= LO < HI <= 100");
    };
    const auto parse_range = [&](const std::string& text) {
        const auto [lower, upper] = parse_pair("--range", text);
        if (lower >= upper) throw CLI::ValidationError("--range", "'" + text + "' is not LO < HI");
        options.histogram.range = Range{lower, upper};
    };

    const auto add_globs = [&](const char* option, std::vector<std::string>& globs, const char* description) {
        app.add_option(option, globs, description)->type_name("GLOB")->allow_extra_args(false);
    };
    const auto parse_memory = [&](const std::string& text) { options.memory = parse_size("--memory", text); };
    const auto parse_shard = [&](const std::string& text) { options.shard = parse_shard_of(text); };

    app.set_help_flag("-h,--help", "This text");
    app.set_version_flag("--version", "gpuhist " GPUHIST_VERSION, "The version");
    app.add_option("INPUT", options.inputs.arguments, "Image files, directories, or - for standard input")
        ->type_name("")
        ->option_text("...");
    add_text(
        "--files-from", [&](const std::string& path) { options.inputs.files_from = path; },
        "Read the names of the inputs from a file, or from\nstandard input: -; a line each", "FILE");
    app.add_flag("-0,--null", options.inputs.zero_separated, "The names end with zero bytes: find ... -print0");
    app.add_flag_callback(
        "--no-recursive", [&] { options.inputs.walk.recursive = false; }, "Leave out directories in directories");
    add_globs(
        "--include", options.inputs.walk.include,
        "Of directories only files that match; a glob with / is\nfor the whole path in the directory; repeatable");
    add_globs("--exclude", options.inputs.walk.exclude, "Leave out files and directories that match; repeatable");
    add_text("-o,--output", parse_output, "Where files are written [gpuhist-out]", "DIR");
    add_text(
        "--write", [&](const std::string& list) { options.write = parse_writes(list); },
        "Any of stats,histogram,plot,normalized, or none\n[all of a file; of what a directory holds stats,\nand "
        "normalized where a normalisation is asked for]",
        "LIST");
    add_choice(app, "--group-by", options.group_by_directory, {{"dir", true}}, "dir: dataset.* of each directory too",
               "WHAT");
    std::vector<std::pair<std::string, NormalizeMode>> modes;
    for (const NormalizeTraits& traits : all_normalize_modes) modes.emplace_back(traits.name, traits.mode);
    add_choice(app, "--normalize", options.normalization.mode, modes, listed(modes, " [default]"), "MODE");
    add_text("--percentiles", parse_percentiles, "Between which percentiles to stretch [1,99]", "LO,HI");
    const auto parse_columns = [](Percentiles& percentiles) {
        return [&percentiles](const std::string& text) { percentiles = parse_percentile_columns(text); };
    };
    add_text("--percentile-columns", parse_columns(options.percentiles),
             "Which percentiles have columns, up to 32, as 0.5,50,99.9\n[1,5,25,50,75,95,99]", "LIST");
    add_choice(app, "--channels", options.normalization.joint, {{"joint", true}, {"separate", false}},
               "Normalise the colours joint [default] or separate", "HOW");
    add_choice(app, "--link", options.linked, {{"dataset", true}}, "dataset: one table for all, from the whole set",
               "WHAT");
    app.add_option("--lut-out", options.tables_to, "Keep the table that normalises the whole set")->type_name("FILE");
    app.add_option("--lut-in", options.tables_from, "Normalise by a table that was kept")->type_name("FILE");
    add_text(
        "--bins", [&](const std::string& text) { options.histogram.bins = parse_bins(text); },
        "Bins of the written histogram, or full: one per value [256]", "N");
    add_text("--range", parse_range, "Its range [that of the type; floats: the finite values found]", "LO,HI");
    add_text(
        "--white", [&](const std::string& text) { options.white = parse_white(text); },
        "The value that stands for white in every image, to which\nclipped_high, mean_01 and std_01 refer "
        "[the image's own]",
        "V");
    app.add_flag("--log", options.log_counts, "Draw histograms with logarithmic counts");
    add_choice<std::string>(app, "--engine", options.engine, {{"auto", "auto"}, {"cuda", "cuda"}, {"cpu", "cpu"}},
                            "auto [default], cuda or cpu; a named one that cannot run is an error", "NAME");
    app.add_option("--gpu", options.engine_options.gpu, "Which GPU, as 'gpuhist devices' counts [0]; asks for cuda")
        ->check(CLI::Range(0, 1023).description(""))
        ->type_name("N");
    app.add_option("--threads", options.engine_options.threads, "CPU threads [as many as the process may run on]")
        ->check(CLI::Range(1, 4096).description(""))
        ->type_name("N");
    std::vector<std::pair<std::string, std::string>> formats{{"table", "table"}};
    for (const std::string& format : io::sink_formats()) formats.emplace_back(format, format);
    add_choice(app, "--format", options.format, formats,
               "Standard output: " + listed(formats) + "\n[a table; of what a directory holds, one of the whole set]",
               "FORM");
    app.add_option("--max-pixels", options.decode.max_pixels, "Refuse images of more pixels [1073741824]")
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 62).description(""))
        ->type_name("N");
    const std::vector<std::pair<std::string, io::OnDamaged>> on_damaged{{"error", io::OnDamaged::error},
                                                                        {"accept", io::OnDamaged::accept}};
    add_choice(app, "--on-damaged", options.decode.on_damaged, on_damaged,
               "Of damaged or truncated files: error [default], or accept\nwhat is there, which the column damage says",
               "DO");
    add_choice(app, "--on-truncated", options.decode.on_damaged, on_damaged, "", "DO")->group("");  // its old name
    app.add_flag("--resume", options.resume, "Go on with a run that was interrupted, with its options");
    app.add_flag("--fail-fast", raw.fail_fast, "Stop at the first input that fails");
    app.add_option("--max-errors", options.max_errors, "Stop when so many inputs have failed")
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 62).description(""))
        ->type_name("N");
    add_text("--shard", parse_shard, "Measure the K-th of N parts, for 'gpuhist merge'", "K/N");
    add_text("--memory", parse_memory, "For images in flight, as 500M or 8G [a quarter of what there is]", "SIZE");
    app.add_option("--checkpoint", options.checkpoint_seconds, "How much work an interruption may cost [5]")
        ->check(CLI::Range(0.0, 86400.0).description(""))
        ->type_name("SECONDS");
    app.add_flag("-q,--quiet", raw.quiet, "No table unless --format asks for it, no notes; errors are still said");
    add_choice<std::string>(app, "--color", raw.color, {{"auto", "auto"}, {"always", "always"}, {"never", "never"}},
                            "auto [default: a terminal, and NO_COLOR not set], always or never", "WHEN");
    raw.devices = app.add_subcommand("devices", "List the engines, the GPUs, and which engine auto takes and why");
    raw.devices->footer("");
    raw.devices->fallthrough();  // so that what follows it is refused in our words
    app.require_subcommand(0, 1);
    raw.columns = app.add_subcommand("columns", "Say what each column of the results means");
    raw.columns->footer("");
    raw.columns->set_help_flag("-h,--help", "This text");
    add_choice<std::string>(*raw.columns, "--format", line.columns.format,
                            {{"table", "table"}, {"json", "json"}, {"markdown", "markdown"}},
                            "table [default], json or markdown", "FORM");
    raw.columns
        ->add_option_function<std::string>("--percentile-columns", parse_columns(line.columns.percentiles),
                                           "Which percentiles have columns [1,5,25,50,75,95,99]")
        ->type_name("LIST");
    raw.merge = app.add_subcommand("merge", "Make one result of the parts of a run with --shard");
    raw.merge->set_help_flag("-h,--help", "This text");
    raw.merge->add_option("DIR", line.merge.directories, "Directories that hold the part files")
        ->type_name("")
        ->option_text("...");
    raw.merge
        ->add_option_function<std::string>(
            "-o,--output", [&](const std::string& directory) { line.merge.output = directory; },
            "Where files are written [gpuhist-out]")
        ->type_name("DIR");
    raw.merge->add_flag("-q,--quiet", raw.quiet, "Print nothing; errors are still said");
    raw.merge->footer(
        "Writes stats.csv, errors.csv, dataset.csv, dataset.json and dataset.histogram.png, byte for byte those\n"
        "of a single run. Exit codes: 0 all done; 1 some inputs failed when the parts ran (errors.csv names them),\n"
        "or parts are missing or do not belong together: then nothing is written; 2 usage; 4 output.");
}

/// Adjacent letters swapped count as one edit.
std::size_t edit_distance(const std::string& a, const std::string& b) {
    std::vector<std::vector<std::size_t>> distance(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i)
        for (std::size_t j = 0; j <= b.size(); ++j) {
            auto& here = distance[i][j];
            if (i == 0 || j == 0) {
                here = i + j;
                continue;
            }
            here = std::min(
                {distance[i - 1][j] + 1, distance[i][j - 1] + 1, distance[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                here = std::min(here, distance[i - 2][j - 2] + 1);
        }
    return distance[a.size()][b.size()];
}

/// An option that could have no effect is a misunderstanding, and said.
void check(const CLI::App& app, const CommandLine& line, const Raw& raw) {
    const Options& options = line.run;
    const auto given = [&](const char* option) { return app.count(option) > 0; };
    if (raw.devices->parsed()) {
        for (const CLI::Option* option : app.get_options())
            if (option->count() > 0)
                throw contradiction("'devices' takes no images and no options (a file of that name: ./devices)");
        return;
    }
    if (raw.columns->parsed()) {
        for (const CLI::Option* option : app.get_options())
            if (option->count() > 0)
                throw contradiction("'columns' comes first, then its own options (a file of that name: ./columns)");
        return;
    }
    if (raw.merge->parsed()) {
        for (const CLI::Option* option : app.get_options())
            if (option->count() > 0)
                throw contradiction("'merge' comes first, then its own options (a file of that name: ./merge)");
        const auto& directories = line.merge.directories;
        if (directories.empty()) throw contradiction("merge: no directory: name those that hold the part files");
        if (std::count(directories.begin(), directories.end(), "") > 0 || line.merge.output.empty())
            throw contradiction("merge: the name of a directory is empty");
        return;
    }
    if (options.inputs.files_from && !options.inputs.arguments.empty())
        throw contradiction("--files-from names the inputs: name no others");
    if (options.inputs.zero_separated && !options.inputs.files_from)
        throw contradiction("--null is about the names that --files-from reads");
    if (options.inputs.arguments.empty() && !options.inputs.files_from)
        throw contradiction("no input: name images, a directory, or - for standard input");
    if (std::count(options.inputs.arguments.begin(), options.inputs.arguments.end(), "") > 0)
        throw contradiction("an input's name is empty");

    const std::vector<std::string>& inputs = options.inputs.arguments;
    std::error_code ignored;
    const std::string word = inputs.size() == 1 ? inputs.front() : "/";
    for (const char* command : {"devices", "columns"})
        if (word.find('/') == std::string::npos && edit_distance(word, command) <= 2 &&
            !std::filesystem::exists(word, ignored))
            throw contradiction("no such file or command '" + word + "': did you mean '" + command + "'?");

    const auto is_directory = [](const std::string& input) {
        std::error_code failed;
        return input != "-" && std::filesystem::is_directory(input, failed);
    };
    for (const char* option : {"--no-recursive", "--include", "--exclude"})
        if (given(option) && std::none_of(inputs.begin(), inputs.end(), is_directory))
            throw contradiction(std::string(option) + " is about directories, and none is given");
    Writes writes{true, true, true, true};
    std::string why = "which --write leaves out";
    if (options.write) {
        writes = *options.write;
    } else if (std::all_of(inputs.begin(), inputs.end(), is_directory)) {
        writes = {true, false, false, options.normalize};
        why = "which is not written of directories unless --write says so";
    }
    for (const char* option : {"--normalize", "--percentiles", "--channels"}) {
        if (given(option) && given("--lut-in"))
            throw contradiction(std::string(option) + " is about making a table, --lut-in has one");
        if (given(option) && !writes.normalized && !given("--lut-out"))
            throw contradiction(std::string(option) + " is about the normalized image, " + why);
    }
    for (const char* option : {"--link", "--lut-in"})
        if (given(option) && !writes.normalized)
            throw contradiction(std::string(option) + " is about the normalized image, " + why);
    if (given("--lut-in") && (given("--link") || given("--lut-out")))
        throw contradiction("--lut-in brings a table: --link and --lut-out make one");
    for (const char* option : {"--link", "--lut-out"})
        if (given(option) && given("--shard"))
            throw contradiction(std::string(option) + " is about the whole set, of which --shard sees a part");
    if (given("--percentiles") && traits_of(options.normalization.mode).needs != NormalizeNeeds::ranks)
        throw contradiction("--percentiles belongs to --normalize percentile");
    const bool drawn = options.format == "table";
    for (const char* option : {"--bins", "--range"})
        if (given(option) && !writes.histogram && !writes.plot && !drawn)
            throw contradiction(std::string(option) + " is about the histogram and the plot, " + why);
    if (given("--log") && !writes.plot && !drawn) throw contradiction("--log is about the plot, " + why);
    if (options.histogram.bins == 0 && options.histogram.range)
        throw contradiction("--bins full is one bin per value of the type and takes no --range");
    if (given("--output") && !writes.any())
        throw contradiction("--output names a directory, --write none writes nothing");
    if (given("--gpu") && options.engine == "cpu") throw contradiction("--gpu does not go with --engine cpu");
    if (given("--percentile-columns") && !writes.stats && !writes.plot && options.format == "none")
        throw contradiction("--percentile-columns is about stats, " + why);
    if (given("--white") && !writes.stats && options.format == "none")
        throw contradiction("--white is about stats, " + why);
    if (given("--group-by") && !writes.stats) throw contradiction("--group-by is about dataset.*, " + why);
    for (const char* option : {"--resume", "--checkpoint", "--shard"})
        if (given(option) && !writes.any())
            throw contradiction(std::string(option) + " is about files, and --write none writes nothing");
    if (given("--shard") && !writes.stats) throw contradiction("--shard is about stats, " + why);
    if (given("--on-damaged") && given("--on-truncated")) throw contradiction("--on-truncated is --on-damaged");
    if (given("--fail-fast") && given("--max-errors")) throw contradiction("--fail-fast is --max-errors 1");
    if (options.format == "none" && !writes.any())
        throw contradiction("--quiet and --write none leave nothing to print or write");
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

}  // namespace

std::optional<int> parse_command_line(int argc, const char* const* argv, CommandLine& line) {
    Options& options = line.run;
    CLI::App app("Measures images: exact statistics, histograms, plots and normalised copies, on the GPU or the CPU.",
                 "gpuhist");
    app.footer(definitions() + files_and_codes);
    app.get_formatter()->column_width(26);
    Raw raw;
    bind(app, line, raw);
    if (argc < 2) {
        std::fputs(app.help().c_str(), stderr);
        return usage_error;
    }
    try {
        app.parse(argc, argv);
        if (app.count("--format") == 0 && raw.quiet) options.format = "none";
        options.table_of_each = app.count("--format") > 0;
        for (const char* option : {"--normalize", "--percentiles", "--channels", "--link", "--lut-in"})
            options.normalize = options.normalize || app.count(option) > 0;
        check(app, line, raw);
    } catch (const CLI::Success& request) {
        // Help and version: their text goes to standard output.
        const bool done =
            app.exit(request) == 0 && std::cout.flush() && std::fflush(stdout) == 0 && !std::ferror(stdout);
        return done ? all_done : output_failed;
    } catch (const CLI::ParseError& error) {
        std::fprintf(stderr, "gpuhist: %s\nSee gpuhist --help.\n", printable(error.what()).c_str());
        return usage_error;
    }
    if (raw.devices->parsed()) line.command = Command::devices;
    if (raw.columns->parsed()) line.command = Command::columns;
    if (raw.merge->parsed()) line.command = Command::merge;
    line.merge.notes = !raw.quiet;
    options.quiet = raw.quiet;
    if (raw.fail_fast) options.max_errors = 1;
    if (app.count("--gpu") > 0) options.engine = "cuda";
    options.style = table_style(raw.color, options.log_counts);
    return std::nullopt;
}

}  // namespace gpuhist::app
