// Small multiples: a picture per band, all with the same axes.
#include <algorithm>
#include <cmath>
#include <cstddef>

#include "gpuhist/columns.hpp"
#include "report/axis.hpp"
#include "report/labels.hpp"
#include "report/look.hpp"
#include "report/panel.hpp"

namespace gpuhist::io {
namespace {

constexpr int tile_name = 17, tile_gap = 16;

class Multiples {
  public:
    Multiples(Canvas& canvas, const PlotPanel& panel, const PlotOptions& options, const Box& box)
        : canvas_(canvas),
          panel_(panel),
          look_(look_of(options.theme)),
          columns_(columns_of(panel)),
          logarithmic_(options.log_counts),
          box_(box) {
        const double top = top_of(panel_, logarithmic_);
        const int begin = box.top + 10 + (panel.heading.empty() ? 0 : 24), end = box.bottom - 52;
        axis_ = CountAxis(top, logarithmic_, 2);
        double widest = 36;
        for (const Tick& tick : axis_.ticks()) widest = std::max(widest, canvas_.width(tick.label, tile_size));
        all_ = {box.left + margin + 32 + static_cast<int>(std::ceil(widest)), begin, box.right - margin + tile_gap,
                end};
        // Tiles twice as wide as high, about.
        const auto tiles = static_cast<double>(columns_.size());
        across_ = std::max(1, static_cast<int>(std::lround(std::sqrt(tiles * all_.width() / (2.2 * all_.height())))));
        down_ = static_cast<int>((columns_.size() + static_cast<std::size_t>(across_) - 1) /
                                 static_cast<std::size_t>(across_));
        axis_ = CountAxis(top, logarithmic_, area_of(0).height());
        ticks_ = value_ticks(panel.histogram.range, panel.whole, std::max(1, area_of(0).width()),
                             [this](const std::string& text) { return canvas_.width(text, tile_size); });
    }

    void draw() {
        if (!panel_.heading.empty())
            canvas_.text(shorten(panel_.heading, box_.width() - 2 * margin, text_size + 2, canvas_), box_.left + margin,
                         box_.top + 26, text_size + 2, look_.ink);
        for (std::size_t i = 0; i < columns_.size(); ++i) draw_tile(i);
        canvas_.text(panel_.values, (all_.left + all_.right - tile_gap) / 2.0, box_.bottom - 14, text_size, look_.ink,
                     Canvas::Anchor::middle);
        const std::string counted = panel_.histogram.weighted ? "alpha" : "pixels";
        canvas_.text_upwards(logarithmic_ ? counted + " (log)" : counted, box_.left + margin + 4,
                             (all_.top + all_.bottom) / 2.0, text_size, look_.ink);
        draw_notes();
    }

  private:
    /// Place of a channel's bars.
    Box area_of(std::size_t tile) const {
        const auto place = [](int from, int to, std::size_t part, int parts) {
            return from + static_cast<int>(static_cast<std::int64_t>(to - from) * static_cast<int>(part) / parts);
        };
        const auto across = static_cast<std::size_t>(across_);
        const std::size_t x = tile % across, y = tile / across;
        return {place(all_.left, all_.right, x, across_), place(all_.top, all_.bottom, y, down_) + tile_name,
                place(all_.left, all_.right, x + 1, across_) - tile_gap,
                place(all_.top, all_.bottom, y + 1, down_) - 5};
    }
    int x_of(double value, const Box& area) const {
        const double part = place_in(panel_.histogram.range, panel_.whole ? value + 0.5 : value);
        return std::clamp(area.left + static_cast<int>(std::floor(part * area.width())), area.left, area.right - 1);
    }
    int y_of(double count, const Box& area) const {
        return static_cast<int>(std::lround(area.bottom - axis_.height(count) * area.height()));
    }

