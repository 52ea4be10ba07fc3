#include "normalize/lut.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>

#include "core/bins.hpp"
#include "core/integers.hpp"
#include "core/power_sums.hpp"
#include "core/validate.hpp"
#include "dataset/frequency_table.hpp"
#include "dataset/summary.hpp"
#include "gpuhist/error.hpp"
#include "normalize/formulas.hpp"
#include "statistics/float_analysis.hpp"
#include "statistics/statistics.hpp"

namespace gpuhist {
namespace core {
namespace {

std::uint64_t total_of(const std::vector<std::uint64_t>& counts) {
    std::uint64_t total = 0;
    for (std::uint64_t count : counts) total += count;
    return total;
}

std::uint32_t first_value(const std::vector<std::uint64_t>& counts) {
    return static_cast<std::uint32_t>(
        std::find_if(counts.begin(), counts.end(), [](std::uint64_t n) { return n > 0; }) - counts.begin());
}
std::uint32_t last_value(const std::vector<std::uint64_t>& counts) {
    return static_cast<std::uint32_t>(
        counts.rend() - std::find_if(counts.rbegin(), counts.rend(), [](std::uint64_t n) { return n > 0; }) - 1);
}

/// The smallest value with at least `rank` samples up to it.
std::uint32_t value_of_rank(const std::vector<std::uint64_t>& counts, std::uint64_t rank) {
    std::uint32_t value = 0;
    for (std::uint64_t cumulative = counts[0]; cumulative < rank; cumulative += counts[value]) ++value;
    return value;
}

template <class Value>
void stretch_table(const std::vector<std::uint64_t>& counts, std::uint32_t lo, std::uint32_t hi, Value* table) {
    const auto values = static_cast<std::uint32_t>(counts.size());
    if (lo == hi) return identity(table, values);
    for (std::uint32_t v = 0; v < values; ++v) table[v] = static_cast<Value>(stretch(v, lo, hi, values - 1));
}

template <class Value>
void equalize_table(const std::vector<std::uint64_t>& counts, Value* table) {
    const auto values = static_cast<std::uint32_t>(counts.size());
    const std::uint64_t total = total_of(counts);
    const std::uint32_t first = first_value(counts);
    if (counts[first] == total) return identity(table, values);
    const float scale = equalize_scale(total, counts[first], values - 1);
    std::uint64_t cumulative = 0;
    for (std::uint32_t v = 0; v < values; ++v) {
        if (v > first) cumulative += counts[v];
        table[v] = static_cast<Value>(equalize(cumulative, scale, values - 1));
    }
}

void zscore_table(const std::vector<std::uint64_t>& counts, float* table) {
    u128 sum = 0, squares = 0;
    for (std::uint64_t v = 0; v < counts.size(); ++v) {
        sum += static_cast<u128>(counts[v]) * v;
        squares += static_cast<u128>(counts[v]) * (v * v);
    }
    const MeanStd found = pooled_mean_std(total_of(counts), sum, squares);
    for (std::size_t v = 0; v < counts.size(); ++v) table[v] = zscore(static_cast<double>(v), found.mean, found.std);
}

}  // namespace

template <class Value>
void fill_table(const std::vector<std::uint64_t>& counts, const Normalization& normalization, Value* table) {
    if constexpr (std::is_same_v<Value, float>) {
        zscore_table(counts, table);
    } else {
        switch (normalization.mode) {
            case NormalizeMode::percentile: {
                const std::uint64_t total = total_of(counts);
                return stretch_table(counts, value_of_rank(counts, nearest_rank(normalization.low, total)),
                                     value_of_rank(counts, nearest_rank(normalization.high, total)), table);
            }
            case NormalizeMode::equalize:
                return equalize_table(counts, table);
            default:
                return stretch_table(counts, first_value(counts), last_value(counts), table);
        }
    }
}

template void fill_table(const std::vector<std::uint64_t>&, const Normalization&, std::uint8_t*);
template void fill_table(const std::vector<std::uint64_t>&, const Normalization&, std::uint16_t*);
template void fill_table(const std::vector<std::uint64_t>&, const Normalization&, float*);

namespace {

[[noreturn]] void refuse(const std::string& what) {
    throw InvalidArgument("tables: " + what);
}

void validate_integers(const LutSet& tables, const LutSet::Lut& lut, const std::string& name) {
    const std::size_t values = tables.depth == Depth::u8 ? 256 : 65536;
    const auto top = static_cast<float>(values - 1);
    if (lut.values.size() != values) refuse("'" + name + "' has not " + std::to_string(values) + " values");
    for (const float value : lut.values)
        if (!std::isfinite(value) ||
            (tables.mode != NormalizeMode::zscore && (value != std::floor(value) || value < 0 || value > top)))
            refuse("'" + name + "' has a value that is not " +
                   (tables.mode == NormalizeMode::zscore ? "finite" : "a whole number within the depth"));
    if (lut.lower != 0 || lut.upper != 0 || lut.mean != 0 || lut.std != 1)
        refuse("'" + name + "' has numbers that are for f32");
}

void validate_floats(const LutSet& tables, const LutSet::Lut& lut, const std::string& name) {
    const bool zscore = tables.mode == NormalizeMode::zscore, equalize = tables.mode == NormalizeMode::equalize;
    if (!std::isfinite(lut.lower) || !std::isfinite(lut.upper) || lut.lower > lut.upper ||
        (zscore && (lut.lower != 0 || lut.upper != 0)))
        refuse("'" + name + "' has a lower and an upper value that are none");
    if (!std::isfinite(lut.mean) || !std::isfinite(lut.std) || lut.std < 0 ||
        (!zscore && (lut.mean != 0 || lut.std != 1)))
        refuse("'" + name + "' has a mean and a std that are none");
    const std::size_t values = equalize && lut.lower < lut.upper ? equalize_float_bins : 0;
    if (lut.values.size() != values) refuse("'" + name + "' has not " + std::to_string(values) + " values");
    for (const float value : lut.values)
        if (!(value >= 0 && value <= 1)) refuse("'" + name + "' has a value that is not from 0 to 1");
}

}  // namespace

void validate(const LutSet& tables) {
    int last = -1;
    for (const LutSet::Lut& lut : tables.luts) {
        const std::string name = to_string(lut.channel);
        const bool known =
            lut.channel == Channel::gray ||
            (tables.joint ? lut.channel == Channel::all : lut.channel >= Channel::red && lut.channel <= Channel::blue);
        if (!known) refuse("'" + name + "' has no place in " + (tables.joint ? "joint" : "separate") + " tables");
        if (static_cast<int>(lut.channel) <= last) refuse("'" + name + "' comes twice or out of order");
        last = static_cast<int>(lut.channel);
        tables.depth == Depth::f32 ? validate_floats(tables, lut, name) : validate_integers(tables, lut, name);
    }
    if (tables.luts.empty()) refuse("there is none");
    const auto missing = [&](Channel channel) { return tables.find(channel) == nullptr; };
    if (missing(Channel::red) != missing(Channel::green) || missing(Channel::red) != missing(Channel::blue))
        refuse("red, green and blue come together");
}

}  // namespace core

namespace {

std::vector<float> table_of(const std::vector<std::uint64_t>& counts, const Normalization& normalization) {
    std::vector<float> values(counts.size());
    if (normalization.mode == NormalizeMode::zscore) {
        core::fill_table(counts, normalization, values.data());
    } else {
        std::vector<std::uint16_t> whole(counts.size());
        core::fill_table(counts, normalization, whole.data());
        std::copy(whole.begin(), whole.end(), values.begin());
    }
    return values;
}

/// The values that equal bins over the extremes become, of a row whose values lie within them.
void equalize_floats(const ChannelSummary& row, const ChannelSummary& extremes, LutSet::Lut& lut) {
    constexpr std::uint32_t bins = core::equalize_float_bins;
    if (!(extremes.minimum < extremes.maximum)) return;
    const core::FloatBins equal(extremes.minimum, extremes.maximum, bins, true);
    std::vector<std::uint64_t> counts(bins);
    for (FrequencyReader values(row.values.runs()); values.next();) counts[equal(values.value())] += values.count();
    const auto first = std::find_if(counts.begin(), counts.end(), [](std::uint64_t n) { return n > 0; });
    if (first == counts.end() || *first == core::finite(row)) return;  // within one bin: left as they are
    lut.lower = extremes.minimum;
    lut.upper = extremes.maximum;
    lut.values.resize(bins);
    const float scale = core::equalize_scale(core::finite(row), *first, 1);
    *first = 0;
    std::uint64_t cumulative = 0;
    for (std::uint32_t bin = 0; bin < bins; ++bin) lut.values[bin] = core::equalize(cumulative += counts[bin], scale);
}

/// `row` decides; equal bins go over `extremes`.
LutSet::Lut float_column(Channel channel, const ChannelSummary& row, const ChannelSummary& extremes,
                         const Normalization& normalization) {
    LutSet::Lut lut;
    lut.channel = channel;
    const std::uint64_t n = core::finite(row);
    if (n == 0) return lut;
    switch (normalization.mode) {
        case NormalizeMode::minmax:
            lut.lower = row.minimum;
            lut.upper = row.maximum;
            break;
        case NormalizeMode::percentile: {
            core::OrderedValues values(row.values);
            lut.lower = values.at_rank(core::nearest_rank(normalization.low, n) - 1);
            lut.upper = values.at_rank(core::nearest_rank(normalization.high, n) - 1);
            break;
        }
        case NormalizeMode::equalize:
            equalize_floats(row, extremes, lut);
            break;
        case NormalizeMode::zscore: {
            Statistics numbers;
            core::set_moments(numbers, n, row.power_sums, Detail::brief);
            lut.mean = *numbers.mean;
            lut.std = *numbers.std;
            break;
        }
    }
    return lut;
}

LutSet make_float_tables(const DepthSummary& pool, const Normalization& normalization) {
    const bool equalize = normalization.mode == NormalizeMode::equalize;
    if (!pool.values_counted && (equalize || normalization.mode == NormalizeMode::percentile))
        throw InvalidArgument("tables of f32 images: this pool has no counts of their values");
    LutSet tables{Depth::f32, normalization.mode, normalization.joint, {}};
    const auto add = [&](Channel channel, const ChannelSummary& row, const ChannelSummary& extremes) {
        tables.luts.push_back(float_column(channel, row, extremes, normalization));
    };
    if (const ChannelSummary* gray = pool.find(Channel::gray)) add(Channel::gray, *gray, *gray);
    if (!pool.find(Channel::red)) return tables;
    constexpr Channel colors[] = {Channel::red, Channel::green, Channel::blue};
    const ChannelSummary* luma = pool.find(Channel::luma);
    if (!luma) throw InvalidArgument("tables of f32 images: this pool has colours without luma");
    ChannelSummary extremes;
    for (Channel color : colors) core::add_extremes(extremes, *pool.find(color));
    core::add_extremes(extremes, *luma);
    if (!normalization.joint)
        for (Channel color : colors) add(color, *pool.find(color), extremes);
    else
        add(Channel::all, equalize ? *luma : core::pool_colors(pool), extremes);
    return tables;
}

}  // namespace

const LutSet::Lut* LutSet::find(Channel channel) const {
    const Channel sought = joint && channel != Channel::gray ? Channel::all : channel;
    for (const Lut& lut : luts)
        if (lut.channel == sought) return &lut;
    return nullptr;
}

LutSet make_luts(const Summary& pool, Depth depth, const Normalization& normalization) {
    core::validate(normalization);
    const DepthSummary* found = pool.find(depth);
    if (!found) throw InvalidArgument(std::string("tables of ") + to_string(depth) + " images: the pool has none");
    if (depth == Depth::f32) return make_float_tables(*found, normalization);
    LutSet tables{depth, normalization.mode, normalization.joint, {}};
    const auto add = [&](Channel channel, const std::vector<std::uint64_t>& counts) {
        LutSet::Lut& lut = tables.luts.emplace_back();
        lut.channel = channel;
        lut.values = table_of(counts, normalization);
    };
    constexpr Channel colors[] = {Channel::red, Channel::green, Channel::blue};
    if (const ChannelSummary* gray = found->find(Channel::gray)) add(Channel::gray, gray->counts);
    if (!found->find(Channel::red)) return tables;
    if (!normalization.joint) {
        for (Channel color : colors) add(color, found->find(color)->counts);
    } else if (normalization.mode == NormalizeMode::equalize) {
        const ChannelSummary* luma = found->find(Channel::luma);
        if (!luma) throw InvalidArgument("joint equalisation needs the luma counts, which this pool does not have");
        add(Channel::all, luma->counts);
    } else {
        add(Channel::all, core::pool_colors(*found).counts);
    }
    return tables;
}

}  // namespace gpuhist
