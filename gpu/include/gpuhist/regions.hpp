/// Regions of an image: the pixels of each label of a label image.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "gpuhist/analysis.hpp"
#include "gpuhist/image.hpp"
#include "gpuhist/request.hpp"

namespace gpuhist {

/// Region: all pixels of a label, and what was found in them.
struct Region {
    std::uint64_t label = 0;
    std::int64_t x = 0, y = 0, width = 0, height = 0;  ///< the smallest box that holds all of its pixels
    std::uint64_t area = 0;                            ///< pixels, valid or not
    /// Findings in its pixels as in an image of their own: the same numbers, bit for bit. Of 8 and 16 bits it has
    /// `ChannelAnalysis::values` in place of counts, since most regions have fewer pixels than the type has values.
    Analysis analysis;
    std::vector<FrequencyTable> values;  ///< f32, where RegionOptions ask for them: as `count_frequencies` gives them
};

/// Options of `analyze_regions`.
struct RegionOptions {
    bool label_zero = false;                        ///< pixels of label 0 are a region too, not outside of all
    int threads = 0;                                ///< 0: as many as the process may run on
    std::uint64_t memory = std::uint64_t{1} << 29;  ///< bytes for copies of pixels: with less there are more passes
    /// f32: frequencies are counted too, of samples of this meaning, as a Summary of regions needs them.
    std::optional<Samples> count_values{};
};

/// Analyzes the regions of an image, and hands them to `take` in ascending order of the labels, up to 1,024 at a time,
/// on the calling thread; it may move them away. `labels` is one channel of u8, u16 or u32, or of s32 that is not
/// negative, as large as the image; both in host memory. Masks and Validity hold as for an image. Regions are measured
/// on the CPU, whichever engine analyses images, because the GPU lacks std_sample, skewness, kurtosis, entropy, unique,
/// clipping, effective_bits and the counts that sets of regions need. Throws InvalidArgument for views that break their
/// rules or do not go together, and what `take` throws.
void analyze_regions(const ImageView& image, const ImageView& labels, const AnalysisRequest& request,
                     const std::function<void(std::vector<Region>&)>& take, const RegionOptions& options = {});

/// Regions of an image, all of them.
std::vector<Region> analyze_regions(const ImageView& image, const ImageView& labels,
                                    const AnalysisRequest& request = {}, const RegionOptions& options = {});

}  // namespace gpuhist
