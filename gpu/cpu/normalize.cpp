#include "cpu/normalize.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>

#include "core/analysis.hpp"
#include "core/integers.hpp"
#include "core/validate.hpp"
#include "cpu/by_place.hpp"
#include "cpu/pixel_source.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/frequency_table.hpp"
#include "gpuhist/lut.hpp"
#include "normalize/curves/curves.hpp"
#include "normalize/lut.hpp"
#include "normalize/modes.hpp"
#include "statistics/moments.hpp"

namespace gpuhist::cpu {
namespace {

/// Channels by position in the pixel.
std::array<Channel, 4> channels_at(const ImageView& image) {
    if (image.channels == 1) return {Channel::gray};
    if (image.order == ChannelOrder::bgr) return {Channel::blue, Channel::green, Channel::red, Channel::alpha};
    return {Channel::red, Channel::green, Channel::blue, Channel::alpha};
}

/// View of the same memory whose samples are bytes.
template <class Void>
BasicImageView<Void> bytes_of(BasicImageView<Void> image) {
    image.channels *= static_cast<int>(sample_bytes(image.depth));
    image.depth = Depth::u8;
    return image;
}

/// Calls body(in, out, pixels) for pieces of rows, from all workers. It knows no types, so that it is compiled once and
/// not for each pair of depths.
void for_pairs(Workers& workers, const ImageView& image, const MutableImageView& output,
               const std::function<void(const void* in, void* out, std::int64_t pixels)>& body) {
    const ImageView from = bytes_of(image);
    const MutableImageView to = bytes_of(output);
    workers.sweep(image.pixels(), tile_pixels, serial_pixels, workers.threads(),
                  [&](int, std::int64_t begin, std::int64_t end) {
                      for_pieces<const std::byte>(from, begin, end, [&](const std::byte* in, std::int64_t pixels) {
                          // The output's rows may be packed where the input's are not, and the other way round.
                          for_pieces<std::byte>(to, begin, begin + pixels, [&](std::byte* out, std::int64_t part) {
                              body(in, out, part);
                              in += part * from.channels;
                          });
                          begin += pixels;
                      });
                  });
}

// ---- counted by value: tables ---------------------------------------------------------------------------------------

template <int channels, class In, class Out>
void map_pixels(const void* in, void* out, std::int64_t pixels, const std::array<const void*, 4>& tables) {
    const In* from = static_cast<const In*>(in);
    Out* to = static_cast<Out*>(out);
    for (std::int64_t i = 0; i < pixels; ++i)
        for (int c = 0; c < channels; ++c)
            to[i * channels + c] = static_cast<const Out*>(tables[c])[from[i * channels + c]];
}

/// Calls use(bits) with an unsigned integer of a sample's size.
template <class Use>
void with_bits(Depth depth, const Use& use) {
    switch (sample_bytes(depth)) {
        case 1:
            return use(std::uint8_t{});
        case 2:
            return use(std::uint16_t{});
        case 4:
            return use(std::uint32_t{});
        case 8:
            return use(std::uint64_t{});
    }
}

/// Brings a table of a depth's samples from the order of their places into that of their bits.
void order_by_bits(Depth depth, Depth copy, void* table) {
    const DepthTraits& traits = traits_of(depth);
    with_bits(copy, [&](auto out) {
        auto* const to = static_cast<decltype(out)*>(table);
        const std::size_t half = traits.values / 2;
        if (traits.floating || traits.lowest < 0) std::swap_ranges(to, to + half, to + half);
        if (traits.floating) std::reverse(to + half, to + 2 * half);
    });
}

/// Maps 8- and 16-bit samples through the table of their position.
void map_image(Workers& workers, const ImageView& image, const MutableImageView& output,
               const plan::SampleTables& tables) {
    with_bits(output.depth, [&](auto to) {
        using Out = decltype(to);
        const auto map = [&]<class In>(In) {
            const auto run = image.channels == 1   ? &map_pixels<1, In, Out>
                             : image.channels == 3 ? &map_pixels<3, In, Out>
                                                   : &map_pixels<4, In, Out>;
            for_pairs(workers, image, output,
                      [&](const void* in, void* out, std::int64_t pixels) { run(in, out, pixels, tables.at); });
        };
        if (sample_bytes(image.depth) == 1)
            map(std::uint8_t{});
        else
            map(std::uint16_t{});
    });
}

/// Tables of an image in `storage`: `fill` makes that of a channel; `joint`: one for all colors.
template <class Fill>
plan::SampleTables make_tables(const ImageView& image, Depth copy, NormalizeMode mode, bool joint,
                               std::vector<std::byte>& storage, const Fill& fill) {
    plan::SampleTables tables{{}, traits_of(image.depth).values * sample_bytes(copy)};
    const auto at = channels_at(image);
    storage.resize(4 * tables.bytes);
    for (int c = 0; c < image.channels; ++c) {
        const bool same = joint && c > 0 && c < 3;
        void* const table = storage.data() + (same ? 0 : c * tables.bytes);
        tables.at[c] = table;
        if (same) continue;
        if (at[c] == Channel::alpha)
            core::fill_identity(image.depth, copy, mode, core::levels_of(copy, {}), table);
        else
            fill(at[c], table);
        order_by_bits(image.depth, copy, table);
    }
    return tables;
}

// ---- sorted: formulas, or ranks ------------------------------------------------------------------------------------

/// Numbers of samples up to each value that occurs.
template <class Code>
class Ranks {
  public:
    explicit Ranks(const FrequencyTable& values) {
        for (FrequencyReader reader(values.runs()); reader.next();) {
            codes_.push_back(static_cast<Code>(reader.key()));
            through_.push_back(reader.count() + (through_.empty() ? 0 : through_.back()));
        }
    }
    std::uint64_t through(Code code) const {
        const auto above = std::upper_bound(codes_.begin(), codes_.end(), code) - codes_.begin();
        return above == 0 ? 0 : through_[static_cast<std::size_t>(above - 1)];
    }

