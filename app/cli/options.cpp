// Options: which there are, what they say of themselves, and the fields they fill.
#include <functional>
#include <limits>
#include <tuple>
#include <utility>

#include "cli/grammar.hpp"
#include "cli/words.hpp"
#include "gpuhist/io/sink.hpp"

namespace gpuhist::app {
namespace {

template <class Value>
using Choices = std::vector<std::pair<std::string, Value>>;

/// Option that takes one of a few words.
template <class Value>
CLI::Option* add_choice(Grammar& grammar, CLI::App& app, const std::string& option, Value& value,
                        const Choices<Value>& choices, const std::string& description, const std::string& type_name) {
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
    CLI::Option* const added = app.add_option_function<std::string>(option, choose, description)->type_name(type_name);
    for (const auto& [name, chosen] : choices) grammar.choices[added].push_back(name);
    return added;
}

/// Words of choices, as a sentence lists them.
template <class Value>
std::string listed(const Choices<Value>& choices, const char* after_first = "") {
    std::string words = choices.front().first + after_first;
    for (std::size_t i = 1; i < choices.size(); ++i)
        words += (i + 1 < choices.size() ? ", " : " or ") + choices[i].first;
    return words;
}

CLI::Option* add_text(CLI::App& app, const char* option, const std::function<void(const std::string&)>& parse,
                      const char* description, const char* type_name) {
    return app.add_option_function<std::string>(option, parse, description)->type_name(type_name);
}

void add_globs(CLI::App& app, const char* option, std::vector<std::string>& globs, const char* description) {
    app.add_option(option, globs, description)->type_name("GLOB")->allow_extra_args(false);
}

template <class Value, class Limit>
CLI::Option* add_number(CLI::App& app, const std::string& option, Value& value, Limit least, Limit most,
                        const char* description, const char* type_name = "N") {
    const auto parse = [&value, option, least, most](const std::string& text) {
        value = parse_number<Limit>(option, text, least, most);
    };
    return add_text(app, option.c_str(), parse, description, type_name);
}

constexpr std::uint64_t many = std::uint64_t{1} << 62;
constexpr std::int64_t most_side = std::numeric_limits<std::int32_t>::max();

std::function<void(const std::string&)> parse_columns(Percentiles& percentiles) {
    return [&percentiles](const std::string& text) { percentiles = parse_percentile_columns(text); };
}

/// Adds the options by which inputs are listed, in a run and for a manifest: names of a list, and those of directories.
void add_list_options(CLI::App& app, InputOptions& inputs, const char* null) {
    add_text(
        app, "--files-from", [&](const std::string& path) { inputs.files_from = path; },
        "Read the names of the inputs from a file, or from\nstandard input: -; one line each", "FILE");
    app.add_flag("-0,--null", inputs.zero_separated, null);
}

void add_walk_options(CLI::App& app, InputOptions& inputs) {
    app.add_flag_callback(
        "--no-recursive", [&] { inputs.walk.recursive = false; }, "Leave out directories in directories");
    app.add_flag("--follow-links", inputs.walk.follow_links,
                 "Go into links to directories too, into each directory once");
    add_globs(app, "--include", inputs.walk.include,
              "Of directories take the files that match, whatever their\nextension; a glob with / is for the whole "
              "path in the\ndirectory; repeatable");
    add_globs(app, "--exclude", inputs.walk.exclude, "Leave out files and directories that match; repeatable");
}

void add_input_options(Grammar& grammar, CLI::App& app, Options& options) {
    app.option_defaults()->group("Input");
    add_list_options(app, options.inputs,
                     "The names end with zero bytes: find ... -print0; so do those\nthat --dry-run prints");
    add_text(
        app, "--manifest", [&](const std::string& path) { options.inputs.manifest_path = path; },
        "Take the inputs of a file that 'gpuhist manifest' made; of\nthese --shard takes neighbors, of as many bytes "
        "as others do",
        "FILE");
    app.add_flag("--dry-run", options.dry_run, "Only list the inputs, and say what is left out of directories");
    add_walk_options(app, options.inputs);
    add_text(
        app, "--pages", [&](const std::string& text) { options.inputs.pages = parse_pages(text); },
        "Measure pages, each as an image FILE#N: all, or numbers and\nranges as 1,3-5,9-; they are a set, as images of "
        "a directory.\nOf a TIFF directories but overviews, thumbnails and masks;\nframes of animated WebP and PNG, as "
        "they are shown; images\nin a netpbm file [the first of each file]",
        "PAGES");
    const auto parse_most = [&](const std::string& text) {
        options.decode.max_pixels = options.max_pixels_in_strips =
            parse_number<std::uint64_t>("--max-pixels", text, 1, many);
    };
    add_text(app, "--max-pixels", parse_most,
             "Refuse images of more pixels [1073741824; of those that are\nread in strips 68719476736]", "N");
    const Choices<io::OnDamaged> on_damaged{{"error", io::OnDamaged::error}, {"accept", io::OnDamaged::accept}};
    add_choice(grammar, app, "--on-damaged", options.decode.on_damaged, on_damaged,
               "Of damaged or truncated files: error [default], or accept\nwhat is there, which the column damage says",
               "DO");
    add_choice(grammar, app, "--on-truncated", options.decode.on_damaged, on_damaged, "", "DO")
        ->group("");  // its old name
}

void add_output_options(Grammar& grammar, CLI::App& app, Options& options) {
    app.option_defaults()->group("Output");
    const auto parse_output = [&](const std::string& directory) {
        if (directory.empty()) throw CLI::ValidationError("--output", "the name of the directory is empty");
        options.output = directory;
    };
    add_text(app, "-o,--output", parse_output, "Where files are written [gpuhist-out]", "DIR");
    app.add_flag("--force", options.force,
                 "Replace files there that gpuhist did not write, which it says; never\ninputs");
    add_text(
        app, "--write", [&](const std::string& list) { options.write = parse_writes(list); },
        "Any of stats,histogram,plot,normalized, or none\n[all of a file; of what a directory holds stats,\nand "
        "normalized where a normalization is asked for]",
        "LIST");
    Choices<std::string> formats{{"table", "table"}};
    for (const std::string& format : io::sink_formats()) formats.emplace_back(format, format);
    add_choice(grammar, app, "--format", options.format, formats,
               "Standard output: " + listed(formats) + "\n[a table; of what a directory holds, one of the whole set]",
               "FORM");
    add_choice<std::string>(grammar, app, "--color", grammar.color,
                            {{"auto", "auto"}, {"always", "always"}, {"never", "never"}},
                            "auto [default: a terminal, and NO_COLOR not set], always or never", "WHEN");
    app.add_flag("-q,--quiet", grammar.quiet, "No table unless --format asks for it, no notes; errors are still said");
}

void add_picture_options(Grammar& grammar, CLI::App& app, Options& options) {
    app.option_defaults()->group("Pictures, and the table's histogram");
    add_text(
        app, "--plot-range", [&](const std::string& text) { options.plots.range = parse_plot_range(text); },
        "auto [default]: of integers the bits in use; of floats the\nfinite values, or percentiles 0.1 to 99.9 where "
        "few outliers\nwould take half of the picture; full: of the type; or LO,HI.\nWhat lies outside is counted at "
        "the edges",
        "RANGE");
    app.add_flag("--log", options.plots.options.log_counts, "Draw histograms with logarithmic counts");
    add_text(
        app, "--plot-format", [&](const std::string& text) { options.plots.formats = parse_plot_formats(text); },
        "Any of png,svg [png]", "LIST");
    add_choice(grammar, app, "--plot-theme", options.plots.options.theme,
               {{"light", io::PlotTheme::light}, {"dark", io::PlotTheme::dark}}, "light [default] or dark paper",
               "THEME");
}

void add_statistics_options(Grammar& grammar, CLI::App& app, Options& options) {
    app.option_defaults()->group("Statistics");
    const auto parse_range = [&](const std::string& text) {
        const auto [lower, upper] = parse_pair("--range", text);
        if (lower >= upper) throw CLI::ValidationError("--range", "'" + text + "' is not LO < HI");
        options.histogram.range = Range{lower, upper};
    };
    add_choice(
        grammar, app, "--group-by", options.group_by, {{"dir", GroupBy::directory}, {"region", GroupBy::region}},
        "dir: dataset.* of each directory too; its picture is\nDIR/dataset.histogram.png, of images in "
        "none\ndataset.top.histogram.png. region: of each label or\nrectangle, over all images, without pictures",
        "WHAT");
    add_text(app, "--percentile-columns", parse_columns(options.percentiles),
             "Which percentiles have columns, up to 32, as 0.5,50,99.9\n[1,5,25,50,75,95,99]", "LIST");
    app.add_flag_callback(
        "--quality", [&options] { options.measures = Measures::quality(); },
        "Write quality.csv too: sharpness, noise and colorfulness,\none row per image");
    add_text(
        app, "--bins", [&](const std::string& text) { options.histogram.bins = parse_bins(text); },
        "Bins of the written histogram, or full: one per value [256]", "N");
    add_text(app, "--range", parse_range,
             "The range of the written histogram alone: statistics and\nplots know none [that of the type; floats: the "
             "finite\nvalues found]",
             "LO,HI");
    add_text(
        app, "--white", [&](const std::string& text) { options.white = parse_white(text); },
        "The value that stands for white in every image, to which\nclipped_high, mean_01 and std_01 refer "
        "[the image's own]",
        "V");
}

void add_validity_options(Grammar& grammar, CLI::App& app, Options& options) {
    app.option_defaults()->group("Valid pixels");
    app.add_option("--mask", options.masks,
                   "Exclude pixels where this image is 0; of a directory\nthe image of the input's name, in any format")
        ->type_name("FILE|DIR");
    const auto add_each = [&](const char* name, const std::function<void(const std::string&)>& take,
                              const char* description, const char* type) {
        app.add_option_function<std::vector<std::string>>(
               name, [take](const std::vector<std::string>& all) { std::for_each(all.begin(), all.end(), take); },
               description)
            ->type_name(type)
            ->expected(1)
            ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    };
    add_each(
        "--nodata",
        [&](const std::string& text) {
            for (const auto& value : parse_nodata(text, options.nodata_of_file))
                options.validity.nodata.push_back(value);
        },
        "Exclude samples of these values: V, nan, or tag, that\nwhich a GeoTIFF names; C:V of channel C alone; "
        "repeatable",
        "V[,V...]");
    add_each(
        "--valid", [&](const std::string& text) { options.validity.valid.push_back(parse_valid(text)); },
        "Exclude samples outside; C:LO,HI of channel C;\nrepeatable", "LO,HI");
    app.add_flag("--nodata-any", options.validity.nodata_any,
                 "Exclude a pixel in all channels where one of its samples\nis nodata [each channel for itself; luma "
                 "needs all colors]");
    app.add_option(
           "--labels", options.labels,
           "Measure the pixels of each label of this image too: rows\nof regions.csv; of a directory as --mask. "
           "0 is outside.\nOn the CPU whatever the engine: a GPU lacks skewness,\nkurtosis, entropy, unique and "
           "clipping")
        ->type_name("FILE|DIR");
    app.add_flag("--label-zero", options.label_zero, "0 is a label like others");
    add_each(
        "--roi",
        [&](const std::string& text) {
            try {
                options.rectangles.push_back(parse_rectangle(text));
            } catch (const InvalidArgument& error) {
                throw CLI::ValidationError("--roi", error.what());
            }
        },
        "A rectangle of each image, measured too, by the engine as\nimages are; repeatable", "NAME=X,Y,W,H");
    app.add_option("--rois", options.rectangles_from, "Rectangles from a CSV file of path,name,x,y,w,h")
        ->type_name("FILE");
    app.add_flag("--clip-rois", options.clip_rectangles, "Cut rectangles that leave their image [an error]");
    const auto parse_alpha = [&](const std::string& text) {
        try {
            set_alpha(options.validity, text);
        } catch (const InvalidArgument& error) {
            throw CLI::ValidationError("--alpha", error.what());
        }
    };
    const CLI::Option* const alpha =
        add_text(app, "--alpha", parse_alpha,
                 "row [default]: a row of its own; mask: exclude pixels of\nalpha 0; weight: samples count as "
                 "alpha says, integers of\n8 and 16 bits; ignore: no row",
                 "RULE");
    for (const AlphaTraits& rule : all_alpha_rules) grammar.choices[alpha].emplace_back(rule.name);
}

void add_normalization_options(Grammar& grammar, CLI::App& app, Options& options) {
    app.option_defaults()->group("Normalization");
    Choices<NormalizeMode> modes;
    for (const NormalizeTraits& traits : all_normalize_modes) modes.emplace_back(traits.name, traits.mode);
    add_choice(grammar, app, "--normalize", options.normalization.mode, modes, listed(modes, " [default]"), "MODE");
    for (const NormalizeParameter& parameter : all_normalize_parameters) {
        const std::string option = std::string("--") + parameter.name;
        const auto parse = [&options, &parameter, option](const std::string& text) {
            Normalization& of = options.normalization;
            if (parameter.second)
                std::tie(of.*parameter.first, of.*parameter.second) = parse_pair(option, text);
            else
                of.*parameter.first = parse_number<double>(option, text, parameter.least, parameter.most);
            if (!parameter.admits(of))
                throw CLI::ValidationError(option, "'" + text + "' is not " + parameter.unit_limits);
        };
        add_text(app, option.c_str(), parse, parameter.help, parameter.unit);
    }
    add_choice(grammar, app, "--channels", options.normalization.joint, {{"joint", true}, {"separate", false}},
               "Normalize the colors joint [default] or separate", "HOW");
    Choices<std::optional<Depth>> depths;
    for (const DepthTraits& traits : all_depths) depths.emplace_back(traits.name, traits.depth);
    add_choice(grammar, app, "--depth", options.normalization.depth, depths,
               "Depth of the copies: " + listed(depths) +
                   "; floats 0 to 1\n[the image's; zscore: f32, of u32, s32 and f64 f64]",
               "TYPE");
    add_choice(grammar, app, "--apply-to", options.normalization.valid_only, {{"all", false}, {"valid", true}},
               "all [default], or valid samples alone: others stay as they\nare", "WHICH");
    add_number(app, "--size", options.copy_size, std::int64_t{1}, most_side,
               "Make copies smaller, after the table: so many pixels on the\nlongest side, each the average of an area",
               "PIXELS");
    add_choice(grammar, app, "--link", options.linked, {{"dataset", true}},
               "dataset: one table for all, from the whole set", "WHAT");
    app.add_option("--lut-out", options.tables_to, "Keep the table that normalizes the whole set")->type_name("FILE");
    app.add_option("--lut-in", options.tables_from, "Normalize by a table that was kept")->type_name("FILE");
}

void add_engine_options(Grammar& grammar, CLI::App& app, Options& options) {
    app.option_defaults()->group("Engine");
    add_choice<std::string>(grammar, app, "--engine", options.engine,
                            {{"auto", "auto"}, {"cuda", "cuda"}, {"cpu", "cpu"}},
                            "auto [default], cuda or cpu; a named one that cannot run is an error", "NAME");
    add_number(app, "--gpu", options.engine_options.gpu, 0, 1023,
               "Which GPU, as 'gpuhist devices' counts [0]; asks for cuda");
    add_number(app, "--threads", options.engine_options.threads, 1, 4096,
               "CPU threads [as many as the process may run on]");
    add_text(
        app, "--memory", [&](const std::string& text) { options.memory = parse_size("--memory", text); },
        "For images in flight, as 500M or 8G [a quarter of what\nthere is]; standard input or a pipe may bring no more",
        "SIZE");
}

void add_config(Grammar& grammar, CLI::App& app) {
    app.add_option("--config", grammar.config, "Take options from a file, of lines like engine = cpu")
        ->type_name("FILE");
}

void add_run_options(Grammar& grammar, CLI::App& app, Options& options) {
    app.option_defaults()->group("Run");
    app.add_flag("--resume", options.resume, "Go on with a run that was interrupted, with its options");
    app.add_flag("--fail-fast", grammar.fail_fast, "Stop at the first input that fails");
    add_number(app, "--max-errors", options.max_errors, std::uint64_t{1}, many, "Stop when so many inputs have failed");
    add_text(
        app, "--shard", [&](const std::string& text) { options.shard = parse_shard_of(text); },
        "Measure the K-th of N parts, for 'gpuhist merge'", "K/N");
    add_number(app, "--checkpoint", options.checkpoint_seconds, 0.0, 86400.0,
               "How much work an interruption may cost [5]", "SECONDS");
    app.add_flag(
        "--die-with-parent", options.die_with_parent,
        "End, as if interrupted, when the process that started this one\nends, as a killed task of a scheduler");
    add_config(grammar, app);
}

/// Adds what every command has, at the end.
void add_help(CLI::App& app) {
    app.set_help_flag("-h,--help", "This text");
    app.allow_extras();  // to be refused in our words
}

}  // namespace

Grammar::Grammar(CommandLine& line)
    : run("Measures images: exact statistics, histograms, plots and normalized copies, on the GPU or the CPU.",
          "gpuhist") {
    const auto add_command = [this](Command command, const char* name, const char* description) -> CLI::App& {
        CLI::App& app = *commands.emplace_back(Entry{command, std::make_unique<CLI::App>(description, name)}).app;
        app.set_help_flag();  // comes last
        return app;
    };

    run.set_help_flag();
    run.add_option("INPUT", line.run.inputs.arguments, "Image files, directories, or - for standard input")
        ->type_name("")
        ->option_text("...");
    add_input_options(*this, run, line.run);
    add_output_options(*this, run, line.run);
    add_picture_options(*this, run, line.run);
    add_statistics_options(*this, run, line.run);
    add_validity_options(*this, run, line.run);
    add_normalization_options(*this, run, line.run);
    add_engine_options(*this, run, line.run);
    add_run_options(*this, run, line.run);
    run.set_version_flag("-V,--version", version_text, "The version, and what the program is made of");
    run.get_formatter()->column_width(26);
    run.footer([this] { return help_footer(*this); });
    add_help(run);

    CLI::App& manifest = add_command(Command::manifest, "manifest",
                                     "List the inputs of a run, for the machines that share it: --manifest");
    manifest.add_option("INPUT", line.manifest.inputs.arguments, "Image files and directories")
        ->type_name("")
        ->option_text("...");
    add_list_options(manifest, line.manifest.inputs, "The names end with zero bytes: find ... -print0");
    add_walk_options(manifest, line.manifest.inputs);
    add_text(
        manifest, "--lines", [&](const std::string& path) { line.manifest.lines = path; },
        "Take the lines of a manifest from a file, or from standard\ninput: -, where another program has listed what "
        "there is",
        "FILE");
    add_text(
        manifest, "-o,--output", [&](const std::string& path) { line.manifest.output = path; },
        "The file that is written [manifest.jsonl]", "FILE");
    manifest.add_flag("--force", line.manifest.force, "Replace a file there that gpuhist did not write, which it says");
    manifest.add_flag("-q,--quiet", quiet, "Print nothing; errors are still said");
    add_config(*this, manifest);
    manifest.get_formatter()->column_width(26);
    manifest.footer(
        "Writes a line of JSON an input, in the order of a run: path, name (of what is written about it), group (its\n"
        "directory), bytes and modified (nanoseconds since 1970; an etag where an object store has that instead);\n"
        "numbers from 2^53 on are text, and bytes that are no UTF-8 are {\"hex\":\"...\"}. The last line has "
        "checksums:\n"
        "a manifest that was changed is refused. Lines for --lines need no more than a path. No file is opened: pages\n"
        "are found by the run, and a line's are all of one part. A file of another length than its line says is an\n"
        "error of that input. Exit codes: 0 all done; 1 some inputs cannot be listed, which their lines say, or "
        "nothing\n"
        "is written; 2 usage; 4 output.");
    add_help(manifest);

    CLI::App& merge = add_command(Command::merge, "merge", "Make one result of the parts of a run with --shard");
    merge.add_option("DIR", line.merge.directories, "Directories that hold the part files")
        ->type_name("")
        ->option_text("...");
    add_text(
        merge, "-o,--output", [&](const std::string& directory) { line.merge.output = directory; },
        "Where files are written [gpuhist-out]", "DIR");
    add_text(
        merge, "--shard", [&](const std::string& text) { line.merge.joined = parse_shard_of(text); },
        "Make no result but the K-th of N parts, of those that a run\nwith --manifest left: a part of as many of "
        "them as others are",
        "K/N");
    merge.add_flag("--force", line.merge.force, "Replace files there that gpuhist did not write, which it says");
    merge.add_flag("-q,--quiet", quiet, "Print nothing; errors are still said");
    add_config(*this, merge);
    merge.footer(
        "Writes stats.csv, errors.csv, dataset.csv, dataset.json and pictures of the set, byte for byte those\n"
        "of a single run. Exit codes: 0 all done; 1 some inputs failed when the parts ran (errors.csv names them),\n"
        "or parts are missing or do not belong together: then nothing is written; 2 usage; 4 output.");
    add_help(merge);

    CLI::App& columns = add_command(Command::columns, "columns", "Say what each column of the results means");
    add_choice<std::string>(*this, columns, "--format", line.columns.format,
                            {{"table", "table"}, {"json", "json"}, {"markdown", "markdown"}},
                            "table [default], json or markdown", "FORM");
    add_text(columns, "--percentile-columns", parse_columns(line.columns.percentiles),
             "Which percentiles have columns [1,5,25,50,75,95,99]", "LIST");
    add_help(columns);

    CLI::App& formats =
        add_command(Command::formats, "formats", "Say which files are read, by which decoder, and what is refused");
    add_choice<std::string>(*this, formats, "--format", line.formats.format,
                            {{"table", "table"}, {"json", "json"}, {"markdown", "markdown"}},
                            "table [default], json or markdown", "FORM");
    add_help(formats);

    add_help(add_command(Command::devices, "devices",
                         "List the engines, the GPUs, which engine auto takes when, and the decoders"));

    CLI::App& shells = add_command(Command::completion, "completion", "Print the completion script of a shell");
    add_choice<std::string>(*this, shells, "SHELL", shell, {{"bash", "bash"}, {"zsh", "zsh"}, {"fish", "fish"}},
                            "bash, zsh or fish", "")
        ->option_text(" ");
    shells.footer("As in: source <(gpuhist completion bash). An installed gpuhist has brought its scripts along.");
    add_help(shells);

    add_help(add_command(Command::manual, "manual", "Print the manual page: gpuhist manual | man -l -"));
    add_help(add_command(Command::licenses, "licenses", "Print the licenses of gpuhist and of what it is made of"));
}

CLI::App& Grammar::app_of(Command command) {
    for (const Entry& entry : commands)
        if (entry.command == command) return *entry.app;
    return run;
}

bool is_settable(const CLI::Option& option) {
    return option.nonpositional() && option.get_configurable() && !option.get_lnames().empty() &&
           !option.get_group().empty();
}

std::vector<CLI::Option*> settable_options(CLI::App& app) {
    return app.get_options([](const CLI::Option* option) { return is_settable(*option); });
}

std::string long_name(const CLI::Option& option) {
    return option.get_lnames().front();
}

std::string key_of(const CLI::App& app, const CLI::Option& option) {
    return (app.get_name() == "gpuhist" ? "" : app.get_name() + '.') + long_name(option);
}

std::string variable_of(const std::string& key) {
    std::string name = "GPUHIST_";
    for (const char c : key)
        name += c == '-' || c == '.' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    return name;
}

bool is_switch(const CLI::Option& option) {
    return option.get_items_expected_max() == 0;
}

}  // namespace gpuhist::app
