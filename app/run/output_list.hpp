/// Lists of the files that gpuhist wrote into a directory, by which it recognizes them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::app {

/// Name of the list in the directory that it is about.
inline constexpr const char* output_list_name = ".gpuhist";

/// Facts in a checkpoint about a file that grows: the number of its first bytes, and their checksum.
struct Extent {
    std::uint64_t bytes = 0, checksum = 0;
};

/// Lengths that a file which gpuhist wrote may have: the last, and while it is being replaced the one before.
struct OwnLengths {
    std::optional<std::uint64_t> now, before;
    bool any = false;  ///< it is growing, or may be replaced whatever it is

    /// Takes note of the length that the file has next.
    void add(std::uint64_t length);
    bool has(std::uint64_t length) const { return now == length || before == length; }
};

/// Files by their names, relative to the directory.
using OutputList = std::map<std::string, OwnLengths>;

/// Name in printable ASCII: a backslash and two hexadecimal digits replace every other byte, and the backslash itself.
std::string escaped_name(const std::string& name);
/// Inverse of `escaped_name`. Absent for other texts, and for names that lead out of the directory.
std::optional<std::string> unescaped_name(std::string_view text);

/// Runs that are finished, by their names, and one word each of what they found.
using FinishedRuns = std::map<std::string, std::string>;

/// List as text: a line that names the format, then a line for each length of each file: the length, or `-` for any, a
/// space, and the escaped name. At the end stands a line for each finished run: `=`, its name and its word.
std::string output_list_text(const OutputList& list, const FinishedRuns& finished);

/// Adds the files and runs that a text lists. Throws IoError, which begins with `file`, if it is not a list.
void read_output_list(std::string_view text, const std::string& file, OutputList& list, FinishedRuns& finished);

/// Beginning of a list that grows while a run lasts, and its checksum.
std::string growing_list_header();
Extent growing_list_begin();
/// Line of such a list, in any order of names. In front of it stands its checksum, which covers all before it as well,
/// and becomes that of `end`. No length: the file grows, or may be replaced whatever it is.
std::string growing_list_line(const std::string& name, std::optional<std::uint64_t> length, Extent& end);
/// Line by which a file is listed no more.
std::string growing_list_removal(const std::string& name, Extent& end);
/// Adds the files that a text lists, up to a line that is cut off or changed. Returns the length of the part that was
/// read. Throws IoError, which begins with `file`, if the text is not a list.
Extent read_growing_list(std::string_view text, const std::string& file, OutputList& list);

/// Text of a list on disk; absent if there is no such file. Throws IoError if it cannot be read, or is a link.
std::optional<std::string> output_list_file(const std::filesystem::path& path);

/// The length of a regular file, absent for all else, links included.
std::optional<std::uint64_t> length_of_file(const std::filesystem::path& path);

/// Lists of the directories around files. Safe to use from several threads.
class ListsAround {
  public:
    /// Tells whether a directory above this file, of an absolute path without links, has a list that it stands on.
    bool list(const std::string& file);

  private:
    struct Level {
        std::string directory;  ///< ends with a slash
        OutputList files;
    };
    std::mutex mutex_;
    std::vector<Level> levels_;  ///< of the directories above the last file, from the root
};

}  // namespace gpuhist::app
