#include "gpuhist/io/plot.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <opencv2/core.hpp>
#include <utility>

#include "encode/encode.hpp"
#include "gpuhist/columns.hpp"
#include "gpuhist/error.hpp"
#include "report/axis.hpp"
#include "report/canvas.hpp"
#include "report/labels.hpp"
#include "report/look.hpp"
#include "report/panel.hpp"

namespace gpuhist::io {
namespace {

constexpr const char *legend_key = "mean \u00b1 std", *shared_key = "coinciding";

constexpr std::uint32_t median = 50'000'000;

/// Percentiles to mark: 1, 25, 50, 75 and 99 if all of them were requested; else the requested ones, in ascending
/// order. Of many, as many are marked, from the lowest to the highest.
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
    /// Drawing with a line for each of the panel's columns.
    PanelDrawing(Canvas& canvas, const PlotPanel& panel, std::vector<Line> lines, const PlotOptions& options,
                 const Box& box)
        : canvas_(canvas),
          panel_(panel),
          look_(look_of(options.theme)),
          range_(panel.histogram.range),
          box_(box),
          logarithmic_(options.log_counts),
          columns_(columns_of(panel)),
          lines_(std::move(lines)) {
        // Alpha first, under all others; the luma, which is made of the colors, before these.
        const auto place = [](const Histogram::Column* column) {
            return column->channel == Channel::alpha ? 0 : column->channel == Channel::luma ? 1 : 2;
        };
        drawn_ = columns_;
        std::stable_sort(drawn_.begin(), drawn_.end(), [&](auto a, auto b) { return place(a) < place(b); });
        if (!columns_.empty()) bins_ = columns_.front()->counts.size();
    }

