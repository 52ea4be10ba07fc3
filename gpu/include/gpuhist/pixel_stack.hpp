/// Statistics of each pixel over a set of images with the same sides, channels and depth.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gpuhist/image.hpp"

namespace gpuhist {

struct Validity;

/// Statistic of a pixel over the images of a stack, from its valid samples.
enum class StackStatistic : std::uint8_t { mean, std, min, max, count, median };

/// Name in files.
constexpr const char* to_string(StackStatistic statistic) {
    constexpr const char* words[] = {"mean", "std", "min", "max", "count", "median"};
    return words[static_cast<std::size_t>(statistic)];
}

/// Depth of the image of a statistic, for a stack of images of a depth: mean and std are DepthTraits::real, count is
/// u32, the others have the depth of the images.
constexpr Depth stack_depth(StackStatistic statistic, Depth images) {
    if (statistic == StackStatistic::mean || statistic == StackStatistic::std) return traits_of(images).real;
    return statistic == StackStatistic::count ? Depth::u32 : images;
}

/// Rows of one image of a stack.
struct StackLayer {
    ImageView view;                      ///< in host memory; with a mask, if the image has one
    std::int64_t row = 0;                ///< row of the stack at which the view begins; may be negative
    const Validity* validity = nullptr;  ///< further rules for valid samples; null: none. Weights are not used
};

/// Stack of images, or of a band of their rows. All sums are exact: results depend neither on the order of the images
/// nor on threads. NaN and infinite samples are not valid; -0 is +0. A stack has less than 2^32 images.
class PixelStack {
  public:
    struct Shape {
        std::int64_t width = 0, rows = 0;
        int channels = 1;
        Depth depth = Depth::u8;
    };

    /// Makes an empty stack. `images`: most images that are added, if their medians are wanted; else 0. `threads`: at
    /// most this many; 0: available_threads(). Throws InvalidArgument for sides that are not positive.
    explicit PixelStack(const Shape& shape, std::uint64_t images = 0, int threads = 0);
    PixelStack(PixelStack&&) noexcept;
    PixelStack& operator=(PixelStack&&) noexcept;
    ~PixelStack();

    /// Bytes of memory per sample of a pixel.
    static std::uint64_t bytes_per_sample(Depth depth, std::uint64_t images = 0);

    /// Adds rows of images, as far as they lie in the stack. Each layer is an image, or a part of one that has not been
    /// added yet. Throws InvalidArgument for views of another width, depth or number of channels.
    void add(const std::vector<StackLayer>& layers);

    /// Bytes of the sums, from which another process of the same version, on a machine with the same byte order,
    /// continues. Medians are not among them.
    const void* sums() const;
    std::uint64_t sums_bytes() const;
    /// Adds the images of another stack of this shape, by its sums.
    void add_sums(const void* sums);

    /// Writes a statistic as an image of the shape of the stack, whose depth is `stack_depth`. Pixels without a valid
    /// sample become `empty`, rounded to that depth; in floats NaN, in counts 0. A median is the valid sample at the
    /// nearest rank, the lower one of an even number. Throws InvalidArgument for another view, and for medians that
    /// were not asked for.
    void write(StackStatistic statistic, const MutableImageView& to, double empty = 0) const;

    /// Means as doubles, and whether all valid samples of a pixel, two or more, are equal; in the order of the samples.
    void read(double* means, std::uint8_t* constant) const;

    struct Implementation;

  private:
    std::unique_ptr<Implementation> implementation_;
};

/// Pixel that stands out of the image of the means.
struct OddPixel {
    std::int64_t x = 0, y = 0;
    int channel = 0;        ///< place in the pixel
    const char* kind = "";  ///< stuck: it never changes; hot, cold: it is far above or below its neighbors
    double mean = 0;
    double neighbors = 0;  ///< median of the means of its up to eight neighbors; NaN for a stuck pixel without any
    double score = 0;      ///< hot, cold: robust standard score; infinite if the channel has a scale of 0. stuck: 0
};

/// Numbers of odd pixels by kind, over all channels.
struct OddPixels {
    std::uint64_t stuck = 0, hot = 0, cold = 0;
    /// Pixels in order of rows, columns, channels and kinds: of each kind and channel at most those asked for, the
    /// first stuck ones, and the hot and cold ones with the largest scores.
    std::vector<OddPixel> listed;
};

/// Finds odd pixels in the images of means (NaN: no valid sample) and of constant pixels of `PixelStack::read`. A
/// residual is a mean minus the median of the means of its neighbors. A pixel is hot or cold if its residual is more
/// than `sigmas` · 1.4826 · MAD above or below the median of the channel's residuals, where MAD is the median distance
/// from that median. Throws InvalidArgument if `sigmas` is negative.
OddPixels odd_pixels(const std::vector<double>& means, const std::vector<std::uint8_t>& constant, std::int64_t width,
                     std::int64_t height, int channels, double sigmas, std::uint64_t most, int threads = 0);

}  // namespace gpuhist
