#include "run/output_list.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "gpuhist/error.hpp"
#include "gpuhist/io/checksum.hpp"

namespace gpuhist::app {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view header = "gpuhist files 1\n", growing_header = "gpuhist run 1\n",
                           digits = "0123456789abcdef";

bool is_plain(unsigned char byte) {
    return byte >= 0x20 && byte < 0x7f && byte != '\\';
}

constexpr char any_length = '-', removed = 'x';
const std::string finished_mark = "= ";

/// A file in a list: its length, or a mark instead.
struct Entry {
    std::string name;
    std::optional<std::uint64_t> length;
    char mark = 0;
};

std::optional<Entry> entry_of(std::string_view line) {
    const std::size_t space = line.find(' ');
    if (space == line.npos) return std::nullopt;
    const auto name = unescaped_name(line.substr(space + 1));
    if (!name) return std::nullopt;
    if (space == 1 && (line[0] == any_length || line[0] == removed)) return Entry{*name, std::nullopt, line[0]};
    std::uint64_t length = 0;
    const auto [end, status] = std::from_chars(line.data(), line.data() + space, length);
    if (status != std::errc() || end != line.data() + space) return std::nullopt;
    return Entry{*name, length};
}

/// Line behind its checksum, which covers that of the line before.
std::string sealed(std::string_view body, Extent& end) {
    end.checksum = io::checksum(io::checksum_text(end.checksum).append(body));
    std::string line = io::checksum_text(end.checksum).append(1, ' ').append(body).append(1, '\n');
    end.bytes += line.size();
    return line;
}

}  // namespace

std::string escaped_name(const std::string& name) {
    std::string text;
    for (const char c : name) {
        const auto byte = static_cast<unsigned char>(c);
        if (is_plain(byte))
            text += c;
        else
            (text += '\\').append({digits[byte >> 4], digits[byte & 15]});
    }
    return text;
}

std::optional<std::string> unescaped_name(std::string_view text) {
    std::string name;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\\') {
            if (i + 2 >= text.size()) return std::nullopt;
            const std::size_t high = digits.find(text[i + 1]), low = digits.find(text[i + 2]);
            if (high == digits.npos || low == digits.npos) return std::nullopt;
            name += static_cast<char>(high * 16 + low);
            i += 2;
        } else {
            name += text[i];
        }
    }
    const std::string around = "/" + name + "/";
    const bool inside = around.find("//") == around.npos && around.find("/../") == around.npos &&
                        around.find("/./") == around.npos && name.find('\0') == name.npos;
    return inside && escaped_name(name) == text ? std::optional(name) : std::nullopt;
}

void OwnLengths::add(std::uint64_t length) {
    if (now == length) return;
    before = now;
    now = length;
}

std::string output_list_text(const OutputList& list, const FinishedRuns& finished) {
    std::string text(header);
    for (const auto& [name, lengths] : list) {
        for (const auto& length : {lengths.before, lengths.now})
            if (length) text += std::to_string(*length) + ' ' + escaped_name(name) + '\n';
    }
    for (const auto& [run, found] : finished) text += finished_mark + run + ' ' + found + '\n';
    return text;
}

void read_output_list(std::string_view text, const std::string& file, OutputList& list, FinishedRuns& finished) {
    const auto refuse = [&](std::size_t line) {
        throw IoError(file + ": line " + std::to_string(line) +
                      ": not a list of gpuhist's files: if you remove it, gpuhist treats all files there as foreign");
    };
    if (text.substr(0, header.size()) != header) refuse(1);
    std::string last;
    std::size_t line = 2;
    for (std::size_t start = header.size(); start < text.size(); ++line) {
        const std::size_t end = text.find('\n', start);
        if (end == text.npos) refuse(line);
        std::string_view one = text.substr(start, end - start);
        start = end + 1;
        if (one.substr(0, finished_mark.size()) == finished_mark) {
            one.remove_prefix(finished_mark.size());
            const std::size_t space = one.find(' ');
            if (space == one.npos || space == 0 || space + 1 == one.size()) refuse(line);
            finished.emplace(one.substr(0, space), one.substr(space + 1));
            continue;
        }
        const auto entry = entry_of(one);
        if (!entry || !entry->length || entry->name < last || !finished.empty()) refuse(line);
        last = entry->name;
        list[last].add(*entry->length);
    }
}

