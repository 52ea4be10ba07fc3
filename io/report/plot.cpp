#include "gpuhist/io/plot.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <opencv2/imgproc.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "gpuhist/columns.hpp"
#include "gpuhist/error.hpp"
#include "report/text.hpp"

namespace gpuhist::io {
namespace {

Color rgb(int red, int green, int blue) {
    return {static_cast<unsigned char>(blue), static_cast<unsigned char>(green), static_cast<unsigned char>(red)};
}

const Color ink = rgb(31, 35, 40), faint_ink = rgb(101, 109, 118), axis_ink = rgb(140, 149, 159);
constexpr double title_size = 23, text_size = 16, small_size = 15;
constexpr float outline_width = 1.5F;
constexpr const char *ellipsis = "\u2026", *legend_key = "mean \u00b1 std";

/// Style in which a channel is drawn. Fills multiply what is under them, as glass does, so their order does not matter
/// and where red, green and blue overlap the fill is grey.
struct Style {
    Color outline;
    cv::Vec3f tint;  ///< B, G, R; 1 for no fill
};

Style style(Channel channel) {
    switch (channel) {
        case Channel::red:
            return {rgb(207, 34, 46), {0.76F, 0.76F, 1.00F}};
        case Channel::green:
            return {rgb(26, 140, 65), {0.76F, 0.92F, 0.76F}};
        case Channel::blue:
            return {rgb(9, 90, 218), {1.00F, 0.83F, 0.76F}};
        case Channel::gray:
            return {rgb(66, 74, 83), {0.83F, 0.80F, 0.77F}};
        default:
            break;
    }
    if (!is_band(channel)) return {ink, {1, 1, 1}};
    static const Color bands[] = {rgb(0, 121, 128), rgb(188, 76, 0), rgb(130, 80, 223), rgb(125, 113, 0)};
    const auto band = static_cast<std::size_t>(channel) - static_cast<std::size_t>(Channel::c0);
    return {bands[band % std::size(bands)], {1, 1, 1}};
}

// --- Numbers as a reader wants them --------------------------------------------------------------------------------

std::string print(const char* format, int digits, double value) {
    std::array<char, 64> buffer{};
    std::snprintf(buffer.data(), buffer.size(), format, digits, value);
    return buffer.data();
}

std::string signed_text(bool negative, const std::string& text) {
    std::string result(negative ? "\u2212" : "");  // a minus sign, not a hyphen
    return result += text;
}

/// 12345.5 → 12,345.5
std::string fixed(double value, int decimals) {
    std::string text = print("%.*f", decimals, std::abs(value));
    for (std::size_t i = std::min(text.find('.'), text.size()); i > 3; i -= 3) text.insert(i - 3, 1, ',');
    return signed_text(value < 0 && text.find_first_not_of("0.,") != text.npos, text);
}

/// 3e+08 → 3e8.
std::string scientific(double value, int digits) {
    const std::string text = print("%.*e", digits, std::abs(value));
    const std::size_t e = text.find('e');
    std::string mantissa = text.substr(0, e);
    if (mantissa.find('.') != mantissa.npos) {
        mantissa.erase(mantissa.find_last_not_of('0') + 1);
        if (mantissa.back() == '.') mantissa.pop_back();
    }
    mantissa += text[e + 1] == '-' ? "e\u2212" : "e";
    return signed_text(value < 0, mantissa + std::to_string(std::abs(std::atoi(text.c_str() + e + 1))));
}

/// Number with `digits` significant digits, without the zeros at the end.
std::string brief(double value, int digits = 4) {
    if (value == 0) return "0";
    const double magnitude = std::abs(value);
    if (magnitude < 1e-3 || magnitude >= std::pow(10, std::max(7, digits))) return scientific(value, digits - 1);
    std::string text = fixed(value, std::max(0, digits - 1 - static_cast<int>(std::floor(std::log10(magnitude)))));
    if (text.find('.') != text.npos) {
        text.erase(text.find_last_not_of('0') + 1);
        if (text.back() == '.') text.pop_back();
    }
    return text;
}

std::string brief(const std::optional<double>& value, int digits = 4) {
    return value ? brief(*value, digits) : "\u2013";
}

/// Significant digits that tell values apart which lie a thousandth of the range from each other.
int digits_over(const Range& range) {
    const double largest = std::max(std::abs(range.lower), std::abs(range.upper));
    const double needed =
        std::floor(std::log10(largest)) - std::floor(std::log10((range.upper - range.lower) / 1000)) + 1;
    return static_cast<int>(std::clamp(needed, 4.0, 10.0));
}

/// 0, 250, 1.5k, 20M.
std::string count_text(double count) {
    constexpr std::array<const char*, 7> suffixes{"", "k", "M", "G", "T", "P", "E"};
    std::size_t power = 0;
    while (count >= 1000 && power + 1 < suffixes.size()) {
        count /= 1000;
        ++power;
    }
    return brief(count) + suffixes[power];
}

// --- Axes ------------------------------------------------------------------------------------------------------------

/// The next of 1, 2, 5, 10, 20, 50, … times a power of ten, at least `step`.
double nice_step(double step) {
    const double power = std::pow(10, std::floor(std::log10(step)));
    for (const double factor : {1.0, 2.0, 5.0})
        if (factor * power >= step * (1 - 1e-9)) return factor * power;
    return 10 * power;
}

struct Tick {
    double value;
    std::string label;
};

/// Round values inside [lower, upper], `step` apart, with as many digits as tell them apart.
std::vector<Tick> ticks(double lower, double upper, double step) {
    const double largest = std::max(std::abs(lower), std::abs(upper));
    const int step_power = static_cast<int>(std::floor(std::log10(step) + 1e-9));
    const bool exponent = largest >= 1e7 ? step_power >= 3 : largest < 1e-3;
    const int digits = std::max(0, static_cast<int>(std::floor(std::log10(largest))) - step_power);
    std::vector<Tick> result;
    const double slack = (upper - lower) * 1e-9;
    for (double i = std::ceil((lower - slack) / step); i * step <= upper + slack && result.size() < 100; ++i) {
        const double value = i * step;
        result.push_back({value, i == 0     ? "0"
                                 : exponent ? scientific(value, digits)
                                            : fixed(value, std::clamp(-step_power, 0, 12))});
    }
    return result;
}

/// Ticks along `length` pixels whose labels stand at least a word's gap apart.
std::vector<Tick> value_ticks(const Range& range, double length, const Typesetter& type) {
    double step = nice_step((range.upper - range.lower) / (length / 55));
    for (;;) {
        auto result = ticks(range.lower, range.upper, step);
        double widest = 0;
        for (const Tick& tick : result) widest = std::max(widest, type.width(tick.label, small_size));
        if (result.size() <= 2 || widest + 24 <= step / (range.upper - range.lower) * length) return result;
        step = nice_step(step * 1.5);
    }
}

/// Counts to heights in [0, 1].
struct CountAxis {
    bool logarithmic = false;
    double top = 1;  ///< the count at height 1

