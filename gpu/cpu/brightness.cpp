#include "cpu/brightness.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <type_traits>
#include <vector>

#include "core/integers.hpp"
#include "cpu/measure_rows.hpp"
#include "cpu/measures.hpp"
#include "cpu/simd/avx2.hpp"
#include "measures/brightness.hpp"
#include "statistics/percentiles.hpp"

namespace gpuhist::cpu {
namespace {

using measures::Brightness;

/// Radix selection of keys at ranks: each pass finds one more digit of each, from the counts of the keys that have the
/// digits before it.
///
/// Images of bytes that come as a whole mostly need one pass: a sample of their pixels says in which windows the keys
/// at the ranks lie, and the pass counts the keys below the windows and keeps those in them. If a rank is not there,
/// other passes follow: those of the digits, or of a small image one that keeps all keys. Small images that come in
/// strips begin with this one.
template <class Sample>
class BrightnessStrips final : public StripAnalysis, public LooksAhead {
  public:
    explicit BrightnessStrips(const MeasuredImage& of)
        : workers_(of.workers),
          height_(of.image.height),
          has_colors_(measures_colors(of.image)),
          is_small_(bytes && of.image.pixels() < few_pixels),
          keeps_all_(is_small_),
          result_(of.result) {
        if (has_colors_) begin_digit();
    }

    void take(const ImageView& strip) override {
        if (!has_colors_) return;
        const std::int64_t grain = std::max<std::int64_t>(1, tile_pixels / strip.width);
        workers_.sweep(strip.height, grain, (serial_pixels + strip.width - 1) / strip.width, most_workers,
                       [&](int worker, std::int64_t first, std::int64_t last) {
                           Counts& counts = counts_of(worker);
                           MeasureRow<Value> row;
                           const ImageView rows = rows_of(strip, first, last);
                           for (std::int64_t y = 0; y < rows.height; ++y) add_row(rows, y, row, counts);
                       });
    }

    void look_ahead(const ImageView& strip) override {
        if constexpr (bytes)
            if (has_colors_ && strip.height == height_ && is_first() && !failed_ && is_fast(strip)) find_windows(strip);
    }

    bool end_pass() override {
        Measured found{Measure::brightness, 0, {}};
        if (windows_.numbers > 0 && !find_in_windows()) {
            failed_ = true;
            keeps_all_ = is_small_;
            windows_.numbers = 0;
            ranks_.clear();
            begin_digit();
            return true;
        }
        if (has_colors_ && keeps_all_) {
            find_among_all();
        } else if (has_colors_ && windows_.numbers == 0) {
            const std::vector<std::uint64_t> counts = sum();
            if (ranks_.empty()) {
                pixels_ = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
                find_ranks();
            }
            for (Rank& rank : ranks_) {
                const std::uint64_t* const own = counts.data() + (slot_of(rank.key) << bits_);
                std::uint64_t digit = 0;
                while (rank.within >= own[digit]) rank.within -= own[digit++];
                rank.key = rank.key << bits_ | digit;
            }
            left_ -= bits_;
            if (left_ > 0 && pixels_ > 0) {
                begin_digit();
                return true;
            }
        }
        found.pixels = pixels_;
        for (const Rank& rank : ranks_) found.sums.push_back({rank.key, 0});
        result_.measured.push_back(std::move(found));
        return false;
    }

  private:
    using Value = measures::Value<Sample>;

    static constexpr int key_bits = Brightness::key_bits<Sample>;
    static constexpr bool bytes = std::is_same_v<Sample, std::uint8_t>;
    /// Bits of each digit but the first, which has the rest.
    static constexpr int digit_bits = key_bits == 26 ? 14 : 16;
    /// Threads at most: each has counts of its own.
    static constexpr int most_workers = 8;
    static constexpr int window_shift = avx2::KeyWindows::shift;
    static constexpr std::size_t window_numbers = std::size_t{1} << 16,
                                 highest_number = 1000 * 255 * 255 >> window_shift;
    /// Pixels below which the keys of bytes are all kept.
    static constexpr std::int64_t few_pixels = std::int64_t{1} << 20;
    /// Keys of bytes that are found together.
    static constexpr int together = 1024;

