#include "statistics/percentiles.hpp"

#include <cmath>
#include <string>

#include "gpuhist/error.hpp"

namespace gpuhist {
namespace {

/// a + (b − a) · t, from the nearer end, as numpy.percentile interpolates.
double interpolate(double a, double b, double t) {
    return t < 0.5 ? a + (b - a) * t : b - (b - a) * (1 - t);
}

}  // namespace

Percentiles::Percentiles() : Percentiles({1, 5, 25, 50, 75, 95, 99}) {}

Percentiles::Percentiles(const std::vector<double>& percents) {
    if (percents.empty() || percents.size() > most)
        throw InvalidArgument(std::to_string(percents.size()) + " percentiles: 1 to " + std::to_string(most) +
                              " are supported");
    for (const double percent : percents) {
        if (!(percent >= 0 && percent <= 100))
            throw InvalidArgument("percentile " + std::to_string(percent) + ": 0 to 100 are supported");
        const auto micro = static_cast<std::uint32_t>(std::llround(percent * 1e6));
        for (std::size_t i = 0; i < size_; ++i)
            if (micro_[i] == micro) throw InvalidArgument("percentile " + name(i) + " is there twice");
        micro_[size_++] = micro;
    }
}

std::string Percentiles::name(std::size_t i) const {
    constexpr std::uint32_t one = 1'000'000;
    if (micro_[i] == 50 * one) return "median";
    std::string text = std::to_string(micro_[i] / one);
    std::uint32_t fraction = micro_[i] % one;
    if (fraction == 0) return (text.size() == 1 ? "p0" : "p") + text;
    std::string digits = std::to_string(one + fraction).substr(1);
    digits.erase(digits.find_last_not_of('0') + 1);
    return "p" + text + "." + digits;
}

std::optional<double> Statistics::percentile(double percent) const {
    const auto micro = std::llround(percent * 1e6);
    for (const Percentile& one : percentiles)
        if (one.micro == micro) return one.value;
    return std::nullopt;
}

void core::set_percentiles(Statistics& row, const Percentiles& list, std::uint64_t n,
                           const std::function<double(std::uint64_t rank)>& value_at) {
    row.percentiles.clear();
    for (std::size_t i = 0; i < list.size(); ++i) {
        Percentile& percentile = row.percentiles.emplace_back();
        percentile.micro = list.micro(i);
        if (n == 0) continue;
        const u128 position = static_cast<u128>(n - 1) * percentile.micro;
        const auto rank = static_cast<std::uint64_t>(position / all_micro);
        const auto rest = static_cast<std::uint64_t>(position % all_micro);
        const double value = value_at(rank);
        percentile.value = rest ? interpolate(value, value_at(rank + 1), static_cast<double>(rest) / all_micro) : value;
    }
}

}  // namespace gpuhist
