// Facts about a panel, for all its drawings.
#pragma once

#include <string>
#include <vector>

#include "gpuhist/io/plot.hpp"
#include "report/canvas.hpp"
#include "report/look.hpp"

namespace gpuhist::io {

using Columns = std::vector<const Histogram::Column*>;

/// Columns of a panel that have bins.
Columns columns_of(const PlotPanel& panel);
/// Row of a channel; null if there is none.
const Statistics* row_of(const PlotPanel& panel, const Histogram::Column& column);

/// Count at which an axis ends: the highest count except in alpha. A linear axis ends lower if a few columns, mostly
/// clipped black or white, are so much higher than all others that these would not be visible.
double top_of(const PlotPanel& panel, bool logarithmic);

/// Height of a bar: a number of samples, or the sum of their weights.
inline double weight_of(const PlotPanel& panel, std::uint64_t count) {
    return static_cast<double>(count) * panel.histogram.unit;
}

/// Text with more appended, a dot between them.
void append_note(std::string& note, const std::string& text);
/// Notes the samples that are in no bin: `5 NaN`, `3 Inf`.
void note_non_finite(std::string& note, const PlotPanel& panel);
/// Notes bars that run off the top and have no count beside them.
void note_cut_bars(std::string& note, std::uint64_t bars, double tallest, bool others_are_noted);

/// Draws the numbers of excluded samples, if there are any, at the bottom left of a panel's box, in so many pixels.
void draw_excluded(Canvas& canvas, const PlotPanel& panel, const Look& look, const Box& box, double room);

/// Draws a panel with more bands than distinct lines: each band in a picture of its own, all with the same axes.
void draw_multiples(Canvas& canvas, const PlotPanel& panel, const PlotOptions& options, const Box& box);

}  // namespace gpuhist::io
