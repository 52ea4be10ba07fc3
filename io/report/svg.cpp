#include <array>
#include <cmath>
#include <cstdio>

#include "report/canvas.hpp"

namespace gpuhist::io {
namespace {

/// Number with at most two decimals, none where it is whole.
std::string number(double value) {
    const auto hundredths = std::llround(value * 100), size = std::llabs(hundredths);
    std::string text(hundredths < 0 ? "-" : "");
    text += std::to_string(size / 100);
    if (size % 100 == 0) return text;
    text += '.';
    text += static_cast<char>('0' + size / 10 % 10);
    if (size % 10 != 0) text += static_cast<char>('0' + size % 10);
    return text;
}

std::string hex(const Color& color) {
    std::array<char, 8> text{};
    std::snprintf(text.data(), text.size(), "#%02x%02x%02x", color[2], color[1], color[0]);
    return text.data();
}

/// Attribute ` name="value"`.
std::string attribute(const char* name, const std::string& value) {
    return std::string(" ") + name + "=\"" + value + '"';
}

std::string filled(const Ink& ink) {
    return attribute("fill", hex(ink.color)) + (ink.opacity < 1 ? attribute("fill-opacity", number(ink.opacity)) : "");
}

/// Text for XML. Characters that XML or UTF-8 does not allow become question marks, as in pixels.
std::string escaped(std::string_view text) {
    std::string safe;
    while (!text.empty()) {
        const std::string_view before = text;
        const int character = next_character(text);
        const std::string_view bytes = before.substr(0, before.size() - text.size());
        if (character < 0x20 || character == 0xFFFE || character == 0xFFFF)
            safe += '?';
        else if (character == '<')
            safe += "&lt;";
        else if (character == '>')
            safe += "&gt;";
        else if (character == '&')
            safe += "&amp;";
        else if (character == '?')
            safe += '?';
        else
            safe += bytes;
    }
    return safe;
}

class SvgCanvas : public Canvas {
  public:
    explicit SvgCanvas(std::string& elements) : elements_(elements) {}

    void fill(const Box& box, const Ink& ink) override {
        elements_ += "<rect" + attribute("x", number(box.left)) + attribute("y", number(box.top)) +
                     attribute("width", number(box.width())) + attribute("height", number(box.height())) + filled(ink) +
                     "/>\n";
    }

    void vertical(int x, int top, int bottom, const Ink& ink, int dash) override {
        if (dash == 0) return fill({x, top, x + 1, bottom}, ink);
        put_line(x + 0.5, top, x + 0.5, bottom, ink.color,
                 attribute("stroke-opacity", number(ink.opacity)) + attribute("stroke-dasharray", number(dash)));
    }

    void line(double x0, double y0, double x1, double y1, const Color& color) override {
        put_line(x0 + 0.5, y0 + 0.5, x1 + 0.5, y1 + 0.5, color, "");
    }

    void fill_steps(const Box& box, const Steps& steps, const Ink& ink) override {
        const Box open{box.left, box.top - 1, box.right, box.bottom};  // columns that reach the top are closed
        const std::string path = path_of(contour(open, steps), 0);
        if (!path.empty()) elements_ += "<path" + attribute("d", path) + filled(ink) + "/>\n";
    }

    void stroke(const std::vector<Segment>& segments, const Color& color, int width) override {
        const std::string path = path_of(segments, width % 2 == 0 ? 0 : 0.5);
        if (!path.empty())
            elements_ += "<path" + attribute("d", path) + attribute("fill", "none") + attribute("stroke", hex(color)) +
                         attribute("stroke-width", number(width)) + attribute("stroke-linecap", "square") + "/>\n";
    }

    void text(std::string_view text, double x, double baseline, double size, const Color& color,
              Anchor anchor) override {
        static constexpr const char* anchors[] = {"start", "middle", "end"};
        put(text, attribute("x", number(x)) + attribute("y", number(baseline)), anchors[static_cast<int>(anchor)], size,
            color);
    }

    void text_upwards(std::string_view text, double baseline, double middle, double size, const Color& color) override {
        put(text, attribute("transform", "translate(" + number(baseline) + ' ' + number(middle) + ") rotate(-90)"),
            "middle", size, color);
    }

  private:
    void put_line(double x0, double y0, double x1, double y1, const Color& color, const std::string& more) {
        elements_ += "<line" + attribute("x1", number(x0)) + attribute("y1", number(y0)) + attribute("x2", number(x1)) +
                     attribute("y2", number(y1)) + attribute("stroke", hex(color)) + more + "/>\n";
    }

    /// The length that the text has in our typeface is kept in others. Sizes there are of the em, ours from ascender
    /// to descender.
    void put(std::string_view text, const std::string& place, const char* anchor, double size, const Color& color) {
        if (text.empty()) return;
        constexpr double em = 1 / 1.164;
        elements_ += "<text" + place + (std::string_view(anchor) == "start" ? "" : attribute("text-anchor", anchor)) +
                     attribute("font-size", number(size * em)) + attribute("textLength", number(width(text, size))) +
                     attribute("fill", hex(color)) + attribute("xml:space", "preserve") + '>' + escaped(text) +
                     "</text>\n";
    }

    /// Path along segments, with one piece per run of segments that touch.
    static std::string path_of(const std::vector<Segment>& segments, double offset) {
        std::string path;
        const Segment* before = nullptr;
        for (const Segment& segment : segments) {
            if (!before || before->x1 != segment.x0 || before->y1 != segment.y0)
                path += 'M' + number(segment.x0 + offset) + ' ' + number(segment.y0 + offset);
            path += segment.x0 == segment.x1 ? 'V' + number(segment.y1 + offset) : 'H' + number(segment.x1 + offset);
            before = &segment;
        }
        return path;
    }

    std::string& elements_;
};

}  // namespace

std::unique_ptr<Canvas> svg_canvas(std::string& elements) {
    return std::make_unique<SvgCanvas>(elements);
}

std::string svg_document(const std::string& elements, const cv::Size& size, const std::string& title) {
    const std::string width = number(size.width), height = number(size.height);
    return "<svg" + attribute("xmlns", "http://www.w3.org/2000/svg") + attribute("width", width) +
           attribute("height", height) + attribute("viewBox", "0 0 " + width + ' ' + height) +
           attribute("font-family", "DejaVu Sans, Verdana, sans-serif") + ">\n<title>" + escaped(title) + "</title>\n" +
           elements + "</svg>\n";
}

}  // namespace gpuhist::io
