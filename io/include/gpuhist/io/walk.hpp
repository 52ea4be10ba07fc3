/// Images below a directory, found one after the other.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpuhist/error.hpp"

namespace gpuhist::io {

/// Files of a directory that are meant. Globs are those of fnmatch(3): one with a `/` is compared with the path
/// relative to the directory, where `*` does not match a `/`; one without, with the last name of that path.
struct WalkOptions {
    bool recursive = true;
    std::vector<std::string> include;  ///< where there are any, a file must match one
    std::vector<std::string> exclude;  ///< a file or directory that matches one is left out, with all below it
};

/// Tells whether a walk with these options finds a file of that path (relative to its root), as far as the path does:
/// an extension of a format that is decoded, in any case; an included name; nothing hidden, nothing excluded, no deeper
/// than allowed.
bool walk_finds(const std::string& relative, const WalkOptions& options);

/// Walk through a directory and those below it, in byte order of the paths. It finds regular files, or links to such,
/// whose names `walk_finds`. Links to directories are not followed. A directory is listed when the walk comes to
/// it; memory is taken for the names in the directories from the root to where the walk stands.
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

  private:
    struct Level;
    void open(const std::string& relative);

    std::string root_;
    WalkOptions options_;
    std::vector<std::string> skipped_;
    std::vector<std::unique_ptr<Level>> levels_;
    bool started_ = false;
};

/// Images that a walk through a directory finds. Throws IoError where a directory cannot be listed.
std::vector<std::filesystem::path> list_images(const std::filesystem::path& directory);

}  // namespace gpuhist::io
