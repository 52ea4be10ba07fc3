/// `gpuhist formats`: the formats that are read, their decoders, and the variants that are refused.
#pragma once

#include <string>

namespace gpuhist::app {

struct FormatsOptions {
    std::string format = "table";  ///< or `json`, `markdown`
};

/// Prints the formats: as text; as JSON, an object of `formats` (objects with `name`, `extensions`, `samples`, `pages`,
/// `decoders`, `read`, `refused`) and `not_read`, names of formats that are refused; or in Markdown. Returns an
/// ExitCode.
int show_formats(const FormatsOptions& options);

}  // namespace gpuhist::app
