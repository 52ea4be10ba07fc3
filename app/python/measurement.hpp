/// Measurements: what Python holds of an image that was measured.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpuhist/analysis.hpp"
#include "gpuhist/columns.hpp"
#include "gpuhist/histogram.hpp"
#include "gpuhist/io/report.hpp"
#include "gpuhist/statistics.hpp"

namespace gpuhist::python {

/// Numbers of one channel, of an image or of a set: the class `Statistics` of Python.
struct Row {
    std::string name;  ///< of the channel
    Depth depth = Depth::u8;
    Statistics statistics;
    std::optional<double> white;
    std::uint64_t images = 1;

    /// Row as the columns read it. It refers to this one.
    ColumnRow columns() const;

    friend bool operator==(const Row& a, const Row& b) {
        return a.name == b.name && a.depth == b.depth && a.statistics == b.statistics && a.white == b.white &&
               a.images == b.images;
    }
};

/// Findings in an image, its facts, and what was asked. It never changes once Python has it.
struct Measurement {
    Analysis analysis;
    io::ImageInfo info;
    Percentiles percentiles;             ///< that have a column
    std::optional<double> clip_sigma{};  ///< as in StatisticsRequest
    HistogramOptions histogram;          ///< as asked for
    std::vector<FrequencyTable> values;  ///< f32: of each channel, where they were asked for; else none
    std::vector<Row> rows{};             ///< by `finish`

    /// Numbers that have columns.
    StatisticsRequest asked() const { return {percentiles, clip_sigma}; }
    /// Makes the rows. Throws InvalidArgument as `statistics`.
    void finish() { finish(statistics(analysis, asked(), values)); }
    void finish(std::vector<Statistics> statistics);
    /// Row of a channel, or null.
    const Row* find(const std::string& name) const;
    /// Value of any percentile, in percent, of the channel of a row that is there; absent where it is undefined. Throws
    /// InvalidArgument for an f32 image that was not asked for it.
    std::optional<double> percentile(const Row& row, double percent) const;
    /// Counts of the channel of a row, one per value; of `all`, those of colors and bands together. Throws
    /// InvalidArgument for depths that are not counted by value.
    std::vector<std::uint64_t> counts(const Row& row) const;
    /// Unit of these: see Histogram::unit.
    double unit() const;
    /// Analysis with a count for each value that the type has, where samples are counted so; that of a region has
    /// those values alone that occur, and is made another in `room`.
    const Analysis& counted(Analysis& room) const;
    /// Row of the image as the columns read it. It refers to both.
    ColumnRow columns(const Row& row) const;
};

bool operator==(const Measurement& a, const Measurement& b);

/// Hash, the same of values that are equal.
std::size_t hash_of(const Row& row);
std::size_t hash_of(const Measurement& measurement);

/// Bytes that hold all of a measurement, and what is made of them. Throws InvalidArgument where they are others.
std::string packed(const Measurement& measurement);
Measurement unpacked(const std::string& bytes);
std::string packed(const Row& row);
Row unpacked_row(const std::string& bytes);

}  // namespace gpuhist::python
