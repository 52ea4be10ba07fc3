#include "cpu/float_analysis.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "cpu/integer_analysis.hpp"

namespace gpuhist::cpu {
namespace {

using core::i128;

/// Counters of 32 bits are gathered into 64 after this many pixels at most, each of which adds one to a row's counter.
constexpr std::int64_t round_pixels = std::int64_t{1} << 31;

/// Samples under a row's chosen high halves that a worker keeps before they are counted. Rows with fewer in all are
/// never counted but sorted, which spares small images the large tables.
constexpr std::size_t kept_samples = 65536;

/// Memory for the bins of all workers together; where it would be more, fewer workers run.
constexpr std::size_t bin_memory_bytes = std::size_t{256} << 20;

constexpr std::uint32_t lowest_finite_key = 0x00800000u, highest_finite_key = 0xFF7FFFFFu;
constexpr std::uint32_t minus_infinity_key = 0x007FFFFFu, plus_infinity_key = 0xFF800000u;
constexpr std::uint8_t not_selected = 0xFF;

// ---- loops over one plane of a block --------------------------------------------------------------------------------

GPUHIST_SIMD void split_loop(const float* samples, int pixels, int channels, ChannelOrder order, Planes& planes) {
    auto& to = planes.values;
    if (channels == 1) {
        std::copy_n(samples, pixels, to[0]);
        return;
    }
    const Positions at(order);
    auto colours = [&](auto stride) {
        for (int i = 0; i < pixels; ++i) {
            const float red = samples[i * stride + at.red], green = samples[i * stride + at.green],
                        blue = samples[i * stride + at.blue];
            to[red_row][i] = red;
            to[green_row][i] = green;
            to[blue_row][i] = blue;
            to[luma_row][i] = core::luma(red, green, blue);
        }
    };
    if (channels == 3) return colours(std::integral_constant<int, 3>{});
    colours(std::integral_constant<int, 4>{});
    for (int i = 0; i < pixels; ++i) to[alpha_row][i] = samples[i * 4 + 3];
}

/// What sweep 1 finds in a row, as keys.
struct Extremes {
    std::uint32_t minimum = ~0u, maximum = 0;  ///< of the finite samples
    std::uint64_t nan = 0, minus_infinity = 0, plus_infinity = 0;

    void operator+=(const Extremes& other) {
        minimum = std::min(minimum, other.minimum);
        maximum = std::max(maximum, other.maximum);
        nan += other.nan;
        minus_infinity += other.minus_infinity;
        plus_infinity += other.plus_infinity;
    }
};

GPUHIST_SIMD void keys_loop(const float* values, int pixels, std::uint32_t* keys) {
    for (int i = 0; i < pixels; ++i) keys[i] = core::float_key(values[i]);
}

GPUHIST_SIMD void high_loop(const std::uint32_t* keys, int pixels, std::uint16_t* high) {
    for (int i = 0; i < pixels; ++i) high[i] = static_cast<std::uint16_t>(keys[i] >> 16);
}

GPUHIST_SIMD void extremes_loop(const std::uint32_t* keys, int pixels, Extremes& extremes) {
    std::uint32_t minimum = ~0u, maximum = 0;
    for (int i = 0; i < pixels; ++i) minimum = keys[i] < minimum ? keys[i] : minimum;
    for (int i = 0; i < pixels; ++i) maximum = keys[i] > maximum ? keys[i] : maximum;
    if (minimum >= lowest_finite_key && maximum <= highest_finite_key) {
        extremes.minimum = std::min(extremes.minimum, minimum);
        extremes.maximum = std::max(extremes.maximum, maximum);
        return;
    }
    for (int i = 0; i < pixels; ++i) {
        const std::uint32_t key = keys[i];
        if (key == minus_infinity_key) {
            ++extremes.minus_infinity;
        } else if (key == plus_infinity_key) {
            ++extremes.plus_infinity;
        } else if (key < lowest_finite_key || key > highest_finite_key) {
            ++extremes.nan;
        } else {
            extremes.minimum = std::min(extremes.minimum, key);
            extremes.maximum = std::max(extremes.maximum, key);
        }
    }
}

/// For at most 512 samples, whose terms' sums stay in 64 bits.
GPUHIST_SIMD void moments_loop(const float* values, int samples, const core::MomentTerms& terms, i128 (&sums)[4]) {
    std::uint64_t high[4] = {}, low[4] = {};
    for (int i = 0; i < samples; ++i) terms.add(values[i], high, low);
    for (int k = 0; k < 4; ++k)
        sums[k] += core::MomentTerms::total(high[k], low[k], static_cast<std::uint64_t>(samples));
}

/// The same of the first two powers.
GPUHIST_SIMD void brief_moments_loop(const float* values, int samples, const core::MomentTerms& terms,
                                     i128 (&sums)[4]) {
    std::uint64_t high[2] = {}, low[2] = {};
    for (int i = 0; i < samples; ++i) terms.add(values[i], high, low);
    for (int k = 0; k < 2; ++k)
        sums[k] += core::MomentTerms::total(high[k], low[k], static_cast<std::uint64_t>(samples));
}

/// A quick way to the bins of most samples: where the estimated position is far enough from a whole number, rounding
/// cannot have brought it past an edge, and its whole part is what core::FloatBins finds.
struct QuickBins {
    static constexpr std::int32_t unsure = -1;
    core::FloatBins exact;
    double bins, slack;
    std::int32_t at_lower = unsure,
                 at_upper = unsure;  ///< bins of the bounds themselves: clipped images are full of them

