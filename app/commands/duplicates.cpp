#include "commands/duplicates.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <optional>
#include <utility>

#include "cli/console.hpp"
#include "cli/table.hpp"
#include "commands/output_failure.hpp"
#include "gpuhist/duplicates.hpp"
#include "gpuhist/io/hashed_images.hpp"
#include "gpuhist/io/sink.hpp"
#include "run/exit_code.hpp"
#include "run/output_directory.hpp"
#include "run/written.hpp"

namespace gpuhist::app {
namespace {

/// Bytes after which rows are written.
constexpr std::size_t many = std::size_t{1} << 18;

std::string without_slash(std::string name) {
    while (name.size() > 1 && name.back() == '/') name.pop_back();
    return name;
}

/// Set between which and another one duplicates are looked for.
class NamedSet {
  public:
    NamedSet(const std::string& name, const std::vector<std::string>& results) : name_(without_slash(name)) {
        for (std::size_t i = 0; i < results.size(); ++i)
            if (without_slash(results[i]) == name_) results_ = i;
    }
    const std::string& name() const { return name_; }

    /// Tells whether an image of results belongs to the set: by the results if the set has their name, else by the
    /// directories of its path.
    bool has(std::size_t results, std::string_view path) const {
        if (results_) return *results_ == results;
        for (std::size_t at = path.find(name_); at != path.npos; at = path.find(name_, at + 1)) {
            const std::size_t end = at + name_.size();
            if ((at == 0 || path[at - 1] == '/') && (name_.back() == '/' || (end < path.size() && path[end] == '/')))
                return true;
        }
        return false;
    }

