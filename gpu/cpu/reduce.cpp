// Images made smaller by the average of areas. An output row first sums up the rows that it covers, which goes sample
// by sample through memory, then, once, the columns of these sums. Areas are counted in parts of a pixel: each input
// pixel has `output sides` parts, each output pixel `input sides`, so that all weights are whole numbers.
#include "gpuhist/reduce.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "core/codes.hpp"
#include "core/integers.hpp"
#include "core/validate.hpp"
#include "cpu/classifier.hpp"
#include "cpu/pixel_source.hpp"
#include "cpu/workers.hpp"
#include "gpuhist/error.hpp"
#include "normalize/depths.hpp"
#include "rules/rules.hpp"

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

/// Calls step(index, parts) for each pixel of a span. A whole pixel has `whole` parts.
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

    /// Sums up rows. `row(y)` is a row; a whole row has `whole` parts.
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

/// Weight that an alpha of floats is.
inline double visible_alpha(double alpha) {
    return alpha > 0 && std::isfinite(alpha) ? alpha : 0;
}

/// Sample of an average in double: of integers halves rounded up.
template <class Sample>
Sample written_real(double v) {
    if constexpr (core::is_real<Sample>)
        return core::rounded_to<Sample>(v);
    else
        return static_cast<Sample>(std::floor(v + 0.5));
}

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
                    if (i % 4 != 3) weight *= visible_alpha(core::value_of(samples[i / 4 * 4 + 3]));
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
            const bool unseen =
                weighting == ReduceWeight::alpha && c != 3 && !(visible_alpha(core::value_of(out[3])) > 0);
            out[c] = written_real<Sample>(weights > 0 ? sum / weights : unseen ? 0 : NAN);
        }
    }

  private:
    std::int64_t samples_;
    int channels_;
    std::vector<double> sums_, weights_;
};

/// Classes of the samples of an image, as its smaller copy takes them.
enum class Taken : std::uint8_t {
    valid,
    excluded,  ///< where no sample is valid
    nodata     ///< where there is no other sample
};

/// Finder of the classes of an image's rows.
class TakenRows {
  public:
    TakenRows(const ImageView& image, const rules::ImageRules& rules, Depth copy)
        : image_(image),
          rules_(rules),
          whole_pixels_(rules.has_alpha() && copy != image.depth),
          row_(static_cast<std::size_t>(image.width * image.channels)),
          classes_(std::make_unique<CopyClasses>()) {}

    const Taken* row(std::int64_t y) {
        Taken* to = row_.data();
        for (std::int64_t x = 0; x < image_.width; x += block_pixels) {
            const int pixels = static_cast<int>(std::min(block_pixels, image_.width - x));
            classify_copied(image_, rules_, y, x, pixels, *classes_);
            for (int i = 0; i < pixels; ++i, to += image_.channels) {
                bool all = true;
                for (int c = 0; c < image_.channels; ++c) {
                    to[c] = taken(classes_->at[c][i]);
                    all = all && !(classes_->at[c][i] & CopyClasses::excluded);
                }
                if (whole_pixels_ && !all && to[3] == Taken::valid) to[3] = Taken::excluded;
                if (to[image_.channels - 1] == Taken::excluded && is_transparent(x + i, y)) to[3] = Taken::valid;
            }
        }
        return row_.data();
    }

  private:
    /// Returns whether a pixel is masked only by its alpha, which is 0. Such alpha enters the average, so edges stay
    /// soft.
    bool is_transparent(std::int64_t x, std::int64_t y) const {
        if (!rules_.alpha_mask().any || (image_.mask && image_.mask[y * image_.mask_row_bytes + x] == 0)) return false;
        return with_depth(image_.depth, [&](auto type) {
            using Sample = decltype(type);
            const auto* const row = static_cast<const std::byte*>(image_.data) + y * image_.row_bytes;
            return core::value_of(reinterpret_cast<const Sample*>(row)[x * image_.channels + 3]) == 0;
        });
    }
    static Taken taken(std::uint8_t is) {
        return is & (CopyClasses::nodata | CopyClasses::nan) ? Taken::nodata
               : is & CopyClasses::excluded                  ? Taken::excluded
                                                             : Taken::valid;
    }

    const ImageView& image_;
    const rules::ImageRules& rules_;
    const bool whole_pixels_;  ///< alpha is excluded with the colors
    std::vector<Taken> row_;
    std::unique_ptr<CopyClasses> classes_;
};

