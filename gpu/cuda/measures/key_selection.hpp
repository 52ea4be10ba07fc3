// Selection of the keys of brightness at ranks, from counts of their digits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "measures/brightness.hpp"
#include "statistics/percentiles.hpp"

namespace gpuhist::cuda {

/// Selection of the keys at the ranks of the percentiles of brightness. Each pass over the pixels finds one more digit
/// of each key, from the counts of the keys that have the digits before it.
class KeySelection {
  public:
    /// Keys whose digits before the current one are wanted, at most.
    static constexpr std::size_t most_wanted = 2 * std::size(measures::Brightness::percents);

    KeySelection(int key_bits, int first_bits, int digit_bits)
        : left_(key_bits), bits_(std::min(first_bits, key_bits)), digit_bits_(digit_bits) {}

    /// Bits of a key from the current digit on, and of the current digit.
    int left() const { return left_; }
    int bits() const { return bits_; }
    /// Digits before the current one, of keys at the ranks, ascending. In the first pass, all keys are counted.
    const std::vector<std::uint64_t>& wanted() const { return wanted_; }
    bool first() const { return wanted_.empty(); }
    /// Number of counts of a pass.
    std::size_t counts() const { return std::max<std::size_t>(1, wanted_.size()) << bits_; }

    /// Takes the counts of a pass: those of the current digit, by place of the digits before it among the wanted ones.
    /// Returns whether there is another pass.
    bool take(const std::uint64_t* counts) {
        if (first()) find_ranks(counts);
        for (Rank& rank : ranks_) {
            const auto place = std::lower_bound(wanted_.begin(), wanted_.end(), rank.key) - wanted_.begin();
            const std::uint64_t* const own = counts + (static_cast<std::size_t>(place) << bits_);
            std::uint64_t digit = 0;
            while (rank.within >= own[digit]) rank.within -= own[digit++];
            rank.key = rank.key << bits_ | digit;
        }
        left_ -= bits_;
        bits_ = std::min(digit_bits_, left_);
        wanted_.clear();
        for (const Rank& rank : ranks_) wanted_.push_back(rank.key);
        std::sort(wanted_.begin(), wanted_.end());
        wanted_.erase(std::unique(wanted_.begin(), wanted_.end()), wanted_.end());
        return left_ > 0 && !ranks_.empty();
    }

    /// Findings after the last pass.
    Measured found() const {
        Measured found{Measure::brightness, pixels_, {}};
        for (const Rank& rank : ranks_) found.sums.push_back({rank.key, 0});
        return found;
    }

  private:
    struct Rank {
        std::uint64_t within;   ///< rank among the keys with the digits of `key`
        std::uint64_t key = 0;  ///< digits that are known
    };

    void find_ranks(const std::uint64_t* counts) {
        for (std::size_t i = 0; i < std::size_t{1} << bits_; ++i) pixels_ += counts[i];
        if (pixels_ == 0) return;
        for (const std::uint8_t percent : measures::Brightness::percents) {
            std::vector<std::uint64_t> ranks;
            core::percentile_of(percent * 1'000'000u, pixels_, [&](std::uint64_t rank) {
                ranks.push_back(rank);
                return 0.0;
            });
            for (const std::uint64_t rank : {ranks.front(), ranks.back()}) ranks_.push_back({rank});
        }
    }

    int left_, bits_;
    const int digit_bits_;
    std::uint64_t pixels_ = 0;
    std::vector<Rank> ranks_;
    std::vector<std::uint64_t> wanted_;
};

}  // namespace gpuhist::cuda
