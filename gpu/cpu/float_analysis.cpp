#include "cpu/float_analysis.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "cpu/integer_analysis.hpp"
#include "cpu/selection.hpp"
#include "cpu/simd/avx512.hpp"

namespace gpuhist::cpu {
namespace {

using core::i128;

/// Counters of 32 bits are gathered into 64 after this many pixels at most, each of which adds one to a row's counter.
constexpr std::int64_t round_pixels = std::int64_t{1} << 31;

/// Memory for the bins of all workers together; where it would be more, fewer workers run.
constexpr std::size_t bin_memory_bytes = std::size_t{256} << 20;

constexpr std::uint32_t lowest_finite_key = 0x00800000u, highest_finite_key = 0xFF7FFFFFu;
constexpr std::uint32_t exponent_bits = 0x7F800000u;  ///< all set where a float is not finite
constexpr std::uint32_t minus_infinity_key = 0x007FFFFFu, plus_infinity_key = 0xFF800000u;

// ---- loops over one plane of a block --------------------------------------------------------------------------------

GPUHIST_SIMD void split_loop(const float* samples, int pixels, int channels, ChannelOrder order, Planes& planes) {
    auto& to = planes.values;
    if (channels == 1) {
        std::copy_n(samples, pixels, to[0]);
        return;
    }
    const Positions at(order);
    auto colors = [&](auto stride) {
        for (int i = 0; i < pixels; ++i) {
            const float red = samples[i * stride + at.red], green = samples[i * stride + at.green],
                        blue = samples[i * stride + at.blue];
            to[red_row][i] = red;
            to[green_row][i] = green;
            to[blue_row][i] = blue;
            to[luma_row][i] = core::luma(red, green, blue);
        }
    };
    if (channels == 3) return colors(std::integral_constant<int, 3>{});
    colors(std::integral_constant<int, 4>{});
    for (int i = 0; i < pixels; ++i) to[alpha_row][i] = samples[i * 4 + 3];
}

/// What sweep 1 finds in a row, as keys.
struct Extremes {
    std::uint32_t minimum = ~0u, maximum = 0;  ///< of the finite samples
    std::uint64_t nan = 0, minus_infinity = 0, plus_infinity = 0;