/// Reducer of a copy with excluded samples: sums of the valid samples, and apart from them of others. Those of integers
/// of 8 and 16 bits are exact, as above, of other samples in double.
template <class Sample, ReduceWeight weighting>
class ValidAreas {
  public:
    static constexpr bool exact = !core::is_real<Sample> && sizeof(Sample) <= 2;
    using Part = std::conditional_t<exact, std::uint64_t, double>;
    using Sum = std::conditional_t<exact, core::u128, double>;

    /// `unseen`: value of a color in an area without any visible pixel.
    ValidAreas(const ImageView& image, const rules::ImageRules& rules, Sample unseen)
        : taken_(image, rules, core::depth_of<Sample>()), unseen_(unseen), channels_(image.channels) {
        for (Sums& of : sums_) {
            of.sum.resize(static_cast<std::size_t>(image.width * channels_));
            of.weight.resize(of.sum.size());
        }
        there_.resize(sums_[0].sum.size());
    }

    template <class Row>
    void add_rows(const Span& rows, std::uint64_t whole, const Row& row) {
        for (Sums& of : sums_) {
            std::fill(of.sum.begin(), of.sum.end(), Part{0});
            std::fill(of.weight.begin(), of.weight.end(), Part{0});
        }
        std::fill(there_.begin(), there_.end(), std::uint8_t{0});
        first_row_ = row(rows.begin);
        for_span(rows, whole, [&](std::int64_t y, std::uint64_t parts) {
            const Sample* const samples = row(y);
            const Taken* const taken = taken_.row(y);
            for (std::size_t i = 0; i < there_.size(); ++i) {
                there_[i] |= static_cast<std::uint8_t>(1 << static_cast<int>(taken[i]));
                if (taken[i] == Taken::nodata) continue;
                Part weight = static_cast<Part>(parts);
                if constexpr (weighting == ReduceWeight::alpha)
                    if (i % 4 != 3) weight *= visible(samples[i / 4 * 4 + 3]);
                Sums& of = sums_[static_cast<int>(taken[i])];
                if (weight > 0) of.sum[i] += weight * value_of(samples[i]);
                of.weight[i] += weight;
            }
        });
    }
    void write(const Span& columns, std::uint64_t whole, std::uint64_t, Sample* out) const {
        for (int c = 0; c < channels_; ++c) {
            const auto at = [&](std::int64_t x) { return static_cast<std::size_t>(x * channels_ + c); };
            int there = 0;
            for_span(columns, whole, [&](std::int64_t x, std::uint64_t) { there |= there_[at(x)]; });
            if (!(there & 3)) {
                out[c] = first_row_[at(columns.begin)];
                continue;
            }
            const Sums& of = sums_[there & 1 ? 0 : 1];
            Sum sum = 0, weight = 0;
            for_span(columns, whole, [&](std::int64_t x, std::uint64_t parts) {
                sum += static_cast<Sum>(parts) * of.sum[at(x)];
                weight += static_cast<Sum>(parts) * of.weight[at(x)];
            });
            out[c] = weight > 0 ? average(sum, weight) : unseen_;
        }
    }

  private:
    struct Sums {
        std::vector<Part> sum, weight;
    };

    static Part value_of(Sample v) {
        if constexpr (exact)
            return core::code_of(v);
        else
            return core::value_of(v);
    }
    static Part visible(Sample alpha) {
        if constexpr (exact)
            return core::code_of(alpha);
        else
            return visible_alpha(core::value_of(alpha));
    }
    static Sample average(Sum sum, Sum weight) {
        if constexpr (exact)
            return core::sample_at<Sample>(static_cast<core::Code<Sample>>((sum + weight / 2) / weight));
        else
            return written_real<Sample>(sum / weight);
    }

    TakenRows taken_;
    const Sample unseen_;
    const int channels_;
    std::array<Sums, 2> sums_;         ///< of valid samples, and of excluded ones
    std::vector<std::uint8_t> there_;  ///< bits: which classes there are
    const Sample* first_row_ = nullptr;
};

