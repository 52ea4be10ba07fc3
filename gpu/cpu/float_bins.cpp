#include "cpu/float_bins.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gpuhist::cpu {
namespace {

/// Bins of core::FloatBins, without branches. `bins` is for samples below the range, `bins` + 1 for those above.
GPUHIST_SIMD void bins_loop(const float* values, int samples, const core::FloatBins& bins, std::uint32_t* found) {
    const double lower = bins.lower, upper = bins.upper, scale = bins.scale, width = bins.width;
    const double count = bins.bins, last = count - 1;
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

}  // namespace

QuickBins::QuickBins(const core::FloatBins& bins, bool within) {
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

void BinCounter::begin(const core::FloatBins& bins, int channels, bool within) {
    static const bool wide = avx512::supported();
    bins_ = bins;
    quick_ = QuickBins(bins, within);
    by_bytes_ = wide && within && bins.bins <= 256;
    copies_ = by_bytes_ ? 1 : copies_of(bins.bins);
    size_ = by_bytes_ ? 256 : std::size_t{bins.bins} + 2;
    const std::size_t all = size_ * copies_ * channels;
    if (counts_.size() < all) counts_.resize(all);
    if (by_bytes_ && !gathered_) gathered_ = std::make_unique<avx512::Scratch>();
}

void BinCounter::add(int channel, const float* values, int samples) {
    alignas(64) std::uint32_t places[block_pixels];
    if (!quick_.usable || !quick_bins_loop(values, samples, quick_, places)) bins_loop(values, samples, bins_, places);
    if (by_bytes_) {
        bytes_loop(places, samples, gathered_->planes[channel] + filled_[channel]);
        filled_[channel] += samples;
        if (filled_[channel] > avx512::gathered_pixels - block_pixels) count_gathered(channel);
    } else if (copies_ == 1) {
        count_places<1>(places, samples, counts_of(channel), size_);
    } else {
        count_places<most_copies>(places, samples, counts_of(channel), size_);
    }
}

void BinCounter::finish(int channel, std::uint64_t* counts, std::uint64_t& below, std::uint64_t& above) {
    if (filled_[channel]) count_gathered(channel);
    for (int copy = 0; copy < copies_; ++copy) {
        std::uint32_t* const from = counts_of(channel) + copy * size_;
        for (std::uint32_t bin = 0; bin < bins_.bins; ++bin) counts[bin] += from[bin];
        if (!by_bytes_) {
            below += from[bins_.bins];
            above += from[bins_.bins + 1];
        }
        std::fill_n(from, size_, 0u);
    }
}

void BinCounter::count_gathered(int channel) {
    avx512::count(*gathered_, channel, filled_[channel], gathered_->planes[channel], counts_of(channel));
    filled_[channel] = 0;
}

}  // namespace gpuhist::cpu
