#include "core/lookup.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <type_traits>

#include "core/integers.hpp"
#include "core/statistics.hpp"
#include "core/tables.hpp"
#include "core/validate.hpp"
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

void validate(const Tables& tables) {
    const auto refuse = [](const std::string& what) { throw InvalidArgument("tables: " + what); };
    if (tables.depth == Depth::f32) refuse("there are none of f32");
    const std::size_t values = tables.depth == Depth::u8 ? 256 : 65536;
    const auto top = static_cast<float>(values - 1);
    int last = -1;
    for (const Tables::Column& column : tables.columns) {
        const std::string name = to_string(column.channel);
        const bool known = column.channel == Channel::gray ||
                           (tables.joint ? column.channel == Channel::all
                                         : column.channel >= Channel::red && column.channel <= Channel::blue);
        if (!known) refuse("'" + name + "' has no place in " + (tables.joint ? "joint" : "separate") + " tables");
        if (static_cast<int>(column.channel) <= last) refuse("'" + name + "' comes twice or out of order");
        last = static_cast<int>(column.channel);
        if (column.values.size() != values) refuse("'" + name + "' has not " + std::to_string(values) + " values");
        for (const float value : column.values)
            if (!std::isfinite(value) ||
                (tables.mode != NormalizeMode::zscore && (value != std::floor(value) || value < 0 || value > top)))
                refuse("'" + name + "' has a value that is not " +
                       (tables.mode == NormalizeMode::zscore ? "finite" : "a whole number within the depth"));
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

}  // namespace

const Tables::Column* Tables::find(Channel channel) const {
    const Channel sought = joint && channel != Channel::gray ? Channel::all : channel;
    for (const Column& column : columns)
        if (column.channel == sought) return &column;
    return nullptr;
}

Tables make_tables(const Pool& pool, Depth depth, const Normalization& normalization) {
    core::validate(normalization);
    if (depth == Depth::f32) throw InvalidArgument("tables of f32 images: only their pixels tell");
    const PooledDepth* found = pool.find(depth);
    if (!found) throw InvalidArgument(std::string("tables of ") + to_string(depth) + " images: the pool has none");
    Tables tables{depth, normalization.mode, normalization.joint, {}};
    const auto add = [&](Channel channel, const std::vector<std::uint64_t>& counts) {
        tables.columns.push_back({channel, table_of(counts, normalization)});
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
        std::vector<std::uint64_t> counts = found->find(Channel::red)->counts;
        for (Channel colour : {Channel::green, Channel::blue})
            std::transform(counts.begin(), counts.end(), found->find(colour)->counts.begin(), counts.begin(),
                           std::plus<>());
        add(Channel::all, counts);
    }
    return tables;
}

}  // namespace gpuhist
