/// `gpuhist columns`: definitions of the columns of the results.
#pragma once

#include <string>

#include "gpuhist/columns.hpp"
#include "gpuhist/request.hpp"

namespace gpuhist::app {

struct ColumnsOptions {
    std::string format = "table";  ///< or `json`, `markdown`
    Percentiles percentiles;
};

/// Prints the table of columns: as aligned text, as JSON (an array of objects with `name`, `unit`, `type`,
/// `definition`, `source`, `for`), or in Markdown. Returns an ExitCode.
int show_columns(const ColumnsOptions& options);

/// Definition of a column, and the function whose value it equals.
std::string sentences(const Column& column);

/// Definitions of the columns of a run, as a list. Neighbors that differ in their names only share an entry.
std::string column_definitions(const Percentiles& percentiles = {});

/// Entry of such a list: a name and its text.
std::string definition(const std::string& name, const std::string& text);

}  // namespace gpuhist::app
