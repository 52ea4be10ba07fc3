// Options: their names, their descriptions, and the fields that they fill.
#include <algorithm>
#include <functional>
#include <limits>
#include <tuple>
#include <utility>

#include "cli/grammar.hpp"
#include "cli/words.hpp"
#include "gpuhist/duplicates.hpp"
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
        throw CLI::ValidationError(option, "'" + word + "' is not one of " + words +
                                               (word == "parquet" ? std::string(": ") + parquet_remedy : ""));
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

/// Repeatable option: one value each time.
void add_each(CLI::App& app, const char* option, const std::function<void(const std::string&)>& take,
              const char* description, const char* type_name) {
    const auto take_all = [take](const std::vector<std::string>& all) { std::for_each(all.begin(), all.end(), take); };
    app.add_option_function<std::vector<std::string>>(option, take_all, description)
        ->type_name(type_name)
        ->allow_extra_args(false);
}

void add_globs(CLI::App& app, const char* option, std::vector<std::string>& globs, const char* description) {
    add_each(
        app, option, [&globs](const std::string& glob) { globs.push_back(glob); }, description, "GLOB");
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
        "Read input names from a file, or from - (stdin)\nOne name per line. A carriage return at the end of a "
        "line and a byte-order mark are not part of a name, except with -0.",
        "FILE");
    app.add_flag("-0,--null", inputs.zero_separated, null);
}

void add_walk_options(CLI::App& app, InputOptions& inputs) {
    app.add_flag_callback(
        "--no-recursive", [&] { inputs.walk.recursive = false; }, "Do not enter subdirectories");
    app.add_flag("--follow-links", inputs.walk.follow_links, "Enter links to directories, each directory once");
    add_globs(app, "--include", inputs.walk.include,
              "Take matching files, whatever their extension\nApplies to the files of directories. A glob with / is "
              "matched against the path within the directory. Repeatable.");
    add_globs(app, "--exclude", inputs.walk.exclude,
              "Leave out matching files and directories\nApplies to the files of directories. Repeatable.");
}

CLI::Option* add_pages(CLI::App& app, Options& options, const char* help) {
    return add_text(
        app, "--pages", [&](const std::string& text) { options.inputs.pages = parse_pages(text); }, help, "PAGES");
}

void add_raw(CLI::App& app, Options& options) {
    add_text(
        app, "--raw", [&](const std::string& text) { options.decode.array = parse_raw(text); },
        "Inputs are raw samples: u16,WIDTH,HEIGHT[,CHANNELS[,OFFSET]]\nThe samples lie row by row, channels "
        "interleaved, from the byte OFFSET [0] to the end of the file. u16 is one of the sample types, little-endian, "
        "and u16be is big-endian. Take the files of a directory with --include '*.raw'.",
        "LAYOUT");
}

Choices<io::OnDamaged> ways_with_damage() {
    return {{"error", io::OnDamaged::error}, {"accept", io::OnDamaged::accept}};
}

CLI::Option* add_on_damaged(Grammar& grammar, CLI::App& app, Options& options) {
    return add_choice(grammar, app, "--on-damaged", options.decode.on_damaged, ways_with_damage(),
                      "Damaged files: error [default] or accept\naccept measures damaged and truncated files too, with "
                      "the pixels that the decoder makes of them. The column damage says damaged or truncated.",
                      "DO");
}

void add_input_options(Grammar& grammar, CLI::App& app, Options& options) {
    app.option_defaults()->group("Inputs");
    add_list_options(app, options.inputs,
                     "Names end with zero bytes, as from find -print0\nApplies to the names that --files-from reads "
                     "and --dry-run prints.");
    add_text(
        app, "--manifest", [&](const std::string& path) { options.inputs.manifest_path = path; },
        "Take the inputs from a file of 'gpuhist manifest'\nA shard takes consecutive lines, and all shards get "
        "about the same number of bytes.",
        "FILE")
        ->group("Machines and interruption");
    app.add_flag("--dry-run", options.dry_run,
                 "List the inputs without measuring them\nAlso counts what was left out of directories.");
    add_walk_options(app, options.inputs);
    add_pages(app, options,
              "Measure pages: all, or for example 1,3-5 [the first]\nEach page is an image of its own, FILE#N, and the "
              "pages form a set, like the images of a directory.")
        ->group("Pages");
    app.add_flag("--split-pages", options.split_pages,
                 "Write the copy of each page to a file of its own\nBy default, the copies of a TIFF's pages are the "
                 "pages of one TIFF.")
        ->group("Pages");
    add_raw(app, options);
    const auto parse_most = [&](const std::string& text) {
        options.decode.max_pixels = options.max_pixels_in_strips =
            parse_number<std::uint64_t>("--max-pixels", text, 1, many);
    };
    add_text(app, "--max-pixels", parse_most,
             "Refuse images with more pixels [1073741824]\nThe default for images that are read in strips is "
             "68719476736.",
             "N");
    add_text(
        app, "--decoder",
        [&](const std::string& word) {
            if (word != "own" && word != "opencv" && word != "compare")
                throw CLI::ValidationError("--decoder", "'" + word + "' is not one of own, opencv, compare");
            options.by_opencv = word == "opencv";
            options.compare_decoders = word == "compare";
        },
        "Decoders: own [default], opencv or compare\nopencv reads every image by cv::imread(IMREAD_UNCHANGED), formats "
        "that gpuhist does not know included; rows then have a column decoder. compare reads one image or directory by "
        "both, and writes same.csv: which images differ, in how many samples, and by how much.",
        "WHICH");
    add_on_damaged(grammar, app, options)->group("Errors");
    add_choice(grammar, app, "--on-truncated", options.decode.on_damaged, ways_with_damage(), "", "DO")
        ->group("");  // its old name
}

