#include "gpuhist/io/csv_rows.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <utility>

#include "gpuhist/error.hpp"

namespace gpuhist::io {
namespace {

constexpr std::size_t longest_record = std::size_t{1} << 24;

std::unique_ptr<std::istream> open_table(const std::string& path) {
    std::error_code failure;
    if (!std::filesystem::exists(path, failure)) throw IoError(path + ": is missing", IoError::Kind::missing);
    if (!std::filesystem::is_regular_file(path, failure)) throw IoError(path + ": is not a regular file");
    auto file = std::make_unique<std::ifstream>(path, std::ios::binary);
    if (!*file) throw IoError(path + ": cannot be read", IoError::Kind::permission);
    return file;
}

}  // namespace

CsvRows::CsvRows(std::unique_ptr<std::istream> text, std::string name)
    : name_(std::move(name)), text_(std::move(text)) {
    if (!read_record()) throw IoError(name_ + ": is empty: a table begins with the names of its columns");
    split();
    columns_ = fields_;
}

CsvRows::CsvRows(const std::string& path) : CsvRows(open_table(path), path) {}

std::optional<std::size_t> CsvRows::find(std::string_view column) const {
    const auto found = std::find(columns_.begin(), columns_.end(), column);
    if (found == columns_.end()) return std::nullopt;
    return static_cast<std::size_t>(found - columns_.begin());
}

std::size_t CsvRows::column(std::string_view column) const {
    const auto found = find(column);
    if (!found) throw IoError(name_ + ": has no column '" + std::string(column) + "'");
    return *found;
}

bool CsvRows::next() {
    if (!read_record()) return false;
    split();
    if (fields_.size() != columns_.size())
        refuse(std::to_string(fields_.size()) + " fields, but the header has " + std::to_string(columns_.size()));
    return true;
}

std::optional<double> CsvRows::number(std::size_t column) const {
    const std::string& text = fields_[column];
    if (text.empty()) return std::nullopt;
    double value = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (status != std::errc() || end != text.data() + text.size())
        refuse("'" + text + "' in column '" + columns_[column] + "' is not a number");
    return value;
}

/// The next byte, or -1 at the end. Throws IoError.
int CsvRows::next_byte() {
    if (at_ == block_.size()) {
        block_.resize(std::size_t{1} << 16);
        text_->read(block_.data(), static_cast<std::streamsize>(block_.size()));
        block_.resize(static_cast<std::size_t>(text_->gcount()));
        at_ = 0;
        if (text_->bad()) throw IoError(name_ + ": cannot be read");
        if (block_.empty()) return -1;
    }
    return static_cast<unsigned char>(block_[at_++]);
}

bool CsvRows::read_record() {
    record_.clear();
    line_ = next_line_;
    bool quoted = false;
    for (int byte; (byte = next_byte()) >= 0;) {
        if (byte == '"') quoted = !quoted;
        if (byte == '\n') ++next_line_;
        if (byte == '\n' && !quoted) return true;
        record_ += static_cast<char>(byte);
        if (record_.size() == longest_record) refuse("a row of 16 MiB or more: a quote or the row's end is missing");
    }
    if (!record_.empty()) refuse("the last row has no end: the file is truncated");
    return false;
}

void CsvRows::split() {
    std::size_t count = 0, at = 0;
    for (;; ++at) {  // behind a comma
        if (count == fields_.size()) fields_.emplace_back();
        std::string& field = fields_[count++];
        field.clear();
        if (at < record_.size() && record_[at] == '"') {
            for (++at; at < record_.size(); ++at) {
                if (record_[at] == '"' && (++at == record_.size() || record_[at] != '"')) break;
                field += record_[at];
            }
            if (at < record_.size() && record_[at] != ',') refuse("text after a closing quote");
        } else {
            const std::size_t end = std::min(record_.find(',', at), record_.size());
            field.assign(record_, at, end - at);
            at = end;
        }
        if (at >= record_.size()) break;
    }
    fields_.resize(count);
}

void CsvRows::refuse(const std::string& what) const {
    throw IoError(name_ + ": line " + std::to_string(line_) + ": " + what);
}

}  // namespace gpuhist::io
