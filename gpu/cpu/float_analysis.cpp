#include "cpu/float_analysis.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/analysis.hpp"
#include "core/channels.hpp"
#include "cpu/float_bins.hpp"
#include "cpu/selection.hpp"

namespace gpuhist::cpu {
namespace {

using core::i128;

/// Memory for the bins of all workers together; where it would be more, fewer workers run.
constexpr std::size_t bin_memory_bytes = std::size_t{256} << 20;

/// Adds the first `powers` of core::PowerTerms, of at most 512 samples, whose sums stay in 64 bits. They are made in
/// fewer steps: a power is kept scaled, and what rounding left is rounded by a number so much smaller than `whole` as
/// its digits are finer, which leaves the same in the low bits. Differences of whole numbers are exact.
template <int powers>
[[gnu::always_inline]] inline void add_terms(const float* values, int samples, const core::MomentTerms& terms,
                                             i128 (&sums)[4]) {
    constexpr double whole = core::PowerTerms::whole, fine = whole * 0x1p-40;
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
        sums[k] += core::PowerTerms::total(
            high[k], low[k] + n * (core::PowerTerms::zero - std::bit_cast<std::uint64_t>(fine)), n);
}
GPUHIST_SIMD void moments_loop(const float* values, int samples, const core::MomentTerms& terms, i128 (&sums)[4]) {
    add_terms<4>(values, samples, terms, sums);
}
GPUHIST_SIMD void brief_moments_loop(const float* values, int samples, const core::MomentTerms& terms,
                                     i128 (&sums)[4]) {
    add_terms<2>(values, samples, terms, sums);
}

/// Counts each channel's high digits: neighbors of one channel may be equal, so the channels take turns.
template <int channels>
void count_high_digits(const std::uint16_t (&high)[plane_count][block_pixels], int pixels, std::uint32_t* counts) {
    for (int i = 0; i < pixels; ++i)
        for (int c = 0; c < channels; ++c) ++counts[c * core::digit_values + high[c][i]];
}

/// Order statistics in the order of their ranks, each once.
void in_order(std::vector<OrderStatistic>& order) {
    std::sort(order.begin(), order.end(),
              [](const OrderStatistic& a, const OrderStatistic& b) { return a.rank < b.rank; });
    order.erase(std::unique(order.begin(), order.end()), order.end());
}

}  // namespace

/// Findings of one thread.
struct FloatAnalyzer::Worker {
    std::uint64_t pixels = 0;  ///< sweep 1: unmasked
    /// Sweep 1: by high digit, `digit_values` per channel, of one channel several copies; all zero between calls.
    std::vector<std::uint32_t> high;
    Extremes extremes[plane_count];
    BinCounter bins;  ///< sweep 2
    i128 sums[plane_count][4];
    RankFinder::Kept kept[core::float_channels];
};

/// Facts about a channel between the sweeps, over all workers.
struct FloatAnalyzer::ChannelState {
    Extremes extremes;
    std::uint64_t finite = 0;
    float minimum = 0, maximum = 0;
    std::vector<std::uint64_t> high_counts = std::vector<std::uint64_t>(core::digit_values);
    FloatMoments moments;
    RankFinder ranks;