void add_output_options(Grammar& grammar, CLI::App& app, Options& options) {
    app.option_defaults()->group("Outputs");
    const auto parse_output = [&](const std::string& directory) {
        if (directory.empty()) throw CLI::ValidationError("--output", "the name of the directory is empty");
        options.output = directory;
    };
    add_text(app, "-o,--output", parse_output, "Directory for files [gpuhist-out]", "DIR");
    app.add_flag(
        "--force", options.force,
        "Replace files that gpuhist did not write, but never inputs\ngpuhist names the files that it replaces.");
    add_text(
        app, "--write", [&](const std::string& list) { options.write = parse_writes(list); },
        "Any of stats,histogram,plot,normalized,parquet, or none\nThe default is all but parquet for single files, and "
        "stats for directories and pages, with normalized if you ask for a normalization. parquet needs "
        "python -m gpuhist.",
        "LIST");
    Choices<std::string> formats{{"table", "table"}};
    for (const std::string& format : io::sink_formats()) formats.emplace_back(format, format);
    add_choice(
        grammar, app, "--format", options.format, formats,
        "Print " + listed(formats) + " for each image\nThe default is a table of a single image, or of the whole set.",
        "FORM");
    add_choice<std::string>(grammar, app, "--color", grammar.color,
                            {{"auto", "auto"}, {"always", "always"}, {"never", "never"}},
                            "auto [default], always or never\nauto colors tables on a terminal, unless NO_COLOR is "
                            "set.",
                            "WHEN");
    app.add_flag("-q,--quiet", grammar.quiet,
                 "Print errors only\nNo notes, and no table unless --format asks for one.");
}

/// Adds the option for a page about the results.
void add_report_option(CLI::App& app, Options& options) {
    add_text(
        app, "--report", [&options](const std::string& path) { options.report = path; },
        "Write a page about the results, for a browser\nImplies --quality.", "FILE.html");
}

/// Adds the options that keep exact counts, and thumbnails.
void add_keep_options(CLI::App& app, Options& options) {
    app.add_flag("--keep-counts", options.keep_counts,
                 "Keep exact counts, for 'gpuhist compare'\nWrites counts.json, and counts.values for long lists of "
                 "floats.");
    app.add_flag_callback(
        "--keep-image-counts", [&options] { options.keep_counts = options.keep_image_counts = true; },
        "Keep exact counts of each image too\nWrites image_counts.csv. Images with more than 4 MiB of counts, or too "
        "many different floats, have none.");
    app.add_flag(
        "--keep-thumbnails", options.keep_thumbnails,
        "Keep pictures of unusual images, for 'gpuhist report'\nWrites thumbnails.json. Needs --quality; --report "
        "implies it.");
}

void add_picture_options(Grammar& grammar, CLI::App& app, Options& options) {
    app.option_defaults()->group("Pictures");
    add_text(
        app, "--plot-range", [&](const std::string& text) { options.plots.range = parse_plot_range(text); },
        "auto [default], full (the type's range), or LO,HI\nauto draws unsigned integers over the bits in use, s8 and "
        "s16 from the lowest to the highest value, and other types from the finite minimum to the maximum, or between "
        "percentiles 0.1 and 99.9 if these cover less than half of that range. Values outside are counted at the "
        "edges.",
        "RANGE");
    app.add_flag("--log", options.plots.options.log_counts, "Draw logarithmic counts");
    add_text(
        app, "--plot-format", [&](const std::string& text) { options.plots.formats = parse_plot_formats(text); },
        "Any of png,svg [png]", "LIST");
    add_choice(grammar, app, "--plot-theme", options.plots.options.theme,
               {{"light", io::PlotTheme::light}, {"dark", io::PlotTheme::dark}}, "light [default] or dark paper",
               "THEME");
}

void add_engine(Grammar& grammar, CLI::App& app, std::string& engine, const std::string& help) {
    add_choice<std::string>(grammar, app, "--engine", engine, {{"auto", "auto"}, {"cuda", "cuda"}, {"cpu", "cpu"}},
                            help, "NAME");
}

void add_white(CLI::App& app, Options& options) {
    add_text(
        app, "--white", [&](const std::string& text) { options.white = parse_white(text); },
        "Value of white in every image [the image's own]\nclipped_high, mean_01 and std_01 refer to it.", "V");
}

void add_space(Grammar& grammar, CLI::App& app, Options& options) {
    Choices<std::optional<ColorSpace>> spaces;
    for (const ColorSpaceTraits& space : all_color_spaces) spaces.emplace_back(space.name, space.space);
    add_choice(grammar, app, "--space", options.space, spaces,
               "Measure colors as hsv, ycbcr, lab, xyz, linear or oklab\nIn hsv, ycbcr and lab, u8 stays u8, as "
               "cv::cvtColor makes it; all other images become f32. Gray is measured as a color. Copies are normalized "
               "by lightness (of hsv, the value), and become colors again.",
               "SPACE");
}

void add_group_by(Grammar& grammar, CLI::App& app, Options& options) {
    add_choice(
        grammar, app, "--group-by", options.group_by,
        {{"dir", GroupBy::directory}, {"file", GroupBy::file}, {"key", GroupBy::key}, {"region", GroupBy::region}},
        "Also describe each dir, file, key or region\ndir adds the numbers of each directory to dataset.*, and a "
        "picture DIR/dataset.histogram.png; images that are not in a subdirectory have dataset.top.histogram.png. "
        "file does so for each file of several pages. key adds the numbers of the images whose paths are the same up "
        "to "
        "the first dot of their names, as in WebDataset; region adds the numbers of each label or rectangle over all "
        "images, without pictures.",
        "WHAT");
}

void add_clip_sigma(CLI::App& app, Options& options) {
    add_number(app, "--clip-sigma", options.clip_sigma, 0.1, 100.0,
               "Clip beyond K standard deviations [3]\nSamples further from the median are taken out. clipped_mean and "
               "clipped_std describe the samples that are left once no more are clipped.",
               "K");
}

void add_quality_scale(CLI::App& app, Options& options) {
    add_number(app, "--quality-scale", options.quality_scale, std::int64_t{3}, most_side,
               "Shrink images to measure sharpness and noise\nLarger images are first shrunk to this length of the "
               "longest side, by averaging areas, so that images of different sizes are comparable.",
               "PIXELS");
}

