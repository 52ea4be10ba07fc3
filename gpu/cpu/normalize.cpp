#include "cpu/normalize.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <type_traits>

#include "core/integers.hpp"
#include "core/validate.hpp"
#include "cpu/pixel_source.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/lut.hpp"
#include "normalize/formulas.hpp"
#include "normalize/lut.hpp"

namespace gpuhist::cpu {
namespace {

/// The channels that lie at an image's positions.
std::array<Channel, 4> channels_at(const ImageView& image) {
    if (image.channels == 1) return {Channel::gray};
    if (image.order == ChannelOrder::bgr) return {Channel::blue, Channel::green, Channel::red, Channel::alpha};
    return {Channel::red, Channel::green, Channel::blue, Channel::alpha};
}

/// Calls body(in, out, pixels) for pieces of rows, from all workers.
template <class In, class Out, class Body>
void for_pairs(Workers& workers, const ImageView& image, const MutableImageView& output, const Body& body) {
    workers.sweep(image.pixels(), tile_pixels, serial_pixels, workers.threads(),
                  [&](int, std::int64_t begin, std::int64_t end) {
                      for_pieces<const In>(image, begin, end, [&](const In* in, std::int64_t pixels) {
                          // The output's rows may be packed where the input's are not, and the other way round.
                          for_pieces<Out>(output, begin, begin + pixels, [&](Out* out, std::int64_t part) {
                              body(in, out, part);
                              in += part * image.channels;
                          });
                          begin += pixels;
                      });
                  });
}

// ---- 8 and 16 bits: tables --------------------------------------------------------------------------------------

template <int channels, class In, class Out>
void map_pixels(const In* in, Out* out, std::int64_t pixels, const std::array<const Out*, 4>& tables) {
    for (std::int64_t i = 0; i < pixels; ++i)
        for (int c = 0; c < channels; ++c) out[i * channels + c] = tables[c][in[i * channels + c]];
}

/// Looks every sample up in the table at its position.
template <class In, class Out>
void map_image(Workers& workers, const ImageView& image, const MutableImageView& output,
               const std::array<const Out*, 4>& tables) {
    for_pairs<In, Out>(workers, image, output, [&](const In* in, Out* out, std::int64_t pixels) {
        switch (image.channels) {
            case 1:
                return map_pixels<1>(in, out, pixels, tables);
            case 3:
                return map_pixels<3>(in, out, pixels, tables);
            default:
                return map_pixels<4>(in, out, pixels, tables);
        }
    });
}

/// Given tables; `Out` holds their values.
template <class In, class Out>
void map_image(Workers& workers, const LutSet& given, const ImageView& image, const MutableImageView& output) {
    constexpr std::size_t values = std::size_t{1} << (8 * sizeof(In));
    const auto at = channels_at(image);
    std::vector<Out> storage(static_cast<std::size_t>(image.channels) * values);
    std::array<const Out*, 4> tables{};
    for (int c = 0; c < image.channels; ++c) {
        Out* table = storage.data() + static_cast<std::size_t>(c) * values;
        tables[c] = table;
        if (at[c] == Channel::alpha)
            core::identity(table, values);
        else
            std::transform(given.find(at[c])->values.begin(), given.find(at[c])->values.end(), table,
                           [](float value) { return static_cast<Out>(value); });
    }
    map_image<In, Out>(workers, image, output, tables);
}

// ---- f32 --------------------------------------------------------------------------------------------------------

std::uint64_t finite_samples(const ChannelAnalysis& row) {
    return row.pixels - row.nan - row.infinite;
}

/// What is done to one channel of an f32 image.
struct FloatMap {
    enum class Kind { copy, stretch, clamped_stretch, equalize, zscore };
    Kind kind = Kind::copy;
    double a = 0, b = 0;           ///< lo and hi, or mean and std
    core::FloatBins bins;          ///< equalize
    const float* table = nullptr;  ///< equalize: a value a bin

