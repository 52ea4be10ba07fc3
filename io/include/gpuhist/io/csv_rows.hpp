/// Reader of tables in CSV that a run wrote, by the names of their columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::io {

/// Rows of a table, from the first to the last, as `make_sink("csv", …)` writes them. Quoted fields may contain line
/// ends. Memory does not grow with the number of rows.
class CsvRows {
  public:
    /// Reads the header. `name` is for messages. Throws IoError if there is none.
    CsvRows(std::unique_ptr<std::istream> text, std::string name);
    /// Opens a regular file. Throws IoError.
    explicit CsvRows(const std::string& path);

    /// Names of the columns, in their order.
    const std::vector<std::string>& names() const { return columns_; }
    /// Place of a column; absent if the table lacks it.
    std::optional<std::size_t> find(std::string_view column) const;
    /// Place of a column that the table must have. Throws IoError.
    std::size_t column(std::string_view column) const;

    /// Moves to the next row. Returns false at the end. Throws IoError, with the line, for another number of fields
    /// than columns, a row without end or with more than 16 MiB, and if reading fails.
    bool next();
    /// Field of the row, without quotes. It stays until the next row.
    std::string_view text(std::size_t column) const { return fields_[column]; }
    /// Number in a field; absent if it is empty. Throws IoError for other text.
    std::optional<double> number(std::size_t column) const;
    std::optional<double> number(const std::optional<std::size_t>& column) const {
        return column ? number(*column) : std::nullopt;
    }

    [[noreturn]] void refuse(const std::string& what) const;

  private:
    int next_byte();
    bool read_record();
    void split();

    std::string name_;
    std::unique_ptr<std::istream> text_;
    std::vector<std::string> columns_, fields_;
    std::string block_, record_;
    std::size_t at_ = 0;  ///< in the block
    std::uint64_t line_ = 0, next_line_ = 1;
};

}  // namespace gpuhist::io
