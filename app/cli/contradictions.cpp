#include "cli/contradictions.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>

#include "gpuhist/io/archive.hpp"
#include "gpuhist/io/outlines.hpp"
#include "run/companions.hpp"

namespace gpuhist::app {
namespace {

bool is_directory(const std::string& input) {
    std::error_code failed;
    return input != "-" && (std::filesystem::is_directory(input, failed) || io::is_archive_name(input));
}

/// Kind of a file that is not a CSV file of rectangles, in words, by its first bytes; else nothing.
std::string rectangles_of_another_kind(const std::string& path) {
    std::error_code failed;
    if (path.empty() || !std::filesystem::is_regular_file(path, failed)) return {};
    std::array<char, 4> first{};
    std::ifstream(path, std::ios::binary).read(first.data(), first.size());
    const std::string_view begin(first.data(), first.size());
    if (begin.substr(0, 2) == "PK") return "a ZIP archive, as ImageJ saves its regions";
    if (begin == "Iout") return "a region of ImageJ";
    return {};
}

/// Checks what a color space can't be combined with.
void check_space(const Options& options, const std::function<bool(const char*)>& given) {
    const ColorSpaceTraits& space = traits_of(*options.space);
    const std::string name = std::string("--space ") + space.name;
    const NormalizeTraits& mode = traits_of(options.normalization.mode);
    if (given("--normalize")) {
        if (space.lightness < 0)
            throw Contradiction({"--space", "--normalize"},
                                name + " can't be combined with --normalize: it has no channel of lightness");
        if (mode.real || mode.mode == NormalizeMode::threshold || mode.mode == NormalizeMode::gray_world ||
            mode.mode == NormalizeMode::white_patch)
            throw Contradiction({"--space", "--normalize"}, name + " can't be combined with --normalize " + mode.name +
                                                                ", which does not change lightness alone");
    }
    for (const char* option : {"--link", "--lut-in", "--lut-out", "--channels", "--fill"})
        if (given(option))
            throw Contradiction({"--space", option}, name + " can't be combined with " + option +
                                                         ": it normalizes the lightness of each image by itself");
    if (const auto depth = options.normalization.depth;
        depth && *depth != Depth::u8 && *depth != Depth::u16 && *depth != Depth::f16 && *depth != Depth::f32)
        throw Contradiction({"--space", "--depth"}, name + " can't be combined with --depth " + to_string(*depth) +
                                                        ": give u8, u16, f16 or f32");
    check_space_and_alpha(options);
}

}  // namespace

void check_inputs(const InputOptions& options, const std::function<bool(const char*)>& given) {
    const std::vector<std::string>& inputs = options.arguments;
    if (options.files_from && !inputs.empty())
        throw Contradiction({"--files-from"}, "--files-from already names the inputs: give no others");
    if (inputs.empty() && !options.listed())
        throw Contradiction({}, "no input: name images, a directory, or - for standard input");
    if (std::count(inputs.begin(), inputs.end(), "") > 0) throw Contradiction({}, "an input's name is empty");
    for (const char* option : {"--no-recursive", "--follow-links", "--include", "--exclude"})
        if (given(option) && std::none_of(inputs.begin(), inputs.end(), is_directory))
            throw Contradiction({option}, std::string(option) + " applies to directories, but no input is one");
    if (given("--follow-links") && given("--no-recursive"))
        throw Contradiction({"--follow-links", "--no-recursive"},
                            "--follow-links enters subdirectories, which --no-recursive leaves out");
}

std::vector<std::string> table_options() {
    std::vector<std::string> options{"--normalize"};
    for (const NormalizeParameter& parameter : all_normalize_parameters)
        options.push_back(std::string("--") + parameter.name);
    for (const NormalizeWord& word : all_normalize_words) options.push_back(std::string("--") + word.name);
    options.emplace_back("--reference");
    options.emplace_back("--channels");
    return options;
}

void check_space_and_alpha(const Options& options) {
    const AlphaTraits& alpha = traits_of(options.validity.alpha);
    if (options.space && alpha.rule != AlphaRule::row && alpha.rule != AlphaRule::mask)
        throw Contradiction({"--space", "--alpha"}, std::string("--space ") + traits_of(*options.space).name +
                                                        " can't be combined with --alpha " + alpha.name +
                                                        ": give row or mask");
}

void check_companions(const Options& options) {
    for (const auto& [option, path] :
         {std::pair("--mask", options.masks), {"--labels", options.labels}, {"--rois", options.rectangles_from}}) {
        try {
            const auto maps =
                option == std::string_view("--labels") ? parse_label_maps(path) : std::vector<LabelMap>{{"", path}};
            for (const LabelMap& one : maps) {
                std::error_code failed;
                const bool pattern = is_pattern(one.path);
                if (pattern) fill_pattern(one.path, "x");
                if (!pattern && !one.path.empty() && !std::filesystem::exists(one.path, failed))
                    throw Contradiction({option}, std::string(option) + ": " + one.path + " does not exist");
            }
        } catch (const InvalidArgument& error) {
            throw Contradiction({option}, std::string(option) + ": " + error.what());
        }
    }
}

void check(const Options& options, const std::function<bool(const char*)>& given) {
    if (options.inputs.manifest_path && (options.inputs.files_from || !options.inputs.arguments.empty()))
        throw Contradiction({"--manifest"}, "--manifest already names the inputs: give no others");
    if (options.inputs.zero_separated && !options.inputs.files_from && !options.dry_run)
        throw Contradiction({"--null"}, "--null applies to names that --files-from reads or --dry-run prints");
    if (options.dry_run && options.resume)
        throw Contradiction({"--dry-run", "--resume"},
                            "--dry-run lists all inputs, but --resume continues with some of them");
    check_inputs(options.inputs, given);

    const std::vector<std::string>& inputs = options.inputs.arguments;
    const bool pages_are_set = options.inputs.pages && !options.inputs.pages->one();
    Writes writes{true, true, true, true};
    std::string why = "which --write leaves out";
    if (options.write) {
        writes = *options.write;
    } else if (pages_are_set || std::all_of(inputs.begin(), inputs.end(), is_directory)) {
        writes = {true, false, false, options.normalize};
        why = std::string("which gpuhist does not write for ") + (pages_are_set ? "pages" : "directories") +
              " unless --write asks for it";
    }
    check_companions(options);
    if (is_pattern(options.rectangles_from) && !io::is_outlines_name(options.rectangles_from))
        throw Contradiction({"--rois"}, "--rois: a pattern must name .roi, .zip, .geojson or .json files");
    if (const std::string found = io::is_outlines_name(options.rectangles_from)
                                      ? std::string()
                                      : rectangles_of_another_kind(options.rectangles_from);
        !found.empty())
        throw Contradiction({"--rois"},
                            "--rois: " + options.rectangles_from + " is " + found +
                                "; give a CSV file of path,name,x,y,w,h, or a file called .roi, .zip or .geojson");
    for (std::size_t i = 0; i < options.rectangles.size(); ++i)
        for (std::size_t j = 0; j < i; ++j)
            if (options.rectangles[i].name == options.rectangles[j].name)
                throw Contradiction({"--roi"}, "two --roi have the name '" + options.rectangles[i].name + "'");
    if (given("--clip-sigma") && !given("--robust"))
        throw Contradiction({"--clip-sigma"}, "--clip-sigma needs --robust");
    if (given("--label-zero") && !given("--labels"))
        throw Contradiction({"--label-zero"}, "--label-zero needs --labels");
    if (given("--clip-rois") && !given("--roi") && !given("--rois"))
        throw Contradiction({"--clip-rois"}, "--clip-rois needs --roi or --rois");
    const Validity& rules = options.validity;
    const bool nodata = options.nodata_of_file || !rules.nodata.empty() || !rules.nodata_of_bands.empty();
    if (options.normalization.valid_only && !given("--mask") && !nodata && !given("--valid") &&
        !traits_of(options.validity.alpha).excludes) {
        std::string words;
        for (const AlphaTraits& rule : all_alpha_rules)
            if (rule.excludes) words.append(words.empty() ? "" : " or ").append(rule.name);
        throw Contradiction({"--apply-to"},
                            "--apply-to valid needs excluded samples: give --mask, --nodata, --valid or "
                            "--alpha " +
                                words);
    }
    if (given("--nodata-any") && !nodata && !given("--valid"))
        throw Contradiction({"--nodata-any"}, "--nodata-any needs --nodata or --valid");
    for (const std::string& option : table_options()) {
        if (!given(option.c_str())) continue;
        if (given("--lut-in"))
            throw Contradiction({option, "--lut-in"}, option + " makes a table, but --lut-in reads one");
        if (!writes.normalized && !given("--lut-out"))
            throw Contradiction({option}, option + " applies to the normalized copy, " + why);
    }
    for (const char* option : {"--link", "--lut-in", "--size", "--apply-to", "--compression"})
        if (given(option) && !writes.normalized)
            throw Contradiction({option}, std::string(option) + " applies to the normalized copy, " + why);
    if (given("--split-pages") && (!pages_are_set || !writes.normalized))
        throw Contradiction({"--split-pages"}, "--split-pages applies to normalized copies of several --pages");
    for (const char* option : {"--depth", "--fill"})
        if (given(option) && !writes.normalized && !given("--lut-out"))
            throw Contradiction({option}, std::string(option) + " applies to the normalized copy, " + why);
    if (const auto depth = options.normalization.depth;
        depth && traits_of(options.normalization.mode).real && !traits_of(*depth).floating)
        throw Contradiction({"--depth", "--normalize"},
                            std::string("--depth ") + to_string(*depth) + " can't be combined with --normalize " +
                                to_string(options.normalization.mode) +
                                ", which writes floats: give --depth f16, f32 or f64, or leave it out");
    if (const auto depth = options.normalization.depth; depth && options.normalization.fill)
        if (const std::string refusal = fill_refusal(*depth, *options.normalization.fill); !refusal.empty())
            throw Contradiction({"--fill", "--depth"}, "--fill: " + refusal);
    if (given("--lut-in") && (given("--link") || given("--lut-out")))
        throw Contradiction({"--lut-in", "--link", "--lut-out"},
                            "--lut-in reads a table, but --link and --lut-out make one");
    const auto& list = options.inputs.files_from;
    std::error_code ignored;
    const bool list_is_no_file = list && (*list == "-" || (std::filesystem::exists(*list, ignored) &&
                                                           !std::filesystem::is_regular_file(*list, ignored)));
    if (options.linked && (list_is_no_file || (inputs.size() > 1 && !options.inputs.pages &&
                                               std::count(inputs.begin(), inputs.end(), "-") > 0)))
        throw Contradiction({"--link"},
                            "--link reads all inputs twice, but standard input and pipes can be read only once");
    for (const char* option : {"--link", "--lut-out"})
        if (given(option) && given("--shard"))
            throw Contradiction({option, "--shard"},
                                std::string(option) + " needs the whole set, but --shard measures a part of it");
    const NormalizeMode mode = options.normalization.mode;
    for (const char* option : {"--link", "--lut-out"})
        if (given(option) && needs_of(options.normalization) == NormalizeNeeds::nothing)
            throw Contradiction(
                {option, "--normalize"},
                std::string(option) + " makes a table of the whole set, but " + to_string(mode) +
                    (needs_places(options.normalization) ? " depends on the pixels of each image" : " needs none"));
    const auto check_modes = [&](const std::string& option, const NormalizeModes& modes) {
        if (!given(option.c_str()) || modes.has(mode)) return;
        std::string names;
        for (const NormalizeTraits& traits : all_normalize_modes)
            if (modes.has(traits.mode)) names.append(names.empty() ? "" : " or ").append(traits.name);
        throw Contradiction({option}, option + " applies only to --normalize " + names);
    };
    for (const NormalizeParameter& parameter : all_normalize_parameters)
        check_modes(std::string("--") + parameter.name, parameter.modes);
    for (const NormalizeWord& word : all_normalize_words) check_modes(std::string("--") + word.name, word.modes);
    check_modes("--reference", {NormalizeMode::match});
    for (const auto& [needing, option] : {std::pair(NormalizeMode::gamma, "--gamma"),
                                          {NormalizeMode::levels, "--levels"},
                                          {NormalizeMode::match, "--reference"}})
        if (mode == needing && !given(option) && !given("--lut-in"))
            throw Contradiction({"--normalize", option},
                                std::string("--normalize ") + to_string(mode) + " needs " + option);
    if (given("--percentiles") && mode == NormalizeMode::stretch &&
        options.normalization.interval != StretchInterval::percentile)
        throw Contradiction({"--percentiles"}, "--percentiles applies only to --interval percentile");
    if (traits_of(mode).kind == NormalizeKind::place && options.normalization.depth)
        throw Contradiction({"--depth", "--normalize"}, std::string("--depth can't be combined with --normalize ") +
                                                            to_string(mode) +
                                                            ", whose copies have the sample type of their image");
    if (options.space) check_space(options, given);
    const bool drawn = options.format == "table";
    const bool measured = given("--quality") || given("--report");
    if (given("--quality-scale") && !measured)
        throw Contradiction({"--quality-scale"}, "--quality-scale needs --quality");
    if (given("--robust") && !writes.stats && (drawn || options.format == "none"))
        throw Contradiction({"--robust"}, "--robust adds columns to stats, which --write leaves out");
    if (given("--quality") && !writes.stats && (drawn || options.format == "none"))
        throw Contradiction({"--quality"}, "--quality writes quality.csv, which --write leaves out");
    for (const char* option : {"--keep-counts", "--keep-image-counts"})
        if (given(option) && !writes.stats)
            throw Contradiction({option}, std::string(option) + " keeps counts beside stats, which --write leaves out");
    if (given("--keep-thumbnails") && !measured)
        throw Contradiction({"--keep-thumbnails"}, "--keep-thumbnails needs --quality");
    if (given("--keep-thumbnails") && !writes.stats)
        throw Contradiction({"--keep-thumbnails"},
                            "--keep-thumbnails keeps thumbnails beside stats, which --write leaves out");
    if (given("--policy") && !measured) throw Contradiction({"--policy"}, "--policy needs --quality");
    if (given("--report") && options.report.empty())
        throw Contradiction({"--report"}, "--report: the name of the file is empty");
    if (given("--report") && !writes.stats)
        throw Contradiction({"--report"}, "--report is about results, which --write leaves out");
    if (given("--report") && given("--shard"))
        throw Contradiction({"--report", "--shard"},
                            "--report needs the whole set, but --shard measures a part of it: run 'gpuhist report' "
                            "after 'gpuhist merge'");
    if (given("--policy") && !writes.stats)
        throw Contradiction({"--policy"}, "--policy applies to flags.csv, which --write leaves out");
    if (given("--policy") && options.policy.empty())
        throw Contradiction({"--policy"}, "--policy: the name of the file is empty");
    // Files about a set, dataset.json and its picture, are written with its stats.
    const bool of_set = writes.stats && (options.inputs.listed() || pages_are_set || inputs.size() > 1 ||
                                         std::any_of(inputs.begin(), inputs.end(), is_directory));
    for (const char* option : {"--bins", "--range"})
        if (given(option) && !writes.histogram && !of_set)
            throw Contradiction({option}, std::string(option) + " applies to the histogram file, " + why);
    for (const char* option : {"--log", "--plot-range"})
        if (given(option) && !writes.plot && !of_set && !drawn)
            throw Contradiction({option}, std::string(option) + " applies to the plot, " + why);
    for (const char* option : {"--plot-format", "--plot-theme"})
        if (given(option) && !writes.plot && !of_set)
            throw Contradiction({option}, std::string(option) + " applies to the plot, " + why);
    if (options.histogram.bins == 0 && options.histogram.range)
        throw Contradiction({"--range", "--bins"}, "--bins full is one bin per value of the type and takes no --range");
    if (given("--output") && !writes.any())
        throw Contradiction({"--output"}, "--output names a directory, but --write none writes nothing");
    for (const char* gpu : {"--gpu", "--gpus"})
        if (given(gpu) && options.engine == "cpu")
            throw Contradiction({gpu, "--engine"}, std::string(gpu) + " can't be combined with --engine cpu");
    if (given("--gpu") && given("--gpus"))
        throw Contradiction({"--gpu", "--gpus"}, "--gpu names one GPU, but --gpus names several: give one of them");
    if (given("--percentile-columns") && !writes.stats && !writes.plot && options.format == "none")
        throw Contradiction({"--percentile-columns"}, "--percentile-columns applies to stats, " + why);
    if (given("--white") && !writes.stats && options.format == "none")
        throw Contradiction({"--white"}, "--white applies to stats, " + why);
    if (given("--group-by") && !writes.stats)
        throw Contradiction({"--group-by"}, "--group-by applies to dataset.*, " + why);
    if (options.group_by == GroupBy::region && !options.regions_asked())
        throw Contradiction({"--group-by"}, "--group-by region needs regions: give --labels, --roi or --rois");
    for (const char* option : {"--resume", "--checkpoint", "--shard", "--force"})
        if (given(option) && !writes.any())
            throw Contradiction({option}, std::string(option) + " applies to files, but --write none writes none");
    for (const char* option : {"--labels", "--roi", "--rois"})
        if (given(option) && !writes.stats && options.format == "none")
            throw Contradiction({option}, std::string(option) + " applies to stats, " + why);
    if (given("--shard") && writes.parquet)
        throw Contradiction(
            {"--write", "--shard"},
            "--write parquet applies to results, but --shard makes a part of them: merge the parts, then "
            "gpuhist.to_parquet(RESULTS) writes it");
    if (given("--shard") && !writes.stats) throw Contradiction({"--shard"}, "--shard applies to stats, " + why);
    if (given("--decoder") && options.by_opencv) {
        for (const char* option : {"--raw", "--pages", "--shard"})
            if (given(option))
                throw Contradiction({"--decoder", option}, std::string(option) + " needs gpuhist's own decoders");
        if (const std::string problem = io::opencv_decoder_problem(); !problem.empty())
            throw Contradiction({"--decoder"}, "--decoder opencv: " + problem);
    }
    if (given("--decoder") && options.compare_decoders) {
        if (inputs.size() != 1 || inputs.front() == "-" || options.inputs.listed())
            throw Contradiction({"--decoder"}, "--decoder compare takes one image or one directory");
        if (const std::string problem = io::opencv_decoder_problem(); !problem.empty())
            throw Contradiction({"--decoder"}, "--decoder compare: " + problem);
    }
    if (given("--raw") && given("--pages"))
        throw Contradiction({"--raw", "--pages"},
                            "--pages needs formats with pages, but --raw reads files without one");
    if (given("--on-damaged") && given("--on-truncated"))
        throw Contradiction({"--on-truncated", "--on-damaged"},
                            "--on-truncated is the old name of --on-damaged: give one of them");
    if (given("--fail-fast") && given("--max-errors"))
        throw Contradiction({"--max-errors", "--fail-fast"}, "--fail-fast means --max-errors 1: give one of them");
}

}  // namespace gpuhist::app