void add_statistics_options(Grammar& grammar, CLI::App& app, Options& options) {
    app.option_defaults()->group("Statistics");
    const auto parse_range = [&](const std::string& text) {
        const auto [lower, upper] = parse_pair("--range", text);
        if (lower >= upper) throw CLI::ValidationError("--range", "'" + text + "' is not LO,HI with LO < HI");
        options.histogram.range = Range{lower, upper};
    };
    add_group_by(grammar, app, options);
    add_text(
        app, "--percentile-columns", parse_columns(options.percentiles),
        "Columns of percentiles [1,5,25,50,75,95,99]\nUp to 32, with fractions if you like, for example 0.5,50,99.9.",
        "LIST");
    app.add_flag(
        "--robust", options.robust,
        "Add columns that outliers hardly affect\nmad, clipped_mean, clipped_std and clipped_share, for images, "
        "regions and sets. The CPU counts the values of f32 images once more.");
    add_clip_sigma(app, options);
    app.add_flag_callback(
        "--quality", [&options] { options.measures = Measures::quality(); },
        "Measure quality, and flag unusual images\nWrites quality.csv, with one row per image: sharpness, noise, "
        "brightness and others. dataset.quality.csv has their mean, minimum and maximum. flags.csv has one row per "
        "image and flag: dark, blurry, duplicate and others.");
    add_quality_scale(app, options);
    app.add_option("--policy", options.policy,
                   "Read the thresholds of the flags from a file\n'gpuhist gate --print-policy' prints one to start "
                   "from.")
        ->type_name("FILE");
    add_text(
        app, "--bins", [&](const std::string& text) { options.histogram.bins = parse_bins(text); },
        "Bins of the histogram file, or full [256]\nfull is one bin per value.", "N");
    add_text(app, "--range", parse_range,
             "Range of the histogram file\nThe default is the range of the type, or of the finite values for floats. "
             "Statistics and pictures do not depend on it.",
             "LO,HI");
    add_white(app, options);
    app.option_defaults()->group("Color spaces");
    add_space(grammar, app, options);
}

void add_validity_options(Grammar& grammar, CLI::App& app, Options& options) {
    app.option_defaults()->group("Valid pixels");
    app.add_option("--mask", options.masks,
                   "Exclude pixels where this image is 0\nA directory has one mask per input, with the name of the "
                   "input, but the extension of any format. A pattern is filled for each input, for example "
                   "'{dir}/{stem}_mask.png'.")
        ->type_name("FILE|DIR");
    add_each(
        app, "--nodata", [&grammar](const std::string& text) { parse_nodata(text, grammar.nodata); },
        "Exclude values: numbers, nan, tag or none [tag]\ntag is the value that a GeoTIFF declares. none ignores what "
        "files declare, including their masks. C:V excludes V in channel C only. Repeatable.",
        "V[,V...]");
    add_each(
        app, "--valid", [&](const std::string& text) { parse_valid(text, options.validity); },
        "Exclude samples outside of LO to HI\nLO, and ,HI leave the other end open. C:LO,HI applies to channel C. "
        "Repeatable.",
        "LO,HI");
    app.add_flag("--nodata-any", options.validity.nodata_any,
                 "Exclude a pixel if any of its samples is nodata\nBy default each channel excludes its own samples, "
                 "and luma excludes a pixel if one of its colors is nodata.");
    const auto parse_alpha = [&](const std::string& text) {
        try {
            set_alpha(options.validity, text);
        } catch (const InvalidArgument& error) {
            throw CLI::ValidationError("--alpha", error.what());
        }
    };
    const CLI::Option* const alpha =
        add_text(app, "--alpha", parse_alpha,
                 "row [default], mask, weight or ignore\nrow: alpha is a channel with a row of its own. mask: exclude "
                 "pixels of alpha 0. weight: weigh samples with alpha of u8, u16 or f16. ignore: no row.",
                 "RULE");
    for (const AlphaTraits& rule : all_alpha_rules) grammar.choices[alpha].emplace_back(rule.name);
}

void add_region_options(CLI::App& app, Options& options) {
    app.option_defaults()->group("Regions");
    app.add_option("--labels", options.labels,
                   "Measure the pixels of each label of this image\nA directory has one label image per input, as with "
                   "--mask. A pattern is filled for each input, for example 'masks/{stem}_cp_masks.tif'. Several label "
                   "images have names: cells=FILE,nuclei=FILE. Label 0 is outside of all regions. The CPU measures "
                   "labels, even with --engine cuda, "
                   "because a GPU does not compute all of their numbers.")
        ->type_name("FILE|DIR");
    app.add_flag("--label-zero", options.label_zero, "Treat label 0 as a region");
    add_each(
        app, "--roi",
        [&](const std::string& text) {
            try {
                options.rectangles.push_back(parse_rectangle(text));
            } catch (const InvalidArgument& error) {
                throw CLI::ValidationError("--roi", error.what());
            }
        },
        "Measure this rectangle of each image\nRectangles are measured on the engine, like whole images. Repeatable.",
        "NAME=X,Y,W,H");
    app.add_option("--rois", options.rectangles_from,
                   "Read rectangles from CSV, or outlines from .roi, .zip, .geojson\nThe columns of the CSV file are "
                   "path,name,x,y,w,h. ImageJ writes .roi and RoiSet.zip; GeoJSON has polygons in pixels. A pattern is "
                   "filled for each input, for example 'rois/{stem}.zip'.")
        ->type_name("FILE");
    app.add_flag("--clip-rois", options.clip_rectangles,
                 "Clip rectangles to their image\nBy default, an image fails if a rectangle extends beyond it.");
}

