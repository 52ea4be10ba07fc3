#include "gpuhist/joint.hpp"

#include <algorithm>
#include <charconv>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <limits>
#include <mutex>
#include <sstream>

#include "core/binary_sums.hpp"
#include "core/bins.hpp"
#include "core/channels.hpp"
#include "core/codes.hpp"
#include "core/luma.hpp"
#include "core/validate.hpp"
#include "core/wide.hpp"
#include "cpu/classifier.hpp"
#include "cpu/pixel_source.hpp"
#include "cpu/workers.hpp"
#include "gpuhist/analysis.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/resources.hpp"
#include "rules/rules.hpp"

namespace gpuhist {
namespace {

using core::i128;

constexpr std::uint32_t no_bin = 0xFFFFFFFF;
constexpr int unit = core::binary_unit<double>;

/// Largest number of bins, of both channels together, for which each thread has counts of its own.
constexpr std::uint64_t most_own_counts = std::uint64_t{1} << 20;

/// Samples of one channel in a block of pixels.
struct Block {
    double values[cpu::block_pixels];
    std::uint32_t bins[cpu::block_pixels];
    std::uint8_t valid[cpu::block_pixels];
};

/// Bins of an axis.
class AxisBins {
  public:
    AxisBins(const JointAxis& axis, std::uint32_t bins)
        : range_(axis.range),
          closed_(axis.closed || axis.range.upper == std::numeric_limits<double>::max()),
          whole_(!traits_of(axis.depth).floating),
          bins_(bins) {
        const std::uint32_t values = traits_of(axis.depth).values;
        table_.reserve(values);
        for (std::uint32_t code = 0; code < values; ++code) {
            const double value = core::value_at(axis.depth, code);
            table_.push_back(std::isfinite(value) ? bin_of(value) : no_bin);
        }
    }
    /// Bin of a finite sample; no_bin: it is outside.
    template <class Sample>
    std::uint32_t operator()(core::Code<Sample> code, double value) const {
        if constexpr (sizeof(Sample) <= 2) return table_[code];
        return bin_of(value);
    }

  private:
    static std::int64_t halves(double value) { return static_cast<std::int64_t>(2 * value); }
    std::uint32_t bin_of(double value) const {
        if (value < range_.lower || value > range_.upper || (value == range_.upper && !closed_)) return no_bin;
        if (whole_) {
            const std::int64_t lower = halves(range_.lower), width = halves(range_.upper) - lower;
            return static_cast<std::uint32_t>(
                std::min<i128>(static_cast<i128>(halves(value) - lower) * bins_ / width, bins_ - 1));
        }
        const double share = (value / 2 - range_.lower / 2) / (range_.upper / 2 - range_.lower / 2);
        auto bin = static_cast<std::uint32_t>(std::min(share * bins_, static_cast<double>(bins_ - 1)));
        while (bin > 0 && value < core::any_bin_edge(range_, bins_, bin)) --bin;
        while (bin + 1 < bins_ && value >= core::any_bin_edge(range_, bins_, bin + 1)) ++bin;
        return bin;
    }

    Range range_;
    bool closed_, whole_;
    std::uint32_t bins_;
    std::vector<std::uint32_t> table_;  ///< by code, of samples of 8 and 16 bits
};

/// Reader of the samples of a channel.
class ChannelReader {
  public:
    explicit ChannelReader(const JointChannel& channel) : channel_(channel) {
        core::validate(channel.view);
        if (channel.view.memory != Memory::host)
            throw InvalidArgument("joint histogram: images must be in host memory");
        if (channel.position < -1 || channel.position >= channel.view.channels)
            throw InvalidArgument("joint histogram: no channel " + std::to_string(channel.position));
        if (channel.position < 0 && core::colors_of(channel.view) == 0)
            throw InvalidArgument("joint histogram: luma needs colors, or gray");
        if (channel.view.mask || channel.validity) rules_.emplace(channel.view, channel.validity);
    }
    const ImageView& view() const { return channel_.view; }

    /// Reads a block of at most `block_pixels` pixels. `bins`: of the axis; null: none are found.
    void read(std::int64_t row, std::int64_t column, int pixels, const AxisBins* bins, cpu::BlockClasses& classes,
              Block& block) const {
        if (rules_) cpu::classify_block(channel_.view, *rules_, row, column, pixels, classes);
        with_depth(channel_.view.depth, [&](auto type) {
            read_samples(cpu::samples_at<decltype(type)>(channel_.view, row, column), pixels, bins, classes, block);
        });
    }