    void draw_tile(std::size_t tile) {
        const Histogram::Column& column = *columns_[tile];
        const Box area = area_of(tile);
        draw_name(column, area);
        if (area.height() < 2 || area.width() < 2) return;
        for (const Tick& tick : ticks_)
            canvas_.vertical(x_of(tick.value, area), area.top, area.bottom, {look_.ink, 0.06F});
        Steps steps;
        for (const std::uint64_t count : column_maxima(column.counts, area.width()))
            steps.push_back(count == 0 ? area.bottom
                                       : std::clamp(y_of(weight_of(panel_, count), area), area.top, area.bottom - 1));
        canvas_.fill_steps(area, steps, {look_.gray, 0.24F});
        canvas_.fill_steps(area, narrow_bars(area, steps, 3), {look_.gray, 1});
        canvas_.stroke(contour(area, steps), look_.gray, 1);
        canvas_.fill({area.left, area.bottom, area.right, area.bottom + 1}, {look_.axis, 1});
        for (const std::uint64_t count : column.counts)
            if (weight_of(panel_, count) > axis_.top()) {
                ++cut_bars_;
                tallest_ = std::max(tallest_, count);
            }
        below_ += column.below;
        above_ += column.above;
        if (tile % static_cast<std::size_t>(across_) == 0) draw_counts(area);
        if (tile + static_cast<std::size_t>(across_) >= columns_.size()) draw_values(area);
    }

    void draw_name(const Histogram::Column& column, const Box& area) {
        const std::string name = shorten(std::string(channel_name(column)), area.width(), tile_size, canvas_);
        canvas_.text(name, area.left, area.top - 4, tile_size, look_.ink);
        const Statistics* row = row_of(panel_, column);
        if (!row || !row->mean) return;
        const std::string numbers =
            brief(row->mean, digits_over(panel_.histogram.range)) + " \u00b1 " + brief(row->std);
        if (canvas_.width(name, tile_size) + 10 + canvas_.width(numbers, tile_size) <= area.width())
            canvas_.text(numbers, area.right, area.top - 4, tile_size, look_.faint, Canvas::Anchor::right);
    }

    /// Numbers of the counts, at the left of a row of tiles.
    void draw_counts(const Box& area) {
        int above = area.bottom + tile_name;  // of the last number
        for (const Tick& tick : axis_.ticks()) {
            const int row = y_of(tick.value, area);
            if (row > above - tile_name || row < area.top - 6) continue;
            canvas_.fill({area.left - 5, row, area.left, row + 1}, {look_.axis, 1});
            canvas_.text(tick.label, area.left - 8, row + 4, tile_size, look_.faint, Canvas::Anchor::right);
            above = row;
        }
    }

    /// Numbers of the values, below a column of tiles.
    void draw_values(const Box& area) {
        double end = area.left - tile_gap;  // of the last number
        for (const Tick& tick : ticks_) {
            const int x = x_of(tick.value, area);
            const double width = canvas_.width(tick.label, tile_size);
            const double start = std::max<double>(area.left, std::min<double>(x - width / 2, area.right - width));
            if (start < end + tile_gap / 2.0 || start + width > area.right + tile_gap / 2.0) continue;
            canvas_.vertical(x, area.bottom, area.bottom + 4, {look_.axis, 1});
            canvas_.text(tick.label, start, area.bottom + 16, tile_size, look_.faint);
            end = start + width;
        }
    }

    void draw_notes() {
        std::string note;
        if (below_) append_note(note, count_text(static_cast<double>(below_)) + " below");
        if (above_) append_note(note, count_text(static_cast<double>(above_)) + " above");
        note_cut_bars(note, cut_bars_, weight_of(panel_, tallest_), false);
        note_non_finite(note, panel_);
        const double room = (box_.width() - canvas_.width(panel_.values, text_size)) / 2 - 12 - margin;
        canvas_.text(shorten(note, room, small_size, canvas_), box_.right - margin, box_.bottom - 14, small_size,
                     look_.faint, Canvas::Anchor::right);
        draw_excluded(canvas_, panel_, look_, box_, room);
    }

    Canvas& canvas_;
    const PlotPanel& panel_;
    const Look& look_;
    const Columns columns_;
    const bool logarithmic_;
    const Box box_;
    Box all_;  ///< of all tiles, and a gap behind the last of a row
    int across_ = 1, down_ = 1;
    CountAxis axis_;
    std::vector<Tick> ticks_;
    std::uint64_t below_ = 0, above_ = 0, cut_bars_ = 0, tallest_ = 0;
};

}  // namespace

void draw_multiples(Canvas& canvas, const PlotPanel& panel, const PlotOptions& options, const Box& box) {
    Multiples(canvas, panel, options, box).draw();
}

}  // namespace gpuhist::io
