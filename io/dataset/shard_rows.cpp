#include <fcntl.h>

#include <charconv>
#include <string_view>
#include <utility>

#include "files/descriptor.hpp"
#include "files/regular_file.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/io/shard.hpp"
#include "report/formats.hpp"

namespace gpuhist::io {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t longest_row = std::size_t{1} << 24;

/// Columns before those of a table.
std::vector<Column> first_columns(ColumnFile table) {
    const auto bit = static_cast<std::uint16_t>(table);
    return {{"index", "1", ColumnType::integer, "The input's index.", "gpuhist", "shards", bit, false,
             [](const ColumnRow& row, const Column&) -> ColumnValue { return row.index; }},
            {"file", "none", ColumnType::text, "The row's table.", "gpuhist", "shards", bit, false,
             [](const ColumnRow&, const Column& column) -> ColumnValue {
                 return traits_of(static_cast<ColumnFile>(column.files)).name;
             }}};
}

}  // namespace

std::unique_ptr<Sink> make_shard_sink(const StatisticsRequest& asked) {
    std::vector<Table> all;
    for (const TableTraits& traits : input_tables()) {
        std::vector<Column>& columns = all.emplace_back(traits.table, asked).columns;
        const std::vector<Column> first = first_columns(traits.table);
        columns.insert(columns.begin(), first.begin(), first.end());
    }
    return make_csv_sink(std::move(all));
}

/// Bytes of a file, each block checked before any of it is handed out.
class ShardRows::Blocks {
  public:
    Blocks(const fs::path& path, FileChecksums checksums)
        : name_(path.string()), file_(open_regular(path)), checksums_(std::move(checksums)) {}

    /// The next byte, or −1 at the end. Throws IoError.
    int next() {
        if (at_ == block_.size() && !fill()) return -1;
        return static_cast<unsigned char>(block_[at_++]);
    }

  private:
    bool fill() {
        const std::uint64_t number = place_ / BlockChecksums::block_bytes;
        block_.resize(BlockChecksums::block_bytes);
        block_.resize(read_at(file_.get(), block_.data(), block_.size(), place_, name_));
        at_ = 0;
        place_ += block_.size();
        if (block_.size() < BlockChecksums::block_bytes && place_ != checksums_.bytes)
            refuse(std::to_string(place_) + " bytes, but the shard file says " + std::to_string(checksums_.bytes));
        if (block_.empty()) return false;
        const std::string_view digits = checksums_.blocks;
        if (number >= digits.size() / checksum_digits ||
            digits.substr(number * checksum_digits, checksum_digits) != checksum_text(checksum(block_)))
            refuse("it is damaged from byte " + std::to_string(place_ - block_.size()) +
                   " on: the checksum of this block differs from the shard file");
        return true;
    }
    [[noreturn]] void refuse(const std::string& what) const {
        throw IoError(name_ + ": " + what, IoError::Kind::damaged);
    }

    std::string name_;
    Descriptor file_;
    FileChecksums checksums_;
    std::string block_;
    std::size_t at_ = 0;       ///< in the block
    std::uint64_t place_ = 0;  ///< in the file, behind the block
};

ShardRows::ShardRows(const fs::path& path, FileChecksums checksums, const StatisticsRequest& asked)
    : name_(path.string()), blocks_(std::make_unique<Blocks>(path, std::move(checksums))) {
    if (!read_record() || row_ != make_shard_sink(asked)->begin()) refuse("this is not the header of a shard's rows");
}
ShardRows::~ShardRows() = default;
ShardRows::ShardRows(ShardRows&&) noexcept = default;
ShardRows& ShardRows::operator=(ShardRows&&) noexcept = default;

bool ShardRows::next() {
    if (!read_record()) return false;
    std::from_chars(row_.data(), row_.data() + row_.size(), index_);  // what is no index starts no row
    const auto take = [&](const char* file) {
        const std::string start = std::to_string(index_) + ',' + file + ',';
        if (row_.compare(0, start.size(), start) != 0) return false;
        start_ = start.size();
        return true;
    };
    for (const TableTraits& traits : input_tables()) {
        table_ = traits.table;
        if (take(traits.name)) return true;
    }
    std::string names;
    const auto& tables = input_tables();
    for (const TableTraits& traits : tables)
        names += (names.empty() ? "'" : &traits == &tables.back() ? " or '" : ", '") + std::string(traits.name) + "'";
    refuse("the row does not start with the input's index and " + names);
}

bool ShardRows::read_record() {
    row_.clear();
    line_ = next_line_;
    bool quoted = false;
    for (int byte; (byte = blocks_->next()) >= 0;) {
        row_ += static_cast<char>(byte);
        if (byte == '"') quoted = !quoted;
        if (byte == '\n') ++next_line_;
        if (byte == '\n' && !quoted) return true;
        if (row_.size() == longest_row) refuse("a row of 16 MiB or more: a quote is missing");
    }
    if (!row_.empty()) refuse("the last row has no end: the file is truncated");
    return false;
}

void ShardRows::refuse(const std::string& what) const {
    throw IoError(name_ + ": line " + std::to_string(line_) + ": " + what);
}

}  // namespace gpuhist::io
