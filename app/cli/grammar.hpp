/// Grammar of the command line: the options of a run, in groups, and the commands beside it with theirs. Parsing, help,
/// completion, the manual page, variables and configuration files are made from it.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/options.hpp"
#include "cli/words.hpp"

namespace gpuhist::app {

struct Grammar {
    /// Binds the words to the fields of `line`, which must outlive this.
    explicit Grammar(CommandLine& line);
    Grammar(const Grammar&) = delete;
    Grammar& operator=(const Grammar&) = delete;

    struct Entry {
        Command command;
        std::unique_ptr<CLI::App> app;
        std::string name() const { return app->get_name(); }
    };

    CLI::App run;
    std::vector<Entry> commands;  ///< beside the run
    std::map<const CLI::Option*, std::vector<std::string>> choices;

    // Words whose meaning depends on more than one option.
    std::string color = "auto", config, shell, topic;
    NodataWords nodata;
    bool quiet = false;
    bool fail_fast = false;

    CLI::App& app_of(Command command);
};

/// Option that a variable or a configuration file may give: it has a long name, and is not hidden, help or version.
bool is_settable(const CLI::Option& option);
/// Settable options of a command, in its order.
std::vector<CLI::Option*> settable_options(CLI::App& app);
/// Long name of an option, without dashes.
std::string long_name(const CLI::Option& option);
/// Name in a configuration file: `engine`, `merge.output`.
std::string key_of(const CLI::App& app, const CLI::Option& option);
/// Name in the environment: GPUHIST_ENGINE, GPUHIST_MERGE_OUTPUT.
std::string variable_of(const std::string& key);
/// Whether it takes no value.
bool is_switch(const CLI::Option& option);

/// Topic of the help: a group of options of the run, and the rules for them.
struct Topic {
    const char *name, *group, *text;
};
const std::vector<Topic>& all_topics();

/// First line of an option's description, which stands alone in lists.
std::string short_description(const CLI::Option& option);
/// The whole description, in one line.
std::string long_description(const CLI::Option& option);

// Texts made from the grammar. Completion is for `bash`, `zsh` or `fish`.
std::string first_screen();              ///< where no argument is given
std::string help(Grammar& grammar);      ///< all options of a run, one line each, and the commands
std::string help_of(CLI::App& command);  ///< a command
std::string help_on(const Topic& topic, Grammar& grammar);
std::string completion(Grammar& grammar, const std::string& shell);
std::string manual(Grammar& grammar);
std::string version_text();

}  // namespace gpuhist::app