    struct Rank {
        std::uint64_t within;   ///< rank among the keys with the digits of `key`
        std::uint64_t key = 0;  ///< digits that are known
    };
    /// Keys in windows. Their memory is neither cleared nor moved.
    struct Kept {
        static constexpr std::size_t most = std::size_t{1} << 14;
        std::unique_ptr<std::uint32_t[]> keys;
        std::size_t filled = 0;
    };
    /// Counts of a worker, by the place of the known digits among those wanted, and the next digit.
    struct Counts {
        std::vector<std::uint64_t> all;
        /// Bytes, first digit: two sets, since equal keys follow each other.
        std::vector<std::uint32_t> sets[2];
        std::uint64_t in_sets = 0;
        std::vector<std::uint32_t> keys, selected;
        // Windows.
        std::uint64_t pixels = 0, below[avx2::KeyWindows::most] = {};
        std::vector<Kept> kept;

        /// Keys with room for those that are found together.
        Kept& with_room() {
            if (kept.empty() || kept.back().filled + 2 * together > Kept::most)
                kept.push_back({std::unique_ptr<std::uint32_t[]>(new std::uint32_t[Kept::most])});
            return kept.back();
        }
        void keep(std::uint32_t key) {
            Kept& some = with_room();
            some.keys[some.filled++] = key;
        }
        /// Calls function(key) for the keys that are kept.
        template <class Function>
        void each_kept(const Function& function) const {
            for (const Kept& some : kept) std::for_each_n(some.keys.get(), some.filled, function);
        }
    };

    void begin_digit() {
        bits_ = left_ % digit_bits == 0 ? digit_bits : left_ % digit_bits;
        want_known_digits();
        counts_ = std::vector<Counts>(static_cast<std::size_t>(std::min(workers_.threads(), most_workers)));
    }
    void want_known_digits() {
        wanted_.clear();
        for (const Rank& rank : ranks_) wanted_.push_back(rank.key);
        std::sort(wanted_.begin(), wanted_.end());
        wanted_.erase(std::unique(wanted_.begin(), wanted_.end()), wanted_.end());
    }
    bool is_first() const { return wanted_.empty(); }
    static bool is_fast(const ImageView& image) {
        return bytes && !image.mask && image.channels <= 4 && avx2::supported();
    }

    /// Finds windows in which the keys at the ranks probably lie, from 8 of 64 pixels of each eighth row; of small
    /// images from 8 of 16 pixels of each fourth row, and at the distance of 16 numbers. Finds none if so many keys lie
    /// there that another way is quicker.
    void find_windows(const ImageView& image) {
        const std::int64_t block = 8, distance = is_small_ ? 16 : 64, below = is_small_ ? 4 : 8;
        const int coarse = is_small_ ? 4 : 0;
        constexpr std::int64_t fewest_pixels = std::int64_t{1} << 16, most_pixels = std::int64_t{1} << 32;
        if (image.pixels() < fewest_pixels || image.pixels() >= most_pixels || image.width < 2 * distance) return;
        std::vector<std::uint32_t> counts(window_numbers >> coarse), keys(together);
        std::vector<std::uint8_t> pixels(static_cast<std::size_t>((together + 2) * image.channels));
        std::uint64_t sampled = 0;
        for (std::int64_t y = below / 2; y < image.height; y += below) {
            const std::uint8_t* const row = row_of<std::uint8_t>(image, y);
            int filled = 0;
            const auto count = [&] {
                const int found =
                    avx2::brightness_keys(pixels.data(), filled + 2, image.channels, image.order, keys.data());
                for (int i = 0; i < found; ++i) ++counts[keys[static_cast<std::size_t>(i)] >> (window_shift + coarse)];
                sampled += static_cast<std::uint64_t>(found);
                filled = 0;
            };
            for (std::int64_t x = y % distance; x + block <= image.width; x += distance) {
                std::copy_n(row + x * image.channels, block * image.channels, pixels.data() + filled * image.channels);
                filled += static_cast<int>(block);
                if (filled == together) count();
            }
            if (filled > 0) count();
        }
        double through = 0;  // keys below the number
        std::size_t number = 0;
        const auto number_at = [&](double rank) {
            while (number + 1 < counts.size() && rank >= through + counts[number]) through += counts[number++];
            return number << coarse;
        };
        const auto n = static_cast<double>(sampled);
        for (const std::uint8_t percent : Brightness::percents) {
            const double q = percent / 100.0, about = 8 * std::sqrt(n * q * (1 - q));
            const auto low = static_cast<std::uint16_t>(number_at(n * q - about)),
                       high = static_cast<std::uint16_t>(
                           std::min(number_at(n * q + about) + (std::size_t{1} << coarse) - 1, highest_number));
            const int last = windows_.numbers - 1;
            if (last >= 0 && low <= windows_.high[last]) {
                windows_.high[last] = high;
            } else {
                windows_.low[windows_.numbers] = low;
                windows_.high[windows_.numbers++] = high;
            }
        }
        std::uint64_t kept = 0;
        for (int k = 0; k < windows_.numbers; ++k)
            for (int i = windows_.low[k] >> coarse; i <= windows_.high[k] >> coarse; ++i)
                kept += counts[static_cast<std::size_t>(i)];
        if (kept * 4 > sampled)
            windows_.numbers = 0;
        else
            keeps_all_ = false;
    }

