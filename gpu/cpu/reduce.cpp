// Images made smaller by the average of areas. An output row first sums up the rows that it covers, which goes sample
// by sample through memory, then, once, the columns of these sums. Areas are counted in parts of a pixel: each input
// pixel has `output sides` parts, each output pixel `input sides`, so that all weights are whole numbers.
#include "gpuhist/reduce.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "core/codes.hpp"
#include "core/integers.hpp"
#include "core/validate.hpp"
#include "cpu/pixel_source.hpp"
#include "cpu/workers.hpp"
#include "gpuhist/error.hpp"
#include "normalize/depths.hpp"

namespace gpuhist {
namespace cpu {
namespace {

/// Span of input pixels [begin, end) that an output pixel covers along a side, and the parts of the first and the last;
/// those between are covered whole. Of one pixel `first` are its parts.
struct Span {
    std::int64_t begin, end;
    std::uint64_t first, last;

    Span(std::int64_t input, std::int64_t output, std::int64_t at) {
        const std::int64_t low = at * input, high = low + input;
        begin = low / output;
        end = (high + output - 1) / output;
        first = static_cast<std::uint64_t>(std::min((begin + 1) * output, high) - low);
        last = static_cast<std::uint64_t>(high - (end - 1) * output);
    }
};

/// Calls step(index, parts) for each pixel of a span, of which a whole one has `whole` parts.
template <class Step>
void for_span(const Span& span, std::uint64_t whole, const Step& step) {
    step(span.begin, span.first);
    for (std::int64_t i = span.begin + 1; i < span.end - 1; ++i) step(i, whole);
    if (span.end - span.begin > 1) step(span.end - 1, span.last);
}

/// Rows that 32 bits hold the sums of.
constexpr std::int64_t short_rows = std::int64_t{1} << 16;

template <class Sample>
GPUHIST_SIMD void add_row(const Sample* row, std::int64_t samples, std::uint32_t* sums) {
    for (std::int64_t i = 0; i < samples; ++i) sums[i] += core::code_of(row[i]);
}
template <class Sample>
GPUHIST_SIMD void add_row(const Sample* row, std::int64_t samples, std::uint32_t parts, std::uint64_t* sums) {
    for (std::int64_t i = 0; i < samples; ++i) sums[i] += std::uint64_t{parts} * core::code_of(row[i]);
}
GPUHIST_SIMD void add_sums(const std::uint32_t* row, std::int64_t samples, std::uint32_t parts, std::uint64_t* sums) {
    for (std::int64_t i = 0; i < samples; ++i) sums[i] += std::uint64_t{parts} * row[i];
}

/// Sample whose code is a / b, halves rounded up.
template <class Sample, class Sum>
Sample rounded(Sum a, std::uint64_t b) {
    return core::sample_at<Sample>(static_cast<core::Code<Sample>>((a + b / 2) / b));
}

/// Reducer of integers of 8 or 16 bits, by their codes. All sums are below 2^63: samples have 16 bits, images fewer
/// than 2^47 pixels.
template <class Sample>
class Areas {
  public:
    Areas(std::int64_t width, int channels)
        : samples_(width * channels), channels_(channels), whole_(samples_), sums_(samples_) {}

    /// Sums up rows: `row(y)` is one, of which a whole one counts `whole` times.
    template <class Row>
    void add_rows(const Span& rows, std::uint64_t whole, const Row& row) {
        std::fill(sums_.begin(), sums_.end(), 0);
        const auto add = [&](std::int64_t y, std::uint64_t parts) {
            add_row(row(y), samples_, static_cast<std::uint32_t>(parts), sums_.data());
        };
        add(rows.begin, rows.first);
        for (std::int64_t y = rows.begin + 1; y < rows.end - 1;) {
            std::fill(whole_.begin(), whole_.end(), 0);
            for (const std::int64_t end = std::min(rows.end - 1, y + short_rows); y < end; ++y)
                add_row(row(y), samples_, whole_.data());
            add_sums(whole_.data(), samples_, static_cast<std::uint32_t>(whole), sums_.data());
        }
        if (rows.end - rows.begin > 1) add(rows.end - 1, rows.last);
    }
    void write(const Span& columns, std::uint64_t whole, std::uint64_t area, Sample* out) const {
        for (int c = 0; c < channels_; ++c) {
            const std::uint64_t* const sums = sums_.data() + c;
            std::uint64_t between = 0;
            for (std::int64_t x = columns.begin + 1; x < columns.end - 1; ++x) between += sums[x * channels_];
            std::uint64_t sum = columns.first * sums[columns.begin * channels_] + whole * between;
            if (columns.end - columns.begin > 1) sum += columns.last * sums[(columns.end - 1) * channels_];
            out[c] = rounded<Sample>(sum, area);
        }
    }