    void draw() {
        nothing_ = nothing_to_draw();
        arrange(arrange_legend());
        if (lines_shared())
            if (const int y = arrange_legend(); y != header_bottom_) arrange(y);
        draw_header();
        draw_grid();
        for (std::size_t i = 0; i < drawn_.size(); ++i)
            if (filled(*drawn_[i]))
                canvas_.fill_steps(area_, steps_[i], {color_of(*drawn_[i]), columns_.size() == 1 ? 0.24F : 0.16F});
        if (columns_.size() == 1 && !steps_.empty())
            canvas_.fill_steps(area_, narrow_bars(area_, steps_[0], 4 * line_width_), {color_of(*drawn_[0]), 1});
        for (std::size_t i = 0; i < drawn_.size(); ++i) canvas_.stroke(outline(i), color_of(*drawn_[i]), line_width_);
        for (std::size_t i = 0; i < drawn_.size(); ++i)
            canvas_.stroke(dashes_.of[i], color_of(*drawn_[i]), line_width_);
        draw_edges();
        draw_percentiles();
        draw_bar_labels();
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
    /// Whole numbers are in the middle of their columns.
    int x_of(double value) const {
        const double x = area_.left + place_in(range_, panel_.whole ? value + 0.5 : value) * area_.width();
        return std::clamp(static_cast<int>(std::floor(x)), area_.left, area_.right);
    }
    const Statistics* row_of(const Histogram::Column& column) const { return io::row_of(panel_, column); }

    const Line& line_of(const Histogram::Column& column) const {
        return lines_[static_cast<std::size_t>(std::find(columns_.begin(), columns_.end(), &column) -
                                               columns_.begin())];
    }
    const Color& color_of(const Histogram::Column& column) const { return line_of(column).color; }
    std::vector<Segment> outline(std::size_t drawn) const {
        const auto whole = contour(area_, steps_[drawn]);
        return line_of(*drawn_[drawn]).dashed ? dashed(whole) : whole;
    }
    static bool filled(const Histogram::Column& column) {
        return column.channel != Channel::alpha && column.channel != Channel::luma;
    }
    bool lines_shared() const {
        return std::find(dashes_.shares.begin(), dashes_.shares.end(), true) != dashes_.shares.end();
    }

    // --- Heading and legend ------------------------------------------------------------------------------------------

    /// Entry of the legend: a channel and its numbers, or, without a channel, the meaning of dashes.
    struct Entry {
        const Histogram::Column* column;
        std::string name, numbers;
        int x, y;
    };
    int swatch_width(const Entry& entry) const {
        return entry.column
                   ? 14
                   : shared_dash * static_cast<int>(std::count(dashes_.shares.begin(), dashes_.shares.end(), true));
    }

    /// Chooses the places of the entries, without their numbers if these would take more than a third of the panel.
    /// Returns the end of the entries.
    int arrange_legend() {
        const int y = arrange_legend(true);
        return y - box_.top > box_.height() / 3 ? arrange_legend(false) : y;
    }

    int arrange_legend(bool with_numbers) {
        legend_.clear();
        for (const auto* column : columns_) {
            const Statistics* row = with_numbers ? row_of(*column) : nullptr;
            const std::string spread = row && row->mean ? " \u00b1 " + brief(row->std) : "";
            legend_.push_back({column, std::string(channel_name(*column)),
                               row ? brief(row->mean, digits_over(range_)) + spread : "", 0, 0});
        }
        if (lines_shared()) legend_.push_back({nullptr, shared_key, "", 0, 0});
        const int left = box_.left + margin, right = box_.right - margin;
        int y = box_.top + 6 + (panel_.heading.empty() ? 0 : 24) + row_height;
        double pen = left;
        for (Entry& entry : legend_) {
            const double width = swatch_width(entry) + 14 + canvas_.width(entry.name, text_size) +
                                 canvas_.width(entry.numbers, text_size);
            if (pen > left && pen + width > right) {
                pen = left;
                y += row_height;
            }
            entry.x = static_cast<int>(pen);
            entry.y = y;
            pen += width + 30;
        }
        key_fits_ = with_numbers && pen > left && pen - 14 + canvas_.width(legend_key, small_size) <= right;
        return y;
    }

    void draw_header() {
        const int left = box_.left + margin, right = box_.right - margin;
        if (!panel_.heading.empty())
            canvas_.text(shorten(panel_.heading, right - left, text_size + 2, canvas_), left, box_.top + 26,
                         text_size + 2, look_.ink);
        for (const Entry& entry : legend_) {
            const int x = entry.x, y = entry.y, width = swatch_width(entry);
            if (!entry.column) {
                draw_shared_swatch(x, y - 6);
            } else if (filled(*entry.column)) {
                canvas_.fill({x, y - 9, x + width, y + 1}, {color_of(*entry.column), 0.25F});
                const Ink ink{color_of(*entry.column), 1};
                const int gap = line_of(*entry.column).dashed ? 4 : 0;
                canvas_.fill({x, y - 11, x + (width - gap) / 2, y - 9}, ink);
                canvas_.fill({x + (width + gap) / 2, y - 11, x + width, y - 9}, ink);
            } else {
                canvas_.fill({x, y - 6, x + width, y - 4}, {color_of(*entry.column), 1});
            }
            canvas_.text(entry.name, x + width + 7, y, text_size, look_.ink);
            canvas_.text(entry.numbers, x + width + 15 + canvas_.width(entry.name, text_size), y, text_size,
                         look_.faint);
        }
        if (key_fits_)
            canvas_.text(legend_key, right, legend_.back().y, small_size, look_.faint, Canvas::Anchor::right);
    }

    /// Draws a dash of each channel whose line coincides with another one.
    void draw_shared_swatch(int x, int y) {
        for (std::size_t i = 0; i < drawn_.size(); ++i)
            if (dashes_.shares[i]) {
                canvas_.fill({x, y, x + shared_dash, y + 2}, {color_of(*drawn_[i]), 1});
                x += shared_dash;
            }
    }

    /// Text in place of bars; empty if there is a bar.
    std::string nothing_to_draw() const {
        std::uint64_t samples = 0, nan = 0, infinite = 0;
        for (const auto* column : columns_) {
            if (column->channel == Channel::alpha) continue;
            if (column->below || column->above) return "";
            for (const std::uint64_t count : column->counts)
                if (count) return "";
            if (column->channel == Channel::luma) continue;
            nan += column->nan;
            if (const Statistics* row = row_of(*column)) {
                infinite += row->infinite;
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

    /// Number of samples that were counted, or their weight.
    double weight_of(std::uint64_t count) const { return io::weight_of(panel_, count); }

    /// Chooses the axes, their place below the header, and the columns that are drawn.
    void arrange(int header_bottom) {
        header_bottom_ = header_bottom;
        measure_edges();
        const int bottom = box_.bottom - 58;
        axis_ = CountAxis(top_of(panel_, logarithmic_), logarithmic_, std::max(80, bottom - header_bottom - 44));
        double widest = 0;
        for (const Tick& tick : axis_.ticks()) widest = std::max(widest, canvas_.width(tick.label, small_size));
        const int left = box_.left + margin + 32 + static_cast<int>(std::ceil(std::max(widest, 36.0)));
        area_ = {left, header_bottom + 20, box_.right - margin, bottom};
        const int edges = (below_.empty() ? 0 : edge_width(below_)) + (above_.empty() ? 0 : edge_width(above_));
        edges_fit_ = edges <= area_.width() / 2;
        if (edges_fit_ && !below_.empty()) area_.left += edge_width(below_);
        if (edges_fit_ && !above_.empty()) area_.right -= edge_width(above_);
        mark_percentiles();
        if (!percentiles_.empty()) area_.top += row_height + 2;
        value_ticks_ = value_ticks(range_, panel_.whole, area_.width(),
                                   [this](const std::string& text) { return canvas_.width(text, small_size); });
        line_width_ = static_cast<std::size_t>(area_.width()) >= 3 * bins_ ? 2 : 1;
        steps_.clear();
        for (const auto* column : drawn_) steps_.push_back(steps_of(*column));
        dashes_ = shared_dashes(area_, steps_, line_width_);
        label_cut_bars();
    }

    Steps steps_of(const Histogram::Column& column) const {
        Steps steps;
        for (const std::uint64_t count : column_maxima(column.counts, area_.width())) {
            const double height = std::max(std::round(y_of(weight_of(count))), double(area_.top));
            // A count that is not zero is visible, however small it is.
            steps.push_back(count == 0 ? area_.bottom : std::min(static_cast<int>(height), area_.bottom - 1));
        }
        return steps;
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
        if (below) below_ = count_text(weight_of(below)) + " below";
        if (above) above_ = count_text(weight_of(above)) + " above";
    }

    int edge_width(const std::string& text) const {
        return static_cast<int>(std::ceil(std::max(canvas_.width(text, small_size), 40.0))) + 40;
    }

    /// Bars beside the drawing, one channel each.
    void draw_edges() {
        constexpr int most_width = 14;
        for (const bool above : {false, true}) {
            const std::string& text = above ? above_ : below_;
            if (text.empty() || !edges_fit_) continue;
            const int width = edge_width(text), left = above ? area_.right + 20 : area_.left - width;
            const int right = above ? area_.right + width : area_.left - 20;
            canvas_.fill({left, area_.bottom, right, area_.bottom + 1}, {look_.axis, 1});
            const int each = std::min(most_width, (right - left - 4) / static_cast<int>(columns_.size()));
            int x = (left + right - each * static_cast<int>(columns_.size())) / 2;
            for (const auto* column : columns_) {
                const std::uint64_t count = above ? column->above : column->below;
                const double top = std::clamp<double>(y_of(weight_of(count)), area_.top, area_.bottom - 2);
                if (count > 0)
                    canvas_.fill({x + 1, static_cast<int>(top), x + each - 1, area_.bottom}, {color_of(*column), 1});
                x += each;
            }
            canvas_.text(text, (left + right) / 2.0, area_.bottom + 22, small_size, look_.ink, Canvas::Anchor::middle);
        }
    }

    // --- Percentiles -------------------------------------------------------------------------------------------------

    /// Percentiles of the luma where it is drawn, of gray, or of the only band.
    void mark_percentiles() {
        percentiles_.clear();
        if (!nothing_.empty()) return;
        const Statistics* row = nullptr;
        for (const auto* column : columns_)
            if (column->channel == Channel::luma || column->channel == Channel::gray ||
                (is_band(column->channel) && columns_.size() == 1))
                row = row_of(*column);
        if (!row) return;
        for (const Percentile& percentile : marked(row->weight ? row->weighted_percentiles : row->percentiles)) {
            const auto& value = percentile.value;
            if (!value || *value < range_.lower || *value >= range_.upper) continue;
            percentiles_of_ = channel_name(*row);
            const double part = place_in(range_, *value);
            Label label;
            label.important = percentile.micro == median;
            label.name = (row->weight ? weighted_percentile_name : percentile_name)(percentile.micro) + " ";
            label.value = brief(*value, digits_over(range_));
            label.x = static_cast<int>(
                x_of_bin(std::min(std::floor(part * static_cast<double>(bins_)), static_cast<double>(bins_) - 1)));
            if (!percentiles_.empty() && percentiles_.back().value == label.value) {
                Label& same = percentiles_.back();  // p01–p25 of one value are one label
                same.name = same.name.substr(0, same.name.find_first_of(" \xE2")) + "\u2013" + label.name;
                same.important = same.important || label.important;
            } else {
                percentiles_.push_back(label);
            }
        }
        for (Label& label : percentiles_)
            label.half = (canvas_.width(label.name, small_size) + canvas_.width(label.value, small_size)) / 2;
    }

    void draw_percentiles() {
        if (percentiles_.empty()) return;
        const int bottom = area_.top;
        canvas_.text(percentiles_of_, area_.left - 10, bottom - 9, small_size, look_.ink, Canvas::Anchor::right);
        for (const Label& label : percentiles_)
            canvas_.vertical(label.x, bottom, area_.bottom, {label.important ? look_.ink : look_.faint, 1},
                             label.important ? 0 : 4);
        spread(percentiles_, area_.left, area_.right);
        for (const Label& label : percentiles_) {
            const double start = label.middle - label.half;
            canvas_.line(std::clamp<double>(label.x, start, start + 2 * label.half), bottom - 5, label.x, bottom - 1,
                         label.important ? look_.ink : look_.faint);
            canvas_.text(label.name, start, bottom - 9, small_size, look_.faint);
            canvas_.text(label.value, start + canvas_.width(label.name, small_size), bottom - 9, small_size, look_.ink);
        }
    }

    // --- Bars that the axis cuts off ---------------------------------------------------------------------------------

    /// Bar that runs off the top: of neighbors of a channel the tallest has the count. All of them are its place.
    struct CutBar {
        const Histogram::Column* column;
        std::uint64_t count;
        Box place;
        Box label{};  ///< empty where there is no room for one
    };

    std::vector<CutBar> cut_bars() const {
        std::vector<CutBar> bars;
        const auto edge = [&](std::size_t bin) {  // half a bin before its middle
            return static_cast<int>(std::ceil(x_of_bin(static_cast<double>(bin) - 0.5)));
        };
        for (const auto* column : drawn_) {
            const auto& counts = column->counts;
            const auto is_cut = [&](std::size_t bin) { return weight_of(counts[bin]) > axis_.top(); };
            for (std::size_t bin = 0; bin < counts.size(); ++bin) {
                if (!is_cut(bin)) continue;
                const std::size_t first = bin;
                while (bin < counts.size() && is_cut(bin)) ++bin;
                const auto at = [&](std::size_t place) { return counts.begin() + static_cast<std::ptrdiff_t>(place); };
                bars.push_back({column,
                                *std::max_element(at(first), at(bin)),
                                {edge(first), area_.top, std::max(edge(bin), edge(first) + 1), area_.bottom}});
            }
        }
        return bars;
    }

    /// Puts counts beside bars, the tallest bar first: into free places, or else over other drawings, but never over
    /// another count or bar.
    void label_cut_bars() {
        constexpr int height = 18;
        cut_bars_ = cut_bars();
        std::stable_sort(cut_bars_.begin(), cut_bars_.end(),
                         [](const CutBar& a, const CutBar& b) { return a.count > b.count; });
        const auto no_count_or_bar = [&](const Box& place) {
            return std::none_of(cut_bars_.begin(), cut_bars_.end(), [&](const CutBar& bar) {
                return overlap(place, bar.place) || overlap(place, bar.label);
            });
        };
        const auto nothing_drawn = [&](const Box& place) {
            for (const Label& label : percentiles_)
                if (label.x >= place.left && label.x < place.right) return false;
            for (const Steps& steps : steps_)
                for (int x = place.left; x < place.right; ++x)
                    if (steps[static_cast<std::size_t>(x - area_.left)] <= place.bottom) return false;
            return no_count_or_bar(place);
        };
        for (CutBar& bar : cut_bars_) {
            const int width = static_cast<int>(std::ceil(canvas_.width(bar_text(bar), small_size)));
            auto place = place_beside(bar.place, width, height, area_, nothing_drawn);
            if (!place) place = place_beside(bar.place, width, height, area_, no_count_or_bar);
            if (place) bar.label = *place;
        }
    }

    std::string bar_text(const CutBar& bar) const { return "\u2191 " + count_text(weight_of(bar.count)); }

    void draw_bar_labels() {
        for (const CutBar& bar : cut_bars_) {
            if (bar.label.width() == 0) continue;
            canvas_.fill(bar.label, {look_.paper, 1});
            canvas_.text(bar_text(bar), bar.label.left, bar.label.bottom - 4, small_size, color_of(*bar.column));
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
        const int numbers = below_.empty() || !edges_fit_ ? area_.left : area_.left - edge_width(below_);
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
        const std::string counted = !panel_.counted.empty()     ? panel_.counted
                                    : panel_.histogram.weighted ? "alpha"
                                                                : "pixels";
        canvas_.text_upwards(logarithmic_ ? counted + " (log)" : counted, box_.left + margin + 4,
                             (area_.top + area_.bottom) / 2.0, text_size, look_.ink);
    }

    /// Notes the samples that are not drawn and, at the left, the excluded ones.
    void draw_note() {
        std::string note;
        for (const std::string& text : {below_, above_})
            if (!text.empty() && !edges_fit_) append_note(note, text);
        std::uint64_t left_out = 0, tallest = 0;
        for (const CutBar& bar : cut_bars_)
            if (bar.label.width() == 0) {
                ++left_out;
                tallest = std::max(tallest, bar.count);
            }
        note_cut_bars(note, left_out, weight_of(tallest), true);
        note_non_finite(note, panel_);
        canvas_.text(note, box_.right - margin, box_.bottom - 14, small_size, look_.faint, Canvas::Anchor::right);
        const double room = middle() - canvas_.width(panel_.values, text_size) / 2 - 12 - (box_.left + margin);
        draw_excluded(canvas_, panel_, look_, box_, room);
    }

    Canvas& canvas_;
    const PlotPanel& panel_;
    const Look& look_;
    const Range range_;
    const Box box_;
    const bool logarithmic_;
    const Columns columns_;          ///< in the order of the legend
    const std::vector<Line> lines_;  ///< of these
    Columns drawn_;                  ///< in the order of the drawing
    std::size_t bins_ = 0;
    std::string nothing_, below_, above_;
    std::vector<Entry> legend_;
    bool key_fits_ = false, edges_fit_ = true;
    int header_bottom_ = 0, line_width_ = 1;
    Box area_;
    CountAxis axis_;
    std::vector<Tick> value_ticks_;
    std::vector<Steps> steps_;  ///< of what is drawn
    SharedDashes dashes_;
    std::string percentiles_of_;
    std::vector<Label> percentiles_;
    std::vector<CutBar> cut_bars_;  ///< those that are taller first
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
        const Box box{0, top, size.width, top + panel_height(plot, options)};
        std::vector<Channel> channels;
        for (const auto* column : columns_of(panel)) channels.push_back(column->channel);
        if (auto lines = lines_of(look, channels))
            PanelDrawing(canvas, panel, std::move(*lines), options, box).draw();
        else
            draw_multiples(canvas, panel, options, box);
        top = box.bottom;
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
    if (format == PlotFormat::png) return encode_drawing(draw_plot(plot, options), "plot.png");
    const std::string text = draw_plot_svg(plot, options);
    return {text.begin(), text.end()};
}

}  // namespace gpuhist::io