    /// Finds the keys at the ranks among those that were kept. Returns false if one is not there.
    bool find_in_windows() {
        std::vector<std::uint32_t> counts(window_numbers);
        std::uint64_t below[avx2::KeyWindows::most] = {};
        for (const Counts& own : counts_) {
            pixels_ += own.pixels;
            for (int k = 0; k < windows_.numbers; ++k) below[k] += own.below[k];
            own.each_kept([&](std::uint32_t key) { ++counts[key >> window_shift]; });
        }
        find_ranks();
        for (Rank& rank : ranks_) {
            int k = windows_.numbers - 1;
            while (k >= 0 && below[k] > rank.within) --k;
            if (k < 0) return false;
            rank.within -= below[k];
            std::size_t number = windows_.low[k];
            while (number <= windows_.high[k] && rank.within >= counts[number]) rank.within -= counts[number++];
            if (number > windows_.high[k]) return false;
            rank.key = number;
        }
        want_known_digits();
        std::vector<std::uint64_t> last(wanted_.size() << window_shift);
        std::vector<std::uint8_t> places(window_numbers);  // of the wanted numbers, from 1
        for (std::size_t slot = 0; slot < wanted_.size(); ++slot)
            places[wanted_[slot]] = static_cast<std::uint8_t>(slot + 1);
        for (const Counts& own : counts_)
            own.each_kept([&](std::uint32_t key) {
                if (const std::size_t place = places[key >> window_shift]; place > 0)
                    ++last[(place - 1) << window_shift | (key & ((1U << window_shift) - 1))];
            });
        for (Rank& rank : ranks_) {
            const std::uint64_t* const own = last.data() + (slot_of(rank.key) << window_shift);
            std::uint64_t digit = 0;
            while (rank.within >= own[digit]) rank.within -= own[digit++];
            rank.key = rank.key << window_shift | digit;
        }
        return true;
    }

    /// Finds the keys at the ranks among all, which were kept: by the counts of their high bits, then among those that
    /// have the high bits of one.
    void find_among_all() {
        constexpr int low_bits = digit_bits;
        constexpr std::size_t numbers = std::size_t{1} << (key_bits - low_bits);
        std::vector<std::uint32_t> even(numbers), odd(numbers);  // equal keys follow each other
        pixels_ = 0;
        for (const Counts& own : counts_)
            for (const Kept& some : own.kept) {
                pixels_ += some.filled;
                std::size_t i = 0;
                for (; i + 2 <= some.filled; i += 2) {
                    ++even[some.keys[i] >> low_bits];
                    ++odd[some.keys[i + 1] >> low_bits];
                }
                if (i < some.filled) ++even[some.keys[i] >> low_bits];
            }
        find_ranks();
        for (Rank& rank : ranks_) {
            std::size_t number = 0;
            for (; rank.within >= even[number] + odd[number]; ++number) rank.within -= even[number] + odd[number];
            rank.key = number;
        }
        want_known_digits();
        std::vector<std::uint32_t> ends,
            keys;  // the keys with the high bits of each wanted number, one after the other
        std::vector<std::uint8_t> places(numbers);  // of the wanted numbers, from 1
        std::size_t size = 0;
        for (const std::uint64_t number : wanted_) {
            ends.push_back(static_cast<std::uint32_t>(size));  // moves to the end as they come
            size += even[number] + odd[number];
            places[number] = static_cast<std::uint8_t>(ends.size());
        }
        keys.resize(size);
        const auto add_wanted = [&](const std::uint32_t* some, std::size_t count) {
            for (std::size_t i = 0; i < count; ++i)
                if (const std::size_t place = places[some[i] >> low_bits]; place > 0) keys[ends[place - 1]++] = some[i];
        };
        std::vector<std::uint32_t> selected(avx2::supported() ? Kept::most + 8 : 0);
        const std::vector<std::uint32_t> wanted(wanted_.begin(), wanted_.end());
        for (const Counts& own : counts_)
            for (const Kept& some : own.kept) {
                std::size_t done = 0;
                if (!selected.empty()) {
                    const int found = avx2::select(some.keys.get(), static_cast<int>(some.filled), low_bits,
                                                   wanted.data(), static_cast<int>(wanted.size()), selected.data());
                    add_wanted(selected.data(), static_cast<std::size_t>(found));
                    done = some.filled / 8 * 8;
                }
                add_wanted(some.keys.get() + done, some.filled - done);
            }
        for (Rank& rank : ranks_) rank.key = key_at(rank, keys, ends, low_bits);
    }