    float operator()(float v) const {
        switch (kind) {
            case Kind::copy:
                return v;
            case Kind::stretch:
                return core::stretch(v, a, b);
            case Kind::clamped_stretch:
                return core::clamp_unit(core::stretch(v, a, b));
            case Kind::equalize: {
                if (v != v) return v;
                const std::uint32_t bin = bins(v);
                return bin == core::FloatBins::below ? 0 : bin == core::FloatBins::above ? 1 : table[bin];
            }
            case Kind::zscore:
                return core::zscore(v, a, b);
        }
        return v;
    }
};

/// Maps each channel, by position.
void map_floats(Workers& workers, const ImageView& image, const MutableImageView& output,
                const std::array<FloatMap, 4>& maps) {
    for_pairs<float, float>(workers, image, output, [&](const float* in, float* out, std::int64_t pixels) {
        for (int c = 0; c < image.channels; ++c)
            for (std::int64_t i = c; i < pixels * image.channels; i += image.channels) out[i] = maps[c](in[i]);
    });
}

/// What the given tables do to a channel.
FloatMap map_of(const LutSet::Lut& column, NormalizeMode mode) {
    if (mode == NormalizeMode::zscore) return {FloatMap::Kind::zscore, column.mean, column.std, {}, nullptr};
    if (!(column.lower < column.upper)) return {};
    switch (mode) {
        case NormalizeMode::percentile:
            return {FloatMap::Kind::clamped_stretch, column.lower, column.upper, {}, nullptr};
        case NormalizeMode::equalize:
            return {FloatMap::Kind::equalize, 0, 0,
                    core::FloatBins(column.lower, column.upper, core::equalize_float_bins, true), column.values.data()};
        default:
            return {FloatMap::Kind::stretch, column.lower, column.upper, {}, nullptr};
    }
}

void map_floats(Workers& workers, const LutSet& given, const ImageView& image, const MutableImageView& output) {
    const auto at = channels_at(image);
    std::array<FloatMap, 4> maps;  // alpha is copied
    for (int c = 0; c < std::min(image.channels, 3); ++c) maps[c] = map_of(*given.find(at[c]), given.mode);
    map_floats(workers, image, output, maps);
}

}  // namespace

template <class In>
void Normalizer::apply_luts(Workers& workers, const ImageView& image, const Analysis& analysis,
                            const Normalization& normalization, const MutableImageView& output) {
    constexpr std::size_t values = std::size_t{1} << (8 * sizeof(In));
    const auto at = channels_at(image);
    auto apply = [&](auto& storage) {
        using Out = typename std::decay_t<decltype(storage)>::value_type;
        storage.resize(4 * values);
        std::array<const Out*, 4> tables{};
        const bool joint = normalization.joint && image.channels >= 3;
        if (joint) {
            const bool luma = normalization.mode == NormalizeMode::equalize;
            counts_ = analysis.find(luma ? Channel::luma : Channel::red)->counts;
            if (!luma)
                for (Channel channel : {Channel::green, Channel::blue}) {
                    const auto& other = analysis.find(channel)->counts;
                    std::transform(counts_.begin(), counts_.end(), other.begin(), counts_.begin(), std::plus<>());
                }
            core::fill_table(counts_, normalization, storage.data());
        }
        for (int c = 0; c < image.channels; ++c) {
            Out* table = storage.data() + (joint && c < 3 ? 0 : c * values);
            if (at[c] == Channel::alpha)
                core::identity(table, values);
            else if (!joint)
                core::fill_table(analysis.find(at[c])->counts, normalization, table);
            tables[c] = table;
        }
        map_image<In, Out>(workers, image, output, tables);
    };
    if (normalization.mode == NormalizeMode::zscore)
        apply(floats_);
    else if constexpr (sizeof(In) == 1)
        apply(bytes_);
    else
        apply(words_);
}

void Normalizer::apply_integers(Workers& workers, const ImageView& image, const Analysis& analysis,
                                const Normalization& normalization, const MutableImageView& output) {
    image.depth == Depth::u8 ? apply_luts<std::uint8_t>(workers, image, analysis, normalization, output)
                             : apply_luts<std::uint16_t>(workers, image, analysis, normalization, output);
}

void Normalizer::apply_floats(Workers& workers, const ImageView& image, const Analysis& analysis,
                              const Normalization& normalization, FloatAnalyzer& floats,
                              const MutableImageView& output) {
    const auto at = channels_at(image);
    const bool joint = normalization.joint && image.channels >= 3;
    const int colors = std::min(image.channels, 3);
    std::array<FloatMap, 4> maps;

    // The finite samples that decide about a channel, and their extremes: its own, or red, green and blue together.
    struct Population {
        std::uint64_t finite = 0;
        float minimum = 0, maximum = 0;
        void add(const ChannelAnalysis& row) {
            if (finite_samples(row) == 0) return;
            minimum = finite ? std::min(minimum, row.minimum) : row.minimum;
            maximum = finite ? std::max(maximum, row.maximum) : row.maximum;
            finite += finite_samples(row);
        }
    };
    auto population = [&](int c) {
        Population result;
        for (int i = 0; i < colors; ++i)
            if (joint || i == c) result.add(*analysis.find(at[i]));
        return result;
    };

    switch (normalization.mode) {
        case NormalizeMode::minmax:
            for (int c = 0; c < colors; ++c) {
                const Population found = population(c);
                if (found.minimum < found.maximum)
                    maps[c] = {FloatMap::Kind::stretch, found.minimum, found.maximum, {}, nullptr};
            }
            break;
        case NormalizeMode::percentile:
            for (int c = 0; c < colors; ++c) {
                const std::uint64_t n = population(c).finite;
                if (n == 0) continue;
                const auto& order = joint ? analysis.pooled_order_statistics : analysis.find(at[c])->order_statistics;
                auto value = [&](double percent) {
                    const std::uint64_t rank = core::nearest_rank(percent, n) - 1;
                    return std::lower_bound(order.begin(), order.end(), rank,
                                            [](const OrderStatistic& o, std::uint64_t r) { return o.rank < r; })
                        ->value;
                };
                const float lo = value(normalization.low), hi = value(normalization.high);
                if (lo < hi) maps[c] = {FloatMap::Kind::clamped_stretch, lo, hi, {}, nullptr};
            }
            break;
        case NormalizeMode::equalize: {
            constexpr std::uint32_t bins = core::equalize_float_bins;
            Population all;
            for (int c = 0; c < colors; ++c) all.add(*analysis.find(at[c]));
            if (image.channels >= 3) all.add(*analysis.find(Channel::luma));
            if (all.finite == 0) break;
            const Range range = core::found_range(true, all.minimum, all.maximum);
            const core::FloatBins equal(range.lower, range.upper, bins, true);
            const Positions position(image.order);
            auto row_of = [&](int c) {
                return image.channels == 1   ? 0
                       : joint               ? static_cast<int>(luma_row)
                       : c == position.red   ? red_row
                       : c == position.green ? green_row
                                             : blue_row;
            };
            counts_.assign(std::size_t{color_rows} * bins, 0);
            floats_.resize(std::size_t{color_rows} * bins);
            std::array<std::uint64_t*, color_rows> counts{};
            for (int c = 0; c < colors; ++c) counts[row_of(c)] = counts_.data() + std::size_t{bins} * row_of(c);
            floats.count(workers, image, equal, counts);
            for (int c = 0; c < colors; ++c) {
                const std::uint64_t* row = counts[row_of(c)];
                float* table = floats_.data() + std::size_t{bins} * row_of(c);
                std::uint64_t total = 0;
                for (std::uint32_t bin = 0; bin < bins; ++bin) total += row[bin];
                if (total == 0) continue;
                const auto first =
                    static_cast<std::uint32_t>(std::find_if(row, row + bins, [](auto n) { return n > 0; }) - row);
                if (row[first] == total) continue;
                const float scale = core::equalize_scale(total, row[first], 1);
                std::uint64_t cumulative = 0;
                for (std::uint32_t bin = 0; bin < bins; ++bin) {
                    if (bin > first) cumulative += row[bin];
                    table[bin] = core::equalize(cumulative, scale);
                }
                maps[c] = {FloatMap::Kind::equalize, 0, 0, equal, table};
            }
            break;
        }
        case NormalizeMode::zscore:
            for (int c = 0; c < colors; ++c) {
                const std::uint64_t n = population(c).finite;
                if (n == 0) continue;
                const core::CentralMoments moments =
                    joint ? core::pooled_moments(analysis) : core::central_moments(n, analysis.find(at[c])->moments);
                maps[c] = {FloatMap::Kind::zscore, moments.mean, std::sqrt(moments.m2), {}, nullptr};
            }
            break;
    }

    map_floats(workers, image, output, maps);
}

}  // namespace gpuhist::cpu

