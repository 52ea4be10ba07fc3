#include "gpuhist/pixel_difference.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "core/codes.hpp"
#include "core/half.hpp"
#include "core/validate.hpp"
#include "gpuhist/error.hpp"

namespace gpuhist {
namespace {

const std::byte* row_of(const ImageView& view, std::int64_t y) {
    return static_cast<const std::byte*>(view.data) + static_cast<std::size_t>(y) * view.row_bytes;
}

/// Values of a row, each with all of its bits.
void read_row(const ImageView& view, std::int64_t y, std::vector<double>& values) {
    const std::byte* row = row_of(view, y);
    with_depth(view.depth, [&](auto sample) {
        for (double& value : values) {
            std::memcpy(&sample, row, sizeof sample);
            row += sizeof sample;
            value = core::value_of(sample);
        }
    });
}

double rounded(Depth depth, double value) {
    return with_depth(depth, [&](auto sample) {
        using Sample = decltype(sample);
        if constexpr (core::is_narrow<Sample>)
            return core::value_of(core::narrowed<Sample>(value));
        else
            return static_cast<double>(static_cast<Sample>(value));
    });
}

/// Rule by which samples of a wider depth follow from those of a narrower one, as long as it holds. Fractions are
/// quotients, or products with the rounded reciprocal, as cv::Mat::convertTo has them.
class Rule {
  public:
    enum class Kind : std::uint8_t { factor, fraction };

    Rule(std::string name, Kind kind, double number, Depth wide)
        : name_(std::move(name)), kind_(kind), number_(number), wide_(wide) {}
    void check(double narrow, double wide) {
        if (!holds_ || (std::isnan(narrow) && std::isnan(wide))) return;
        holds_ = kind_ == Kind::factor ? narrow * number_ == wide
                                       : rounded(wide_, narrow / number_) == wide ||
                                             rounded(wide_, narrow * rounded(wide_, 1 / number_)) == wide;
    }
    bool holds() const { return holds_; }
    const std::string& name() const { return name_; }

  private:
    std::string name_;
    Kind kind_;
    double number_;
    Depth wide_;
    bool holds_ = true;
};

/// Whether the first of two depths is the narrower one.
bool is_narrower(const ImageView& a, double white_a, const ImageView& b, double white_b) {
    const DepthTraits &one = traits_of(a.depth), &other = traits_of(b.depth);
    if (one.floating != other.floating) return other.floating;
    if (one.bytes != other.bytes) return one.bytes < other.bytes;
    return white_a <= white_b;
}

std::vector<Rule> rules_for(double white_narrow, Depth wide, double white_wide) {
    std::vector<Rule> rules;  // fractions of white come first: of a black image all hold
    if (traits_of(wide).floating) {
        if (white_narrow != white_wide)
            rules.emplace_back("/ " + std::to_string(static_cast<std::int64_t>(white_narrow / white_wide)),
                               Rule::Kind::fraction, white_narrow / white_wide, wide);
        rules.emplace_back("x 1", Rule::Kind::factor, 1, wide);
        return rules;
    }
    const double factor = white_wide / white_narrow;
    if (factor > 1 && factor == std::floor(factor))
        rules.emplace_back("x " + std::to_string(static_cast<std::int64_t>(factor)), Rule::Kind::factor, factor, wide);
    rules.emplace_back("x 1", Rule::Kind::factor, 1, wide);
    const int bits = 8 * static_cast<int>(traits_of(wide).bytes - 1);
    for (int shift = 1; shift <= bits; ++shift) {
        const double power = std::ldexp(1, shift);
        if (power != factor)
            rules.emplace_back("x " + std::to_string(static_cast<std::int64_t>(power)), Rule::Kind::factor, power,
                               wide);
    }
    return rules;
}

/// Sum of squares and of distances, over rows, so that a long sum of small terms loses little.
class Distances {
  public:
    void add(double distance) {
        row_ += distance;
        row_squares_ += distance * distance;
    }
    void end_row(std::uint64_t samples) {
        add_to(sum_, lost_, row_);
        add_to(squares_, lost_squares_, row_squares_);
        row_ = row_squares_ = 0;
        samples_ += samples;
    }
    std::optional<double> mean() const {
        return samples_ == 0 ? std::nullopt : std::optional((sum_ + lost_) / static_cast<double>(samples_));
    }
    std::optional<double> mean_square() const {
        return samples_ == 0 ? std::nullopt : std::optional((squares_ + lost_squares_) / static_cast<double>(samples_));
    }

