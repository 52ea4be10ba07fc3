#include "commands/results_there.hpp"

#include <system_error>
#include <utility>

#include "gpuhist/error.hpp"

namespace gpuhist::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* interrupted_name = "gpuhist.journal";

bool has_parts(const fs::path& directory) {
    std::error_code ignored;
    for (const fs::directory_entry& entry : fs::directory_iterator(directory, ignored)) {
        const std::string file = entry.path().filename().string();
        if (file.rfind("part-", 0) == 0 && file.find("-of-") != file.npos) return true;
    }
    return false;
}

}  // namespace

ResultsThere::ResultsThere(fs::path directory) : directory_(std::move(directory)) {
    std::error_code ignored;
    const std::string name = directory_.string();
    if (!fs::is_directory(directory_, ignored))
        throw IoError(name + ": there is no directory of this name: name one with results of gpuhist");
    if (has(interrupted_name))
        throw IoError(name + ": these results are from an interrupted run: finish it with --resume");
    if (has(ColumnFile::stats)) return;
    if (has_parts(directory_)) throw IoError(name + ": has parts of a run: merge them first");
    throw IoError(name + ": has no results of gpuhist: stats.csv is missing");
}

bool ResultsThere::are_in(const fs::path& directory) {
    std::error_code ignored;
    return fs::exists(directory / traits_of(ColumnFile::stats).file_name(), ignored) ||
           fs::exists(directory / interrupted_name, ignored) || has_parts(directory);
}

std::string ResultsThere::path_of(ColumnFile table) const {
    return (directory_ / traits_of(table).file_name()).string();
}

bool ResultsThere::has(ColumnFile table) const {
    return has(traits_of(table).file_name());
}

bool ResultsThere::has(const std::string& file) const {
    std::error_code ignored;
    return fs::exists(directory_ / file, ignored);
}

io::CsvRows ResultsThere::open(ColumnFile table) const {
    const std::string path = path_of(table);
    if (!has(table) && table != ColumnFile::stats) {
        const bool of_set = traits_of(table).subject == TableSubject::set;
        throw IoError(path + ": is missing: " +
                      (of_set ? "a run over one image writes no numbers of a set" : "run gpuhist with --quality"));
    }
    return io::CsvRows(path);
}

ImageTables ResultsThere::images() const {
    return {[this] { return open(ColumnFile::stats); }, [this] { return open(ColumnFile::quality); }};
}

}  // namespace gpuhist::app
