#include "gpuhist/io/hashed_images.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "gpuhist/error.hpp"
#include "gpuhist/io/csv_rows.hpp"

namespace gpuhist::io {
namespace {

namespace fs = std::filesystem;

/// Table of the hashes in a directory. Throws IoError, with the remedy, if it has none.
fs::path table_in(const std::string& directory) {
    std::error_code failure;
    const fs::path table = fs::path(directory) / "quality.csv";
    if (fs::exists(table, failure)) return table;
    if (!fs::is_directory(directory, failure))
        throw IoError(directory + ": there is no directory of this name: name one with results of gpuhist",
                      IoError::Kind::missing);
    bool parts = false;
    for (fs::directory_iterator entry(directory, failure), end; !failure && entry != end; entry.increment(failure))
        parts =
            parts || (entry->path().filename().string().rfind("part-", 0) == 0 && entry->path().extension() == ".json");
    const char* const what = parts ? "has parts of a run: merge them first"
                             : fs::exists(fs::path(directory) / "stats.csv", failure)
                                 ? "has results without hashes: measure the images with --quality"
                                 : "has no results of gpuhist: quality.csv is missing";
    throw IoError(directory + ": the directory " + what, IoError::Kind::missing);
}

}  // namespace

void HashedImages::add(const std::string& directory) {
    CsvRows rows(table_in(directory).string());
    const auto column = [&](const std::string& name) {
        const auto found = rows.find(name);
        if (!found) rows.refuse("there is no column '" + name + "': measure the images again with --quality");
        return *found;
    };
    const std::size_t path = column("path"), pixels = column("pixels_hash"), similar = column(similar_column_);
    const auto refuse = [&](std::string_view text, std::string_view name) {
        rows.refuse("'" + std::string(text) + "' in column '" + std::string(name) + "' is not a hash");
    };
    while (rows.next()) {
        const auto hash = hash128_of(rows.text(pixels));
        if (!hash) refuse(rows.text(pixels), "pixels_hash");
        const std::string_view text = rows.text(similar);
        const auto like = text.empty() ? std::uint64_t{0} : hash64_of(text);
        if (!like) refuse(text, similar_column_);
        add(rows.text(path), *hash, *like);
    }
}

void HashedImages::add(const HashedImages& others, std::size_t image) {
    add(others.path(image), others.pixels_[image], others.similar_[image]);
}

void HashedImages::add(std::string_view path, const Hash128& pixels, std::uint64_t similar) {
    paths_ += path;
    path_ends_.push_back(paths_.size());
    pixels_.push_back(pixels);
    similar_.push_back(similar);
}

}  // namespace gpuhist::io
