#include "commands/manifest.hpp"

#include <cstdint>
#include <cstdio>
#include <tuple>
#include <utility>

#include "cli/console.hpp"
#include "commands/output_failure.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/io/encode.hpp"
#include "gpuhist/io/manifest.hpp"
#include "run/exit_code.hpp"
#include "run/line_reader.hpp"
#include "run/options.hpp"
#include "run/output_directory.hpp"
#include "run/remarks.hpp"
#include "run/run_state.hpp"

namespace gpuhist::app {
namespace {

namespace fs = std::filesystem;

/// Lists what a run would measure. Returns how many inputs cannot be listed.
std::uint64_t add_inputs(InputOptions options, io::ManifestWriter& manifest, Console& console) {
    options.unwritten = [&](const std::string& name) { console.note(unwritten_text(name)); };
    InputList inputs(options, Options{}.output);
    std::uint64_t failed = 0;
    while (auto input = inputs.next()) {
        for (const std::string& note : inputs.take_notes()) console.note(note);
        if (input->standard_input)
            throw UsageError("manifest: other processes can't read this standard input; name files");
        const Stamp stamp = stamp_of(*input);
        io::ListedInput line{input->path, input->output_name, input->group, {}, {}, {}, input->failure};
        if (stamp.modified > 0 && !input->archive.empty()) {
            line.archive = input->archive;
            line.archive_bytes = stamp.bytes;
            line.bytes = input->member_bytes;
            line.modified = stamp.modified;
        } else if (stamp.modified > 0) {
            line.bytes = stamp.bytes;
            line.modified = stamp.modified;
            if (stamp.mask_modified > 0)
                std::tie(line.mask_bytes, line.mask_modified) = std::pair(stamp.mask_bytes, stamp.mask_modified);
        }
        if (input->failure) {
            console.say(input->failure->what());
            ++failed;
        }
        manifest.add(line);
    }
    for (const std::string& note : inputs.take_notes()) console.note(note);
    if (!options.files_from)
        for (const std::string& line : notes_on(options.walk, inputs.left_out())) console.note(line);
    return failed;
}

/// Takes the lines that others have made.
std::uint64_t add_lines(const std::string& path, io::ManifestWriter& manifest, Console& console) {
    LineReader lines(path, [&](const std::string& name) { console.note(unwritten_text(name)); });
    std::uint64_t number = 0;
    for (std::string line; lines.next(line, '\n');) {
        ++number;
        if (line.rfind("{\"format\":\"gpuhist manifest ", 0) != 0)  // the last line of a manifest
            manifest.add(io::parse_manifest_line(line, lines.name() + ": line " + std::to_string(number)));
    }
    return 0;
}

/// Returns how many inputs cannot be listed.
std::uint64_t write_manifest(const ManifestOptions& options, Console& console) {
    std::optional<io::NewFile> file;
    output([&] {
        OutputDirectory(".", options.force, console)
            .reserve_elsewhere(options.output, {"{\"path\":", "{\"format\":\"gpuhist manifest "});
        make_directories(options.output.parent_path());
        file.emplace(options.output);
    });
    io::ManifestWriter manifest([&](const std::string& text) { output([&] { file->write(text); }); });
    const std::uint64_t failed =
        options.lines ? add_lines(*options.lines, manifest, console) : add_inputs(options.inputs, manifest, console);
    manifest.finish();
    output([&] {
        file->sync();
        file->replace();
    });
    console.note(options.output.string() + ": " + counted(manifest.inputs(), "input") + ", " +
                 std::to_string(manifest.bytes()) + " bytes");
    return failed;
}

}  // namespace

int make_manifest(const ManifestOptions& options) {
    Console console(!options.notes);
    try {
        return write_manifest(options, console) == 0 ? all_done : inputs_failed;
    } catch (const OutputFailure& error) {
        console.say(error.what());
        return output_failed;
    } catch (const UsageError& error) {
        console.say(error.what());
        return usage_error;
    } catch (const std::exception& error) {
        console.say(error.what());
    }
    return options.lines ? data_refused : inputs_failed;
}

}  // namespace gpuhist::app