    bool any() const { return minimum <= maximum; }
    bool odd() const { return nan || minus_infinity || plus_infinity; }
    void operator+=(const Extremes& other) {
        minimum = std::min(minimum, other.minimum);
        maximum = std::max(maximum, other.maximum);
        nan += other.nan;
        minus_infinity += other.minus_infinity;
        plus_infinity += other.plus_infinity;
    }
};

/// The lowest and the highest key.
GPUHIST_SIMD std::pair<std::uint32_t, std::uint32_t> extremes_loop(const float* values, int pixels) {
    std::uint32_t minimum = ~0u, maximum = 0;
    for (int i = 0; i < pixels; ++i) {
        const std::uint32_t key = core::float_key(values[i]);
        minimum = key < minimum ? key : minimum;
        maximum = key > maximum ? key : maximum;
    }
    return {minimum, maximum};
}

bool all_finite(const std::pair<std::uint32_t, std::uint32_t>& extremes) {
    return extremes.first >= lowest_finite_key && extremes.second <= highest_finite_key;
}

/// Where some are not finite.
GPUHIST_SIMD Extremes finite_extremes_loop(const float* values, int pixels) {
    std::uint32_t minimum = ~0u, maximum = 0, finite = 0, minus_infinity = 0, plus_infinity = 0;
    for (int i = 0; i < pixels; ++i) {
        const std::uint32_t key = core::float_key(values[i]);
        const std::uint32_t is_finite = key - lowest_finite_key <= highest_finite_key - lowest_finite_key;
        const std::uint32_t none = is_finite - 1, low = key | none, high = key & ~none;  // no branch
        minimum = low < minimum ? low : minimum;
        maximum = high > maximum ? high : maximum;
        finite += is_finite;
        minus_infinity += key == minus_infinity_key;
        plus_infinity += key == plus_infinity_key;
    }
    const auto rest = static_cast<std::uint32_t>(pixels) - finite - minus_infinity - plus_infinity;
    return {minimum, maximum, rest, minus_infinity, plus_infinity};
}

Extremes extremes_of(const float* values, int pixels) {
    const auto extremes = extremes_loop(values, pixels);
    if (all_finite(extremes)) return {extremes.first, extremes.second};
    return finite_extremes_loop(values, pixels);
}

GPUHIST_SIMD void high_loop(const float* values, int pixels, std::uint16_t* high) {
    for (int i = 0; i < pixels; ++i) high[i] = static_cast<std::uint16_t>(core::float_key(values[i]) >> 16);
}

/// Adds the first `powers` of core::MomentTerms, of at most 512 samples, whose sums stay in 64 bits. They are made in
/// fewer steps: a power is kept scaled, and what rounding left is rounded by a number so much smaller than `whole` as
/// its digits are finer, which leaves the same in the low bits. Differences of whole numbers are exact.
template <int powers>
[[gnu::always_inline]] inline void add_terms(const float* values, int samples, const core::MomentTerms& terms,
                                             i128 (&sums)[4]) {
    constexpr double whole = core::MomentTerms::whole, fine = whole * 0x1p-40;
    std::uint64_t high[powers] = {}, low[powers] = {};
    for (int i = 0; i < samples; ++i) {
        const double u = (static_cast<double>(values[i]) - terms.pivot) * terms.unit;
        double power = u * 0x1p40;
        for (int k = 0; k < powers; ++k) {
            const double shifted = power + whole, rest = power - (shifted - (whole + fine));
            high[k] += std::bit_cast<std::uint64_t>(shifted);
            low[k] += std::bit_cast<std::uint64_t>(rest);
            power *= u;
        }
    }
    const auto n = static_cast<std::uint64_t>(samples);
    for (int k = 0; k < powers; ++k)
        sums[k] += core::MomentTerms::total(
            high[k], low[k] + n * (core::MomentTerms::zero - std::bit_cast<std::uint64_t>(fine)), n);
}
GPUHIST_SIMD void moments_loop(const float* values, int samples, const core::MomentTerms& terms, i128 (&sums)[4]) {
    add_terms<4>(values, samples, terms, sums);
}
GPUHIST_SIMD void brief_moments_loop(const float* values, int samples, const core::MomentTerms& terms,
                                     i128 (&sums)[4]) {
    add_terms<2>(values, samples, terms, sums);
}

/// core::FloatBins of each, without branches; `bins` for those below the range, `bins` + 1 for those above.
GPUHIST_SIMD void bins_loop(const float* values, int samples, const core::FloatBins& bins, std::uint32_t* found) {
    const double lower = bins.lower, upper = bins.upper, scale = bins.scale;
    const double width = (upper - lower) / bins.bins, count = bins.bins, last = count - 1;
    const double highest = bins.upper_closed ? upper : std::nextafter(upper, lower);
    for (int i = 0; i < samples; ++i) {
        const double value = values[i], position = (value - lower) * scale;
        const double positive = position > 0 ? position : 0, estimate = positive < last ? positive : last;
        const double bin = static_cast<std::int32_t>(estimate);
        const double down = value < bin * width + lower ? 1 : 0, up = value >= (bin + 1) * width + lower ? 1 : 0;
        const double inside = bin - down + up, place = inside < last ? inside : last;
        const double or_below = value < lower ? count : place, or_above = value > highest ? count + 1 : or_below;
        found[i] = static_cast<std::uint32_t>(static_cast<std::int32_t>(or_above));
    }
}

/// A quicker way to the bins of samples that all lie in the range: in single precision, where no position comes so near
/// an edge between two bins that rounding may have brought it over.
struct QuickBins {
    bool usable;
    float lower, scale, least, most, sure;

