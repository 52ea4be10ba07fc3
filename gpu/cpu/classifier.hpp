// Classifier on the CPU: the classes of the samples of an image, and the masks and copies that passes read in place of
// the image.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cpu/pixel_source.hpp"
#include "cpu/workers.hpp"
#include "gpuhist/image.hpp"
#include "gpuhist/normalize.hpp"
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

/// Classes of the samples of a block of pixels, as a copy of them sees these: bits of each, by position in the pixel.
struct CopyClasses {
    static constexpr std::uint8_t excluded = 1;  ///< by the mask or a rule
    static constexpr std::uint8_t nodata = 2;    ///< by its value, masked or not; then it is excluded
    static constexpr std::uint8_t nan = 4;       ///< it is NaN, excluded or not
    alignas(64) std::uint8_t at[most_channels][block_pixels];
    BlockClasses by_rule;
};

/// Finds these classes of at most `block_pixels` pixels of a row.
void classify_copied(const ImageView& image, const rules::ImageRules& rules, std::int64_t row, std::int64_t column,
                     int pixels, CopyClasses& classes);

/// Verdict on a copy: whether `settle` writes samples of it.
bool settles(const rules::ImageRules& rules, Depth image, Depth copy, const Normalization& normalization);

/// Writes the excluded samples into a copy, according to Normalization. The copy shares no memory with the image.
void settle(Workers& workers, const ImageView& image, const rules::ImageRules& rules,
            const Normalization& normalization, const MutableImageView& output);

}  // namespace gpuhist::cpu
