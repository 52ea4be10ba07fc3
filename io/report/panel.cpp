#include "report/panel.hpp"

#include <algorithm>
#include <cstddef>

#include "report/axis.hpp"
#include "report/contour.hpp"
#include "report/labels.hpp"

namespace gpuhist::io {

Columns columns_of(const PlotPanel& panel) {
    Columns columns;
    for (const Histogram::Column& column : panel.histogram.columns)
        if (!column.counts.empty()) columns.push_back(&column);
    return columns;
}

const Statistics* row_of(const PlotPanel& panel, const Histogram::Column& column) {
    for (const Statistics& row : panel.rows)
        if (channel_name(row) == channel_name(column)) return &row;
    return nullptr;
}

double top_of(const PlotPanel& panel, bool logarithmic) {
    constexpr int resolution = 500, least_columns = 60;
    const Columns columns = columns_of(panel);
    std::uint64_t highest = 0;
    std::vector<std::uint64_t> tallest(resolution, 0);
    for (const auto* column : columns) {
        const bool alpha = column->channel == Channel::alpha;
        if (!alpha || columns.size() == 1)
            highest = std::max(highest, *std::max_element(column->counts.begin(), column->counts.end()));
        if (alpha) continue;
        const auto maxima = column_maxima(column->counts, resolution);
        for (std::size_t x = 0; x < maxima.size(); ++x) tallest[x] = std::max(tallest[x], maxima[x]);
    }
    const double top = weight_of(panel, highest);
    tallest.erase(std::remove(tallest.begin(), tallest.end(), 0U), tallest.end());
    if (logarithmic || tallest.size() < least_columns) return top;
    const auto rest = tallest.begin() + static_cast<std::ptrdiff_t>(tallest.size() * 98 / 100);
    std::nth_element(tallest.begin(), rest, tallest.end());
    const double enough = 1.25 * weight_of(panel, *rest);
    return top > 2.5 * enough ? enough : top;
}

void append_note(std::string& note, const std::string& text) {
    note += (note.empty() ? "" : " \u00b7 ") + text;
}

void note_non_finite(std::string& note, const PlotPanel& panel) {
    std::uint64_t nan = 0, infinite = 0;
    for (const auto* column : columns_of(panel)) {
        if (column->channel == Channel::luma) continue;
        nan += column->nan;
        if (const Statistics* row = row_of(panel, *column)) infinite += row->infinite;
    }
    if (nan) append_note(note, count_text(static_cast<double>(nan)) + " NaN");
    if (infinite) append_note(note, count_text(static_cast<double>(infinite)) + " Inf");
}

void note_cut_bars(std::string& note, std::uint64_t bars, double tallest, bool others_are_noted) {
    if (bars == 0) return;
    append_note(note, std::to_string(bars) + (others_are_noted ? " more" : "") +
                          (bars == 1 ? " bar runs" : " bars run") + " off the top, to " + count_text(tallest));
}

void draw_excluded(Canvas& canvas, const PlotPanel& panel, const Look& look, const Box& box, double room) {
    const std::string excluded = excluded_text(panel.rows);
    if (!excluded.empty())
        canvas.text(shorten("excluded " + excluded, room, small_size, canvas), box.left + margin, box.bottom - 14,
                    small_size, look.faint);
}

}  // namespace gpuhist::io
