// Weights: each sample is counted as often as the alpha of its pixel says.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/workers.hpp"
#include "gpuhist/analysis.hpp"
#include "gpuhist/image.hpp"
#include "gpuhist/request.hpp"
#include "rules/classes.hpp"
#include "rules/rules.hpp"

namespace gpuhist::cpu {

/// Analyzer of images with alpha, which has no row. Owns its memory and reuses it.
class WeightedAnalyzer {
  public:
    /// Analyses an image of 8 or 16 bits without sign, gray or colors with alpha, by rules under which pixels of alpha
    /// 0 are masked. `sparse`: the result has values that occur in place of counts.
    void analyze(Workers& workers, const ImageView& image, const rules::ImageRules& rules,
                 const AnalysisRequest& request, bool sparse, Analysis& result);

  private:
    template <class Sample>
    void count(Workers& workers, const ImageView& image, const rules::ImageRules& rules, std::size_t rows);
    template <class Sample>
    void gather(const ImageView& image, bool sparse, Analysis& result);

    /// A worker's sums, one table per row, zero where nothing is counted between analyses, and where they are not zero.
    struct Sums {
        std::vector<std::uint64_t> weights;
        std::vector<std::uint32_t> lowest, highest;
        rules::ClassCounts classes;
    };
    std::vector<Sums> workers_;
    std::vector<std::uint64_t> together_;
};

}  // namespace gpuhist::cpu
