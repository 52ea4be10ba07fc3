#include "inputs.hpp"

#include <map>
#include <unordered_map>

#include "gpuhist/error.hpp"
#include "gpuhist/io/image_file.hpp"

namespace gpuhist::app {
namespace {

namespace fs = std::filesystem;

fs::path resolve(const fs::path& path) {
    std::error_code failed;
    const fs::path resolved = fs::weakly_canonical(path, failed);
    return failed ? fs::absolute(path, failed).lexically_normal() : resolved;
}

/// Images of one directory share the work of resolving it.
class PathResolver {
  public:
    std::string operator()(const fs::path& path) {
        if (!path.has_filename()) return resolve(path).string();
        const fs::path parent = path.has_parent_path() ? path.parent_path() : fs::path(".");
        auto [entry, added] = resolved_.try_emplace(parent.string());
        if (added) entry->second = resolve(parent);
        return (entry->second / path.filename()).string();
    }

  private:
    std::unordered_map<std::string, fs::path> resolved_;
};

/// The last `components` parts of a path, or all of them without the root.
std::string tail(const std::string& path, std::size_t components) {
    std::size_t start = path.size();
    while (components-- > 0 && start != std::string::npos && start > 0) start = path.rfind('/', start - 1);
    if (start == std::string::npos) return path;
    return path.substr(start + (start < path.size() && path[start] == '/'));
}

/// Gives each image the shortest tail of its path that no other image has.
void name_outputs(std::vector<Input>& images, const std::vector<std::string>& full_paths) {
    std::vector<std::size_t> unnamed(images.size());
    for (std::size_t i = 0; i < unnamed.size(); ++i) unnamed[i] = i;
    for (std::size_t components = 1; !unnamed.empty(); ++components) {
        std::map<std::string, std::vector<std::size_t>> groups;
        for (std::size_t i : unnamed) groups[tail(full_paths[i], components)].push_back(i);
        unnamed.clear();
        for (auto& [name, members] : groups)
            for (std::size_t i : members) {
                const bool whole = tail(full_paths[i], components + 1) == name;
                if (members.size() == 1 || whole)
                    images[i].output_name = name;
                else
                    unnamed.push_back(i);
            }
    }
}

bool lies_in(const std::string& path, const std::string& directory) {
    return path.size() > directory.size() && path.compare(0, directory.size(), directory) == 0 &&
           path[directory.size()] == '/';
}

}  // namespace

std::string full_path(const fs::path& path) {
    return PathResolver()(path);
}

Inputs list_inputs(const std::vector<std::string>& arguments, const fs::path& output) {
    Inputs inputs;
    PathResolver resolver;
    std::vector<std::string> full_paths;
    const auto add = [&](const std::string& path, std::string full, bool from_directory) {
        if (!inputs.full_paths.insert(full).second) return false;
        inputs.images.push_back({path, {}, from_directory});
        full_paths.push_back(std::move(full));
        return true;
    };
    for (const std::string& argument : arguments) {
        std::error_code ignored;
        if (argument == "-" || !fs::is_directory(argument, ignored)) {
            // No absolute path is "-/stdin", so a file named stdin is told apart from standard input.
            if (!add(argument, argument == "-" ? "-/stdin" : resolver(argument), false))
                inputs.notes.push_back(argument + ": given more than once, measured once");
        } else {
            try {
                const std::string directory = resolve(argument).string();
                const std::string results = resolve(output).string();
                const bool skip_results = lies_in(results, directory);  // our own plots of an earlier run
                std::size_t found = 0, again = 0;
                for (const fs::path& path : io::list_images(argument)) {
                    std::string full = resolver(path);
                    if (skip_results && lies_in(full, results)) continue;
                    ++found;
                    if (!add(path.string(), std::move(full), true)) ++again;
                }
                if (found == 0) inputs.errors.push_back(argument + ": a directory without images");
                if (again > 0)
                    inputs.notes.push_back(argument + ": " + std::to_string(again) + " of its " +
                                           std::to_string(found) + " images given more than once, measured once");
            } catch (const IoError& error) {
                inputs.errors.push_back(error.what());
            }
        }
    }
    name_outputs(inputs.images, full_paths);
    return inputs;
}

}  // namespace gpuhist::app
