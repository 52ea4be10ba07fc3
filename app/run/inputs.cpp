#include "run/inputs.hpp"

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "cli/console.hpp"
#include "gpuhist/io/archive.hpp"
#include "gpuhist/io/files.hpp"
#include "run/line_reader.hpp"
#include "run/output_list.hpp"

namespace gpuhist::app {
namespace {

namespace fs = std::filesystem;

/// Absolute paths, symbolic links of the directories resolved; the file itself need not exist. Files of one directory
/// share the work of resolving it.
class PathResolver {
  public:
    std::string operator()(const fs::path& path) {
        if (!path.has_filename()) return resolve(path).string();
        const fs::path parent = path.has_parent_path() ? path.parent_path() : fs::path(".");
        if (parent != parent_) {
            parent_ = parent;
            resolved_ = resolve(parent);
        }
        return (resolved_ / path.filename()).string();
    }

  private:
    fs::path parent_, resolved_;
};

/// The last `components` parts of a path, or all of them without the root.
std::string tail(const std::string& path, std::size_t components) {
    std::size_t start = path.size();
    while (components-- > 0 && start != std::string::npos && start > 0) start = path.rfind('/', start - 1);
    if (start == std::string::npos) return path;
    return path.substr(start + (start < path.size() && path[start] == '/'));
}

/// Path relative to a directory, or null if it is not below it.
const char* inside(const std::string& path, const std::string& directory) {
    const std::size_t length = directory == "/" ? 0 : directory.size();
    const bool in =
        path.size() > length + 1 && path.compare(0, length, directory, 0, length) == 0 && path[length] == '/';
    return in ? path.c_str() + length + 1 : nullptr;
}

/// Directory part of a path; `.` if there is none.
std::string directory_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == path.npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

/// An argument.
struct Root {
    std::string argument;
    std::string full;  ///< path, absolute
    std::string name;  ///< of a file: its output name; of a directory: what the names of its images begin with
    bool directory = false;
    bool archive = false;
};

/// Whether an argument is an archive, whose members are inputs.
bool is_archive(const std::string& argument) {
    std::error_code ignored;
    return io::is_archive_name(argument) && fs::is_regular_file(argument, ignored);
}

/// Memory of the members of archives that wait or are measured.
class MemberMemory {
  public:
    explicit MemberMemory(std::uint64_t most) : most_(most) {}

    /// Most bytes of a member.
    std::uint64_t most() const { return most_; }
    /// Waits until the members before it leave room for one, then keeps its bytes. The first always has room.
    static std::shared_ptr<const std::vector<unsigned char>> keep(const std::shared_ptr<MemberMemory>& memory,
                                                                  std::vector<unsigned char> bytes) {
        const std::uint64_t size = bytes.size();
        {
            std::unique_lock lock(memory->mutex_);
            memory->freed_.wait(lock, [&] { return memory->used_ == 0 || memory->used_ + size <= memory->most_; });
            memory->used_ += size;
        }
        return {new std::vector<unsigned char>(std::move(bytes)), [memory, size](const auto* kept) {
                    delete kept;
                    const std::lock_guard lock(memory->mutex_);
                    memory->used_ -= size;
                    memory->freed_.notify_all();
                }};
    }

