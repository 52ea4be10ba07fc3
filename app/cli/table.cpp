#include "cli/table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>

#include "gpuhist/columns.hpp"

namespace gpuhist::app {
namespace {

constexpr std::size_t plot_columns = 64;
constexpr std::size_t fewest_label_columns = 7;  // our longest channel name and the gap after it

std::string print_number(const char* format, int precision, double value) {
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), format, precision, value);
    return text.data();
}

std::string pad_left(const std::string& text, std::size_t columns) {
    return std::string(columns > text.size() ? columns - text.size() : 0, ' ') + text;
}

std::string pad_right(const std::string& text, std::size_t columns) {
    return text + std::string(columns > text.size() ? columns - text.size() : 0, ' ');
}

const char* color_of(Channel channel) {
    switch (channel) {
        case Channel::red:
            return "\033[91m";
        case Channel::green:
            return "\033[92m";
        case Channel::blue:
            return "\033[94m";
        case Channel::alpha:
            return "\033[95m";
        default:
            return "\033[97m";
    }
}

class Painter {
  public:
    explicit Painter(bool color) : color_(color) {}
    std::string operator()(const char* sequence, const std::string& text) const {
        return color_ ? sequence + text + "\033[0m" : text;
    }

  private:
    bool color_;
};

struct TableColumn {
    std::string title;
    std::vector<std::string> cells;
    std::size_t width() const {
        std::size_t columns = title.size();
        for (const std::string& cell : cells) columns = std::max(columns, cell.size());
        return columns;
    }
};

/// Lines of a table: titles, and one row per label. Labels and their title are as wide as each other.
std::string lay_out(std::string titles, const std::vector<std::string>& labels, const std::vector<TableColumn>& columns,
                    const Painter& paint) {
    for (const TableColumn& column : columns) titles += "  " + pad_left(column.title, column.width());
    std::string text = paint("\033[2m", titles) + '\n';
    for (std::size_t row = 0; row < labels.size(); ++row) {
        text += labels[row];
        for (const TableColumn& column : columns) text += "  " + pad_left(column.cells[row], column.width());
        text += '\n';
    }
    return text;
}

/// About six digits, the same number of decimals in the whole column, none where every value is whole.
TableColumn number_column(const char* title, const std::vector<std::optional<double>>& values) {
    double largest = 0;
    bool whole = true;
    for (const auto& value : values)
        if (value) {
            largest = std::max(largest, std::abs(*value));
            whole = whole && *value == std::floor(*value);
        }
    const int exponent = largest > 0 ? static_cast<int>(std::floor(std::log10(largest))) : 0;
    const bool scientific = exponent > 8 || exponent < -4;
    const int decimals = whole ? 0 : exponent >= 0 ? std::clamp(5 - exponent, 1, 3) : 5 - exponent;
    TableColumn column{title, {}};
    for (const auto& value : values)
        column.cells.push_back(!value       ? "-"
                               : scientific ? print_number("%.*g", 6, *value)
                                            : print_number("%.*f", decimals, *value));
    return column;
}

TableColumn percent_column(const char* title, const std::vector<std::optional<double>>& fractions) {
    TableColumn column{title, {}};
    for (const auto& fraction : fractions)
        column.cells.push_back(!fraction                                  ? "-"
                               : *fraction > 0 && *fraction * 100 < 0.005 ? "<0.01"
                                                                          : print_number("%.*f", 2, *fraction * 100));
    return column;
}

/// Percentiles for a narrow table: the first, the median and the 99th, as far as they were asked for; for a first or a
/// 99th that was not, the lowest or the highest that was.
std::vector<std::uint32_t> shown_percentiles(const std::vector<Statistics>& rows) {
    if (rows.empty() || rows.front().percentiles.empty()) return {};
    constexpr std::uint32_t one = 1'000'000;
    const auto& asked = rows.front().percentiles;
    const auto there = [&](std::uint32_t micro) {
        return std::any_of(asked.begin(), asked.end(), [&](const Percentile& p) { return p.micro == micro; });
    };
    const auto [lowest, highest] = std::minmax_element(
        asked.begin(), asked.end(), [](const Percentile& a, const Percentile& b) { return a.micro < b.micro; });
    std::vector<std::uint32_t> shown{there(one) ? one : lowest->micro};
    if (there(50 * one)) shown.push_back(50 * one);
    shown.push_back(there(99 * one) ? 99 * one : highest->micro);
    shown.erase(std::unique(shown.begin(), shown.end()), shown.end());
    return shown;
}

