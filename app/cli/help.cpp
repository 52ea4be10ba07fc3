// Texts of --help and --version.
#include <oneapi/tbb/version.h>

#include <opencv2/core.hpp>

#include "cli/build.hpp"
#include "cli/grammar.hpp"
#include "commands/columns.hpp"
#include "gpuhist/columns.hpp"
#include "gpuhist/engine.hpp"
#include "gpuhist/io/versions.hpp"
#include "gpuhist/version.hpp"

namespace gpuhist::app {

std::string rules() {
    return R"(Files, in the output directory: stats.csv, and per input NAME.histogram.csv, NAME.histogram.png and
NAME.normalized.png (.tiff for floats). NAME is the whole file name; of inputs that share it, each is
written in sub-directories named as the end of its path, as far up as tells them apart (a/x.png and
b/x.png). Images of a directory are written in a tree that mirrors it, of several directories below a
name for each; those of a list by their paths, '..' as 'up'. Standard input is '-' in the results and
writes stdin.*. An input given twice is measured once. Of more than one input: errors.csv for those
that failed (path,kind,message), and dataset.csv, .json and .histogram.png for the whole set.

With --pages every image is a page: FILE#3 in rows and errors, NAME.p3.* its files; what is behind the
last # is the page, whatever the name holds. Pages count from 1; one that is wanted and not there is an
error, of a file the first such. A frame that is partly transparent over another is blended as libwebp
does (WebP), or exactly, rounded once (PNG); a frame over a damaged one is an error, too. Parts of an
OpenEXR after the first are refused. Standard input is kept in a temporary file; other pipes have no
pages. --shard shares out files, never the pages of one.

CSV holds names byte for byte, but for those that a spreadsheet would run as a formula: a name that
begins with = + - @ stands as ./NAME, the same file; other text, as a channel's name, gets an apostrophe.
JSON escapes control characters, and gives a name that is no UTF-8 whole in path_base64. A terminal gets
no control character of a name: it shows a question mark; files and pipes get the bytes.

Files there that gpuhist did not write stay as they are: .gpuhist lists its own, which a later run
replaces and takes for no inputs. Where others have the names of stats.csv, errors.csv or dataset.*,
nothing is done; where those of an image have, the image has an error of kind 'output'. --force
replaces them, but never an input.

An interrupted run leaves NAME.partial and a journal; the same command with --resume goes on, and ends
with the same bytes as if it had not been interrupted.

Variables and files: any option can stand in a variable, GPUHIST_ and its name (GPUHIST_MAX_ERRORS=5,
GPUHIST_RESUME=1; of a command GPUHIST_MERGE_OUTPUT=DIR), and in a file that --config names, a line
each (max-errors = 5, resume = true, merge.output = DIR; # begins a comment). The line goes before the
environment, that before the file; what has no effect from there is passed over, what is unknown in the
file is an error. Options that are repeatable have one line each in a variable, too.

Exit codes: 0 all done, 1 some inputs failed, 2 usage, 3 engine or GPU, 4 output could not be
written, 75 another process is writing it: try again later, 130 interrupted)";
}

std::string help_footer(const Grammar& grammar) {
    std::string commands = "Commands, as the first word (a file of that name: ./merge):\n";
    for (const Grammar::Entry& entry : grammar.commands)
        commands += definition(entry.name(), entry.app->get_description());
    return commands + "\nDefinitions:\n" + column_definitions() +
           definition("luma", std::string(luma_formula(Depth::u8)) +
                                  " of the stored values, as cv::cvtColor (floats: " + luma_formula(Depth::f32) +
                                  ", each step rounded to float).") +
           definition("stretches",
                      "Percentiles that stretch are nearest-rank: the smallest v with cum(v) >= ceil(q n).") +
           definition("bins", "N equal bins over [LO, HI); values outside are counted as below and above.") + '\n' +
           rules();
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
    for (const io::LibraryVersion& library : io::library_versions()) line(library.name, library.version);
    return text + "\n";
}

}  // namespace gpuhist::app
