/// Texts laid out in lines for a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace gpuhist::app {

/// Characters per line of a text, which a terminal of any common size shows.
inline constexpr std::size_t text_width = 80;

/// Entry of a list: a head, indented by two, and its text from `column` on, in the next line where the head is long.
std::string entry(const std::string& head, const std::string& text, std::size_t column);

/// Paragraphs in lines of `text_width`. Line breaks part paragraphs; a line that begins with a space stays as it is.
std::string laid_out(const std::string& paragraphs);

/// Lines of cells, in columns two spaces apart. Widths count characters, which can take several bytes in UTF-8.
std::string aligned(const std::vector<std::vector<std::string>>& lines);

}  // namespace gpuhist::app
