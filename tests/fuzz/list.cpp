// Lists of paths: whatever the bytes, each path comes once and in order, and what is written about it stays below the
// output directory. The first byte chooses what ends a path.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "fuzz/memory_file.hpp"
#include "run/inputs.hpp"

namespace {

void require(bool holds) {
    if (!holds) std::abort();
}

/// The paths of a list, split once more.
std::vector<std::string> split(const std::string& list, char separator) {
    std::vector<std::string> paths(1);
    for (const char c : list) {
        if (c == separator)
            paths.emplace_back();
        else
            paths.back() += c;
    }
    if (separator == '\n') {
        if (paths.front().rfind("\xEF\xBB\xBF", 0) == 0) paths.front().erase(0, 3);
        for (std::string& path : paths)
            if (!path.empty() && path.back() == '\r') path.pop_back();
    }
    paths.erase(std::remove(paths.begin(), paths.end(), ""), paths.end());
    return paths;
}

/// Name that leads nowhere but down: no root, no empty parts, neither `.` nor `..`.
bool leads_down(const std::string& name) {
    for (std::size_t start = 0; start <= name.size();) {
        const std::size_t end = std::min(name.find('/', start), name.size());
        const std::string part = name.substr(start, end - start);
        if (part.empty() || part == "." || part == "..") return false;
        start = end + 1;
    }
    return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace gpuhist;
    if (size == 0) return 0;
    static const MemoryFile file;
    const std::string list(reinterpret_cast<const char*>(data) + 1, size - 1);
    file.put(list.data(), list.size());
    app::InputOptions options;
    options.files_from = file.path();
    options.zero_separated = data[0] % 2 == 0;
    app::InputList inputs(options, "out");
    std::uint64_t index = 0;
    const auto paths = split(list, options.zero_separated ? '\0' : '\n');
    if (paths.empty()) require(inputs.next().value().failure.has_value());
    for (const std::string& path : paths) {
        const auto input = inputs.next();
        require(input && input->index == index++);
        if (path.find('\0') != path.npos) {  // no path: the list is not read further
            require(input->failure.has_value());
            break;
        }
        require(!input->failure && input->path == path && leads_down(input->output_name));
        require(!input->group.empty() && input->group.size() <= std::max<std::size_t>(path.size(), 1));
    }
    require(!inputs.next());
    return 0;
}
