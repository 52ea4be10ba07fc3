// clahe: contrast-limited adaptive histogram equalization, as cv::createCLAHE. S. M. Pizer et al., Adaptive histogram
// equalization and its variations (1987); K. Zuiderveld, Graphics Gems IV (1994).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/codes.hpp"
#include "core/levels.hpp"
#include "core/luma.hpp"
#include "cpu/by_place.hpp"
#include "normalize/clahe.hpp"
#include "normalize/depths.hpp"

namespace gpuhist::cpu {
namespace {

/// Places along one side of an image.
struct Places {
    std::int64_t tiles, length;                  ///< length of a tile
    std::vector<std::int64_t> reflected;         ///< pixel at each place in the tiles
    std::vector<core::TiledSide::Between> near;  ///< tiles near each pixel

    explicit Places(const core::TiledSide& of) : tiles(of.tiles), length(of.length) {
        for (std::int64_t at = 0; at < tiles * length; ++at) reflected.push_back(of.reflected(at));
        for (std::int64_t at = 0; at < of.side; ++at) near.push_back(of.between(at));
    }
};

/// Tables of the tiles of a channel, or of luma.
template <class Sample>
class TileTables {
  public:
    using Code = core::Code<Sample>;
    static constexpr std::size_t values = std::size_t{std::numeric_limits<Code>::max()} + 1;
    static constexpr float highest = static_cast<float>(values - 1);

    TileTables(const Places& across, const Places& down)
        : across_(across), down_(down), tables_(static_cast<std::size_t>(across.tiles * down.tiles) * values) {}

    /// Makes the tables. `code_at(x, y)` is the code of a pixel, or negative for one that is excluded.
    template <class CodeAt>
    void make(Workers& workers, const Normalization& normalization, std::int64_t bins, const core::Levels& levels,
              const CodeAt& code_at) {
        const std::int64_t pixels = across_.length * across_.tiles * down_.length * down_.tiles;
        workers.sweep(across_.tiles * down_.tiles, 1,
                      pixels < serial_pixels ? std::numeric_limits<std::int64_t>::max() : 0, workers.threads(),
                      [&](int, std::int64_t begin, std::int64_t end) {
                          std::vector<std::int32_t> counts(values);
                          for (std::int64_t tile = begin; tile < end; ++tile) {
                              const std::int64_t n = count(tile, code_at, counts);
                              fill(table(tile), counts, n, normalization.clip_limit, bins, levels);
                          }
                      });
    }
    const Code* table(std::int64_t x, std::int64_t y) const {
        return tables_.data() + (y * across_.tiles + x) * static_cast<std::int64_t>(values);
    }

  private:
    Code* table(std::int64_t tile) { return tables_.data() + tile * static_cast<std::int64_t>(values); }

    template <class CodeAt>
    std::int64_t count(std::int64_t tile, const CodeAt& code_at, std::vector<std::int32_t>& counts) const {
        std::fill(counts.begin(), counts.end(), 0);
        const std::int64_t left = tile % across_.tiles * across_.length, top = tile / across_.tiles * down_.length;
        std::int64_t n = 0;
        for (std::int64_t y = top; y < top + down_.length; ++y)
            for (std::int64_t x = left; x < left + across_.length; ++x) {
                const std::int64_t code = code_at(across_.reflected[static_cast<std::size_t>(x)],
                                                  down_.reflected[static_cast<std::size_t>(y)]);
                if (code < 0) continue;
                ++counts[static_cast<std::size_t>(code)];
                ++n;
            }
        return n;
    }

    /// Clips counts, spreads what was clipped over the bins, and makes the table of the sums. Without a valid sample,
    /// values stay.
    static void fill(Code* table, std::vector<std::int32_t>& counts, std::int64_t n, double limit, std::int64_t bins,
                     const core::Levels& levels) {
        if (n == 0) {
            for (std::size_t code = 0; code < values; ++code)
                table[code] = static_cast<Code>(levels.clamp(static_cast<std::uint32_t>(code)));
            return;
        }
        if (const auto most = static_cast<std::int32_t>(core::highest_count(limit, n, bins)); most > 0) {
            std::int64_t clipped = 0;
            for (std::int32_t& count : counts) {
                clipped += std::max(count - most, 0);
                count = std::min(count, most);
            }
            const core::ClippedSamples<std::int64_t> spread(clipped, bins);
            for (std::int64_t bin = 0; bin < bins; ++bin)
                counts[static_cast<std::size_t>(bin)] += static_cast<std::int32_t>(spread.each);
            for (std::int64_t i = 0; i < spread.rest; ++i) ++counts[static_cast<std::size_t>(i * spread.step)];
        }
        const float scale = static_cast<float>(levels.width()) / static_cast<float>(n);
        std::int32_t sum = 0;
        for (std::size_t code = 0; code < values; ++code) {
            sum += counts[code];
            table[code] = static_cast<Code>(core::clahe_code(sum, scale, highest, levels));
        }
    }

