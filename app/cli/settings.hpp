/// Settings: options that come from the environment or from a configuration file, not from the line.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cli/grammar.hpp"

namespace gpuhist::app {

/// Places where a value may come from: the later ones go before the earlier.
enum class Source { none, file, environment, line };

/// Values, and how a message calls their place.
struct Setting {
    std::string place;
    std::vector<std::string> values;
};

/// Reads a configuration file, one `key = value` per line. White space around both is ignored, as are empty lines and
/// those that begin with #. A key is given once, but for options that are repeatable. Throws
/// CLI::FileError where it cannot be read and CLI::ConfigError for a line or key that is not understood.
std::map<std::string, Setting> read_configuration(const std::string& path, Grammar& grammar);

/// Gives the options of a command the values that its line has not, from the environment, then from the file that
/// --config or its variable names; not those in `dropped`. Returns where each has its value from. Throws
/// CLI::ParseError, with the place, for what an option does not understand.
std::map<std::string, Source> apply_settings(Grammar& grammar, CLI::App& app, const std::set<std::string>& dropped);

}  // namespace gpuhist::app