std::vector<TableColumn> number_columns(const std::vector<Statistics>& rows) {
    std::vector<TableColumn> columns;
    const auto collect = [&](const std::function<std::optional<double>(const Statistics&)>& field) {
        std::vector<std::optional<double>> values;
        for (const Statistics& row : rows) values.push_back(field(row));
        return values;
    };
    const auto any = [&](auto number) {
        return std::any_of(rows.begin(), rows.end(), [&](const Statistics& row) { return !!(row.*number); });
    };
    const auto add = [&](const char* title, auto field) { columns.push_back(number_column(title, collect(field))); };
    add("min", [](const Statistics& row) { return row.min; });
    for (const std::uint32_t micro : shown_percentiles(rows))
        add((rows.front().weight ? weighted_percentile_name : percentile_name)(micro).c_str(),
            [micro](const Statistics& row) { return row.percentile(micro / 1e6); });
    add("max", [](const Statistics& row) { return row.max; });
    add("mean", [](const Statistics& row) { return row.mean; });
    add("std", [](const Statistics& row) { return row.std; });
    if (any(&Statistics::entropy)) add("entropy", [](const Statistics& row) { return row.entropy; });
    if (any(&Statistics::unique)) add("unique", [](const Statistics& row) { return row.unique; });
    if (any(&Statistics::clipped_low)) {
        columns.push_back(percent_column("low %", collect([](const Statistics& row) { return row.clipped_low; })));
        columns.push_back(percent_column("high %", collect([](const Statistics& row) { return row.clipped_high; })));
    }
    if (any(&Statistics::nan)) add("nan", [](const Statistics& row) { return static_cast<double>(row.nan); });
    if (any(&Statistics::infinite)) add("inf", [](const Statistics& row) { return static_cast<double>(row.infinite); });
    return columns;
}

/// Neighboring bins added up, or bins drawn several columns wide, so that every column stands for equally many values.
std::vector<std::uint64_t> resample(const std::vector<std::uint64_t>& counts) {
    std::vector<std::uint64_t> columns;
    const std::size_t merged = (counts.size() + plot_columns - 1) / plot_columns;
    for (std::size_t bin = 0; bin < counts.size(); bin += merged) {
        std::uint64_t sum = 0;
        for (std::size_t i = bin; i < std::min(bin + merged, counts.size()); ++i) sum += counts[i];
        columns.insert(columns.end(), merged == 1 ? plot_columns / counts.size() : 1, sum);
    }
    return columns;
}

