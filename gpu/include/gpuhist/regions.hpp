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

/// Region: all pixels of a label, and the findings in them.
struct Region {
    std::uint64_t label = 0;
    std::int64_t x = 0, y = 0, width = 0, height = 0;  ///< smallest box that holds all pixels of the region
    std::uint64_t area = 0;                            ///< number of pixels, valid or not
    double centroid_x = 0, centroid_y = 0;             ///< mean coordinates of these pixels
    /// Findings in the pixels, bit for bit those of an image with only these pixels. Regions of 8 and 16 bits have
    /// `ChannelAnalysis::values` in place of counts, because most regions have fewer pixels than the type has values.
    Analysis analysis;
    std::vector<FrequencyTable> values;  ///< f32, with RegionOptions::count_values: the tables of `count_frequencies`
};

/// Options of `analyze_regions`.
struct RegionOptions {
    bool label_zero = false;  ///< whether the pixels of label 0 are a region; else they are outside of all regions
    int threads = 0;          ///< number of threads; 0: as many as the process may run on
    std::uint64_t memory = std::uint64_t{1} << 29;  ///< bytes for copies of pixels; less memory means more passes
    /// f32: the meaning of the samples whose frequencies are counted too. A Summary of regions needs them.
    std::optional<Samples> count_values{};
};

/// Analyzes the regions of an image. Passes them to `take` on the calling thread, in ascending order of their labels,
/// up to 1,024 at a time; `take` may move them away. Returns after the last call.
///
/// `labels` has one channel of u8, u16, u32, or s32 without negative values, and the size of the image. Both are in
/// host memory. Masks and Validity apply as in an image. The CPU measures regions, whichever engine analyzes images,
/// because the GPU lacks sum, mode, std_sample, skewness, kurtosis, entropy, unique, clipping, effective_bits,
/// centroids and the counts that sets of regions need. Throws InvalidArgument for views that break their rules or do
/// not fit together, and the exceptions of `take`.
void analyze_regions(const ImageView& image, const ImageView& labels, const AnalysisRequest& request,
                     const std::function<void(std::vector<Region>&)>& take, const RegionOptions& options = {});

/// Finds the sums from which the weighted centroids of a rectangle follow: ChannelAnalysis::centroid_sums of an
/// analysis of this view by this request, whose channels have no other names yet. The first pixel of the view is at (x,
/// y). Throws InvalidArgument for views that are not in host memory or break their rules.
void find_centroids(const ImageView& rectangle, std::int64_t x, std::int64_t y, const AnalysisRequest& request,
                    Analysis& analysis, int threads = 1);

/// Returns all regions of an image, in ascending order of their labels. Otherwise as above.
std::vector<Region> analyze_regions(const ImageView& image, const ImageView& labels,
                                    const AnalysisRequest& request = {}, const RegionOptions& options = {});

}  // namespace gpuhist