    double height(double count) const {
        if (!logarithmic) return count / top;
        return count <= 0 ? 0 : std::log(count / floor) / std::log(top / floor);
    }
    static constexpr double floor = 0.5;  ///< of a logarithmic axis: a single pixel still stands above it
};

// --- Drawing ---------------------------------------------------------------------------------------------------------

struct Area {
    int left, top, right, bottom;  ///< pixels [left, right) × [top, bottom)
    int width() const { return right - left; }
    int height() const { return bottom - top; }
};

void mix_row(cv::Mat& image, int y, int x0, int x1, const Color& color, float coverage) {
    if (y < 0 || y >= image.rows) return;
    Color* row = image.ptr<Color>(y);
    for (int x = std::max(0, x0); x < std::min(x1, image.cols); ++x) blend(row[x], color, coverage);
}

void mix_column(cv::Mat& image, int x, int y0, int y1, const Color& color, float coverage, int dash = 0) {
    if (x < 0 || x >= image.cols) return;
    for (int y = std::max(0, y0); y < std::min(y1, image.rows); ++y)
        if (dash == 0 || (y - y0) % (2 * dash) < dash) blend(image.at<Color>(y, x), color, coverage);
}

/// The largest count that falls on each pixel column: of many bins to a pixel, none vanishes.
std::vector<std::uint64_t> column_maxima(const std::vector<std::uint64_t>& counts, int width) {
    std::vector<std::uint64_t> maxima(static_cast<std::size_t>(width), 0);
    const double bins_per_pixel = static_cast<double>(counts.size()) / width;
    for (std::size_t x = 0; x < maxima.size(); ++x) {
        const auto first = static_cast<std::size_t>(static_cast<double>(x) * bins_per_pixel);
        // A pixel that two bins share is the left one's, unless it holds whole bins.
        const auto last = static_cast<std::size_t>(std::ceil(static_cast<double>(x + 1) * bins_per_pixel));
        const std::size_t end = bins_per_pixel > 1 ? std::min(last, counts.size()) : first + 1;
        for (std::size_t bin = std::min(first, counts.size() - 1); bin < end && bin < counts.size(); ++bin)
            maxima[x] = std::max(maxima[x], counts[bin]);
    }
    return maxima;
}

/// Curve of a channel: for each pixel column of the area, the y of its top; `area.bottom` where the count is zero.
struct Curve {
    Channel channel;
    std::vector<float> top;
};

void draw_fills(cv::Mat& image, const Area& area, const std::vector<Curve>& curves) {
    // Each set of overlapping channels is one colour.
    std::vector<Color> colors(std::size_t{1} << curves.size());
    for (std::size_t set = 0; set < colors.size(); ++set) {
        cv::Vec3f color(255, 255, 255);
        for (std::size_t i = 0; i < curves.size(); ++i)
            if (set >> i & 1) color = color.mul(style(curves[i].channel).tint);
        colors[set] = Color(color);
    }
    std::vector<unsigned char> sets(static_cast<std::size_t>(area.width()));
    for (int y = area.top; y < area.bottom; ++y) {
        std::fill(sets.begin(), sets.end(), 0);
        for (std::size_t i = 0; i < curves.size(); ++i) {
            const float* top = curves[i].top.data();
            const float line = static_cast<float>(y) + 0.5F;
            for (std::size_t x = 0; x < sets.size(); ++x)
                sets[x] = static_cast<unsigned char>(sets[x] | (line >= top[x] ? 1U << i : 0U));
        }
        Color* row = image.ptr<Color>(y) + area.left;
        for (std::size_t x = 0; x < sets.size(); ++x) row[x] = colors[sets[x]];
    }
}

/// The contour of the columns: level pieces soft to a fraction of a pixel, risers one pixel wide.
void draw_outline(cv::Mat& image, const Area& area, const Curve& curve) {
    const auto floor = static_cast<float>(area.bottom);
    const Color color = style(curve.channel).outline;
    const std::size_t width = curve.top.size();
    for (std::size_t x = 0; x < width; ++x) {
        const float top = curve.top[x];
        if (top >= floor) continue;
        const float left = x > 0 ? curve.top[x - 1] : floor, right = x + 1 < width ? curve.top[x + 1] : floor;
        const float from = std::max(top - outline_width / 2, static_cast<float>(area.top));
        // A column that the axis cuts off stays open.
        const float level = top > static_cast<float>(area.top) ? top + outline_width / 2 : top;
        const float to = std::min(std::max({level, left, right}), floor);
        for (int y = static_cast<int>(from); y < static_cast<int>(std::ceil(to)); ++y) {
            const float coverage = std::min(to, static_cast<float>(y + 1)) - std::max(from, static_cast<float>(y));
            if (y < area.bottom) blend(image.at<Color>(y, area.left + static_cast<int>(x)), color, coverage);
        }
    }
}

struct Label {
    std::string name, value;
    int x;          ///< what it belongs to
    double middle;  ///< of the label itself
    double half;    ///< of its width
    bool important;
};

/// Moves labels apart by as little as can be: those that would overlap become a block around the mean of their places.
void spread(std::vector<Label>& labels, double left, double right) {
    constexpr double gap = 12;
    struct Block {
        double sum = 0, start = 0, width = 0;  ///< sum of the starts its labels wish the block had
        std::size_t labels = 0;
    };
    std::vector<Block> blocks;
    const auto place = [&](Block& block) {
        block.start =
            std::clamp(block.sum / static_cast<double>(block.labels), left, std::max(left, right + gap - block.width));
    };
    for (const Label& label : labels) {
        const double wish = label.x - label.half;
        blocks.push_back({wish, 0, 2 * label.half + gap, 1});
        place(blocks.back());
        while (blocks.size() > 1) {
            const Block last = blocks.back();
            Block& before = blocks[blocks.size() - 2];
            if (before.start + before.width <= last.start) break;
            before.sum += last.sum - before.width * static_cast<double>(last.labels);
            before.width += last.width;
            before.labels += last.labels;
            place(before);
            blocks.pop_back();
        }
    }
    auto label = labels.begin();
    for (const Block& block : blocks) {
        double at = block.start;
        for (std::size_t i = 0; i < block.labels; ++i, ++label) {
            label->middle = at + label->half;
            at += 2 * label->half + gap;
        }
    }
}

/// Cuts the middle out of a text that is too wide.
std::string shorten(const std::string& text, double width, double size, const Typesetter& type) {
    if (type.width(text, size) <= width) return text;
    const auto continues = [&](std::size_t i) { return (static_cast<unsigned char>(text[i]) & 0xC0) == 0x80; };
    for (std::size_t keep = text.size() / 2; keep > 0; --keep) {
        std::size_t head = keep, tail = text.size() - keep;
        while (head > 0 && continues(head)) --head;
        while (tail < text.size() && continues(tail)) ++tail;
        const std::string shorter = text.substr(0, head) + ellipsis + text.substr(tail);
        if (type.width(shorter, size) <= width) return shorter;
    }
    return ellipsis;
}

const Statistics* find(const std::vector<Statistics>& rows, Channel channel) {
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const auto& r) { return r.channel == channel; });
    return row == rows.end() ? nullptr : &*row;
}

