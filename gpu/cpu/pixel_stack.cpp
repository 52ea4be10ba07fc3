#include "gpuhist/pixel_stack.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>

#include "core/binary_sums.hpp"
#include "core/codes.hpp"
#include "core/integers.hpp"
#include "core/validate.hpp"
#include "core/wide.hpp"
#include "cpu/classifier.hpp"
#include "cpu/pixel_source.hpp"
#include "cpu/workers.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/request.hpp"
#include "gpuhist/resources.hpp"
#include "rules/rules.hpp"

namespace gpuhist {
namespace {

using core::i128, core::u128;

/// Largest number of images: counts have 32 bits.
constexpr std::uint64_t most_images = 0xFFFFFFFF;

/// std of n samples, from n² times the variance in units of 2^-2·unit.
template <int words>
double std_of(const core::Wide<words>& squares, std::uint64_t n, int unit) {
    if (squares.negative() || squares.bits() == 0) return 0;
    const int half = squares.bits() / 2;
    return std::ldexp(std::sqrt(core::to_double(squares, -2 * half)) / static_cast<double>(n), half - unit);
}

/// Σx and Σx² of the samples of a pixel.
template <class Sample>
struct Sums {
    static constexpr bool narrow = sizeof(Sample) <= 2;
    using Sum = std::conditional_t<std::is_signed_v<Sample> || narrow, std::int64_t, std::uint64_t>;
    using Squares = std::conditional_t<narrow, std::uint64_t, u128>;
    Squares squares;
    Sum sum;

    void add(Sample sample) {
        const auto value = static_cast<std::int64_t>(sample);
        const auto magnitude = static_cast<std::uint64_t>(value < 0 ? -value : value);
        sum += static_cast<Sum>(value);
        squares += magnitude * magnitude;
    }
    void add(const Sums& more) {
        sum += more.sum;
        squares += more.squares;
    }
    double mean(std::uint64_t n) const { return core::ratio(static_cast<i128>(sum), n); }
    double std(std::uint64_t n) const {
        return core::exact_moments<u128>(n, static_cast<i128>(sum), static_cast<u128>(squares)).std();
    }
};

/// Likewise of f16, in units of 2^-24 and 2^-48.
template <>
struct Sums<Half> {
    i128 sum;
    u128 squares;

    void add(Half sample) {
        const auto value = static_cast<std::int64_t>(core::to_float(sample) * 0x1p24f);
        sum += value;
        squares += static_cast<u128>(static_cast<i128>(value) * value);
    }
    void add(const Sums& more) {
        sum += more.sum;
        squares += more.squares;
    }
    double mean(std::uint64_t n) const { return core::ratio(sum, n) * 0x1p-24; }
    double std(std::uint64_t n) const {
        using Wide = core::Wide<4>;
        return std_of(Wide(n) * Wide(squares) - Wide(sum) * Wide(sum), n, 24);
    }
};

/// Likewise of f32 and f64, in units of their smallest number and of its square, in two's complement. There is room
/// for 2^32 samples, and for a sign.
template <class Sample>
struct FloatSums {
    static constexpr int unit = core::binary_unit<Sample>, sum_words = sizeof(Sample) == 4 ? 5 : 34,
                         square_words = sizeof(Sample) == 4 ? 10 : 67;
    std::array<std::uint64_t, sum_words> sum;
    std::array<std::uint64_t, square_words> squares;

