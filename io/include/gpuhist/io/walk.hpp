/// Images below a directory, found one after the other.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gpuhist/error.hpp"

namespace gpuhist::io {

/// Files of a directory that are meant. Globs are those of fnmatch(3): one with a `/` is compared with the path
/// relative to the directory, where `*` does not match a `/`; one without, with the last name of that path.
struct WalkOptions {
    bool recursive = true;
    std::vector<std::string> include;  ///< files that match one are meant; where there are none, those of image formats
    std::vector<std::string> exclude;  ///< a file or directory that matches one is left out, with all below it
    bool follow_links = false;         ///< links to directories are entered too
};

/// Entries of directories that a walk has left out because of what they are. Neither hidden ones are counted nor those
/// that `include` and `exclude` leave out.
struct LeftOut {
    /// Files of no image format's extension, by their extension in lower case, with the dot. Long ones, and those
    /// beyond the first hundred, are counted as "".
    std::map<std::string, std::uint64_t> by_extension;
    std::uint64_t special = 0;       ///< pipes, sockets and devices
    std::uint64_t broken_links = 0;  ///< that lead to nothing, or in a circle
    std::string first_broken_link;   ///< that the walk came to, with its root
    std::uint64_t links = 0;         ///< to directories, which are not followed
    std::uint64_t again = 0;         ///< directories that were entered before, by another path: only links lead there
    std::uint64_t followed = 0;      ///< links to directories, not left out where links are followed
    std::set<std::string> matched;   ///< globs of `include` and `exclude` that have matched an entry

    bool any() const { return !by_extension.empty() || special + broken_links + links + again > 0; }
    LeftOut& operator+=(const LeftOut& other);
};

/// Words for it, as "3 .txt, 1 .dat, 2 other files, 1 link to a directory"; empty where nothing was left out.
std::string to_string(const LeftOut& left_out);

/// Tells whether a walk with these options finds a file of that path (relative to its root), as far as the path does:
/// an included name, or where none are included, an extension of a format that is decoded, in any case; nothing hidden,
/// nothing excluded, no deeper than allowed.
bool walk_finds(const std::string& relative, const WalkOptions& options);

/// Walk through a directory and those below it, in byte order of the paths. It finds regular files, or links to such,
/// whose names `walk_finds`. A directory is listed when the walk comes to it; memory is taken for the names in the
/// directories from the root to where the walk stands. Where links to directories are followed, each directory is
/// entered once, whatever leads there, as device and inode tell; memory is then taken for each.
class Walk {
  public:
    struct Found {
        std::string relative;            ///< to the root
        std::optional<IoError> failure;  ///< of a directory that cannot be listed; absent for an image
    };

    explicit Walk(std::string root, WalkOptions options = {});
    ~Walk();
    Walk(Walk&&) noexcept;
    Walk& operator=(Walk&&) noexcept;

    /// Next image or failure; absent at the end.
    std::optional<Found> next();

    /// Tells the walk not to enter this directory, by its path relative to the root.
    void skip(const std::string& relative_directory);
    /// Tells a walk that follows links not to enter this directory, whatever leads there.
    void skip_target(const std::filesystem::path& directory);
    /// Tells the walk to pass over files, which are not even counted, of whose path relative to the root this says so.
    void pass_over(std::function<bool(const std::string& relative)> file) { passes_over_ = std::move(file); }
    /// Tells a walk that follows links not to enter what another, which ends here, has entered.
    void go_on_after(Walk& other);

    /// Entries left out in the directories that were listed so far.
    const LeftOut& left_out() const { return left_out_; }

  private:
    struct Level;
    void open(const std::string& relative);

    std::string root_;
    WalkOptions options_;
    std::vector<std::string> skipped_;
    std::vector<std::unique_ptr<Level>> levels_;
    std::set<std::pair<std::uint64_t, std::uint64_t>> entered_;  ///< device and inode, where links are followed
    std::vector<std::filesystem::path> skipped_targets_;
    std::function<bool(const std::string&)> passes_over_;
    LeftOut left_out_;
    bool started_ = false;
};

/// Images that a walk through a directory finds. Throws IoError where a directory cannot be listed.
std::vector<std::filesystem::path> list_images(const std::filesystem::path& directory);

}  // namespace gpuhist::io
