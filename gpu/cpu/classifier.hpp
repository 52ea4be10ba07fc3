// Classifier on the CPU: the classes of an image's samples, and what passes read in the image's place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cpu/pixel_source.hpp"
#include "cpu/workers.hpp"
#include "gpuhist/image.hpp"
#include "plan/executor.hpp"
#include "rules/rules.hpp"

namespace gpuhist::cpu {

/// Classes of the samples of a block of pixels: bytes that are 1 where a pixel or sample belongs to the class.
struct BlockClasses {
    alignas(64) std::uint8_t unmasked[block_pixels];               ///< pixels that are not masked
    alignas(64) std::uint8_t nodata[most_channels][block_pixels];  ///< samples of these, by position in the pixel
};

/// Finds the classes of at most `block_pixels` pixels of a row.
void classify_block(const ImageView& image, const rules::ImageRules& rules, std::int64_t row, std::int64_t column,
                    int pixels, BlockClasses& classes);

/// Classifier of images in host memory.
class HostClassifier final : public plan::Classifier {
  public:
    explicit HostClassifier(Workers& workers) : workers_(workers) {}
    ImageView substitute(const ImageView& image, const rules::ImageRules& rules, rules::ClassCounts& counts) override;
    ImageView mask(const ImageView& image, const rules::ImageRules& rules, rules::PixelsOf which,
                   rules::ClassCounts& counts) override;
    /// Mask of an image's samples, a byte per sample as the samples lie, 0 where one is excluded.
    std::vector<std::uint8_t> sample_mask(const ImageView& image, const rules::ImageRules& rules);

  private:
    std::byte* reserve(std::size_t bytes);

    Workers& workers_;
    std::unique_ptr<std::byte[]> memory_;
    std::size_t bytes_ = 0;
};

/// Writes what becomes of excluded samples in a copy: in the image's own depth they stay as they are if `valid_only`;
/// in another depth they become 0, and so does the alpha of their pixels.
void settle(Workers& workers, const ImageView& image, const rules::ImageRules& rules, bool valid_only,
            const MutableImageView& output);

}  // namespace gpuhist::cpu