  private:
    const std::uint64_t most_;
    std::mutex mutex_;
    std::condition_variable freed_;
    std::uint64_t used_ = 0;
};

/// Gives each argument the shortest end of its path that tells its outputs from all others. A single directory needs no
/// name.
void name_roots(std::vector<Root>& all) {
    if (all.size() == 1 && (all.front().directory || all.front().archive)) return;
    std::unordered_map<std::string, Root*> first;  // of those with one path
    for (Root& root : all) first.emplace(root.full, &root);
    struct Named {
        Root* root;
        std::size_t components = 1;
    };
    std::vector<Named> roots;
    for (Root& root : all)
        if (first[root.full] == &root) roots.push_back({&root});
    for (bool changed = true; changed;) {
        std::unordered_map<std::string, int> uses;
        std::unordered_map<std::string, const Root*> directories;
        for (const auto& [root, components] : roots) {
            root->name = tail(root->full, components);
            ++uses[root->name];
            if (root->directory) directories.emplace(root->name, root);
        }
        // Whoever shares a name, or has one that lies in another directory's, says more of its path; so does the
        // latter.
        std::unordered_set<std::string> unclear;
        for (const auto& [root, components] : roots) {
            const std::string& name = root->name;
            if (uses[name] > 1) unclear.insert(name);
            for (std::size_t slash = name.find('/'); slash != name.npos; slash = name.find('/', slash + 1)) {
                const auto above = directories.find(name.substr(0, slash));
                if (above == directories.end()) continue;
                const char* there = inside(root->full, above->second->full);
                if (there && name.substr(slash + 1) == there) continue;  // the same place, by the same name
                unclear.insert(above->first);
                unclear.insert(name);
            }
        }
        changed = false;
        for (auto& [root, components] : roots)
            if (unclear.count(root->name) > 0 && tail(root->full, components + 1) != root->name) {
                ++components;
                changed = true;
            }
    }
    for (Root& root : all) root.name = first[root.full]->name;
}

/// Paths from a file, separated by lines' ends or zero bytes. Of lines, a byte-order mark and the CR of CR LF are no
/// part.
class PathFile {
  public:
    PathFile(const std::string& path, bool zero_separated, const std::function<void(const std::string&)>& unwritten)
        : path_(path), separator_(zero_separated ? '\0' : '\n'), lines_(path, unwritten) {}

    const std::string& path() const { return path_; }  ///< of the list itself

    /// Throws IoError: also where a line has a zero byte, behind which the system would see nothing of a path, and at
    /// the end of a list without paths.
    std::optional<std::string> next() {
        for (std::string line; lines_.next(line, separator_);) {
            const bool first = std::exchange(first_, false);
            if (line.find('\0') != line.npos) {
                const bool wide = first && (line.rfind("\xFF\xFE", 0) == 0 || line.rfind("\xFE\xFF", 0) == 0);
                throw IoError(lines_.name() + (wide ? ": the list is in UTF-16: save it as UTF-8"
                                                    : ": a line has a zero byte: if zero bytes end the paths, add -0"));
            }
            if (separator_ == '\n') {
                if (first && line.rfind("\xEF\xBB\xBF", 0) == 0) line.erase(0, 3);
                if (!line.empty() && line.back() == '\r') line.pop_back();
            }
            if (line.empty()) continue;
            empty_ = false;
            return line;
        }
        if (empty_) throw IoError(lines_.name() + ": the list is empty", IoError::Kind::missing);
        return std::nullopt;
    }

  private:
    std::string path_;
    char separator_;
    LineReader lines_;
    bool first_ = true, empty_ = true;
};

}  // namespace

/// Pages of a file that are wanted, one after the other, as inputs.
class PagesOfFile {
  public:
    PagesOfFile(Input file, std::shared_ptr<const io::FilePages> pages, const PageSelection& wanted)
        : file_(std::move(file)), pages_(std::move(pages)), wanted_(wanted) {}

    /// The next page. The first requested page that does not exist is an input with a failure.
    std::optional<Input> next() {
        const std::uint64_t count = pages_->pages.size();
        for (; range_ < wanted_.ranges.size(); ++range_) {
            const auto& [first, last] = wanted_.ranges[range_];
            page_ = std::max(page_ + 1, first);
            if (page_ <= std::min(last, count)) return page(page_);
            const bool missing = last > count && (last != PageSelection::end || first > count || pages_->rest);
            if (!missing) continue;
            range_ = wanted_.ranges.size();
            return page(std::max(first, count + 1));
        }
        return std::nullopt;
    }

  private:
    Input page(std::uint64_t number) const {
        Input input = file_;
        const std::string digits = std::to_string(number);
        input.file = input.path;
        input.path += '#' + digits;
        input.output_name += ".p" + digits;
        input.page = number;
        input.pages = pages_;
        input.from_directory = input.from_directory || !wanted_.one();
        return input;
    }

