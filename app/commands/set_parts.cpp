#include "commands/set_parts.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <system_error>

#include "gpuhist/error.hpp"
#include "gpuhist/io/checksum.hpp"
#include "gpuhist/io/files.hpp"

namespace gpuhist::app {
namespace {

namespace fs = std::filesystem;

constexpr int format = 2;
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 31;

}  // namespace

std::string PartFiles::stem(const io::ShardId& shard) const {
    return "part-" + std::to_string(shard.number) + "-of-" + std::to_string(shard.count) + '.' + command_;
}

std::string PartFiles::facts_text(const SetPart& part, const Json& own) const {
    Json facts{{"format", format},        {"part", {part.id.number, part.id.count}},
               {"members", part.members}, {"members_hash", part.members_hash},
               {"options", part.options}, {"data", part.data_checksum}};
    facts.update(own);
    return io::seal_json(facts.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::vector<fs::path> PartFiles::in(const fs::path& directory) const {
    std::vector<fs::path> files;
    std::error_code ignored;
    for (const fs::directory_entry& entry : fs::directory_iterator(directory, ignored)) {
        const fs::path& path = entry.path();
        if (path.filename().string().rfind("part-", 0) == 0 && path.extension() == ".json" &&
            path.stem().extension() == std::string(".") + command_)
            files.push_back(path);
    }
    std::sort(files.begin(), files.end());
    return files;
}

void PartFiles::read_facts(const fs::path& path, SetPart& part,
                           const std::function<void(const Json&)>& read_own) const {
    const std::vector<unsigned char> bytes = io::read_bytes(path, most_bytes);
    const auto refuse = [&] {
        throw IoError(path.string() + ": is damaged, or not a part of 'gpuhist " + command_ + "'");
    };
    try {
        const Json facts = Json::parse(bytes.begin(), bytes.end());
        if (facts.at("format") != format)
            throw IoError(path.string() + ": was written by another version of gpuhist: use the same one for all");
        io::check_seal({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path.string());
        part.id.number = facts.at("part").at(0);
        part.id.count = facts.at("part").at(1);
        part.members = facts.at("members");
        part.members_hash = facts.at("members_hash");
        part.options = facts.at("options").get<std::map<std::string, std::string>>();
        part.data_checksum = facts.at("data");
        read_own(facts);
    } catch (const nlohmann::json::exception&) {
        refuse();
    } catch (const InvalidArgument&) {  // of numbers that no command writes
        refuse();
    }
    if (facts_name(part.id) != path.filename().string())
        throw IoError(path.string() + ": is part " + std::to_string(part.id.number) + " of " +
                      std::to_string(part.id.count) + ", but has the name of another one");
}

void PartFiles::check(const std::vector<std::pair<fs::path, const SetPart*>>& parts,
                      const std::string& directory) const {
    const SetPart& first = *parts.front().second;
    const auto named = [&](const auto& part) { return (part.first / facts_name(part.second->id)).string(); };
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const SetPart& part = *parts[i].second;
        if (part.id.count != first.id.count || part.members != first.members || part.members_hash != first.members_hash)
            throw IoError(named(parts[i]) + ": is a part of another " + set_ + " than " + named(parts.front()));
        for (const auto& [option, value] : part.options) {
            const auto other = first.options.find(option);
            if (other == first.options.end() || other->second != value)
                throw IoError(named(parts[i]) + ": was made with another " + option + " than " + named(parts.front()));
        }
        if (i > 0 && part.id.number == parts[i - 1].second->id.number)
            throw IoError(named(parts[i]) + ": is there twice");
    }
    io::ShardId wanted = first.id;
    for (wanted.number = 1; wanted.number <= wanted.count; ++wanted.number)
        if (wanted.number > parts.size() || parts[wanted.number - 1].second->id.number != wanted.number)
            throw IoError(directory + ": " + facts_name(wanted) + " is missing");
}

std::ifstream PartFiles::open_data(const fs::path& directory, const SetPart& part) const {
    const fs::path path = directory / data_name(part.id);
    std::ifstream file(path, std::ios::binary);
    if (!file) throw IoError(path.string() + ": is missing: it belongs to " + facts_name(part.id));
    io::Checksum sum;
    std::vector<char> block(std::size_t{1} << 20);
    while (file.read(block.data(), static_cast<std::streamsize>(block.size())) || file.gcount() > 0)
        sum.add(block.data(), static_cast<std::size_t>(file.gcount()));
    if (io::checksum_text(sum.value()) != part.data_checksum)
        throw IoError(path.string() + ": is damaged, or was changed");
    file.clear();
    file.seekg(0);
    return file;
}

}  // namespace gpuhist::app