/// Adds the options for the parameters of the exact modes, or of all other modes.
void add_parameters(CLI::App& app, Options& options, bool exact) {
    for (const NormalizeParameter& parameter : all_normalize_parameters) {
        if (parameter.modes.has(NormalizeMode::percentile) != exact) continue;
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
    for (const NormalizeWord& word : all_normalize_words) {
        if (exact) break;
        const std::string option = std::string("--") + word.name;
        const auto parse = [&options, &word, option](const std::string& text) {
            if (!word.set(options.normalization, text))
                throw CLI::ValidationError(option, "'" + text + "' is not " + word.words);
        };
        add_text(app, option.c_str(), parse, word.help, word.unit);
    }
}

void add_normalization_options(Grammar& grammar, CLI::App& app, Options& options) {
    app.option_defaults()->group("Copies");
    Choices<NormalizeMode> modes;
    for (const NormalizeTraits& traits : all_normalize_modes) modes.emplace_back(traits.name, traits.mode);
    add_choice(grammar, app, "--normalize", options.normalization.mode, modes, listed(modes, " [default]"), "MODE");
    add_parameters(app, options, true);
    add_choice(grammar, app, "--channels", options.normalization.joint, {{"joint", true}, {"separate", false}},
               "joint [default] or separate tables for the colors\njoint: one table for all colors. separate: one "
               "table per channel.",
               "HOW");
    Choices<std::optional<Depth>> depths;
    for (const DepthTraits& traits : all_depths) depths.emplace_back(traits.name, traits.depth);
    add_choice(
        grammar, app, "--depth", options.normalization.depth, depths,
        "Sample type of the copies [the image's]\n" + listed(depths) +
            ". Floats are fractions from 0 to 1. zscore and robust write floats: f32, or f64 for u32, s32 and f64.",
        "TYPE");
    add_choice(grammar, app, "--apply-to", options.normalization.valid_only, {{"all", false}, {"valid", true}},
               "Map all [default] pixels, or only valid ones\nvalid: pixels that masks, alpha or --valid exclude stay "
               "as they are. Nodata is never mapped.",
               "WHICH");
    add_text(
        app, "--fill", [&](const std::string& text) { options.normalization.fill = parse_fill(text); },
        "Value to write in place of nodata in copies\nFor integers, it must be the lowest or the highest value of the "
        "type; valid samples then get other values. By default, nodata keeps its value. In copies of another type, it "
        "becomes NaN in floats and 0 in integers.",
        "V");
    add_number(app, "--size", options.copy_size, std::int64_t{1}, most_side,
               "Shrink copies to this length of the longest side\nEach pixel is the average of the valid pixels that "
               "it covers, after the table is applied.",
               "PIXELS");
    Choices<io::TiffCompression> compressions;
    for (const auto compression :
         {io::TiffCompression::none, io::TiffCompression::lzw, io::TiffCompression::deflate, io::TiffCompression::zstd})
        compressions.emplace_back(io::to_string(compression), compression);
    add_choice(
        grammar, app, "--compression", options.compression, compressions,
        "none, lzw, deflate [default] or zstd for TIFFs\nCopies that are TIFF files are compressed without loss, "
        "by the differences of neighboring samples.",
        "HOW");
    add_number(app, "--png-level", options.png_level, 0, 9,
               "Compress PNG copies by this level [1]\n0 does not compress, and 9 takes longest.", "N");
    add_choice(grammar, app, "--link", options.linked, {{"dataset", true}},
               "dataset: one table for all images of the set", "WHAT");
    app.add_option("--lut-out", options.tables_to, "Write the table of the set, for one --depth")->type_name("FILE");
    app.add_option("--lut-in", options.tables_from, "Apply a table that --lut-out wrote")->type_name("FILE");
}

void add_tone_options(CLI::App& app, Options& options) {
    app.option_defaults()->group("Tone");
    add_parameters(app, options, false);
    app.add_option("--reference", options.reference, "Image whose histogram --normalize match gives to copies")
        ->type_name("FILE");
}

void add_threads_and_memory(CLI::App& app, Options& options) {
    add_number(app, "--threads", options.engine_options.threads, 1, 4096,
               "CPU threads [one per processor that gpuhist may use]");
    add_text(
        app, "--memory", [&](const std::string& text) { options.memory = parse_size("--memory", text); },
        "Memory for images, such as 500M or 8G [a quarter]\nThe default is a quarter of the available memory. Standard "
        "input and pipes must fit into it.",
        "SIZE");
}

void add_engine_options(Grammar& grammar, CLI::App& app, Options& options) {
    app.option_defaults()->group("Engine");
    add_engine(grammar, app, options.engine,
               "auto [default], cuda or cpu\nIt is an error to name an engine that cannot run.");
    add_text(
        app, "--gpus",
        [&](const std::string& text) {
            options.gpus = parse_gpus(text);
            options.all_gpus = options.gpus.empty();
        },
        "GPUs: numbers in 'gpuhist devices', or all [0]\nImplies --engine cuda. Several share the work: each image "
        "goes "
        "to the GPU that has the least to do. If one fails, the others do its work.",
        "LIST");
    add_number(app, "--gpu", options.engine_options.gpu, 0, 1023, "")->group("");  // the earlier name, for one GPU
    add_choice(
        grammar, app, "--jpeg-on", options.jpeg_on,
        {{"auto", JpegOn::automatic}, {"cpu", JpegOn::cpu}, {"gpu", JpegOn::gpu}},
        "Decode JPEGs on the GPU: auto [default], cpu or gpu\nauto decodes on the GPU while the engine works there. "
        "The pixels are the same. The CPU decodes files that the GPU does not, such as progressive ones.",
        "WHERE");
    add_threads_and_memory(app, options);
}

void add_config(Grammar& grammar, CLI::App& app) {
    app.add_option("--config", grammar.config, "Read options from a file of lines like engine = cpu")
        ->type_name("FILE");
}

void add_run_options(Grammar& grammar, CLI::App& app, Options& options) {
    app.option_defaults()->group("Errors");
    app.add_flag("--fail-fast", grammar.fail_fast, "Stop at the first input that fails");
    add_number(app, "--max-errors", options.max_errors, std::uint64_t{1}, many, "Stop once N inputs have failed");
    app.option_defaults()->group("Machines and interruption");
    app.add_flag("--resume", options.resume, "Continue an interrupted run, with its options");
    add_text(
        app, "--shard", [&](const std::string& text) { options.shard = parse_shard_of(text); },
        "Measure the K-th of N parts, for 'gpuhist merge'", "K/N");
    add_number(app, "--checkpoint", options.checkpoint_seconds, 0.0, 86400.0,
               "Seconds of work that an interruption may cost [5]", "SECONDS");
    app.add_flag("--die-with-parent", options.die_with_parent,
                 "Stop when the parent process ends\nThe run ends as if you had interrupted it, for example when a "
                 "scheduler kills its task.");
    app.option_defaults()->group("Configuration");
    add_config(grammar, app);
}

/// Adds the options of a command that looks at the pixels of a set itself. `pages` is the help of --pages.
void add_set_options(Grammar& grammar, CLI::App& app, Options& options, const char* pages) {
    app.option_defaults()->group("Inputs");
    add_list_options(app, options.inputs, "Names end with zero bytes, as from find -print0");
    add_walk_options(app, options.inputs);
    add_pages(app, options, pages);
    add_raw(app, options);
    add_on_damaged(grammar, app, options);
    add_validity_options(grammar, app, options);
    app.option_defaults()->group("Running");
    add_threads_and_memory(app, options);
    add_text(
        app, "--shard", [&](const std::string& text) { options.shard = parse_shard_of(text); },
        "Take the K-th of N parts of the images, for 'gpuhist merge'", "K/N");
    app.add_flag(
        "--force", options.force,
        "Replace files that gpuhist did not write, but never inputs\ngpuhist names the files that it replaces.");
    app.add_flag("-q,--quiet", grammar.quiet, "Print errors only");
    add_config(grammar, app);
}

/// Adds the last options, which every command has.
void add_help(CLI::App& app) {
    app.set_help_flag("-h,--help", "Print help");
    app.allow_extras();  // to be refused in our words
}

}  // namespace

