// Order statistics of f32 channels on the CPU: which samples sweep 2 keeps, and the values at the ranks. See
// statistics/float_analysis.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "core/float_keys.hpp"
#include "cpu/pixel_source.hpp"
#include "gpuhist/analysis.hpp"
#include "statistics/float_analysis.hpp"

namespace gpuhist::cpu {

/// Keys as digits, which compare twice as fast.
struct Keys {
    alignas(64) std::uint16_t high[block_pixels], low[block_pixels];
};

/// Fills in the keys of at most `block_pixels` samples.
void find_keys(const float* values, int samples, Keys& keys);

/// High digits, up to eight, that hold a channel's ranks. Samples under them must be kept, but for one usual value
/// each: how many there are of that follows from the counts of sweep 1, so that of an image of few values, or of many
/// zeros, little is kept.
struct ChosenDigits {
    static constexpr int most = 8;
    std::uint16_t high[most], usual[most];  ///< `usual`: the low digit of that value's key
};

/// Ranks of one channel, or of the colors together.
class RankFinder {
  public:
    /// Low digits that a worker has kept, by the slot of their high digit.
    struct Kept {
        std::vector<std::uint16_t> lows[core::max_ranks];
        std::size_t count[core::max_ranks] = {};
    };

    /// Begins a group of ranks. `high_counts`: of sweep 1, by high digit; they must stay as they are until `finish`.
    void begin(const core::RankPlan& plan, const std::uint64_t* high_counts);
    /// Lets some samples of the channel, all finite, vote for usual values: their majority value, if there is one. Call
    /// it before any sample is kept.
    void vote(const Keys& keys, int samples);
    /// Verdict on a value: whether its samples are kept.
    bool keeps(float value) const;
    /// Keeps the needed samples of at most `block_pixels` finite samples. May be called by several threads, each with
    /// its own `kept`.
    void keep(const Keys& keys, int samples, Kept& kept);
    /// Adds the values at the plan's ranks to `result`; leaves all that was kept empty.
    void finish(std::span<Kept* const> kept, std::vector<OrderStatistic>& result);

  private:
    void make_room(Kept& kept, int slot);
    void count(Kept& kept, int slot);
    void find_by_counts(int slot, std::vector<OrderStatistic>& result);
    void find_by_order(int slot, std::vector<OrderStatistic>& result);
    std::uint16_t& high_of(int slot) { return chosen_[slot / ChosenDigits::most].high[slot % ChosenDigits::most]; }
    std::uint16_t& usual_of(int slot) { return chosen_[slot / ChosenDigits::most].usual[slot % ChosenDigits::most]; }
    std::uint16_t usual_of(int slot) const {
        return chosen_[slot / ChosenDigits::most].usual[slot % ChosenDigits::most];
    }

    core::RankPlan plan_;
    const std::uint64_t* high_counts_ = nullptr;
    int tables_ = 0;                                             ///< of `chosen_`, used
    ChosenDigits chosen_[core::max_ranks / ChosenDigits::most];  ///< of slot s, the s mod `most` of the s / `most`
    static constexpr std::uint8_t no_slot = 0xFF;
    std::vector<std::uint8_t> slot_of_ = std::vector<std::uint8_t>(core::digit_values, no_slot);  ///< by high digit
    std::int64_t votes_[core::max_ranks];
    /// Counts by low digit, for a slot with many samples, which are counted instead of sorted. They have 32 bits, so
    /// that more of the table is in the cache, and are added to `all`, which is empty until then, before they can
    /// overflow.
    struct Counts {
        std::mutex counting;
        bool begun = false;
        std::uint64_t recently = 0;  ///< samples counted in `recent`
        std::vector<std::uint32_t> recent;
        std::vector<std::uint64_t> all;

        void gather();
    };
    Counts counts_[core::max_ranks];
    std::vector<std::uint16_t> gathered_;  ///< all that was kept in one slot
};

}  // namespace gpuhist::cpu
