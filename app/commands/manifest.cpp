#include "commands/manifest.hpp"

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <utility>

#include "cli/console.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/io/encode.hpp"
#include "gpuhist/io/manifest.hpp"
#include "run/exit_code.hpp"
#include "run/options.hpp"
#include "run/output_directory.hpp"
#include "run/remarks.hpp"
#include "run/run_state.hpp"

namespace gpuhist::app {
namespace {

namespace fs = std::filesystem;

/// Failure of the output, not of the inputs.
class OutputFailure : public Error {
    using Error::Error;
};

/// Lists what a run would measure. Returns how many inputs cannot be listed.
std::uint64_t add_inputs(const InputOptions& options, io::ManifestWriter& manifest, Console& console) {
    InputList inputs(options, Options{}.output);
    std::uint64_t failed = 0;
    while (auto input = inputs.next()) {
        for (const std::string& note : inputs.take_notes()) console.note(note);
        if (input->standard_input) throw UsageError("manifest: standard input is there once, and for nobody else");
        const Stamp stamp = stamp_of(*input);
        io::ListedInput line{input->path, input->output_name, input->group, {}, {}, {}, input->failure};
        if (stamp.modified > 0) {
            line.bytes = stamp.bytes;
            line.modified = stamp.modified;
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
std::uint64_t add_lines(const std::string& path, io::ManifestWriter& manifest) {
    const std::string name = path == "-" ? "standard input" : path;
    std::ifstream file;
    if (path != "-") file.open(path, std::ios::binary);
    if (path != "-" && !file) throw IoError(name + ": cannot be opened: " + std::strerror(errno));
    std::istream& lines = path == "-" ? std::cin : file;
    std::uint64_t number = 0;
    for (std::string line; std::getline(lines, line);) {
        ++number;
        if (line.rfind("{\"format\":\"gpuhist manifest ", 0) != 0)  // the last line of a manifest
            manifest.add(io::parse_manifest_line(line, name + ": line " + std::to_string(number)));
    }
    if (lines.bad()) throw IoError(name + ": cannot be read: " + std::strerror(errno));
    return 0;
}

/// Returns how many inputs cannot be listed.
std::uint64_t write_manifest(const ManifestOptions& options, Console& console) {
    std::optional<io::NewFile> file;
    const auto output = [](const auto& write) {
        try {
            write();
        } catch (const std::exception& error) {
            throw OutputFailure(error.what());
        }
    };
    output([&] {
        OutputDirectory(".", options.force, console)
            .reserve_elsewhere(options.output, {"{\"path\":", "{\"format\":\"gpuhist manifest "});
        file.emplace(options.output);
    });
    io::ManifestWriter manifest([&](const std::string& text) { output([&] { file->write(text); }); });
    const std::uint64_t failed =
        options.lines ? add_lines(*options.lines, manifest) : add_inputs(options.inputs, manifest, console);
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
    return inputs_failed;
}

}  // namespace gpuhist::app
