/// Page about the results of a run.
#pragma once

#include <string>

#include "commands/results_there.hpp"
#include "gpuhist/io/page.hpp"

namespace gpuhist::app {

/// Page about results, which are compared with earlier ones unless `earlier` is null. An empty title becomes the name
/// of the directory that has all images. Reads the tables twice; memory grows by about 60 bytes per image. Throws
/// IoError for tables that are damaged, lack a column, or were written by another version.
io::Page page_of(const ResultsThere& results, const ResultsThere* earlier, const std::string& title);

}  // namespace gpuhist::app