    QuickBins(const core::FloatBins& bins, bool within) {
        const double range = bins.upper - bins.lower, bound = std::max(std::fabs(bins.lower), std::fabs(bins.upper));
        lower = static_cast<float>(bins.lower);
        scale = static_cast<float>(bins.scale);
        // A difference, a factor and a product are each off by 2^-24 of themselves, and a lower end that is no float by
        // that of it; positions and edges of core::FloatBins by some 2^-53 of the numbers they are made from.
        const double slack =
            bins.bins * (0x1p-22 + (lower != bins.lower ? 0x1p-23 * bound / range : 0) + 0x1p-48 * (1 + bound / range));
        least = static_cast<float>(2 * slack);  // beyond the first and the last edge no sample lies
        most = static_cast<float>(bins.bins - 2 * slack);
        sure = static_cast<float>(0.5 - slack);  // from the middle of a bin
        usable = within && slack < 0x1p-11 && range < std::numeric_limits<float>::max() && std::isnormal(scale) &&
                 (lower == bins.lower || std::isnormal(lower));
    }
};

/// Returns whether all of them are right.
GPUHIST_SIMD bool quick_bins_loop(const float* values, int samples, const QuickBins& quick, std::uint32_t* found) {
    const float lower = quick.lower, scale = quick.scale, least = quick.least, most = quick.most, sure = quick.sure;
    std::uint32_t unsure = 0;
    for (int i = 0; i < samples; ++i) {
        const float estimate = (values[i] - lower) * scale, above = estimate > least ? estimate : least,
                    position = above < most ? above : most;
        const auto bin = static_cast<std::int32_t>(position);
        const float from_middle = std::fabs(position - static_cast<float>(bin) - 0.5f);
        unsure |= from_middle < sure ? 0u : 1u;
        found[i] = static_cast<std::uint32_t>(bin);
    }
    return unsure == 0;
}

GPUHIST_SIMD void bytes_loop(const std::uint32_t* values, int samples, std::uint8_t* bytes) {
    for (int i = 0; i < samples; ++i) bytes[i] = static_cast<std::uint8_t>(values[i]);
}

/// The finite samples of a plane: the plane itself where all are, which may be known.
struct Finite {
    const float* values;
    int samples;
};
Finite finite_of(const float* plane, int pixels, bool known_finite, float* storage) {
    if (known_finite || all_finite(extremes_loop(plane, pixels))) return {plane, pixels};
    int samples = 0;
    for (int i = 0; i < pixels; ++i) {
        storage[samples] = plane[i];
        const auto bits = std::bit_cast<std::uint32_t>(plane[i]);
        samples += (bits & exponent_bits) != exponent_bits;
    }
    return {storage, samples};
}

// ---- counting -------------------------------------------------------------------------------------------------------

/// Small tables are kept several times, taken in turn by neighbouring samples, so that equal neighbours do not wait for
/// each other's store. Of few bins all copies fit the innermost cache.
constexpr int most_copies = 4;
constexpr std::uint32_t few_bins = 1024;

template <int copies, class Place>
void count_places(const Place* places, int samples, std::uint32_t* counts, std::size_t size) {
    int i = 0;
    for (; i + most_copies <= samples; i += most_copies)
        for (int k = 0; k < most_copies; ++k) ++counts[k % copies * size + places[i + k]];
    for (; i < samples; ++i) ++counts[places[i]];
}

/// Of each row's high halves: neighbours of one row may be equal, so the rows take turns.
template <int rows>
void count_halves(const std::uint16_t (&high)[color_rows][block_pixels], int pixels, std::uint32_t* counts) {
    for (int i = 0; i < pixels; ++i)
        for (int row = 0; row < rows; ++row) ++counts[row * core::half_keys + high[row][i]];
}

/// The counts of one worker, by bin, of the rows of an image. All zero between sweeps.
class BinCounter {
  public:
    /// Of one worker and row.
    static std::size_t bytes(std::uint32_t bins) { return (std::size_t{bins} + 2) * copies_of(bins) * 4; }

