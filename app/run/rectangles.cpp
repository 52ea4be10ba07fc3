#include "run/rectangles.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "gpuhist/error.hpp"
#include "gpuhist/io/files.hpp"

namespace gpuhist::app {
namespace {

/// Fields of a line of CSV, as RFC 4180 has them; `at` goes on to the next line.
std::vector<std::string> fields_of(const std::string& text, std::size_t& at) {
    std::vector<std::string> fields{""};
    bool quoted = false;
    for (; at < text.size(); ++at) {
        const char c = text[at];
        if (c == '"' && quoted && at + 1 < text.size() && text[at + 1] == '"')
            fields.back() += text[++at];
        else if (c == '"')
            quoted = !quoted;
        else if (quoted || (c != ',' && c != '\n' && c != '\r'))
            fields.back() += c;
        else if (c == ',')
            fields.emplace_back();
        else if (c == '\n')
            break;
    }
    ++at;
    return fields;
}

std::int64_t number_of(const std::string& text, std::int64_t least) {
    std::int64_t value = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    const std::int64_t most = std::numeric_limits<std::int32_t>::max();
    if (status != std::errc() || end != text.data() + text.size() || value < least || value > most)
        throw InvalidArgument("'" + text + "' is not a whole number from " + std::to_string(least));
    return value;
}

Rectangle rectangle_of(const std::string& name, const std::string* numbers) {
    if (name.empty()) throw InvalidArgument("a rectangle without a name");
    if (name.find_first_not_of("0123456789") == name.npos)
        throw InvalidArgument("a rectangle's name can't consist of digits only, as labels do: '" + name + "'");
    const std::int64_t lowest = -static_cast<std::int64_t>(std::numeric_limits<std::int32_t>::max());
    return {name, number_of(numbers[0], lowest), number_of(numbers[1], lowest), number_of(numbers[2], 1),
            number_of(numbers[3], 1)};
}

void add_once(std::vector<Rectangle>& list, Rectangle rectangle) {
    for (const Rectangle& other : list)
        if (other.name == rectangle.name)
            throw InvalidArgument("two rectangles have the name '" + rectangle.name + "'");
    list.push_back(std::move(rectangle));
}

}  // namespace

Rectangle parse_rectangle(const std::string& text) {
    const std::size_t equals = text.rfind('=');
    if (equals == text.npos) throw InvalidArgument("'" + text + "' is not NAME=X,Y,W,H");
    std::string rest = text.substr(equals + 1);
    std::size_t at = 0;
    const std::vector<std::string> numbers = fields_of(rest, at);
    if (numbers.size() != 4) throw InvalidArgument("'" + text + "' is not NAME=X,Y,W,H");
    return rectangle_of(text.substr(0, equals), numbers.data());
}

std::map<std::string, std::vector<Rectangle>> read_rectangles(const std::filesystem::path& path) {
    const std::string text = io::read_text(path), byte_order_mark = "\xef\xbb\xbf";
    std::map<std::string, std::vector<Rectangle>> all;
    std::size_t line = 1;
    for (std::size_t at = text.rfind(byte_order_mark, 0) == 0 ? byte_order_mark.size() : 0; at < text.size(); ++line) {
        const std::vector<std::string> fields = fields_of(text, at);
        if (line == 1 && fields == std::vector<std::string>{"path", "name", "x", "y", "w", "h"}) continue;
        if (fields == std::vector<std::string>{""}) continue;
        try {
            if (line == 1 || fields.size() != 6) throw InvalidArgument("the columns must be path,name,x,y,w,h");
            add_once(all[fields[0]], rectangle_of(fields[1], fields.data() + 2));
        } catch (const InvalidArgument& error) {
            throw IoError(path.string() + ": line " + std::to_string(line) + ": " + error.what(),
                          IoError::Kind::unsupported);
        }
    }
    return all;
}

Rectangle within(const Rectangle& rectangle, std::int64_t width, std::int64_t height, bool clip) {
    Rectangle inside = rectangle;
    inside.x = std::clamp<std::int64_t>(rectangle.x, 0, width);
    inside.y = std::clamp<std::int64_t>(rectangle.y, 0, height);
    inside.width = std::clamp<std::int64_t>(rectangle.x + rectangle.width, 0, width) - inside.x;
    inside.height = std::clamp<std::int64_t>(rectangle.y + rectangle.height, 0, height) - inside.y;
    const bool same = inside.width == rectangle.width && inside.height == rectangle.height;
    if (same || (clip && inside.width > 0 && inside.height > 0)) return inside;
    throw InvalidArgument("rectangle " + rectangle.name + " of " + std::to_string(rectangle.width) + " x " +
                          std::to_string(rectangle.height) + " at " + std::to_string(rectangle.x) + "," +
                          std::to_string(rectangle.y) + (clip ? " lies outside of" : " leaves") + " the image of " +
                          std::to_string(width) + " x " + std::to_string(height) +
                          (clip ? "" : ": --clip-rois clips it"));
}

}  // namespace gpuhist::app