constexpr std::uint32_t median = 50'000'000;

/// Percentiles that are marked: 1, 25, 50, 75 and 99 where all were asked for, else those that were, ascending, and of
/// many as many, from the lowest to the highest.
std::vector<Percentile> marked(std::vector<Percentile> asked) {
    constexpr std::array<std::uint32_t, 5> usual{1'000'000, 25'000'000, median, 75'000'000, 99'000'000};
    std::sort(asked.begin(), asked.end(), [](const Percentile& a, const Percentile& b) { return a.micro < b.micro; });
    std::vector<Percentile> chosen;
    for (const Percentile& one : asked)
        if (std::find(usual.begin(), usual.end(), one.micro) != usual.end()) chosen.push_back(one);
    if (chosen.size() == usual.size()) return chosen;
    if (asked.size() <= usual.size()) return asked;
    chosen.clear();
    for (std::size_t i = 0; i < usual.size(); ++i) chosen.push_back(asked[i * (asked.size() - 1) / (usual.size() - 1)]);
    return chosen;
}

/// Plot in the making: the parts are drawn in the order of `draw`, each over those before it.
class Plot {
  public:
    Plot(const Histogram& histogram, const std::vector<Statistics>& rows, const PlotOptions& options)
        : rows_(rows), options_(options), range_(histogram.range) {
        image_.create(options.height, options.width, CV_8UC3);
        image_.setTo(cv::Scalar(255, 255, 255));
        for (const auto& column : histogram.columns) {
            // Alpha is mostly of one value: its spike would press all else to the floor.
            if (column.channel == Channel::alpha) add_note("alpha not drawn");
            if (column.channel != Channel::alpha && !column.counts.empty()) columns_.push_back(&column);
        }
    }