  private:
    static void add_to(double& sum, double& lost, double term) {
        const double more = sum + term;
        lost += std::abs(sum) >= std::abs(term) ? (sum - more) + term : (term - more) + sum;
        sum = more;
    }
    double row_ = 0, row_squares_ = 0, sum_ = 0, lost_ = 0, squares_ = 0, lost_squares_ = 0;
    std::uint64_t samples_ = 0;
};

/// Walk over the rows of both images.
class Walk {
  public:
    Walk(const ImageView& a, double white_a, const ImageView& b, double white_b)
        : a_(a), b_(b), white_a_(white_a), white_b_(white_b) {
        const bool alike = a.depth == b.depth && white_a == white_b;
        found_.of_white = !alike;
        a_is_narrow_ = is_narrower(a, white_a, b, white_b);
        if (!alike) rules_ = a_is_narrow_ ? rules_for(white_a, b.depth, white_b) : rules_for(white_b, a.depth, white_a);
        values_a_.resize(static_cast<std::size_t>(a.width) * static_cast<std::size_t>(a.channels));
        values_b_.resize(values_a_.size());
    }

    PixelDifference run() {
        for (std::int64_t y = 0; y < a_.height; ++y) compare_rows(y);
        finish();
        return std::move(found_);
    }

  private:
    void compare_rows(std::int64_t y) {
        found_.samples += values_a_.size();
        if (a_.depth == b_.depth && !found_.of_white && !traits_of(a_.depth).floating &&
            std::memcmp(row_of(a_, y), row_of(b_, y), values_a_.size() * sample_bytes(a_.depth)) == 0) {
            distances_.end_row(values_a_.size());
            finite_ = finite_ || !values_a_.empty();
            return;
        }
        read_row(a_, y, values_a_);
        read_row(b_, y, values_b_);
        std::uint64_t finite = 0;
        for (std::size_t i = 0; i < values_a_.size(); ++i) {
            const double a = values_a_[i], b = values_b_[i];
            for (Rule& rule : rules_) a_is_narrow_ ? rule.check(a, b) : rule.check(b, a);
            const double one = found_.of_white ? a / white_a_ : a, other = found_.of_white ? b / white_b_ : b;
            const bool equal = one == other || (std::isnan(one) && std::isnan(other));
            found_.different += !equal;
            if (!std::isfinite(one) || !std::isfinite(other)) {
                if (!equal && !found_.x) set_place(i, y);
                continue;
            }
            ++finite;
            const double distance = std::abs(one - other);
            distances_.add(distance);
            if (distance > largest_) {
                largest_ = distance;
                set_place(i, y);
            }
        }
        finite_ = finite_ || finite > 0;
        distances_.end_row(finite);
    }
    void set_place(std::size_t i, std::int64_t y) {
        found_.x = static_cast<std::int64_t>(i) / a_.channels;
        found_.y = y;
        found_.channel = static_cast<int>(static_cast<std::int64_t>(i) % a_.channels);
    }
    void finish() {
        const auto rule = std::find_if(rules_.begin(), rules_.end(), [](const Rule& one) { return one.holds(); });
        if (found_.of_white && rule != rules_.end()) {
            found_.relation = SampleRelation::widened;
            found_.rule = rule->name();
            found_.different = 0;
            found_.x.reset();
            found_.y.reset();
            found_.channel = 0;
            return;
        }
        found_.relation =
            found_.of_white || found_.different > 0 ? SampleRelation::different : SampleRelation::identical;
        if (finite_) found_.max = largest_;
        found_.mean = distances_.mean();
        const double peak = found_.of_white ? 1 : white_a_;
        if (const auto square = distances_.mean_square(); square && *square > 0)
            found_.psnr = 10 * std::log10(peak * peak / *square);
    }

    const ImageView &a_, &b_;
    const double white_a_, white_b_;
    bool a_is_narrow_ = true, finite_ = false;
    std::vector<Rule> rules_;
    std::vector<double> values_a_, values_b_;
    Distances distances_;
    double largest_ = 0;
    PixelDifference found_;
};

}  // namespace

const char* to_string(SampleRelation relation) {
    constexpr std::array names{"identical", "widened", "different"};
    return names[static_cast<std::size_t>(relation)];
}

PixelDifference pixel_difference(const ImageView& a, double white_a, const ImageView& b, double white_b) {
    core::validate(a);
    core::validate(b);
    if (a.width != b.width || a.height != b.height || a.channels != b.channels)
        throw InvalidArgument("images to compare have the same sides and number of channels");
    if (a.memory != Memory::host || b.memory != Memory::host)
        throw InvalidArgument("images to compare are in host memory");
    if (!(white_a > 0) || !(white_b > 0) || !std::isfinite(white_a) || !std::isfinite(white_b))
        throw InvalidArgument("white is a finite number over 0");
    return Walk(a, white_a, b, white_b).run();
}

}  // namespace gpuhist
