/// `gpuhist columns`: what the columns of the results mean.
#pragma once

#include <string>

#include "gpuhist/request.hpp"

namespace gpuhist::app {

struct ColumnsOptions {
    std::string format = "table";  ///< or `json`, `markdown`
    Percentiles percentiles;
};

/// Prints the table of columns: as aligned text, as JSON (an array of objects with `name`, `unit`, `type`,
/// `definition`, `source`, `for`), or in Markdown. Returns an ExitCode.
int show_columns(const ColumnsOptions& options);

/// The definitions for --help: a column's name, then its sentence, indented and wrapped. Neighbors that are told apart
/// by their names alone share an entry.
std::string column_definitions(const Percentiles& percentiles = {});

/// An entry like those.
std::string definition(const std::string& name, const std::string& text);

}  // namespace gpuhist::app