    void add(Sample sample) {
        const core::Binary parts = core::binary_of(sample);
        core::add_shifted(sum.data(), sum_words, parts.mantissa, parts.shift, parts.negative);
        core::add_shifted(squares.data(), square_words, static_cast<u128>(parts.mantissa) * parts.mantissa,
                          2 * parts.shift, false);
    }
    void add(const FloatSums& more) {
        core::add_words(sum.data(), more.sum.data(), sum_words);
        core::add_words(squares.data(), more.squares.data(), square_words);
    }
    double mean(std::uint64_t n) const { return core::ratio(core::Wide<sum_words>(sum), n, -unit); }
    double std(std::uint64_t n) const {
        using Wide = core::Wide<square_words + 2>;
        const Wide first{core::Wide<sum_words>(sum)};
        return std_of(Wide(n) * Wide(core::Wide<square_words>(squares)) - first * first, n, unit);
    }
};
template <>
struct Sums<float> : FloatSums<float> {};
template <>
struct Sums<double> : FloatSums<double> {};

/// Findings about a pixel. Memory that is zero is without samples.
template <class Sample>
struct Pixel {
    Sums<Sample> sums;
    std::uint32_t count;
    core::Code<Sample> min, max;

    void add(Sample sample) {
        const core::Code<Sample> code = core::code_of(sample);
        min = count == 0 ? code : std::min(min, code);
        max = count == 0 ? code : std::max(max, code);
        ++count;
        sums.add(sample);
    }
    void add(const Pixel& more) {
        if (more.count == 0) return;
        min = count == 0 ? more.min : std::min(min, more.min);
        max = count == 0 ? more.max : std::max(max, more.max);
        count += more.count;
        sums.add(more.sums);
    }
};

template <class Sample>
bool is_finite(Sample sample) {
    if constexpr (core::is_real<Sample>)
        return std::isfinite(core::value_of(sample));
    else
        return true;
}

void validate_shape(const PixelStack::Shape& shape) {
    if (shape.width < 1 || shape.rows < 1 || shape.channels < 1 || shape.channels > most_channels)
        throw InvalidArgument("stack of " + std::to_string(shape.width) + " x " + std::to_string(shape.rows) +
                              " pixels with " + std::to_string(shape.channels) + " channels: at least 1, and at most " +
                              std::to_string(most_channels) + " channels");
}

}  // namespace

struct PixelStack::Implementation {
    Implementation(const Shape& of, std::uint64_t most, int threads)
        : shape(of),
          samples(static_cast<std::size_t>(of.width * of.rows * of.channels)),
          images(most),
          workers(threads > 0 ? threads : available_threads()) {}
    virtual ~Implementation() = default;

    virtual void add_rows(const std::vector<StackLayer>& layers,
                          const std::vector<std::optional<rules::ImageRules>>& rules) = 0;
    virtual const void* sums() const = 0;
    virtual std::uint64_t sums_bytes() const = 0;
    virtual void add_sums(const void* sums) = 0;
    virtual void write(StackStatistic statistic, const MutableImageView& to, double empty) = 0;
    virtual void read(double* means, std::uint8_t* constant) = 0;

    const Shape shape;
    const std::size_t samples;
    const std::uint64_t images;  ///< 0: no medians
    cpu::Workers workers;
};

namespace {

template <class Sample>
class StackOf final : public PixelStack::Implementation {
  public:
    StackOf(const PixelStack::Shape& of, std::uint64_t most, int threads)
        : Implementation(of, most, threads), pixels_(samples) {
        std::memset(static_cast<void*>(pixels_.data()), 0, samples * sizeof(Pixel<Sample>));
        codes_.resize(samples * most);
        if (most > 0) filled_.resize(samples);
    }

    void add_rows(const std::vector<StackLayer>& layers,
                  const std::vector<std::optional<rules::ImageRules>>& rules) override {
        const std::int64_t width = shape.width;
        workers.sweep_rows(shape.rows, width * static_cast<std::int64_t>(layers.size()),
                           [&](int, std::int64_t begin, std::int64_t end) {
                               const auto classes = std::make_unique<cpu::BlockClasses>();
                               for (std::int64_t row = begin; row < end; ++row)
                                   for (std::size_t i = 0; i < layers.size(); ++i) {
                                       const StackLayer& layer = layers[i];
                                       const std::int64_t own = row - layer.row;
                                       if (own < 0 || own >= layer.view.height) continue;
                                       for (std::int64_t x = 0; x < width; x += cpu::block_pixels)
                                           add_block(layer.view, rules[i] ? &*rules[i] : nullptr, row, own, x,
                                                     static_cast<int>(std::min(cpu::block_pixels, width - x)),
                                                     *classes);
                                   }
                           });
    }

