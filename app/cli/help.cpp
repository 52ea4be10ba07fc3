// Texts of --help and --version.
#include <oneapi/tbb/version.h>

#include <opencv2/core.hpp>

#include "cli/build.hpp"
#include "cli/grammar.hpp"
#include "cli/layout.hpp"
#include "commands/columns.hpp"
#include "gpuhist/columns.hpp"
#include "gpuhist/engine.hpp"
#include "gpuhist/io/versions.hpp"
#include "gpuhist/version.hpp"

namespace gpuhist::app {

namespace {

constexpr std::size_t options_at = 28, commands_at = 14;

/// An option's names and its value: `-o, --output DIR`.
std::string head_of(const CLI::Option& option) {
    std::string head;
    for (const std::string& name : option.get_snames()) head += "-" + name + ", ";
    for (const std::string& name : option.get_lnames()) head += "--" + name + ", ";
    head.erase(head.size() - 2);
    return is_switch(option) ? head : head + ' ' + option.get_type_name();
}

/// Options of a group, or of all groups if it is null, each with the text of `describe`.
std::string listed_options(const CLI::App& app, const char* group, std::string (*describe)(const CLI::Option&)) {
    std::string text;
    for (const CLI::Option* option : app.get_options())
        if (option->nonpositional() && !option->get_group().empty() && (!group || option->get_group() == group))
            text += entry(head_of(*option), describe(*option), options_at);
    return text;
}

std::string names_of_topics() {
    std::string names;
    for (const Topic& topic : all_topics()) names += (names.empty() ? "" : ", ") + std::string(topic.name);
    return names;
}

}  // namespace

const std::vector<Topic>& all_topics() {
    static const std::vector<Topic> topics = {
        {"inputs", "Inputs",
         R"(From a directory, gpuhist takes the files whose extension belongs to an image format, in byte order of their paths. It leaves out hidden files, named pipes and the results of earlier runs. An empty directory or list is an error.

An image that several arguments name is measured once. An image that a list names twice is measured twice.

'gpuhist formats' lists the formats that gpuhist reads.

Examples:
  gpuhist photos/ --exclude thumbnails --include '*.jpg'
  find photos -name '*.jpg' -print0 | gpuhist --files-from - -0)"},
        {"pages", "Pages",
         R"(Pages are the directories of a TIFF, without overviews, thumbnails and masks; the frames of an animated WebP or PNG, as they are shown; and the images of a binary netpbm file. gpuhist refuses all parts of an OpenEXR file but the first.

In rows and errors, a page is called FILE#3; its files are named NAME.p3.*. The number after the last # is the page, counted from 1, even if the name itself contains a #. If you ask for pages that a file doesn't have, gpuhist reports one error.

Transparent frames of a WebP are blended as libwebp blends them. Frames of a PNG are blended exactly, and rounded once. If a frame is damaged, later frames drawn over it fail too.

gpuhist copies standard input into a temporary file to find its pages. It doesn't look for pages in other pipes. --shard distributes files, never the pages of one file.

Examples:
  gpuhist stack.tif --pages all
  gpuhist animation.png --pages 1-10,20)"},
        {"valid", "Valid pixels",
         R"(All numbers come from the valid samples. Each sample belongs to the first class that applies: masked, nodata, nan, inf or valid. The columns with these names add up to pixels. Samples outside of --valid are nodata.

A rule without a channel applies to all channels but alpha. A value of --nodata replaces the value that the file declares; --nodata V,tag uses both. A pixel is masked if it is 0 in the file's own mask or in that of --mask.

Examples:
  gpuhist dem/ --nodata tag,nan --valid -500,
  gpuhist scan.png --mask mask.png
  gpuhist rgba.png --alpha weight)"},
        {"regions", "Regions",
         R"(regions.csv has one row per channel and region: first the labels, in ascending order, then the rectangles and the outlines. x, y, width and height are the bounding box of the region; area is the number of its pixels. Each region is measured like an image of its own.

Label images have integers without negative values, or floats that are whole numbers. In a pattern, {dir}, {name} and {stem} stand for the directory, the name and the name without extension of the image; with several label images, regions are called NAME:1. --group-by region adds the numbers of each label and each name over all images to dataset.*.

Examples:
  gpuhist stacks/ --labels cells/
  gpuhist a.tif --labels 'cells=masks/{stem}_c.tif,nuclei=masks/{stem}_n.tif'
  gpuhist photo.jpg --roi sky=0,0,640,200 --roi ground=0,300,640,127)"},
        {"statistics", "Statistics",
         R"(The histogram file has N equal bins over LO <= v < HI, and the number of values below and above this range. --format csv and json print every column. 'gpuhist columns' prints the definitions below for other programs.)"},
        {"spaces", "Color spaces",
         R"(--space measures the colors of each image in another space. Channels have the names of the space:
  hsv     hue, saturation, value   degrees, 0 to 1; u8: degrees / 2, 0 to 255
  ycbcr   y, cb, cr                0 to 1; u8: 0 to 255
  lab     lightness, a, b          CIE; u8: 2.55 L*, a* + 128, b* + 128
  xyz     x, y, z                  CIE; white has y 1
  linear  linear_red, ...          light, 0 to 1
  oklab   lightness, a, b          white has lightness 1

gpuhist takes colors for sRGB and undoes its transfer function, except in OpenEXR, Radiance HDR and PFM files, which are linear. It applies no profiles, and refuses bands. Alpha becomes a band, opacity. --nodata and --valid apply to the channels of the space. A pixel is masked if one of its colors is the nodata value of the file.

Examples:
  gpuhist photos/ --space lab
  gpuhist photo.jpg --space oklab --normalize equalize
  gpuhist joint photo.jpg --space hsv --channels hue,saturation)"},
        {"copies", "Copies",
         R"(minmax and percentile stretch linearly; percentiles are nearest-rank. equalize uses the histogram; colors use the table of luma. zscore is (v - mean) / std. For other modes, see gpuhist help tone.

Copies in u8 and u16 are NAME.normalized.png; copies in other types, with bands, or of georeferenced images are NAME.normalized.tiff. The copy of a TIFF keeps its coordinate system, nodata, names of bands, resolution, profile and tiles. Nodata is never mapped by a table.

Examples:
  gpuhist scan.png --normalize equalize
  gpuhist scans/ --normalize percentile --percentiles 2,98 --depth u8
  gpuhist scans/ --link dataset --lut-out scans.lut)"},
        {"tone", "Tone",
         R"(The modes of --normalize beyond stretches, equalization and scores. x is a value as a fraction of its type's range; for floats, x is the value.

gamma is x^(1/G), and auto-gamma takes the mean to 0.5. levels stretches between two values; stretch applies a function over an interval. robust is (v - median) / (1.4826 MAD). match gives copies the histogram of --reference. gray-world and white-patch multiply each color, so that means or high --percentiles agree. threshold writes black and white. clahe equalizes in tiles, as cv::createCLAHE; background subtracts the bilinear surface through the medians of tiles.

Examples:
  gpuhist scan.png --normalize clahe --clip-limit 3
  gpuhist star.fits --normalize stretch --stretch asinh --interval zscale
  gpuhist photos/ --normalize match --reference best.jpg)"},
        {"pictures", "Pictures",
         R"(--write plot draws the histogram of each image: NAME.histogram.png or .svg. A set has dataset.histogram.png. --log and --plot-range also change the histogram in the terminal. Statistics, legend and percentiles always describe all values.)"},
        {"outputs", "Outputs",
         R"(One input writes stats.csv, NAME.histogram.csv, NAME.histogram.png and NAME.normalized.png or .tiff. A set writes stats.csv, dataset.csv, dataset.json, dataset.histogram.png, and errors.csv (path,kind,message) if inputs failed.

NAME is the whole file name. If inputs have the same name, their files go into subdirectories, as in their paths (a/x.png and b/x.png). Files about the images of a directory are in a tree that mirrors it; each of several directories has a subdirectory. Files about the images of a list use its paths, with 'up' in place of '..'. Standard input is '-' in the results, and its files are stdin.*.

gpuhist never changes files that it did not write. It lists its own files in .gpuhist; later runs replace them and don't measure them. If another file has the name stats.csv, errors.csv or dataset.*, gpuhist measures nothing; if one has the name of a file about an image, that image fails with an error of kind 'output'.

In CSV, names are as you gave them, unless a spreadsheet would run them as a formula: a path that begins with = + - @ becomes ./PATH, and other text gets an apostrophe in front. JSON escapes control characters; if a name isn't valid UTF-8, path_base64 has its bytes. Terminals show ? for a control character.)"},
        {"engine", "Engine",
         R"(Results are identical to the last bit on a CPU, on a GPU, and with any number of threads. 'gpuhist devices' lists the engines and the GPUs, and says when auto uses the GPU. If a GPU fails with auto, the CPU measures the remaining images.

An image that needs more than half of --memory, or more than 256 MB, is measured in strips if its format allows it.)"},
        {"machines", "Machines and interruption",
         R"(Each process measures a part, on any machine, in any order. 'gpuhist merge' combines the parts into one result, the same byte for byte as that of a single run:
  gpuhist photos/ -o parts --shard 1/2 --resume
  gpuhist photos/ -o parts --shard 2/2 --resume
  gpuhist merge -o results parts

'gpuhist manifest' lists the inputs once for all of them:
  gpuhist manifest photos/ -o images.jsonl
  gpuhist --manifest images.jsonl -o parts --shard 1/2

After Ctrl-C, gpuhist finishes the images that it is measuring and exits with 130; a second Ctrl-C stops it at once. An interrupted run leaves *.partial files and a journal. The same command with --resume continues, and gives the same results, byte for byte, as a run without an interruption.)"},
        {"errors", "Errors",
         R"(If a file can't be measured, gpuhist reports an error and continues with the others. errors.csv names the files that failed.

Exit codes:
  0    all inputs were measured
  1    some inputs failed
  2    the command line is wrong
  3    the engine or the GPU failed
  4    output could not be written
  5    the images break the policy of 'gpuhist gate'
  65   a part, manifest, policy or table is missing or damaged; nothing written
  75   another process is writing to the output directory; try again later
  130  the run was interrupted)"},
        {"configuration", "Configuration",
         R"(You can set any option with an environment variable, named GPUHIST_ and the option in capitals, with _ for -. For example: GPUHIST_MAX_ERRORS=5, GPUHIST_RESUME=1, or GPUHIST_MERGE_OUTPUT=DIR for an option of a command. Repeatable options take one value per line. An empty variable is ignored.

In the file of --config, write lines like max-errors = 5, resume = true or merge.output = DIR; # begins a comment. An unknown option is an error.

The command line overrides the environment, which overrides the file. If an option has no effect in a run, it is an error on the command line, but is ignored in the environment and the file. --shard is never ignored.)"}};
    return topics;
}

std::string short_description(const CLI::Option& option) {
    const std::string text = option.get_description();
    return text.substr(0, text.find('\n'));
}

std::string long_description(const CLI::Option& option) {
    std::string text = option.get_description();
    if (const std::size_t end = text.find('\n'); end != text.npos) text.replace(end, 1, ". ");
    return text;
}

std::string first_screen() {
    return R"(gpuhist measures images: exact statistics, histograms and normalized copies.

Usage: gpuhist [OPTION]... INPUT...
       gpuhist COMMAND [OPTION]...

An INPUT is an image file, a directory, or - for standard input. For example:

  gpuhist photo.jpg              prints a table, writes a picture and a copy
  gpuhist photos/ -o results     measures each image and the whole set
  gpuhist photos/ --format csv   prints all numbers, for other programs

Help:

  gpuhist --help                 all options and commands, one line each
  gpuhist help TOPIC             one topic, explained
  man gpuhist                    the manual page, if gpuhist is installed

)" + laid_out("Topics: " + names_of_topics() + ".");
}

std::string help(Grammar& grammar) {
    const CLI::App& run = grammar.run;
    std::string text =
        "Usage: gpuhist [OPTION]... INPUT...\n       gpuhist COMMAND [OPTION]...\n\n" +
        laid_out(run.get_description() + " An INPUT is an image file, a directory, or - for standard input.");
    text += '\n';
    for (const Topic& topic : all_topics())
        text += std::string(topic.group) + " (gpuhist help " + topic.name + "):\n" +
                listed_options(run, topic.group, short_description);
    text += "\nCommands, as the first word (a file of that name: ./merge):\n";
    for (const Grammar::Entry& entry : grammar.commands)
        text += app::entry(entry.name(), entry.app->get_description(), commands_at);
    return text;
}

std::string help_on(const Topic& topic, Grammar& grammar) {
    std::string text = std::string(topic.group) + "\n\n" + listed_options(grammar.run, topic.group, long_description) +
                       '\n' + laid_out(topic.text);
    if (topic.name == std::string("statistics"))
        text += "\nDefinitions:\n" + column_definitions() +
                definition("luma", std::string(luma_formula(Depth::u8)) +
                                       " of the stored values, as cv::cvtColor (floats: " + luma_formula(Depth::f32) +
                                       ", each step rounded to float).");
    return text;
}

std::string help_of(CLI::App& command) {
    std::string text = "Usage: gpuhist " + command.get_name() + " [OPTION]...";
    std::string arguments;
    for (const CLI::Option* option : command.get_options())
        if (option->get_positional()) {
            const std::string more = option->get_option_text();
            text += ' ' + option->get_name() + (more == " " ? "" : more);
            arguments += entry(option->get_name(), long_description(*option), options_at);
        }
    text +=
        "\n\n" + command.get_description() + "\n\n" + arguments + listed_options(command, nullptr, long_description);
    if (const std::string footer = command.get_footer(); !footer.empty()) text += '\n' + laid_out(footer);
    return text;
}

std::string version_text() {
    std::string text = "gpuhist " + std::string(gpuhist::version());
    if (*build::commit) text += std::string(" (commit ") + build::commit + ")";
    const auto line = [&](const std::string& name, const std::string& value) {
        text += "\n" + name + std::string(name.size() < 17 ? 17 - name.size() : 1, ' ') + value;
    };
    line("instruction set", instruction_set());
    line("CUDA", *build::cuda ? build::cuda : "none: built without");
    line("oneTBB", TBB_runtime_version());
    line("OpenCV", cv::getVersionString() + ", its core: it decodes nothing");
    for (const io::LibraryVersion& library : io::library_versions()) line(library.name, library.version);
    return text + "\n";
}

}  // namespace gpuhist::app