  private:
    std::vector<Code> codes_;
    std::vector<std::uint64_t> through_;
};

/// Levels of a copy by position: alpha has all of them.
std::array<core::Levels, 4> levels_at(const MutableImageView& output, const std::optional<double>& fill) {
    const core::Levels levels = core::levels_of(output.depth, fill);
    return {levels, levels, levels, core::levels_of(output.depth, {})};
}

/// Calls map(in, out, count, position) for blocks of samples of each position in the pixels, from all workers.
template <std::int64_t block, class Map>
void for_blocks(Workers& workers, const ImageView& image, const MutableImageView& output, const Map& map) {
    const auto in_bytes = static_cast<std::int64_t>(sample_bytes(image.depth)),
               out_bytes = static_cast<std::int64_t>(sample_bytes(output.depth));
    for_pairs(workers, image, output, [&](const void* from, void* to, std::int64_t pixels) {
        for (int c = 0; c < image.channels; ++c)
            for (std::int64_t first = 0; first < pixels; first += block) {
                const std::int64_t at = first * image.channels + c;
                map(static_cast<const std::byte*>(from) + at * in_bytes, static_cast<std::byte*>(to) + at * out_bytes,
                    std::min(block, pixels - first), c);
            }
    });
}

/// Maps each channel by the mode's formula, given facts by position, which are absent where samples stay as they are;
/// `ranks` are null where the mode needs none.
template <class In>
void map_sorted(Workers& workers, const ImageView& image, const MutableImageView& output, NormalizeMode mode,
                const std::optional<double>& fill, const std::array<std::optional<core::RealFacts>, 4>& facts,
                const std::array<const Ranks<core::Code<In>>*, 4>& ranks) {
    const auto levels = levels_at(output, fill);
    const int stride = image.channels;
    std::array<std::optional<core::ValueMap>, 4> maps;
    for (int c = 0; c < image.channels; ++c)
        if (facts[c]) maps[c].emplace(mode, image.depth, output.depth, *facts[c]);
    for_blocks<core::ValueMap::block>(
        workers, image, output, [&](const void* in, void* out, std::int64_t count, int c) {
            if (!maps[c]) return core::keep_samples(image.depth, in, output.depth, out, count, stride, mode, levels[c]);
            std::uint64_t through[core::ValueMap::block] = {};
            for (std::int64_t i = 0; ranks[c] && i < count; ++i)
                through[i] = ranks[c]->through(core::code_of(static_cast<const In*>(in)[i * stride]));
            (*maps[c])(in, through, count, out, stride);
        });
}

/// Maps an image by the numbers of given tables.
template <class In>
void map_sorted(Workers& workers, const LutSet& given, const ImageView& image, const MutableImageView& output) {
    const auto at = channels_at(image);
    std::array<std::optional<core::RealFacts>, 4> facts;  // alpha stays
    for (int c = 0; c < std::min(image.channels, 3); ++c) facts[c] = core::real_facts_of(given, *given.find(at[c]));
    map_sorted<In>(workers, image, output, given.mode, given.fill, facts, {});
}

// ---- f32 ------------------------------------------------------------------------------------------------------------

/// Facts about each channel by position; absent where its samples stay as they are.
using ChannelFacts = std::array<std::optional<core::FloatFacts>, 4>;

/// Maps each channel by the mode's formula, to the depth of the output.
void map_floats(Workers& workers, const ImageView& image, const MutableImageView& output, NormalizeMode mode,
                const std::optional<double>& fill, const ChannelFacts& facts) {
    const auto levels = levels_at(output, fill);
    core::with_mode(mode, [&](auto chosen) {
        using Map = typename decltype(chosen)::FloatMap;
        std::array<std::optional<Map>, 4> maps;
        for (int c = 0; c < image.channels; ++c)
            if (facts[c] && !Map::keeps(*facts[c])) maps[c].emplace(*facts[c]);
        with_depth(output.depth, [&](auto sample) {
            using Out = decltype(sample);
            for_pairs(workers, image, output, [&](const void* from, void* to, std::int64_t pixels) {
                const float* in = static_cast<const float*>(from);
                Out* out = static_cast<Out*>(to);
                for (int c = 0; c < image.channels; ++c)
                    for (std::int64_t i = c; i < pixels * image.channels; i += image.channels)
                        out[i] = core::to_depth<Out>(maps[c] ? (*maps[c])(in[i]) : in[i], levels[c]);
            });
        });
    });
}

void map_floats(Workers& workers, const LutSet& given, const ImageView& image, const MutableImageView& output) {
    const auto at = channels_at(image);
    ChannelFacts facts;  // alpha is copied
    for (int c = 0; c < std::min(image.channels, 3); ++c) facts[c] = core::facts_of(*given.find(at[c]));
    map_floats(workers, image, output, given.mode, given.fill, facts);
}

/// Findings about a channel of the pixel; of gray with alpha that is not measured they are those of gray.
const ChannelAnalysis& own_of(const Analysis& analysis, Channel channel) {
    const ChannelAnalysis* const own = analysis.find(channel);
    return own ? *own : *analysis.find(Channel::gray);
}

/// Verdict: whether one table is for several channels.
bool is_joint(const Normalization& normalization, const Analysis& analysis) {
    return normalization.joint && !traits_of(normalization.mode).per_color && analysis.find(Channel::red);
}

/// Findings about the color at a position, with those of all colors if they decide together.
ChannelAnalysis deciding(const ImageView& image, const Analysis& analysis, bool joint, int c) {
    const auto at = channels_at(image);
    ChannelAnalysis decides;
    for (int i = 0; i < std::min(image.channels, 3); ++i)
        if (joint || i == c) core::add_samples(decides, own_of(analysis, at[i]));
    return decides;
}

/// Numbers of f32 that a normalization needs, but for counts, about the color at a position. Absent without a finite
/// sample.
std::optional<core::FloatFacts> float_facts(const ImageView& image, const Analysis& analysis,
                                            const Normalization& normalization, bool joint, int c) {
    const ChannelAnalysis& own = own_of(analysis, channels_at(image)[c]);
    const ChannelAnalysis decides = deciding(image, analysis, joint, c);
    if (decides.valid() == 0) return std::nullopt;
    core::FloatFacts found;
    switch (needs_of(normalization)) {
        case NormalizeNeeds::nothing:
        case NormalizeNeeds::counts:
            break;
        case NormalizeNeeds::extremes:
            found.low = decides.minimum;
            found.high = decides.maximum;
            break;
        case NormalizeNeeds::ranks: {
            const auto& order = joint ? analysis.pooled_order_statistics : own.order_statistics;
            found.low = core::value_of_rank(order, normalization.low, decides.valid());
            found.high = core::value_of_rank(order, normalization.high, decides.valid());
            break;
        }
        case NormalizeNeeds::mean_std: {
            const core::CentralMoments moments =
                joint ? core::moments_of_pooled(analysis) : core::central_moments(decides.valid(), own.moments);
            found.mean = moments.mean;
            found.std = std::sqrt(moments.m2);
            break;
        }
    }
    return found;
}

/// Returns whether an analysis of f32 has the ranks that a normalization needs: a GPU's has those that were asked for.
bool has_ranks(const ImageView& image, const Analysis& analysis, const Normalization& normalization, bool joint) {
    for (int c = 0; c < (joint ? 1 : std::min(image.channels, 3)); ++c) {
        const std::uint64_t n = deciding(image, analysis, joint, c).valid();
        const auto& order =
            joint ? analysis.pooled_order_statistics : own_of(analysis, channels_at(image)[c]).order_statistics;
        if (n > 0 && !(core::has_rank(order, normalization.low, n) && core::has_rank(order, normalization.high, n)))
            return false;
    }
    return true;
}

// ---- curves ---------------------------------------------------------------------------------------------------------

/// Calls visit(value) for the valid, finite samples of some positions in the order of the pixels, and for each pixel in
/// the order of the positions.
template <class Visit>
void for_valid(const NormalizedPixels& pixels, const std::vector<int>& positions, const Visit& visit) {
    const ImageView& image = traits_of(pixels.image.depth).counting == Counting::bins ? pixels.counted : pixels.image;
    with_depth(image.depth, [&](auto sample) {
        using Sample = decltype(sample);
        for (std::int64_t y = 0; y < image.height; ++y) {
            const auto* row =
                reinterpret_cast<const Sample*>(static_cast<const std::byte*>(image.data) + y * image.row_bytes);
            const std::uint8_t* mask = image.mask ? image.mask + y * image.mask_row_bytes : nullptr;
            const std::uint8_t* valid = pixels.valid ? pixels.valid + y * image.width * image.channels : nullptr;
            for (std::int64_t x = 0; x < image.width; ++x) {
                if (mask && !mask[x]) continue;
                for (const int c : positions) {
                    const std::int64_t at = x * image.channels + c;
                    const double value = core::value_of(row[at]);
                    if ((!valid || valid[at]) && std::isfinite(value)) visit(value);
                }
            }
        }
    });
}

/// Ends of zscale over the samples at some positions; absent without a sample.
std::optional<Range> zscale(const NormalizedPixels& pixels, const std::vector<int>& positions) {
    if (pixels.copier) {
        const auto all = static_cast<std::uint64_t>(pixels.image.pixels()) * positions.size();
        std::vector<double> samples =
            pixels.copier->gather(pixels.image, positions, static_cast<std::int64_t>(core::zscale_stride(all)),
                                  static_cast<std::int64_t>(core::zscale_samples));
        return core::zscale(samples);
    }
    std::uint64_t n = 0;
    for_valid(pixels, positions, [&](double) { ++n; });
    if (n == 0) return std::nullopt;
    const std::uint64_t stride = core::zscale_stride(n);
    std::vector<double> samples;
    std::uint64_t i = 0;
    for_valid(pixels, positions, [&](double value) {
        if (i++ % stride == 0 && samples.size() < core::zscale_samples) samples.push_back(value);
    });
    return core::zscale(samples);
}

/// Positions of the colors that decide about one, in the order red, green, blue.
std::vector<int> positions_of(const ImageView& image, bool joint, int c) {
    if (!joint) return {c};
    return image.order == ChannelOrder::bgr ? std::vector{2, 1, 0} : std::vector{0, 1, 2};
}

/// Maps an image of floats or of 32 bits by curves, given facts by position, which are absent where samples stay.
void map_by_curve(Workers& workers, const ImageView& image, const MutableImageView& output, NormalizeMode mode,
                  const std::optional<double>& fill, const std::array<const core::CurveFacts*, 4>& facts) {
    const auto levels = levels_at(output, fill);
    const int stride = image.channels;
    std::array<std::optional<core::CurveMap>, 4> maps;
    for (int c = 0; c < image.channels; ++c)
        if (facts[c]) maps[c].emplace(*facts[c], output.depth, levels[c]);
    for_blocks<core::CurveMap::block>(
        workers, image, output, [&](const void* in, void* out, std::int64_t count, int c) {
            if (!maps[c]) return core::keep_samples(image.depth, in, output.depth, out, count, stride, mode, levels[c]);
            double values[core::CurveMap::block];
            core::read_values(image.depth, in, count, stride, values);
            (*maps[c])(values, count, out, stride);
        });
}

}  // namespace

void Normalizer::apply_sorted(Workers& workers, const ImageView& image, const Analysis& analysis,
                              const Normalization& normalization, const MutableImageView& output) {
    const NormalizeTraits& mode = traits_of(normalization.mode);
    const auto at = channels_at(image);
    const int colors = std::min(image.channels, 3);
    const bool joint = is_joint(normalization, analysis);
    std::array<FrequencyTable, 3> decide;
    std::array<std::optional<core::RealFacts>, 4> facts;
    for (int c = 0; c < colors; ++c) {
        if (joint && c > 0) {
            facts[c] = facts[0];
            continue;
        }
        decide[c] = !joint               ? own_of(analysis, at[c]).values
                    : mode.joint_by_luma ? analysis.find(Channel::luma)->values
                                         : core::values_of_pooled(analysis);
        const core::RealSamples samples(decide[c], {image.depth});
        if (samples.n > 0) facts[c] = core::facts_of(samples, output.depth, normalization);
    }
    core::with_sorted(image.depth, [&](auto sample) {
        using Sample = decltype(sample);
        std::array<std::optional<Ranks<core::Code<Sample>>>, 3> ranks;
        std::array<const Ranks<core::Code<Sample>>*, 4> used{};
        for (int c = 0; c < colors && mode.needs == NormalizeNeeds::counts; ++c) {
            if (!joint || c == 0) ranks[c].emplace(decide[c]);
            used[c] = joint ? &*ranks[0] : &*ranks[c];
        }
        map_sorted<Sample>(workers, image, output, normalization.mode, normalization.fill, facts, used);
    });
}

/// Counts over equal bins from the extremes of colors and luma, and the table of each color; null: samples stay as
/// they are.
void Normalizer::fill_float_tables(Workers& workers, const ImageView& image, const Analysis& analysis, bool joint,
                                   FloatAnalyzer& floats, const float* (&tables)[3], Range& range) {
    constexpr std::size_t bins = core::equalize_float_bins;
    const int colors = std::min(image.channels, 3);
    const auto at = channels_at(image);
    ChannelAnalysis all;
    for (int c = 0; c < colors; ++c) core::add_samples(all, own_of(analysis, at[c]));
    if (const ChannelAnalysis* luma = analysis.find(Channel::luma)) core::add_samples(all, *luma);
    range = {all.minimum, all.maximum};
    if (!(all.minimum < all.maximum)) return;
    const auto channel_of = [&](int c) {
        return image.channels == 1 ? int{red_channel} : joint ? int{luma_channel} : channel_of_color(image.order, c);
    };
    counts_.assign(plane_count * bins, 0);
    tables_.resize(plane_count * bins * sizeof(float));
    std::array<std::uint64_t*, plane_count> counts{};
    for (int c = 0; c < colors; ++c) counts[channel_of(c)] = counts_.data() + bins * channel_of(c);
    floats.count(workers, image, core::FloatBins(range.lower, range.upper, bins, true), counts);
    for (int c = 0; c < colors; ++c) {
        float* table = reinterpret_cast<float*>(tables_.data()) + bins * channel_of(c);
        if (core::fill_equalize_table(counts[channel_of(c)], table)) tables[c] = table;
    }
}

void Normalizer::apply_floats(Workers& workers, const ImageView& image, const ImageView& counted,
                              const Analysis& analysis, const Normalization& normalization, FloatAnalyzer& floats,
                              const MutableImageView& output) {
    const NormalizeNeeds needs = needs_of(normalization);
    const bool joint = is_joint(normalization, analysis);
    const int colors = std::min(image.channels, 3);
    const float* tables[3] = {};
    Range range;
    if (needs == NormalizeNeeds::counts) fill_float_tables(workers, counted, analysis, joint, floats, tables, range);

    ChannelFacts facts;
    for (int c = 0; c < colors; ++c) {
        facts[c] = float_facts(image, analysis, normalization, joint, c);
        if (!facts[c] || needs != NormalizeNeeds::counts) continue;
        facts[c]->low = range.lower;
        facts[c]->high = range.upper;
        facts[c]->table = tables[c];
    }
    map_floats(workers, image, output, normalization.mode, normalization.fill, facts);
}

/// Facts of a curve about each color by position, or about all of them together.
std::vector<core::CurveFacts> Normalizer::curve_facts(const NormalizedPixels& pixels, const Analysis& analysis,
                                                      const Normalization& normalization) {
    const ImageView& image = pixels.image;
    const NormalizeTraits& mode = traits_of(normalization.mode);
    const NormalizeNeeds needs = needs_of(normalization);
    const Counting counting = traits_of(image.depth).counting;
    const auto at = channels_at(image);
    const bool joint = is_joint(normalization, analysis), by_luma = joint && mode.joint_by_luma;
    const int colors = std::min(image.channels, 3);
    std::vector<FrequencyTable> values;  // f32: of red green blue luma, or gray
    if (counting == Counting::bins &&
        (needs == NormalizeNeeds::counts ||
         (needs == NormalizeNeeds::ranks && !has_ranks(image, analysis, normalization, joint))))
        values = pixels.copier ? pixels.copier->frequencies(pixels.counted) : count_frequencies(pixels.counted);

    std::vector<core::CurveFacts> found;
    for (int c = 0; c < (joint ? 1 : colors); ++c) {
        const Channel decides = by_luma ? Channel::luma : joint ? Channel::all : at[c];
        core::DecidingSamples samples{image.depth};
        FrequencyTable pooled;
        if (counting == Counting::values) {
            if (joint && !by_luma) core::sum_of_pooled(analysis, counts_);
            samples.counts = by_luma ? &analysis.find(Channel::luma)->counts
                             : joint ? &counts_
                                     : &own_of(analysis, at[c]).counts;
        } else if (counting == Counting::sorted) {
            pooled = by_luma ? analysis.find(Channel::luma)->values
                     : joint ? core::values_of_pooled(analysis)
                             : own_of(analysis, at[c]).values;
            samples.values = &pooled;
        } else if (!values.empty()) {
            if (by_luma) pooled = values[3];
            for (std::size_t color = 0; !by_luma && color < (image.channels == 1 ? 1 : 3); ++color)
                if (joint || image.channels == 1 || core::colors[color] == at[c]) pooled.add(values[color]);
            samples.values = &pooled;
        }
        found.push_back(core::facts_of(samples, decides, normalization));
        core::CurveFacts& facts = found.back();
        if (const auto numbers = counting == Counting::bins && values.empty()
                                     ? float_facts(image, analysis, normalization, joint, c)
                                     : std::nullopt) {
            facts.samples = deciding(image, analysis, joint, c).valid();
            facts.low = numbers->low;
            facts.high = numbers->high;
            facts.mean = numbers->mean;
            facts.std = numbers->std;
            if (needs == NormalizeNeeds::mean_std) core::set_interval(facts);
        }
        if (normalization.mode == NormalizeMode::stretch && normalization.interval == StretchInterval::zscale)
            if (const auto ends = zscale(pixels, positions_of(image, joint, c))) {
                facts.low = ends->lower;
                facts.high = ends->upper;
            }
    }
    if (mode.per_color && colors == 3 && analysis.find(Channel::red)) core::balance(found[0], found[1], found[2]);

    return found;
}

plan::SampleTables Normalizer::tables(const NormalizedPixels& pixels, const Analysis& analysis,
                                      const Normalization& normalization, Depth copy) {
    const ImageView& image = pixels.image;
    const NormalizeTraits& mode = traits_of(normalization.mode);
    const bool joint = is_joint(normalization, analysis);
    if (mode.kind == NormalizeKind::curve) {
        const std::vector<core::CurveFacts> facts = curve_facts(pixels, analysis, normalization);
        const auto at = channels_at(image);
        return make_tables(image, copy, mode.mode, joint, tables_, [&](Channel channel, void* table) {
            const auto place = joint ? 0 : std::find(at.begin(), at.end(), channel) - at.begin();
            core::fill_table(image.depth, copy, facts[static_cast<std::size_t>(place)], normalization, table);
        });
    }
    if (joint && !mode.joint_by_luma) core::sum_of_pooled(analysis, counts_);
    return make_tables(image, copy, mode.mode, joint, tables_, [&](Channel channel, void* table) {
        const auto& counts = !joint               ? own_of(analysis, channel).counts
                             : mode.joint_by_luma ? analysis.find(Channel::luma)->counts
                                                  : counts_;
        core::fill_table(image.depth, copy, counts, normalization, table);
    });
}

/// Writes the copy of an image of floats or of 32 bits by curves.
void Normalizer::apply_curve(Workers& workers, const NormalizedPixels& pixels, const Analysis& analysis,
                             const Normalization& normalization, const MutableImageView& output) {
    const ImageView& image = pixels.image;
    const std::vector<core::CurveFacts> found = curve_facts(pixels, analysis, normalization);
    const bool joint = is_joint(normalization, analysis);
    std::array<const core::CurveFacts*, 4> facts{};
    for (int c = 0; c < std::min(image.channels, 3); ++c) {
        facts[c] = &found[joint ? 0 : static_cast<std::size_t>(c)];
        if (core::keeps(*facts[c], normalization)) facts[c] = nullptr;
    }
    if (pixels.copier) return pixels.copier->write({image, *pixels.rules, normalization, output}, facts);
    map_by_curve(workers, image, output, normalization.mode, normalization.fill, facts);
}

void Normalizer::apply(Workers& workers, const NormalizedPixels& pixels, const Analysis& analysis,
                       const Normalization& normalization, FloatAnalyzer* floats, const MutableImageView& output) {
    const NormalizeKind kind = traits_of(normalization.mode).kind;
    const Counting counting = traits_of(pixels.image.depth).counting;
    const auto on_device = [&] { return plan::DeviceCopy{pixels.image, *pixels.rules, normalization, output}; };
    if (kind == NormalizeKind::place) {
        if (pixels.copier) return pixels.copier->write_by_place(on_device());
        return normalization.mode == NormalizeMode::clahe ? apply_clahe(workers, pixels, normalization, output)
                                                          : apply_background(workers, pixels, normalization, output);
    }
    if (counting == Counting::values) {
        const plan::SampleTables by_value = tables(pixels, analysis, normalization, output.depth);
        return pixels.copier ? pixels.copier->write(on_device(), by_value)
                             : map_image(workers, pixels.image, output, by_value);
    }
    if (kind == NormalizeKind::curve) return apply_curve(workers, pixels, analysis, normalization, output);
    if (counting == Counting::bins)
        return apply_floats(workers, pixels.image, pixels.counted, analysis, normalization, *floats, output);
    apply_sorted(workers, pixels.image, analysis, normalization, output);
}

void convert_floats(Workers& workers, const ImageView& image, const std::optional<double>& fill,
                    const MutableImageView& output) {
    const auto levels = levels_at(output, fill);
    with_depth(output.depth, [&](auto sample) {
        using Out = decltype(sample);
        for_pairs(workers, image, output, [&](const void* from, void* to, std::int64_t pixels) {
            const float* in = static_cast<const float*>(from);
            Out* out = static_cast<Out*>(to);
            for (int c = 0; c < image.channels; ++c)
                for (std::int64_t i = c; i < pixels * image.channels; i += image.channels)
                    out[i] = core::to_depth<Out>(in[i], levels[c]);
        });
    });
}

}  // namespace gpuhist::cpu