  private:
    template <class Sample>
    void read_samples(const Sample* samples, int pixels, const AxisBins* bins, const cpu::BlockClasses& classes,
                      Block& block) const {
        const ImageView& view = channel_.view;
        const bool luma = channel_.position < 0 && core::colors_of(view) == 3;
        const int first = luma ? 0 : std::max(channel_.position, 0), end = luma ? 3 : first + 1;
        const core::Positions at(view.order);
        for (int i = 0; i < pixels; ++i, samples += view.channels) {
            bool valid = !rules_ || classes.unmasked[i];
            for (int c = first; c < end; ++c) {
                if (rules_) valid = valid && !classes.nodata[c][i];
                if constexpr (core::is_real<Sample>) valid = valid && std::isfinite(core::value_of(samples[c]));
            }
            block.valid[i] = 0;
            if (!valid) continue;
            const core::Code<Sample> code =
                luma ? core::luma_code<Sample>(core::code_of(samples[at.red]), core::code_of(samples[at.green]),
                                               core::code_of(samples[at.blue]))
                     : core::code_of(samples[first]);
            const double value = core::value_of(core::sample_at<Sample>(code));
            if (!std::isfinite(value)) continue;  // luma of large floats
            block.valid[i] = 1;
            block.values[i] = value;
            if (bins) block.bins[i] = bins->operator()<Sample>(code, value);
        }
    }

    const JointChannel& channel_;
    std::optional<rules::ImageRules> rules_;
};

/// Sums of the powers and products of samples, in two's complement. `Sums` is the struct of JointHistogram.
template <class Sums>
void add_sums(Sums& sums, const Block& x, const Block& y, int pixels, bool whole) {
    constexpr int words = std::tuple_size_v<typename std::decay_t<decltype(sums.x[0])>>,
                  wide = std::tuple_size_v<typename std::decay_t<decltype(sums.products[0])>>;
    if (whole) {
        i128 first = 0, second = 0, xx = 0, yy = 0, xy = 0;
        for (int i = 0; i < pixels; ++i) {
            if (!x.valid[i] || !y.valid[i]) continue;
            const auto a = static_cast<std::int64_t>(x.values[i]), b = static_cast<std::int64_t>(y.values[i]);
            first += a;
            second += b;
            xx += static_cast<i128>(a) * a;
            yy += static_cast<i128>(b) * b;
            xy += static_cast<i128>(a) * b;
        }
        core::add_shifted(sums.x[0].data(), words, first, unit);
        core::add_shifted(sums.x[1].data(), words, second, unit);
        core::add_shifted(sums.products[0].data(), wide, xx, 2 * unit);
        core::add_shifted(sums.products[1].data(), wide, yy, 2 * unit);
        core::add_shifted(sums.products[2].data(), wide, xy, 2 * unit);
        return;
    }
    for (int i = 0; i < pixels; ++i) {
        if (!x.valid[i] || !y.valid[i]) continue;
        const core::Binary a = core::binary_of(x.values[i]), b = core::binary_of(y.values[i]);
        const auto product = [&](auto& to, const core::Binary& one, const core::Binary& other) {
            core::add_shifted(to.data(), wide, static_cast<core::u128>(one.mantissa) * other.mantissa,
                              one.shift + other.shift, one.negative != other.negative);
        };
        core::add_shifted(sums.x[0].data(), words, a.mantissa, a.shift, a.negative);
        core::add_shifted(sums.x[1].data(), words, b.mantissa, b.shift, b.negative);
        product(sums.products[0], a, a);
        product(sums.products[1], b, b);
        product(sums.products[2], a, b);
    }
}

/// n Σab − Σa Σb.
template <int words, class Product, class Sum>
core::Wide<words> centered(std::uint64_t n, const Product& products, const Sum& a, const Sum& b) {
    using Wide = core::Wide<words>;
    constexpr int sum_words = std::tuple_size_v<Sum>;
    return Wide(n) * Wide(products) - Wide(core::Wide<sum_words>(a)) * Wide(core::Wide<sum_words>(b));
}

std::string text_of(double value) {
    std::array<char, 40> text{};
    return std::string(text.data(), static_cast<std::size_t>(std::snprintf(text.data(), text.size(), "%a", value)));
}

/// Reader of the words of a text.
class Words {
  public:
    explicit Words(const std::string& text) : stream_(text) {}
    std::string next() {
        std::string word;
        if (!(stream_ >> word)) fail();
        return word;
    }
    std::uint64_t number(int base = 10) {
        const std::string word = next();
        std::uint64_t value = 0;
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, base);
        if (error != std::errc() || end != word.data() + word.size()) fail();
        return value;
    }
    double real() {
        const std::string word = next();
        char* end = nullptr;
        const double value = std::strtod(word.c_str(), &end);
        if (*end != '\0' || !std::isfinite(value)) fail();
        return value;
    }
    bool ended() { return (stream_ >> std::ws).eof(); }
    [[noreturn]] static void fail() { throw InvalidArgument("text that is not a joint histogram"); }

