// Weights: samples that count as often as the alpha of their pixel says.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/validity.hpp"
#include "cpu/workers.hpp"
#include "gpuhist/analysis.hpp"
#include "gpuhist/image.hpp"
#include "gpuhist/request.hpp"

namespace gpuhist::cpu {

/// Verdict on rules, or a request's: whether alpha is the weight.
inline bool weighs(const Validity* validity) {
    return validity && validity->alpha == AlphaRule::weight;
}
inline bool weighs(const AnalysisRequest& request) {
    return weighs(request.validity.get());
}

/// Throws InvalidArgument, naming the depth, for an image that is not weighted: of other than integers of 8 or 16 bits,
/// of alpha with a sign; and for a weight of opaque pixels that is none.
void validate_weights(const ImageView& image, const Validity& validity);

/// Weight of samples of an image without alpha.
inline std::uint32_t weight_of_opaque(Depth depth, const Validity& validity) {
    return validity.opaque ? validity.opaque : static_cast<std::uint32_t>(traits_of(depth).highest);
}

/// Makes all samples of an analysis by count, of an image without alpha, weigh the same.
void weigh(Analysis& analysis, std::uint64_t weight);

/// Analyser of images with alpha, which has no row. Owns its memory and reuses it.
class WeightedAnalyzer {
  public:
    /// Analyses an image of 8 or 16 bits without sign, gray or colors with alpha, by rules under which pixels of alpha
    /// 0 are masked.
    void analyze(Workers& workers, const ImageView& image, const ImageRules& rules, const AnalysisRequest& request,
                 Analysis& result);

  private:
    template <class Sample>
    void count(Workers& workers, const ImageView& image, const ImageRules& rules, std::size_t rows);
    template <class Sample>
    void gather(const ImageView& image, bool sparse, Analysis& result);

    /// A worker's sums, a table a row, zero where nothing is counted between analyses, and where they are not zero.
    struct Sums {
        std::vector<std::uint64_t> weights;
        std::vector<std::uint32_t> lowest, highest;
        ClassCounts classes;
    };
    std::vector<Sums> workers_;
    std::vector<std::uint64_t> together_;
};

}  // namespace gpuhist::cpu
