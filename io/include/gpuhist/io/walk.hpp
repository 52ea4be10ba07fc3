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

/// Options of a walk: the files that it finds. Globs are those of fnmatch(3). A glob with a `/` is compared with the
/// path relative to the directory, and its `*` does not match a `/`. Other globs are compared with the last name of
/// that path.
struct WalkOptions {
    bool recursive = true;
    std::vector<std::string> include;  ///< globs of files to find; if there are none, the extensions of image formats
    std::vector<std::string> exclude;  ///< globs of files and directories to leave out, with everything below them
    bool follow_links = false;         ///< whether links to directories are entered
};

/// Entries of directories that a walk has left out because of their kind. Hidden entries, and entries that `include`
/// and `exclude` leave out, are not counted.
struct LeftOut {
    /// Files without the extension of an image format, by their extension in lower case, with the dot. Long extensions,
    /// and those beyond the first hundred, are counted under "".
    std::map<std::string, std::uint64_t> by_extension;
    std::uint64_t special = 0;       ///< pipes, sockets and devices
    std::uint64_t broken_links = 0;  ///< links that lead to nothing, or in a circle
    std::string first_broken_link;   ///< first of these, with the root of the walk
    std::uint64_t links = 0;         ///< links to directories, which are not followed
    std::uint64_t again = 0;         ///< directories that were entered before by another path, through a link
    std::uint64_t followed = 0;      ///< links to directories that were followed, and so not left out
    std::set<std::string> matched;   ///< globs of `include` and `exclude` that have matched an entry

    bool any() const { return !by_extension.empty() || special + broken_links + links + again > 0; }
    LeftOut& operator+=(const LeftOut& other);
};

/// Text of the left out entries, such as "3 .txt, 1 .dat, 2 other files, 1 link to a directory"; empty if there are
/// none.
std::string to_string(const LeftOut& left_out);

/// Returns whether a walk with these options finds a file with this path relative to its root, as far as the path
/// decides. The file needs an included name or, if no names are included, the extension of a format that is decoded, in
/// any case. It must not be hidden, excluded or deeper than allowed.
bool walk_finds(const std::string& relative, const WalkOptions& options);

/// Walk through a directory and all directories below it, in byte order of the paths. It finds regular files, and links
/// to them, whose names pass `walk_finds`. It lists a directory when it comes to it, and only keeps the names in the
/// directories from the root to its present place. If it follows links to directories, it enters each directory once,
/// whatever leads there, which it recognizes by device and inode; that takes memory for each.
class Walk {
  public:
    struct Found {
        std::string relative;            ///< path relative to the root
        std::optional<IoError> failure;  ///< reason why a directory cannot be listed; absent for an image
    };

    explicit Walk(std::string root, WalkOptions options = {});
    ~Walk();
    Walk(Walk&&) noexcept;
    Walk& operator=(Walk&&) noexcept;

    /// Next image or failure; absent at the end.
    std::optional<Found> next();

    /// Makes the walk skip a directory, by its path relative to the root.
    void skip(const std::string& relative_directory);
    /// Makes a walk that follows links skip this directory, whatever leads there.
    void skip_target(const std::filesystem::path& directory);
    /// Makes the walk pass over files for which this function returns true, by their path relative to the root. They
    /// are not even counted.
    void pass_over(std::function<bool(const std::string& relative)> file) { passes_over_ = std::move(file); }
    /// Makes a walk that follows links skip the directories that another walk, which ends here, has entered.
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
    std::set<std::pair<std::uint64_t, std::uint64_t>> entered_;  ///< device and inode, if links are followed
    std::vector<std::filesystem::path> skipped_targets_;
    std::function<bool(const std::string&)> passes_over_;
    LeftOut left_out_;
    bool started_ = false;
};

/// Finds the images below a directory. Throws IoError if a directory cannot be listed.
std::vector<std::filesystem::path> list_images(const std::filesystem::path& directory);

}  // namespace gpuhist::io
