// The picture of a report: horizontal bars, grouped by case and content, one colour a tool.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <opencv2/core.hpp>
#include <set>
#include <span>

#include "bench/report.hpp"
#include "gpuhist/io/encode.hpp"
#include "report/text.hpp"

namespace gpuhist::bench {
namespace {

using io::Color;
using io::Typesetter;

Color rgb(int red, int green, int blue) {
    return {static_cast<unsigned char>(blue), static_cast<unsigned char>(green), static_cast<unsigned char>(red)};
}

const Color paper = rgb(255, 255, 255), ink = rgb(31, 35, 40), faint_ink = rgb(101, 109, 118),
            grid = rgb(232, 235, 239), rule = rgb(208, 215, 222), missed = rgb(207, 34, 46);
constexpr double title_size = 25, heading_size = 17.5, text_size = 15.5, small_size = 14;
constexpr int width = 1440, margin = 32, column_gap = 40, label_gap = 18, bar_height = 15, bar_gap = 3;
constexpr double smallest_tick = 70;  ///< from one number of an axis to the next
constexpr std::size_t few_cases = 3;  ///< of a panel that has one column

/// Told apart by those who see red and green alike, too. The first is gpuhist's.
const std::array<Color, 9> tool_colors{rgb(9, 105, 218),   rgb(227, 119, 34), rgb(130, 80, 190),
                                       rgb(120, 130, 141), rgb(30, 150, 140), rgb(214, 72, 128),
                                       rgb(160, 130, 40),  rgb(66, 74, 83),   rgb(122, 178, 238)};

std::string print(const char* format, double value) {
    std::array<char, 64> buffer{};
    std::snprintf(buffer.data(), buffer.size(), format, value);
    return buffer.data();
}

/// Three or four digits, thousands set apart: 4,369; 23.1; 0.52.
std::string number(double value) {
    std::string text = print(value >= 100 ? "%.0f" : value >= 10 ? "%.1f" : "%.2f", value);
    if (value >= 1000)
        for (std::size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, 1, ',');
    return text;
}

/// The next of 1, 2, 5, 10, 20, 50, ... times a power of ten.
double nice_step(double step) {
    const double power = std::pow(10, std::floor(std::log10(step)));
    for (double factor : {1.0, 2.0, 5.0})
        if (factor * power >= step * (1 - 1e-9)) return factor * power;
    return 10 * power;
}

/// What a measurement is drawn as: bars of different kinds share no axis.
struct Kind {
    std::string axis;  ///< also what tells kinds apart
    bool rates = false;
};

Kind kind_of(const Measurement& m) {
    if (m.bytes > 0) return {"GB/s", true};
    if (m.relative) return {m.relative->to, false};
    return {m.timing.median_ms < 1 ? "microseconds" : "milliseconds", false};
}

double length_of(const Measurement& m) {
    if (m.bytes > 0) return m.gb_per_s();
    if (m.relative) return m.relative->value;
    return m.timing.median_ms * (m.timing.median_ms < 1 ? 1e3 : 1);
}

/// On the axis of the bar.
double target_of(const Measurement& m, double ceiling) {
    switch (m.target->of) {
        case Target::Of::ceiling:
            return m.target->value * ceiling;
        case Target::Of::relative:  // the bar as long as it would be then
            return length_of(m) * m.target->value / m.relative->value;
        default:
            return m.target->value * (m.timing.median_ms < 1 ? 1 : 1e-3);
    }
}

struct Bars {
    std::string content;
    std::vector<const Measurement*> tools;
};
struct Case {
    std::string heading;
    std::vector<Bars> bars;
};
struct Panel {
    Kind kind;
    std::vector<Case> cases;
    double longest = 0;
};

/// In the order of the measurements, cases together.
std::vector<Panel> arrange(const std::vector<Measurement>& measurements) {
    const auto entry = [](auto& list, auto matches, auto make) -> auto& {
        auto found = std::find_if(list.begin(), list.end(), matches);
        return found != list.end() ? *found : list.emplace_back(make());
    };
    std::vector<Panel> panels;
    for (const Measurement& m : measurements) {
        const Kind kind = kind_of(m);
        const std::string heading = m.group.empty() ? m.name : m.group + "  " + m.name;
        Panel& panel = entry(
            panels, [&](const Panel& p) { return p.kind.axis == kind.axis; },
            [&] {
                return Panel{kind, {}, 0};
            });
        Case& item = entry(
            panel.cases, [&](const Case& c) { return c.heading == heading; },
            [&] {
                return Case{heading, {}};
            });
        Bars& bars = entry(
            item.bars, [&](const Bars& b) { return b.content == m.content; },
            [&] {
                return Bars{m.content, {}};
            });
        bars.tools.push_back(&m);
        panel.longest = std::max(panel.longest, length_of(m));
    }
    // Rates first: they are what a reader looks for.
    std::stable_partition(panels.begin(), panels.end(), [](const Panel& p) { return p.kind.rates; });
    return panels;
}

class Picture {
  public:
    Picture(const std::vector<std::pair<std::string, double>>& ceilings, const std::vector<Measurement>& measurements,
            const std::vector<Skipped>& skipped)
        : ceilings_(ceilings), panels_(arrange(measurements)) {
        std::size_t tool = 1;
        for (const Measurement& m : measurements) {
            if (tools_.count(m.tool)) continue;
            tool_order_.push_back(m.tool);
            // When there are more tools than colours the last one stands for all others.
            tools_[m.tool] = m.tool == "gpuhist"   ? tool_colors[0]
                             : m.tool == "ceiling" ? ink
                                                   : tool_colors[std::min(tool++, tool_colors.size() - 1)];
            targets_ = targets_ || m.target;
        }
        for (const Measurement& m : measurements) {
            targets_ = targets_ || m.target;
            label_width_ = std::max(label_width_, type_.width(m.content, text_size));
        }
        std::set<std::string> seen;
        for (const Skipped& s : skipped) {
            const std::string note = s.tool + " skipped: " + s.reason;
            if (seen.insert(note).second) notes_.push_back(note);
        }
    }

