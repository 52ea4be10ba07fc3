#include "cpu/counted_analysis.hpp"

#include <algorithm>
#include <type_traits>

#include "core/analysis.hpp"
#include "core/channels.hpp"
#include "core/codes.hpp"
#include "core/luma.hpp"
#include "cpu/pixel_source.hpp"
#include "cpu/simd/avx2.hpp"

namespace gpuhist::cpu {
namespace {

using core::Code;

static_assert(round_pixels <= std::int64_t{1} << 31, "the sum of as many squares below 2^32 stays below 2^63");

constexpr int luma_table = CountedAnalyzer::luma_table, max_tables = CountedAnalyzer::max_tables;

// ---- luma of a block ----------------------------------------------------------------------------------------------

/// Codes of luma of pixels of type `Sample`.
template <class Sample, int channels>
[[gnu::always_inline]] inline void luma_loop(const Code<Sample>* codes, int pixels, ChannelOrder order,
                                             Code<Sample>* out) {
    const Positions at(order);
    for (int i = 0; i < pixels; ++i)
        out[i] = core::luma_code<Sample>(codes[i * channels + at.red], codes[i * channels + at.green],
                                         codes[i * channels + at.blue]);
}
template <class Sample>
[[gnu::always_inline]] inline void luma_loops(const Code<Sample>* codes, int pixels, int channels, ChannelOrder order,
                                              Code<Sample>* out) {
    channels == 3 ? luma_loop<Sample, 3>(codes, pixels, order, out) : luma_loop<Sample, 4>(codes, pixels, order, out);
}
GPUHIST_SIMD void luma_of_bytes(const std::uint8_t* codes, int pixels, int channels, ChannelOrder order,
                                std::uint8_t* out) {
    static const bool wide = avx2::supported();
    const int done = wide ? avx2::luma(codes, pixels, channels, order, out) : 0;
    luma_loops<std::uint8_t>(codes + done * channels, pixels - done, channels, order, out + done);
}
GPUHIST_SIMD void luma_of_words(const std::uint16_t* codes, int pixels, int channels, ChannelOrder order,
                                std::uint16_t* out) {
    luma_loops<std::uint16_t>(codes, pixels, channels, order, out);
}
GPUHIST_SIMD void luma_of_halves(const std::uint16_t* codes, int pixels, int channels, ChannelOrder order,
                                 std::uint16_t* out) {
    luma_loops<Half>(codes, pixels, channels, order, out);
}
template <class Sample>
void luma_block(const Code<Sample>* codes, int pixels, int channels, ChannelOrder order, Code<Sample>* out) {
    if constexpr (core::is_real<Sample>)
        luma_of_halves(codes, pixels, channels, order, out);
    else if constexpr (sizeof(Sample) == 1)
        luma_of_bytes(codes, pixels, channels, order, out);
    else
        luma_of_words(codes, pixels, channels, order, out);
}

// ---- sums of a block ----------------------------------------------------------------------------------------------

using Sums = CountedAnalyzer::Sums;

template <class Sample>
[[gnu::always_inline]] inline void sum_loop(const Sample* luma, int pixels, Sums& sums) {
    std::conditional_t<sizeof(Sample) == 1, std::uint32_t, std::uint64_t> squares = 0;  // 16384 · 255² fits 32 bits
    std::uint32_t sum = 0;  // 512 · 65535 and 16384 · 255 fit
    Sample minimum = luma[0], maximum = luma[0];
    for (int i = 0; i < pixels; ++i) {
        const Sample sample = luma[i];
        const std::uint32_t v = sample;
        sum += v;
        squares += v * v;
        minimum = sample < minimum ? sample : minimum;
        maximum = sample > maximum ? sample : maximum;
    }
    sums.sum += sum;
    sums.squares += squares;
    sums.minimum = std::min<std::uint32_t>(sums.minimum, minimum);
    sums.maximum = std::max<std::uint32_t>(sums.maximum, maximum);
}
GPUHIST_SIMD void sum_block(const std::uint8_t* luma, int pixels, Sums& sums) {
    sum_loop(luma, pixels, sums);
}
GPUHIST_SIMD void sum_block(const std::uint16_t* luma, int pixels, Sums& sums) {
    sum_loop(luma, pixels, sums);
}

// ---- counting -----------------------------------------------------------------------------------------------------

/// Tables of one worker. 8 bits: several copies each, taken in turn by neighboring pixels, so that equal
/// neighbors do not wait for each other's store; they fit the innermost cache.
template <class Sample>
struct Table {
    static constexpr int values = 1 << 8 * sizeof(Sample), copies = sizeof(Sample) == 1 ? 4 : 1;
    static constexpr std::size_t size = std::size_t{values} * copies;
};

template <int channels, bool luma, class Counter, class Sample>
void count_block(const Sample* samples, const Sample* brightness, int pixels, Counter* const (&tables)[max_tables]) {
    constexpr int copies = Table<Sample>::copies;
    auto count = [&](int i, int copy) {
        for (int c = 0; c < channels; ++c) ++tables[c][copy * Table<Sample>::values + samples[i * channels + c]];
        if constexpr (luma) ++tables[luma_table][copy * Table<Sample>::values + brightness[i]];
    };
    int i = 0;
    for (; i + 4 <= pixels; i += 4)
        for (int k = 0; k < 4; ++k) count(i + k, k % copies);
    for (; i < pixels; ++i) count(i, 0);
}

/// Counts the pixels [begin, end); without a luma table their brightness goes to `sums`.
template <int channels, class Sample, class Counter, class Source>
void count_pixels(const Source& source, std::int64_t begin, std::int64_t end, bool luma,
                  Counter* const (&tables)[max_tables], Sums& sums) {
    for_codes<Sample>(source, begin, end, [&](const Code<Sample>* codes, std::int64_t all) {
        sums.pixels += static_cast<std::uint64_t>(all);
        for (std::int64_t done = 0; done < all; done += block_pixels, codes += block_pixels * channels) {
            const int pixels = static_cast<int>(std::min(block_pixels, all - done));
            if constexpr (channels == 1) {
                count_block<1, false>(codes, codes, pixels, tables);
            } else {
                alignas(64) Code<Sample> brightness[block_pixels];
                luma_block<Sample>(codes, pixels, channels, source.image.order, brightness);
                if (luma) {
                    count_block<channels, true>(codes, brightness, pixels, tables);
                } else {
                    count_block<channels, false>(codes, brightness, pixels, tables);
                    sum_block(brightness, pixels, sums);
                }
            }
        }
    });
}

template <class Sample, class Counter, class Source>
void count_pixels(const Source& source, std::int64_t begin, std::int64_t end, bool luma,
                  Counter* const (&tables)[max_tables], Sums& sums) {
    switch (source.image.channels) {
        case 1:
            return count_pixels<1, Sample>(source, begin, end, luma, tables, sums);
        case 3:
            return count_pixels<3, Sample>(source, begin, end, luma, tables, sums);
        case 4:
            return count_pixels<4, Sample>(source, begin, end, luma, tables, sums);
    }
}

/// Counts pixels of 8 bits by avx512.hpp.
template <class Sample, class Source>
void count_gathered(const Source& source, std::int64_t begin, std::int64_t end, bool luma,
                    std::uint32_t* const (&tables)[max_tables], Sums& sums, avx512::Scratch& scratch) {
    const ImageView& image = source.image;
    int filled = 0;
    auto count_all = [&](const std::uint8_t* next) {
        for (int c = 0; c < image.channels; ++c)
            avx512::count(scratch, c, filled, next + std::int64_t{c} * filled, tables[c]);
        if (image.channels >= 3 && luma) avx512::count(scratch, luma_table, filled, next, tables[luma_table]);
        if (image.channels >= 3 && !luma) sum_block(scratch.planes[luma_table], filled, sums);
        filled = 0;
    };
    for_codes<Sample>(source, begin, end, [&](const std::uint8_t* samples, std::int64_t pixels) {
        sums.pixels += static_cast<std::uint64_t>(pixels);
        while (pixels > 0) {
            const int part = static_cast<int>(std::min<std::int64_t>(pixels, avx512::gathered_pixels - filled));
            avx512::split(samples, part, image.channels, image.order, scratch, filled);
            filled += part;
            samples += part * image.channels;
            pixels -= part;
            if (filled == avx512::gathered_pixels) count_all(samples);
        }
    });
    if (filled > 0) count_all(scratch.planes[0]);
}

}  // namespace

void CountedAnalyzer::begin(const ImageView& image, const AnalysisRequest& request, Analysis& result) {
    result_ = &result;
    luma_ = request.luma_histogram && image.channels >= 3;
    core::lay_out(result, image, luma_, traits_of(image.depth).values);
    result.range = counted_range(traits_of(image.depth));
    totals_ = {};
    for (ChannelAnalysis& one : result.channels)
        totals_[one.channel == Channel::luma ? luma_table : core::position_of(image, one.channel)] = one.counts.data();
    rows_pixels_ = pixels_ = 0;
    squares_ = 0;
    brightness_ = {};
    brightness_.minimum = ~0u;
    round_ = 0;
}

void CountedAnalyzer::add(const Sums& sums) {
    pixels_ += sums.pixels;
    brightness_.sum += sums.sum;
    squares_ += sums.squares;
    brightness_.minimum = std::min(brightness_.minimum, sums.minimum);
    brightness_.maximum = std::max(brightness_.maximum, sums.maximum);
}

/// Adds the counts of the workers to the result.
template <class Code>
void CountedAnalyzer::gather() {
    using Table = gpuhist::cpu::Table<Code>;
    for (std::size_t worker = 0; worker < sums_.size(); ++worker) {
        if (sums_[worker].pixels == 0) continue;
        for (std::size_t t = 0; t < max_tables; ++t) {
            if (!totals_[t]) continue;
            std::uint32_t* table = tables_.data() + (worker * max_tables + t) * Table::size;
            for (int copy = 0; copy < Table::copies; ++copy)
                for (int v = 0; v < Table::values; ++v) totals_[t][v] += table[copy * Table::values + v];
            std::fill_n(table, Table::size, 0u);
        }
        add(sums_[worker]);
        sums_[worker] = {};
    }
    round_ = 0;
}

template <class Sample, class Source>
void CountedAnalyzer::count(Workers& workers, const Source& source) {
    using Table = gpuhist::cpu::Table<Code<Sample>>;
    const std::int64_t pixels = source.image.pixels();
    rows_pixels_ += static_cast<std::uint64_t>(pixels);
    if (Table::copies == 1 && pixels < serial_pixels) {  // large tables, few pixels: no gathering
        Sums sums;
        std::uint64_t* totals[max_tables];
        std::copy(totals_.begin(), totals_.end(), totals);
        count_pixels<Sample>(source, 0, pixels, luma_, totals, sums);
        return add(sums);
    }
    const std::size_t used = pixels < serial_pixels ? 1 : workers.threads();
    if (tables_.size() < used * max_tables * Table::size) tables_.resize(used * max_tables * Table::size);
    if (sums_.size() < used) sums_.resize(used);
    constexpr bool bytes = sizeof(Sample) == 1;
    const bool gathers = bytes && avx512::supported();
    if (gathers) scratch_.resize(std::max(scratch_.size(), used));
    for (std::int64_t start = 0, part; start < pixels; start += part) {
        part = std::min(round_pixels - round_, pixels - start);
        workers.sweep(part, tile_pixels, serial_pixels, workers.threads(),
                      [&](int worker, std::int64_t begin, std::int64_t end) {
                          std::uint32_t* tables[max_tables];
                          for (int t = 0; t < max_tables; ++t)
                              tables[t] = tables_.data() + (worker * max_tables + t) * Table::size;
                          if constexpr (bytes)
                              if (gathers)
                                  return count_gathered<Sample>(source, start + begin, start + end, luma_, tables,
                                                                sums_[worker], scratch_[worker]);
                          count_pixels<Sample>(source, start + begin, start + end, luma_, tables, sums_[worker]);
                      });
        round_ += part;
        if (round_ == round_pixels) gather<Code<Sample>>();
    }
}

void CountedAnalyzer::take(Workers& workers, const ImageView& strip) {
    with_pixel_source(strip, [&](const auto& source) {
        with_depth(strip.depth, [&](auto sample) {
            if constexpr (sizeof(sample) <= 2) count<decltype(sample)>(workers, source);
        });
    });
}

bool CountedAnalyzer::end_pass() {
    Analysis& result = *result_;
    if (sample_bytes(result.depth) == 1)
        gather<std::uint8_t>();
    else
        gather<std::uint16_t>();
    core::set_pixels(result, rows_pixels_, pixels_);
    if (traits_of(result.depth).floating) {
        for (ChannelAnalysis& channel : result.channels) core::set_apart_non_finite(channel);
    } else if (result.channels.size() == 1) {
        result.brightness = core::brightness_of(result.channels[0]);
    } else if (luma_) {
        result.brightness = core::brightness_of(result.channels[3]);
    } else {
        if (pixels_ == 0) brightness_.minimum = 0;
        brightness_.sum_squares = core::to_public(static_cast<core::i128>(squares_));
        result.brightness = brightness_;
    }
    return false;
}

void CountedAnalyzer::analyze(Workers& workers, const ImageView& image, const AnalysisRequest& request,
                              Analysis& result) {
    begin(image, request, result);
    take(workers, image);
    end_pass();
}

}  // namespace gpuhist::cpu
