#include <fcntl.h>

#include <charconv>
#include <string_view>
#include <utility>

#include "files/descriptor.hpp"
#include "files/regular_file.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/io/shard.hpp"
#include "report/csv.hpp"

namespace gpuhist::io {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t longest_row = std::size_t{1} << 24;

std::string start_of_row(std::uint64_t index, ShardRows::Of of) {
    const char* const name = of == ShardRows::Of::errors    ? ",errors,"
                             : of == ShardRows::Of::regions ? ",regions,"
                                                            : ",stats,";
    return std::to_string(index) + name;
}

class ShardSink final : public Sink {
  public:
    explicit ShardSink(const Percentiles& percentiles)
        : rows_(ColumnFile::stats_csv, percentiles), header_(shard_rows_header(percentiles)) {}

    std::string begin() override { return header_; }
    std::string format(const ImageResult& image) const override {
        std::string lines;
        if (image.info.bands.empty()) {
            rows_.append(lines, image.info, image.rows, start_of_row(image.index, ShardRows::Of::stats));
            return lines;
        }
        for (const Statistics& row : image.rows)
            rows_.append(lines, image.info, {row},
                         std::to_string(image.index) + ",stats " + to_string(row.channel) + ",");
        return lines;
    }
    std::string append_failure(std::uint64_t index, const Failure& failure) override {
        return shard_error_row(index, failure);
    }

  private:
    CsvRows rows_;
    std::string header_;
};

}  // namespace

std::string shard_rows_header(const Percentiles& percentiles) {
    return "index,file," + stats_csv_header(percentiles);
}

std::string shard_stats_rows(std::uint64_t index, const ImageInfo& image, const std::vector<Statistics>& rows,
                             const Percentiles& percentiles) {
    return ShardSink(percentiles).format({index, image, rows});
}

std::string shard_error_row(std::uint64_t index, const Failure& failure) {
    return start_of_row(index, ShardRows::Of::errors) + errors_csv_row(failure);
}

std::string shard_region_start(std::uint64_t index) {
    return start_of_row(index, ShardRows::Of::regions);
}

std::unique_ptr<Sink> make_shard_sink(const Percentiles& percentiles) {
    return std::make_unique<ShardSink>(percentiles);
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
                   " on: the checksum of this block is another than the shard file says");
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

ShardRows::ShardRows(const fs::path& path, FileChecksums checksums, const Percentiles& percentiles)
    : name_(path.string()), blocks_(std::make_unique<Blocks>(path, std::move(checksums))) {
    if (!read_record() || row_ != shard_rows_header(percentiles)) refuse("this is not the header of a shard's rows");
}
ShardRows::~ShardRows() = default;
ShardRows::ShardRows(ShardRows&&) noexcept = default;
ShardRows& ShardRows::operator=(ShardRows&&) noexcept = default;

bool ShardRows::next() {
    if (!read_record()) return false;
    std::from_chars(row_.data(), row_.data() + row_.size(), index_);  // what is no index starts no row
    const auto take = [&](const std::string& start) {
        if (row_.compare(0, start.size(), start) != 0) return false;
        start_ = start.size();
        return true;
    };
    channel_.reset();
    for (const Of of : {Of::errors, Of::regions, Of::stats}) {
        of_ = of;
        if (take(start_of_row(index_, of))) return true;
    }
    for (int i = 0; i < channel_names; ++i) {
        channel_ = static_cast<Channel>(i);
        if (take(std::to_string(index_) + ",stats " + to_string(*channel_) + ",")) return true;
    }
    refuse("the row does not start with the input's index and 'stats', 'regions' or 'errors'");
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