    cv::Mat draw(const std::string& title, const std::string& subtitle) {
        // Set once to learn the height: what lies outside an image is cut off.
        image_.create(1, width, CV_8UC3);
        const int height = set(title, subtitle);
        image_.create(height, width, CV_8UC3);
        image_.setTo(cv::Scalar(paper[0], paper[1], paper[2]));
        set(title, subtitle);
        return image_;
    }

  private:
    using Cases = std::span<const Case>;

    int set(const std::string& title, const std::string& subtitle) {
        int y = 46;
        type_.draw(image_, title, margin, y, title_size, ink);
        y += 26;
        for (const std::string& line : wrapped(subtitle, " \u00b7 ")) {
            type_.draw(image_, line, margin, y, small_size, faint_ink);
            y += 20;
        }
        y = legend(y + 12);
        for (const Panel& panel : panels_) y = set_panel(panel, y + 30);
        for (const std::string& note : notes_) {
            y += 20;
            type_.draw(image_, note, margin, y, small_size, faint_ink);
        }
        return y + 28;
    }

    int legend(int y) {
        double x = margin;
        const auto make_room = [&](double wide) {
            if (x + wide <= width - margin) return;
            x = margin;
            y += 24;
        };
        for (const std::string& tool : tool_order_) {
            const double advance = 22 + type_.width(tool, text_size) + 26;
            make_room(advance);
            rectangle(x, y - 12, x + 14, y + 2, tools_[tool]);
            type_.draw(image_, tool, x + 22, y, text_size, ink);
            x += advance;
        }
        if (targets_) {
            make_room(112 + type_.width("target missed", text_size));
            rectangle(x + 6, y - 13, x + 8, y + 3, ink);
            type_.draw(image_, "target", x + 22, y, text_size, ink);
            rectangle(x + 96, y - 13, x + 98, y + 3, missed);
            type_.draw(image_, "target missed", x + 112, y, text_size, ink);
        }
        return y;
    }

