// The manual page, in the macros of man(7): options from the grammar, columns from their table.
#include <sstream>

#include "cli/grammar.hpp"
#include "commands/columns.hpp"
#include "gpuhist/columns.hpp"
#include "gpuhist/version.hpp"

namespace gpuhist::app {
namespace {

/// Text that roff leaves as it is.
std::string roff_escaped(const std::string& text) {
    std::string out;
    bool begins = true;
    for (const char c : text) {
        if (begins && (c == '.' || c == '\'')) out += "\\&";
        begins = c == '\n';
        if (c == '\\')
            out += "\\e";
        else if (c == '-')
            out += "\\-";
        else
            out += c;
    }
    return out;
}

/// Item: its subject in bold, then its text.
std::string item(const std::string& head, const std::string& text) {
    return ".TP\n" + head + '\n' + roff_escaped(text) + '\n';
}

std::string bold(const std::string& text) {
    return "\\fB" + roff_escaped(text) + "\\fR";
}

std::string option_entry(const CLI::App& app, const CLI::Option& option) {
    std::string head;
    for (const std::string& name : option.get_snames()) head += bold("-" + name) + ", ";
    for (const std::string& name : option.get_lnames()) head += bold("--" + name) + ", ";
    head.erase(head.size() - 2);
    if (!is_switch(option)) head += " \\fI" + roff_escaped(option.get_type_name()) + "\\fR";
    std::string text = long_description(option);
    if (is_settable(option)) text += (text.back() == '.' ? " " : ". ") + variable_of(key_of(app, option));
    return item(head, text);
}

std::string options_of(const CLI::App& app, const std::string& group) {
    std::string text;
    for (const CLI::Option* option : app.get_options())
        if (option->nonpositional() && option->get_group() == group) text += option_entry(app, *option);
    return text;
}

/// Paragraphs, as `laid_out` takes them.
std::string paragraphs(const std::string& text) {
    std::istringstream lines(text);
    std::string out;
    bool as_they_are = false;
    for (std::string line; std::getline(lines, line);) {
        const bool keep = !line.empty() && line.front() == ' ';
        if (keep != as_they_are) out += keep ? ".nf\n" : ".fi\n";
        as_they_are = keep;
        out += line.empty() ? ".PP\n" : roff_escaped(line) + '\n';
    }
    return out + (as_they_are ? ".fi\n" : "");
}

}  // namespace

std::string manual(Grammar& grammar) {
    CLI::App& run = grammar.run;
    std::string text = ".\\\" Made by `gpuhist manual`.\n.TH GPUHIST 1 \"\" \"gpuhist " +
                       std::string(gpuhist::version()) +
                       "\" \"User Commands\"\n.SH NAME\ngpuhist \\- measure images: histograms, statistics, "
                       "normalized copies\n.SH SYNOPSIS\n\\fBgpuhist\\fR [\\fIOPTION\\fR]... \\fIINPUT\\fR...\n";
    for (const Grammar::Entry& command : grammar.commands) {
        text += ".br\n\\fBgpuhist " + roff_escaped(command.name()) + "\\fR";
        for (const CLI::Option* option : command.app->get_options())
            if (option->nonpositional() && !option->get_group().empty() && is_settable(*option)) {
                text += " [\\fIOPTION\\fR]...";
                break;
            }
        for (const CLI::Option* option : command.app->get_options())
            if (option->get_positional()) text += " \\fI" + option->get_name() + "\\fR";
        text += '\n';
    }
    text += ".SH DESCRIPTION\n" + roff_escaped(run.get_description()) + '\n';
    for (const CLI::Option* option : run.get_options())
        if (option->get_positional()) text += item("\\fI" + option->get_name() + "\\fR", option->get_description());
    text += ".SH OPTIONS\n";
    for (const Topic& topic : all_topics())
        text +=
            std::string(".SS ") + topic.group + '\n' + options_of(run, topic.group) + ".PP\n" + paragraphs(topic.text);
    text += ".SH COMMANDS\nA command is the first word that isn't an option. A file of its name is ./NAME.\n";
    for (const Grammar::Entry& command : grammar.commands) {
        text += ".SS " + roff_escaped(command.name()) + '\n' + roff_escaped(command.app->get_description()) + ".\n";
        for (const std::string& group : command.app->get_groups()) text += options_of(*command.app, group);
        if (const std::string footer = command.app->get_footer(); !footer.empty()) text += ".PP\n" + paragraphs(footer);
    }
    text += ".SH COLUMNS\n";
    for (const Column& column : columns())
        text += item(bold(column.name), sentences(column) + " Unit: " + column.unit + ". For: " + column.images + ".");
    return text;
}

}  // namespace gpuhist::app