    Input file_;
    std::shared_ptr<const io::FilePages> pages_;
    const PageSelection& wanted_;
    std::size_t range_ = 0;
    std::uint64_t page_ = 0;
};

class InputList::Implementation {
  public:
    Implementation(const InputOptions& options, const fs::path& output, std::function<bool(const std::string&)> written)
        : walk_options_(options.walk),
          list_root_(options.list_root),
          wanted_pages_(options.pages),
          most_page_bytes_(options.most_page_bytes),
          shard_(options.shard),
          member_memory_(std::make_shared<MemberMemory>(options.most_member_bytes)),
          written_(std::move(written)),
          results_(resolve(output).string()) {
        if (options.manifest) {
            lines_.emplace(options.manifest, options.shard.lines.value());
            index_ = options.shard.lines->first;
        }
        if (!list_root_.empty() && list_root_.back() != '/') list_root_ += '/';
        if (options.files_from)
            paths_ = std::make_unique<PathFile>(*options.files_from, options.zero_separated, options.unwritten);
        PathResolver resolver;
        for (const std::string& argument : options.arguments) {
            std::error_code ignored;
            Root root{argument, {}, {}, argument != "-" && fs::is_directory(argument, ignored), is_archive(argument)};
            // No absolute path is "-/stdin", so a file named stdin is told apart from standard input.
            root.full = root.directory ? resolve(argument).string() : argument == "-" ? "-/stdin" : resolver(argument);
            roots_.push_back(std::move(root));
        }
        name_roots(roots_);
        for (std::size_t i = 0; i < roots_.size(); ++i) {
            if (roots_[i].directory)
                directories_.push_back(i);
            else
                files_.emplace(roots_[i].full, i);
        }
    }

    std::optional<Input> next() {
        if (pages_) {
            if (auto page = pages_->next()) return page;
            pages_.reset();
        }
        std::optional<Input> input = lines_ ? next_of_manifest() : paths_ ? next_of_list() : next_of_arguments();
        if (input) input->index = index_++;
        if (input && !input->failure && !input->archive.empty() && shard_.has(input->index)) read_member(*input);
        if (!input || !wanted_pages_ || input->failure || !shard_.has(input->index)) return input;
        try {
            auto found = input->bytes            ? io::probe_pages(*input->bytes, input->path, most_page_bytes_)
                         : input->standard_input ? io::probe_pages(STDIN_FILENO, input->path, most_page_bytes_)
                                                 : io::probe_pages(input->path, most_page_bytes_);
            pages_.emplace(*input, std::move(found), *wanted_pages_);
            return pages_->next();
        } catch (const IoError& error) {
            input->failure = error;
        }
        return input;
    }

    std::vector<std::string> take_notes() { return std::exchange(notes_, {}); }

    io::LeftOut left_out() const {
        io::LeftOut all = left_out_;
        if (walk_ && counts(at_)) all += walk_->left_out();
        return all;
    }

    bool single() const {
        return !paths_ && !lines_ && roots_.size() == 1 && !roots_.front().directory && !roots_.front().archive &&
               (!wanted_pages_ || wanted_pages_->one());
    }

    bool includes(const fs::path& path) const {
        PathResolver resolver;
        const std::string full = resolver(path);
        std::error_code ignored;
        return named_before(roots_.size(), full) && fs::exists(path, ignored);
    }

  private:
    std::optional<Input> next_of_list() {
        if (ended_) return std::nullopt;
        Input input;
        input.path = paths_->path();
        input.from_directory = true;
        try {
            const auto path = paths_->next();
            if (!path) return std::nullopt;
            input.path = *path;
            const bool below = !list_root_.empty() && path->compare(0, list_root_.size(), list_root_) == 0;
            const std::string rest = below ? path->substr(list_root_.size()) : *path;
            input.output_name = io::name_below(rest);
            if (input.output_name.empty()) input.output_name = "input";
            input.group = directory_of(rest);
        } catch (const IoError& error) {
            ended_ = true;
            input.failure = error;
        }
        return input;
    }

    std::optional<Input> next_of_manifest() {
        auto line = lines_->next();
        if (!line) return std::nullopt;
        Input input;
        input.path = std::move(line->path);
        input.output_name = std::move(line->name);
        input.group = std::move(line->group);
        input.failure = std::move(line->failure);
        input.listed_bytes = line->archive.empty() ? line->bytes : line->archive_bytes;
        input.listed_mask = line->mask_bytes;
        input.from_directory = input.found = true;
        input.archive = std::move(line->archive);
        if (!input.archive.empty() && !input.failure) find_member(input);
        return input;
    }