    /// In two columns where there are many cases, of one scale.
    int set_panel(const Panel& panel, int y) {
        const std::size_t split = first_column(panel);
        const int columns = split < panel.cases.size() ? 2 : 1;
        const int column = (width - 2 * margin - (columns - 1) * column_gap) / columns;
        const auto marks = panel.kind.rates ? ceilings_ : std::vector<std::pair<std::string, double>>{};
        double longest = panel.longest, room = 0;  // beside the longest bar
        for (const Case& item : panel.cases)
            for (const Bars& bars : item.bars)
                for (const Measurement* m : bars.tools) {
                    if (m->target) longest = std::max(longest, target_of(*m, ceiling()));
                    room = std::max(room, type_.width(label(*m), small_size) + 16);
                }
        for (const auto& [name, rate] : marks) {
            longest = std::max(longest, rate);
            room = std::max(room, type_.width(mark_text(name, rate), small_size));
        }
        const double scale = (column - label_width_ - label_gap - room) / longest;

        rectangle(margin, y, width - margin, y + 1, rule);
        y += 30;
        type_.draw(image_, axis_title(panel), margin, y, heading_size, ink);
        const Cases first = Cases(panel.cases).first(split), second = Cases(panel.cases).subspan(split);
        const int height = std::max(height_of(first), height_of(second));
        const int bottom = set_column(first, margin, y, height, marks, longest, scale);
        if (columns > 1) set_column(second, margin + column + column_gap, y, height, marks, longest, scale);
        return bottom + 30;
    }

    /// Returns where the axis is.
    int set_column(Cases cases, double begin, int y, int height,
                   const std::vector<std::pair<std::string, double>>& marks, double longest, double scale) {
        const double left = begin + label_width_ + label_gap;
        const std::vector<std::pair<double, int>> lines = set_marks(marks, left, scale, y);
        const int top = y + 12, bottom = top + height;
        const double step = nice_step(smallest_tick / scale);
        for (double value = 0; value <= longest * 1.0001; value += step) {
            const double x = left + value * scale;
            rectangle(x, top, x + 1, bottom, value == 0 ? rule : grid);
            type_.draw(image_,
                       value == 0 ? "0"
                       : step < 1 ? print("%.1f", value)
                                  : number_of_tick(value),
                       x, bottom + 18, small_size, faint_ink, Typesetter::Anchor::middle);
        }
        for (const auto& [x, from] : lines)
            for (int dash = from; dash < bottom; dash += 8)
                rectangle(x, dash, x + 1.5, std::min(dash + 5, bottom), ink);

        y = top;
        for (const Case& item : cases) {
            y += 32;
            // The heading stands clear of lines and grid.
            rectangle(begin, y - 17, begin + type_.width(item.heading, heading_size) + 8, y + 5, paper);
            type_.draw(image_, item.heading, begin, y, heading_size, ink);
            y += 10;
            for (const Bars& bars : item.bars) y = set_bars(bars, y, left, scale);
        }
        return bottom;
    }

    /// How many cases the first column has: so many that both are about as long.
    static std::size_t first_column(const Panel& panel) {
        if (panel.cases.size() <= few_cases) return panel.cases.size();
        const Cases cases(panel.cases);
        const int half = height_of(cases) / 2;
        std::size_t n = 1;
        while (height_of(cases.first(n)) < half) ++n;
        return half - height_of(cases.first(n - 1)) < height_of(cases.first(n)) - half ? n - 1 : n;
    }

