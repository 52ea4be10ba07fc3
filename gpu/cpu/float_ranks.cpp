#include "cpu/float_ranks.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

namespace gpuhist::cpu {
namespace {

/// Samples that a worker keeps before they are counted. Where all workers together keep no more they are sorted, which
/// spares small images the large tables.
constexpr std::size_t kept_samples = 65536;

constexpr std::uint16_t no_half = 0xFFFF;  ///< of NaN alone

GPUHIST_SIMD void keys_loop(const float* values, int samples, Keys& keys) {
    for (int i = 0; i < samples; ++i) {
        const std::uint32_t key = core::float_key(values[i]);
        keys.high[i] = static_cast<std::uint16_t>(key >> 16);
        keys.low[i] = static_cast<std::uint16_t>(key);
    }
}

/// Which keys are kept: 1, else 0.
GPUHIST_SIMD void kept_loop(const Keys& keys, int samples, const ChosenHalves& chosen, std::uint8_t* kept) {
    const ChosenHalves of = chosen;
    for (int i = 0; i < samples; ++i) {
        std::uint16_t any = 0;
        for (int k = 0; k < ChosenHalves::most; ++k)
            any |= static_cast<std::uint16_t>((keys.high[i] == of.high[k]) & (keys.low[i] != of.usual[k]));
        kept[i] = static_cast<std::uint8_t>(any);
    }
}

/// 64 bytes that are 0 or 1, as bits.
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

void RankFinder::begin(const core::RankPlan& plan, const std::uint64_t* half_counts) {
    plan_ = plan;
    half_counts_ = half_counts;
    tables_ = (plan.selected + ChosenHalves::most - 1) / ChosenHalves::most;
    for (int slot = 0; slot < tables_ * ChosenHalves::most; ++slot) {
        high_of(slot) = slot < plan.selected ? static_cast<std::uint16_t>(plan.high[slot]) : no_half;
        usual_of(slot) = 0;
        votes_[slot] = 0;
    }
    for (int slot = 0; slot < plan.selected; ++slot) slot_of_[plan.high[slot]] = static_cast<std::uint8_t>(slot);
    counted_ = false;
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
    const int slot = slot_of_[key >> 16];
    return slot != no_slot && usual_of(slot) != static_cast<std::uint16_t>(key);
}

void RankFinder::keep(const Keys& keys, int samples, Kept& kept) {
    if (kept.keys.empty()) kept.keys.resize(kept_samples + block_pixels);
    if (kept.count > kept_samples) count(kept);
    std::uint32_t* to = kept.keys.data() + kept.count;
    alignas(64) std::uint8_t is_kept[block_pixels];
    for (int t = 0; t < tables_; ++t) {
        kept_loop(keys, samples, chosen_[t], is_kept);
        std::fill(is_kept + samples, is_kept + (samples + 63) / 64 * 64, std::uint8_t{0});
        for (int i = 0; i < samples; i += 64)
            for (std::uint64_t left = bits_of(is_kept + i); left != 0; left &= left - 1) {
                const int k = i + std::countr_zero(left);
                *to++ = std::uint32_t{keys.high[k]} << 16 | keys.low[k];
            }
    }
    kept.count = static_cast<std::size_t>(to - kept.keys.data());
}

void RankFinder::count(Kept& kept) {
    const std::lock_guard lock(counting_);
    if (!counted_) low_counts_.assign(std::size_t{core::half_keys} * plan_.selected, 0);
    counted_ = true;
    const std::uint8_t* const slots = slot_of_.data();
    std::uint64_t* const counts = low_counts_.data();
    for (std::size_t i = 0; i < kept.count; ++i) {
        const std::uint32_t key = kept.keys[i];
        ++counts[std::uint32_t{slots[key >> 16]} << 16 | (key & 0xFFFFu)];
    }
    kept.count = 0;
}

void RankFinder::finish(std::span<Kept* const> all, std::vector<OrderStatistic>& result) {
    std::size_t samples = 0;
    for (const Kept* kept : all) samples += kept->count;
    const bool counting = counted_ || samples > kept_samples;
    gathered_.clear();
    for (Kept* kept : all) {
        if (counting && kept->count) count(*kept);
        gathered_.insert(gathered_.end(), kept->keys.begin(),
                         kept->keys.begin() + static_cast<std::ptrdiff_t>(kept->count));
        kept->count = 0;
    }
    result.clear();
    auto unsorted = gathered_.begin();
    for (int i = 0; i < plan_.ranks;) {
        const int slot = plan_.slot[i];
        const std::uint32_t half = plan_.high[slot], usual = half << 16 | usual_of(slot);
        auto add = [&](std::uint32_t key) { result.push_back({plan_.rank[i], core::key_float(key)}); };
        if (counting) {
            std::uint64_t* counts = low_counts_.data() + std::size_t{core::half_keys} * slot;
            counts[usual_of(slot)] =
                half_counts_[half] - std::accumulate(counts, counts + core::half_keys, std::uint64_t{0});
            std::uint64_t before = 0;
            for (std::uint32_t low = 0; i < plan_.ranks && plan_.slot[i] == slot; ++i) {
                while (before + counts[low] <= plan_.within[i]) before += counts[low++];
                add(half << 16 | low);
            }
            continue;
        }
        // The slot's samples, those below its usual value first.
        const auto first = unsorted;
        const auto last = std::partition(first, gathered_.end(), [=](std::uint32_t key) { return key >> 16 == half; });
        const auto middle = std::partition(first, last, [=](std::uint32_t key) { return key < usual; });
        const auto below = static_cast<std::uint64_t>(middle - first);
        const std::uint64_t times = half_counts_[half] - static_cast<std::uint64_t>(last - first);
        for (; i < plan_.ranks && plan_.slot[i] == slot; ++i) {
            const std::uint64_t rank = plan_.within[i];
            if (rank >= below && rank < below + times) {
                add(usual);
                continue;
            }
            const bool above = rank >= below;
            if (above) unsorted = std::max(unsorted, middle);
            const auto wanted = first + static_cast<std::ptrdiff_t>(above ? rank - times : rank);
            std::nth_element(unsorted, wanted, above ? last : middle);
            unsorted = wanted + 1;
            add(*wanted);
        }
        unsorted = last;
    }
    for (int slot = 0; slot < plan_.selected; ++slot) slot_of_[plan_.high[slot]] = no_slot;
}

}  // namespace gpuhist::cpu
