#include "core/value_counts.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "core/float_analysis.hpp"

namespace gpuhist {
namespace core {
namespace {

/// Drops bits until so many are dropped. Neighbours that become the same are one.
void drop(ValueCounts& values, int bits) {
    const int more = bits - values.dropped_bits;
    values.dropped_bits = bits;
    if (more == 0 || values.keys.empty()) return;
    std::size_t last = 0;
    std::uint32_t key = values.keys[0] >> more;
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < values.keys.size(); ++i) {  // without branches, which could not be foreseen
        const std::uint32_t next = values.keys[i] >> more;
        const std::uint64_t fresh = next != key;
        last += fresh;
        sum = values.counts[i] + (sum & (fresh - 1));
        values.keys[last] = key = next;
        values.counts[last] = sum;
    }
    values.keys.resize(last + 1);
    values.counts.resize(last + 1);
}

/// Drops as few bits as leave at most `most` keys.
void drop_to(ValueCounts& values, std::size_t most) {
    if (values.keys.size() <= most) return;
    std::array<std::size_t, 33> first{};  // neighbours by the highest bit, counted from 1, in which they differ
    for (std::size_t i = 1; i < values.keys.size(); ++i) ++first[std::bit_width(values.keys[i] ^ values.keys[i - 1])];
    std::size_t left = values.keys.size();
    int bits = 0;
    while (left > most) left -= first[++bits];
    drop(values, values.dropped_bits + bits);
}

/// Both, ascending, as one; they have dropped the same bits.
void merge(ValueCounts& sum, const ValueCounts& more) {
    const std::size_t n = sum.keys.size(), m = more.keys.size();
    std::vector<std::uint32_t> keys(n + m);
    std::vector<std::uint64_t> counts(n + m);
    std::size_t i = 0, j = 0, to = 0;
    for (; i < n && j < m; ++to) {  // without branches, which could not be foreseen
        const std::uint32_t a = sum.keys[i], b = more.keys[j];
        const std::uint64_t from_sum = a <= b, from_more = b <= a;
        keys[to] = std::min(a, b);
        counts[to] = (sum.counts[i] & (0 - from_sum)) + (more.counts[j] & (0 - from_more));
        i += from_sum;
        j += from_more;
    }
    const auto copy_rest = [&](const ValueCounts& from, std::size_t at) {
        std::copy(from.keys.begin() + static_cast<std::ptrdiff_t>(at), from.keys.end(),
                  keys.begin() + static_cast<std::ptrdiff_t>(to));
        std::copy(from.counts.begin() + static_cast<std::ptrdiff_t>(at), from.counts.end(),
                  counts.begin() + static_cast<std::ptrdiff_t>(to));
        to += from.keys.size() - at;
    };
    copy_rest(sum, i);
    copy_rest(more, j);
    keys.resize(to);
    counts.resize(to);
    sum.keys = std::move(keys);
    sum.counts = std::move(counts);
}

}  // namespace

void add(ValueCounts& sum, const ValueCounts& more, std::size_t most) {
    if (&sum == &more) {
        for (std::uint64_t& count : sum.counts) count *= 2;
        sum.minus_infinite *= 2;
        sum.plus_infinite *= 2;
        return;
    }
    sum.minus_infinite += more.minus_infinite;
    sum.plus_infinite += more.plus_infinite;
    if (more.keys.empty()) return;
    if (more.dropped_bits > sum.dropped_bits) drop(sum, more.dropped_bits);
    if (more.dropped_bits < sum.dropped_bits) {
        ValueCounts coarse = more;
        drop(coarse, sum.dropped_bits);
        merge(sum, coarse);
    } else {
        merge(sum, more);
    }
    drop_to(sum, most);
    if (sum.keys.capacity() - sum.keys.size() > ValueCounts::most / 2) {
        sum.keys.shrink_to_fit();
        sum.counts.shrink_to_fit();
    }
}

void add_sorted(ValueCounts& sum, std::uint32_t first, const std::uint32_t* distances, std::size_t n,
                std::size_t most) {
    std::size_t different = 1;
    for (std::size_t i = 1; i < n; ++i) different += distances[i] != distances[i - 1];
    ValueCounts more;
    more.dropped_bits = sum.dropped_bits;
    more.keys.resize(different);
    more.counts.resize(different);
    std::size_t at = 0;
    for (std::size_t i = 0; i < n; ++i) {  // where each ends, first; no branch could be foreseen
        more.keys[at] = first + distances[i];
        more.counts[at] = i + 1;
        at += i + 1 < n && distances[i] != distances[i + 1];
    }
    for (; at > 0; --at) more.counts[at] -= more.counts[at - 1];
    drop_to(more, most);  // the less there is to merge
    add(sum, more, most);
}

bool plausible(const ValueCounts& values, std::uint64_t n, float minimum, float maximum) {
    const auto& [dropped, keys, counts, minus, plus] = values;
    if (keys.size() != counts.size() || keys.size() > ValueCounts::most || dropped < 0 ||
        dropped > ValueCounts::most_dropped_bits || keys.empty() != (n == 0))
        return false;
    if (n == 0) return dropped == 0;
    std::uint64_t sum = 0, without = 0;  // `without`: at most so many keys there were with one bit more
    for (std::size_t i = 0; i < keys.size(); ++i) {
        if (counts[i] == 0 || counts[i] > n - sum || (i > 0 && keys[i] <= keys[i - 1])) return false;
        sum += counts[i];
        without += std::min<std::uint64_t>(counts[i], 2);
    }
    const bool minus_zero = dropped == 0 && std::binary_search(keys.begin(), keys.end(), float_key(0.0F) - 1);
    return sum == n && !minus_zero && keys.front() == float_key(minimum) >> dropped &&
           keys.back() == float_key(maximum) >> dropped && (dropped == 0 || without > ValueCounts::most);
}

float OrderedValues::value(std::size_t at) const {
    return std::clamp(values_.value(at), minimum_, maximum_);
}

float OrderedValues::at_rank(std::uint64_t rank) {
    if (rank < before_) at_ = before_ = 0;
    for (; rank >= before_ + values_.counts[at_]; ++at_) before_ += values_.counts[at_];
    return value(at_);
}

}  // namespace core

float ValueCounts::value(std::size_t at) const {
    const std::uint32_t lowest = keys[at] << dropped_bits;
    const bool negative = lowest < core::float_key(0.0F);
    return core::key_float(negative ? lowest | ((1U << dropped_bits) - 1) : lowest) + 0.0F;
}

}  // namespace gpuhist