    explicit QuickBins(const core::FloatBins& of) : exact(of), bins(of.bins) {
        // Positions and edges are a few roundings off, each 2^-53 of the largest number they are made from: in bins, at
        // most 2^-50 of `bins`, and of the larger bound over a bin's width.
        const double bound = std::max(std::fabs(of.lower), std::fabs(of.upper));
        slack = 0x1p-48 * bins * (1 + bound / (of.upper - of.lower));
        if (slack < 0.25) {  // edges are far from each other
            at_lower = 0;
            if (of.upper_closed) at_upper = static_cast<std::int32_t>(of.bins) - 1;
        }
    }
};

/// The bin of each; `bins` for those below the range, `bins` + 1 for those above.
GPUHIST_SIMD void bins_loop(const float* values, int samples, const QuickBins& quick, std::uint32_t* out) {
    const double lower = quick.exact.lower, scale = quick.exact.scale, bins = quick.bins;
    const double least = quick.slack, most = 1 - quick.slack;
    const double upper = quick.exact.upper;
    const std::int32_t at_lower = quick.at_lower, at_upper = quick.at_upper;
    std::int32_t found[block_pixels], minimum = 0;
    for (int i = 0; i < samples; ++i) {
        const double value = values[i], position = (value - lower) * scale;
        const double above = position > 0 ? position : 0, within = above < bins ? above : 0;
        const auto bin = static_cast<std::int32_t>(within);
        const double beyond = within - bin;
        const std::int32_t inside = beyond > least && beyond < most ? bin : QuickBins::unsure;
        const std::int32_t or_lower = value == lower ? at_lower : inside;
        found[i] = value == upper ? at_upper : or_lower;
    }
    for (int i = 0; i < samples; ++i) minimum = found[i] < minimum ? found[i] : minimum;
    for (int i = 0; i < samples; ++i) out[i] = static_cast<std::uint32_t>(found[i]);
    if (minimum != QuickBins::unsure) return;
    for (int i = 0; i < samples; ++i)
        if (found[i] == QuickBins::unsure) {
            const std::uint32_t bin = quick.exact(values[i]);
            out[i] = bin >= core::FloatBins::below ? quick.exact.bins + (bin - core::FloatBins::below) : bin;
        }
}

/// The finite samples of a plane: the plane itself where all are.
struct Finite {
    const float* values;
    int samples;
};
Finite finite_of(const float* plane, int pixels, bool all_finite, float* storage) {
    if (all_finite) return {plane, pixels};
    int samples = 0;
    for (int i = 0; i < pixels; ++i) {
        storage[samples] = plane[i];
        const std::uint32_t key = core::float_key(plane[i]);
        samples += key >= lowest_finite_key && key <= highest_finite_key;
    }
    return {storage, samples};
}

}  // namespace

void split(const float* samples, int pixels, int channels, ChannelOrder order, Planes& planes) {
    split_loop(samples, pixels, channels, order, planes);
}

/// What one thread fills.
struct FloatAnalyzer::Worker {
    std::vector<std::uint32_t> high;  ///< sweep 1: a table of `half_keys` a row; all zero between calls
    Extremes extremes[colour_rows];
    std::vector<std::uint32_t> bins;  ///< sweep 2: bins, below, above, a row after another; all zero between calls
    i128 sums[colour_rows][4];
    /// Sweep 2, the pooled row too: slot << 16 | low half of the key of the samples under chosen high halves.
    std::vector<std::uint32_t> kept[core::float_rows];
    std::size_t kept_count[core::float_rows];
};

/// What is known of a row between the sweeps, over all workers.
struct FloatAnalyzer::RowState {
    Extremes extremes;
    std::uint64_t finite = 0;
    float minimum = 0, maximum = 0;
    std::vector<std::uint64_t> high_counts = std::vector<std::uint64_t>(core::half_keys);
    core::RankPlan plan;
    FloatMoments moments;
    std::vector<std::uint8_t> slot_of = std::vector<std::uint8_t>(core::half_keys, not_selected);  ///< by high half
    bool sorted = false;                    ///< few samples under the chosen high halves: kept, not counted
    std::vector<std::uint64_t> low_counts;  ///< else a table of `half_keys` a chosen high half
    std::vector<std::uint32_t> gathered;
    std::mutex counting;