    cv::Mat draw() {
        draw_header();
        measure();
        draw_fills(image_, area_, curves_);
        draw_grid();
        for (const Curve& curve : curves_) draw_outline(image_, area_, curve);
        draw_percentiles();
        draw_cut_columns();
        draw_axes();
        draw_note();
        return image_;
    }

  private:
    static constexpr int margin = 28;

    double y_of(double count) const { return area_.bottom - axis_.height(count) * area_.height(); }
    int x_of(double value) const {
        const double fraction = (value - range_.lower) / (range_.upper - range_.lower);
        return area_.left + static_cast<int>(std::lround(fraction * area_.width()));
    }
    void add_note(const std::string& text) { note_ += (note_.empty() ? "" : " \u00b7 ") + text; }

    void draw_header() {
        const int right = options_.width - margin;
        int y = 34;
        type_.draw(image_, shorten(options_.title, right - margin, title_size, type_), margin, y, title_size, ink);
        y += 28;
        double pen = margin;
        for (const auto* column : columns_) {
            const Statistics* row = find(rows_, column->channel);
            if (!row) continue;
            const std::string name = to_string(column->channel),
                              numbers = brief(row->mean, digits_over(range_)) + " \u00b1 " + brief(row->std);
            const double name_width = type_.width(name, text_size);
            const double width = 28 + name_width + type_.width(numbers, text_size);
            if (pen > margin && pen + width > right) {
                pen = margin;
                y += 22;
            }
            const Style look = style(column->channel);
            const int x = static_cast<int>(pen);
            const bool filled = look.tint != cv::Vec3f(1, 1, 1);
            if (filled)
                for (int i = 2; i < 12; ++i) mix_row(image_, y - 11 + i, x, x + 12, Color(look.tint * 255.0F), 1);
            for (int i = 0; i < 2; ++i) mix_row(image_, y - (filled ? 11 : 6) + i, x, x + 12, look.outline, 1);
            type_.draw(image_, name, pen + 20, y, text_size, ink);
            type_.draw(image_, numbers, pen + 28 + name_width, y, text_size, faint_ink);
            pen += width + 30;
        }
        if (pen > margin && pen + type_.width(legend_key, small_size) <= right)
            type_.draw(image_, legend_key, right, y, small_size, faint_ink, Typesetter::Anchor::right);
        area_ = {0, y + 44, right, options_.height - 58};
    }