    /// Before a worker's first samples of a sweep, and again before others. `within`: all samples lie in the range.
    void begin(const core::FloatBins& bins, int rows, bool within) {
        static const bool wide = avx512::supported();
        bins_ = bins;
        quick_ = QuickBins(bins, within);
        by_bytes_ = wide && within && bins.bins <= 256;
        copies_ = by_bytes_ ? 1 : copies_of(bins.bins);
        size_ = by_bytes_ ? 256 : std::size_t{bins.bins} + 2;
        const std::size_t all = size_ * copies_ * rows;
        if (counts_.size() < all) counts_.resize(all);
        if (by_bytes_ && !batch_) batch_ = std::make_unique<avx512::Scratch>();
    }
    bool begun() const { return size_ != 0; }

    /// At most `block_pixels` finite samples.
    void add(int row, const float* values, int samples) {
        alignas(64) std::uint32_t places[block_pixels];
        if (!quick_.usable || !quick_bins_loop(values, samples, quick_, places))
            bins_loop(values, samples, bins_, places);
        if (by_bytes_) {
            bytes_loop(places, samples, batch_->planes[row] + filled_[row]);
            filled_[row] += samples;
            if (filled_[row] > avx512::batch_pixels - block_pixels) count_batch(row);
        } else if (copies_ == 1) {
            count_places<1>(places, samples, counts_of(row), size_);
        } else {
            count_places<most_copies>(places, samples, counts_of(row), size_);
        }
    }

    /// Adds a row's counts to `counts`, and to those of what lies below and above the range.
    void finish(int row, std::uint64_t* counts, std::uint64_t& below, std::uint64_t& above) {
        if (filled_[row]) count_batch(row);
        for (int copy = 0; copy < copies_; ++copy) {
            std::uint32_t* const from = counts_of(row) + copy * size_;
            for (std::uint32_t bin = 0; bin < bins_.bins; ++bin) counts[bin] += from[bin];
            if (!by_bytes_) {
                below += from[bins_.bins];
                above += from[bins_.bins + 1];
            }
            std::fill_n(from, size_, 0u);
        }
    }
    /// After every row was finished.
    void end() { size_ = 0; }

  private:
    static int copies_of(std::uint32_t bins) { return bins <= few_bins ? most_copies : 1; }
    std::uint32_t* counts_of(int row) { return counts_.data() + row * copies_ * size_; }
    void count_batch(int row) {
        avx512::count(*batch_, row, filled_[row], batch_->planes[row], counts_of(row));
        filled_[row] = 0;
    }

    core::FloatBins bins_;
    QuickBins quick_{bins_, false};
    bool by_bytes_ = false;  ///< as bytes, by avx512.hpp, a batch at a time
    int copies_ = 1;
    std::size_t size_ = 0;  ///< of one copy
    std::vector<std::uint32_t> counts_;
    std::unique_ptr<avx512::Scratch> batch_;
    int filled_[color_rows] = {};
};

}  // namespace

void split(const float* samples, int pixels, int channels, ChannelOrder order, Planes& planes) {
    split_loop(samples, pixels, channels, order, planes);
}

/// What one thread fills.
struct FloatAnalyzer::Worker {
    /// Sweep 1: by high half, `half_keys` a row, of one row several copies; all zero between calls.
    std::vector<std::uint32_t> high;
    Extremes extremes[color_rows];
    BinCounter bins;  ///< sweep 2
    i128 sums[color_rows][4];
    RankFinder::Kept kept[core::float_rows];
};

/// What is known of a row between the sweeps, over all workers.
struct FloatAnalyzer::RowState {
    Extremes extremes;
    std::uint64_t finite = 0;
    float minimum = 0, maximum = 0;
    std::vector<std::uint64_t> high_counts = std::vector<std::uint64_t>(core::half_keys);
    FloatMoments moments;
    RankFinder ranks;

