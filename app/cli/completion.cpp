// Completion of the shells, made from the grammar. Words of options and commands contain no character that a shell
// would expand; descriptions are quoted.
#include <algorithm>

#include "cli/grammar.hpp"

namespace gpuhist::app {
namespace {

/// Options that are shown.
std::vector<const CLI::Option*> shown_options(const CLI::App& app) {
    return app.get_options(
        [](const CLI::Option* option) { return option->nonpositional() && !option->get_group().empty(); });
}

std::vector<std::string> spellings(const CLI::Option& option) {
    std::vector<std::string> all;
    for (const std::string& name : option.get_snames()) all.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) all.push_back("--" + name);
    return all;
}

std::string joined(const std::vector<std::string>& words, const char* between) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
    return text;
}

std::vector<std::string> option_words(const CLI::App& app) {
    std::vector<std::string> words;
    for (const CLI::Option* option : shown_options(app))
        for (const std::string& word : spellings(*option)) words.push_back(word);
    return words;
}

/// Words that an option or a positional argument accepts; empty if it accepts any.
std::vector<std::string> choices_of(const Grammar& grammar, const CLI::Option& option) {
    const auto found = grammar.choices.find(&option);
    return found == grammar.choices.end() ? std::vector<std::string>{} : found->second;
}

std::vector<std::string> positional_choices(const Grammar& grammar, const CLI::App& app) {
    for (const auto& [option, words] : grammar.choices)
        if (option->get_positional()) {
            const auto all = app.get_options();
            if (std::find(all.begin(), all.end(), option) != all.end()) return words;
        }
    return {};
}

/// Text without quotes, and without parts in brackets.
std::string plain(const std::string& description) {
    std::string text;
    bool in_brackets = false;
    for (const char c : description) {
        if (c == '[') {
            in_brackets = true;
            if (!text.empty() && text.back() == ' ') text.pop_back();
        }
        if (!in_brackets && c != '\'' && c != '`') text += c;
        if (c == ']') in_brackets = false;
    }
    return text;
}

std::string command_names(const Grammar& grammar) {
    std::vector<std::string> names;
    for (const Grammar::Entry& entry : grammar.commands) names.push_back(entry.name());
    return joined(names, " ");
}

/// Calls visit(name, app) for the run, whose name is empty, and for each command.
template <class Visit>
void each_app(Grammar& grammar, const Visit& visit) {
    visit(std::string(), grammar.run);
    for (const Grammar::Entry& entry : grammar.commands) visit(entry.name(), *entry.app);
}

/// Completions that a shell offers for the value of an option.
struct Offers {
    std::string choices;  ///< joined, where a `%` stands
    const char *directories, *files, *nothing;
};

std::string offer(const Grammar& grammar, const CLI::Option& option, const Offers& offers) {
    const auto choices = choices_of(grammar, option);
    if (!choices.empty()) {
        std::string text = offers.choices;
        return text.replace(text.find('%'), 1, joined(choices, " "));
    }
    return option.get_type_name() == "DIR"    ? offers.directories
           : option.get_type_name() == "FILE" ? offers.files
                                              : offers.nothing;
}

std::string bash(Grammar& grammar) {
    std::string values, words;
    each_app(grammar, [&](const std::string& name, const CLI::App& app) {
        for (const CLI::Option* option : shown_options(app)) {
            if (is_switch(*option)) continue;
            std::vector<std::string> patterns;
            for (const std::string& word : spellings(*option)) patterns.push_back("'" + name + " " + word + "'");
            values +=
                "        " + joined(patterns, " | ") + ")\n            " +
                offer(grammar, *option,
                      {"COMPREPLY=($(compgen -W '%' -- \"$word\"))",
                       "compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- \"$word\")",
                       "compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- \"$word\")", "COMPREPLY=()"});
            values += "\n            return ;;\n";
        }
        words += "        '" + name + "') options='" + joined(option_words(app), " ") + "' words='" +
                 joined(positional_choices(grammar, app), " ") + "' ;;\n";
    });
    return R"(# Completion of gpuhist for bash, made by `gpuhist completion bash`.
_gpuhist() {
    local word=$2 command= before= options= words= at
    local commands=')" +
           command_names(grammar) + R"('
    # The command is the first word that is no option.
    for ((at = 1; at < COMP_CWORD; at++)); do
        [[ ${COMP_WORDS[at]} == -* ]] && continue
        [[ " $commands " == *" ${COMP_WORDS[at]} "* ]] && command=${COMP_WORDS[at]}
        break
    done
    before=${COMP_WORDS[COMP_CWORD - 1]}
    # --option=value comes as three words.
    [[ $word == '=' ]] && word=
    [[ $before == '=' ]] && before=${COMP_WORDS[COMP_CWORD - 2]}
    case "$command $before" in
)" + values +
           R"(    esac
    case $command in
)" + words +
           R"(    esac
    if [[ $word == -* ]]; then
        COMPREPLY=($(compgen -W "$options" -- "$word"))
        return
    fi
    compopt -o filenames
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
    [[ -z $command ]] && ((COMP_CWORD == 1)) && words=$commands
    COMPREPLY+=($(compgen -W "$words" -- "$word"))
}
complete -F _gpuhist gpuhist
)";
}