/// Writes the output by reducers that `make` makes: add_rows() for each of its rows, then write() for each pixel.
template <class Sample, class Make>
void reduce_by(Workers& workers, const ImageView& image, const MutableImageView& output, const Make& make) {
    std::vector<Span> columns;
    for (std::int64_t x = 0; x < output.width; ++x) columns.emplace_back(image.width, output.width, x);
    const auto row = [&](std::int64_t y) { return samples_at<Sample>(image, y, 0); };
    const auto area = static_cast<std::uint64_t>(image.pixels());
    const std::int64_t covered = image.pixels() / output.height;  // by an output row
    const std::int64_t rows = std::max<std::int64_t>(1, tile_pixels / std::max<std::int64_t>(1, covered));
    const std::int64_t alone = image.pixels() < serial_pixels ? output.height + 1 : 0;
    workers.sweep(output.height, rows, alone, workers.threads(), [&](int, std::int64_t begin, std::int64_t end) {
        auto reducer = make();
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

namespace {

/// Throws InvalidArgument where an image cannot be made smaller so.
void validate_smaller(const ImageView& image, const MutableImageView& output, ReduceWeight weight, int threads) {
    core::validate(image);
    core::validate(ImageView(output));
    const auto sides = [](std::int64_t width, std::int64_t height) {
        return std::to_string(width) + " x " + std::to_string(height);
    };
    if (image.width > std::numeric_limits<std::int32_t>::max() ||
        image.height > std::numeric_limits<std::int32_t>::max())
        throw InvalidArgument("image of " + sides(image.width, image.height) + ": both sides must be below 2^31");
    if (output.width > image.width || output.height > image.height)
        throw InvalidArgument("output view of " + sides(output.width, output.height) +
                              ": it must not be larger than the image of " + sides(image.width, image.height));
    if (output.channels != image.channels || output.order != image.order || output.depth != image.depth)
        throw InvalidArgument("output view: it must have the input's channels, order and depth");
    if (image.memory != Memory::host || output.memory != Memory::host)
        throw InvalidArgument("image and output must lie in host memory");
    if (weight == ReduceWeight::alpha && image.channels != 4)
        throw InvalidArgument("an image of " + std::to_string(image.channels) + " channels has no alpha to weigh by");
    if (threads < 1) throw InvalidArgument(std::to_string(threads) + " threads: at least 1");
}

}  // namespace

void reduce(const ImageView& image, const MutableImageView& output, ReduceWeight weight, int threads) {
    validate_smaller(image, output, weight, threads);
    cpu::Workers workers(threads);
    with_depth(image.depth, [&](auto sample) {
        using Sample = decltype(sample);
        constexpr bool narrow = !core::is_real<Sample> && sizeof(Sample) <= 2;
        using Area = std::conditional_t<narrow, cpu::Areas<Sample>, cpu::RealAreas<Sample, ReduceWeight::area>>;
        using Alpha = std::conditional_t<narrow, cpu::AlphaAreas<Sample>, cpu::RealAreas<Sample, ReduceWeight::alpha>>;
        if (weight == ReduceWeight::alpha)
            cpu::reduce_by<Sample>(workers, image, output, [&] { return Alpha(image.width, image.channels); });
        else
            cpu::reduce_by<Sample>(workers, image, output, [&] { return Area(image.width, image.channels); });
    });
}

void reduce_copy(const ImageView& copy, const MutableImageView& output, const ImageView& image,
                 const AnalysisRequest& request, const Normalization& normalization, ReduceWeight weight, int threads) {
    const bool loses_nan = traits_of(image.depth).floating && !traits_of(copy.depth).floating;
    if (rules::all_valid(image, request) && !loses_nan) return reduce(copy, output, weight, threads);
    validate_smaller(copy, output, weight, threads);
    core::validate(image, request);
    core::validate_fill(copy.depth, normalization.fill);
    if (image.width != copy.width || image.height != copy.height || image.channels != copy.channels ||
        image.memory != Memory::host)
        throw InvalidArgument("the copy and its image must lie in host memory and have the same sides and channels");
    const rules::ImageRules rules(image, request.validity.get());
    cpu::Workers workers(threads);
    with_depth(copy.depth, [&](auto sample) {
        using Sample = decltype(sample);
        Sample unseen{};
        if constexpr (!core::is_real<Sample>)
            unseen =
                core::at_level<Sample>(core::levels_of(copy.depth, normalization.fill).clamp(core::code_of(Sample{0})));
        if (weight == ReduceWeight::alpha)
            cpu::reduce_by<Sample>(workers, copy, output,
                                   [&] { return cpu::ValidAreas<Sample, ReduceWeight::alpha>(image, rules, unseen); });
        else
            cpu::reduce_by<Sample>(workers, copy, output,
                                   [&] { return cpu::ValidAreas<Sample, ReduceWeight::area>(image, rules, unseen); });
    });
}

}  // namespace gpuhist