    /// Names over the ceilings' lines, each to the right of its own: where one would meet the next one's line it stands
    /// higher. Moves `y` to the lowest of them; returns where the lines go, x and top.
    std::vector<std::pair<double, int>> set_marks(std::vector<std::pair<std::string, double>> marks, double left,
                                                  double scale, int& y) {
        std::sort(marks.begin(), marks.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
        const auto x_of = [&](std::size_t i) { return left + marks[i].second * scale; };
        const auto meets = [&](std::size_t i) {
            const double end = x_of(i) + type_.width(mark_text(marks[i].first, marks[i].second), small_size) + 14;
            return i > 0 && end > x_of(i - 1);
        };
        for (std::size_t i = 0; i < marks.size(); ++i) y += i == 0 || meets(i) ? 20 : 0;
        std::vector<std::pair<double, int>> lines;
        int level = y;
        for (std::size_t i = 0; i < marks.size(); ++i) {
            if (meets(i)) level -= 20;
            type_.draw(image_, mark_text(marks[i].first, marks[i].second), x_of(i), level, small_size, ink);
            lines.emplace_back(x_of(i), level + 5);
        }
        return lines;
    }

    std::string mark_text(const std::string& name, double rate) const {
        return name + " " + number(rate) + (name == ceilings_.front().first ? " = 100 %" : "");
    }

    /// What stands beside a bar.
    std::string label(const Measurement& m) const {
        std::string text = number(length_of(m));
        if (m.bytes > 0 && m.relative)
            text += " \u00b7 " + number(m.relative->value) + " " + m.relative->to;
        else if (m.bytes > 0 && !ceilings_.empty())
            text += " \u00b7 " +
                    print(m.gb_per_s() < 0.1 * ceiling() ? "%.1f %%" : "%.0f %%", 100 * m.gb_per_s() / ceiling());
        return text;
    }

    int set_bars(const Bars& bars, int y, double left, double scale) {
        const int height = static_cast<int>(bars.tools.size()) * (bar_height + bar_gap);
        type_.draw(image_, bars.content, left - 12, y + height / 2 + 5, text_size, faint_ink,
                   Typesetter::Anchor::right);
        for (const Measurement* m : bars.tools) {
            const double end = left + length_of(*m) * scale;
            rectangle(left, y, std::max(end, left + 1.5), y + bar_height, tools_[m->tool]);
            const std::string text = label(*m);
            const double text_width = type_.width(text, small_size);
            double after = end + 7;
            if (m->target) {
                const double at = left + target_of(*m, ceiling()) * scale;
                const bool reached = m->target->at_most ? length_of(*m) <= target_of(*m, ceiling())
                                                        : length_of(*m) >= target_of(*m, ceiling());
                rectangle(at - 2, y - 3, at + 2, y + bar_height + 3, paper);
                rectangle(at - 1, y - 3, at + 1, y + bar_height + 3, reached ? ink : missed);
                // Behind the mark where it stands in the way.
                if (at > end - 2 && at < after + text_width + 6) after = at + 8;
            }
            rectangle(after - 3, y, after + text_width + 3, y + bar_height, paper);
            type_.draw(image_, text, after, y + bar_height - 3, small_size, ink);
            y += bar_height + bar_gap;
        }
        return y + 8;
    }

    static int height_of(Cases cases) {
        int height = 8;
        for (const Case& item : cases) {
            height += 42;
            for (const Bars& bars : item.bars)
                height += static_cast<int>(bars.tools.size()) * (bar_height + bar_gap) + 8;
        }
        return height;
    }

    std::string axis_title(const Panel& panel) const {
        if (!panel.kind.rates) return panel.kind.axis;
        return ceilings_.empty() ? "GB/s" : "GB/s and percent of the " + ceilings_.front().first;
    }

    static std::string number_of_tick(double value) {
        std::string text = print("%.0f", value);
        for (std::size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, 1, ',');
        return text;
    }

    /// Breaks a line at its separators where it is too wide.
    std::vector<std::string> wrapped(const std::string& text, const std::string& separator) const {
        std::vector<std::string> lines(1);
        for (std::size_t from = 0; from < text.size();) {
            const std::size_t end = std::min(text.find(separator, from), text.size());
            const std::string part = text.substr(from, end - from);
            const std::string longer = lines.back().empty() ? part : lines.back() + separator + part;
            if (!lines.back().empty() && type_.width(longer, small_size) > width - 2 * margin)
                lines.push_back(part);
            else
                lines.back() = longer;
            from = end + separator.size();
        }
        return lines;
    }

    double ceiling() const { return ceilings_.empty() ? 0 : ceilings_.front().second; }

    /// Filled, its left and right edges soft to a fraction of a pixel.
    void rectangle(double left, int top, double right, int bottom, const Color& color) {
        for (int y = std::max(0, top); y < std::min(bottom, image_.rows); ++y)
            for (int x = std::max(0, static_cast<int>(left)); x < std::min(static_cast<int>(std::ceil(right)), width);
                 ++x) {
                const double covered = std::min<double>(right, x + 1) - std::max<double>(left, x);
                io::blend(image_.at<Color>(y, x), color, static_cast<float>(covered));
            }
    }

    const std::vector<std::pair<std::string, double>>& ceilings_;
    std::vector<Panel> panels_;
    std::map<std::string, Color> tools_;
    std::vector<std::string> tool_order_, notes_;
    bool targets_ = false;
    double label_width_ = 60;
    Typesetter type_;
    cv::Mat image_;
};

}  // namespace

void draw_report(const std::string& path, const std::string& title, const std::string& subtitle,
                 const std::vector<std::pair<std::string, double>>& ceilings,
                 const std::vector<Measurement>& measurements, const std::vector<Skipped>& skipped) {
    io::write_image(path, Picture(ceilings, measurements, skipped).draw(title, subtitle));
}

}  // namespace gpuhist::bench
