#include "run/checkpoint.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "gpuhist/error.hpp"
#include "gpuhist/io/checksum.hpp"
#include "gpuhist/io/files.hpp"
#include "run/output_directory.hpp"
#include "run/output_list.hpp"

namespace gpuhist::app {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;  // that is written
using ReadJson = nlohmann::json;

constexpr std::uint64_t version = 14;

IoError no_checkpoint(const fs::path& path, const std::string& what) {
    return IoError(path.string() + ": not a checkpoint of this program (" + what +
                   "): remove it, or start again without --resume");
}

/// The two lines of the file, each with its checksum.
struct Lines {
    ReadJson head;
    std::string shard;
};

std::optional<Lines> read_lines(const fs::path& path) {
    std::error_code ignored;
    if (!fs::exists(path, ignored)) return std::nullopt;
    const std::string text = io::read_text(path);
    const std::size_t head_bytes = std::min(text.find('\n'), text.size() - 1) + 1;
    const std::string head = text.substr(0, head_bytes);
    // Another version may have no checksum, so its number is looked at before.
    const std::string start = "{\"gpuhist_journal\":";
    if (head.compare(0, start.size(), start) != 0) throw no_checkpoint(path, "its beginning differs");
    if (head.compare(start.size(), std::to_string(version).size() + 1, std::to_string(version) + ',') != 0)
        throw no_checkpoint(path, "another version");
    Lines lines{{}, text.substr(head_bytes)};
    try {
        io::check_seal(head, path.string());
        io::check_seal(lines.shard, path.string());
        lines.head = ReadJson::parse(head);
    } catch (const IoError&) {
        throw no_checkpoint(path, "it is damaged: its checksum differs");
    } catch (const nlohmann::json::exception& error) {
        throw no_checkpoint(path, error.what());
    }
    return lines;
}

}  // namespace

void save_checkpoint(const fs::path& path, const Checkpoint& checkpoint, const io::FrequencyFile& frequencies) {
    Json head{{"gpuhist_journal", version},
              {"pass", checkpoint.pass},
              {"complete", checkpoint.complete},
              {"inputs", checkpoint.inputs},
              {"own_inputs", checkpoint.own_inputs},
              {"from_directory", checkpoint.from_directory},
              {"printed", checkpoint.printed},
              {"paths_hash", checkpoint.paths_hash},
              {"stamps_hash", checkpoint.stamps_hash},
              {"beside_hash", checkpoint.beside_hash},
              {"images", checkpoint.images},
              {"extents", Json::object()},
              {"values_bytes", checkpoint.frequency_bytes},
              {"errors", checkpoint.errors},
              {"files", checkpoint.files}};
    if (checkpoint.complete)
        for (const Checkpoint::Stack& stack : checkpoint.stacks)
            head["stacks"].push_back(
                {escaped_name(stack.name), stack.index, stack.whole, stack.count, Json(stack.pages)});
    for (const auto& [name, extent] : checkpoint.extents) head["extents"][name] = {extent.bytes, extent.checksum};
    head["time"] = checkpoint.time;
    if (const auto& output = checkpoint.standard_output)
        head["standard_output"] = {output->device, output->file, output->bytes};
    write_durably(path, io::seal_json(head.dump()) + io::shard_json(checkpoint.shard, &frequencies));
}

std::optional<Checkpoint> load_checkpoint(const fs::path& path, const std::shared_ptr<io::FrequencyFile>& frequencies) {
    const auto lines = read_lines(path);
    if (!lines) return std::nullopt;
    const ReadJson& head = lines->head;
    const auto number = [&](const ReadJson& value) {  // the library would convert others, as far as they fit
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
        checkpoint.own_inputs = number(head.at("own_inputs"));
        checkpoint.from_directory = head.at("from_directory").get<bool>();
        checkpoint.printed = head.at("printed").get<bool>();
        checkpoint.paths_hash = head.at("paths_hash").get<std::string>();
        checkpoint.stamps_hash = head.at("stamps_hash").get<std::string>();
        checkpoint.beside_hash = head.at("beside_hash").get<std::string>();
        checkpoint.time = number(head.at("time"));
        checkpoint.images = number(head.at("images"));
        for (const auto& [name, extent] : head.at("extents").items())
            checkpoint.extents[name] = {number(extent.at(0)), number(extent.at(1))};
        for (const auto& [kind, count] : head.at("errors").items()) checkpoint.errors[kind] = number(count);
        for (const auto& [end, count] : head.at("files").items()) checkpoint.files[end] = number(count);
        if (const auto output = head.find("standard_output"); output != head.end())
            checkpoint.standard_output = {number(output->at(0)), number(output->at(1)), number(output->at(2))};
        if (const auto stacks = head.find("stacks"); stacks != head.end())
            for (const ReadJson& stack : *stacks) {
                const auto name = unescaped_name(stack.at(0).get<std::string>());
                if (!name) throw no_checkpoint(path, "a stack without a name");
                checkpoint.stacks.push_back(
                    {*name, number(stack.at(1)), stack.at(2).get<bool>(), number(stack.at(3)), {}});
                for (const ReadJson& page : stack.at(4)) checkpoint.stacks.back().pages.push_back(number(page));
            }
        checkpoint.frequency_bytes = number(head.at("values_bytes"));
        frequencies->resume(checkpoint.frequency_bytes);
        checkpoint.shard = io::parse_shard(lines->shard, path.string(), {frequencies, frequencies});
        return checkpoint;
    } catch (const nlohmann::json::exception& error) {
        throw no_checkpoint(path, error.what());
    }
}

}  // namespace gpuhist::app
