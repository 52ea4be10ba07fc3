#include "report/axis.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "gpuhist/io/plot.hpp"

namespace gpuhist::io {
namespace {

std::string print(const char* format, int digits, double value) {
    std::array<char, 64> buffer{};
    std::snprintf(buffer.data(), buffer.size(), format, digits, value);
    return buffer.data();
}

std::string signed_text(bool negative, const std::string& text) {
    std::string result(negative ? "\u2212" : "");  // a minus sign, not a hyphen
    return result += text;
}

/// 12345.5 → 12,345.5
std::string fixed(double value, int decimals) {
    std::string text = print("%.*f", decimals, std::abs(value));
    for (std::size_t i = std::min(text.find('.'), text.size()); i > 3; i -= 3) text.insert(i - 3, 1, ',');
    return signed_text(value < 0 && text.find_first_not_of("0.,") != text.npos, text);
}

/// 3e+08 → 3e8.
std::string scientific(double value, int digits) {
    const std::string text = print("%.*e", digits, std::abs(value));
    const std::size_t e = text.find('e');
    std::string mantissa = text.substr(0, e);
    if (mantissa.find('.') != mantissa.npos) {
        mantissa.erase(mantissa.find_last_not_of('0') + 1);
        if (mantissa.back() == '.') mantissa.pop_back();
    }
    mantissa += text[e + 1] == '-' ? "e\u2212" : "e";
    return signed_text(value < 0, mantissa + std::to_string(std::abs(std::atoi(text.c_str() + e + 1))));
}

/// The next of 1, 2, 5, 10, 20, 50, … times a power of ten, at least `step`.
double nice_step(double step) {
    const double power = std::pow(10, std::floor(std::log10(step)));
    for (const double factor : {1.0, 2.0, 5.0})
        if (factor * power >= step * (1 - 1e-9)) return factor * power;
    return 10 * power;
}

/// Round values inside [lower, upper], `step` apart, with as many digits as tell them apart.
std::vector<Tick> ticks_of(double lower, double upper, double step) {
    if (!std::isfinite(step)) return {};  // no double is so far
    const double largest = std::max(std::abs(lower), std::abs(upper));
    const int step_power = static_cast<int>(std::floor(std::log10(step) + 1e-9));
    const bool exponent = largest >= 1e7 ? step_power >= 3 : largest < 1e-3;
    const int digits = std::max(0, static_cast<int>(std::floor(std::log10(largest))) - step_power);
    std::vector<Tick> result;
    constexpr double most = std::numeric_limits<double>::max();
    const double slack = std::min(upper - lower, most) * 1e-9, end = std::min(upper + slack, most);
    for (double i = std::ceil(std::max(lower - slack, -most) / step); i * step <= end && result.size() < 100; ++i) {
        const double value = i * step;
        result.push_back({value, i == 0     ? "0"
                                 : exponent ? scientific(value, digits)
                                            : fixed(value, std::clamp(-step_power, 0, 12))});
    }
    return result;
}

}  // namespace

std::string brief(const std::optional<double>& number, int digits) {
    if (!number) return "\u2013";
    const double value = *number;
    if (value == 0) return "0";
    if (!std::isfinite(value)) return std::isnan(value) ? "NaN" : signed_text(value < 0, "\u221e");
    const double magnitude = std::abs(value);
    if (magnitude < 1e-3 || magnitude >= std::pow(10, std::max(7, digits))) return scientific(value, digits - 1);
    std::string text = fixed(value, std::max(0, digits - 1 - static_cast<int>(std::floor(std::log10(magnitude)))));
    if (text.find('.') != text.npos) {
        text.erase(text.find_last_not_of('0') + 1);
        if (text.back() == '.') text.pop_back();
    }
    return text;
}

double place_in(const Range& range, double value) {
    const double extent = range.upper - range.lower;
    if (std::isfinite(extent)) return (value - range.lower) / extent;
    return (value / 2 - range.lower / 2) / (range.upper / 2 - range.lower / 2);
}

int digits_over(const Range& range) {
    const double largest = std::max(std::abs(range.lower), std::abs(range.upper));
    const double needed =
        std::floor(std::log10(largest)) - std::floor(std::log10((range.upper - range.lower) / 1000)) + 1;
    return static_cast<int>(std::clamp(needed, 4.0, 10.0));
}

std::string count_text(double count) {
    constexpr std::array<const char*, 4> suffixes{" G", " T", " P", " E"};
    if (count < 1e9) return fixed(count, 0);
    std::size_t power = 0;
    for (count /= 1e9; count >= 1000 && power + 1 < suffixes.size(); ++power) count /= 1000;
    return brief(count) + suffixes[power];
}

std::string excluded_text(const std::vector<Statistics>& rows) {
    std::uint64_t pixels = 0, nodata = 0, masked = 0;
    for (const Statistics& row : rows) {
        if (row.channel == Channel::luma || row.channel == Channel::all || row.channel == Channel::alpha) continue;
        pixels += row.pixels;
        nodata += row.nodata;
        masked += row.masked;
    }
    const auto count = [](std::uint64_t samples) { return fixed(static_cast<double>(samples), 0); };
    std::string text;
    if (nodata > 0) {
        const double percent = 100.0 * static_cast<double>(nodata) / static_cast<double>(pixels);
        text = count(nodata) + " nodata (" + (percent < 0.05 ? "<0.1" : print("%.*f", 1, percent)) + " %)";
    }
    if (masked > 0) text += (text.empty() ? "" : ", ") + count(masked) + " masked";
    return text;
}

CountAxis::CountAxis(double highest, bool logarithmic, int pixels) : logarithmic_(logarithmic) {
    top_ = logarithmic ? std::max(10.0, highest * 1.4) : std::max(1.0, highest * 1.04);
    const auto label = [this](double count) {  // 250,000, 1.5 M
        return top_ >= 2e6 && top_ < 1e9 && count > 0 ? brief(count / 1e6) + " M" : count_text(count);
    };
    if (logarithmic) {
        for (double count = 1; count <= top_; count *= 10) ticks_.push_back({count, count_text(count)});
    } else {
        const double least = std::max(top_ / std::max(2, pixels / 40), 1.0);
        double step = nice_step(least);
        if (step >= 50 && step / 2 >= least) step /= 2;  // 25, 250, …
        for (double i = 0; i * step <= top_; ++i) ticks_.push_back({i * step, label(i * step)});
    }
}

std::vector<Tick> value_ticks(const Range& range, bool whole, int pixels,
                              const std::function<double(const std::string&)>& width) {
    constexpr double gap = 24;
    // Half of an extent is a double even where the extent is none.
    const double extent = range.upper - range.lower, half = range.upper / 2 - range.lower / 2,
                 half_pixels = pixels / 2.0;
    const double scale = std::isfinite(extent) ? pixels / extent : half_pixels / half;
    const double last = whole ? range.upper - 1 : range.upper;
    const bool power_of_two = whole && extent >= 8 && std::exp2(std::floor(std::log2(extent))) == extent &&
                              std::fmod(range.lower, std::max(1.0, extent / 16)) == 0;
    double step = power_of_two
                      ? extent / 16
                      : nice_step(std::isfinite(extent) ? extent / (pixels / 55.0) : half / (half_pixels / 55.0));
    if (whole) step = std::max(step, 1.0);
    for (;;) {
        std::vector<Tick> result;
        if (power_of_two)
            for (double value = range.lower; value < last; value += step) result.push_back({value, fixed(value, 0)});
        else
            result = ticks_of(range.lower, last, step);
        if (whole) {  // the last value, in place of what stands too near
            const Tick end{last, fixed(last, 0)};
            while (!result.empty() && (end.value - result.back().value) * scale <
                                          (width(end.label) + width(result.back().label)) / 2 + gap)
                result.pop_back();
            result.push_back(end);
        }
        double widest = 0;
        for (const Tick& tick : result) widest = std::max(widest, width(tick.label));
        if (result.size() <= 2 || widest + gap <= step * scale) return result;
        step = power_of_two ? step * 2 : nice_step(step * 1.5);
        if (!std::isfinite(step)) return {};
    }
}

}  // namespace gpuhist::io
