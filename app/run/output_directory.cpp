#include "run/output_directory.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <system_error>

#include "gpuhist/error.hpp"
#include "gpuhist/io/dataset.hpp"
#include "gpuhist/io/files.hpp"

namespace gpuhist::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* lock_name = ".gpuhist.lock";
constexpr std::string_view written_suffix = ".written.partial";
constexpr std::string_view header_of_0_1_0 =
    "path,width,height,depth,channel,pixels,nan,inf,min,max,mean,std,std_sample,skewness,kurtosis,entropy,p01,p05,p25,"
    "median,p75,p95,p99,clipped_low,clipped_high,unique,effective_bits\n";

bool is_there(const fs::path& path) {
    struct stat status {};
    return lstat(path.c_str(), &status) == 0;
}

std::string with_slash(std::string text) {
    if (text.empty() || text.back() != '/') text += '/';
    return text;
}

bool ends_with(const std::string& text, std::string_view end) {
    return text.size() > end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// Taken by one process at a time, while it reads and writes a directory's list; others wait. Where the file system has
/// no locks, nothing is taken.
class ListLock {
  public:
    explicit ListLock(const fs::path& directory) : path_(directory / lock_name) {
        for (;;) {
            file_ = open(path_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
            if (file_ < 0) fail_to_write(path_, errno);
            while (flock(file_, LOCK_EX) != 0 && errno == EINTR) continue;
            struct stat here {
            }, there{};
            const bool known = fstat(file_, &here) == 0;
            const bool same = lstat(path_.c_str(), &there) == 0 && here.st_ino == there.st_ino;
            if (known && same && S_ISREG(here.st_mode) && here.st_size == 0) return;
            close(file_);
            if (!known || same) throw IoError(path_.string() + ": not written: gpuhist did not write the file there");
            // The previous owner has removed it.
        }
    }
    ~ListLock() {
        unlink(path_.c_str());
        close(file_);
    }
    ListLock(const ListLock&) = delete;
    ListLock& operator=(const ListLock&) = delete;

  private:
    fs::path path_;
    int file_ = -1;
};

}  // namespace

void fail_to_write(const fs::path& path, int error) {
    throw IoError(path.string() + ": cannot be written: " + std::strerror(error),
                  error == ENOSPC || error == EDQUOT ? IoError::Kind::no_space : IoError::Kind::other);
}

void make_directories(const fs::path& directory) {
    std::error_code failure;
    if (!directory.empty()) fs::create_directories(directory, failure);
    if (failure)
        throw IoError(directory.string() + ": cannot make this directory: " + failure.message(),
                      failure == std::errc::no_space_on_device ? IoError::Kind::no_space : IoError::Kind::other);
}

void make_durable(const fs::path& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    // Some file systems cannot bring a directory to disk, and say EINVAL.
    const bool done = file >= 0 && (fsync(file) == 0 || errno == EINVAL);
    const int error = errno;
    if (file >= 0) close(file);
    if (!done) throw IoError(path.string() + ": cannot be written to disk: " + std::strerror(error));
}

void write_durably(const fs::path& path, const std::string& text) {
    io::NewFile file(path);
    file.write(text);
    file.sync();
    file.replace();
    make_durable(path.has_parent_path() ? path.parent_path() : fs::path("."));
}

OutputDirectory::OutputDirectory(fs::path path, bool force, Console& console)
    : path_(std::move(path)), resolved_(with_slash(resolve(path_).string())), force_(force), console_(console) {}

OutputDirectory::~OutputDirectory() {
    leave();
}

void OutputDirectory::leave() {
    const std::lock_guard lock(mutex_);
    staged_.clear();
    if (written_ >= 0) {
        if (!begun_ && length_of_file(written_path_) == 0) unlink(written_path_.c_str());
        close(std::exchange(written_, -1));
    }
    for (; !made_.empty(); made_.pop_back()) rmdir(made_.back().c_str());  // fails where something lies in it
}

void OutputDirectory::read_lists() {
    if (!read_list()) adopt();
    std::error_code failed;
    for (auto entry = fs::directory_iterator(path_, failed); !failed && entry != fs::end(entry);
         entry.increment(failed)) {
        if (!ends_with(entry->path().filename().string(), written_suffix)) continue;
        try {
            if (const auto text = output_list_file(entry->path())) {
                const Extent good = read_growing_list(*text, entry->path().string(), known_);
                if (text->find('\n', good.bytes) != text->npos)
                    console_.say(entry->path().string() + ": damaged: files that it lists behind byte " +
                                 std::to_string(good.bytes) + " are treated as foreign");
            }
            known_[entry->path().filename().string()].any = true;
        } catch (const IoError&) {  // another's file
        }
    }
    const bool new_list = written_ >= 0 && length_of_file(written_path_) == 0;  // which is known, and this run's own
    may_replace_ = force_ || known_.size() > (new_list ? 1 : 0);
}

/// Recognizes the files of a version that wrote no list.
void OutputDirectory::adopt() {
    std::optional<std::string> stats;
    try {
        stats = output_list_file(at("stats.csv"));
    } catch (const IoError&) {
        return;
    }
    if (!stats || stats->compare(0, header_of_0_1_0.size(), header_of_0_1_0) != 0) return;
    std::vector<std::string> names = io::dataset_file_names();
    names.insert(names.end(), {"stats.csv", "errors.csv"});
    for (const std::string& name : names)
        if (const auto length = length_of_file(at(name))) known_[name].add(*length);
    own_ = known_;  // so that they are listed
    console_.note(path_.string() +
                  ": results of gpuhist 0.1.0: its stats.csv, errors.csv and dataset.* may be replaced");
}

bool OutputDirectory::owns(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    return owns_now(name);
}

/// Link in the place of a directory on the path to a name; empty if there is none.
fs::path OutputDirectory::link_to(const std::string& name) const {
    for (std::size_t slash = name.find('/'); slash != name.npos; slash = name.find('/', slash + 1)) {
        struct stat status {};
        const fs::path directory = at(name.substr(0, slash));
        if (lstat(directory.c_str(), &status) != 0) break;
        if (S_ISLNK(status.st_mode)) return directory;
    }
    return {};
}

bool OutputDirectory::owns_now(const std::string& name) const {
    if (!force_ && !link_to(name).empty()) return false;
    for (const OutputList* list : {&known_, &own_}) {
        const auto found = list->find(name);
        if (found == list->end()) continue;
        if (found->second.any) return is_there(at(name));
        const auto length = length_of_file(at(name));
        if (length && found->second.has(*length)) return true;
    }
    return false;
}

/// Returns the same, including the files that other runs have listed meanwhile.
bool OutputDirectory::owns_by_now(const std::string& name) {
    return owns_now(name) || (static_cast<void>(read_list()), owns_now(name));
}

/// Reads the present list. Absent if there is none.
std::optional<OutputList> OutputDirectory::read_list() {
    const fs::path path = at(output_list_name);
    const auto text = output_list_file(path);
    if (!text) return std::nullopt;
    OutputList list;
    finished_.clear();
    read_output_list(*text, path.string(), list, finished_);
    for (const auto& [name, lengths] : list) {
        known_[name].now = lengths.now;
        known_[name].before = lengths.before;
    }
    return list;
}

bool OutputDirectory::owns_file(const std::string& file) const {
    return file.compare(0, resolved_.size(), resolved_) == 0 && owns(file.substr(resolved_.size()));
}

void OutputDirectory::protect(const fs::path& input) {
    struct stat status {};
    if (stat(input.c_str(), &status) != 0) return;
    const std::lock_guard lock(mutex_);
    protected_.emplace(status.st_dev, status.st_ino);
}

bool OutputDirectory::is_input(const fs::path& path) const {
    struct stat status {};
    if (lstat(path.c_str(), &status) == 0 && protected_.count({status.st_dev, status.st_ino}) > 0) return true;
    const auto inputs = inputs_.lock();
    return inputs && inputs->includes(path);
}

/// Checks the file that has the name of a new one. Throws if it may not be replaced, and reports a replacement by
/// force.
OutputDirectory::Target OutputDirectory::target(const std::string& name) {
    const fs::path path = at(name), link = link_to(name);
    if (!link.empty() && !force_)
        throw IoError(path.string() + ": not written: " + link.string() +
                      " is a link; name another --output, or write through it with --force");
    if (!is_there(path)) return Target::free;
    const bool own = owns_by_now(name);
    if (is_input(path)) throw IoError(path.string() + ": not written: it is one of the inputs; name another --output");
    if (own) return Target::own;
    if (!force_)
        throw IoError(path.string() +
                      ": not written: gpuhist did not write the file there; name another --output, or "
                      "replace it with --force");
    console_.say(path.string() + ": replaced by --force, although gpuhist did not write it");
    known_[name].any = true;
    return Target::other;
}

void OutputDirectory::reserve(const std::vector<std::string>& names) {
    std::string others, inputs;
    const std::lock_guard lock(mutex_);
    struct stat status {};  // asked once: runs beside this one take that lock and leave it
    if (lstat(at(lock_name).c_str(), &status) == 0 && (!S_ISREG(status.st_mode) || status.st_size > 0))
        others = lock_name;
    for (const std::string& name : names) {
        reserved_.insert(name);
        if (!is_there(at(name))) continue;
        const bool own = owns_by_now(name);
        if (is_input(at(name)))
            inputs.append(inputs.empty() ? "" : ", ").append(name);
        else if (!own)
            others.append(others.empty() ? "" : ", ").append(name);
        if (!own && force_) known_[name].any = true;
    }
    if (!inputs.empty())
        throw IoError(path_.string() + ": nothing is done, because it would replace inputs: " + inputs +
                      "; name another --output");
    if (others.empty()) return;
    if (!force_)
        throw IoError(path_.string() +
                      ": nothing is done, because it would replace files that gpuhist did not write: " + others +
                      "; name another --output, or add --force");
    console_.say(path_.string() + ": --force replaces " + others + ", which gpuhist did not write");
}

void OutputDirectory::reserve_elsewhere(const fs::path& path, const std::vector<std::string>& beginnings) {
    const std::lock_guard lock(mutex_);
    if (!is_there(path)) return;
    if (is_input(path)) throw IoError(path.string() + ": not written: it is one of the inputs; name another file");
    std::string text(64, '\0');
    std::ifstream(path, std::ios::binary).read(text.data(), static_cast<std::streamsize>(text.size()));
    for (const std::string& beginning : beginnings)
        if (text.rfind(beginning, 0) == 0) return;
    if (!force_)
        throw IoError(path.string() +
                      ": not written: gpuhist did not write the file there; name another, or replace "
                      "it with --force");
    console_.say(path.string() + ": replaced by --force, although gpuhist did not write it");
}

void OutputDirectory::make() {
    const std::lock_guard lock(mutex_);
    std::vector<fs::path> missing;
    std::error_code ignored;
    for (fs::path path = path_; !path.empty() && !fs::exists(path, ignored); path = path.parent_path()) {
        if (path.has_filename()) missing.insert(missing.begin(), path);
        if (path == path.parent_path()) break;
    }
    make_directories(path_);
    made_.insert(made_.end(), missing.begin(), missing.end());
}

void OutputDirectory::settle_made() {
    for (const fs::path& directory : made_)
        make_durable(directory.has_parent_path() ? directory.parent_path() : fs::path("."));
    made_.clear();
}

void OutputDirectory::keep_track(const std::string& run, std::vector<std::string> working) {
    run_ = run;
    working_ = std::move(working);
}

void OutputDirectory::take() {
    const std::lock_guard lock(mutex_);
    if (run_.empty() || written_ >= 0) return;
    written_path_ = at(run_ + std::string(written_suffix));
    for (int attempt = 0; written_ < 0; ++attempt) {
        make();
        struct stat status {};
        const bool there = lstat(written_path_.c_str(), &status) == 0;
        if (there && (!S_ISREG(status.st_mode) || status.st_nlink > 1)) return;  // another's: `reserve` names it
        try {
            written_ = io::open_locked(written_path_, io::Opened::may_exist);
        } catch (const IoError& error) {  // a run that failed may just have removed the directory it had made
            if (error.kind() != IoError::Kind::missing || attempt == 100) throw;
        }
    }
}

void OutputDirectory::begin() {
    const std::lock_guard lock(mutex_);
    if (begun_) return;
    make();
    if (run_.empty()) return;
    take();
    if (written_ < 0)
        throw IoError(written_path_.string() + ": cannot be written: gpuhist did not write the file there");
    // List of an interrupted run: its files are listed together with those of this run.
    read_former();
    if (ftruncate(written_, static_cast<off_t>(listed_.bytes)) != 0) fail_to_write(written_path_, errno);
    if (finished_.count(run_) > 0) {  // it replaces files from now on
        const ListLock only_one(path_);
        OutputList list = read_list().value_or(OutputList());
        finished_.erase(run_);
        for (auto file = list.begin(); file != list.end();)
            file = is_there(at(file->first)) ? std::next(file) : list.erase(file);
        write_durably(at(output_list_name), output_list_text(list, finished_));
    }
    Extent end = listed_.bytes > 0 ? listed_ : growing_list_begin();
    std::string text = listed_.bytes > 0 ? "" : growing_list_header();
    text += growing_list_line(io::temporary_prefix(), std::nullopt, end);
    for (const std::string& working : working_) {
        text += growing_list_line(working, std::nullopt, end);
        known_[working].any = true;
    }
    append(text, end);
    sync();
    begun_ = true;
    make_durable(path_);
    settle_made();
}

/// Reads the list of an interrupted run, and removes its temporary files.
void OutputDirectory::read_former() {
    const std::string former = output_list_file(written_path_).value_or("");
    listed_ = read_growing_list(former, written_path_.string(), own_);
    for (const auto& [entry, lengths] : own_)
        if (lengths.any && ends_with(entry, "-") && entry.rfind(".gpuhist.", 0) == 0) remove_temporary(entry);
}

void OutputDirectory::clean() {
    const std::lock_guard lock(mutex_);
    if (written_ < 0) return;
    read_former();
    if (ftruncate(written_, 0) != 0) fail_to_write(written_path_, errno);  // `leave` removes it
}

/// Lists runs as finished no more if this one replaces files about images, or their rows.
void OutputDirectory::doubt_runs(const OutputList& list) {
    std::vector<std::string> replaced = removed_;
    for (const Staged& staged : staged_) replaced.push_back(staged.name);
    for (auto run = finished_.begin(); run != finished_.end();) {
        const bool part = run->first.rfind("part-", 0) == 0;
        const bool doubted =
            replaced_image_ || std::any_of(replaced.begin(), replaced.end(), [&](const std::string& name) {
                return list.count(name) > 0 && (part ? name.rfind(run->first + '.', 0) == 0 : name == "stats.csv");
            });
        run = doubted ? finished_.erase(run) : std::next(run);
    }
}

std::optional<std::string> OutputDirectory::finished(const std::string& run) {
    const std::lock_guard lock(mutex_);
    const OutputList list = read_list().value_or(OutputList());
    const auto found = finished_.find(run);
    if (found == finished_.end()) return std::nullopt;
    for (const auto& [name, lengths] : list) {
        const auto length = length_of_file(at(name));
        if (!length || !lengths.has(*length)) return std::nullopt;
    }
    return found->second;
}

/// Removes the temporary files of a run that was killed.
void OutputDirectory::remove_temporary(const std::string& prefix) const {
    std::error_code failed;
    for (auto entry = fs::recursive_directory_iterator(path_, failed); !failed && entry != fs::end(entry);
         entry.increment(failed)) {
        std::error_code ignored;
        if (entry->path().filename().string().rfind(prefix, 0) == 0) fs::remove(entry->path(), ignored);
    }
}

/// Adds lines whole, or none.
void OutputDirectory::append(const std::string& text, const Extent& end) {
    const ssize_t done = pwrite(written_, text.data(), text.size(), static_cast<off_t>(listed_.bytes));
    const int error = done < 0 ? errno : ENOSPC;
    if (done == static_cast<ssize_t>(text.size())) {
        listed_ = end;
        return;
    }
    static_cast<void>(!ftruncate(written_, static_cast<off_t>(listed_.bytes)));
    fail_to_write(written_path_, error);
}

Extent OutputDirectory::listed() const {
    const std::lock_guard lock(mutex_);
    return listed_;
}

void OutputDirectory::check_list(const Extent& extent) const {
    OutputList list;
    const std::string text = output_list_file(written_path_).value_or("");
    const Extent there = text.size() < extent.bytes ? Extent()
                                                    : read_growing_list(std::string_view(text).substr(0, extent.bytes),
                                                                        written_path_.string(), list);
    if (there.bytes != extent.bytes || there.checksum != extent.checksum)
        throw IoError(written_path_.string() + ": differs from the checkpoint: start again without --resume");
}

void OutputDirectory::check_file(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    const auto file = own_.find(name);
    if (file == own_.end() || !file->second.now) return;
    const auto length = length_of_file(at(name));
    if (!length || !file->second.has(*length))
        throw IoError(at(name).string() + ": is gone, or its length has changed: start again without --resume");
}

void OutputDirectory::end() {
    if (!std::exchange(begun_, false)) return;
    unlink(written_path_.c_str());
    close(std::exchange(written_, -1));
    make_durable(path_);
}

void OutputDirectory::sync() {
    if (written_ >= 0 && fsync(written_) != 0) fail_to_write(written_path_, errno);
}

io::NewFile OutputDirectory::open_file(const std::string& name) {
    {
        const std::lock_guard lock(mutex_);
        if (reserved_.count(name) > 0)
            throw IoError(at(name).string() + ": not written: this name belongs to a file of the whole set");
        target(name);
    }
    begin();
    make_directories(at(name).parent_path());
    return io::NewFile(at(name));
}

void OutputDirectory::close_file(const std::string& name, io::NewFile file) {
    if (run_.empty()) return stage(name, std::move(file));
    const std::uint64_t bytes = file.bytes();
    Staged staged{name, std::move(file), {}, bytes};
    Target there;
    {
        const std::lock_guard lock(mutex_);
        there = target(name);
        replaced_image_ = replaced_image_ || there != Target::free;
        Extent end = listed_;
        append(growing_list_line(name, bytes, end), end);
        own_[name].add(bytes);
    }
    try {
        give_name(staged, there);
    } catch (...) {
        const std::lock_guard lock(mutex_);
        Extent end = listed_;
        append(growing_list_removal(name, end), end);
        throw;
    }
}

bool OutputDirectory::may_write(const std::string& name) {
    const std::lock_guard lock(mutex_);
    try {
        target(name);
        make_directories(at(name).parent_path());
        return true;
    } catch (const IoError& error) {
        console_.say(error.what());
        return false;
    }
}

void OutputDirectory::remove_former(bool (*is_such)(const std::string& name)) {
    const std::lock_guard lock(mutex_);
    std::set<std::string> staged;
    for (const Staged& file : staged_) staged.insert(file.name);
    for (const auto& [name, lengths] : known_)
        if (is_such(name) && own_.count(name) == 0 && staged.count(name) == 0) removed_.push_back(name);
}

void OutputDirectory::discard(const std::string& name) {
    const std::lock_guard lock(mutex_);
    if (own_.count(name) == 0) return;
    if (owns_now(name) && unlink(at(name).c_str()) != 0 && errno != ENOENT) fail_to_write(at(name), errno);
    Extent end = listed_;
    append(growing_list_removal(name, end), end);
    own_.erase(name);
}

bool OutputDirectory::has_written(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    return own_.count(name) > 0 && is_there(at(name));
}

bool OutputDirectory::remove_working(bool (*is_such)(const std::string& name)) {
    const std::lock_guard lock(mutex_);
    const std::size_t before = removed_.size();
    for (const OutputList* list : {&own_, &known_})
        for (const auto& [name, lengths] : *list)
            if (is_such(name)) removed_.push_back(name);
    return removed_.size() > before;
}

void OutputDirectory::stage(const std::string& name, const std::string& text) {
    stage(name, [&](const std::function<void(const void*, std::size_t)>& take) { take(text.data(), text.size()); });
}

void OutputDirectory::stage(const std::string& name, const io::Pieces& pieces) {
    begin();
    io::NewFile file(at(name));
    file.write(pieces);
    stage(name, std::move(file));
}

void OutputDirectory::stage(const std::string& name, io::NewFile file) {
    file.sync();
    const std::lock_guard lock(mutex_);
    if (staged_.size() >= 64) file.set_aside();  // a descriptor each: pictures of groups may be thousands
    const std::uint64_t bytes = file.bytes();
    staged_.push_back({name, std::move(file), {}, bytes});
}

void OutputDirectory::stage_working(const std::string& name, const fs::path& working) {
    staged_.push_back({name, std::nullopt, working, length_of_file(working).value_or(0)});
}

void OutputDirectory::keep(const std::string& name) {
    if (const auto length = length_of_file(at(name))) staged_.push_back({name, std::nullopt, {}, *length});
}

void OutputDirectory::give_name(Staged& staged, Target target) {
    const fs::path path = at(staged.name);
    bool done = true;
    int error = 0;
    if (target != Target::free) {
        if (staged.file)
            staged.file->replace();
        else if (rename(staged.working.c_str(), path.c_str()) != 0)
            error = errno;
    } else if (staged.file) {
        done = staged.file->create();
    } else {
        error = io::rename_to_new(staged.working, path);
        done = error != EEXIST;
    }
    if (!done) {
        const std::lock_guard lock(mutex_);
        own_.erase(staged.name);
        throw IoError(path.string() + ": not written: another file has just taken this name");
    }
    if (error != 0) fail_to_write(path, error);
}

void OutputDirectory::commit() {
    if (run_.empty() && staged_.empty() && removed_.empty()) return;
    make();
    const ListLock only_one(path_);
    std::set<fs::path> directories{path_};
    const std::lock_guard lock(mutex_);
    OutputList list = read_list().value_or(OutputList());
    const std::string former = output_list_text(list, finished_);
    doubt_runs(list);
    if (!found_.empty()) finished_[run_] = found_;  // its checkpoint is there until its files have their names
    std::vector<Target> targets;
    for (const Staged& staged : staged_)
        targets.push_back(!staged.file && staged.working.empty() ? Target::own : target(staged.name));
    // A file is listed before it has its name, beside the one that has it until then.
    for (const auto& [name, lengths] : own_)
        if (lengths.now) list[name] = {lengths.now, std::nullopt, false};
    for (const Staged& staged : staged_) list[staged.name].add(staged.bytes);
    const std::string before = output_list_text(list, finished_);
    if (former != before) write_durably(at(output_list_name), before);
    make_durable(path_);
    for (const std::string& name : removed_) {
        if (owns(name) && unlink(at(name).c_str()) != 0 && errno != ENOENT)
            throw IoError(at(name).string() + ": cannot be removed: " + std::strerror(errno));
        for (OutputList* from : {&list, &known_, &own_}) from->erase(name);
    }
    for (std::size_t i = 0; i < staged_.size(); ++i) {
        Staged& staged = staged_[i];
        if (staged.file || !staged.working.empty()) give_name(staged, targets[i]);
        directories.insert(at(staged.name).parent_path());
        list[staged.name] = own_[staged.name] = {staged.bytes, std::nullopt, false};
    }
    for (const fs::path& directory : directories) make_durable(directory);
    settle_made();
    if (const std::string after = output_list_text(list, finished_); after != before)
        write_durably(at(output_list_name), after);
    staged_.clear();
    removed_.clear();
}

}  // namespace gpuhist::app