    /// Moves to a member in a line of a manifest. Members are in the order of the archive, so this goes on from the one
    /// before, without reading those between.
    void find_member(Input& input) {
        try {
            if (!archive_ || archive_path_ != input.archive) {
                archive_ = std::make_unique<io::Archive>(input.archive);
                archive_path_ = input.archive;
            }
            while (const auto member = archive_->next())
                if (input.archive + "/" + io::name_below(member->name) == input.path) return;
            throw IoError(
                input.path + ": is not in the archive, or no longer behind the member before it in the manifest",
                IoError::Kind::missing);
        } catch (const IoError& error) {
            input.failure = error;
            archive_.reset();
        }
    }

    std::optional<Input> next_of_arguments() {
        for (;; end_walk(), ++at_) {
            if (at_ == roots_.size()) return std::nullopt;
            const Root& root = roots_[at_];
            if (root.directory) {
                if (auto input = next_of_directory(root)) return input;
            } else if (root.archive && (archive_ || !named_before(at_, root.full))) {
                if (auto input = next_of_archive(root)) return input;
            } else if (named_before(at_, root.full)) {
                notes_.push_back(root.argument + ": given more than once, measured once");
            } else {
                Input input;
                input.path = root.argument;
                input.output_name = root.name;
                input.group = directory_of(root.argument);
                input.standard_input = root.argument == "-";
                ++at_;
                return input;
            }
        }
    }

    /// The next image in an archive, in the order of the archive.
    std::optional<Input> next_of_archive(const Root& root) {
        Input input;
        input.from_directory = true;
        input.path = root.argument;
        try {
            if (!archive_) {
                found_ = 0;
                archive_ = std::make_unique<io::Archive>(root.argument);
            }
            while (const auto member = archive_->next()) {
                const std::string name = io::name_below(member->name);
                if (name.empty() || !io::walk_finds(name, walk_options_)) continue;
                ++found_;
                input.path = root.argument + "/" + name;
                input.archive = root.argument;
                input.member_bytes = member->bytes;
                input.found = true;
                input.output_name = root.name.empty() ? name : root.name + "/" + name;
                input.group = directory_of(input.output_name);
                return input;
            }
            if (found_ == 0)
                throw IoError(root.argument + ": the archive has no images; --include GLOB takes other files",
                              IoError::Kind::missing);
        } catch (const IoError& error) {
            input.failure = error;
            archive_.reset();
            ++at_;
            return input;
        }
        archive_.reset();
        return std::nullopt;
    }

    /// Reads a member that was listed last, if members are read.
    void read_member(Input& input) {
        if (member_memory_->most() == 0 || !archive_) return;
        try {
            input.bytes = MemberMemory::keep(member_memory_, archive_->read(member_memory_->most()));
        } catch (const IoError& error) {
            input.failure = error;
        }
    }

    std::optional<Input> next_of_directory(const Root& root) {
        if (!walk_) begin_walk(root);
        while (!finished_) {
            auto found = walk_->next();
            Input input;
            input.from_directory = true;
            if (!found) {
                finished_ = true;
                if (again_ > 0)
                    notes_.push_back(root.argument + ": " + std::to_string(again_) + " of its " +
                                     counted(found_, "image") + " given more than once, measured once");
                if (found_ + failed_ > 0) break;
                const io::LeftOut& others = walk_->left_out();
                if (others.again > 0 && !counts(at_)) {  // in the walk of another
                    notes_.push_back(root.argument + ": given more than once, measured once");
                    break;
                }
                input.path = root.argument;
                std::string text = root.argument + ": the directory has no images";
                if (passed_over_ > 0)
                    text += " except results of gpuhist, which it measures only if you name them as files";
                if (others.any()) text += ", but " + to_string(others) + "; --include GLOB takes other files";
                input.failure = IoError(text, IoError::Kind::missing);
                return input;
            }
            input.path = found->relative.empty() ? root.argument : (fs::path(root.argument) / found->relative).string();
            if (found->failure) {
                ++failed_;
                input.failure = std::move(found->failure);
                return input;
            }
            ++found_;
            if (named_before(at_, full_path(root, found->relative))) {
                ++again_;
                continue;
            }
            input.found = true;
            input.output_name = root.name.empty() ? found->relative : root.name + "/" + found->relative;
            input.group = directory_of(input.output_name);
            return input;
        }
        return std::nullopt;
    }

