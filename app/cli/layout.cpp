#include "cli/layout.hpp"

#include <algorithm>

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

std::string aligned(const std::vector<std::vector<std::string>>& lines) {
    const auto width = [](const std::string& text) {
        return static_cast<std::size_t>(std::count_if(
            text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
    };
    std::vector<std::size_t> widths;
    for (const auto& line : lines) {
        widths.resize(std::max(widths.size(), line.size()));
        for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], width(line[i]));
    }
    std::string text;
    for (const auto& line : lines) {
        std::string own;
        for (std::size_t i = 0; i < line.size(); ++i) own += line[i] + std::string(widths[i] - width(line[i]) + 2, ' ');
        text += own.substr(0, own.find_last_not_of(' ') + 1) + '\n';
    }
    return text;
}

}  // namespace gpuhist::app
