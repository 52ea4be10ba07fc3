#include "run/checkpoint.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "gpuhist/error.hpp"
#include "gpuhist/io/files.hpp"
#include "run/output_directory.hpp"

namespace gpuhist::app {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::uint64_t version = 6;

IoError no_checkpoint(const fs::path& path, const std::string& what) {
    return IoError(path.string() + ": not a checkpoint of this program (" + what +
                   "): remove it, or start anew without --resume");
}

/// Lines of the file, of which there are two.
struct Lines {
    Json head;
    std::string shard;
};

std::optional<Lines> read_lines(const fs::path& path) {
    std::error_code ignored;
    if (!fs::exists(path, ignored)) return std::nullopt;
    const auto bytes = io::read_bytes(path);
    const auto head_end = std::find(bytes.begin(), bytes.end(), '\n');
    try {
        Lines lines{Json::parse(bytes.begin(), head_end),
                    {head_end == bytes.end() ? head_end : head_end + 1, bytes.end()}};
        const Json& found = lines.head.at("gpuhist_journal");
        if (!found.is_number_unsigned() || found.get<std::uint64_t>() != version)
            throw no_checkpoint(path, "another version");
        return lines;
    } catch (const nlohmann::json::exception& error) {
        throw no_checkpoint(path, error.what());
    }
}

}  // namespace

void save_checkpoint(const fs::path& path, const Checkpoint& checkpoint) {
    Json head{{"gpuhist_journal", version},
              {"pass", checkpoint.pass},
              {"complete", checkpoint.complete},
              {"inputs", checkpoint.inputs},
              {"paths_hash", checkpoint.paths_hash},
              {"images", checkpoint.images},
              {"rows_bytes", checkpoint.rows_bytes},
              {"errors_bytes", checkpoint.errors_bytes},
              {"values_bytes", checkpoint.frequency_bytes},
              {"bad_bytes", checkpoint.bad_bytes},
              {"errors", checkpoint.errors}};
    if (const auto& output = checkpoint.standard_output)
        head["standard_output"] = {output->device, output->file, output->bytes};
    write_durably(path, head.dump() + '\n' + io::shard_json(checkpoint.shard));
}

std::optional<Checkpoint> load_checkpoint(const fs::path& path, const std::shared_ptr<io::FrequencyFile>& frequencies) {
    const auto lines = read_lines(path);
    if (!lines) return std::nullopt;
    const Json& head = lines->head;
    const auto number = [&](const Json& value) {  // the library would convert others, as far as they fit
        if (!value.is_number_unsigned()) throw no_checkpoint(path, "a number is not whole");
        return value.get<std::uint64_t>();
    };
    try {
        Checkpoint checkpoint;
        const std::uint64_t pass = number(head.at("pass"));
        if (pass != 1 && pass != 2) throw no_checkpoint(path, "an unknown pass");
        checkpoint.pass = static_cast<int>(pass);
        checkpoint.complete = head.at("complete").get<bool>();
        checkpoint.inputs = number(head.at("inputs"));
        checkpoint.paths_hash = head.at("paths_hash").get<std::string>();
        checkpoint.images = number(head.at("images"));
        checkpoint.rows_bytes = number(head.at("rows_bytes"));
        checkpoint.errors_bytes = number(head.at("errors_bytes"));
        for (const auto& [kind, count] : head.at("errors").items()) checkpoint.errors[kind] = number(count);
        if (const auto output = head.find("standard_output"); output != head.end())
            checkpoint.standard_output = {number(output->at(0)), number(output->at(1)), number(output->at(2))};
        checkpoint.frequency_bytes = number(head.at("values_bytes"));
        checkpoint.bad_bytes = number(head.at("bad_bytes"));
        frequencies->resume(checkpoint.frequency_bytes);
        checkpoint.shard = io::parse_shard(lines->shard, path.string(), {frequencies, frequencies});
        return checkpoint;
    } catch (const nlohmann::json::exception& error) {
        throw no_checkpoint(path, error.what());
    }
}

}  // namespace gpuhist::app
