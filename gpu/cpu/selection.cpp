#include "cpu/selection.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <utility>

namespace gpuhist::cpu {
namespace {

/// Samples of a slot that a worker keeps before it counts them: enough for each line of the table to be met several
/// times while it is near.
constexpr std::size_t kept_samples = 65536;

/// Samples kept by all workers below which it is quicker to put them in order than to go through the table.
constexpr std::size_t ordered_samples = 16384;

/// Samples in counters of 32 bits, beyond which these are gathered; a worker adds no more than its own at once.
constexpr std::uint64_t most_recent = std::uint64_t{1} << 31;

constexpr std::uint16_t no_digit = 0xFFFF;  ///< of NaN alone

GPUHIST_SIMD void keys_loop(const float* values, int samples, Keys& keys) {
    for (int i = 0; i < samples; ++i) {
        const std::uint32_t key = core::float_key(values[i]);
        keys.high[i] = core::high_digit(key);
        keys.low[i] = core::low_digit(key);
    }
}

/// Verdict on each key: 1 where it is kept, else 0.
GPUHIST_SIMD void kept_loop(const Keys& keys, int samples, const ChosenDigits& chosen, std::uint8_t* kept) {
    const ChosenDigits of = chosen;
    for (int i = 0; i < samples; ++i) {
        std::uint16_t any = 0;
        for (int k = 0; k < ChosenDigits::most; ++k)
            any |= static_cast<std::uint16_t>((keys.high[i] == of.high[k]) & (keys.low[i] != of.usual[k]));
        kept[i] = static_cast<std::uint8_t>(any);
    }
}

/// Bits of 64 bytes that are 0 or 1.
std::uint64_t bits_of(const std::uint8_t* bytes) {
    std::uint64_t bits = 0;
    for (int i = 0; i < 64; i += 8) {
        std::uint64_t eight;
        std::memcpy(&eight, bytes + i, sizeof eight);
        bits |= eight * 0x0102040810204080u >> 56 << i;  // byte k's lowest bit comes to lie at 56 + k
    }
    return bits;
}

}  // namespace

void find_keys(const float* values, int samples, Keys& keys) {
    keys_loop(values, samples, keys);
}

void RankFinder::begin(const core::RankPlan& plan, const std::uint64_t* high_counts) {
    plan_ = plan;
    high_counts_ = high_counts;
    tables_ = (plan.selected + ChosenDigits::most - 1) / ChosenDigits::most;
    for (int slot = 0; slot < tables_ * ChosenDigits::most; ++slot) {
        high_of(slot) = slot < plan.selected ? static_cast<std::uint16_t>(plan.high[slot]) : no_digit;
        usual_of(slot) = 0;
        votes_[slot] = 0;
    }
    for (int slot = 0; slot < plan.selected; ++slot) slot_of_[plan.high[slot]] = static_cast<std::uint8_t>(slot);
    for (Counts& counts : counts_) counts.begun = false;
}

/// Boyer and Moore's majority vote: another value takes one of the candidate's votes, or its place.
void RankFinder::vote(const Keys& keys, int samples) {
    for (int i = 0; i < samples; ++i) {
        const int slot = slot_of_[keys.high[i]];
        if (slot == no_slot) continue;
        if (votes_[slot] == 0) usual_of(slot) = keys.low[i];
        votes_[slot] += usual_of(slot) == keys.low[i] ? 1 : -1;
    }
}

bool RankFinder::keeps(float value) const {
    const std::uint32_t key = core::float_key(value);
    const int slot = slot_of_[core::high_digit(key)];
    return slot != no_slot && usual_of(slot) != core::low_digit(key);
}

void RankFinder::keep(const Keys& keys, int samples, Kept& kept) {
    std::uint16_t* to[core::max_ranks];
    for (int slot = 0; slot < plan_.selected; ++slot) {
        make_room(kept, slot);
        to[slot] = kept.lows[slot].data() + kept.count[slot];
    }
    alignas(64) std::uint8_t is_kept[block_pixels];
    for (int t = 0; t < tables_; ++t) {
        kept_loop(keys, samples, chosen_[t], is_kept);
        std::fill(is_kept + samples, is_kept + (samples + 63) / 64 * 64, std::uint8_t{0});
        for (int i = 0; i < samples; i += 64)
            for (std::uint64_t left = bits_of(is_kept + i); left != 0; left &= left - 1) {
                const int k = i + std::countr_zero(left);
                *to[slot_of_[keys.high[k]]]++ = keys.low[k];
            }
    }
    for (int slot = 0; slot < plan_.selected; ++slot)
        kept.count[slot] = static_cast<std::size_t>(to[slot] - kept.lows[slot].data());
}

/// Makes room for one block more.
void RankFinder::make_room(Kept& kept, int slot) {
    std::vector<std::uint16_t>& lows = kept.lows[slot];
    if (lows.size() >= kept.count[slot] + block_pixels) return;
    if (lows.size() < kept_samples + block_pixels)
        lows.resize(std::min(kept_samples, 4 * lows.size()) + block_pixels);
    else
        count(kept, slot);
}

void RankFinder::Counts::gather() {
    all.resize(core::digit_values);
    for (std::size_t low = 0; low < core::digit_values; ++low) all[low] += recent[low];
    std::fill(recent.begin(), recent.end(), 0u);
    recently = 0;
}

void RankFinder::count(Kept& kept, int slot) {
    Counts& counts = counts_[slot];
    const std::lock_guard lock(counts.counting);
    if (!std::exchange(counts.begun, true)) {
        counts.recently = 0;
        counts.recent.assign(core::digit_values, 0);
        counts.all.clear();
    }
    if (counts.recently > most_recent) counts.gather();
    std::uint32_t* const recent = counts.recent.data();
    const std::uint16_t* const lows = kept.lows[slot].data();
    const std::size_t samples = std::exchange(kept.count[slot], 0);
    for (std::size_t i = 0; i < samples; ++i) ++recent[lows[i]];
    counts.recently += samples;
}

/// Ranks of a slot whose samples were counted, all but the usual ones.
void RankFinder::find_by_counts(int slot, std::vector<OrderStatistic>& result) {
    Counts& found = counts_[slot];
    if (!found.all.empty()) found.gather();
    const auto find = [&](const auto& counts) {
        const std::uint64_t usual =
            high_counts_[plan_.high[slot]] - std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
        std::uint64_t before = 0;
        std::uint32_t low = 0;
        for (int i = 0; i < plan_.ranks; ++i) {
            if (plan_.slot[i] != slot) continue;
            for (std::uint64_t here;; before += here, ++low) {
                here = low == usual_of(slot) ? usual : counts[low];
                if (before + here > plan_.within[i]) break;
            }
            result.push_back({plan_.rank[i], core::key_float(core::key_of_digits(plan_.high[slot], low))});
        }
    };
    found.all.empty() ? find(found.recent) : find(found.all);
}

/// Ranks of a slot whose samples, all but the usual ones, were gathered.
void RankFinder::find_by_order(int slot, std::vector<OrderStatistic>& result) {
    const std::uint16_t usual = usual_of(slot);
    const auto middle = std::partition(gathered_.begin(), gathered_.end(), [=](auto low) { return low < usual; });
    const auto below = static_cast<std::uint64_t>(middle - gathered_.begin());
    const std::uint64_t times = high_counts_[plan_.high[slot]] - gathered_.size();
    auto unordered = gathered_.begin();
    for (int i = 0; i < plan_.ranks; ++i) {
        if (plan_.slot[i] != slot) continue;
        const std::uint64_t rank = plan_.within[i];
        std::uint16_t low = usual;
        if (rank < below || rank >= below + times) {
            const bool above = rank >= below;
            if (above) unordered = std::max(unordered, middle);
            const auto wanted = gathered_.begin() + static_cast<std::ptrdiff_t>(above ? rank - times : rank);
            std::nth_element(unordered, wanted, above ? gathered_.end() : middle);
            unordered = wanted + 1;
            low = *wanted;
        }
        result.push_back({plan_.rank[i], core::key_float(core::key_of_digits(plan_.high[slot], low))});
    }
}

void RankFinder::finish(std::span<Kept* const> all, std::vector<OrderStatistic>& result) {
    for (int slot = 0; slot < plan_.selected; ++slot) {  // as their ranks, from the lowest on
        std::size_t samples = 0;
        for (const Kept* kept : all) samples += kept->count[slot];
        const bool counted = counts_[slot].begun || samples > ordered_samples;
        gathered_.clear();
        for (Kept* kept : all) {
            const std::uint16_t* const lows = kept->lows[slot].data();
            if (counted)
                count(*kept, slot);
            else
                gathered_.insert(gathered_.end(), lows, lows + kept->count[slot]);
            kept->count[slot] = 0;
        }
        if (counted)
            find_by_counts(slot, result);
        else
            find_by_order(slot, result);
        slot_of_[plan_.high[slot]] = no_slot;
    }
}

}  // namespace gpuhist::cpu
