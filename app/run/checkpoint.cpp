#include "run/checkpoint.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "gpuhist/error.hpp"
#include "gpuhist/io/image_file.hpp"

namespace gpuhist::app {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::uint64_t version = 4;

IoError no_journal(const fs::path& path, const std::string& what) {
    return IoError(path.string() + ": not a journal of this program (" + what +
                   "): remove it, or start anew without --resume");
}

/// The two lines of a journal's file.
struct Lines {
    Json head;
    std::string part;
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
            throw no_journal(path, "another version");
        return lines;
    } catch (const nlohmann::json::exception& error) {
        throw no_journal(path, error.what());
    }
}

}  // namespace

void make_durable(const fs::path& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    const bool done = file >= 0 && fsync(file) == 0;
    const int error = errno;
    if (file >= 0) close(file);
    if (!done) throw IoError(path.string() + ": cannot be brought to disk: " + std::strerror(error));
}

void save_journal(const fs::path& path, const Journal& journal) {
    Json head{{"gpuhist_journal", version},
              {"temporary", journal.temporary},
              {"pass", journal.pass},
              {"complete", journal.complete},
              {"inputs", journal.inputs},
              {"paths_hash", journal.paths_hash},
              {"images", journal.images},
              {"rows_bytes", journal.rows_bytes},
              {"errors_bytes", journal.errors_bytes},
              {"values_bytes", journal.values_bytes},
              {"bad_bytes", journal.bad_bytes},
              {"errors", journal.errors}};
    if (const auto& output = journal.standard_output)
        head["standard_output"] = {output->device, output->file, output->bytes};
    const std::string text = head.dump() + '\n' + io::part_json(journal.part);

    const fs::path next = path.string() + ".next";
    const int file = open(next.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    int error = file < 0 ? errno : 0;
    for (std::size_t written = 0; error == 0 && written < text.size();) {
        const ssize_t part = write(file, text.data() + written, text.size() - written);
        if (part >= 0)
            written += static_cast<std::size_t>(part);
        else if (errno != EINTR)
            error = errno;
    }
    if (error == 0 && fsync(file) != 0) error = errno;
    if (file >= 0 && close(file) != 0 && error == 0) error = errno;
    if (error == 0 && rename(next.c_str(), path.c_str()) != 0) error = errno;
    if (error != 0) {
        unlink(next.c_str());
        throw IoError(path.string() + ": cannot be written: " + std::strerror(error),
                      error == ENOSPC || error == EDQUOT ? IoError::Kind::no_space : IoError::Kind::other);
    }
    make_durable(path.parent_path());
}

std::optional<std::string> load_temporary_prefix(const fs::path& path) {
    const auto lines = read_lines(path);
    if (!lines) return std::nullopt;
    try {
        return lines->head.at("temporary").get<std::string>();
    } catch (const nlohmann::json::exception& error) {
        throw no_journal(path, error.what());
    }
}

std::optional<Journal> load_journal(const fs::path& path, const std::shared_ptr<io::FrequencyFile>& values) {
    const auto lines = read_lines(path);
    if (!lines) return std::nullopt;
    const Json& head = lines->head;
    const auto number = [&](const Json& value) {  // the library would convert others, as far as they fit
        if (!value.is_number_unsigned()) throw no_journal(path, "a number is not whole");
        return value.get<std::uint64_t>();
    };
    try {
        Journal journal;
        journal.temporary = head.at("temporary").get<std::string>();
        const std::uint64_t pass = number(head.at("pass"));
        if (pass != 1 && pass != 2) throw no_journal(path, "an unknown pass");
        journal.pass = static_cast<int>(pass);
        journal.complete = head.at("complete").get<bool>();
        journal.inputs = number(head.at("inputs"));
        journal.paths_hash = head.at("paths_hash").get<std::string>();
        journal.images = number(head.at("images"));
        journal.rows_bytes = number(head.at("rows_bytes"));
        journal.errors_bytes = number(head.at("errors_bytes"));
        for (const auto& [kind, count] : head.at("errors").items()) journal.errors[kind] = number(count);
        if (const auto output = head.find("standard_output"); output != head.end())
            journal.standard_output = {number(output->at(0)), number(output->at(1)), number(output->at(2))};
        journal.values_bytes = number(head.at("values_bytes"));
        journal.bad_bytes = number(head.at("bad_bytes"));
        values->resume(journal.values_bytes);
        journal.part = io::parse_part(lines->part, path.string(), {values, values});
        return journal;
    } catch (const nlohmann::json::exception& error) {
        throw no_journal(path, error.what());
    }
}

}  // namespace gpuhist::app