    /// Chooses the axes and turns counts into curves.
    void measure() {
        std::uint64_t highest = 0;
        for (const auto* column : columns_)
            highest = std::max(highest, *std::max_element(column->counts.begin(), column->counts.end()));
        axis_.logarithmic = options_.log_counts;
        axis_.top = axis_.logarithmic ? std::max(10.0, static_cast<double>(highest) * 1.4)
                                      : std::max(1.0, cut(static_cast<double>(highest)) * 1.04);
        if (axis_.logarithmic) {
            for (double count = 1; count <= axis_.top; count *= 10) count_ticks_.push_back({count, count_text(count)});
        } else {
            const double step = nice_step(std::max(axis_.top / std::max(2, area_.height() / 70), 1.0));
            for (double count = 0; count <= axis_.top; count += step)
                count_ticks_.push_back({count, count_text(count)});
        }
        double widest = 0;
        for (const Tick& tick : count_ticks_) widest = std::max(widest, type_.width(tick.label, small_size));
        area_.left = margin + 32 + static_cast<int>(std::ceil(widest));
        value_ticks_ = value_ticks(range_, area_.width(), type_);

        tallest_.assign(static_cast<std::size_t>(area_.width()), 0);
        for (const auto* column : columns_) {
            Curve curve{column->channel, {}};
            const auto maxima = column_maxima(column->counts, area_.width());
            for (std::size_t x = 0; x < maxima.size(); ++x) {
                // What is not zero is seen, however little it is.
                const double top =
                    std::clamp<double>(y_of(static_cast<double>(maxima[x])), area_.top, area_.bottom - 1);
                curve.top.push_back(static_cast<float>(maxima[x] == 0 ? area_.bottom : top));
                tallest_[x] = std::max(tallest_[x], maxima[x]);
            }
            curves_.push_back(std::move(curve));
        }
    }