Grammar::Grammar(CommandLine& line) : run("Measures images exactly, on a GPU or on the CPU.", "gpuhist") {
    const auto add_command = [this](Command command, const char* name, const char* description) -> CLI::App& {
        CLI::App& app = *commands.emplace_back(Entry{command, std::make_unique<CLI::App>(description, name)}).app;
        app.set_help_flag();  // comes last
        return app;
    };

    run.set_help_flag();
    run.add_option("INPUT", line.run.inputs.arguments, "An image file, a directory, or - for standard input")
        ->type_name("")
        ->option_text("...");
    add_input_options(*this, run, line.run);
    add_output_options(*this, run, line.run);
    add_report_option(run, line.run);
    add_keep_options(run, line.run);
    add_picture_options(*this, run, line.run);
    add_statistics_options(*this, run, line.run);
    add_validity_options(*this, run, line.run);
    add_region_options(run, line.run);
    add_normalization_options(*this, run, line.run);
    add_tone_options(run, line.run);
    add_engine_options(*this, run, line.run);
    add_run_options(*this, run, line.run);
    run.set_version_flag("-V,--version", version_text, "Print the versions of gpuhist and its libraries");
    add_help(run);

    CLI::App& manifest = add_command(Command::manifest, "manifest", "List the inputs of a run that machines share");
    manifest.add_option("INPUT", line.manifest.inputs.arguments, "An image file or a directory")
        ->type_name("")
        ->option_text("...");
    add_list_options(manifest, line.manifest.inputs, "Names end with zero bytes, as from find -print0");
    add_walk_options(manifest, line.manifest.inputs);
    add_text(
        manifest, "--lines", [&](const std::string& path) { line.manifest.lines = path; },
        "Make a manifest from lines of another program\nReads a file, or standard input: -. A line needs only a path.",
        "FILE");
    add_text(
        manifest, "-o,--output", [&](const std::string& path) { line.manifest.output = path; },
        "Name of the manifest [manifest.jsonl]", "FILE");
    manifest.add_flag("--force", line.manifest.force, "Replace a file that gpuhist did not write\ngpuhist names it.");
    manifest.add_flag("-q,--quiet", quiet, "Print errors only");
    add_config(*this, manifest);
    manifest.footer(
        R"(A manifest has one line of JSON per input, in the order of a run: path, name (for the files about this input), group (its directory), bytes and modified (nanoseconds since 1970, or an etag from an object store). Numbers from 2^53 on are written as text, and bytes that are not UTF-8 as {"hex":"..."}.

The last line has checksums: gpuhist refuses a manifest that was edited. This command opens no image. A run finds the pages of a file, and measures all of them in one part. If the size of a file differs from its line, this input fails.

Exit codes: 0 all done; 1 some inputs can't be listed (their lines say why), or nothing was written; 2 the command line is wrong; 4 output failed; 65 --lines is damaged.)");
    add_help(manifest);

    CLI::App& merge = add_command(Command::merge, "merge", "Merge the parts of a run with --shard into one result");
    merge.add_option("DIR", line.merge.directories, "A directory with part files")->type_name("")->option_text("...");
    add_text(
        merge, "-o,--output", [&](const std::string& directory) { line.merge.output = directory; },
        "Directory for files [gpuhist-out]", "DIR");
    add_text(
        merge, "--shard", [&](const std::string& text) { line.merge.joined = parse_shard_of(text); },
        "Join parts into the K-th of N larger parts\nUse it if a run with --manifest has too many parts for one merge. "
        "Each larger part joins the same number of parts.",
        "K/N");
    merge.add_flag("--force", line.merge.force,
                   "Replace files that gpuhist did not write\ngpuhist names the files that it replaces.");
    merge.add_flag("-q,--quiet", quiet, "Print errors only");
    add_config(*this, merge);
    merge.footer(
        R"(Writes stats.csv, errors.csv, dataset.csv, dataset.json and the pictures of the set, with the same bytes as a single run. Parts of 'gpuhist same' become its same.csv, with its exit codes. Parts of 'gpuhist stack' and 'gpuhist joint' become their files.

Exit codes: 0 all done; 1 some inputs failed when the parts ran (errors.csv names them); 2 the command line is wrong; 4 output failed; 65 parts are missing, damaged or don't belong together, and nothing was written.)");
    add_help(merge);

    CLI::App& duplicates = add_command(Command::duplicates, "duplicates", "Find equal and similar images in results");
    duplicates.add_option("RESULTS", line.duplicates.results, "A directory with results of --quality")
        ->type_name("")
        ->option_text("...");
    add_text(
        duplicates, "-o,--output", [&](const std::string& directory) { line.duplicates.output = directory; },
        "Directory for groups.csv [gpuhist-out]", "DIR");
    add_number(duplicates, "--distance", line.duplicates.distance, 0, most_distance,
               "Most bits by which similar images differ [4]\nThe hashes have 64 bits. With 0, similar images have "
               "equal hashes.",
               "BITS");
    add_choice<std::string>(*this, duplicates, "--hash", line.duplicates.hash, {{"dhash", "dhash"}, {"phash", "phash"}},
                            "Hash of similar images: dhash [default] or phash\ndhash finds more of the cropped images, "
                            "and mistakes fewer different images for similar ones.",
                            "HASH");
    const auto take_sets = [&](const std::vector<std::string>& names) {
        if (names.size() != 2) throw CLI::ValidationError("--between", "it takes two sets: --between A B");
        line.duplicates.between = names;
    };
    duplicates
        .add_option_function<std::vector<std::string>>(
            "--between", take_sets,
            "Find images of one set in another set: leaks\nA set is one of the results, or the images below a "
            "directory. gpuhist looks for duplicates only between the two sets, and says from which set an image leaks "
            "to which.")
        ->type_name("A B")
        ->expected(2)
        ->allow_extra_args(false);
    duplicates.add_flag("--force", line.duplicates.force,
                        "Replace a file that gpuhist did not write\ngpuhist names the file that it replaces.");
    duplicates.add_flag("-q,--quiet", quiet, "Print errors only");
    add_config(*this, duplicates);
    duplicates.footer(
        R"(Writes groups.csv, with one row per image of a group: group, path, distance, kept. Two images are in one group if their pixels are equal, if their hashes differ in at most --distance bits, or if other images of the group link them. The first image of a group is kept; distance is the number of bits by which a hash differs from its hash. A hash of 0 says nothing, because all uniform images have it: only the pixels of such images are compared.

Exit codes: 0 all done, with or without duplicates; 2 the command line is wrong; 4 output failed; 65 results are missing or have no hashes, and nothing was written.)");
    add_help(duplicates);

    CLI::App& gate = add_command(Command::gate, "gate", "Check the results of --quality against a policy");
    gate.add_option("DIR", line.gate.directories, "The directory with the results of a run")
        ->type_name("")
        ->option_text(" ");
    gate.add_option("--policy", line.gate.policy, "The policy: a file of JSON")->type_name("FILE");
    gate.add_flag("--print-policy", line.gate.print_policy,
                  "Print the policy, with all flags, and check nothing\nWithout --policy, prints one to start from.");
    add_text(
        gate, "--junit", [&](const std::string& path) { line.gate.junit = path; }, "Write a report as JUnit XML",
        "FILE");
    gate.add_flag("--github", line.gate.github, "Print annotations for GitHub Actions");
    gate.add_flag("--force", line.gate.force, "Replace a file that gpuhist did not write\ngpuhist names it.");
    gate.add_flag("-q,--quiet", quiet, "Print broken rules and errors only");
    add_config(*this, gate);
    gate.footer(
        R"(Prints one line per broken rule. The rules of a policy are under 'gate': the largest number of failed inputs, the largest share of images with each flag, ranges for numbers of the set, and directories that must not share images. gate finds the flags again in stats.csv and quality.csv, with the thresholds of this policy.

Example:
  gpuhist data/ --quality -o results
  gpuhist gate --print-policy > policy.json
  gpuhist gate results --policy policy.json --junit report.xml

Exit codes: 0 all rules are kept; 2 the command line is wrong; 4 output failed; 5 rules are broken; 65 the policy is invalid, or the directory lacks a table.)");
    add_help(gate);

    CLI::App& compare = add_command(Command::compare, "compare", "Compare two sets, two images, or images with a set");
    compare.add_option("SET", line.compare.sets, "The reference A, then B: images, directories, or results")
        ->type_name("")
        ->option_text("...");
    add_text(
        compare, "-o,--output", [&](const std::string& directory) { line.compare.output = directory; },
        "Directory for comparison.csv and the picture [gpuhist-out]", "DIR");
    compare.add_flag("--each", line.compare.each,
                     "Compare each image of B with A\nWithout B, compare the images of A with each other.");
    const auto parse_most = [&](const std::string& text) {
        line.compare.at_most = parse_number<double>("--at-most", text, 0.0, std::numeric_limits<double>::max());
    };
    add_text(compare, "--at-most", parse_most, "With --each, leave out images that are further apart", "D");
    Choices<std::string> metrics;
    for (const char* metric : {"wasserstein", "jensen_shannon", "ks", "psi", "bhattacharyya", "chi_square"})
        metrics.emplace_back(metric, metric);
    add_choice(*this, compare, "--metric", line.compare.metric, metrics,
               "Distance for --each: " + listed(metrics, " [default]"), "NAME");
    add_choice(*this, compare, "--group-by", line.compare.by_directory, {{"dir", true}},
               "Also compare each dir of A with that of B", "WHAT");
    compare.add_option("--policy", line.compare.policy, "Limits for the numbers: a file of JSON")->type_name("FILE");
    compare.add_flag("--print-policy", line.compare.print_policy,
                     "Print the policy and compare nothing\nWithout --policy, prints one to start from.");
    Choices<std::string> printed{{"table", "table"}};
    for (const std::string& format : io::sink_formats()) printed.emplace_back(format, format);
    add_choice(*this, compare, "--format", line.compare.format, printed, "Print " + listed(printed, " [default]"),
               "FORM");
    add_engine(*this, compare, line.compare.engine,
               "Engine for images that must be measured: auto [default], cuda or cpu");
    compare.add_flag("--force", line.compare.force,
                     "Replace files that gpuhist did not write\ngpuhist names the files that it replaces.");
    compare.add_flag("-q,--quiet", quiet, "Print broken limits and errors only");
    add_config(*this, compare);
    compare.footer(
        R"(A and B are images, directories of images, or directories with results. Images are measured. Results are read if a run kept counts (--keep-counts, or --keep-image-counts for --each); else their images are measured again, and must give the same numbers.

Writes comparison.csv, with one row per channel: differences of mean and std, the metrics of cv::compareHist, earth mover's distance, Jensen-Shannon distance, Kolmogorov-Smirnov's D and population stability index, all from exact counts ('gpuhist columns' defines them), and comparison.svg. Sets of different depths or whites are compared in fractions of white.

Words on the terminal: same: all shares are equal; shifted by: smd is 0.1 or more; wider or narrower by: the ratio of stds is over 1.1; other shape: psi is 0.1 or more.

A policy has limits under 'compare'. Without these, smd may be from -0.1 to 0.1, std_ratio from 0.9 to 1.1, and psi at most 0.1.

Example:
  gpuhist last-month/ --keep-counts -o last
  gpuhist compare last this-month/ --policy policy.json

Exit codes: 0 all done; 1 some images could not be measured; 2 the command line is wrong; 4 output failed; 5 a number is outside of the limits of --policy; 65 sets can't be compared, or counts are missing or damaged.)");
    add_help(compare);

    CLI::App& same = add_command(Command::same, "same", "Tell whether two images or trees have the same pixels");
    same.add_option("IMAGES", line.same.trees, "Two images, or two directories of images")
        ->type_name("")
        ->option_text("...");
    add_text(
        same, "-o,--output", [&](const std::string& directory) { line.same.output = directory; },
        "Directory for same.csv [gpuhist-out]", "DIR");
    add_choice(*this, same, "--format", line.same.format, printed, "Print " + listed(printed, " [default]"), "FORM");
    add_text(
        same, "--shard", [&](const std::string& text) { line.same.shard = parse_shard_of(text); },
        "Compare the K-th of N parts of the pairs, for 'gpuhist merge'", "K/N");
    same.add_flag("--resume", line.same.resume,
                  "Continue an interrupted comparison\nPairs whose files have changed since, and all after them, are "
                  "compared again.");
    same.add_flag("--force", line.same.force,
                  "Replace files that gpuhist did not write\ngpuhist names the files that it replaces.");
    same.add_flag("-q,--quiet", quiet, "Print errors only");
    add_config(*this, same);
    same.footer(
        R"(Images of two directories are matched by their paths, without extensions. Writes same.csv, with one row per pair: identical (same type and samples), widened (another type or white, and all samples follow by one rule, such as u8 x 257 for u16) or different: how many samples, by how much at most and on average, PSNR, and where the largest difference is. 'gpuhist columns' defines the numbers. Samples are compared as they are stored; only the first page of a file is.

Exit codes: 0 all pairs are identical or widened; 1 images could not be read; 2 the command line is wrong; 4 output failed; 5 pairs differ, or images have no counterpart; 65 a directory is missing, or has no images.)");
    add_help(same);

    CLI::App& stack = add_command(Command::stack, "stack", "Compute the mean, std and more of each pixel over a set");
    stack.add_option("INPUT", line.stack.run.inputs.arguments, "Images of one size, files of pages, or directories")
        ->type_name("")
        ->option_text("...");
    add_text(
        stack, "-o,--output", [&](const std::string& directory) { line.stack.run.output = directory; },
        "Directory for stack.*.tiff and stack.pixels.csv [gpuhist-out]", "DIR");
    add_text(
        stack, "--write", [&](const std::string& list) { line.stack.writes = parse_stack_writes(list); },
        "Any of mean,std,min,max,count,median,pixels, or all\nThe default is all but median, which needs the samples "
        "of "
        "all images at once: images are read again for each band of rows that fits into --memory.",
        "LIST");
    add_number(stack, "--sigmas", line.stack.sigmas, 0.0, 1e6,
               "List pixels beyond K robust sigmas as hot or cold [10]\nThe columns of stack.pixels.csv define them.",
               "K");
    add_number(stack, "--most", line.stack.most_pixels, std::uint64_t{0}, many,
               "List at most N pixels per channel and kind [1000]\nThe first stuck ones, and the hottest and coldest "
               "ones. The terminal has the numbers of all.");
    add_set_options(*this, stack, line.stack.run,
                    "Stack pages: all [default], or for example 1,3-5\nEach page of a file is an image.");
    stack.footer(
        R"(All images must have the same sides, sample type and channels: a film in one TIFF, the frames of a directory, exposures of a sky. Writes one TIFF per statistic: mean and std (of the population) as f32, or as f64 for u32, s32 and f64; min, max and median in the type of the images; count, the number of valid samples, as u32. The median of an even number is the lower one. All numbers are exact before they are rounded once, and depend neither on the order of the images nor on --threads. Pixels without a valid sample are NaN in floats, and in integers the nodata value, or 0 without one.

stack.pixels.csv lists pixels that never change (stuck), and those whose mean stands out among their neighbors (hot, cold).

If the sums take more than half of --memory, the images are read again for each band of rows. --shard K/N writes the sums of a part of the images, and 'gpuhist merge' makes the files of a single command from all parts.

Example:
  gpuhist stack film.tif -o out
  gpuhist stack frames/ --write mean,std,median --mask mask.png

Exit codes: 0 all done; 1 an image can't be read or differs from the first one, and nothing was written; 2 the command line is wrong; 4 output failed.)");
    add_help(stack);

    CLI::App& joint = add_command(Command::joint, "joint", "Count the pixels of images by two channels at once");
    joint.add_option("INPUT", line.joint.run.inputs.arguments, "Images, or directories")
        ->type_name("")
        ->option_text("...");
    add_text(
        joint, "-o,--output", [&](const std::string& directory) { line.joint.run.output = directory; },
        "Directory for joint.csv and the counts [gpuhist-out]", "DIR");
    add_each(
        joint, "--channels", [&](const std::string& text) { line.joint.pairs.push_back(parse_channel_pair(text)); },
        "Two channels, for example red,green or 0,4:64\nChannels have the names in stats.csv (luma too), or numbers "
        "from 0. BINS is the number of bins of each [256], at most 4096: u8 has one per value. Repeatable.",
        "A,B[:BINS]");
    joint
        .add_option("--with", line.joint.with,
                    "Take the second channel from another image of this size\nA directory has one per input, with the "
                    "name of the input, but the extension of any format. A pattern is filled for each input, for "
                    "example '{dir}/{stem}_b.png'. Without --channels, each channel is counted with that of the same "
                    "name.")
        ->type_name("FILE|DIR");
    const auto parse_range = [&](const std::string& text) {
        const auto [lower, upper] = parse_pair("--range", text);
        if (lower >= upper) throw CLI::ValidationError("--range", "'" + text + "' is not LO,HI with LO < HI");
        line.joint.range = Range{lower, upper};
    };
    add_text(joint, "--range", parse_range,
             "Range of the bins of both channels\nThe default is the range of the type for integers of 8 and 16 bits, "
             "or that of the valid samples of each image. Only images with the same bins can be added up for a set.",
             "LO,HI");
    add_text(
        joint, "--write", [&](const std::string& list) { line.joint.writes = parse_joint_writes(list); },
        "Any of csv,npy,plot, or none, for each image\nThe default is all for a single image, and for the set of "
        "several images, but none for each of these.",
        "LIST");
    add_choice(*this, joint, "--plot-theme", line.joint.theme,
               {{"light", io::PlotTheme::light}, {"dark", io::PlotTheme::dark}}, "light [default] or dark paper",
               "THEME");
    add_space(*this, joint, line.joint.run);
    add_set_options(*this, joint, line.joint.run,
                    "Count pages: all, or for example 1,3-5 [the first]\nEach page is an image of its own, FILE#N.");
    joint.footer(
        R"(A pixel counts if both of its samples are valid. joint.csv has one row per image and pair, and one per pair for all images, without a path: the covariance and Pearson's correlation of the samples, from exact sums, and the mutual information of the bins. 'gpuhist columns' defines them.

NAME.joint.A-B.csv has one row per pair of bins with pixels: first, second (the lower edges) and count. NAME.joint.A-B.npy is the array of all counts, and NAME.joint.A-B.png a picture. NAME is dataset for all images of a set.

--shard K/N counts a part of the images, and 'gpuhist merge' makes joint.csv and the files of the set from all parts, with the same bytes as a single command.

Example:
  gpuhist joint photo.png --channels red,green
  gpuhist joint before/ --with after/ --range 0,4096 -o out

Exit codes: 0 all done; 1 images can't be read, or have no such channel or partner; 2 the command line is wrong; 4 output failed.)");
    add_help(joint);

    CLI::App& check = add_command(Command::check, "check", "Check constants of normalization against a set");
    check.add_option("CONFIG", line.check.inputs, "A file with mean and std; then images, a directory, or results")
        ->type_name("")
        ->option_text("DATA");
    add_engine(*this, check, line.check.engine, "Engine for images that must be measured: auto [default], cuda or cpu");
    check.add_flag("-q,--quiet", quiet, "Print mistakes and errors only");
    add_config(*this, check);
    check.footer(
        R"(CONFIG is JSON, YAML, Python or other text. gpuhist looks for lists of numbers with names that contain mean and std; without such names, it takes the first two lists of equally many numbers. Constants are right if they are within three standard errors of the set's, or rounded from them; the standard error is the std of the images' means (or stds) over the root of the number of images. Otherwise, gpuhist looks for the mistake: a scale from 0 to 255, swapped channels, the constants of a well-known set, std equal to mean, luma, the mean of the images' stds, or a smaller std.

Example:
  gpuhist check config.yaml train/

Exit codes: 0 the constants are right; 1 they are, but some images could not be measured; 2 the command line is wrong; 4 output failed; 5 they are wrong; 65 there are no constants, or the set has other channels.)");
    add_help(check);

    CLI::App& verify = add_command(Command::verify, "verify", "Measure the images of results again, and compare");
    verify.add_option("RESULTS", line.verify.directories, "The directory with the results of a run")
        ->type_name("")
        ->option_text(" ");
    add_text(
        verify, "--sample",
        [&](const std::string& text) { line.verify.sample = parse_number<std::uint64_t>("--sample", text, 1, many); },
        "Measure N images instead of all", "N");
    add_number(verify, "--seed", line.verify.seed, std::uint64_t{0}, many,
               "Which images a sample has [1]\nThe same seed chooses the same images of the same results.");
    add_engine(*this, verify, line.verify.run.engine, "Engine: auto [default], cuda or cpu");
    verify.add_flag("-q,--quiet", quiet, "Print what doesn't hold, and errors only");
    add_config(*this, verify);
    add_validity_options(*this, verify, line.verify.run);
    add_region_options(verify, line.verify.run);
    verify.option_defaults()->group("Statistics");
    add_white(verify, line.verify.run);
    add_space(*this, verify, line.verify.run);
    add_group_by(*this, verify, line.verify.run);
    add_clip_sigma(verify, line.verify.run);
    add_quality_scale(verify, line.verify.run);
    verify.footer(
        R"(Measures the images again, and compares stats.csv, quality.csv and regions.csv, column by column. If all images were measured and hold, it compares dataset.csv and dataset.quality.csv too. Prints one line per image that is gone, fails, or has other numbers. Give the options of the run that exclude pixels, set white, or define regions or groups. Results with kept counts (--keep-counts) record these options, so gpuhist refuses others.

Exit codes: 0 all rows hold; 2 the command line is wrong; 4 output failed; 5 rows don't hold; 65 the results can't be read, or were made with other options.)");
    add_help(verify);

    CLI::App& report = add_command(Command::report, "report", "Make a page about results, for a browser");
    report.add_option("RESULTS", line.report.directories, "The directory with the results of a run")
        ->type_name("")
        ->option_text(" ");
    add_text(
        report, "-o,--output", [&](const std::string& path) { line.report.output = path; },
        "Name of the page [report.html]", "FILE");
    report.add_option("--against", line.report.against, "Earlier results, with which these are compared")
        ->type_name("RESULTS");
    report.add_option("--title", line.report.title, "Title of the page [the directory of the images]")
        ->type_name("TEXT");
    report.add_flag("--force", line.report.force, "Replace a file that gpuhist did not write\ngpuhist names it.");
    report.add_flag("-q,--quiet", quiet, "Print errors only");
    add_config(*this, report);
    report.footer(
        R"(The page is one file, which opens in a browser without a network: numbers and histograms of the set, its classes (--group-by dir), the distribution of each measure, the worst images of each flag, duplicates side by side, errors by cause, and a table of the images that sorts and filters. It has at most 5 MB. Above 50,000 images, the table has those with flags, and those at the ends of each measure.

The page shows the pictures that the run kept (--keep-thumbnails). For other pictures, gpuhist reads the images again, on the CPU, from the paths in the results; the page says which images are missing.

Example:
  gpuhist photos/ --report photos.html
  gpuhist report this-month -o page.html --against last-month

Exit codes: 0 all done; 2 the command line is wrong; 4 output failed; 65 the results are missing, damaged, or of another version.)");
    add_help(report);

    CLI::App& columns = add_command(Command::columns, "columns", "Define every column of the results");
    add_choice<std::string>(*this, columns, "--format", line.columns.format,
                            {{"table", "table"}, {"json", "json"}, {"markdown", "markdown"}},
                            "table [default], json or markdown", "FORM");
    add_text(columns, "--percentile-columns", parse_columns(line.columns.percentiles),
             "Columns of percentiles [1,5,25,50,75,95,99]", "LIST");
    add_help(columns);

    CLI::App& formats = add_command(Command::formats, "formats", "List the formats that gpuhist reads and refuses");
    add_choice<std::string>(*this, formats, "--format", line.formats.format,
                            {{"table", "table"}, {"json", "json"}, {"markdown", "markdown"}},
                            "table [default], json or markdown", "FORM");
    add_help(formats);

    add_help(add_command(Command::devices, "devices", "List engines, GPUs and decoders, and the rule of auto"));

    CLI::App& shells = add_command(Command::completion, "completion", "Print the completion script of a shell");
    add_choice<std::string>(*this, shells, "SHELL", shell, {{"bash", "bash"}, {"zsh", "zsh"}, {"fish", "fish"}},
                            "bash, zsh or fish", "")
        ->option_text(" ");
    shells.footer(
        R"(For example: source <(gpuhist completion bash). ./dev install and the packages install the scripts.)");
    add_help(shells);

    add_help(add_command(Command::manual, "manual", "Print the manual page: gpuhist manual | man -l -"));
    add_help(add_command(Command::licenses, "licenses", "Print the licenses of gpuhist and of its libraries"));

    CLI::App& help = add_command(Command::help, "help", "Explain a topic or a command: gpuhist help regions");
    CLI::Option* const subject =
        help.add_option("TOPIC", topic, "A topic or a command")->type_name("")->option_text(" ");
    for (const Topic& one : all_topics()) choices[subject].emplace_back(one.name);
    for (const Entry& entry : commands) choices[subject].push_back(entry.name());
    add_help(help);
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
