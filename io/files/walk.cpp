#include "gpuhist/io/walk.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <sys/stat.h>

#include <algorithm>
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
bool matches(const std::vector<std::string>& globs, const std::string& path) {
    return std::any_of(globs.begin(), globs.end(), [&](const std::string& glob) {
        return glob.find('/') == glob.npos ? fnmatch(glob.c_str(), last_name(path).data(), 0) == 0
                                           : fnmatch(glob.c_str(), path.c_str(), FNM_PATHNAME) == 0;
    });
}

bool hidden(std::string_view name) {
    return name.front() == '.';
}

bool enters(const std::string& path, const WalkOptions& options) {
    return !hidden(last_name(path)) && !matches(options.exclude, path);
}

bool finds(const std::string& path, const WalkOptions& options) {
    const std::string_view name = last_name(path);
    return !hidden(name) && has_image_extension(name) && !matches(options.exclude, path) &&
           (options.include.empty() || matches(options.include, path));
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

}  // namespace

bool walk_finds(const std::string& relative, const WalkOptions& options) {
    return enters_all_above(relative, options) && finds(relative, options);
}

/// A directory's names, sorted: directories with a `/` at the end, which puts what is below them in its place.
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

/// Lists a directory and goes into it. Throws IoError.
void Walk::open(const std::string& relative) {
    const std::string path = relative.empty() ? root_ : below(root_, relative);
    DIR* const directory = opendir(path.c_str());
    if (!directory) throw system_failure(path, "cannot be listed", errno);
    auto level = std::make_unique<Level>();
    level->relative = relative;
    errno = 0;
    while (const dirent* entry = readdir(directory)) {
        const std::string_view name = entry->d_name;
        if (hidden(name)) continue;
        unsigned char type = entry->d_type;
        struct stat status {};
        if (type == DT_UNKNOWN && fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0)
            type = S_ISDIR(status.st_mode) ? DT_DIR : S_ISREG(status.st_mode) ? DT_REG : DT_LNK;
        const std::string path_below = below(relative, name);
        if (type == DT_DIR) {
            const bool skipped = std::find(skipped_.begin(), skipped_.end(), path_below) != skipped_.end();
            if (options_.recursive && !skipped && enters(path_below, options_)) level->add(name, true);
        } else if (finds(path_below, options_)) {
            const bool file =
                type == DT_REG || (type == DT_LNK && fstatat(dirfd(directory), entry->d_name, &status, 0) == 0 &&
                                   S_ISREG(status.st_mode));
            if (file) level->add(name, false);
        }
        errno = 0;
    }
    const int failure = errno;
    closedir(directory);
    if (failure != 0) throw system_failure(path, "cannot be listed", failure);
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