    const void* sums() const override { return pixels_.data(); }
    std::uint64_t sums_bytes() const override { return samples * sizeof(Pixel<Sample>); }
    void add_sums(const void* sums) override {
        const auto* bytes = static_cast<const std::byte*>(sums);
        each_row([&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
                Pixel<Sample> more;
                std::memcpy(static_cast<void*>(&more), bytes + i * sizeof more, sizeof more);
                pixels_[i].add(more);
            }
        });
    }

    void write(StackStatistic statistic, const MutableImageView& to, double empty) override {
        switch (statistic) {
            case StackStatistic::mean:
                return write_real(to, [](const Pixel<Sample>& pixel) { return pixel.sums.mean(pixel.count); });
            case StackStatistic::std:
                return write_real(to, [](const Pixel<Sample>& pixel) { return pixel.sums.std(pixel.count); });
            case StackStatistic::min:
                return write_codes(to, empty, [&](std::size_t i) { return pixels_[i].min; });
            case StackStatistic::max:
                return write_codes(to, empty, [&](std::size_t i) { return pixels_[i].max; });
            case StackStatistic::count:
                return write_samples<std::uint32_t>(to, [&](std::size_t i) { return pixels_[i].count; });
            case StackStatistic::median:
                return write_codes(to, empty, [&](std::size_t i) {
                    auto* const first = codes_.data() + i * images;
                    auto* const middle = first + (pixels_[i].count - 1) / 2;
                    std::nth_element(first, middle, first + pixels_[i].count);
                    return *middle;
                });
        }
    }

    void read(double* means, std::uint8_t* constant) override {
        each_row([&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
                const Pixel<Sample>& pixel = pixels_[i];
                means[i] = pixel.count > 0 ? pixel.sums.mean(pixel.count) : std::numeric_limits<double>::quiet_NaN();
                constant[i] = pixel.count > 1 && pixel.min == pixel.max;
            }
        });
    }

  private:
    void add_block(const ImageView& view, const rules::ImageRules* rules, std::int64_t row, std::int64_t own,
                   std::int64_t column, int pixels, cpu::BlockClasses& classes) {
        if (rules) cpu::classify_block(view, *rules, own, column, pixels, classes);
        const Sample* const from = cpu::samples_at<Sample>(view, own, column);
        const auto channels = static_cast<std::size_t>(view.channels);
        const std::size_t first = static_cast<std::size_t>(row * shape.width + column) * channels;
        for (std::size_t i = 0, sample = 0; i < static_cast<std::size_t>(pixels); ++i)
            for (std::size_t c = 0; c < channels; ++c, ++sample) {
                if (rules && (!classes.unmasked[i] || classes.nodata[c][i])) continue;
                if (!is_finite(from[sample])) continue;
                if (images > 0)
                    codes_[(first + sample) * images + filled_[first + sample]++] = core::code_of(from[sample]);
                pixels_[first + sample].add(from[sample]);
            }
    }