    /// Key at a rank among those that have its high bits.
    std::uint64_t key_at(const Rank& rank, std::vector<std::uint32_t>& keys, const std::vector<std::uint32_t>& ends,
                         int low_bits) const {
        const std::size_t slot = slot_of(rank.key);
        std::uint32_t *const begin = keys.data() + (slot == 0 ? 0 : ends[slot - 1]), *const end =
                                                                                         keys.data() + ends[slot];
        if (end - begin <= 4096) {
            std::nth_element(begin, begin + rank.within, end);
            return begin[rank.within];
        }
        std::vector<std::uint32_t> counts(std::size_t{1} << low_bits);
        for (const std::uint32_t* key = begin; key != end; ++key) ++counts[*key & (counts.size() - 1)];
        std::uint64_t within = rank.within, low = 0;
        for (; within >= counts[low]; ++low) within -= counts[low];
        return rank.key << low_bits | low;
    }

    Counts& counts_of(int worker) {
        Counts& counts = counts_[static_cast<std::size_t>(worker)];
        if (keeps_all_) return counts;
        if (counts.all.empty()) counts.all.resize(std::max<std::size_t>(1, wanted_.size()) << bits_);
        return counts;
    }

    std::size_t slot_of(std::uint64_t key) const {
        return static_cast<std::size_t>(std::lower_bound(wanted_.begin(), wanted_.end(), key) - wanted_.begin());
    }

    /// Counts a key, if its digits before the current one are wanted.
    void add(std::uint64_t key, Counts& counts) const {
        const std::uint64_t digit = key >> (left_ - bits_) & ((std::uint64_t{1} << bits_) - 1);
        std::size_t slot = 0;
        if (!is_first()) {
            slot = slot_of(key >> left_);
            if (slot == wanted_.size() || wanted_[slot] != key >> left_) return;
        }
        ++counts.all[slot << bits_ | digit];
    }

    /// Counts keys of bytes, or keeps them.
    void add_keys(const std::uint32_t* keys, int count, Counts& counts) const {
        int done = 0;
        if (keeps_all_) {
            Kept& kept = counts.with_room();
            std::copy_n(keys, count, kept.keys.get() + kept.filled);
            kept.filled += static_cast<std::size_t>(count);
            return;
        }
        if (windows_.numbers > 0) {
            Kept& kept = counts.with_room();
            kept.filled += static_cast<std::size_t>(
                avx2::in_windows(keys, count, windows_, counts.below, kept.keys.get() + kept.filled));
            done = count / 16 * 16;
            counts.pixels += static_cast<std::uint64_t>(done);
            for (; done < count; ++done) add_to_windows(keys[done], counts);
            return;
        }
        if (is_first()) {
            for (auto& set : counts.sets) set.resize(std::size_t{1} << bits_);
            if (counts.in_sets + together > std::uint64_t{1} << 31) gather(counts);
            counts.in_sets += together;
            const int shift = left_ - bits_;
            std::uint32_t *const even = counts.sets[0].data(), *const odd = counts.sets[1].data();
            for (; done + 2 <= count; done += 2) {
                ++even[keys[done] >> shift];
                ++odd[keys[done + 1] >> shift];
            }
        } else {
            std::uint32_t wanted[2 * std::size(Brightness::percents)];
            std::copy(wanted_.begin(), wanted_.end(), wanted);
            const int found =
                avx2::select(keys, count, left_, wanted, static_cast<int>(wanted_.size()), counts.selected.data());
            for (int i = 0; i < found; ++i) add(counts.selected[static_cast<std::size_t>(i)], counts);
            done = count / 8 * 8;
        }
        for (; done < count; ++done) add(keys[done], counts);
    }