  private:
    std::istringstream stream_;
};

}  // namespace

std::optional<int> joint_position(const ImageView& view, const std::vector<std::string>& names, std::string_view name) {
    for (std::size_t i = 0; i < names.size(); ++i)
        if (names[i] == name) return static_cast<int>(i);
    if (name == to_string(Channel::luma) && core::colors_of(view) > 0) return core::colors_of(view) == 3 ? -1 : 0;
    int number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    const bool whole = error == std::errc() && end == name.data() + name.size() && number >= 0;
    if (!whole || number >= static_cast<int>(names.size())) return std::nullopt;
    if (core::colors_of(view) != 3 || number > 2) return number;
    const core::Positions at(view.order);
    return number == 0 ? at.red : number == 1 ? at.green : at.blue;
}

JointAxis joint_axis(const JointChannel& channel, const std::optional<Range>& range, int threads) {
    const DepthTraits& traits = traits_of(channel.view.depth);
    JointAxis axis{traits.depth, {}, false};
    if (range) {
        core::validate(*range);
        constexpr double limit = 0x1p53;
        const auto whole = [&](double value) { return value == std::floor(value) && std::abs(value) <= limit; };
        if (!traits.floating && !(whole(range->lower) && whole(range->upper)))
            throw InvalidArgument(std::string("range for ") + traits.name +
                                  " samples: the bounds must be whole numbers from -2^53 to 2^53");
        axis.range = *range;
        return axis;
    }
    if (!traits.floating && traits.counting == Counting::values) {
        axis.range = {traits.lowest, traits.highest + 1};
        return axis;
    }
    const ChannelReader reader(channel);
    cpu::Workers workers(threads > 0 ? threads : available_threads());
    std::mutex mutex;
    double lowest = std::numeric_limits<double>::infinity(), highest = -lowest;
    workers.sweep_rows(channel.view.height, channel.view.width, [&](int, std::int64_t begin, std::int64_t end) {
        const auto classes = std::make_unique<cpu::BlockClasses>();
        const auto block = std::make_unique<Block>();
        double low = std::numeric_limits<double>::infinity(), high = -low;
        for (std::int64_t row = begin; row < end; ++row)
            for (std::int64_t x = 0; x < channel.view.width; x += cpu::block_pixels) {
                const int pixels = static_cast<int>(std::min(cpu::block_pixels, channel.view.width - x));
                reader.read(row, x, pixels, nullptr, *classes, *block);
                for (int i = 0; i < pixels; ++i) {
                    if (!block->valid[i]) continue;
                    low = std::min(low, block->values[i]);
                    high = std::max(high, block->values[i]);
                }
            }
        const std::lock_guard lock(mutex);
        lowest = std::min(lowest, low);
        highest = std::max(highest, high);
    });
    axis.closed = true;
    axis.range = lowest == highest && !traits.floating ? Range{lowest - 0.5, lowest + 0.5}
                                                       : core::found_range(lowest <= highest, lowest, highest);
    return axis;
}

JointHistogram::JointHistogram(std::uint32_t bins, const JointAxis& first, const JointAxis& second)
    : bins_(bins), axes_{first, second} {
    if (bins < 1 || bins > most_bins)
        throw InvalidArgument("joint histogram of " + std::to_string(bins) + " bins: at least 1, at most " +
                              std::to_string(most_bins));
    counts_.resize(std::size_t{bins} * bins);
}

