#include "gpuhist/measures.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/wide.hpp"
#include "gpuhist/error.hpp"
#include "measures/list.hpp"

namespace gpuhist {
namespace measures {
namespace {

bool has_doubles(Depth depth) {
    return with_depth(depth, [](auto sample) { return std::is_same_v<Value<decltype(sample)>, double>; });
}

/// Mean of n doubles whose sum has these words.
double mean_of_words(const Int128* words, std::uint64_t n) {
    std::array<std::uint64_t, core::ExactSum::words + 1> sum{};
    core::i128 carry = 0;
    for (int i = 0; i < core::ExactSum::words; ++i) {
        carry += core::from_public(words[i]);
        sum[static_cast<std::size_t>(i)] = static_cast<std::uint64_t>(carry);
        carry >>= 64;
    }
    sum.back() = static_cast<std::uint64_t>(carry);
    return core::ratio(core::Wide<core::ExactSum::words + 1>(sum), n, core::ExactSum::unit_exponent);
}

}  // namespace

double Sums::mean(int sum, int power) const {
    if (has_doubles(depth_)) return mean_of_words(found_.sums.data() + sum * core::ExactSum::words, found_.pixels);
    return core::ratio(integer(sum), found_.pixels) * std::pow(unit_of(depth_), power);
}

double Sums::variance(int sum, int sum_squares) const {
    if (has_doubles(depth_)) {
        const double mean_value = mean(sum, 1);
        return std::max(0.0, mean(sum_squares, 2) - mean_value * mean_value);
    }
    const auto n = static_cast<double>(found_.pixels);
    const double squares =
        core::exact_moments<core::Wide<4>>(found_.pixels, integer(sum), static_cast<core::u128>(integer(sum_squares)))
            .squares;
    return squares / n / n * std::pow(unit_of(depth_), 2);
}

}  // namespace measures

void Measures::add(std::string_view word) {
    if (word == "quality") {
        bits_ |= quality().bits_;
        return;
    }
    std::string names = "quality";
    for (const MeasureTraits& traits : all_measures) {
        if (word == traits.name) return add(traits.measure);
        names.append(", ").append(traits.name);
    }
    throw InvalidArgument("measure '" + std::string(word) + "' is none of " + names);
}

std::string Measures::text() const {
    std::string names;
    for (const MeasureTraits& traits : all_measures)
        if (has(traits.measure)) names.append(names.empty() ? "" : ",").append(traits.name);
    return names;
}

std::optional<double> number_of(const Measured& found, Depth depth) {
    std::optional<double> number;
    if (found.pixels == 0) return number;
    measures::All::for_each([&](auto measure) {
        if (measure.measure == found.measure) number = measure.number(measures::Sums(found, depth));
    });
    return number;
}

std::optional<double> number_of(const std::vector<Measured>& found, Measure measure, Depth depth) {
    for (const Measured& one : found)
        if (one.measure == measure) return number_of(one, depth);
    return std::nullopt;
}

}  // namespace gpuhist