namespace gpuhist {

void apply_luts(const LutSet& tables, const ImageView& image, const MutableImageView& output, int threads) {
    core::validate(image);
    core::validate(tables);
    Normalization normalization;
    normalization.mode = tables.mode;
    core::validate_output(image, normalization, output);
    if (image.memory != Memory::host) throw InvalidArgument("tables: the image lies in device memory");
    if (image.depth != tables.depth)
        throw InvalidArgument(std::string("tables of ") + to_string(tables.depth) + " do not fit an image of " +
                              to_string(image.depth));
    if (!tables.find(image.channels == 1 ? Channel::gray : Channel::red))
        throw InvalidArgument(image.channels == 1 ? "tables without one for gray: the image has no colours"
                                                  : "tables without one for colours: the image has them");
    if (threads < 1) throw InvalidArgument("tables: " + std::to_string(threads) + " threads: at least 1");
    cpu::Workers workers(threads);
    const bool floats = tables.mode == NormalizeMode::zscore;
    if (image.depth == Depth::f32)
        cpu::map_floats(workers, tables, image, output);
    else if (image.depth == Depth::u8)
        floats ? cpu::map_image<std::uint8_t, float>(workers, tables, image, output)
               : cpu::map_image<std::uint8_t, std::uint8_t>(workers, tables, image, output);
    else
        floats ? cpu::map_image<std::uint16_t, float>(workers, tables, image, output)
               : cpu::map_image<std::uint16_t, std::uint16_t>(workers, tables, image, output);
}

}  // namespace gpuhist