/// Text inside an option's specification, where brackets and colons mean something.
std::string zsh_escaped(const std::string& text) {
    std::string escaped;
    for (const char c : text) {
        if (c == '[' || c == ']' || c == ':' || c == '\\') escaped += '\\';
        escaped += c;
    }
    return escaped;
}

std::string zsh(Grammar& grammar) {
    std::string arguments, commands;
    for (const Grammar::Entry& entry : grammar.commands)
        commands += "        '" + entry.name() + ":" + zsh_escaped(plain(entry.app->get_description())) + "'\n";
    each_app(grammar, [&](const std::string& name, const CLI::App& app) {
        arguments += name.empty() ? "    *)\n" : "    " + name + ")\n";
        arguments += "        _arguments -s -S \\\n";
        for (const CLI::Option* option : shown_options(app)) {
            const std::string value = is_switch(*option)
                                          ? ""
                                          : ":" + option->get_type_name() + ":" +
                                                offer(grammar, *option, {"(%)", "_files -/", "_files", " "});
            const bool repeatable = option->get_items_expected_max() > 1;
            for (const std::string& word : spellings(*option))
                arguments += "            '" + std::string(repeatable ? "*" : "") + word +
                             (is_switch(*option) || word[1] != '-' ? "" : "=") + "[" +
                             zsh_escaped(plain(short_description(*option))) + "]" + value + "' \\\n";
        }
        const auto choices = positional_choices(grammar, app);
        arguments +=
            "            '*: :" + (choices.empty() ? std::string("_files") : "(" + joined(choices, " ") + ")") +
            "'\n        ;;\n";
    });
    // The arguments of the run are the last case, for everything that is not a command.
    const std::size_t run_end = arguments.find(";;\n") + 3;
    arguments = arguments.substr(run_end) + arguments.substr(0, run_end);
    return R"(#compdef gpuhist
# Completion of gpuhist for zsh, made by `gpuhist completion zsh`.
_gpuhist() {
    local -a commands
    commands=(
)" + commands +
           R"(    )
    local command=
    if ((CURRENT > 2)) && ((${#${(M)commands:#${words[2]}:*}})); then
        command=${words[2]}
        shift words
        ((CURRENT--))
    elif ((CURRENT == 2)) && [[ ${words[2]} != -* ]]; then
        _describe command commands
        _files
        return
    fi
    case $command in
)" + arguments +
           R"(    esac
}
_gpuhist "$@"
)";
}

std::string fish(Grammar& grammar) {
    std::string text = "# Completion of gpuhist for fish, made by `gpuhist completion fish`.\n";
    const std::string names = command_names(grammar);
    for (const Grammar::Entry& entry : grammar.commands)
        text += "complete -c gpuhist -n __fish_use_subcommand -a " + entry.name() + " -d '" +
                plain(entry.app->get_description()) + "'\n";
    each_app(grammar, [&](const std::string& name, const CLI::App& app) {
        const std::string when =
            " -n '" +
            (name.empty() ? "not __fish_seen_subcommand_from " + names : "__fish_seen_subcommand_from " + name) + "'";
        for (const CLI::Option* option : shown_options(app)) {
            text += "complete -c gpuhist" + when;
            for (const std::string& word : option->get_snames()) text += " -s " + word;
            for (const std::string& word : option->get_lnames()) text += " -l " + word;
            if (!is_switch(*option))
                text += offer(grammar, *option, {" -x -a '%'", " -x -a '(__fish_complete_directories)'", " -r", " -x"});
            text += " -d '" + plain(short_description(*option)) + "'\n";
        }
        if (const auto choices = positional_choices(grammar, app); !choices.empty())
            text += "complete -c gpuhist -f" + when + " -a '" + joined(choices, " ") + "'\n";
    });
    return text;
}

}  // namespace

std::string completion(Grammar& grammar, const std::string& shell) {
    return shell == "bash" ? bash(grammar) : shell == "zsh" ? zsh(grammar) : fish(grammar);
}

}  // namespace gpuhist::app
