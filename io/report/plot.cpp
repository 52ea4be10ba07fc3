#include "gpuhist/io/plot.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <opencv2/core.hpp>

#include "gpuhist/columns.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/io/encode.hpp"
#include "report/axis.hpp"
#include "report/canvas.hpp"

namespace gpuhist::io {
namespace {

constexpr double title_size = 23, text_size = 16, small_size = 15;
constexpr int margin = 28, row_height = 22;
constexpr float outline_width = 1.75F;
constexpr const char *ellipsis = "\u2026", *legend_key = "mean \u00b1 std";

Color rgb(unsigned hex) {
    return {static_cast<unsigned char>(hex), static_cast<unsigned char>(hex >> 8),
            static_cast<unsigned char>(hex >> 16)};
}

/// Colors of a theme. Those of channels are Okabe and Ito's, which people with deficient color vision tell apart;
/// lighter ones on dark paper.
struct Look {
    Color paper, ink, faint, axis;
    Color red, green, blue, gray, alpha;
    Color bands[4];

    const Color& of(Channel channel) const {
        switch (channel) {
            case Channel::red:
                return red;
            case Channel::green:
                return green;
            case Channel::blue:
                return blue;
            case Channel::alpha:
                return alpha;
            default:
                break;
        }
        if (!is_band(channel)) return gray;
        return bands[(static_cast<std::size_t>(channel) - static_cast<std::size_t>(Channel::c0)) % std::size(bands)];
    }
};

const Look& look_of(PlotTheme theme) {
    static const Look light{rgb(0xffffff), rgb(0x1f2328),
                            rgb(0x59636e), rgb(0x8c959f),
                            rgb(0xd55e00), rgb(0x009e73),
                            rgb(0x0072b2), rgb(0x33383d),
                            rgb(0xcc79a7), {rgb(0xe69f00), rgb(0x56b4e9), rgb(0xcc79a7), rgb(0x33383d)}};
    static const Look dark{rgb(0x0d1117), rgb(0xe6edf3),
                           rgb(0xa0a8b1), rgb(0x6e7681),
                           rgb(0xff8534), rgb(0x20c997),
                           rgb(0x56b4e9), rgb(0xd0d7de),
                           rgb(0xe39bc4), {rgb(0xe69f00), rgb(0x56b4e9), rgb(0xe39bc4), rgb(0xd0d7de)}};
    return theme == PlotTheme::dark ? dark : light;
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

/// Label above the drawing, of a percentile or of a bar that the axis cuts off.
struct Label {
    std::string name{}, value{};
    double x = 0;                 ///< what it belongs to
    double middle = 0, half = 0;  ///< of the label itself; half of its width
    Color color{};
    bool important = false;   ///< median
    std::uint64_t count = 0;  ///< of a bar; 0 of a percentile
};

/// Moves labels, which are in the order of their places, apart by as little as can be: those that would overlap become
/// a block around the mean of their places.
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
std::string shorten(const std::string& text, double width, double size, const Canvas& canvas) {
    if (canvas.width(text, size) <= width) return text;
    const auto continues = [&](std::size_t i) { return (static_cast<unsigned char>(text[i]) & 0xC0) == 0x80; };
    for (std::size_t keep = text.size() / 2; keep > 0; --keep) {
        std::size_t head = keep, tail = text.size() - keep;
        while (head > 0 && continues(head)) --head;
        while (tail < text.size() && continues(tail)) ++tail;
        const std::string shorter = text.substr(0, head) + ellipsis + text.substr(tail);
        if (canvas.width(shorter, size) <= width) return shorter;
    }
    return ellipsis;
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

/// Panel in the making: the parts are drawn in the order of `draw`, each over those before it.
class PanelDrawing {
  public:
    PanelDrawing(Canvas& canvas, const PlotPanel& panel, const PlotOptions& options, const Box& box)
        : canvas_(canvas), panel_(panel), look_(look_of(options.theme)), range_(panel.histogram.range), box_(box) {
        logarithmic_ = options.log_counts;
        for (const Histogram::Column& column : panel.histogram.columns)
            if (!column.counts.empty()) columns_.push_back(&column);
        // Alpha first, under all others; the luma, which is made of the colors, before these.
        const auto place = [](const Histogram::Column* column) {
            return column->channel == Channel::alpha ? 0 : column->channel == Channel::luma ? 1 : 2;
        };
        drawn_ = columns_;
        std::stable_sort(drawn_.begin(), drawn_.end(), [&](auto a, auto b) { return place(a) < place(b); });
        if (!columns_.empty()) bins_ = columns_.front()->counts.size();
    }

    void draw() {
        int y = draw_header();
        nothing_ = nothing_to_draw();
        place_area(y);
        draw_grid();
        for (const auto* column : drawn_) {
            const std::vector<float> tops = tops_of(*column);
            const Color& color = look_.of(column->channel);
            if (column->channel != Channel::alpha && column->channel != Channel::luma)
                canvas_.fill_steps(area_, tops, {color, columns_.size() == 1 ? 0.24F : 0.16F});
            canvas_.outline_steps(area_, tops, color, outline_width);
        }
        draw_edges();
        draw_labels();
        draw_axes();
        draw_note();
        if (!nothing_.empty())
            canvas_.text(nothing_, middle(), (area_.top + area_.bottom) / 2.0, text_size + 2, look_.ink,
                         Canvas::Anchor::middle);
    }

  private:
    double middle() const { return (area_.left + area_.right) / 2.0; }
    double y_of(double count) const { return area_.bottom - axis_.height(count) * area_.height(); }
    double x_of_bin(double bin) const {
        return area_.left + (bin + 0.5) * area_.width() / static_cast<double>(std::max<std::size_t>(1, bins_));
    }
    /// Whole numbers stand in the middle of the place that they take.
    int x_of(double value) const {
        const double place = value - range_.lower + (panel_.whole ? 0.5 : 0);
        const double x = area_.left + place / (range_.upper - range_.lower) * area_.width();
        return std::clamp(static_cast<int>(std::floor(x)), area_.left, area_.right);
    }
    const Statistics* row_of(Channel channel) const {
        for (const Statistics& row : panel_.rows)
            if (row.channel == channel) return &row;
        return nullptr;
    }
    std::string name_of(Channel channel) const { return std::string(row_name(channel, panel_.bands)); }

    /// Heading and legend. Returns where they end.
    int draw_header() {
        const int left = box_.left + margin, right = box_.right - margin;
        int y = box_.top + 6;
        if (!panel_.heading.empty()) {
            y += 20;
            canvas_.text(shorten(panel_.heading, right - left, text_size + 2, canvas_), left, y, text_size + 2,
                         look_.ink);
            y += 4;
        }
        y += row_height;
        double pen = left;
        for (const auto* column : columns_) {
            const Statistics* row = row_of(column->channel);
            const std::string name = name_of(column->channel),
                              numbers = row ? brief(row->mean, digits_over(range_)) +
                                                  (row->mean ? " \u00b1 " + brief(row->std) : "")
                                            : "";
            const double name_width = canvas_.width(name, text_size);
            const double width = 28 + name_width + canvas_.width(numbers, text_size);
            if (pen > left && pen + width > right) {
                pen = left;
                y += row_height;
            }
            const int x = static_cast<int>(pen);
            const Color& color = look_.of(column->channel);
            const bool filled = column->channel != Channel::luma && column->channel != Channel::alpha;
            if (filled) canvas_.fill({x, y - 9, x + 14, y + 1}, {color, 0.25F});
            canvas_.fill({x, filled ? y - 11 : y - 6, x + 14, filled ? y - 9 : y - 4}, {color, 1});
            canvas_.text(name, pen + 21, y, text_size, look_.ink);
            canvas_.text(numbers, pen + 29 + name_width, y, text_size, look_.faint);
            pen += width + 30;
        }
        if (pen > left && pen + canvas_.width(legend_key, small_size) <= right)
            canvas_.text(legend_key, right, y, small_size, look_.faint, Canvas::Anchor::right);
        return y;
    }

    /// What is said where there is no bar, empty where there is one.
    std::string nothing_to_draw() const {
        std::uint64_t samples = 0, nan = 0, infinite = 0;
        for (const auto* column : columns_) {
            if (column->channel == Channel::alpha) continue;
            if (column->below || column->above) return "";
            for (const std::uint64_t count : column->counts)
                if (count) return "";
            if (column->channel == Channel::luma) continue;
            nan += column->nan;
            if (const Statistics* row = row_of(column->channel)) {
                infinite += row->inf;
                samples += row->pixels;
            }
        }
        const auto count = [](std::uint64_t n) { return count_text(static_cast<double>(n)); };
        if (nan > 0 && nan >= samples) return "nothing to draw: all " + count(nan) + " samples are NaN";
        if (infinite > 0 && infinite >= samples) return "nothing to draw: all " + count(infinite) + " samples are Inf";
        if (nan || infinite)
            return "nothing to draw: " + count(nan) + " samples are NaN, " + count(infinite) + " are Inf";
        return "nothing to draw";
    }

    /// Chooses the axes, and where they stand.
    void place_area(int y) {
        measure_edges();
        std::uint64_t highest = 0;
        for (const auto* column : columns_)
            if (column->channel != Channel::alpha || columns_.size() == 1)
                highest = std::max(highest, *std::max_element(column->counts.begin(), column->counts.end()));
        const double top = logarithmic_ ? static_cast<double>(highest) : cut(static_cast<double>(highest));
        const int bottom = box_.bottom - 58;
        axis_ = CountAxis(top, logarithmic_, std::max(80, bottom - y - 44));
        double widest = 0;
        for (const Tick& tick : axis_.ticks()) widest = std::max(widest, canvas_.width(tick.label, small_size));
        const int left = box_.left + margin + 32 + static_cast<int>(std::ceil(std::max(widest, 36.0)));
        area_ = {left + (below_.empty() ? 0 : edge_width(below_)), y + 20,
                 box_.right - margin - (above_.empty() ? 0 : edge_width(above_)), bottom};
        if (nothing_.empty()) {
            mark_percentiles();
            mark_cut_bars();
            arrange_labels();
            if (!labels_.empty()) area_.top += row_height + 2;
        }
        value_ticks_ = value_ticks(range_, panel_.whole, area_.width(),
                                   [this](const std::string& text) { return canvas_.width(text, small_size); });
    }

    /// The count at which a linear axis ends: the highest, unless a few columns (clipped black or white, mostly) stand
    /// so far above the rest that it could not be seen.
    double cut(double highest) const {
        constexpr int resolution = 500, least_columns = 60;
        std::vector<std::uint64_t> tallest(resolution, 0);
        for (const auto* column : columns_) {
            if (column->channel == Channel::alpha) continue;
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

    std::vector<float> tops_of(const Histogram::Column& column) const {
        std::vector<float> tops;
        for (const std::uint64_t count : column_maxima(column.counts, area_.width())) {
            // What is not zero is seen, however little it is.
            const double top = std::clamp<double>(y_of(static_cast<double>(count)), area_.top, area_.bottom - 1);
            tops.push_back(static_cast<float>(count == 0 ? area_.bottom : top));
        }
        return tops;
    }

    // --- What lies outside the range ---------------------------------------------------------------------------------

    void measure_edges() {
        std::uint64_t below = 0, above = 0;
        for (const auto* column : columns_) {
            if (column->channel == Channel::luma || (column->channel == Channel::alpha && columns_.size() > 1))
                continue;
            below += column->below;
            above += column->above;
        }
        if (below) below_ = count_text(static_cast<double>(below)) + " below";
        if (above) above_ = count_text(static_cast<double>(above)) + " above";
    }

    int edge_width(const std::string& text) const {
        return static_cast<int>(std::ceil(std::max(canvas_.width(text, small_size), 40.0))) + 40;
    }

    /// Bars beside the drawing, a channel each.
    void draw_edges() {
        constexpr int most_width = 14;
        for (const bool above : {false, true}) {
            const std::string& text = above ? above_ : below_;
            if (text.empty()) continue;
            const int width = edge_width(text), left = above ? area_.right + 20 : area_.left - width;
            const int right = above ? area_.right + width : area_.left - 20;
            canvas_.fill({left, area_.bottom, right, area_.bottom + 1}, {look_.axis, 1});
            const int each = std::min(most_width, (right - left - 4) / static_cast<int>(columns_.size()));
            int x = (left + right - each * static_cast<int>(columns_.size())) / 2;
            for (const auto* column : columns_) {
                const std::uint64_t count = above ? column->above : column->below;
                const double top = std::clamp<double>(y_of(static_cast<double>(count)), area_.top, area_.bottom - 2);
                if (count > 0)
                    canvas_.fill({x + 1, static_cast<int>(top), x + each - 1, area_.bottom},
                                 {look_.of(column->channel), 0.75F});
                x += each;
            }
            canvas_.text(text, (left + right) / 2.0, area_.bottom + 22, small_size, look_.ink, Canvas::Anchor::middle);
        }
    }

    // --- Labels above the drawing ------------------------------------------------------------------------------------

    /// Percentiles of the luma where it is drawn, of gray, or of the only band.
    void mark_percentiles() {
        const Statistics* row = nullptr;
        for (const auto* column : columns_)
            if (column->channel == Channel::luma || column->channel == Channel::gray ||
                (is_band(column->channel) && columns_.size() == 1))
                row = row_of(column->channel);
        if (!row) return;
        for (const Percentile& percentile : marked(row->percentiles)) {
            const auto& value = percentile.value;
            if (!value || *value < range_.lower || *value >= range_.upper) continue;
            percentiles_of_ = row->channel;
            const double part = (*value - range_.lower) / (range_.upper - range_.lower);
            Label label;
            label.important = percentile.micro == median;
            label.name = percentile_name(percentile.micro) + " ";
            label.value = brief(*value, digits_over(range_));
            label.x = std::floor(
                x_of_bin(std::min(std::floor(part * static_cast<double>(bins_)), static_cast<double>(bins_) - 1)));
            label.color = look_.ink;
            if (!labels_.empty() && labels_.back().value == label.value) {
                Label& same = labels_.back();  // p01–p25 of one value are one label
                same.name = same.name.substr(0, same.name.find_first_of(" \xE2")) + "\u2013" + label.name;
                same.important = same.important || label.important;
            } else {
                labels_.push_back(label);
            }
        }
    }

    /// Bars that the axis cuts off: of neighbours the tallest, with its count.
    void mark_cut_bars() {
        if (logarithmic_) return;
        for (const auto* column : drawn_) {
            const auto& counts = column->counts;
            for (std::size_t bin = 0; bin < counts.size(); ++bin) {
                std::size_t tallest = bin;
                if (static_cast<double>(counts[bin]) <= axis_.top()) continue;
                for (; bin < counts.size() && static_cast<double>(counts[bin]) > axis_.top(); ++bin)
                    if (counts[bin] > counts[tallest]) tallest = bin;
                Label label;
                label.value = "\u2191 " + count_text(static_cast<double>(counts[tallest]));
                label.x = std::floor(x_of_bin(static_cast<double>(tallest)));
                label.color = look_.of(column->channel);
                label.count = counts[tallest];
                labels_.push_back(label);
            }
        }
    }

    /// Puts labels in the order of their places; of too many bars the tallest have one.
    void arrange_labels() {
        std::stable_sort(labels_.begin(), labels_.end(), [](const Label& a, const Label& b) { return a.x < b.x; });
        for (Label& label : labels_)
            label.half = (canvas_.width(label.name, small_size) + canvas_.width(label.value, small_size)) / 2;
        const auto least = [](const Label& a, const Label& b) {  // the fewest counts, then percentiles
            return b.count == 0 ? a.count > 0 : a.count > 0 && a.count < b.count;
        };
        std::size_t left_out = 0;
        const auto bars = [this] {
            return std::count_if(labels_.begin(), labels_.end(), [](const Label& label) { return label.count > 0; });
        };
        const auto room = [this] {
            double sum = 0;
            for (const Label& label : labels_) sum += 2 * label.half + 12;
            return area_.width() + 12 - sum;
        };
        for (; bars() > 1 && room() < 0; ++left_out)
            labels_.erase(std::min_element(labels_.begin(), labels_.end(), least));
        if (left_out) add_note(std::to_string(left_out) + " more bars run off the top");
    }

    void draw_labels() {
        if (labels_.empty()) return;
        spread(labels_, area_.left, area_.right);
        const int bottom = area_.top;
        if (percentiles_of_)
            canvas_.text(name_of(*percentiles_of_), area_.left - 10, bottom - 9, small_size, look_.ink,
                         Canvas::Anchor::right);
        for (const Label& label : labels_) {
            const auto x = static_cast<int>(label.x);
            const bool bar = label.count > 0;
            if (!bar)
                canvas_.vertical(x, area_.top, area_.bottom, {look_.ink, label.important ? 0.75F : 0.5F},
                                 label.important ? 0 : 4);
            canvas_.line(label.middle, bottom - 4, x, bar ? bottom + 4 : bottom, label.color);
            const double start = label.middle - label.half;
            if (!label.name.empty()) canvas_.text(label.name, start, bottom - 9, small_size, look_.faint);
            canvas_.text(label.value, start + canvas_.width(label.name, small_size), bottom - 9, small_size,
                         label.color);
        }
    }

    // --- Axes --------------------------------------------------------------------------------------------------------

    void draw_grid() {
        if (!nothing_.empty()) return;
        const auto level = [&](double count, float opacity) {
            const int row = static_cast<int>(std::lround(y_of(count)));
            if (row < area_.bottom && row >= area_.top)
                canvas_.fill({area_.left, row, area_.right, row + 1}, {look_.ink, opacity});
        };
        for (const Tick& tick : axis_.ticks()) {
            level(tick.value, 0.10F);
            for (int i = 2; logarithmic_ && i < 10 && tick.value * i <= axis_.top(); ++i) level(tick.value * i, 0.035F);
        }
        for (const Tick& tick : value_ticks_)
            canvas_.vertical(x_of(tick.value), area_.top, area_.bottom, {look_.ink, 0.06F});
    }

    void draw_axes() {
        canvas_.fill({area_.left - 1, area_.bottom, area_.right, area_.bottom + 1}, {look_.axis, 1});
        if (!nothing_.empty()) return;
        const int numbers = below_.empty() ? area_.left : area_.left - edge_width(below_);
        for (const Tick& tick : axis_.ticks()) {
            const int row = static_cast<int>(std::lround(y_of(tick.value)));
            canvas_.fill({numbers - 6, row, numbers, row + 1}, {look_.axis, 1});
            canvas_.text(tick.label, numbers - 10, row + 5, small_size, look_.faint, Canvas::Anchor::right);
        }
        for (const Tick& tick : value_ticks_) {
            const int column = x_of(tick.value);
            canvas_.vertical(column, area_.bottom, area_.bottom + 6, {look_.axis, 1});
            const double half = canvas_.width(tick.label, small_size) / 2;
            canvas_.text(tick.label, std::clamp<double>(column, half + 2, box_.right - half - 2), area_.bottom + 22,
                         small_size, look_.faint, Canvas::Anchor::middle);
        }
        canvas_.text(panel_.values, middle(), box_.bottom - 14, text_size, look_.ink, Canvas::Anchor::middle);
        canvas_.text_upwards(logarithmic_ ? "pixels (log)" : "pixels", box_.left + margin + 4,
                             (area_.top + area_.bottom) / 2.0, text_size, look_.ink);
    }

    void add_note(const std::string& text) { note_ += (note_.empty() ? "" : " \u00b7 ") + text; }

    /// Notes what no bar can show.
    void draw_note() {
        std::uint64_t nan = 0, infinite = 0;
        for (const auto* column : columns_) {
            if (column->channel == Channel::luma) continue;
            nan += column->nan;
            if (const Statistics* row = row_of(column->channel)) infinite += row->inf;
        }
        if (nan) add_note(count_text(static_cast<double>(nan)) + " NaN");
        if (infinite) add_note(count_text(static_cast<double>(infinite)) + " Inf");
        canvas_.text(note_, box_.right - margin, box_.bottom - 14, small_size, look_.faint, Canvas::Anchor::right);
    }

    Canvas& canvas_;
    const PlotPanel& panel_;
    const Look& look_;
    const Range range_;
    const Box box_;
    bool logarithmic_ = false;
    std::size_t bins_ = 0;
    std::vector<const Histogram::Column*> columns_, drawn_;  ///< in the order of the legend, and of the drawing
    std::string note_, nothing_, below_, above_;
    std::optional<Channel> percentiles_of_;
    Box area_;
    CountAxis axis_;
    std::vector<Tick> value_ticks_;
    std::vector<Label> labels_;
};

constexpr int title_height = 36;

/// Height of a panel: of several each is lower.
int panel_height(const Plot& plot, const PlotOptions& options) {
    return plot.panels.size() <= 1 ? options.height - title_height : std::max(240, options.height * 2 / 3);
}

/// Size of the picture. Throws where it is out of bounds.
cv::Size size_of(const Plot& plot, const PlotOptions& options) {
    constexpr int least_width = 320, least_height = 240, most = 16384;
    const auto panels = static_cast<int>(std::clamp<std::size_t>(plot.panels.size(), 1, most));
    const bool too_many = options.height > most || panels > most / std::max(1, panel_height(plot, options));
    if (options.width < least_width || options.height < least_height || options.width > most || too_many)
        throw InvalidArgument("a plot of " + std::to_string(options.width) + " x " + std::to_string(options.height) +
                              " pixels: at least " + std::to_string(least_width) + " x " +
                              std::to_string(least_height) + ", at most " + std::to_string(most) + " either way");
    for (const PlotPanel& panel : plot.panels)
        if (!(panel.histogram.range.lower < panel.histogram.range.upper))
            throw InvalidArgument("a histogram to plot covers a range: its lower bound is less than its upper bound");
    return {options.width, title_height + panels * panel_height(plot, options)};
}

void draw(Canvas& canvas, const Plot& plot, const PlotOptions& options, const cv::Size& size) {
    const Look& look = look_of(options.theme);
    canvas.text(shorten(plot.title, size.width - 2 * margin, title_size, canvas), margin, 34, title_size, look.ink);
    int top = title_height;
    for (const PlotPanel& panel : plot.panels) {
        const int bottom = top + panel_height(plot, options);
        PanelDrawing(canvas, panel, options, {0, top, size.width, bottom}).draw();
        top = bottom;
    }
    if (plot.panels.empty())
        canvas.text("nothing to draw", size.width / 2.0, size.height / 2.0, text_size, look.ink,
                    Canvas::Anchor::middle);
}

}  // namespace

const char* extension_of(PlotFormat format) {
    return format == PlotFormat::svg ? ".svg" : ".png";
}

cv::Mat draw_plot(const Plot& plot, const PlotOptions& options) {
    const cv::Size size = size_of(plot, options);
    cv::Mat image(size, CV_8UC3, cv::Scalar(look_of(options.theme).paper));
    draw(*raster_canvas(image), plot, options, size);
    return image;
}

std::string draw_plot_svg(const Plot& plot, const PlotOptions& options) {
    const cv::Size size = size_of(plot, options);
    std::string elements;
    const auto canvas = svg_canvas(elements);
    canvas->fill({0, 0, size.width, size.height}, {look_of(options.theme).paper, 1});
    draw(*canvas, plot, options, size);
    return svg_document(elements, size, plot.title);
}

std::vector<unsigned char> encode_plot(const Plot& plot, PlotFormat format, const PlotOptions& options) {
    if (format == PlotFormat::png) return encode_image("plot.png", draw_plot(plot, options));
    const std::string text = draw_plot_svg(plot, options);
    return {text.begin(), text.end()};
}

}  // namespace gpuhist::io
