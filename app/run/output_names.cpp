#include "run/output_names.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <system_error>

namespace gpuhist::app {
namespace {

/// Absolute path without `.` and empty parts. `..` stays, because the part before it may be a link.
std::string plain(const std::string& path, const std::string& here) {
    const std::string full = path.front() == '/' ? path : here + '/' + path;
    std::string text;
    for (std::size_t start = 0; start < full.size();) {
        const std::size_t end = std::min(full.find('/', start), full.size());
        const std::string part = full.substr(start, end - start);
        if (!part.empty() && part != ".") text += '/' + part;
        start = end + 1;
    }
    return text;
}

}  // namespace

OutputNames::OutputNames() {
    std::error_code failed;
    here_ = std::filesystem::current_path(failed).string();
}

Names OutputNames::take(const Input& input) {
    if (input.failure || input.path.empty()) return Names::own;
    const std::hash<std::string> hash;
    const std::uint64_t path = hash(plain(input.path, here_));
    const auto [at, first] = paths_.emplace(hash(input.output_name), path);
    return first ? Names::own : at->second == path ? Names::same_file : Names::taken;
}

}  // namespace gpuhist::app
