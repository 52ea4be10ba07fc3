#include "run/written.hpp"

#include <algorithm>

#include "cli/console.hpp"
#include "cli/table.hpp"
#include "gpuhist/io/dataset.hpp"

namespace gpuhist::app {

std::string written_text(const std::filesystem::path& directory, std::vector<std::string> names,
                         const std::map<std::string, std::uint64_t>& below,
                         const std::vector<std::filesystem::path>& elsewhere) {
    constexpr std::size_t most = 24;
    std::string text;
    const auto line = [&](const std::string& files) { text += "wrote  " + printable(files) + '\n'; };
    // Pictures of groups are counted: there may be thousands.
    const auto groups = std::stable_partition(names.begin(), names.end(),
                                              [](const std::string& name) { return !io::is_group_plot(name); });
    const auto pictures = static_cast<std::uint64_t>(names.end() - groups);
    const std::string extension = pictures == 0 ? "" : std::filesystem::path(*groups).extension().string();
    const bool one_kind = std::all_of(groups, names.end(), [&](const std::string& name) {
        return std::filesystem::path(name).extension() == extension;
    });
    names.erase(groups, names.end());
    std::sort(names.begin(), names.end());
    std::string list;
    for (std::size_t i = 0; i < std::min(names.size(), most); ++i)
        list += i == 0 ? (directory / names[i]).string() : ' ' + names[i];
    if (names.size() > most) list += " and " + std::to_string(names.size() - most) + " more";
    if (pictures > 0)
        list += " and " + counted(pictures, "picture") + " of groups: DIR/dataset.histogram" +
                (one_kind ? extension : ".*");
    if (!list.empty()) line(list);
    std::string counts;
    for (const auto& [end, files] : below) counts += (counts.empty() ? "" : ", ") + std::to_string(files) + " *" + end;
    if (!counts.empty()) line(counts + " below " + directory.string());
    for (const std::filesystem::path& file : elsewhere) line(file.string());
    return text;
}

}  // namespace gpuhist::app