/// `lines` lines of bars, the top one first. A column that counts anything shows at least the lowest mark.
std::vector<std::string> draw_bars(const std::vector<std::uint64_t>& counts, double unit, std::size_t lines,
                                   const TableStyle& style) {
    static const std::vector<std::string> blocks{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const std::vector<std::string> ascii{" ", ".", ":", "#"};
    const auto& marks = style.unicode ? blocks : ascii;
    const std::size_t steps = marks.size() - 1;
    const auto height = [&](std::uint64_t count) {
        const double weight = static_cast<double>(count) * unit;
        return style.log_counts ? std::log1p(weight) : weight;
    };
    const double tallest = height(*std::max_element(counts.begin(), counts.end()));
    std::vector<std::string> drawn(lines);
    for (const std::uint64_t count : counts) {
        const auto level = count == 0
                               ? std::size_t{0}
                               : std::max<std::size_t>(
                                     1, static_cast<std::size_t>(std::lround(height(count) / tallest * lines * steps)));
        for (std::size_t line = 0; line < lines; ++line) {
            const std::size_t floor = (lines - 1 - line) * steps;
            drawn[line] += marks[std::min(level > floor ? level - floor : 0, steps)];
        }
    }
    for (std::string& line : drawn) line.erase(line.find_last_not_of(' ') + 1);
    return drawn;
}

/// The values at the quarters of the axis, each under its column.
std::string draw_axis(const Histogram& histogram, std::size_t columns) {
    std::string axis;
    const auto [lower, upper] = histogram.range;
    for (int quarter = 0; quarter <= 4; ++quarter) {
        const double part = quarter / 4.0, extent = upper - lower;
        const double value = std::isfinite(extent) ? lower + extent * part : lower * (1 - part) + upper * part;
        const std::string label = print_number("%.*g", 6, value);
        const std::size_t center = columns * quarter / 4;
        const std::size_t half = quarter == 0 ? 0 : quarter == 4 ? label.size() : label.size() / 2;
        const std::size_t start = center > half ? center - half : 0;
        if (!axis.empty() && start < axis.size() + 1) continue;
        axis = pad_right(axis, start) + label;
    }
    return axis;
}

std::string draw_histogram(const io::PlotPanel& panel, std::size_t label_columns, const TableStyle& style,
                           const Painter& paint) {
    const Histogram& histogram = panel.histogram;
    std::string text;
    std::size_t columns = 0;
    for (const Histogram::Column& channel : histogram.columns) {
        const auto counts = resample(channel.counts);
        columns = counts.size();
        const auto bars = draw_bars(counts, histogram.unit, histogram.columns.size() == 1 ? 4 : 2, style);
        for (const std::string& bar : bars) {
            const bool last = &bar == &bars.back();
            const std::string label = last ? printable(channel_name(channel)) : "";
            if (!bar.empty() || last) text += paint(color_of(channel.channel), pad_right(label, label_columns) + bar);
            const auto outside = [&](std::uint64_t count, const char* where) {
                const double weight = static_cast<double>(count) * histogram.unit;
                if (last && count > 0)
                    text +=
                        "  " + (histogram.unit == 1 ? std::to_string(count) : print_number("%.*g", 6, weight)) + where;
            };
            outside(channel.below, " below");
            outside(channel.above, " above");
            text += '\n';
        }
    }
    const std::string axis = std::string(label_columns, ' ') + draw_axis(histogram, columns);
    const std::string facts = panel.values.substr(std::min(panel.values.find(' '), panel.values.size()));  // of "value"
    return text + paint("\033[2m", axis + (facts.empty() ? "" : " " + facts)) + '\n';
}

/// Verdict on a character: whether it may steer a terminal, or change the order of those around it.
constexpr bool steers_terminal(char32_t code) {
    const bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
    const bool mark = code == 0x61c || code == 0x200e || code == 0x200f;
    const bool line_or_direction = code >= 0x2028 && code <= 0x202e;
    const bool isolate = code >= 0x2066 && code <= 0x206f;
    return control || mark || line_or_direction || isolate;
}

}  // namespace

TableHeading heading_of(const io::ImageResult& result, const TableStyle& style) {
    const io::ImageInfo& image = result.info;
    const auto channels = std::count_if(result.rows.begin(), result.rows.end(), [](const Statistics& row) {
        return row.channel != Channel::luma && row.channel != Channel::all;
    });
    return {image.path, std::to_string(image.width) + (style.unicode ? " × " : " x ") + std::to_string(image.height) +
                            "  " + to_string(image.depth) + ", " + std::to_string(channels) +
                            (channels == 1 ? " channel" : " channels")};
}