  private:
    std::int64_t samples_;
    int channels_;
    std::vector<std::uint32_t> whole_;
    std::vector<std::uint64_t> sums_;
};

/// Reducer of integers whose colors are weighted by alpha, the fourth channel.
template <class Sample>
class AlphaAreas {
  public:
    AlphaAreas(std::int64_t width, int) : pixels_(width), sums_(4 * width) {}

    template <class Row>
    void add_rows(const Span& rows, std::uint64_t whole, const Row& row) {
        std::fill(sums_.begin(), sums_.end(), 0);
        for_span(rows, whole, [&](std::int64_t y, std::uint64_t parts) {
            const Sample* pixel = row(y);
            for (std::uint64_t *sum = sums_.data(), *end = sum + 4 * pixels_; sum != end; sum += 4, pixel += 4) {
                const std::uint64_t weight = parts * core::code_of(pixel[3]);
                for (int c = 0; c < 3; ++c) sum[c] += weight * core::code_of(pixel[c]);
                sum[3] += weight;
            }
        });
    }
    void write(const Span& columns, std::uint64_t whole, std::uint64_t area, Sample* out) const {
        core::u128 colors[3] = {};
        std::uint64_t alpha = 0;
        for_span(columns, whole, [&](std::int64_t x, std::uint64_t parts) {
            const std::uint64_t* const sum = sums_.data() + 4 * x;
            for (int c = 0; c < 3; ++c) colors[c] += core::u128{parts} * sum[c];
            alpha += parts * sum[3];
        });
        for (int c = 0; c < 3; ++c) out[c] = alpha == 0 ? Sample{0} : rounded<Sample>(colors[c], alpha);
        out[3] = rounded<Sample>(alpha, area);
    }

  private:
    std::int64_t pixels_;
    std::vector<std::uint64_t> sums_;
};

/// Reducer of any other samples, in double.
template <class Sample, ReduceWeight weighting>
class RealAreas {
  public:
    RealAreas(std::int64_t width, int channels)
        : samples_(width * channels), channels_(channels), sums_(samples_), weights_(samples_) {}

    template <class Row>
    void add_rows(const Span& rows, std::uint64_t whole, const Row& row) {
        std::fill(sums_.begin(), sums_.end(), 0.0);
        std::fill(weights_.begin(), weights_.end(), 0.0);
        for_span(rows, whole, [&](std::int64_t y, std::uint64_t parts) {
            const Sample* const samples = row(y);
            const auto area = static_cast<double>(parts);
            for (std::int64_t i = 0; i < samples_; ++i) {
                double weight = area;
                if constexpr (weighting == ReduceWeight::alpha)
                    if (i % 4 != 3) weight *= visible(core::value_of(samples[i / 4 * 4 + 3]));
                const double v = core::value_of(samples[i]);
                sums_[i] += v == v && weight > 0 ? weight * v : 0;
                weights_[i] += v == v ? weight : 0;
            }
        });
    }
    void write(const Span& columns, std::uint64_t whole, std::uint64_t, Sample* out) const {
        for (int c = channels_ - 1; c >= 0; --c) {
            double sum = 0, weights = 0;
            for_span(columns, whole, [&](std::int64_t x, std::uint64_t parts) {
                sum += static_cast<double>(parts) * sums_[x * channels_ + c];
                weights += static_cast<double>(parts) * weights_[x * channels_ + c];
            });
            const bool unseen = weighting == ReduceWeight::alpha && c != 3 && !(visible(core::value_of(out[3])) > 0);
            out[c] = written(weights > 0 ? sum / weights : unseen ? 0 : NAN);
        }
    }