namespace gpuhist {

namespace {

/// Tables that take the one for gray for each color.
LutSet gray_for_colors(const LutSet& tables) {
    const LutSet::Lut* gray = tables.find(Channel::gray);
    if (!gray) throw InvalidArgument("there is no table for gray, but the image has no colors");
    LutSet three{tables.depth, tables.mode, false, {}, tables.copies, tables.fill};
    for (const Channel color : core::colors) three.luts.emplace_back(*gray).channel = color;
    return three;
}

}  // namespace

void apply_luts(const LutSet& tables, const ImageView& image, const MutableImageView& output, int threads,
                Samples samples) {
    core::validate(image);
    core::validate(tables);
    if (samples == Samples::bands || samples == Samples::color_bands)
        throw InvalidArgument("lookup tables don't exist for bands");
    core::validate_swept(image);
    if (samples == Samples::gray_alpha) {
        if (image.channels != 4) throw InvalidArgument("gray and alpha are four samples per pixel");
        return apply_luts(gray_for_colors(tables), image, output, threads);
    }
    core::validate_output(image, tables.copy_depth(), output);
    if (image.memory != Memory::host) throw InvalidArgument("tables: the image lies in device memory");
    if (image.depth != tables.depth)
        throw InvalidArgument(std::string("tables of ") + to_string(tables.depth) + " do not fit an image of " +
                              to_string(image.depth));
    if (!tables.find(image.channels == 1 ? Channel::gray : Channel::red))
        throw InvalidArgument(image.channels == 1 ? "there is no table for gray, but the image has no colors"
                                                  : "there is no table for colors, but the image has colors");
    if (threads < 1) throw InvalidArgument("tables: " + std::to_string(threads) + " threads: at least 1");
    cpu::Workers workers(threads);
    switch (traits_of(image.depth).counting) {
        case Counting::values: {
            std::vector<std::byte> storage;
            return cpu::map_image(
                workers, image, output,
                cpu::make_tables(image, output.depth, tables.mode, false, storage, [&](Channel channel, void* table) {
                    core::fill_table(tables, *tables.find(channel), output.depth, table);
                }));
        }
        case Counting::bins:
            return cpu::map_floats(workers, tables, image, output);
        case Counting::sorted:
            return core::with_sorted(
                image.depth, [&](auto sample) { cpu::map_sorted<decltype(sample)>(workers, tables, image, output); });
    }
}

}  // namespace gpuhist
