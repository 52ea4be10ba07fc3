#include "run/output_list.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "gpuhist/error.hpp"

namespace gpuhist::app {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view header = "gpuhist files 1\n", digits = "0123456789abcdef";

bool is_plain(unsigned char byte) {
    return byte >= 0x20 && byte < 0x7f && byte != '\\';
}

std::string escaped(const std::string& name) {
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

/// The name that a text stands for, absent where it is not what `escaped` writes, or leads out of the directory.
std::optional<std::string> name_of(std::string_view text) {
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
    return inside && escaped(name) == text ? std::optional(name) : std::nullopt;
}

}  // namespace

void OwnLengths::add(std::uint64_t length) {
    if (now == length) return;
    before = now;
    now = length;
}

std::string output_list_header() {
    return std::string(header);
}

std::string output_list_line(const std::string& name, std::optional<std::uint64_t> length) {
    return (length ? std::to_string(*length) : "-") + ' ' + escaped(name) + '\n';
}

std::string output_list_text(const OutputList& list) {
    std::string text(header);
    for (const auto& [name, lengths] : list) {
        if (lengths.before) text += output_list_line(name, lengths.before);
        if (lengths.now) text += output_list_line(name, lengths.now);
    }
    return text;
}

void read_output_list(std::string_view text, const std::string& file, bool growing, OutputList& list) {
    const auto refuse = [&](std::size_t line) {
        throw IoError(file + ": line " + std::to_string(line) +
                      ": not a list of what gpuhist wrote: remove it, and no file there is taken for gpuhist's");
    };
    if (growing && text.size() < header.size() && header.substr(0, text.size()) == text) return;
    if (text.substr(0, header.size()) != header) refuse(1);
    std::string last;
    std::size_t line = 2;
    for (std::size_t start = header.size(); start < text.size(); ++line) {
        const std::size_t end = text.find('\n', start);
        if (end == text.npos) {
            if (growing) return;
            refuse(line);
        }
        const std::string_view row = text.substr(start, end - start);
        start = end + 1;
        const std::size_t space = row.find(' ');
        if (space == row.npos) refuse(line);
        std::uint64_t length = 0;
        const bool any = row.substr(0, space) == "-";
        const auto [number_end, status] = std::from_chars(row.data(), row.data() + space, length);
        const auto name = name_of(row.substr(space + 1));
        const bool number = status == std::errc() && number_end == row.data() + space;
        if (!name || (any ? !growing : !number) || (!growing && *name < last)) refuse(line);
        OwnLengths& lengths = list[last = *name];
        if (any)
            lengths.any = true;
        else
            lengths.add(length);
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
            if (const auto text = output_list_file(path)) read_output_list(*text, path, false, level.files);
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