std::string growing_list_header() {
    return std::string(growing_header);
}

Extent growing_list_begin() {
    return {growing_header.size(), io::checksum(growing_header)};
}

std::string growing_list_line(const std::string& name, std::optional<std::uint64_t> length, Extent& end) {
    return sealed((length ? std::to_string(*length) : std::string(1, any_length)) + ' ' + escaped_name(name), end);
}

std::string growing_list_removal(const std::string& name, Extent& end) {
    return sealed(std::string(1, removed) + ' ' + escaped_name(name), end);
}

Extent read_growing_list(std::string_view text, const std::string& file, OutputList& list) {
    const std::string_view begin = text.substr(0, growing_header.size());
    if (begin != growing_header.substr(0, begin.size()))
        throw IoError(file + ": line 1: not a list of files that a run of gpuhist wrote: remove it");
    if (begin.size() < growing_header.size()) return {};
    Extent end = growing_list_begin();
    for (;;) {
        const std::size_t line_end = text.find('\n', end.bytes);
        if (line_end == text.npos) return end;
        const std::string_view line = text.substr(end.bytes, line_end + 1 - end.bytes);
        if (line.size() < io::checksum_digits + 2) return end;
        std::string_view body = line.substr(io::checksum_digits + 1);
        body.remove_suffix(1);
        const auto entry = entry_of(body);
        Extent next = end;
        if (!entry || sealed(body, next) != line) return end;
        end = next;
        if (entry->mark == removed)
            list.erase(entry->name);
        else if (entry->length)
            list[entry->name].add(*entry->length);
        else
            list[entry->name].any = true;
    }
}

std::optional<std::string> output_list_file(const fs::path& path) {
    const auto fail = [&](int error) {
        throw IoError(path.string() +
                      ": cannot be read: " + (error == ELOOP ? "it is a symbolic link" : std::strerror(error)));
    };
    const int file = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0 && (errno == ENOENT || errno == ENOTDIR)) return std::nullopt;
    if (file < 0) fail(errno);
    struct stat status {};
    int error = fstat(file, &status) != 0 ? errno : !S_ISREG(status.st_mode) ? EINVAL : 0;
    std::string text(error == 0 ? static_cast<std::size_t>(status.st_size) : 0, '\0');
    std::size_t done = 0;
    while (error == 0 && done < text.size()) {
        const ssize_t part = pread(file, text.data() + done, text.size() - done, static_cast<off_t>(done));
        if (part == 0) break;
        if (part > 0)
            done += static_cast<std::size_t>(part);
        else if (errno != EINTR)
            error = errno;
    }
    close(file);
    if (error != 0) fail(error);
    text.resize(done);
    return text;
}

std::optional<std::uint64_t> length_of_file(const fs::path& path) {
    struct stat status {};
    if (lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
    return static_cast<std::uint64_t>(status.st_size);
}

bool ListsAround::list(const std::string& file) {
    const std::lock_guard lock(mutex_);
    while (!levels_.empty() && file.compare(0, levels_.back().directory.size(), levels_.back().directory) != 0)
        levels_.pop_back();
    for (std::size_t start = levels_.empty() ? 0 : levels_.back().directory.size(); start < file.size();) {
        const std::size_t slash = file.find('/', start);
        if (slash == file.npos) break;
        Level level{file.substr(0, slash + 1), {}};
        const std::string path = level.directory + output_list_name;
        try {
            FinishedRuns ignored;
            if (const auto text = output_list_file(path)) read_output_list(*text, path, level.files, ignored);
        } catch (const IoError&) {  // no list: every file there is the user's
            level.files.clear();
        }
        levels_.push_back(std::move(level));
        start = slash + 1;
    }
    for (const Level& level : levels_) {
        if (level.files.empty()) continue;
        const auto found = level.files.find(file.substr(level.directory.size()));
        if (found == level.files.end()) continue;
        const auto length = length_of_file(file);
        if (length && found->second.has(*length)) return true;
    }
    return false;
}

}  // namespace gpuhist::app
