#include "cpu/sorted_analysis.hpp"

#include <algorithm>
#include <type_traits>

#include "core/analysis.hpp"
#include "core/channels.hpp"
#include "core/integers.hpp"
#include "core/luma.hpp"
#include "cpu/pixel_source.hpp"
#include "cpu/radix_sort.hpp"
#include "dataset/frequency_table.hpp"

namespace gpuhist::cpu {
namespace {

/// Pixels whose codes are sorted at a time: each such part becomes a run.
constexpr std::int64_t part_pixels = std::int64_t{1} << 22;

/// Type in which codes are sorted.
template <class Sample>
using Key = std::conditional_t<sizeof(Sample) == 8, std::uint64_t, std::uint32_t>;

/// Codes of one channel of a part, one per unmasked pixel.
template <class Sample, class Source>
std::size_t find_codes(const Source& source, std::int64_t begin, std::int64_t end, Channel channel,
                       Key<Sample>* codes) {
    const int channels = source.image.channels;
    const Positions at(source.image.order);
    std::size_t filled = 0;
    for_pieces<Sample>(source, begin, end, [&](const Sample* samples, std::int64_t pixels) {
        Key<Sample>* const to = codes + filled;
        filled += static_cast<std::size_t>(pixels);
        if (channel == Channel::luma) {
            for (std::int64_t i = 0; i < pixels; ++i, samples += channels)
                to[i] = core::luma_code<Sample>(core::code_of(samples[at.red]), core::code_of(samples[at.green]),
                                                core::code_of(samples[at.blue]));
            return;
        }
        samples += core::position_of(source.image, channel);
        for (std::int64_t i = 0; i < pixels; ++i) to[i] = core::code_of(samples[i * channels]);
    });
    return filled;
}

/// Sums of the codes of brightness, of at most `part_pixels` of 16 bits at a time.
class BrightnessSums {
  public:
    /// Adds codes in ascending order, at least one.
    template <class Code>
    void add(const Code* first, const Code* last) {
        const auto lowest = static_cast<std::uint32_t>(*first), highest = static_cast<std::uint32_t>(last[-1]);
        found_.minimum = any_ ? std::min(found_.minimum, lowest) : lowest;
        found_.maximum = any_ ? std::max(found_.maximum, highest) : highest;
        any_ = true;
        std::uint64_t sum = 0, squares = 0;
        for (; first != last; ++first) {
            sum += *first;
            squares += std::uint64_t{*first} * *first;
        }
        found_.sum += sum;
        squares_ += squares;
    }
    Brightness found() const {
        Brightness all = found_;
        all.sum_squares = core::to_public(static_cast<core::i128>(squares_));
        return all;
    }

  private:
    Brightness found_;
    core::u128 squares_ = 0;
    bool any_ = false;
};

}  // namespace

template <class Sample, class Source>
void SortedAnalyzer::run(Workers& workers, const Source& source, const AnalysisRequest& request, Analysis& result) {
    using Code = Key<Sample>;
    const ImageView& image = source.image;
    const bool brightness = sizeof(Sample) <= 2 && !core::is_real<Sample>;
    core::lay_out(result, image, request.luma_histogram || brightness, 0);
    result.range = counted_range(traits_of(image.depth));
    auto& [codes, scratch] = keys_of<Code>();
    const std::int64_t part = std::min(part_pixels, image.pixels());
    if (codes.size() < static_cast<std::size_t>(part)) codes.resize(static_cast<std::size_t>(part));
    const core::CodeRange finite = core::finite_codes(image.depth);
    const std::size_t luma = image.channels == 1 ? 0 : 3;
    BrightnessSums sums;
    std::uint64_t counted = 0;
    for (std::int64_t begin = 0; begin < image.pixels(); begin += part) {
        const std::int64_t end = std::min(begin + part, image.pixels());
        std::size_t found = 0;
        for (ChannelAnalysis& channel : result.channels) {
            found = find_codes<Sample>(source, begin, end, channel.channel, codes.data());
            if (scratch.size() < found) scratch.resize(found);
            Code* const sorted = sort_keys(workers, codes.data(), scratch.data(), found);
            Code* const last = sorted + found;
            // Non-finite values are at the ends.
            Code* const first = std::lower_bound(sorted, last, static_cast<Code>(finite.first));
            Code* const stop = std::upper_bound(first, last, static_cast<Code>(finite.last));
            if constexpr (core::is_real<Sample>) {
                const auto infinite = [&](Code* from, Code* to, Code code) {
                    const auto [low, high] = std::equal_range(from, to, code);
                    return static_cast<std::uint64_t>(high - low);
                };
                const std::uint64_t minus = infinite(sorted, first, core::minus_infinity_code<Sample>),
                                    plus = infinite(stop, last, core::plus_infinity_code<Sample>);
                channel.below += minus;
                channel.above += plus;
                channel.infinite += minus + plus;
                channel.nan += static_cast<std::uint64_t>(first - sorted + (last - stop)) - minus - plus;
            }
            if (first == stop) continue;
            if (brightness && &channel == &result.channels[luma]) sums.add(first, stop);
            channel.values.add(
                core::sorted_run(image.depth, Code{0}, first, static_cast<std::size_t>(stop - first), nullptr));
            channel.values.settle();
        }
        counted += found;
    }
    core::set_pixels(result, static_cast<std::uint64_t>(image.pixels()), counted);
    if (!brightness) return;
    result.brightness = sums.found();
    if (luma == 3 && !request.luma_histogram) result.channels.erase(result.channels.begin() + luma);
}

void SortedAnalyzer::analyze(Workers& workers, const ImageView& image, const AnalysisRequest& request,
                             Analysis& result) {
    with_pixel_source(image, [&](const auto& source) {
        with_depth(image.depth, [&](auto sample) {
            if constexpr (traits_of(core::depth_of<decltype(sample)>()).counting != Counting::bins)
                run<decltype(sample)>(workers, source, request, result);
        });
    });
}

}  // namespace gpuhist::cpu

namespace gpuhist {

std::size_t sorting_bytes(const ImageView& image) {
    const auto pixels = static_cast<std::size_t>(image.pixels()), bytes = sample_bytes(image.depth);
    const std::size_t a_value = bytes > 4 ? 10 : 5;  // in a run whose writer has up to twice as much
    return std::min<std::size_t>(cpu::part_pixels, pixels) * (2 * bytes + 2 * a_value) +
           static_cast<std::size_t>(image.channels + 1) * pixels * a_value;
}

}  // namespace gpuhist