    /// Constancy: all samples are one value, so that sweep 2 has nothing to find.
    bool constant() const { return minimum == maximum; }
};

/// Targets of the sweeps after the first.
struct FloatAnalyzer::Plan {
    core::FloatBins bins;
    core::MomentTerms terms[plane_count];
    bool varies[plane_count], feeds_pooled[plane_count], known_finite[plane_count];
    bool within = true;      ///< all samples lie in the range
    bool poor[plane_count];  ///< channels whose moments are summed once more
    int bin_workers = 1;     ///< of whose bins there is memory
};

FloatAnalyzer::FloatAnalyzer() = default;
FloatAnalyzer::~FloatAnalyzer() = default;

template <class Source>
void FloatAnalyzer::find_extremes(Workers& workers, const Source& source) {
    static_assert(most_copies <= plane_count);
    const ImageView& image = source.image;
    const int copies = channels_ == 1 && image.pixels() >= serial_pixels ? most_copies : 1, tables = channels_ * copies;
    const auto look = [&](int number, std::int64_t begin, std::int64_t end) {
        Worker& worker = workers_[number];
        if (!brief_) worker.high.resize(std::size_t{plane_count} * core::digit_values);
        alignas(64) std::uint16_t high[plane_count][block_pixels];
        std::uint32_t* const counts = worker.high.data();
        for_planes(source, begin, end, [&](const Planes& planes, int pixels) {
            worker.pixels += static_cast<std::uint64_t>(pixels);
            bool uniform = true;  // each channel's samples share a high digit
            for (int c = 0; c < channels_; ++c) {
                const Extremes extremes = extremes_of(planes.values[c], pixels);
                worker.extremes[c] += extremes;
                high[c][0] = core::high_digit(extremes.minimum);
                uniform = uniform && high[c][0] == core::high_digit(extremes.maximum) && !extremes.non_finite();
            }
            if (brief_) return;
            if (uniform) {
                for (int c = 0; c < channels_; ++c) counts[c * core::digit_values + high[c][0]] += pixels;
                return;
            }
            for (int c = 0; c < channels_; ++c) find_high_digits(planes.values[c], pixels, high[c]);
            if (copies > 1) return count_places<most_copies>(high[0], pixels, counts, core::digit_values);
            if (channels_ == 1) return count_places<1>(high[0], pixels, counts, core::digit_values);
            if (channels_ == 4) return count_high_digits<4>(high, pixels, counts);
            count_high_digits<5>(high, pixels, counts);
        });
    };
    const auto gather = [&](int used) {
        for (int number = 0; number < used; ++number) {
            Worker& worker = workers_[number];
            pixels_ += std::exchange(worker.pixels, 0);
            if (!brief_ && worker.high.empty()) continue;  // it came too late for a tile
            for (int table = 0; !brief_ && table < tables; ++table) {
                const int c = table / copies;
                const Extremes& extremes = worker.extremes[c];
                std::uint32_t* const counts = worker.high.data() + table * core::digit_values;
                if (extremes.any()) {
                    const std::uint32_t first = core::high_digit(extremes.minimum),
                                        last = core::high_digit(extremes.maximum);
                    for (std::uint32_t digit = first; digit <= last; ++digit)
                        states_[c]->high_counts[digit] += counts[digit];
                    std::fill(counts + first, counts + last + 1, 0u);
                }
                if (extremes.non_finite()) {
                    std::fill(counts, counts + core::high_digit(lowest_finite_key), 0u);
                    std::fill(counts + core::high_digit(plus_infinity_key), counts + core::digit_values, 0u);
                }
            }
            for (int c = 0; c < channels_; ++c) states_[c]->extremes += std::exchange(worker.extremes[c], Extremes{});
        }
    };
    workers.sweep_rounds(image.pixels(), workers.threads(), look, gather);
    if (!brief_) keep_voters(source);
    came_ += image.pixels();
}

/// Keeps blocks of pixels, which lie evenly in the image.
template <class Source>
void FloatAnalyzer::keep_voters(const Source& source) {
    constexpr std::int64_t most_blocks = 16, apart = 32 * block_pixels;
    const std::int64_t pixels = image_.pixels(), blocks = std::min(most_blocks, pixels / apart);
    for (std::int64_t i = 0; i < blocks; ++i) {
        const std::int64_t begin = pixels / blocks * i - came_;
        if (begin < 0 || begin >= source.image.pixels()) continue;
        const std::int64_t end = std::min(begin + block_pixels, source.image.pixels());
        for_blocks<float>(source, begin, end, [&](const float* samples, int count) {
            voters_.insert(voters_.end(), samples, samples + std::int64_t{count} * image_.channels);
        });
    }
}

void FloatAnalyzer::end_extremes() {
    Extremes all;
    for (int c = 0; c < channels_; ++c) all += states_[c]->extremes;
    result_->upper_closed = !request_.range;
    result_->range = request_.range ? *request_.range : core::found_range(all.any(), all.lowest(), all.highest());
    for (int c = 0; c < channels_; ++c) {
        ChannelState& state = *states_[c];
        const Extremes& extremes = state.extremes;
        state.moments = {};
        state.finite = pixels_ - extremes.nan - extremes.minus_infinity - extremes.plus_infinity;
        state.minimum = extremes.lowest();
        state.maximum = extremes.highest();
        if (brief_ && extremes.any()) state.moments.exponent = core::moment_exponent(0, state.minimum, state.maximum);
    }
}

/// Adds up the findings for the pooled colors, and chooses the pivots.
void FloatAnalyzer::prepare_full() {
    ChannelState& pooled = *states_[core::pooled_channel];
    if (channels_ > 1)
        for (int c : {red_channel, green_channel, blue_channel}) {
            const ChannelState& state = *states_[c];
            pooled.extremes += state.extremes;
            if (!state.extremes.any()) continue;
            for (std::uint32_t digit = core::high_digit(state.extremes.minimum);
                 digit <= core::high_digit(state.extremes.maximum); ++digit)
                pooled.high_counts[digit] += state.high_counts[digit];
            pooled.finite += state.finite;
        }
    for (int c = 0; c < channels_; ++c) {
        ChannelState& state = *states_[c];
        if (state.finite == 0) continue;
        state.moments.pivot =
            core::pivot_near_median(state.high_counts.data(), state.finite, state.minimum, state.maximum);
        state.moments.exponent = core::moment_exponent(state.moments.pivot, state.minimum, state.maximum);
    }
}

void FloatAnalyzer::plan_ranks(const core::RankRequest& request) {
    for (auto& state : states_) {
        core::RankPlan plan;
        if (state->finite > 0)
            plan = core::plan_ranks(state->high_counts.data(), state->finite, state->extremes.lowest(),
                                    state->extremes.highest(), request);
        state->ranks.begin(plan, state->high_counts.data());
    }
    find_usual_values();
}

/// Shows the rank finders some of the pixels.
void FloatAnalyzer::find_usual_values() {
    Planes planes;
    Keys keys;
    alignas(64) float storage[block_pixels];
    const auto count = static_cast<std::int64_t>(voters_.size()) / image_.channels;
    for (std::int64_t begin = 0; begin < count; begin += block_pixels) {
        const auto pixels = static_cast<int>(std::min(block_pixels, count - begin));
        split(voters_.data() + begin * image_.channels, pixels, image_.channels, image_.order, planes);
        for (int c = 0; c < channels_; ++c) {
            const Finite finite = finite_of(planes.values[c], pixels, false, storage);
            find_keys(finite.values, finite.samples, keys);
            states_[c]->ranks.vote(keys, finite.samples);
            if (is_pooled(c)) states_[core::pooled_channel]->ranks.vote(keys, finite.samples);
        }
    }
    for (int c = 0; c < channels_; ++c) {
        ChannelState& state = *states_[c];
        if (!state.constant() || state.finite == 0) continue;
        find_keys(&state.minimum, 1, keys);
        state.ranks.vote(keys, 1);
    }
}

/// Plans the sweep that counts bins and sums moments. Returns whether there is anything to find.
bool FloatAnalyzer::begin_bins() {
    Plan& plan = *plan_;
    const Analysis& result = *result_;
    const core::FloatBins& bins = plan.bins =
        core::FloatBins(result.range.lower, result.range.upper,
                        static_cast<std::uint32_t>(result.channels[0].counts.size()), result.upper_closed);
    const RankFinder& pooled = states_[core::pooled_channel]->ranks;
    bool any = false;
    plan.within = true;
    for (int c = 0; c < channels_; ++c) {
        const ChannelState& state = *states_[c];
        plan.terms[c] = core::MomentTerms(state.moments.pivot, state.moments.exponent);
        plan.varies[c] = !state.constant();
        plan.feeds_pooled[c] = !brief_ && is_pooled(c) && (plan.varies[c] || pooled.keeps(state.minimum));
        plan.known_finite[c] = state.finite == pixels_;
        if (state.finite > 0)
            plan.within = plan.within && bins(state.minimum) < bins.bins && bins(state.maximum) < bins.bins;
        any = any || plan.varies[c] || plan.feeds_pooled[c];
    }
    for (Worker& worker : workers_) std::fill_n(&worker.sums[0][0], plane_count * 4, i128{0});
    plan.bin_workers =
        static_cast<int>(std::max<std::size_t>(1, bin_memory_bytes / (BinCounter::bytes(bins.bins) * channels_)));
    return any;
}

/// Completes the bins of some workers by finish(counter).
template <class Finish>
void FloatAnalyzer::gather_bins(int used, const Finish& finish) {
    for (int number = 0; number < used; ++number) {
        BinCounter& counter = workers_[number].bins;
        if (!counter.begun()) continue;  // it came too late for a tile
        finish(counter);
        counter.end();
    }
}

template <class Source>
void FloatAnalyzer::count_and_sum(Workers& workers, const Source& source) {
    const Plan& plan = *plan_;
    const auto sum_moments = brief_ ? brief_moments_loop : moments_loop;
    RankFinder& pooled = states_[core::pooled_channel]->ranks;
    const auto look = [&](int number, std::int64_t begin, std::int64_t end) {
        Worker& worker = workers_[number];
        worker.bins.begin(plan.bins, channels_, plan.within);
        Keys keys;
        alignas(64) float storage[block_pixels];
        for_planes(source, begin, end, [&](const Planes& planes, int pixels) {
            for (int c = 0; c < channels_; ++c) {
                if (!plan.varies[c] && !plan.feeds_pooled[c]) continue;
                const Finite finite = finite_of(planes.values[c], pixels, plan.known_finite[c], storage);
                if (!brief_) find_keys(finite.values, finite.samples, keys);
                if (plan.feeds_pooled[c]) pooled.keep(keys, finite.samples, worker.kept[core::pooled_channel]);
                if (!plan.varies[c]) continue;
                if (!brief_) states_[c]->ranks.keep(keys, finite.samples, worker.kept[c]);
                sum_moments(finite.values, finite.samples, plan.terms[c], worker.sums[c]);
                worker.bins.add(c, finite.values, finite.samples);
            }
        });
    };
    const auto gather = [&](int used) {
        gather_bins(used, [&](BinCounter& counter) {
            for (int c = 0; c < channels_; ++c) {
                ChannelAnalysis& channel = result_->channels[c];
                counter.finish(c, channel.counts.data(), channel.below, channel.above);
            }
        });
    };
    workers.sweep_rounds(source.image.pixels(), plan.bin_workers, look, gather);
}

void FloatAnalyzer::end_bins() {
    const Plan& plan = *plan_;
    const core::FloatBins& bins = plan.bins;
    const auto sum_moments = brief_ ? brief_moments_loop : moments_loop;
    for (int c = 0; c < channels_; ++c) {
        ChannelState& state = *states_[c];
        i128 sums[4] = {};
        if (plan.varies[c]) {
            for (const Worker& worker : workers_)
                for (int k = 0; k < 4; ++k) sums[k] += worker.sums[c][k];
        } else if (state.finite > 0) {  // one sample, many times
            sum_moments(&state.minimum, 1, plan.terms[c], sums);
            for (i128& sum : sums) sum *= static_cast<i128>(state.finite);
            ChannelAnalysis& channel = result_->channels[c];
            const std::uint32_t bin = bins(state.minimum);
            (bin == core::FloatBins::below   ? channel.below
             : bin == core::FloatBins::above ? channel.above
                                             : channel.counts[bin]) += state.finite;
        }
        for (int k = 0; k < 4; ++k) state.moments.sums[k] = core::to_public(sums[k]);
    }
}

/// Plans the sweep that sums moments about a better pivot. Returns whether such a sweep is needed.
bool FloatAnalyzer::begin_moments() {
    bool any = false;
    for (int c = 0; c < channels_; ++c) {
        ChannelState& state = *states_[c];
        const core::CentralMoments central = core::central_moments(state.finite, state.moments);
        plan_->poor[c] = core::poor_pivot(state.moments, central);
        if (!plan_->poor[c]) continue;
        any = true;
        state.moments = {central.mean, core::moment_exponent(central.mean, state.minimum, state.maximum), {}};
        plan_->terms[c] = core::MomentTerms(central.mean, state.moments.exponent);
    }
    for (Worker& worker : workers_) std::fill_n(&worker.sums[0][0], plane_count * 4, i128{0});
    return any;
}

/// Walk over the pixels once more: calls look(worker, c, values, samples) with the finite samples of each block.
template <class Source, class Look>
void FloatAnalyzer::look_again(Workers& workers, const Source& source, const Look& look) {
    workers.sweep(source.image.pixels(), tile_pixels, serial_pixels, workers.threads(),
                  [&](int number, std::int64_t begin, std::int64_t end) {
                      alignas(64) float storage[block_pixels];
                      for_planes(source, begin, end, [&](const Planes& planes, int pixels) {
                          for (int c = 0; c < channels_; ++c) {
                              if (sweep_ == Sweep::moments && !plan_->poor[c]) continue;
                              const Finite finite =
                                  finite_of(planes.values[c], pixels, plan_->known_finite[c], storage);
                              look(workers_[number], c, finite.values, finite.samples);
                          }
                      });
                  });
}

template <class Source>
void FloatAnalyzer::sum_again(Workers& workers, const Source& source) {
    look_again(workers, source, [&](Worker& worker, int c, const float* values, int samples) {
        moments_loop(values, samples, plan_->terms[c], worker.sums[c]);
    });
}

void FloatAnalyzer::end_moments() {
    for (int c = 0; c < channels_; ++c)
        for (int k = 0; plan_->poor[c] && k < 4; ++k) {
            i128 sum = 0;
            for (const Worker& worker : workers_) sum += worker.sums[c][k];
            states_[c]->moments.sums[k] = core::to_public(sum);
        }
}

/// Keeps samples for one more group of ranks, as count_and_sum does for the first.
template <class Source>
void FloatAnalyzer::keep_again(Workers& workers, const Source& source) {
    RankFinder& pooled = states_[core::pooled_channel]->ranks;
    look_again(workers, source, [&](Worker& worker, int c, const float* values, int samples) {
        Keys keys;
        find_keys(values, samples, keys);
        states_[c]->ranks.keep(keys, samples, worker.kept[c]);
        if (is_pooled(c)) pooled.keep(keys, samples, worker.kept[core::pooled_channel]);
    });
}

/// Adds the order statistics of a group of ranks.
void FloatAnalyzer::finish_ranks() {
    const auto finish = [&](int c, std::vector<OrderStatistic>& result) {
        std::vector<RankFinder::Kept*> kept;
        for (Worker& worker : workers_) kept.push_back(&worker.kept[c]);
        states_[c]->ranks.finish(kept, result);
    };
    for (int c = 0; c < channels_; ++c) finish(c, result_->channels[c].order_statistics);
    finish(core::pooled_channel, result_->pooled_order_statistics);
}

void FloatAnalyzer::begin(const ImageView& image, const AnalysisRequest& request, Analysis& result,
                          const std::optional<plan::Stretch>& stretch) {
    image_ = image;
    image_.data = nullptr;
    request_ = request;
    stretch_ = stretch;
    result_ = &result;
    channels_ = core::measured_channels(image.channels);
    brief_ = request.detail == Detail::brief && !stretch;
    if (!plan_) plan_ = std::make_unique<Plan>();
    core::lay_out(result, image, true, request.bins);
    result.detail = brief_ ? Detail::brief : Detail::full;
    sweep_ = Sweep::extremes;
    group_ = 0;
    for (auto& state : states_) {
        if (!state) state = std::make_unique<ChannelState>();
        state->extremes = {};
        state->finite = 0;
    }
    pixels_ = 0;
    came_ = 0;
    voters_.clear();
}

void FloatAnalyzer::take(Workers& workers, const ImageView& strip) {
    workers_.resize(workers.threads());
    with_pixel_source(strip, [&](const auto& source) {
        switch (sweep_) {
            case Sweep::extremes:
                return find_extremes(workers, source);
            case Sweep::bins:
                return count_and_sum(workers, source);
            case Sweep::moments:
                return sum_again(workers, source);
            case Sweep::ranks:
                return keep_again(workers, source);
        }
    });
}

bool FloatAnalyzer::end_pass() {
    const auto next = [&](Sweep sweep) {
        sweep_ = sweep;
        return true;
    };
    switch (sweep_) {
        case Sweep::extremes:
            end_extremes();
            if (!brief_) {
                prepare_full();
                plan_ranks(core::RankRequest::of(request_.percentiles, 0, stretch_.has_value(),
                                                 stretch_ ? stretch_->low : 0, stretch_ ? stretch_->high : 0));
            }
            if (begin_bins()) return next(Sweep::bins);
            [[fallthrough]];
        case Sweep::bins:
            end_bins();
            if (!brief_ && begin_moments()) return next(Sweep::moments);
            [[fallthrough]];
        case Sweep::moments:
            if (sweep_ == Sweep::moments) end_moments();
            [[fallthrough]];
        case Sweep::ranks:
            if (!brief_) finish_ranks();
            if (!brief_ && ++group_ < core::RankRequest::groups(request_.percentiles)) {
                plan_ranks(core::RankRequest::of(request_.percentiles, group_, false, 0, 0));
                return next(Sweep::ranks);
            }
    }
    finish();
    return false;
}

void FloatAnalyzer::finish() {
    Analysis& result = *result_;
    core::set_pixels(result, static_cast<std::uint64_t>(image_.pixels()), pixels_);
    for (int c = 0; c < channels_; ++c) {
        const ChannelState& state = *states_[c];
        ChannelAnalysis& channel = result.channels[c];
        channel.nan = state.extremes.nan;
        channel.infinite = state.extremes.minus_infinity + state.extremes.plus_infinity;
        channel.below += state.extremes.minus_infinity;
        channel.above += state.extremes.plus_infinity;
        channel.minimum = state.minimum;
        channel.maximum = state.maximum;
        channel.moments = state.moments;
    }
    if (brief_) return;
    for (ChannelAnalysis& channel : result.channels) in_order(channel.order_statistics);
    in_order(result.pooled_order_statistics);
    for (auto& state : states_)  // clean for the next image
        if (state->extremes.any())
            std::fill(state->high_counts.begin() + core::high_digit(state->extremes.minimum),
                      state->high_counts.begin() + core::high_digit(state->extremes.maximum) + 1, std::uint64_t{0});
}

void FloatAnalyzer::analyze(Workers& workers, const ImageView& image, const AnalysisRequest& request,
                            const std::optional<plan::Stretch>& stretch, Analysis& result) {
    begin(image, request, result, stretch);
    do take(workers, image);
    while (end_pass());
}

void FloatAnalyzer::count(Workers& workers, const ImageView& image, const core::FloatBins& bins,
                          const std::array<std::uint64_t*, plane_count>& counts) {
    workers_.resize(workers.threads());
    const auto gather = [&](int used) {
        gather_bins(used, [&](BinCounter& counter) {
            std::uint64_t outside = 0;
            for (int c = 0; c < plane_count; ++c)
                if (counts[c]) counter.finish(c, counts[c], outside, outside);
        });
    };
    with_pixel_source(image, [&](const auto& source) {
        const auto look = [&](int number, std::int64_t begin, std::int64_t end) {
            Worker& worker = workers_[number];
            worker.bins.begin(bins, plane_count, true);
            alignas(64) float storage[block_pixels];
            for_planes(source, begin, end, [&](const Planes& planes, int pixels) {
                for (int c = 0; c < plane_count; ++c) {
                    if (!counts[c]) continue;
                    const Finite finite = finite_of(planes.values[c], pixels, false, storage);
                    worker.bins.add(c, finite.values, finite.samples);
                }
            });
        };
        workers.sweep_rounds(image.pixels(), workers.threads(), look, gather);
    });
}

}  // namespace gpuhist::cpu
