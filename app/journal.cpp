#include "journal.hpp"

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

constexpr std::uint64_t version = 3;

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
              {"bad", journal.bad},
              {"rows_bytes", journal.rows_bytes},
              {"errors_bytes", journal.errors_bytes},
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

std::optional<Journal> load_journal(const fs::path& path) {
    std::error_code ignored;
    if (!fs::exists(path, ignored)) return std::nullopt;
    const auto bytes = io::read_bytes(path);
    const auto fail = [&](const char* what) {
        return IoError(path.string() + ": not a journal of this program (" + what +
                       "): remove it, or start anew without --resume");
    };
    const auto number = [&](const Json& value) {  // the library would convert others, as far as they fit
        if (!value.is_number_unsigned()) throw fail("a number is not whole");
        return value.get<std::uint64_t>();
    };
    try {
        const auto head_end = std::find(bytes.begin(), bytes.end(), '\n');
        const Json head = Json::parse(bytes.begin(), head_end);
        if (number(head.at("gpuhist_journal")) != version) throw fail("another version");
        Journal journal;
        journal.temporary = head.at("temporary").get<std::string>();
        const std::uint64_t pass = number(head.at("pass"));
        if (pass != 1 && pass != 2) throw fail("an unknown pass");
        journal.pass = static_cast<int>(pass);
        journal.complete = head.at("complete").get<bool>();
        journal.inputs = number(head.at("inputs"));
        journal.paths_hash = head.at("paths_hash").get<std::string>();
        journal.images = number(head.at("images"));
        for (const Json& index : head.at("bad")) journal.bad.push_back(number(index));
        journal.rows_bytes = number(head.at("rows_bytes"));
        journal.errors_bytes = number(head.at("errors_bytes"));
        for (const auto& [kind, count] : head.at("errors").items()) journal.errors[kind] = number(count);
        if (const auto output = head.find("standard_output"); output != head.end())
            journal.standard_output = {number(output->at(0)), number(output->at(1)), number(output->at(2))};
        const std::string part(head_end == bytes.end() ? head_end : head_end + 1, bytes.end());
        journal.part = io::parse_part(part, path.string());
        return journal;
    } catch (const nlohmann::json::exception& error) {
        throw fail(error.what());
    }
}

}  // namespace gpuhist::app