std::string format_table(const TableHeading& heading, const std::vector<Statistics>& rows,
                         const std::vector<io::PlotPanel>& panels, std::string_view written, const TableStyle& style) {
    const Painter paint(style.color);
    std::string text = paint("\033[1m", printable(heading.name)) + "  " + heading.description + '\n';
    const std::vector<TableColumn> columns = number_columns(rows);
    std::size_t label_columns = fewest_label_columns;
    for (const Statistics& row : rows) label_columns = std::max(label_columns, printable(channel_name(row)).size() + 1);
    std::vector<std::string> labels;
    for (const Statistics& row : rows)
        labels.push_back(paint(color_of(row.channel), pad_right(printable(channel_name(row)), label_columns)));
    text += lay_out(std::string(label_columns, ' '), labels, columns, paint);
    if (const std::string excluded = io::excluded_text(rows); !excluded.empty())
        text += paint("\033[2m", "excluded  " + excluded) + '\n';
    for (const io::PlotPanel& panel : panels)
        if (!panel.histogram.columns.empty()) text += draw_histogram(panel, label_columns, style, paint);
    if (!written.empty()) text += paint("\033[2m", "wrote  " + printable(written)) + '\n';
    return text;
}

std::string format_training(const io::TrainingNumbers& numbers, const TableStyle& style) {
    const Painter paint(style.color);
    std::string text;
    const auto list = [](const std::vector<std::optional<double>>& values) {
        std::string all;
        for (const auto& value : values)
            all += (all.empty() ? "" : ", ") + (value ? print_number("%.*g", 6, *value) : "nan");
        return "[" + all + "]";
    };
    const auto add = [&](const char* name, const std::optional<io::Normalizers>& one) {
        if (one) text += paint("\033[2m", name) + "  mean " + list(one->mean) + "  std " + list(one->std) + '\n';
    };
    add("normalize", numbers.colors);
    add(numbers.colors ? "normalize_gray" : "normalize", numbers.gray);
    return text;
}

std::string format_groups(const std::vector<std::pair<std::string, SummaryRow>>& rows, const TableStyle& style) {
    const Painter paint(style.color);
    TableColumn names{"group", {}}, channels{"channel", {}};
    for (const auto& [name, row] : rows) {
        names.cells.push_back(printable(name));
        channels.cells.push_back(printable(channel_name(row.statistics)));
    }
    std::vector<TableColumn> columns;
    const auto add = [&](const char* title, const std::function<std::optional<double>(const SummaryRow&)>& field) {
        std::vector<std::optional<double>> values;
        for (const auto& [name, row] : rows) values.push_back(field(row));
        columns.push_back(number_column(title, values));
    };
    add("images", [](const SummaryRow& row) { return static_cast<double>(row.images); });
    columns.push_back(channels);
    add("min", [](const SummaryRow& row) { return row.statistics.min; });
    add("max", [](const SummaryRow& row) { return row.statistics.max; });
    add("mean", [](const SummaryRow& row) { return row.statistics.mean; });
    add("std", [](const SummaryRow& row) { return row.statistics.std; });
    add("mean_01", [](const SummaryRow& row) { return unit_scale(row.statistics.mean, row.white); });
    add("std_01", [](const SummaryRow& row) { return unit_scale(row.statistics.std, row.white); });
    const std::size_t width = names.width();
    for (std::string& name : names.cells) name = pad_right(name, width);
    return lay_out(pad_right(names.title, width), names.cells, columns, paint);
}

std::string printable(std::string_view text) {
    std::string safe;
    for (std::size_t length = 1; !text.empty(); text.remove_prefix(length)) {
        const auto byte = [&](std::size_t i) {
            return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i]));
        };
        const std::uint32_t first = byte(0);
        length = first < 0x80 ? 1 : first >> 5 == 6 ? 2 : first >> 4 == 14 ? 3 : first >> 3 == 30 ? 4 : 0;
        bool valid = length != 0 && length <= text.size();
        char32_t code = length == 1 ? first : first & (0x7fu >> length);
        for (std::size_t i = 1; valid && i < length; ++i) {
            valid = byte(i) >> 6 == 2;
            code = code << 6 | (byte(i) & 0x3f);
        }
        constexpr std::array<char32_t, 5> least{0, 0, 0x80, 0x800, 0x10000};  // longer forms are no UTF-8
        valid = valid && code >= least[length] && code <= 0x10ffff && code >> 11 != 0x1b;
        if (!valid) length = 1;
        if (valid && !steers_terminal(code))
            safe += text.substr(0, length);
        else
            safe += '?';
    }
    return safe;
}

}  // namespace gpuhist::app