    const Places &across_, &down_;
    std::vector<Code> tables_;
};

template <class Sample>
void apply(Workers& workers, const NormalizedPixels& pixels, const Normalization& normalization,
           const MutableImageView& output) {
    using Code = core::Code<Sample>;
    const ImageView& image = pixels.image;
    const core::TiledImage tiled(image.width, image.height, static_cast<std::int64_t>(normalization.tiles_x),
                                 static_cast<std::int64_t>(normalization.tiles_y));
    const Places across(tiled.across), down(tiled.down);
    const core::Levels levels = core::levels_of(output.depth, normalization.fill);
    const int colors = std::min(image.channels, 3), red = image.order == ChannelOrder::bgr ? 2 : 0;
    const std::int64_t bins = core::clahe_bins(normalization, image.depth);

    const auto row_of = [](const auto& view, std::int64_t y) {
        return reinterpret_cast<const Sample*>(static_cast<const std::byte*>(view.data) + y * view.row_bytes);
    };
    const auto is_valid = [&](std::int64_t x, std::int64_t y, int c) {
        return !pixels.valid || pixels.valid[(y * image.width + x) * image.channels + c];
    };
    TileTables<Sample> tables(across, down);
    const auto map = [&](int from, int to) {
        workers.sweep_rows(image.height, image.width, [&](int, std::int64_t begin, std::int64_t end) {
            for (std::int64_t y = begin; y < end; ++y) {
                const Sample* in = row_of(image, y);
                auto* out = reinterpret_cast<Sample*>(static_cast<std::byte*>(output.data) + y * output.row_bytes);
                const auto& [y1, y2, lower] = down.near[static_cast<std::size_t>(y)];
                const float upper = 1.0f - lower;
                for (std::int64_t x = 0; x < image.width; ++x) {
                    const auto& [x1, x2, right] = across.near[static_cast<std::size_t>(x)];
                    const float left = 1.0f - right;
                    const Code *a = tables.table(x1, y1), *b = tables.table(x2, y1), *c = tables.table(x1, y2),
                               *d = tables.table(x2, y2);
                    for (int channel = from; channel < to; ++channel) {
                        const Code code = core::code_of(in[x * image.channels + channel]);
                        const float value =
                            (static_cast<float>(a[code]) * left + static_cast<float>(b[code]) * right) * upper +
                            (static_cast<float>(c[code]) * left + static_cast<float>(d[code]) * right) * lower;
                        out[x * image.channels + channel] = core::sample_at<Sample>(
                            static_cast<Code>(core::clahe_rounded(value, TileTables<Sample>::highest)));
                    }
                }
            }
        });
    };
    if (colors == 3 && normalization.joint) {
        tables.make(workers, normalization, bins, levels, [&](std::int64_t x, std::int64_t y) -> std::int64_t {
            if (!is_valid(x, y, 0) || !is_valid(x, y, 1) || !is_valid(x, y, 2)) return -1;
            const Sample* pixel = row_of(image, y) + x * image.channels;
            return core::luma_code<Sample>(core::code_of(pixel[red]), core::code_of(pixel[1]),
                                           core::code_of(pixel[2 - red]));
        });
        map(0, 3);
    }
    for (int channel = 0; channel < colors && !(colors == 3 && normalization.joint); ++channel) {
        tables.make(workers, normalization, bins, levels, [&](std::int64_t x, std::int64_t y) -> std::int64_t {
            return is_valid(x, y, channel) ? core::code_of(row_of(image, y)[x * image.channels + channel]) : -1;
        });
        map(channel, channel + 1);
    }
    if (image.channels == 4 && output.data != image.data)
        workers.sweep_rows(image.height, image.width, [&](int, std::int64_t begin, std::int64_t end) {
            for (std::int64_t y = begin; y < end; ++y) {
                auto* out = reinterpret_cast<Sample*>(static_cast<std::byte*>(output.data) + y * output.row_bytes);
                for (std::int64_t x = 0; x < image.width; ++x) out[4 * x + 3] = row_of(image, y)[4 * x + 3];
            }
        });
}

}  // namespace

void apply_clahe(Workers& workers, const NormalizedPixels& pixels, const Normalization& normalization,
                 const MutableImageView& output) {
    with_depth(pixels.image.depth, [&](auto sample) {
        using Sample = decltype(sample);
        if constexpr (!core::is_real<Sample> && sizeof(Sample) <= 2)
            apply<Sample>(workers, pixels, normalization, output);
    });
}

}  // namespace gpuhist::cpu