    void begin_walk(const Root& root) {
        io::Walk next(root.argument, walk_options_);
        next.pass_over([this, &root](const std::string& relative) {
            const bool result = is_result(root.full + "/" + relative);
            if (result && io::walk_finds(relative, walk_options_)) ++passed_over_;
            return result;
        });
        if (walk_options_.follow_links) {
            if (former_walk_) next.go_on_after(*former_walk_);
            if (results_ != root.full) next.skip_target(results_);
        }
        if (const char* results = inside(results_, root.full)) next.skip(results);
        walk_ = std::move(next);
        found_ = again_ = failed_ = passed_over_ = 0;
        finished_ = false;
    }

    void end_walk() {
        left_out_ = left_out();
        if (walk_) former_walk_ = std::exchange(walk_, std::nullopt);
    }

    /// Whether what is left out of a root is not counted with another.
    bool counts(std::size_t root) const {
        return std::none_of(directories_.begin(), directories_.end(), [&](std::size_t other) {
            const std::string &one = roots_[root].full, &all = roots_[other].full;
            return one == all ? other < root : walk_options_.recursive && inside(one, all);
        });
    }

    /// Path of a found file, in the form of absolute paths of arguments.
    std::string full_path(const Root& root, const std::string& relative) {
        return walk_options_.follow_links ? resolver_(fs::path(root.argument) / relative) : root.full + "/" + relative;
    }

    /// Whether one of the first `roots` arguments stands for that file.
    bool named_before(std::size_t roots, const std::string& full) const {
        if (const auto file = files_.find(full); file != files_.end() && file->second < roots) return true;
        for (const std::size_t i : directories_) {
            if (i >= roots) break;
            const char* relative = inside(full, roots_[i].full);
            const bool result = inside(full, results_) && inside(results_, roots_[i].full);
            if (relative && !result && io::walk_finds(relative, walk_options_) && !is_result(full)) return true;
        }
        return false;
    }

    /// Whether gpuhist wrote that file.
    bool is_result(const std::string& full) const { return (written_ && written_(full)) || lists_.list(full); }

    io::WalkOptions walk_options_;
    std::string list_root_;  ///< empty, or with a slash at its end
    std::optional<PageSelection> wanted_pages_;
    std::uint64_t most_page_bytes_;
    io::ShardId shard_;
    const std::shared_ptr<MemberMemory> member_memory_;
    std::unique_ptr<io::Archive> archive_;  ///< whose members are listed
    std::string archive_path_;              ///< of that, where a manifest names its members
    std::optional<PagesOfFile> pages_;      ///< of the file that was listed last
    std::function<bool(const std::string&)> written_;
    mutable ListsAround lists_;
    std::string results_;
    std::unique_ptr<PathFile> paths_;
    std::optional<io::ManifestLines> lines_;
    std::vector<Root> roots_;
    std::vector<std::size_t> directories_;                ///< the roots that are directories
    std::unordered_map<std::string, std::size_t> files_;  ///< full path of each root that is none, to the first such

    std::uint64_t index_ = 0;
    std::size_t at_ = 0;  ///< root
    std::optional<io::Walk> walk_, former_walk_;
    PathResolver resolver_;
    io::LeftOut left_out_;  ///< of the walks that have ended
    std::vector<std::string> notes_;
    std::uint64_t found_ = 0, again_ = 0, failed_ = 0, passed_over_ = 0;  ///< in this walk
    bool finished_ = false;                                               ///< the walk
    bool ended_ = false;                                                  ///< the list of paths
};

fs::path resolve(const fs::path& path) {
    std::error_code failed;
    const fs::path resolved = fs::weakly_canonical(path, failed);
    return failed ? fs::absolute(path, failed).lexically_normal() : resolved;
}

InputList::InputList(const InputOptions& options, const fs::path& output,
                     std::function<bool(const std::string&)> written)
    : implementation_(std::make_unique<Implementation>(options, output, std::move(written))) {}
InputList::~InputList() = default;
std::optional<Input> InputList::next() {
    return implementation_->next();
}
std::vector<std::string> InputList::take_notes() {
    return implementation_->take_notes();
}
io::LeftOut InputList::left_out() const {
    return implementation_->left_out();
}
bool InputList::single() const {
    return implementation_->single();
}
bool InputList::includes(const fs::path& path) const {
    return implementation_->includes(path);
}

}  // namespace gpuhist::app