    /// Counts a key below the windows that are above it, or keeps it.
    void add_to_windows(std::uint32_t key, Counts& counts) const {
        const std::uint32_t number = key >> window_shift;
        ++counts.pixels;
        for (int k = 0; k < windows_.numbers; ++k) {
            if (number < windows_.low[k]) {
                ++counts.below[k];
            } else if (number <= windows_.high[k]) {
                counts.keep(key);
            }
        }
    }

    static void gather(Counts& counts) {
        for (auto& set : counts.sets) {
            for (std::size_t i = 0; i < set.size(); ++i) counts.all[i] += set[i];
            std::fill(set.begin(), set.end(), 0);
        }
        counts.in_sets = 0;
    }

    void add_row(const ImageView& strip, std::int64_t y, MeasureRow<Value>& row, Counts& counts) const {
        ImageView rest = strip;  // the row's pixels that are not counted yet
        rest.data = row_of<Sample>(strip, y);
        rest.mask = mask_of(strip, y);
        rest.height = 1;
        if constexpr (bytes)
            if (is_fast(rest)) {
                counts.keys.resize(together);
                counts.selected.resize(together + 8);
                for (int found = 1; found > 0;) {
                    const auto* const samples = static_cast<const std::uint8_t*>(rest.data);
                    // Two more pixels are read along with the last ones, so the row must have them.
                    const auto pixels = static_cast<int>(std::min<std::int64_t>(rest.width, together + 2));
                    found = avx2::brightness_keys(samples, pixels, rest.channels, rest.order, counts.keys.data());
                    add_keys(counts.keys.data(), found, counts);
                    rest.data = samples + found * rest.channels;
                    rest.width -= found;
                }
            }
        if (rest.width == 0) return;
        read_row<Sample>(rest, 0, RowOf::colors, row);
        for (std::size_t x = 1; x <= static_cast<std::size_t>(rest.width); ++x) {
            std::uint64_t key = 0;
            if (!row.valid[x] || !Brightness::key_of<Sample>(row.colors[0][x], row.colors[1][x], row.colors[2][x], key))
                continue;
            if (keeps_all_)
                counts.keep(static_cast<std::uint32_t>(key));
            else if (windows_.numbers > 0)
                add_to_windows(static_cast<std::uint32_t>(key), counts);
            else
                add(key, counts);
        }
    }

    std::vector<std::uint64_t> sum() {
        std::vector<std::uint64_t> total(std::max<std::size_t>(1, wanted_.size()) << bits_);
        for (Counts& counts : counts_) {
            gather(counts);
            for (std::size_t i = 0; i < counts.all.size(); ++i) total[i] += counts.all[i];
        }
        return total;
    }

    /// Ranks of the percentiles, two for each.
    void find_ranks() {
        for (const std::uint8_t percent : Brightness::percents) {
            if (pixels_ == 0) return;
            std::vector<std::uint64_t> ranks;
            core::percentile_of(percent * 1'000'000u, pixels_, [&](std::uint64_t rank) {
                ranks.push_back(rank);
                return 0.0;
            });
            for (const std::uint64_t rank : {ranks.front(), ranks.back()}) ranks_.push_back({rank});
        }
    }

    Workers& workers_;
    const std::int64_t height_;
    const bool has_colors_, is_small_;
    bool keeps_all_;  ///< all keys of bytes, in place of counts
    Analysis& result_;
    std::vector<Counts> counts_;         ///< of each worker
    std::vector<std::uint64_t> wanted_;  ///< known digits of the keys at the ranks, ascending; none: no digit is known
    std::vector<Rank> ranks_;
    std::uint64_t pixels_ = 0;  ///< that have a key
    int left_ = key_bits;       ///< bits of the keys from the current digit on
    int bits_ = 0;              ///< bits of the current digit
    avx2::KeyWindows windows_;  ///< none: digits are counted
    bool failed_ = false;       ///< a rank was not in the windows
};

}  // namespace

std::unique_ptr<StripAnalysis> brightness_strips(const MeasuredImage& image) {
    return with_depth(image.image.depth, [&](auto sample) -> std::unique_ptr<StripAnalysis> {
        return std::make_unique<BrightnessStrips<decltype(sample)>>(image);
    });
}

}  // namespace gpuhist::cpu