  private:
    static double visible(double alpha) { return alpha > 0 && std::isfinite(alpha) ? alpha : 0; }
    static Sample written(double v) {
        if constexpr (core::is_real<Sample>)
            return core::rounded_to<Sample>(v);
        else
            return static_cast<Sample>(std::floor(v + 0.5));
    }

    std::int64_t samples_;
    int channels_;
    std::vector<double> sums_, weights_;
};

/// Writes the output by a reducer: add_rows() for each of its rows, then write() for each pixel.
template <class Sample, class Reducer>
void reduce_by(Workers& workers, const ImageView& image, const MutableImageView& output) {
    std::vector<Span> columns;
    for (std::int64_t x = 0; x < output.width; ++x) columns.emplace_back(image.width, output.width, x);
    const auto row = [&](std::int64_t y) { return samples_at<Sample>(image, y, 0); };
    const auto area = static_cast<std::uint64_t>(image.pixels());
    const std::int64_t covered = image.pixels() / output.height;  // by an output row
    const std::int64_t rows = std::max<std::int64_t>(1, tile_pixels / std::max<std::int64_t>(1, covered));
    const std::int64_t alone = image.pixels() < serial_pixels ? output.height + 1 : 0;
    workers.sweep(output.height, rows, alone, workers.threads(), [&](int, std::int64_t begin, std::int64_t end) {
        Reducer reducer(image.width, image.channels);
        for (std::int64_t y = begin; y < end; ++y) {
            reducer.add_rows(Span(image.height, output.height, y), static_cast<std::uint64_t>(output.height), row);
            Sample* out = samples_at<Sample>(output, y, 0);
            for (const Span& span : columns) {
                reducer.write(span, static_cast<std::uint64_t>(output.width), area, out);
                out += image.channels;
            }
        }
    });
}

}  // namespace
}  // namespace cpu

Sides reduced_sides(const Sides& sides, std::int64_t longest) {
    const std::int64_t most = std::max(sides.width, sides.height);
    if (most <= longest) return sides;
    const auto reduced = [&](std::int64_t side) {
        return std::max<std::int64_t>(1, (2 * side * longest + most) / (2 * most));
    };
    return {reduced(sides.width), reduced(sides.height)};
}

void reduce(const ImageView& image, const MutableImageView& output, ReduceWeight weight, int threads) {
    core::validate(image);
    core::validate(ImageView(output));
    const auto sides = [](std::int64_t width, std::int64_t height) {
        return std::to_string(width) + " x " + std::to_string(height);
    };
    if (image.width > std::numeric_limits<std::int32_t>::max() ||
        image.height > std::numeric_limits<std::int32_t>::max())
        throw InvalidArgument("image of " + sides(image.width, image.height) +
                              ": it is made smaller where both are below 2^31");
    if (output.width > image.width || output.height > image.height)
        throw InvalidArgument("output view of " + sides(output.width, output.height) + ": the image of " +
                              sides(image.width, image.height) + " is only made smaller");
    if (output.channels != image.channels || output.order != image.order || output.depth != image.depth)
        throw InvalidArgument("output view: it must have the input's channels, order and depth");
    if (image.memory != Memory::host || output.memory != Memory::host)
        throw InvalidArgument("an image is made smaller in host memory");
    if (weight == ReduceWeight::alpha && image.channels != 4)
        throw InvalidArgument("an image of " + std::to_string(image.channels) + " channels has no alpha to weigh by");
    if (threads < 1) throw InvalidArgument(std::to_string(threads) + " threads: at least 1");
    cpu::Workers workers(threads);
    with_depth(image.depth, [&](auto sample) {
        using Sample = decltype(sample);
        constexpr bool narrow = !core::is_real<Sample> && sizeof(Sample) <= 2;
        using Area = std::conditional_t<narrow, cpu::Areas<Sample>, cpu::RealAreas<Sample, ReduceWeight::area>>;
        using Alpha = std::conditional_t<narrow, cpu::AlphaAreas<Sample>, cpu::RealAreas<Sample, ReduceWeight::alpha>>;
        if (weight == ReduceWeight::alpha)
            cpu::reduce_by<Sample, Alpha>(workers, image, output);
        else
            cpu::reduce_by<Sample, Area>(workers, image, output);
    });
}

}  // namespace gpuhist
