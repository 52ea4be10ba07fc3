/// Files of the parts of a command that several machines share.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace gpuhist::app {

/// Files part-*END.json of a directory, in order of their paths. None if the directory can't be read.
inline std::vector<std::filesystem::path> part_files_of(const std::filesystem::path& directory, const char* end) {
    std::vector<std::filesystem::path> files;
    std::error_code ignored;
    for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(directory, ignored)) {
        const std::filesystem::path& path = entry.path();
        if (path.filename().string().rfind("part-", 0) == 0 && path.extension() == ".json" &&
            path.stem().extension() == end)
            files.push_back(path);
    }
    std::sort(files.begin(), files.end());
    return files;
}

}  // namespace gpuhist::app
