#include "gpuhist/io/walk.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <string_view>
#include <utility>

#include "decode/formats.hpp"
#include "files/failure.hpp"

namespace gpuhist::io {
namespace {

std::string_view last_name(std::string_view path) {
    return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

/// `path` is a whole one or the beginning of one, so it ends in a zero byte.
bool matches(const std::string& glob, const std::string& path) {
    return glob.find('/') == glob.npos ? fnmatch(glob.c_str(), last_name(path).data(), 0) == 0
                                       : fnmatch(glob.c_str(), path.c_str(), FNM_PATHNAME) == 0;
}

bool matches(const std::vector<std::string>& globs, const std::string& path) {
    return std::any_of(globs.begin(), globs.end(), [&](const std::string& glob) { return matches(glob, path); });
}

/// Adds the globs that match to those that matched before.
void note_matches(const std::vector<std::string>& globs, const std::string& path, std::set<std::string>& matched) {
    for (const std::string& glob : globs)
        if (matched.count(glob) == 0 && matches(glob, path)) matched.insert(glob);
}

bool hidden(std::string_view name) {
    return name.front() == '.';
}

/// Tells whether neither the name nor an option leaves a directory, or a file, out.
bool enters(const std::string& path, const WalkOptions& options) {
    return !hidden(last_name(path)) && !matches(options.exclude, path);
}

bool finds(const std::string& path, const WalkOptions& options) {
    const std::string_view name = last_name(path);
    return !hidden(name) && !matches(options.exclude, path) &&
           (options.include.empty() ? format_named(name) != nullptr : matches(options.include, path));
}

bool enters_all_above(const std::string& path, const WalkOptions& options) {
    for (std::size_t slash = path.find('/'); slash != path.npos; slash = path.find('/', slash + 1))
        if (!options.recursive || !enters(path.substr(0, slash), options)) return false;
    return true;
}

std::string below(const std::string& directory, std::string_view name) {
    std::string path = directory;
    if (!path.empty() && path.back() != '/') path += '/';
    return path.append(name);
}

void count_extension(std::string_view name, std::map<std::string, std::uint64_t>& counts) {
    constexpr std::size_t longest = 16, most = 100;
    const std::size_t dot = name.rfind('.');
    std::string extension(dot == name.npos ? "" : name.substr(dot));
    if (extension.size() < 2 || extension.size() > longest) extension.clear();
    for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (counts.size() >= most && counts.count(extension) == 0) extension.clear();
    ++counts[extension];
}

}  // namespace

LeftOut& LeftOut::operator+=(const LeftOut& other) {
    for (const auto& [extension, count] : other.by_extension) by_extension[extension] += count;
    special += other.special;
    if (broken_links == 0) first_broken_link = other.first_broken_link;
    broken_links += other.broken_links;
    links += other.links;
    again += other.again;
    followed += other.followed;
    matched.insert(other.matched.begin(), other.matched.end());
    return *this;
}

std::string to_string(const LeftOut& left_out) {
    std::vector<std::pair<std::uint64_t, std::string>> extensions;
    for (const auto& [extension, count] : left_out.by_extension)
        if (!extension.empty()) extensions.emplace_back(count, extension);
    std::stable_sort(extensions.begin(), extensions.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::string text;
    const auto add = [&](std::uint64_t count, const std::string& one, const std::string& many) {
        if (count > 0) text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + (count == 1 ? one : many);
    };
    for (const auto& [count, extension] : extensions) add(count, extension, extension);
    const auto others = left_out.by_extension.find("");
    if (others != left_out.by_extension.end())
        add(others->second, extensions.empty() ? "file" : "other file", extensions.empty() ? "files" : "other files");
    add(left_out.special, "pipe, socket or device", "pipes, sockets and devices");
    add(left_out.broken_links, "broken link", "broken links");
    add(left_out.links, "link to a directory", "links to directories");
    add(left_out.again, "directory that a link had led to", "directories that links had led to");
    return text;
}

bool walk_finds(const std::string& relative, const WalkOptions& options) {
    return enters_all_above(relative, options) && finds(relative, options);
}

/// Sorted names in a directory. Directories end with a `/`, so that everything below them is in the right place.
struct Walk::Level {
    std::string relative;
    std::string names;  ///< one block: a flat directory may have millions
    std::vector<std::pair<std::size_t, std::uint32_t>> entries;
    std::size_t next = 0;

    void add(std::string_view name, bool directory) {
        entries.emplace_back(names.size(), static_cast<std::uint32_t>(name.size() + directory));
        names.append(name);
        if (directory) names += '/';
    }
    std::string_view name(const std::pair<std::size_t, std::uint32_t>& entry) const {
        return std::string_view(names).substr(entry.first, entry.second);
    }
    void sort() {
        std::sort(entries.begin(), entries.end(), [this](const auto& a, const auto& b) { return name(a) < name(b); });
    }
};

Walk::Walk(std::string root, WalkOptions options) : root_(std::move(root)), options_(std::move(options)) {}
Walk::~Walk() = default;
Walk::Walk(Walk&&) noexcept = default;
Walk& Walk::operator=(Walk&&) noexcept = default;

void Walk::skip(const std::string& relative_directory) {
    skipped_.push_back(relative_directory);
}

void Walk::skip_target(const std::filesystem::path& directory) {
    skipped_targets_.push_back(directory);
}

void Walk::go_on_after(Walk& other) {
    entered_.merge(other.entered_);
}

/// Lists a directory and goes into it. Throws IoError.
void Walk::open(const std::string& relative) {
    const std::string path = relative.empty() ? root_ : below(root_, relative);
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(path.c_str()), closedir);
    if (!directory) throw system_failure(path, "cannot be listed", errno);
    const int descriptor = dirfd(directory.get());
    struct stat status {};
    if (options_.follow_links) {
        if (fstat(descriptor, &status) != 0) throw system_failure(path, "cannot be listed", errno);
        const auto is_here = [&](const std::filesystem::path& other) {  // which may come into being meanwhile
            struct stat there {};
            return stat(other.c_str(), &there) == 0 && there.st_dev == status.st_dev && there.st_ino == status.st_ino;
        };
        if (std::any_of(skipped_targets_.begin(), skipped_targets_.end(), is_here)) return;
        if (!entered_.emplace(status.st_dev, status.st_ino).second) {
            ++left_out_.again;
            return;
        }
    }
    auto level = std::make_unique<Level>();
    level->relative = relative;
    errno = 0;
    for (const dirent* entry = nullptr; (entry = readdir(directory.get())); errno = 0) {
        const std::string_view name = entry->d_name;
        const std::string path_below = below(relative, name);
        if (!hidden(name)) note_matches(options_.exclude, path_below, left_out_.matched);
        if (!enters(path_below, options_)) continue;
        unsigned char type = entry->d_type;
        const auto look = [&](int flags) {
            if (fstatat(descriptor, entry->d_name, &status, flags) == 0) type = IFTODT(status.st_mode);
        };
        if (type == DT_UNKNOWN) look(AT_SYMLINK_NOFOLLOW);
        const bool link = type == DT_LNK;
        if (link) look(0);
        if (type != DT_DIR) note_matches(options_.include, path_below, left_out_.matched);
        const bool found = finds(path_below, options_);
        if (type == DT_DIR) {
            const bool skipped = std::find(skipped_.begin(), skipped_.end(), path_below) != skipped_.end();
            if (!options_.recursive || skipped) continue;
            if (link) ++(options_.follow_links ? left_out_.followed : left_out_.links);
            if (!link || options_.follow_links) level->add(name, true);
        } else if (type == DT_REG && passes_over_ && passes_over_(path_below)) {
            continue;
        } else if (type == DT_REG && found) {
            level->add(name, false);
        } else if (type == DT_REG && options_.include.empty()) {
            count_extension(name, left_out_.by_extension);
        } else if (found || options_.include.empty()) {
            if (type == DT_LNK && left_out_.broken_links == 0) left_out_.first_broken_link = below(root_, path_below);
            ++(type == DT_LNK ? left_out_.broken_links : left_out_.special);
        }
    }
    if (errno != 0) throw system_failure(path, "cannot be listed", errno);
    level->sort();
    levels_.push_back(std::move(level));
}

std::optional<Walk::Found> Walk::next() {
    const auto try_open = [this](const std::string& relative) -> std::optional<Found> {
        try {
            open(relative);
            return std::nullopt;
        } catch (const IoError& failure) {
            return Found{relative, failure};
        }
    };
    if (!std::exchange(started_, true))
        if (auto failed = try_open("")) return failed;
    while (!levels_.empty()) {
        Level& level = *levels_.back();
        if (level.next == level.entries.size()) {
            levels_.pop_back();
            continue;
        }
        const std::string_view name = level.name(level.entries[level.next++]);
        if (name.back() != '/') return Found{below(level.relative, name), {}};
        if (auto failed = try_open(below(level.relative, name.substr(0, name.size() - 1)))) return failed;
    }
    return std::nullopt;
}

std::vector<std::filesystem::path> list_images(const std::filesystem::path& directory) {
    std::vector<std::filesystem::path> images;
    Walk walk(directory.string());
    while (const auto found = walk.next()) {
        if (found->failure) throw IoError(*found->failure);
        images.push_back(directory / found->relative);
    }
    return images;
}

}  // namespace gpuhist::io
