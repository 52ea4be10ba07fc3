#include "cli/layout.hpp"

#include <sstream>

namespace gpuhist::app {
namespace {

/// Appends words, which begin at `at`, a place in the last line; further lines are indented.
void append(std::string& lines, std::size_t at, const std::string& text, std::size_t indent) {
    std::istringstream words(text);
    bool begins = true;
    for (std::string word; words >> word; begins = false) {
        if (!begins && at + 1 + word.size() > text_width) {
            lines += '\n' + std::string(indent, ' ');
            at = indent;
        } else if (!begins) {
            lines += ' ';
            ++at;
        }
        lines += word;
        at += word.size();
    }
    lines += '\n';
}

}  // namespace

std::string entry(const std::string& head, const std::string& text, std::size_t column) {
    std::string lines = "  " + head;
    if (text.empty()) return lines + '\n';
    if (lines.size() > text_width) {
        lines = "  ";
        append(lines, lines.size(), head, lines.size());
        lines += std::string(column, ' ');
    } else if (lines.size() >= column) {
        lines += '\n' + std::string(column, ' ');
    } else {
        lines += std::string(column - lines.size(), ' ');
    }
    append(lines, column, text, column);
    return lines;
}

std::string laid_out(const std::string& paragraphs) {
    std::istringstream lines(paragraphs);
    std::string text;
    for (std::string line; std::getline(lines, line);) {
        if (line.empty() || line.front() == ' ')
            text += line + '\n';
        else
            append(text, 0, line, 0);
    }
    return text;
}

}  // namespace gpuhist::app
