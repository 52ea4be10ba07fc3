/// Rows of a run over files as a stream of the Arrow C interface, which pyarrow, pandas, polars and DuckDB read.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "convert.hpp"
#include "files.hpp"
#include "gpuhist/columns.hpp"
#include "gpuhist/request.hpp"

namespace gpuhist::python {

/// Text in UTF-8: U+FFFD stands for bytes that are not, as in Python's bytes.decode("utf-8", "replace").
std::string utf8_of(std::string_view text);

/// Rows of what comes of files: those of the table, `stats` or `regions`, whose columns the request chooses, and
/// `error`. An input that failed has one row, with its path and the error.
struct RowStream {
    std::shared_ptr<FileRuns> runs;  ///< one of which is taken when the first batch is asked for
    StatisticsRequest asked;
    ColumnFile table = ColumnFile::stats;
    std::size_t most_rows = 1;  ///< of a batch
};

/// Capsule with the stream, for `__arrow_c_stream__`.
nb::capsule arrow_stream(RowStream rows);

}  // namespace gpuhist::python
