#include "core/lookup.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>

#include "core/bins.hpp"
#include "core/float_analysis.hpp"
#include "core/integers.hpp"
#include "core/pool.hpp"
#include "core/power_sums.hpp"
#include "core/statistics.hpp"
#include "core/tables.hpp"
#include "core/validate.hpp"
#include "core/value_counts.hpp"
#include "gpuhist/error.hpp"

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

void validate_integers(const Tables& tables, const Tables::Column& column, const std::string& name) {
    const std::size_t values = tables.depth == Depth::u8 ? 256 : 65536;
    const auto top = static_cast<float>(values - 1);
    if (column.values.size() != values) refuse("'" + name + "' has not " + std::to_string(values) + " values");
    for (const float value : column.values)
        if (!std::isfinite(value) ||
            (tables.mode != NormalizeMode::zscore && (value != std::floor(value) || value < 0 || value > top)))
            refuse("'" + name + "' has a value that is not " +
                   (tables.mode == NormalizeMode::zscore ? "finite" : "a whole number within the depth"));
    if (column.lower != 0 || column.upper != 0 || column.mean != 0 || column.std != 1)
        refuse("'" + name + "' has numbers that are for f32");
}

void validate_floats(const Tables& tables, const Tables::Column& column, const std::string& name) {
    const bool zscore = tables.mode == NormalizeMode::zscore, equalize = tables.mode == NormalizeMode::equalize;
    if (!std::isfinite(column.lower) || !std::isfinite(column.upper) || column.lower > column.upper ||
        (zscore && (column.lower != 0 || column.upper != 0)))
        refuse("'" + name + "' has a lower and an upper value that are none");
    if (!std::isfinite(column.mean) || !std::isfinite(column.std) || column.std < 0 ||
        (!zscore && (column.mean != 0 || column.std != 1)))
        refuse("'" + name + "' has a mean and a std that are none");
    const std::size_t values = equalize && column.lower < column.upper ? equalize_float_bins : 0;
    if (column.values.size() != values) refuse("'" + name + "' has not " + std::to_string(values) + " values");
    for (const float value : column.values)
        if (!(value >= 0 && value <= 1)) refuse("'" + name + "' has a value that is not from 0 to 1");
}

}  // namespace

