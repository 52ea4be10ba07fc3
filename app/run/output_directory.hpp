/// Output directory: the only place where files in it are made, replaced and removed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "cli/console.hpp"
#include "gpuhist/io/encode.hpp"
#include "run/inputs.hpp"
#include "run/output_list.hpp"

namespace gpuhist::app {

/// Directory for results, which may hold other files. None is replaced or removed that gpuhist did not write, which it
/// knows by the list `.gpuhist` there, and for the files of a run that has not ended by NAME.written.partial, which
/// names each file before it appears. Nothing is written through a link to a directory there. Inputs are not replaced
/// at all. Names are relative to the directory. Functions
/// throw IoError; those for files of images, and `owns`, are safe to call from several threads.
class OutputDirectory {
  public:
    /// Directory that need not be there. `force`: other files are replaced, which is said, and links are followed.
    OutputDirectory(std::filesystem::path path, bool force, Console& console);
    ~OutputDirectory();
    OutputDirectory(const OutputDirectory&) = delete;
    OutputDirectory& operator=(const OutputDirectory&) = delete;

    const std::filesystem::path& path() const { return path_; }

    /// Reads the lists of the files that gpuhist wrote. Throws if `.gpuhist` is not a list.
    void read_lists();

    /// Tells whether a file is there that gpuhist wrote.
    bool owns(const std::string& name) const;
    /// Returns whether gpuhist wrote a file anywhere, by its absolute path without links.
    bool owns_file(const std::string& file) const;
    /// Tells whether a file of an input's could be replaced: by a run into an empty directory none can.
    bool may_replace() const { return may_replace_; }

    /// Sets the inputs, which are never replaced.
    void set_inputs(const std::shared_ptr<const InputList>& inputs) { inputs_ = inputs; }
    /// Keeps a file from being replaced, by whatever name.
    void protect(const std::filesystem::path& input);

    /// Throws, naming them, where other files have names that this run needs; these are then no image's.
    void reserve(const std::vector<std::string>& names);

    /// Throws where a file anywhere, that is to be written, is an input, or does not begin as gpuhist's do.
    void reserve_elsewhere(const std::filesystem::path& path, const std::vector<std::string>& beginnings);

    /// Makes the directory, where it is not there.
    void make();
    /// Tells that the run may be interrupted: its working files, which go before it ends, and the files of its images
    /// are known for gpuhist's as soon as they are there. `run` is what the name of its list begins with.
    void keep_track(const std::string& run, std::vector<std::string> working);
    /// Locks out other runs of the same name, and makes the directory if needed. Call it before anything there is read.
    /// Throws io::LockedError if another run has the lock.
    void take();
    /// Makes the directory, and begins the list of a run that may be interrupted, unless it is begun. Whatever writes a
    /// file there calls it before.
    void begin();
    /// Contents of the list.
    Extent listed() const;
    /// Checks the list of an interrupted run with the facts in a checkpoint, before the run is resumed.
    void check_list(const Extent& extent) const;
    /// Checks a file that the interrupted run wrote, if it did, by its length.
    void check_file(const std::string& name) const;
    /// Ends that run, once its files are listed.
    void end();
    /// Lets other runs in, and leaves no empty directory: this one writes no more.
    void leave();

    /// Lists the run as finished with the next `commit`: `found` is a word.
    void finish_run(const std::string& found) { found_ = found; }
    /// The word of a run that is listed as finished. Absent for others, and if a listed file is not as it was.
    std::optional<std::string> finished(const std::string& run);
    /// Removes the temporary files of a finished run that was killed at its end.
    void clean();

    /// Begins a file about an image, which has no name yet.
    io::NewFile open_file(const std::string& name);
    /// Ends it: in a run that may be interrupted it gets its name at once, else with `commit`.
    void close_file(const std::string& name, io::NewFile file);
    /// Writes a file about an image so.
    void write(const std::string& name, const void* data, std::size_t bytes) {
        io::NewFile file = open_file(name);
        file.write(data, bytes);
        close_file(name, std::move(file));
    }

