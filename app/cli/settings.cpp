#include "cli/settings.hpp"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "cli/words.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/io/files.hpp"

namespace gpuhist::app {
namespace {

bool is_repeatable(const CLI::Option& option) {
    return option.get_items_expected_max() > 1;
}

std::string trimmed(const std::string& text) {
    constexpr const char* space = " \t\r";
    const std::size_t begin = text.find_first_not_of(space);
    return begin == text.npos ? "" : text.substr(begin, text.find_last_not_of(space) - begin + 1);
}

/// The value of a variable; of a repeatable option, one line each. An empty one is as none.
Setting from_environment(const std::string& variable, const CLI::Option& option) {
    const char* text = std::getenv(variable.c_str());
    Setting setting{variable, {}};
    if (!text || !*text) return setting;
    if (!is_repeatable(option)) {
        setting.values.emplace_back(text);
        return setting;
    }
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
        if (!line.empty()) setting.values.push_back(line);
    return setting;
}

/// Gives an option its value. A switch that is off stays as it was.
void apply(CLI::Option& option, const Setting& setting) {
    try {
        for (const std::string& value : setting.values) {
            if (!is_switch(option))
                option.add_result(value);
            else if (parse_switch(value))
                option.add_result("true");
        }
        if (option.count() > 0) option.run_callback();
    } catch (const CLI::ParseError& error) {
        throw CLI::ValidationError(setting.place, error.what());
    }
}

}  // namespace

std::map<std::string, Setting> read_configuration(const std::string& path, Grammar& grammar) {
    std::map<std::string, const CLI::Option*> known;
    const auto add = [&](CLI::App& app) {
        for (const CLI::Option* option : settable_options(app)) known[key_of(app, *option)] = option;
    };
    add(grammar.run);
    for (const Grammar::Entry& entry : grammar.commands) add(*entry.app);
    std::vector<std::string> keys;
    for (const auto& [key, option] : known)
        if (long_name(*option) != "config") keys.push_back(key);

    std::string text;
    try {
        const auto bytes = io::read_bytes(path);
        text.assign(bytes.begin(), bytes.end());
    } catch (const IoError& error) {
        if (error.kind() != IoError::Kind::truncated)  // an empty one says nothing
            throw CLI::FileError("--config: " + std::string(error.what()));
    }
    std::map<std::string, Setting> settings;
    std::istringstream lines(text);
    std::size_t number = 0;
    for (std::string line; std::getline(lines, line);) {
        const std::string place = path + ":" + std::to_string(++number) + ": ";
        line = trimmed(line);
        if (line.empty() || line.front() == '#') continue;
        const std::size_t equals = line.find('=');
        if (equals == line.npos) throw CLI::ConfigError(place + "'" + line + "' is not KEY = VALUE");
        const std::string key = trimmed(line.substr(0, equals)), value = trimmed(line.substr(equals + 1));
        if (std::find(keys.begin(), keys.end(), key) == keys.end())
            throw CLI::ConfigError(place + "no option '" + key + "'" + suggestion(key, keys));
        Setting& setting = settings.try_emplace(key, Setting{place + key, {}}).first->second;
        if (!setting.values.empty() && !is_repeatable(*known.at(key)))
            throw CLI::ConfigError(place + "'" + key + "' is given twice");
        setting.values.push_back(value);
    }
    return settings;
}

std::map<std::string, Source> apply_settings(Grammar& grammar, CLI::App& app, const std::set<std::string>& dropped) {
    std::map<std::string, Source> sources;
    std::set<std::string> settled = dropped;
    const auto take = [&](CLI::Option& option, const Setting& setting, Source source) {
        const std::string name = "--" + long_name(option);
        if (option.count() > 0 || setting.values.empty() || !settled.insert(name).second) return;
        apply(option, setting);
        if (option.count() > 0) sources[name] = source;
    };
    const std::vector<CLI::Option*> options = settable_options(app);
    for (CLI::Option* option : app.get_options())
        if (option->count() > 0 && !option->get_lnames().empty()) sources["--" + long_name(*option)] = Source::line;
    for (CLI::Option* option : options)
        take(*option, from_environment(variable_of(key_of(app, *option)), *option), Source::environment);
    if (grammar.config.empty()) return sources;
    const std::map<std::string, Setting> file = read_configuration(grammar.config, grammar);
    for (CLI::Option* option : options)
        if (const auto found = file.find(key_of(app, *option)); found != file.end())
            take(*option, found->second, Source::file);
    return sources;
}

}  // namespace gpuhist::app
