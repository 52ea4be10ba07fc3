// Samples in canonical order: those of a pixel are gray, or red, green and blue, then alpha, then bands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/channels.hpp"
#include "gpuhist/image.hpp"

namespace gpuhist::fingerprint {

/// Canonical pixels of an image, of which a view may have other samples or another order of them.
class Pixels {
  public:
    explicit Pixels(const ImageView& image)
        : channels_(image.samples == Samples::gray_alpha ? 2 : image.channels),
          stored_(image.channels),
          sample_(sample_bytes(image.depth)),
          gray_alpha_(image.samples == Samples::gray_alpha),
          swapped_(!gray_alpha_ && core::colors_of(image) == 3 && image.order == ChannelOrder::bgr) {}

    int channels() const { return channels_; }
    std::int64_t bytes() const { return channels_ * static_cast<std::int64_t>(sample_); }
    /// Returns whether pixels are in memory as they are in the canonical order.
    bool as_stored() const { return !gray_alpha_ && !swapped_; }
    /// Returns whether they are but for red and blue.
    bool swapped() const { return swapped_; }

    /// Copies pixels of a row.
    void copy(const std::byte* from, std::int64_t pixels, std::byte* to) const {
        if (as_stored()) return void(std::memcpy(to, from, static_cast<std::size_t>(pixels * bytes())));
        if (sample_ == 1) return reorder<1>(from, pixels, to);
        if (sample_ == 2) return reorder<2>(from, pixels, to);
        if (sample_ == 4) return reorder<4>(from, pixels, to);
        reorder<8>(from, pixels, to);
    }

  private:
    template <std::size_t sample>
    void reorder(const std::byte* from, std::int64_t pixels, std::byte* to) const {
        if (gray_alpha_) return reorder_pixels<sample, 2>(from, pixels, to);
        if (stored_ == 3) return reorder_pixels<sample, 3>(from, pixels, to);
        for (std::int64_t x = 0; x < pixels; ++x, from += stored_ * sample, to += stored_ * sample) {
            reorder_pixels<sample, 3>(from, 1, to);
            std::memcpy(to + 3 * sample, from + 3 * sample, static_cast<std::size_t>(stored_ - 3) * sample);
        }
    }
    /// Blue, green, red; or of pixels of four samples the last two.
    template <std::size_t sample, int channels>
    static void reorder_pixels(const std::byte* from, std::int64_t pixels, std::byte* to) {
        constexpr std::size_t step = (channels == 2 ? 4 : 3) * sample;
        for (std::int64_t x = 0; x < pixels; ++x, from += step, to += channels * sample) {
            if constexpr (channels == 2) {
                std::memcpy(to, from + 2 * sample, 2 * sample);
            } else {
                std::memcpy(to, from + 2 * sample, sample);
                std::memcpy(to + sample, from + sample, sample);
                std::memcpy(to + 2 * sample, from, sample);
            }
        }
    }

    int channels_, stored_;
    std::size_t sample_;
    bool gray_alpha_, swapped_;
};

}  // namespace gpuhist::fingerprint