  private:
    std::string name_;
    std::optional<std::size_t> results_;
};

/// Images that are compared. Those of the first of two sets come first.
struct Images {
    io::HashedImages all;
    std::size_t of_first = 0;  ///< images of the first set; without sets all
};

Images read_images(const DuplicatesOptions& options) {
    Images images{io::HashedImages(options.hash), 0};
    if (options.between.empty()) {
        for (const std::string& results : options.results) images.all.add(results);
        images.of_first = images.all.size();
        return images;
    }
    const std::array<NamedSet, 2> sets{NamedSet(options.between[0], options.results),
                                       NamedSet(options.between[1], options.results)};
    io::HashedImages second(options.hash);
    for (std::size_t i = 0; i < options.results.size(); ++i) {
        io::HashedImages own(options.hash);
        own.add(options.results[i]);
        for (std::size_t image = 0; image < own.size(); ++image) {
            const std::string_view path = own.path(image);
            const bool first = sets[0].has(i, path);
            if (first && sets[1].has(i, path))
                throw IoError(std::string(path) + ": is in '" + sets[0].name() + "' and in '" + sets[1].name() +
                              "': name directories that do not contain each other");
            if (first) images.all.add(own, image);
            if (sets[1].has(i, path)) second.add(own, image);
        }
    }
    for (std::size_t set = 0; set < 2; ++set)
        if ((set == 0 ? images.all : second).size() == 0)
            throw IoError("--between: no image is in '" + sets[set].name() +
                          "': name one of the results, or a directory in the paths of images");
    images.of_first = images.all.size();
    for (std::size_t image = 0; image < second.size(); ++image) images.all.add(second, image);
    return images;
}

/// Image of a group that is listed.
struct Member {
    std::uint32_t kept, image;
};

/// Images of the groups, each in the order of the images. Groups are in the order of their first images, which are
/// kept; of two sets a group has images of both.
std::vector<Member> members_of(const Images& images, int distance) {
    const std::vector<std::uint32_t> first = group_duplicates(images.all.pixels(), images.all.similar(), distance);
    const bool sets = images.of_first < first.size();
    std::vector<bool> listed(first.size());
    for (std::size_t i = sets ? images.of_first : 0; i < first.size(); ++i)
        if (first[i] != i && first[i] < images.of_first) listed[first[i]] = true;
    std::vector<Member> members;
    for (std::size_t i = 0; i < first.size(); ++i)
        if (listed[first[i]]) members.push_back({first[i], static_cast<std::uint32_t>(i)});
    std::stable_sort(members.begin(), members.end(), [](const Member& a, const Member& b) { return a.kept < b.kept; });
    return members;
}

/// Whether an image has the same pixels as the kept image of its group.
bool has_equal_pixels(const Images& images, const Member& member) {
    return images.all.pixels()[member.image] == images.all.pixels()[member.kept];
}
std::uint64_t distance_of(const Images& images, const Member& member) {
    const std::vector<std::uint64_t>& hashes = images.all.similar();
    return static_cast<std::uint64_t>(hash_distance(hashes[member.image], hashes[member.kept]));
}

/// Passes the rows of groups.csv to `take`.
void write_rows(const Images& images, const std::vector<Member>& members,
                const std::function<void(const void*, std::size_t)>& take) {
    const auto sink = io::make_sink("csv", {io::Table(ColumnFile::groups, Percentiles())});
    std::string rows = sink->begin();
    const auto flush = [&] {
        take(rows.data(), rows.size());
        rows.clear();
    };
    std::uint64_t group = 0;
    for (const Member& member : members) {
        if (member.image == member.kept) ++group;
        const std::string number = std::to_string(group);
        ColumnRow row;
        row.group = number;
        row.path = images.all.path(member.image);
        row.distance = distance_of(images, member);
        row.kept = images.all.path(member.kept);
        rows += sink->format(io::Record{ColumnFile::groups, row});
        if (rows.size() > many) flush();
    }
    flush();
}

/// Lines about what was found, for a person.
std::string summary_of(const DuplicatesOptions& options, const Images& images, const std::vector<Member>& members) {
    constexpr std::uint64_t most = 10;  // leaks that are named
    const bool sets = !options.between.empty();
    std::uint64_t groups = 0, found = 0, equal = 0;
    std::string leaks;
    for (const Member& member : members) {
        groups += member.image == member.kept;
        if (member.image == member.kept || (sets && member.image < images.of_first)) continue;
        const bool same = has_equal_pixels(images, member);
        equal += same;
        if (++found > most || !sets) continue;
        leaks += "leak  " + printable(images.all.path(member.kept)) + " -> " +
                 printable(images.all.path(member.image)) + "  " +
                 (same ? "equal pixels" : "distance " + std::to_string(distance_of(images, member))) + '\n';
    }
    std::string text = "compared  " + counted(images.all.size(), "image") + " by pixels and " + options.hash + ": ";
    if (found == 0)
        text += sets ? "no leaks" : "no duplicates";
    else if (sets)
        text += counted(found, "image") + " of " + printable(without_slash(options.between[1])) + " in " +
                printable(without_slash(options.between[0])) + " too";
    else
        text += counted(found, "duplicate") + " in " + counted(groups, "group");
    if (found > 0) text += ", " + std::to_string(equal) + " with equal pixels";
    text += '\n' + leaks;
    if (sets && found > most) text += "leak  and " + std::to_string(found - most) + " more\n";
    return text;
}

void write_groups(const DuplicatesOptions& options, Console& console) {
    const std::string name = traits_of(ColumnFile::groups).file_name();
    OutputDirectory directory(options.output, options.force, console);
    output([&] {
        directory.read_lists();
        directory.reserve({name});
    });
    const Images images = read_images(options);
    const std::vector<Member> members = members_of(images, options.distance);
    output([&] {
        directory.make();
        directory.stage(name, [&](const auto& take) { write_rows(images, members, take); });
        directory.commit();
    });
    if (!options.notes) return;
    const std::string text = summary_of(options, images, members) + written_text(options.output, {name});
    if (std::fputs(text.c_str(), stdout) < 0 || (std::fflush(stdout) != 0 && errno != EPIPE))
        throw OutputFailure(std::string("standard output: ") + std::strerror(errno));
}

}  // namespace

int find_duplicates(const DuplicatesOptions& options) {
    Console console(!options.notes);
    return exit_code_of(console, [&] {
        write_groups(options, console);
        return static_cast<int>(all_done);
    });
}

}  // namespace gpuhist::app
