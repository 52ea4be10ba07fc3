#include "run/dry_run.hpp"

#include <unistd.h>

#include <cstdint>
#include <string>
#include <utility>

#include "cli/console.hpp"
#include "cli/table.hpp"
#include "run/exit_code.hpp"
#include "run/remarks.hpp"

namespace gpuhist::app {

int list_inputs(const Options& options) {
    Console console(options.quiet);
    const bool terminal = isatty(STDOUT_FILENO) != 0;
    const char end = options.inputs.zero_separated ? '\0' : '\n';
    InputList inputs(options.inputs, options.output);
    std::uint64_t listed = 0, failed = 0;
    std::string text;
    while (!console.closed() && !console.failed()) {
        const auto input = inputs.next();
        for (const std::string& note : inputs.take_notes()) console.note(note);
        if (!input) break;
        if (!options.inputs.shard.has(input->index)) continue;
        if (input->failure) {
            ++failed;
            console.say(input->failure->what());
            continue;
        }
        ++listed;
        text.append(terminal ? printable(input->path) : input->path).append(1, end);
        if (terminal || text.size() >= 65536) console.print(std::exchange(text, {}));
    }
    if (!text.empty()) console.print(text);
    if (!options.inputs.listed() && !console.closed() && !console.failed())
        for (const std::string& line : notes_on(options.inputs.walk, inputs.left_out())) console.note(line);
    std::string summary = counted(listed, "input") + ", not measured";
    if (const io::LeftOut left_out = inputs.left_out(); left_out.any()) summary += "; left out: " + to_string(left_out);
    console.note(summary);
    return console.failed() ? output_failed : failed > 0 ? inputs_failed : all_done;
}

}  // namespace gpuhist::app