double JointHistogram::edge(int which, std::uint32_t bin) const {
    return core::any_bin_edge(axis(which).range, bins_, bin);
}

void JointHistogram::add(const JointChannel& first, const JointChannel& second, int threads) {
    const ChannelReader one(first), other(second);
    const ImageView& view = one.view();
    if (other.view().width != view.width || other.view().height != view.height)
        throw InvalidArgument("joint histogram of images with " + std::to_string(view.width) + " x " +
                              std::to_string(view.height) + " and " + std::to_string(other.view().width) + " x " +
                              std::to_string(other.view().height) + " pixels: they must have the same sides");
    for (int i = 0; i < 2; ++i)
        if (const Depth depth = (i == 0 ? first : second).view.depth; depth != axis(i).depth)
            throw InvalidArgument(std::string("joint histogram of ") + to_string(axis(i).depth) +
                                  " samples: these are " + to_string(depth));
    const AxisBins first_bins(axes_[0], bins_), second_bins(axes_[1], bins_);
    const bool whole = !traits_of(axes_[0].depth).floating && !traits_of(axes_[1].depth).floating;
    const int most = counts_.size() > most_own_counts ? 1 : threads > 0 ? threads : available_threads();
    cpu::Workers workers(most);
    std::mutex mutex;
    workers.sweep_rows(view.height, view.width, [&](int, std::int64_t begin, std::int64_t end) {
        const auto classes = std::make_unique<cpu::BlockClasses>();
        const auto x = std::make_unique<Block>(), y = std::make_unique<Block>();
        std::vector<std::uint64_t> own(most > 1 ? counts_.size() : 0);
        std::uint64_t* const counts = most > 1 ? own.data() : counts_.data();
        std::uint64_t pixels = 0, outside = 0;
        Sums sums;
        for (std::int64_t row = begin; row < end; ++row)
            for (std::int64_t column = 0; column < view.width; column += cpu::block_pixels) {
                const int count = static_cast<int>(std::min(cpu::block_pixels, view.width - column));
                one.read(row, column, count, &first_bins, *classes, *x);
                other.read(row, column, count, &second_bins, *classes, *y);
                for (int i = 0; i < count; ++i) {
                    if (!x->valid[i] || !y->valid[i]) continue;
                    ++pixels;
                    if (x->bins[i] == no_bin || y->bins[i] == no_bin)
                        ++outside;
                    else
                        ++counts[std::size_t{x->bins[i]} * bins_ + y->bins[i]];
                }
                add_sums(sums, *x, *y, count, whole);
            }
        const std::lock_guard lock(mutex);
        for (std::size_t i = 0; i < own.size(); ++i) counts_[i] += own[i];
        pixels_ += pixels;
        outside_ += outside;
        for (std::size_t i = 0; i < 2; ++i) core::add_words(sums_.x[i].data(), sums.x[i].data(), sum_words);
        for (std::size_t i = 0; i < 3; ++i)
            core::add_words(sums_.products[i].data(), sums.products[i].data(), product_words);
    });
}

JointHistogram& JointHistogram::operator+=(const JointHistogram& other) {
    if (other.bins_ != bins_ || !(other.axes_ == axes_))
        throw InvalidArgument("joint histograms with other bins can't be added");
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
    pixels_ += other.pixels_;
    outside_ += other.outside_;
    for (std::size_t i = 0; i < 2; ++i) core::add_words(sums_.x[i].data(), other.sums_.x[i].data(), sum_words);
    for (std::size_t i = 0; i < 3; ++i)
        core::add_words(sums_.products[i].data(), other.sums_.products[i].data(), product_words);
    return *this;
}

std::optional<double> JointHistogram::covariance() const {
    if (pixels_ == 0) return std::nullopt;
    constexpr int words = product_words + 2;
    const auto squares = centered<words>(pixels_, core::Wide<product_words>(sums_.products[2]), sums_.x[0], sums_.x[1]);
    const double n = static_cast<double>(pixels_);
    const int half = squares.bits() / 2;
    return std::ldexp(core::to_double(squares, -2 * half) / n / n, 2 * (half - unit));
}

