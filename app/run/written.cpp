#include "run/written.hpp"

#include <algorithm>

#include "cli/table.hpp"

namespace gpuhist::app {

std::string written_text(const std::filesystem::path& directory, std::vector<std::string> names,
                         const std::map<std::string, std::uint64_t>& below,
                         const std::vector<std::filesystem::path>& elsewhere) {
    constexpr std::size_t most = 24;
    std::string text;
    const auto line = [&](const std::string& files) { text += "wrote  " + printable(files) + '\n'; };
    std::sort(names.begin(), names.end());
    std::string list;
    for (std::size_t i = 0; i < std::min(names.size(), most); ++i)
        list += i == 0 ? (directory / names[i]).string() : ' ' + names[i];
    if (names.size() > most) list += " and " + std::to_string(names.size() - most) + " more";
    if (!list.empty()) line(list);
    std::string counts;
    for (const auto& [end, files] : below) counts += (counts.empty() ? "" : ", ") + std::to_string(files) + " *" + end;
    if (!counts.empty()) line(counts + " below " + directory.string());
    for (const std::filesystem::path& file : elsewhere) line(file.string());
    return text;
}

}  // namespace gpuhist::app