    /// The count at which a linear axis ends: the highest, unless a few columns (clipped black or white, mostly) stand
    /// so far above the rest that it could not be seen.
    double cut(double highest) const {
        constexpr int resolution = 500, least_columns = 60;
        std::vector<std::uint64_t> tallest(resolution, 0);
        for (const auto* column : columns_) {
            const auto maxima = column_maxima(column->counts, resolution);
            for (std::size_t x = 0; x < maxima.size(); ++x) tallest[x] = std::max(tallest[x], maxima[x]);
        }
        tallest.erase(std::remove(tallest.begin(), tallest.end(), 0U), tallest.end());
        if (tallest.size() < least_columns) return highest;
        const auto rest = tallest.begin() + static_cast<std::ptrdiff_t>(tallest.size() * 98 / 100);
        std::nth_element(tallest.begin(), rest, tallest.end());
        const double enough = 1.25 * static_cast<double>(*rest);
        return highest > 2.5 * enough ? enough : highest;
    }

    void draw_grid() {
        for (const Tick& tick : count_ticks_) {
            const int row = static_cast<int>(std::lround(y_of(tick.value)));
            if (row < area_.bottom) mix_row(image_, row, area_.left, area_.right, ink, 0.10F);
            for (int i = 2; axis_.logarithmic && i < 10 && tick.value * i <= axis_.top; ++i) {
                const int between = static_cast<int>(std::lround(y_of(tick.value * i)));
                mix_row(image_, between, area_.left, area_.right, ink, 0.035F);
            }
        }
        for (const Tick& tick : value_ticks_) mix_column(image_, x_of(tick.value), area_.top, area_.bottom, ink, 0.06F);
    }

    /// Draws those of brightness where there are colours, and of bands together.
    void draw_percentiles() {
        const Statistics* row = nullptr;
        for (const Channel channel : {Channel::luma, Channel::gray, Channel::all, Channel::c0})
            if (!row) row = find(rows_, channel);
        if (!row) return;
        std::vector<Label> labels;
        for (const Percentile& percentile : marked(row->percentiles)) {
            const auto& value = percentile.value;
            if (!value || *value < range_.lower || *value > range_.upper) continue;
            Label label;
            label.important = percentile.micro == median;
            label.name = percentile_name(percentile.micro) + " ";
            label.value = brief(*value, digits_over(range_));
            label.x = std::min(x_of(*value), area_.right - 1);
            label.half = (type_.width(label.name, small_size) + type_.width(label.value, small_size)) / 2;
            labels.push_back(label);
        }
        spread(labels, area_.left, area_.right);
        for (const Label& label : labels) {
            mix_column(image_, label.x, area_.top, area_.bottom, ink, label.important ? 0.75F : 0.5F,
                       label.important ? 0 : 4);
            const double start = label.middle - label.half;
            cv::line(image_, {static_cast<int>(std::lround(label.middle)), area_.top - 14}, {label.x, area_.top - 2},
                     cv::Scalar(axis_ink), 1, cv::LINE_AA);
            type_.draw(image_, label.name, start, area_.top - 19, small_size, faint_ink);
            type_.draw(image_, label.value, start + type_.width(label.name, small_size), area_.top - 19, small_size,
                       ink);
        }
    }