std::optional<double> JointHistogram::pearson() const {
    if (pixels_ == 0) return std::nullopt;
    constexpr int words = product_words + 2;
    const auto square = [&](std::size_t i) {
        return centered<words>(pixels_, core::Wide<product_words>(sums_.products[i]), sums_.x[i], sums_.x[i]);
    };
    const auto xx = square(0), yy = square(1);
    if (xx.bits() == 0 || yy.bits() == 0) return std::nullopt;
    const auto xy = centered<words>(pixels_, core::Wide<product_words>(sums_.products[2]), sums_.x[0], sums_.x[1]);
    const int a = xx.bits() / 2, b = yy.bits() / 2;
    const double scale = std::sqrt(core::to_double(xx, -2 * a) * core::to_double(yy, -2 * b));
    return std::clamp(core::to_double(xy, -a - b) / scale, -1.0, 1.0);
}

std::optional<double> JointHistogram::mutual_information() const {
    if (pixels_ == outside_) return std::nullopt;
    const std::size_t bins = bins_;
    std::vector<std::uint64_t> rows(bins), columns(bins);
    for (std::size_t i = 0; i < bins; ++i)
        for (std::size_t j = 0; j < bins; ++j) {
            rows[i] += counts_[i * bins + j];
            columns[j] += counts_[i * bins + j];
        }
    const double n = static_cast<double>(pixels_ - outside_);
    double sum = 0;
    for (std::size_t i = 0; i < bins; ++i)
        for (std::size_t j = 0; j < bins; ++j) {
            const std::uint64_t count = counts_[i * bins + j];
            if (count == 0) continue;
            const auto c = static_cast<double>(count);
            sum += c * std::log2(c * n / (static_cast<double>(rows[i]) * static_cast<double>(columns[j])));
        }
    return std::max(sum / n, 0.0);
}

std::string JointHistogram::to_text() const {
    std::string text = "joint " + std::to_string(bins_);
    const auto add = [&](const std::string& word) { text.append(1, ' ').append(word); };
    for (const JointAxis& axis : axes_) {
        add(to_string(axis.depth));
        add(text_of(axis.range.lower));
        add(text_of(axis.range.upper));
        add(axis.closed ? "1" : "0");
    }
    add(std::to_string(pixels_));
    add(std::to_string(outside_));
    const auto add_hex = [&](std::uint64_t word) {
        std::array<char, 20> digits{};
        add(std::string(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), word, 16).ptr));
    };
    for (const Sum& sum : sums_.x)
        for (const std::uint64_t word : sum) add_hex(word);
    for (const Product& product : sums_.products)
        for (const std::uint64_t word : product) add_hex(word);
    for (std::size_t i = 0; i < counts_.size(); ++i)
        if (counts_[i] > 0) {
            add(std::to_string(i));
            add(std::to_string(counts_[i]));
        }
    return text;
}

JointHistogram JointHistogram::from_text(const std::string& text) {
    Words words(text);
    if (words.next() != "joint") Words::fail();
    const std::uint64_t bins = words.number();
    std::array<JointAxis, 2> axes;
    for (JointAxis& axis : axes) {
        const std::string name = words.next();
        const DepthTraits* traits = std::find_if(std::begin(all_depths), std::end(all_depths),
                                                 [&](const DepthTraits& one) { return name == one.name; });
        if (traits == std::end(all_depths)) Words::fail();
        axis.depth = traits->depth;
        axis.range.lower = words.real();
        axis.range.upper = words.real();
        axis.closed = words.number() != 0;
        if (!(axis.range.lower < axis.range.upper)) Words::fail();
    }
    if (bins < 1 || bins > most_bins) Words::fail();
    JointHistogram histogram(static_cast<std::uint32_t>(bins), axes[0], axes[1]);
    histogram.pixels_ = words.number();
    histogram.outside_ = words.number();
    for (Sum& sum : histogram.sums_.x)
        for (std::uint64_t& word : sum) word = words.number(16);
    for (Product& product : histogram.sums_.products)
        for (std::uint64_t& word : product) word = words.number(16);
    std::uint64_t counted = histogram.outside_;
    for (std::uint64_t next = 0; !words.ended();) {
        const std::uint64_t cell = words.number(), count = words.number();
        if (cell < next || cell >= histogram.counts_.size() || count > histogram.pixels_) Words::fail();
        histogram.counts_[cell] = count;
        counted += count;
        next = cell + 1;
    }
    if (counted != histogram.pixels_) Words::fail();
    return histogram;
}

}  // namespace gpuhist
