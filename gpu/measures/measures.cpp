#include "gpuhist/measures.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/codes.hpp"
#include "core/wide.hpp"
#include "gpuhist/error.hpp"
#include "measures/list.hpp"
#include "statistics/statistics.hpp"

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

const Measured* findings(const Analysis& image, Measure measure) {
    for (const Measured& found : image.measured)
        if (found.measure == measure) return &found;
    return nullptr;
}

const ChannelAnalysis* channel_of_luma(const Analysis& image) {
    if (const ChannelAnalysis* const luma = image.find(Channel::luma)) return luma;
    const bool named_gray = image.channels.size() == 1 && !image.measured.empty();
    return named_gray ? &image.channels.front() : image.find(Channel::gray);
}

std::optional<Statistics> statistics_of_luma(const Analysis& image, const Percentiles& percentiles) {
    const ChannelAnalysis* const channel = channel_of_luma(image);
    if (!channel) return std::nullopt;
    return core::row_of(*channel, image, percentiles);
}

bool each_value_of_luma(const Analysis& image, const std::function<void(double, std::uint64_t)>& visit) {
    const ChannelAnalysis* const channel = channel_of_luma(image);
    if (!channel || traits_of(image.depth).counting == Counting::bins) return false;
    for (std::size_t code = 0; code < channel->counts.size(); ++code)
        if (channel->counts[code] != 0) visit(core::value_at(image.depth, code), channel->counts[code]);
    for (FrequencyReader reader(channel->values.runs()); reader.next();) visit(reader.value(), reader.count());
    return true;
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
    throw InvalidArgument("measure '" + std::string(word) + "' is not one of " + names);
}

std::string Measures::text() const {
    std::string names;
    for (const MeasureTraits& traits : all_measures)
        if (has(traits.measure)) names.append(names.empty() ? "" : ",").append(traits.name);
    return names;
}

const std::vector<MeasureColumn>& measure_columns() {
    static const std::vector<MeasureColumn> list = [] {
        std::vector<MeasureColumn> columns;
        measures::All::for_each([&](auto measure) {
            for (const MeasureColumn& column : measure.columns) columns.push_back(column);
        });
        return columns;
    }();
    return list;
}

std::vector<MeasureValue> measure_values(const Analysis& image) {
    std::vector<MeasureValue> values;
    measures::All::for_each([&](auto measure) {
        using Which = decltype(measure);
        std::vector<MeasureValue> own(std::size(Which::columns));
        if (measures::findings(image, Which::measure)) own = measures::values_of<Which>(image);
        values.insert(values.end(), own.begin(), own.end());
    });
    return values;
}

MeasureValue measure_value(const Analysis& image, std::string_view column) {
    const std::vector<MeasureColumn>& columns = measure_columns();
    for (std::size_t i = 0; i < columns.size(); ++i)
        if (columns[i].name == column) return measure_values(image)[i];
    throw InvalidArgument("no measure has a column '" + std::string(column) + "'");
}

}  // namespace gpuhist
