#include "cpu/centroids.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "core/channels.hpp"
#include "core/codes.hpp"
#include "core/exact_sum.hpp"
#include "core/integers.hpp"
#include "core/luma.hpp"
#include "core/weights.hpp"
#include "cpu/classifier.hpp"
#include "rules/rules.hpp"

namespace gpuhist::cpu {
namespace {

constexpr int sums = 3;  ///< of v, v x and v y

template <class Sample>
class CentroidSums {
  public:
    CentroidSums(const ImageView& image, const Coordinates& at, const AnalysisRequest& request, Analysis& analysis)
        : image_(image),
          at_(at),
          rules_(image, request.validity.get()),
          all_valid_(rules::all_valid(image, request)),
          weighs_(rules::weighs(request) && core::has_alpha(image)),
          analysis_(analysis) {}

    void find(Workers& workers) {
        const std::size_t channels = analysis_.channels.size();
        std::vector<Totals> totals(static_cast<std::size_t>(workers.threads()));
        workers.sweep_rows(image_.height, image_.width, [&](int worker, std::int64_t begin, std::int64_t end) {
            Totals& own = totals[static_cast<std::size_t>(worker)];
            own.resize(channels);
            Block block;
            for (std::int64_t y = begin; y < end; ++y)
                for (std::int64_t x = 0; x < image_.width; x += block_pixels)
                    add(y, x, static_cast<int>(std::min(block_pixels, image_.width - x)), block, own);
        });
        for (std::size_t c = 0; c < channels; ++c) {
            std::vector<Int128>& found = analysis_.channels[c].centroid_sums;
            found.assign(sums * words, {});
            for (const Totals& own : totals)
                if (!own.empty()) join(own[c], found);
        }
    }

  private:
    static constexpr bool real = std::is_floating_point_v<Sample>;
    static constexpr bool small = sizeof(Sample) <= 2 && !core::is_real<Sample>;
    static constexpr int words = real ? core::ExactSum::words : 1;
    /// Sample as a number: whole, of f16 in units of 2^-24.
    using Number = std::conditional_t<real, double, std::int64_t>;
    using Sum = std::conditional_t<real, core::ExactSum, core::i128>;
    using Totals = std::vector<std::array<Sum, sums>>;
    /// Sum over a block, of 2^9 products of 16 and 32 bits, or of any.
    template <bool weighted>
    using Part = std::conditional_t<small && !weighted, std::int64_t, core::i128>;

    struct Block {
        BlockClasses classes;
        std::uint8_t valid[block_pixels];
        std::uint32_t x[block_pixels], y[block_pixels];
        Number values[block_pixels];
    };

    static Number number_of(Sample sample) {
        if constexpr (std::is_same_v<Sample, Half>)
            return static_cast<std::int64_t>(core::value_of(sample) * 0x1p24);
        else
            return static_cast<Number>(sample);
    }

    /// Loads the samples of a channel, and finds the valid ones of its block.
    template <class CodeOf>
    static void load(int pixels, Block& block, const CodeOf& code_at) {
        for (int i = 0; i < pixels; ++i) {
            const core::Code<Sample> code = code_at(i);
            if constexpr (core::is_real<Sample>)
                block.valid[i] &= code > core::minus_infinity_code<Sample> && code < core::plus_infinity_code<Sample>;
            block.values[i] = block.valid[i] ? number_of(core::sample_at<Sample>(code)) : Number{};
        }
    }

    template <bool weighted>
    static void add_block(const Sample* alpha, int step, int pixels, const Block& block, std::array<Sum, sums>& to) {
        if constexpr (real) {
            for (int i = 0; i < pixels; ++i) {
                if (!block.valid[i]) continue;
                to[0].add(block.values[i], 1);
                to[1].add(block.values[i], block.x[i]);
                to[2].add(block.values[i], block.y[i]);
            }
        } else {
            Part<weighted> part[sums]{};
            for (int i = 0; i < pixels; ++i) {
                Part<weighted> value = block.values[i];  // 0 where it is not valid
                if constexpr (weighted) value *= static_cast<core::i128>(core::weight_of(alpha[i * step]));
                part[0] += value;
                part[1] += value * block.x[i];
                part[2] += value * block.y[i];
            }
            for (int k = 0; k < sums; ++k) to[static_cast<std::size_t>(k)] += part[k];
        }
    }

    void add(std::int64_t row, std::int64_t column, int pixels, Block& block, Totals& to) const {
        for (int i = 0; i < pixels; ++i) {
            block.x[i] = at_.xs ? at_.xs[column + i] : static_cast<std::uint32_t>(at_.x + column + i);
            block.y[i] = at_.ys ? at_.ys[column + i] : static_cast<std::uint32_t>(at_.y + row);
        }
        if (!all_valid_) classify_block(image_, rules_, row, column, pixels, block.classes);
        const Sample* const samples = samples_at<Sample>(image_, row, column);
        const int step = image_.channels;
        for (std::size_t c = 0; c < to.size(); ++c) {
            const int position = core::position_of(image_, analysis_.channels[c].channel);
            if (all_valid_) {
                std::fill_n(block.valid, pixels, std::uint8_t{1});
            } else {
                std::copy_n(block.classes.unmasked, pixels, block.valid);
                const int first = std::max(position, 0), last = position < 0 ? rules_.colors() - 1 : position;
                for (int p = first; p <= last; ++p)
                    for (int i = 0; i < pixels; ++i) block.valid[i] &= !block.classes.nodata[p][i];
            }
            if (position >= 0) {
                load(pixels, block, [&](int i) { return core::code_of(samples[i * step + position]); });
            } else {
                const core::Positions place(image_.order);
                load(pixels, block, [&](int i) {
                    const Sample* const pixel = samples + i * step;
                    return core::luma_code<Sample>(core::code_of(pixel[place.red]), core::code_of(pixel[place.green]),
                                                   core::code_of(pixel[place.blue]));
                });
            }
            if constexpr (core::is_narrow<Sample> || std::is_unsigned_v<Sample>)
                if (weighs_) {
                    add_block<true>(samples + 3, step, pixels, block, to[c]);
                    continue;
                }
            add_block<false>(nullptr, step, pixels, block, to[c]);
        }
    }

    static void join(const std::array<Sum, sums>& own, std::vector<Int128>& found) {
        const auto add = [&](std::size_t at, Int128 more) {
            found[at] = core::to_public(core::from_public(found[at]) + core::from_public(more));
        };
        for (std::size_t k = 0; k < sums; ++k)
            if constexpr (real)
                for (int i = 0; i < words; ++i) add(k * words + static_cast<std::size_t>(i), own[k].word(i));
            else
                add(k, core::to_public(own[k]));
    }

    const ImageView& image_;
    const Coordinates at_;
    const rules::ImageRules rules_;
    const bool all_valid_, weighs_;
    Analysis& analysis_;
};

}  // namespace

void find_centroids(Workers& workers, const ImageView& image, const Coordinates& at, const AnalysisRequest& request,
                    Analysis& analysis) {
    with_depth(image.depth,
               [&](auto sample) { CentroidSums<decltype(sample)>(image, at, request, analysis).find(workers); });
}

}  // namespace gpuhist::cpu