void validate(const Tables& tables) {
    int last = -1;
    for (const Tables::Column& column : tables.columns) {
        const std::string name = to_string(column.channel);
        const bool known = column.channel == Channel::gray ||
                           (tables.joint ? column.channel == Channel::all
                                         : column.channel >= Channel::red && column.channel <= Channel::blue);
        if (!known) refuse("'" + name + "' has no place in " + (tables.joint ? "joint" : "separate") + " tables");
        if (static_cast<int>(column.channel) <= last) refuse("'" + name + "' comes twice or out of order");
        last = static_cast<int>(column.channel);
        tables.depth == Depth::f32 ? validate_floats(tables, column, name) : validate_integers(tables, column, name);
    }
    if (tables.columns.empty()) refuse("there is none");
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
void equalize_floats(const PooledChannel& row, const PooledChannel& extremes, Tables::Column& column) {
    constexpr std::uint32_t bins = core::equalize_float_bins;
    if (!(extremes.minimum < extremes.maximum)) return;
    const core::FloatBins equal(extremes.minimum, extremes.maximum, bins, true);
    std::vector<std::uint64_t> counts(bins);
    for (ValueReader values(row.values.runs()); values.next();) counts[equal(values.value())] += values.count();
    const auto first = std::find_if(counts.begin(), counts.end(), [](std::uint64_t n) { return n > 0; });
    if (first == counts.end() || *first == core::finite(row)) return;  // within one bin: left as they are
    column.lower = extremes.minimum;
    column.upper = extremes.maximum;
    column.values.resize(bins);
    const float scale = core::equalize_scale(core::finite(row), *first, 1);
    *first = 0;
    std::uint64_t cumulative = 0;
    for (std::uint32_t bin = 0; bin < bins; ++bin)
        column.values[bin] = core::equalize(cumulative += counts[bin], scale);
}

/// `row` decides; equal bins go over `extremes`.
Tables::Column float_column(Channel channel, const PooledChannel& row, const PooledChannel& extremes,
                            const Normalization& normalization) {
    Tables::Column column;
    column.channel = channel;
    const std::uint64_t n = core::finite(row);
    if (n == 0) return column;
    switch (normalization.mode) {
        case NormalizeMode::minmax:
            column.lower = row.minimum;
            column.upper = row.maximum;
            break;
        case NormalizeMode::percentile: {
            core::OrderedValues values(row.values);
            column.lower = values.at_rank(core::nearest_rank(normalization.low, n) - 1);
            column.upper = values.at_rank(core::nearest_rank(normalization.high, n) - 1);
            break;
        }
        case NormalizeMode::equalize:
            equalize_floats(row, extremes, column);
            break;
        case NormalizeMode::zscore: {
            Statistics numbers;
            core::set_moments(numbers, n, row.power_sums, Detail::brief);
            column.mean = *numbers.mean;
            column.std = *numbers.std;
            break;
        }
    }
    return column;
}

Tables make_float_tables(const PooledDepth& pool, const Normalization& normalization) {
    const bool equalize = normalization.mode == NormalizeMode::equalize;
    if (!pool.values_counted && (equalize || normalization.mode == NormalizeMode::percentile))
        throw InvalidArgument("tables of f32 images: this pool has no counts of their values");
    Tables tables{Depth::f32, normalization.mode, normalization.joint, {}};
    const auto add = [&](Channel channel, const PooledChannel& row, const PooledChannel& extremes) {
        tables.columns.push_back(float_column(channel, row, extremes, normalization));
    };
    if (const PooledChannel* gray = pool.find(Channel::gray)) add(Channel::gray, *gray, *gray);
    if (!pool.find(Channel::red)) return tables;
    constexpr Channel colours[] = {Channel::red, Channel::green, Channel::blue};
    const PooledChannel* luma = pool.find(Channel::luma);
    if (!luma) throw InvalidArgument("tables of f32 images: this pool has colours without luma");
    PooledChannel extremes;
    for (Channel colour : colours) core::add_extremes(extremes, *pool.find(colour));
    core::add_extremes(extremes, *luma);
    if (!normalization.joint)
        for (Channel colour : colours) add(colour, *pool.find(colour), extremes);
    else
        add(Channel::all, equalize ? *luma : core::pool_colours(pool), extremes);
    return tables;
}

}  // namespace

const Tables::Column* Tables::find(Channel channel) const {
    const Channel sought = joint && channel != Channel::gray ? Channel::all : channel;
    for (const Column& column : columns)
        if (column.channel == sought) return &column;
    return nullptr;
}

Tables make_tables(const Pool& pool, Depth depth, const Normalization& normalization) {
    core::validate(normalization);
    const PooledDepth* found = pool.find(depth);
    if (!found) throw InvalidArgument(std::string("tables of ") + to_string(depth) + " images: the pool has none");
    if (depth == Depth::f32) return make_float_tables(*found, normalization);
    Tables tables{depth, normalization.mode, normalization.joint, {}};
    const auto add = [&](Channel channel, const std::vector<std::uint64_t>& counts) {
        Tables::Column& column = tables.columns.emplace_back();
        column.channel = channel;
        column.values = table_of(counts, normalization);
    };
    constexpr Channel colours[] = {Channel::red, Channel::green, Channel::blue};
    if (const PooledChannel* gray = found->find(Channel::gray)) add(Channel::gray, gray->counts);
    if (!found->find(Channel::red)) return tables;
    if (!normalization.joint) {
        for (Channel colour : colours) add(colour, found->find(colour)->counts);
    } else if (normalization.mode == NormalizeMode::equalize) {
        const PooledChannel* luma = found->find(Channel::luma);
        if (!luma) throw InvalidArgument("joint equalisation needs the luma counts, which this pool does not have");
        add(Channel::all, luma->counts);
    } else {
        add(Channel::all, core::pool_colours(*found).counts);
    }
    return tables;
}

}  // namespace gpuhist
