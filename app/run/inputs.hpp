/// Inputs: the images of the arguments, one after the other, and the names of the files about each.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpuhist/error.hpp"
#include "gpuhist/io/manifest.hpp"
#include "gpuhist/io/pages.hpp"
#include "gpuhist/io/shard.hpp"
#include "gpuhist/io/walk.hpp"

namespace gpuhist::app {

/// Size and time of a file, of the mask beside it (FILE.msk), and of files in directories of masks and label images
/// that say something of it. Another one of the same name has others, mostly.
struct Stamp {
    std::uint64_t bytes = 0;
    std::uint64_t modified = 0;  ///< nanoseconds since 1970
    std::uint64_t changed = 0;   ///< likewise, of the name, the contents or what else is known of the file, or its mask
    std::uint64_t mask_bytes = 0, mask_modified = 0;  ///< 0 where there is no mask
    std::uint64_t companions =
        0;  ///< checksum of their sizes and times, in a shard of what they hold; 0: there are none

    /// Tells whether nothing that decides on results is another.
    friend bool operator==(const Stamp& a, const Stamp& b) { return a.numbers() == b.numbers(); }
    std::array<std::uint64_t, 5> numbers() const { return {bytes, modified, mask_bytes, mask_modified, companions}; }
    /// Numbers of the file itself, and what else tells that it is not to be believed that all is as it was.
    std::array<std::uint64_t, 2> of_file() const { return {bytes, modified}; }
    std::array<std::uint64_t, 4> beside() const { return {changed, mask_bytes, mask_modified, companions}; }
};

struct Input {
    std::uint64_t index = 0;  ///< from 0, in the order of all inputs; pages of a file share that of the file
    std::string path;         ///< as given, or as found in a directory that was given; `-` for standard input;
                              ///< of a page with `#N` behind it
    std::string file;         ///< of a page: the path without that
    std::uint64_t page = 0;   ///< from 1; 0: the file is measured without pages
    std::shared_ptr<const io::FilePages> pages;  ///< of the file, where a page is measured
    std::string output_name;                     ///< relative
    std::string group;  ///< the directory it belongs to: that of `output_name`, or of the path as given; or `.`
    bool from_directory = false;
    bool found = false;  ///< by a walk through a directory; otherwise it was named
    bool standard_input = false;
    std::optional<IoError> failure;             ///< of what cannot even be listed
    std::optional<std::uint64_t> listed_bytes;  ///< length of the file, as a manifest has it
    std::optional<std::uint64_t> listed_mask;   ///< likewise of the mask beside it (FILE.msk)
    std::string archive;                        ///< path of the archive that it is a member of; else empty
    std::optional<std::uint64_t> member_bytes;  ///< length of a member, if the archive says it
    std::shared_ptr<const std::vector<unsigned char>> bytes;  ///< of a member, up to its measuring
    std::optional<Stamp> stamp;                               ///< of an input that this run measures, before it is read

    const std::string& file_path() const { return page > 0 ? file : path; }
};

/// Pages that are wanted of each file, counted from 1.
struct PageSelection {
    static constexpr std::uint64_t end = ~std::uint64_t{0};  ///< the last one, whichever it is
    struct Range {
        std::uint64_t first = 1, last = end;
    };
    std::vector<Range> ranges;  ///< in ascending order, with gaps between them

    /// Whether it is one page of a file: no set of its own.
    bool one() const { return ranges.size() == 1 && ranges.front().first == ranges.front().last; }
};

/// Absolute path, symbolic links resolved as far as it is there.
std::filesystem::path resolve(const std::filesystem::path& path);

/// Choice of the inputs.
struct InputOptions {
    std::vector<std::string> arguments;     ///< files, directories, `-`
    std::optional<std::string> files_from;  ///< a file of paths, `-` for standard input, instead of arguments
    bool zero_separated = false;            ///< its paths end with zero bytes, not lines; as do those that are listed
    std::string list_root;  ///< directory that names and groups of its paths leave out, as if it had been the argument
    std::optional<std::string> manifest_path;      ///< a manifest, instead of arguments
    std::shared_ptr<const io::Manifest> manifest;  ///< that, once it is opened; `shard` then has lines of it
    io::WalkOptions walk;                          ///< through directories
    std::optional<PageSelection> pages;  ///< each is an input; absent: files are measured whole, by their first page
    io::ShardId shard;                   ///< whose files are looked into for their pages
    std::uint64_t most_page_bytes = io::DecodeOptions{}.most_page_bytes;  ///< of memory for the pages of a file
    std::uint64_t most_member_bytes = 0;  ///< of memory for members of archives; 0: they are listed and not read

    /// Function called with the name of a list that is a pipe which nobody writes to.
    std::function<void(const std::string&)> unwritten{};

    bool listed() const { return files_from || manifest_path; }  ///< by a file
};

/// Lists the inputs in the order of the arguments, and those of a directory in byte order. An image that several
/// arguments name is listed once. Results are left out of directories: what lies in `output` where that is below them,
/// what a list `.gpuhist` names, and the files that `written` knows, by an absolute path without links.
/// Which these are follows from the arguments alone, so that memory does not grow with the number of images. Pages are
/// listed in the place of their file, which is opened for them; standard input must then be a regular file. Of a
/// manifest the lines of the shard are listed, and no others.
class InputList {
  public:
    /// Throws IoError where the list of paths cannot be opened.
    InputList(const InputOptions& options, const std::filesystem::path& output,
              std::function<bool(const std::string& file)> written = nullptr);
    ~InputList();

    /// Throws IoError where a manifest cannot be read.
    std::optional<Input> next();

    /// Remarks on the inputs that were listed since the last call.
    std::vector<std::string> take_notes();
    /// Entries that were left out of the directories listed so far. Of a directory in another they are counted once.
    io::LeftOut left_out() const;

    /// Whether there is one input, no directory and no set of pages.
    bool single() const;

    /// Whether an existing file of that path is, or would be, one of the inputs. Paths of a list are not remembered.
    /// Safe to call while another thread lists.
    bool includes(const std::filesystem::path& path) const;

  private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace gpuhist::app