    /// All samples are one value, so that sweep 2 has nothing to find.
    bool constant() const { return minimum == maximum; }
};

FloatAnalyzer::FloatAnalyzer() = default;
FloatAnalyzer::~FloatAnalyzer() = default;

void FloatAnalyzer::find_extremes(Workers& workers, const ImageView& image) {
    static_assert(most_copies <= color_rows);
    for (auto& state : states_) {
        if (!state) state = std::make_unique<RowState>();
        state->extremes = {};
        state->finite = 0;
    }
    const int copies = rows_ == 1 && image.pixels() >= serial_pixels ? most_copies : 1, tables = rows_ * copies;
    for (std::int64_t start = 0; start < image.pixels(); start += round_pixels) {
        const int used = workers.sweep(
            std::min(round_pixels, image.pixels() - start), tile_pixels, serial_pixels, workers.threads(),
            [&](int number, std::int64_t begin, std::int64_t end) {
                Worker& worker = workers_[number];
                if (!brief_) worker.high.resize(std::size_t{color_rows} * core::half_keys);
                Planes planes;
                alignas(64) std::uint16_t high[color_rows][block_pixels];
                std::uint32_t* const counts = worker.high.data();
                for_blocks<const float>(image, start + begin, start + end, [&](const float* samples, int pixels) {
                    split(samples, pixels, image.channels, image.order, planes);
                    bool uniform = true;  // each row's samples share a high half
                    for (int row = 0; row < rows_; ++row) {
                        const Extremes extremes = extremes_of(planes.values[row], pixels);
                        worker.extremes[row] += extremes;
                        uniform = uniform && extremes.minimum >> 16 == extremes.maximum >> 16 && !extremes.odd();
                        high[row][0] = static_cast<std::uint16_t>(extremes.minimum >> 16);
                    }
                    if (brief_) return;
                    if (uniform) {
                        for (int row = 0; row < rows_; ++row) counts[row * core::half_keys + high[row][0]] += pixels;
                        return;
                    }
                    for (int row = 0; row < rows_; ++row) high_loop(planes.values[row], pixels, high[row]);
                    if (copies > 1) return count_places<most_copies>(high[0], pixels, counts, core::half_keys);
                    if (rows_ == 1) return count_places<1>(high[0], pixels, counts, core::half_keys);
                    if (rows_ == 4) return count_halves<4>(high, pixels, counts);
                    count_halves<5>(high, pixels, counts);
                });
            });
        for (int number = 0; number < used; ++number) {
            Worker& worker = workers_[number];
            if (!brief_ && worker.high.empty()) continue;  // it came too late for a tile
            for (int table = 0; !brief_ && table < tables; ++table) {
                const int row = table / copies;
                const Extremes& extremes = worker.extremes[row];
                std::uint32_t* const counts = worker.high.data() + table * core::half_keys;
                if (extremes.any()) {
                    const std::uint32_t first = extremes.minimum >> 16, last = extremes.maximum >> 16;
                    for (std::uint32_t half = first; half <= last; ++half)
                        states_[row]->high_counts[half] += counts[half];
                    std::fill(counts + first, counts + last + 1, 0u);
                }
                if (extremes.odd()) {
                    std::fill(counts, counts + (lowest_finite_key >> 16), 0u);
                    std::fill(counts + (plus_infinity_key >> 16), counts + core::half_keys, 0u);
                }
            }
            for (int row = 0; row < rows_; ++row)
                states_[row]->extremes += std::exchange(worker.extremes[row], Extremes{});
        }
    }
    for (int row = 0; row < rows_; ++row) {
        RowState& state = *states_[row];
        const Extremes& extremes = state.extremes;
        state.moments = {};
        state.finite = static_cast<std::uint64_t>(image.pixels()) - extremes.nan - extremes.minus_infinity -
                       extremes.plus_infinity;
        state.minimum = extremes.any() ? core::key_float(extremes.minimum) : 0;
        state.maximum = extremes.any() ? core::key_float(extremes.maximum) : 0;
        if (brief_ && extremes.any()) state.moments.exponent = core::moment_exponent(0, state.minimum, state.maximum);
    }
}

void FloatAnalyzer::plan(const core::RankRequest& request) {
    RowState& pooled = *states_[core::pooled_row];
    if (rows_ > 1)
        for (int row : {red_row, green_row, blue_row}) {
            const RowState& state = *states_[row];
            pooled.extremes += state.extremes;
            if (!state.extremes.any()) continue;
            for (std::uint32_t half = state.extremes.minimum >> 16; half <= state.extremes.maximum >> 16; ++half)
                pooled.high_counts[half] += state.high_counts[half];
            pooled.finite += state.finite;
        }
    for (auto& state : states_) {
        core::RankPlan plan;
        if (state->finite > 0) {
            const float minimum = core::key_float(state->extremes.minimum),
                        maximum = core::key_float(state->extremes.maximum);
            plan = core::plan_ranks(state->high_counts.data(), state->finite, minimum, maximum, request,
                                    state->moments.pivot);
            state->moments.exponent = core::moment_exponent(state->moments.pivot, minimum, maximum);
        }
        state->ranks.begin(plan, state->high_counts.data());
    }
}

/// Shows the rank finders some of the pixels, from all over the image.
void FloatAnalyzer::find_usual_values(const ImageView& image) {
    constexpr std::int64_t most_blocks = 16, apart = 32 * block_pixels;
    const std::int64_t blocks = std::min(most_blocks, image.pixels() / apart);
    Planes planes;
    Keys keys;
    alignas(64) float storage[block_pixels];
    for (std::int64_t i = 0; i < blocks; ++i) {
        const std::int64_t begin = image.pixels() / blocks * i;
        for_blocks<const float>(image, begin, begin + block_pixels, [&](const float* samples, int pixels) {
            split(samples, pixels, image.channels, image.order, planes);
            for (int row = 0; row < rows_; ++row) {
                const Finite finite = finite_of(planes.values[row], pixels, false, storage);
                find_keys(finite.values, finite.samples, keys);
                states_[row]->ranks.vote(keys, finite.samples);
                if (is_pooled(row)) states_[core::pooled_row]->ranks.vote(keys, finite.samples);
            }
        });
    }
    for (int row = 0; row < rows_; ++row) {
        RowState& state = *states_[row];
        if (!state.constant() || state.finite == 0) continue;
        find_keys(&state.minimum, 1, keys);
        state.ranks.vote(keys, 1);
    }
}

void FloatAnalyzer::count_and_sum(Workers& workers, const ImageView& image, Analysis& result) {
    const core::FloatBins bins(result.range.lower, result.range.upper,
                               static_cast<std::uint32_t>(result.channels[0].counts.size()), result.upper_closed);
    const auto sum_moments = brief_ ? brief_moments_loop : moments_loop;
    core::MomentTerms terms[color_rows];
    RankFinder& pooled = states_[core::pooled_row]->ranks;
    bool varies[color_rows], feeds_pooled[color_rows], known_finite[color_rows], within = true, any = false;
    for (int row = 0; row < rows_; ++row) {
        const RowState& state = *states_[row];
        terms[row] = core::MomentTerms(state.moments.pivot, state.moments.exponent);
        varies[row] = !state.constant();
        feeds_pooled[row] = !brief_ && is_pooled(row) && (varies[row] || pooled.keeps(state.minimum));
        known_finite[row] = state.finite == static_cast<std::uint64_t>(image.pixels());
        if (state.finite > 0) within = within && bins(state.minimum) < bins.bins && bins(state.maximum) < bins.bins;
        any = any || varies[row] || feeds_pooled[row];
    }
    for (Worker& worker : workers_) std::fill_n(&worker.sums[0][0], color_rows * 4, i128{0});
    const int limit =
        static_cast<int>(std::max<std::size_t>(1, bin_memory_bytes / (BinCounter::bytes(bins.bins) * rows_)));
    for (std::int64_t start = 0; any && start < image.pixels(); start += round_pixels) {
        const int used = workers.sweep(
            std::min(round_pixels, image.pixels() - start), tile_pixels, serial_pixels, limit,
            [&](int number, std::int64_t begin, std::int64_t end) {
                Worker& worker = workers_[number];
                worker.bins.begin(bins, rows_, within);
                Planes planes;
                Keys keys;
                alignas(64) float storage[block_pixels];
                for_blocks<const float>(image, start + begin, start + end, [&](const float* samples, int pixels) {
                    split(samples, pixels, image.channels, image.order, planes);
                    for (int row = 0; row < rows_; ++row) {
                        if (!varies[row] && !feeds_pooled[row]) continue;
                        const Finite finite = finite_of(planes.values[row], pixels, known_finite[row], storage);
                        if (!brief_) find_keys(finite.values, finite.samples, keys);
                        if (feeds_pooled[row]) pooled.keep(keys, finite.samples, worker.kept[core::pooled_row]);
                        if (!varies[row]) continue;
                        if (!brief_) states_[row]->ranks.keep(keys, finite.samples, worker.kept[row]);
                        sum_moments(finite.values, finite.samples, terms[row], worker.sums[row]);
                        worker.bins.add(row, finite.values, finite.samples);
                    }
                });
            });
        for (int number = 0; number < used; ++number) {
            BinCounter& counter = workers_[number].bins;
            if (!counter.begun()) continue;  // it came too late for a tile
            for (int row = 0; row < rows_; ++row) {
                ChannelAnalysis& channel = result.channels[row];
                counter.finish(row, channel.counts.data(), channel.below, channel.above);
            }
            counter.end();
        }
    }
    for (int row = 0; row < rows_; ++row) {
        RowState& state = *states_[row];
        i128 sums[4] = {};
        if (varies[row]) {
            for (const Worker& worker : workers_)
                for (int k = 0; k < 4; ++k) sums[k] += worker.sums[row][k];
        } else if (state.finite > 0) {  // one sample, many times
            sum_moments(&state.minimum, 1, terms[row], sums);
            for (i128& sum : sums) sum *= static_cast<i128>(state.finite);
            ChannelAnalysis& channel = result.channels[row];
            const std::uint32_t bin = bins(state.minimum);
            (bin == core::FloatBins::below   ? channel.below
             : bin == core::FloatBins::above ? channel.above
                                             : channel.counts[bin]) += state.finite;
        }
        for (int k = 0; k < 4; ++k) state.moments.sums[k] = core::to_public(sums[k]);
    }
}

void FloatAnalyzer::sum_again(Workers& workers, const ImageView& image) {
    bool poor[color_rows] = {}, any = false;
    core::MomentTerms terms[color_rows];
    for (int row = 0; row < rows_; ++row) {
        RowState& state = *states_[row];
        const core::CentralMoments central = core::central_moments(state.finite, state.moments);
        poor[row] = core::poor_pivot(state.moments, central);
        if (!poor[row]) continue;
        any = true;
        state.moments = {central.mean, core::moment_exponent(central.mean, state.minimum, state.maximum), {}};
        terms[row] = core::MomentTerms(central.mean, state.moments.exponent);
    }
    if (!any) return;
    for (Worker& worker : workers_) std::fill_n(&worker.sums[0][0], color_rows * 4, i128{0});
    workers.sweep(image.pixels(), tile_pixels, serial_pixels, workers.threads(),
                  [&](int number, std::int64_t begin, std::int64_t end) {
                      Planes planes;
                      alignas(64) float storage[block_pixels];
                      for_blocks<const float>(image, begin, end, [&](const float* samples, int pixels) {
                          split(samples, pixels, image.channels, image.order, planes);
                          for (int row = 0; row < rows_; ++row) {
                              if (!poor[row]) continue;
                              const bool all = states_[row]->finite == static_cast<std::uint64_t>(image.pixels());
                              const Finite finite = finite_of(planes.values[row], pixels, all, storage);
                              moments_loop(finite.values, finite.samples, terms[row], workers_[number].sums[row]);
                          }
                      });
                  });
    for (int row = 0; row < rows_; ++row)
        for (int k = 0; poor[row] && k < 4; ++k) {
            i128 sum = 0;
            for (const Worker& worker : workers_) sum += worker.sums[row][k];
            states_[row]->moments.sums[k] = core::to_public(sum);
        }
}

void FloatAnalyzer::finish_ranks(int row, std::vector<OrderStatistic>& result) {
    RowState& state = *states_[row];
    std::vector<RankFinder::Kept*> kept;
    for (Worker& worker : workers_) kept.push_back(&worker.kept[row]);
    state.ranks.finish(kept, result);
    if (state.extremes.any())  // clean for the next image
        std::fill(state.high_counts.begin() + (state.extremes.minimum >> 16),
                  state.high_counts.begin() + (state.extremes.maximum >> 16) + 1, std::uint64_t{0});
}

void FloatAnalyzer::analyze(Workers& workers, const ImageView& image, const AnalysisRequest& request,
                            const std::optional<Stretch>& stretch, Analysis& result) {
    rows_ = image.channels == 1 ? 1 : image.channels == 3 ? 4 : 5;
    brief_ = request.detail == Detail::brief && !stretch;
    workers_.resize(workers.threads());
    reset(result, image, true, request.bins);
    result.detail = brief_ ? Detail::brief : Detail::full;
    find_extremes(workers, image);
    if (!brief_) {
        plan(core::RankRequest::of(request.percentiles, 0, stretch.has_value(), stretch ? stretch->low : 0,
                                   stretch ? stretch->high : 0));
        find_usual_values(image);
    }

    Extremes all;
    for (int row = 0; row < rows_; ++row) all += states_[row]->extremes;
    result.upper_closed = !request.range;
    result.range = request.range ? *request.range
                                 : core::found_range(all.any(), all.any() ? core::key_float(all.minimum) : 0,
                                                     all.any() ? core::key_float(all.maximum) : 0);
    count_and_sum(workers, image, result);
    if (!brief_) sum_again(workers, image);
    for (int row = 0; row < rows_; ++row) {
        const RowState& state = *states_[row];
        ChannelAnalysis& channel = result.channels[row];
        channel.nan = state.extremes.nan;
        channel.infinite = state.extremes.minus_infinity + state.extremes.plus_infinity;
        channel.below += state.extremes.minus_infinity;
        channel.above += state.extremes.plus_infinity;
        channel.minimum = state.minimum;
        channel.maximum = state.maximum;
        channel.moments = state.moments;
        if (!brief_) finish_ranks(row, channel.order_statistics);
    }
    if (!brief_) finish_ranks(core::pooled_row, result.pooled_order_statistics);
}

void FloatAnalyzer::count(Workers& workers, const ImageView& image, const core::FloatBins& bins,
                          const std::array<std::uint64_t*, color_rows>& counts) {
    workers_.resize(workers.threads());
    for (std::int64_t start = 0; start < image.pixels(); start += round_pixels) {
        const int used = workers.sweep(
            std::min(round_pixels, image.pixels() - start), tile_pixels, serial_pixels, workers.threads(),
            [&](int number, std::int64_t begin, std::int64_t end) {
                Worker& worker = workers_[number];
                worker.bins.begin(bins, color_rows, true);
                Planes planes;
                alignas(64) float storage[block_pixels];
                for_blocks<const float>(image, start + begin, start + end, [&](const float* samples, int pixels) {
                    split(samples, pixels, image.channels, image.order, planes);
                    for (int row = 0; row < color_rows; ++row) {
                        if (!counts[row]) continue;
                        const Finite finite = finite_of(planes.values[row], pixels, false, storage);
                        worker.bins.add(row, finite.values, finite.samples);
                    }
                });
            });
        for (int number = 0; number < used; ++number) {
            BinCounter& counter = workers_[number].bins;
            if (!counter.begun()) continue;  // it came too late for a tile
            std::uint64_t outside = 0;
            for (int row = 0; row < color_rows; ++row)
                if (counts[row]) counter.finish(row, counts[row], outside, outside);
            counter.end();
        }
    }
}

}  // namespace gpuhist::cpu