    /// Writes a file that gets its name with `commit`.
    void stage(const std::string& name, const io::Pieces& pieces);
    void stage(const std::string& name, const std::string& text);
    void stage(const std::string& name, io::NewFile file);
    /// Tells whether a file may be staged, in a directory that is then there; says why where it may not.
    bool may_write(const std::string& name);
    /// Removes, with `commit`, files of earlier runs whose names are such and which are not staged.
    void remove_former(bool (*is_such)(const std::string& name));
    /// Removes a file about an image at once, if gpuhist wrote it.
    void discard(const std::string& name);
    /// Tells whether this run, or the interrupted one that it continues, has written a file that is still there.
    bool has_written(const std::string& name) const;
    /// Removes, with `commit`, the files with such names that gpuhist wrote. Returns whether there are any.
    bool remove_working(bool (*is_such)(const std::string& name));
    /// Lets a working file, which is on disk, have this name with `commit`.
    void stage_working(const std::string& name, const std::filesystem::path& working);
    /// Lists a file that has its name already, with `commit`.
    void keep(const std::string& name);
    /// Removes a file of an earlier run with `commit`, if there is one.
    void remove(const std::string& name) { removed_.push_back(name); }
    /// Gives the files their names, in this order: all data are on disk before, the names are when it returns.
    void commit();

    /// Brings to disk which files a run that may be interrupted has written.
    void sync();

  private:
    enum class Target { free, own, other };
    struct Staged {
        std::string name;
        std::optional<io::NewFile> file;
        std::filesystem::path working;  ///< of no length: the file has its name
        std::uint64_t bytes = 0;
    };

    std::filesystem::path at(const std::string& name) const { return path_ / name; }
    void adopt();
    std::optional<OutputList> read_list();
    std::filesystem::path link_to(const std::string& name) const;
    bool owns_now(const std::string& name) const;
    bool owns_by_now(const std::string& name);
    bool is_input(const std::filesystem::path& path) const;
    Target target(const std::string& name);
    void give_name(Staged& staged, Target target);
    void settle_made();
    void read_former();
    void doubt_runs(const OutputList& list);
    void append(const std::string& text, const Extent& end);
    void remove_temporary(const std::string& prefix) const;

    const std::filesystem::path path_;
    const std::string resolved_;  ///< absolute, without links, with a slash at its end
    const bool force_;
    bool may_replace_ = false;
    Console& console_;
    std::weak_ptr<const InputList> inputs_;
    mutable std::recursive_mutex mutex_;  ///< of what follows
    OutputList known_;                    ///< what earlier runs wrote, or are writing
    OutputList own_;                      ///< what this run wrote, before an interruption too
    FinishedRuns finished_;               ///< of the list as it was last read
    bool replaced_image_ = false;         ///< a file about one was there before
    std::string found_;                   ///< by this run, which is finished; else empty
    std::set<std::string> reserved_;
    struct FileHash {
        std::size_t operator()(const std::pair<std::uint64_t, std::uint64_t>& file) const {
            return std::hash<std::uint64_t>()(file.first * 0x9e3779b97f4a7c15u + file.second);
        }
    };
    std::unordered_set<std::pair<std::uint64_t, std::uint64_t>, FileHash> protected_;  ///< device, inode
    std::vector<Staged> staged_;
    std::vector<std::string> removed_;
    std::vector<std::filesystem::path> made_;  ///< directories, the outermost first
    std::string run_;                          ///< empty: it cannot be interrupted
    std::vector<std::string> working_;
    std::filesystem::path written_path_;  ///< the list of a run that may be interrupted
    int written_ = -1;                    ///< that, which no other run gets meanwhile
    bool begun_ = false;                  ///< it has its first lines
    Extent listed_;                       ///< what it holds
};

/// Throws IoError: the file cannot be written, for this reason (errno).
[[noreturn]] void fail_to_write(const std::filesystem::path& path, int error);

/// Makes a directory, and those above it; one without a name is that of the process. Throws IoError.
void make_directories(const std::filesystem::path& directory);

/// Writes a text so that, whatever happens, the file is the old one or the new one, which is on disk when it returns.
/// Throws IoError.
void write_durably(const std::filesystem::path& path, const std::string& text);

/// Makes sure that a file, or the names in a directory, are on disk. Throws IoError.
void make_durable(const std::filesystem::path& path);

}  // namespace gpuhist::app
