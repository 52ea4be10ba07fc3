#include "run/table_file.hpp"

#include <fstream>
#include <memory>

#include "gpuhist/io/sink.hpp"

namespace gpuhist::app {
namespace {

/// Bytes after which rows are written.
constexpr std::size_t many = std::size_t{1} << 18;

}  // namespace

TableFile::TableFile(const std::filesystem::path& directory, const TableTraits& traits, const StatisticsRequest& asked)
    : rows_(io::make_sink("csv", {io::Table(traits.table, asked)})->begin()) {
    file_.emplace(directory / traits.file_name());
}

void TableFile::add(std::string_view row) {
    rows_ += row;
    if (rows_.size() > many) flush();
}

void TableFile::flush() {
    file_->write(rows_);
    rows_.clear();
}

io::CsvRows TableFile::read() const {
    return {std::make_unique<std::ifstream>(file_->readable_path(), std::ios::binary), file_->path().string()};
}

FlagFinder FlagTables::flags(const FlagThresholds& thresholds) {
    for (TableFile* file : {&stats, &quality}) file->flush();
    return FlagFinder({[this] { return stats.read(); }, [this] { return quality.read(); }}, thresholds);
}

}  // namespace gpuhist::app
