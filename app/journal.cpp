#include "journal.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "gpuhist/error.hpp"
#include "gpuhist/io/dataset.hpp"
#include "gpuhist/io/image_file.hpp"

namespace gpuhist::app {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int version = 1;

int hexadecimal(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

}  // namespace

std::string escape_bytes(const std::string& bytes) {
    constexpr const char* digits = "0123456789ABCDEF";
    std::string text;
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x20 && byte < 0x7f && c != '%')
            text += c;
        else
            text.append({'%', digits[byte >> 4], digits[byte & 15]});
    }
    return text;
}

std::string unescape_bytes(const std::string& text) {
    std::string bytes;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const int high = text[i] == '%' && i + 2 < text.size() ? hexadecimal(text[i + 1]) : -1;
        const int low = high >= 0 ? hexadecimal(text[i + 2]) : -1;
        bytes += low >= 0 ? static_cast<char>(high << 4 | low) : text[i];
        if (low >= 0) i += 2;
    }
    return bytes;
}

void make_durable(const fs::path& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    const bool done = file >= 0 && fsync(file) == 0;
    const int error = errno;
    if (file >= 0) close(file);
    if (!done) throw IoError(path.string() + ": cannot be brought to disk: " + std::strerror(error));
}

void save_journal(const fs::path& path, const Journal& journal) {
    Json head{{"gpuhist_journal", version},
              {"options", journal.options},
              {"process", journal.process},
              {"complete", journal.complete},
              {"inputs", journal.inputs},
              {"images", journal.images},
              {"paths_hash", journal.paths_hash},
              {"stats_bytes", journal.stats_bytes},
              {"errors_bytes", journal.errors_bytes},
              {"errors", journal.errors}};
    if (const auto& output = journal.standard_output)
        head["standard_output"] = {output->device, output->file, output->bytes};
    std::string text = head.dump();
    text.pop_back();
    text += ",\"pools\":[";
    const char* separator = "";
    for (const auto& [group, pool] : journal.pools) {
        text.append(separator).append("\n[").append(Json(escape_bytes(group)).dump()).append(",");
        text.append(io::pool_json(pool)).append("]");
        separator = ",";
    }
    text += "]}\n";

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
    try {
        const Json json = Json::parse(bytes.begin(), bytes.end());
        if (json.at("gpuhist_journal").get<int>() != version) throw fail("another version");
        Journal journal;
        journal.options = json.at("options").get<std::map<std::string, std::string>>();
        journal.process = json.at("process").get<std::int64_t>();
        journal.complete = json.at("complete").get<bool>();
        journal.inputs = json.at("inputs").get<std::uint64_t>();
        journal.images = json.at("images").get<std::uint64_t>();
        journal.paths_hash = json.at("paths_hash").get<std::string>();
        journal.stats_bytes = json.at("stats_bytes").get<std::uint64_t>();
        journal.errors_bytes = json.at("errors_bytes").get<std::uint64_t>();
        for (const auto& [kind, count] : json.at("errors").items()) journal.errors[kind] = count.get<std::uint64_t>();
        if (const auto output = json.find("standard_output"); output != json.end())
            journal.standard_output = {output->at(0).get<std::uint64_t>(), output->at(1).get<std::uint64_t>(),
                                       output->at(2).get<std::uint64_t>()};
        for (const auto& pair : json.at("pools"))
            journal.pools.emplace(unescape_bytes(pair.at(0).get<std::string>()),
                                  io::parse_pool(pair.at(1).dump(), path.string()));
        return journal;
    } catch (const nlohmann::json::exception& error) {
        throw fail(error.what());
    }
}

}  // namespace gpuhist::app
