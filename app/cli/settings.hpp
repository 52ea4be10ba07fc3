/// Settings: options that come from the environment or from a configuration file, not from the line.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cli/grammar.hpp"

namespace gpuhist::app {

/// Sources of a value. Later ones override earlier ones.
enum class Source { none, file, environment, line };

/// Values, and how a message calls their place.
struct Setting {
    std::string place;
    std::vector<std::string> values;
};

/// Reads a configuration file, one `key = value` per line. White space around both is ignored, as are empty lines and
/// comments, which begin with #. A key may occur once, unless its option is repeatable. Throws CLI::FileError if the
/// file cannot be read, and CLI::ConfigError for a line or key that is not valid.
std::map<std::string, Setting> read_configuration(const std::string& path, Grammar& grammar);

/// Gives options that are not on the command line their values from the environment, or else from the file of --config
/// or its variable, except those in `dropped`. Returns the source of each value. Throws CLI::ParseError, with the
/// place, for a value that an option does not accept.
std::map<std::string, Source> apply_settings(Grammar& grammar, CLI::App& app, const std::set<std::string>& dropped);

}  // namespace gpuhist::app
