// Parts of a set that several machines share, of the commands `joint`, `same` and `stack`. A part is two files: facts
// in JSON, and data beside them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "gpuhist/io/shard.hpp"

namespace gpuhist::app {

/// Facts that the parts of every command have.
struct SetPart {
    io::ShardId id;
    std::uint64_t members = 0;                   ///< images, or pairs of them, of all parts
    std::string members_hash;                    ///< of their names
    std::map<std::string, std::string> options;  ///< by name, if they change results
    std::string data_checksum;

    SetPart() = default;
    SetPart(const io::ShardId& shard, std::uint64_t count, std::string hash,
            std::map<std::string, std::string> asked = {})
        : id(shard), members(count), members_hash(std::move(hash)), options(std::move(asked)) {}
};

/// Facts about a part, and the directory of its files.
template <class Part>
using PlacedParts = std::vector<std::pair<std::filesystem::path, Part>>;

/// Files of the parts of a command.
class PartFiles {
  public:
    using Json = nlohmann::ordered_json;

    /// `data`: extension of the file beside the facts. `set`: what parts are a part of, in messages.
    constexpr PartFiles(const char* command, const char* data, const char* set)
        : command_(command), data_(data), set_(set) {}

    std::string stem(const io::ShardId& shard) const;
    std::string data_name(const io::ShardId& shard) const { return stem(shard) + data_; }
    std::string facts_name(const io::ShardId& shard) const { return stem(shard) + ".json"; }
    /// Both, the data first.
    std::vector<std::string> names(const io::ShardId& shard) const { return {data_name(shard), facts_name(shard)}; }

    /// Text of the facts about a part. `own`: facts that the command adds.
    std::string facts_text(const SetPart& part, const Json& own) const;
    /// Paths of the facts in a directory, in order. None if the directory can't be read.
    std::vector<std::filesystem::path> in(const std::filesystem::path& directory) const;
    /// Reads all parts of a set, by their numbers. `read_own` takes the facts of the command. Throws IoError if a part
    /// is damaged, missing, there twice, or of another set or other options than the first.
    template <class Part>
    PlacedParts<Part> read(const std::vector<std::string>& directories,
                           const std::function<void(const Json&, Part&)>& read_own) const {
        PlacedParts<Part> parts;
        for (const std::string& directory : directories)
            for (const std::filesystem::path& path : in(directory)) {
                Part part;
                read_facts(path, part, [&](const Json& facts) { read_own(facts, part); });
                parts.emplace_back(directory, std::move(part));
            }
        std::sort(parts.begin(), parts.end(),
                  [](const auto& one, const auto& other) { return one.second.id.number < other.second.id.number; });
        std::vector<std::pair<std::filesystem::path, const SetPart*>> found;
        for (const auto& [directory, part] : parts) found.emplace_back(directory, &part);
        check(found, directories.front());
        return parts;
    }
    /// Opens the data of a part, whose checksum is right.
    std::ifstream open_data(const std::filesystem::path& directory, const SetPart& part) const;

  private:
    void read_facts(const std::filesystem::path& path, SetPart& part,
                    const std::function<void(const Json&)>& read_own) const;
    void check(const std::vector<std::pair<std::filesystem::path, const SetPart*>>& parts,
               const std::string& directory) const;

    const char *command_, *data_, *set_;
};

}  // namespace gpuhist::app