    void count_kept(std::vector<std::uint32_t>& kept, std::size_t& count) {
        const std::lock_guard lock(counting);
        for (std::size_t i = 0; i < count; ++i) ++low_counts[kept[i]];
        count = 0;
    }
};

FloatAnalyzer::FloatAnalyzer() = default;
FloatAnalyzer::~FloatAnalyzer() = default;

void FloatAnalyzer::find_extremes(Workers& workers, const ImageView& image) {
    for (auto& state : states_) {
        if (!state) state = std::make_unique<RowState>();
        state->extremes = {};
    }
    for (std::int64_t start = 0; start < image.pixels(); start += round_pixels) {
        const int used = workers.sweep(
            std::min(round_pixels, image.pixels() - start), tile_pixels, serial_pixels, workers.threads(),
            [&](int number, std::int64_t begin, std::int64_t end) {
                Worker& worker = workers_[number];
                if (!brief_) worker.high.resize(std::size_t{colour_rows} * core::half_keys);
                Planes planes;
                alignas(64) std::uint32_t keys[block_pixels];
                alignas(64) std::uint16_t high[colour_rows][block_pixels];
                std::uint32_t* const tables = worker.high.data();
                for_blocks<const float>(image, start + begin, start + end, [&](const float* samples, int pixels) {
                    split(samples, pixels, image.channels, image.order, planes);
                    for (int row = 0; row < rows_; ++row) {
                        keys_loop(planes.values[row], pixels, keys);
                        extremes_loop(keys, pixels, worker.extremes[row]);
                        if (!brief_) high_loop(keys, pixels, high[row]);
                    }
                    if (brief_) return;
                    for (int i = 0; i < pixels; ++i)  // neighbours of one row may be equal: the rows in turn
                        for (int row = 0; row < rows_; ++row) ++tables[row * core::half_keys + high[row][i]];
                });
            });
        for (int number = 0; number < used; ++number) {
            Worker& worker = workers_[number];
            if (!brief_ && worker.high.empty()) continue;  // it came too late for a tile
            for (int row = 0; row < rows_; ++row) {
                RowState& state = *states_[row];
                Extremes& extremes = worker.extremes[row];
                state.extremes += extremes;
                if (brief_) {
                    extremes = {};
                    continue;
                }
                std::uint32_t* table = worker.high.data() + row * core::half_keys;
                if (extremes.minimum <= extremes.maximum) {
                    const std::uint32_t first = extremes.minimum >> 16, last = extremes.maximum >> 16;
                    for (std::uint32_t half = first; half <= last; ++half) state.high_counts[half] += table[half];
                    std::fill(table + first, table + last + 1, 0u);
                }
                if (extremes.nan || extremes.minus_infinity || extremes.plus_infinity) {
                    std::fill(table, table + (lowest_finite_key >> 16), 0u);
                    std::fill(table + (plus_infinity_key >> 16), table + core::half_keys, 0u);
                }
                extremes = {};
            }
        }
    }
}

void FloatAnalyzer::plan_briefly(std::uint64_t pixels) {
    for (int row = 0; row < rows_; ++row) {
        RowState& state = *states_[row];
        const Extremes& extremes = state.extremes;
        state.moments = {};
        state.minimum = state.maximum = 0;
        state.finite = pixels - extremes.nan - extremes.minus_infinity - extremes.plus_infinity;
        if (state.finite == 0) continue;
        state.minimum = core::key_float(extremes.minimum);
        state.maximum = core::key_float(extremes.maximum);
        state.moments.exponent = core::moment_exponent(0, state.minimum, state.maximum);
    }
}

void FloatAnalyzer::plan(const std::optional<Stretch>& stretch) {
    RowState& pooled = *states_[core::pooled_row];
    if (rows_ > 1)
        for (int row : {red_row, green_row, blue_row}) {
            const RowState& state = *states_[row];
            pooled.extremes += state.extremes;
            if (state.extremes.minimum > state.extremes.maximum) continue;
            for (std::uint32_t half = state.extremes.minimum >> 16; half <= state.extremes.maximum >> 16; ++half)
                pooled.high_counts[half] += state.high_counts[half];
        }
    for (int row = 0; row < core::float_rows; ++row) {
        RowState& state = *states_[row];
        state.moments = {};
        state.plan = {};
        state.finite = 0;
        state.minimum = state.maximum = 0;
        state.sorted = true;
        const Extremes& extremes = state.extremes;
        if (extremes.minimum > extremes.maximum) continue;

        state.minimum = core::key_float(extremes.minimum);
        state.maximum = core::key_float(extremes.maximum);
        const std::uint32_t first = extremes.minimum >> 16, last = extremes.maximum >> 16;
        for (std::uint32_t half = first; half <= last; ++half) state.finite += state.high_counts[half];
        state.plan =
            core::plan_ranks(state.high_counts.data(), state.finite, state.minimum, state.maximum, stretch.has_value(),
                             stretch ? stretch->low : 0, stretch ? stretch->high : 0, state.moments.pivot);
        state.moments.exponent = core::moment_exponent(state.moments.pivot, state.minimum, state.maximum);

        std::uint64_t selected = 0;
        for (int slot = 0; slot < state.plan.selected; ++slot) {
            selected += state.high_counts[state.plan.high[slot]];
            state.slot_of[state.plan.high[slot]] = static_cast<std::uint8_t>(slot);
        }
        state.sorted = selected <= kept_samples;
        if (!state.sorted) state.low_counts.assign(std::size_t{core::half_keys} * state.plan.selected, 0);
    }
}

void FloatAnalyzer::sum_again(Workers& workers, const ImageView& image) {
    bool poor[colour_rows] = {}, any = false;
    core::MomentTerms terms[colour_rows];
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
    for (Worker& worker : workers_) std::memset(worker.sums, 0, sizeof worker.sums);
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
    const core::RankPlan& plan = state.plan;
    result.clear();
    if (state.sorted) {
        state.gathered.clear();
        for (Worker& worker : workers_)
            state.gathered.insert(state.gathered.end(), worker.kept[row].begin(),
                                  worker.kept[row].begin() + worker.kept_count[row]);
    } else {
        for (Worker& worker : workers_)
            if (worker.kept_count[row]) state.count_kept(worker.kept[row], worker.kept_count[row]);
    }
    auto& gathered = state.gathered;
    auto unsorted = gathered.begin();
    std::uint64_t before = 0, passed = 0;  // samples under the slots, and under the low halves, passed
    std::uint32_t low = 0;
    for (int i = 0, slot = 0; i < plan.ranks; ++i) {
        for (; slot < plan.slot[i]; ++slot) {
            before += state.high_counts[plan.high[slot]];
            passed = low = 0;
        }
        if (state.sorted) {  // slot << 16 | low half: in the order of the values
            const auto wanted = gathered.begin() + static_cast<std::ptrdiff_t>(before + plan.within[i]);
            std::nth_element(unsorted, wanted, gathered.end());
            unsorted = wanted + 1;
            low = *wanted & 0xFFFFu;
        } else {
            const std::uint64_t* counts = state.low_counts.data() + std::size_t{core::half_keys} * slot;
            while (passed + counts[low] <= plan.within[i]) passed += counts[low++];
        }
        result.push_back({plan.rank[i], core::key_float(plan.high[slot] << 16 | low)});
    }
    // Clean for the next image.
    for (int slot = 0; slot < plan.selected; ++slot) state.slot_of[plan.high[slot]] = not_selected;
    if (state.extremes.minimum <= state.extremes.maximum)
        std::fill(state.high_counts.begin() + (state.extremes.minimum >> 16),
                  state.high_counts.begin() + (state.extremes.maximum >> 16) + 1, std::uint64_t{0});
}

void FloatAnalyzer::analyze(Workers& workers, const ImageView& image, const AnalysisRequest& request,
                            const std::optional<Stretch>& stretch, Analysis& result) {
    rows_ = image.channels == 1 ? 1 : image.channels == 3 ? 4 : 5;
    brief_ = request.detail == Detail::brief && !stretch;
    const auto sum_moments = brief_ ? brief_moments_loop : moments_loop;
    workers_.resize(workers.threads());
    reset(result, image, true, request.bins);
    result.detail = brief_ ? Detail::brief : Detail::full;
    find_extremes(workers, image);
    if (brief_)
        plan_briefly(static_cast<std::uint64_t>(image.pixels()));
    else
        plan(stretch);

    bool any_finite = false;
    std::uint32_t minimum = ~0u, maximum = 0;
    for (int row = 0; row < rows_; ++row) {
        any_finite |= states_[row]->finite > 0;
        minimum = std::min(minimum, states_[row]->extremes.minimum);
        maximum = std::max(maximum, states_[row]->extremes.maximum);
    }
    result.upper_closed = !request.range;
    result.range = request.range ? *request.range
                                 : core::found_range(any_finite, any_finite ? core::key_float(minimum) : 0,
                                                     any_finite ? core::key_float(maximum) : 0);
    const core::FloatBins bins(result.range.lower, result.range.upper, request.bins, result.upper_closed);
    const QuickBins quick(bins);

    core::MomentTerms terms[colour_rows];
    for (int row = 0; row < rows_; ++row)
        terms[row] = core::MomentTerms(states_[row]->moments.pivot, states_[row]->moments.exponent);
    for (Worker& worker : workers_) {
        std::memset(worker.sums, 0, sizeof worker.sums);
        std::fill_n(worker.kept_count, core::float_rows, std::size_t{0});
    }
    const std::size_t table = std::size_t{request.bins} + 2;
    const int limit = static_cast<int>(std::max<std::size_t>(1, bin_memory_bytes / (table * rows_ * 4)));
    // Every sample is written, and those under other high halves overwritten by the next: no branch to guess.
    auto keep = [&](Worker& worker, int row, const Finite& finite) {
        RowState& state = *states_[row];
        auto& kept = worker.kept[row];
        std::size_t& kept_count = worker.kept_count[row];
        if (kept_count > kept_samples) state.count_kept(kept, kept_count);
        const std::uint8_t* slots = state.slot_of.data();
        std::uint32_t* to = kept.data() + kept_count;
        for (int i = 0; i < finite.samples; ++i) {
            const std::uint32_t key = core::float_key(finite.values[i]), slot = slots[key >> 16];
            *to = slot << 16 | (key & 0xFFFFu);
            to += slot != not_selected;
        }
        kept_count = static_cast<std::size_t>(to - kept.data());
    };
    for (std::int64_t start = 0; start < image.pixels(); start += round_pixels) {
        const int used = workers.sweep(
            std::min(round_pixels, image.pixels() - start), tile_pixels, serial_pixels, limit,
            [&](int number, std::int64_t begin, std::int64_t end) {
                Worker& worker = workers_[number];
                if (worker.bins.size() < table * rows_) worker.bins.resize(table * rows_);
                if (!brief_)
                    for (auto& kept : worker.kept) kept.resize(kept_samples + block_pixels + 1);
                Planes planes;
                alignas(64) float storage[block_pixels];
                alignas(64) std::uint32_t index[block_pixels];
                for_blocks<const float>(image, start + begin, start + end, [&](const float* samples, int pixels) {
                    split(samples, pixels, image.channels, image.order, planes);
                    for (int row = 0; row < rows_; ++row) {
                        const bool all = states_[row]->finite == static_cast<std::uint64_t>(image.pixels());
                        const Finite finite = finite_of(planes.values[row], pixels, all, storage);
                        sum_moments(finite.values, finite.samples, terms[row], worker.sums[row]);
                        bins_loop(finite.values, finite.samples, quick, index);
                        std::uint32_t* counts = worker.bins.data() + row * table;
                        for (int i = 0; i < finite.samples; ++i) ++counts[index[i]];
                        if (brief_) continue;
                        keep(worker, row, finite);
                        if (rows_ > 1 && row <= blue_row) keep(worker, core::pooled_row, finite);
                    }
                });
            });
        for (int number = 0; number < used; ++number) {
            if (workers_[number].bins.size() < table * rows_) continue;  // it came too late for a tile
            for (int row = 0; row < rows_; ++row) {
                ChannelAnalysis& channel = result.channels[row];
                std::uint32_t* counts = workers_[number].bins.data() + row * table;
                for (std::uint32_t bin = 0; bin < request.bins; ++bin) channel.counts[bin] += counts[bin];
                channel.below += counts[request.bins];
                channel.above += counts[request.bins + 1];
                std::fill_n(counts, table, 0u);
            }
        }
    }

    for (int row = 0; row < rows_; ++row)
        for (int k = 0; k < 4; ++k) {
            i128 sum = 0;
            for (const Worker& worker : workers_) sum += worker.sums[row][k];
            states_[row]->moments.sums[k] = core::to_public(sum);
        }
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
                          const std::array<std::uint64_t*, colour_rows>& counts) {
    const QuickBins quick(bins);
    const std::size_t table = std::size_t{bins.bins} + 2;
    const std::size_t size = table * colour_rows;
    workers_.resize(workers.threads());
    for (std::int64_t start = 0; start < image.pixels(); start += round_pixels) {
        const int used = workers.sweep(
            std::min(round_pixels, image.pixels() - start), tile_pixels, serial_pixels, workers.threads(),
            [&](int number, std::int64_t begin, std::int64_t end) {
                Worker& worker = workers_[number];
                if (worker.bins.size() < size) worker.bins.resize(size);
                Planes planes;
                alignas(64) float storage[block_pixels];
                alignas(64) std::uint32_t index[block_pixels];
                for_blocks<const float>(image, start + begin, start + end, [&](const float* samples, int pixels) {
                    split(samples, pixels, image.channels, image.order, planes);
                    for (int row = 0; row < colour_rows; ++row) {
                        if (!counts[row]) continue;
                        const Finite finite = finite_of(planes.values[row], pixels, false, storage);
                        bins_loop(finite.values, finite.samples, quick, index);
                        std::uint32_t* to = worker.bins.data() + row * table;
                        for (int i = 0; i < finite.samples; ++i) ++to[index[i]];
                    }
                });
            });
        for (int number = 0; number < used; ++number) {
            if (workers_[number].bins.size() < size) continue;  // it came too late for a tile
            for (int row = 0; row < colour_rows; ++row) {
                if (!counts[row]) continue;
                std::uint32_t* from = workers_[number].bins.data() + row * table;
                for (std::uint32_t bin = 0; bin < bins.bins; ++bin) counts[row][bin] += from[bin];
                std::fill_n(from, table, 0u);
            }
        }
    }
}

}  // namespace gpuhist::cpu