    /// Says how tall those columns are that the axis cuts off.
    void draw_cut_columns() {
        if (axis_.logarithmic) return;
        double free_from = area_.left;
        for (std::size_t x = 0; x < tallest_.size(); ++x) {
            const std::size_t first = x;
            std::uint64_t count = 0;
            for (; x < tallest_.size() && static_cast<double>(tallest_[x]) > axis_.top; ++x)
                count = std::max(count, tallest_[x]);
            if (count == 0) continue;
            const std::string text = "\u2191 " + count_text(static_cast<double>(count));
            const double width = type_.width(text, small_size);
            // To the right of the columns, or to the left of them where the drawing ends.
            double at = area_.left + static_cast<double>(x) + 5;
            if (at + width > area_.right - 2) at = area_.left + static_cast<double>(first) - 5 - width;
            if (at < free_from) continue;
            free_from = at + width + 6;
            const int left = static_cast<int>(at);
            for (int y = area_.top + 4; y < area_.top + 22; ++y)
                mix_row(image_, y, left, left + static_cast<int>(width) + 3, Color(255, 255, 255), 0.8F);
            type_.draw(image_, text, at, area_.top + 18, small_size, ink);
        }
    }

    void draw_axes() {
        mix_row(image_, area_.bottom, area_.left - 1, area_.right, axis_ink, 1);
        for (const Tick& tick : count_ticks_) {
            const int row = static_cast<int>(std::lround(y_of(tick.value)));
            mix_row(image_, row, area_.left - 6, area_.left, axis_ink, 1);
            type_.draw(image_, tick.label, area_.left - 10, row + 5, small_size, faint_ink, Typesetter::Anchor::right);
        }
        for (const Tick& tick : value_ticks_) {
            const int column = x_of(tick.value);
            mix_column(image_, column, area_.bottom, area_.bottom + 6, axis_ink, 1);
            const double half = type_.width(tick.label, small_size) / 2;
            type_.draw(image_, tick.label, std::clamp<double>(column, half + 2, options_.width - half - 2),
                       area_.bottom + 22, small_size, faint_ink, Typesetter::Anchor::middle);
        }
        type_.draw(image_, "value", (area_.left + area_.right) / 2.0, options_.height - 14, text_size, ink,
                   Typesetter::Anchor::middle);
        type_.draw_upwards(image_, axis_.logarithmic ? "pixels (log)" : "pixels", margin + 4,
                           (area_.top + area_.bottom) / 2.0, text_size, ink);
    }

    /// Notes what the picture leaves out.
    void draw_note() {
        std::uint64_t below = 0, above = 0, nan = 0;
        for (const auto* column : columns_) {
            if (column->channel == Channel::luma) continue;
            below += column->below;
            above += column->above;
            nan += column->nan;
        }
        if (below) add_note(count_text(static_cast<double>(below)) + " below");
        if (above) add_note(count_text(static_cast<double>(above)) + " above");
        if (nan) add_note(count_text(static_cast<double>(nan)) + " NaN");
        type_.draw(image_, note_, area_.right, options_.height - 14, small_size, faint_ink, Typesetter::Anchor::right);
    }

    const std::vector<Statistics>& rows_;
    const PlotOptions& options_;
    std::vector<const Histogram::Column*> columns_;  ///< those drawn
    Range range_;
    std::string note_;
    Typesetter type_;
    cv::Mat image_;
    Area area_{};
    CountAxis axis_;
    std::vector<Tick> count_ticks_, value_ticks_;
    std::vector<Curve> curves_;
    std::vector<std::uint64_t> tallest_;  ///< for each pixel column, of all curves
};

}  // namespace

cv::Mat plot_histogram(const Histogram& histogram, const std::vector<Statistics>& rows, const PlotOptions& options) {
    constexpr int least_width = 320, least_height = 240, most = 16384;
    if (options.width < least_width || options.height < least_height || options.width > most || options.height > most)
        throw InvalidArgument("a plot of " + std::to_string(options.width) + " x " + std::to_string(options.height) +
                              " pixels: at least " + std::to_string(least_width) + " x " +
                              std::to_string(least_height) + ", at most " + std::to_string(most) + " either way");
    if (!(histogram.range.lower < histogram.range.upper))
        throw InvalidArgument("a histogram to plot covers a range: its lower bound is less than its upper bound");
    return Plot(histogram, rows, options).draw();
}

}  // namespace gpuhist::io