    /// Calls body(begin, end) for ranges of samples, from all workers.
    template <class Body>
    void each_row(const Body& body) {
        const std::int64_t row = shape.width * shape.channels;
        workers.sweep_rows(shape.rows, row, [&](int, std::int64_t begin, std::int64_t end) {
            body(static_cast<std::size_t>(begin * row), static_cast<std::size_t>(end * row));
        });
    }
    template <class Out, class Value>
    void write_samples(const MutableImageView& to, const Value& value) {
        const auto row = static_cast<std::size_t>(shape.width * shape.channels);
        each_row([&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i)
                cpu::samples_at<Out>(to, static_cast<std::int64_t>(i / row), 0)[i % row] = value(i);
        });
    }
    template <class Value>
    void write_real(const MutableImageView& to, const Value& value) {
        using Real = std::conditional_t<traits_of(core::depth_of<Sample>()).real == Depth::f64, double, float>;
        write_samples<Real>(to, [&](std::size_t i) {
            return pixels_[i].count > 0 ? static_cast<Real>(value(pixels_[i])) : std::numeric_limits<Real>::quiet_NaN();
        });
    }
    template <class Value>
    void write_codes(const MutableImageView& to, double empty, const Value& value) {
        Sample none{};
        if constexpr (core::is_real<Sample>)
            none = core::rounded_to<Sample>(std::numeric_limits<double>::quiet_NaN());
        else
            none = static_cast<Sample>(empty);
        write_samples<Sample>(
            to, [&](std::size_t i) { return pixels_[i].count > 0 ? core::sample_at<Sample>(value(i)) : none; });
    }

    std::vector<Pixel<Sample>> pixels_;
    std::vector<core::Code<Sample>> codes_;  ///< of all valid samples of each pixel
    std::vector<std::uint32_t> filled_;
};

}  // namespace

PixelStack::PixelStack(const Shape& shape, std::uint64_t images, int threads) {
    validate_shape(shape);
    if (images > most_images) throw InvalidArgument("a stack has at most " + std::to_string(most_images) + " images");
    with_depth(shape.depth, [&](auto sample) {
        implementation_ = std::make_unique<StackOf<decltype(sample)>>(shape, images, threads);
    });
}
PixelStack::PixelStack(PixelStack&&) noexcept = default;
PixelStack& PixelStack::operator=(PixelStack&&) noexcept = default;
PixelStack::~PixelStack() = default;

std::uint64_t PixelStack::bytes_per_sample(Depth depth, std::uint64_t images) {
    return with_depth(depth, [&](auto sample) -> std::uint64_t {
        return sizeof(Pixel<decltype(sample)>) + (images > 0 ? images * sizeof sample + sizeof(std::uint32_t) : 0);
    });
}

void PixelStack::add(const std::vector<StackLayer>& layers) {
    const Shape& shape = implementation_->shape;
    std::vector<std::optional<rules::ImageRules>> rules(layers.size());
    for (std::size_t i = 0; i < layers.size(); ++i) {
        const ImageView& view = layers[i].view;
        core::validate_sides(view);
        if (view.memory != Memory::host) throw InvalidArgument("images of a stack must be in host memory");
        if (view.width != shape.width || view.channels != shape.channels || view.depth != shape.depth)
            throw InvalidArgument("image of " + std::to_string(view.width) + " columns, " +
                                  std::to_string(view.channels) + " channels and " + to_string(view.depth) +
                                  " samples: the stack has " + std::to_string(shape.width) + ", " +
                                  std::to_string(shape.channels) + " and " + to_string(shape.depth));
        if (view.mask || layers[i].validity) rules[i].emplace(view, layers[i].validity);
    }
    implementation_->add_rows(layers, rules);
}

const void* PixelStack::sums() const {
    return implementation_->sums();
}
std::uint64_t PixelStack::sums_bytes() const {
    return implementation_->sums_bytes();
}
void PixelStack::add_sums(const void* sums) {
    implementation_->add_sums(sums);
}

void PixelStack::write(StackStatistic statistic, const MutableImageView& to, double empty) const {
    const Shape& shape = implementation_->shape;
    if (to.width != shape.width || to.height != shape.rows || to.channels != shape.channels ||
        to.depth != stack_depth(statistic, shape.depth) || to.memory != Memory::host)
        throw InvalidArgument(std::string("image of the ") + to_string(statistic) +
                              " of a stack: it needs the sides and channels of the stack, in host memory, and " +
                              to_string(stack_depth(statistic, shape.depth)) + " samples");
    if (statistic == StackStatistic::median && implementation_->images == 0)
        throw InvalidArgument("median of a stack: ask for it when the stack is made, by its number of images");
    implementation_->write(statistic, to, empty);
}

void PixelStack::read(double* means, std::uint8_t* constant) const {
    implementation_->read(means, constant);
}

}  // namespace gpuhist
