// Weights: each sample is counted as often as the alpha of its pixel says.
#pragma once

#include <cstdint>
#include <vector>

#include "core/codes.hpp"
#include "cpu/workers.hpp"
#include "gpuhist/analysis.hpp"
#include "gpuhist/image.hpp"
#include "gpuhist/request.hpp"
#include "rules/classes.hpp"
#include "rules/rules.hpp"

namespace gpuhist::cpu {

/// Analyzer of images with alpha, which is not measured. Owns its memory and reuses it.
class WeightedAnalyzer {
  public:
    /// Analyses an image of a depth whose alpha is a weight, gray or colors with alpha, by rules under which pixels
    /// that weigh nothing are masked. `sparse`: the result has values that occur in place of counts.
    void analyze(Workers& workers, const ImageView& image, const rules::ImageRules& rules,
                 const AnalysisRequest& request, bool sparse, Analysis& result);

  private:
    template <class Sample>
    void count(Workers& workers, const ImageView& image, const rules::ImageRules& rules, std::size_t channels);
    template <class Sample>
    void gather(const ImageView& image, bool sparse, Analysis& result);

    /// Non-finite samples of a channel, and the weights of infinite ones.
    struct NotFinite {
        std::uint64_t nan = 0, infinite = 0, below = 0, above = 0;

        template <class Sample>
        void add(std::uint32_t code, std::uint64_t weight) {
            const bool minus = code == core::minus_infinity_code<Sample>,
                       plus = code == core::plus_infinity_code<Sample>;
            ++(minus || plus ? infinite : nan);
            below += minus ? weight : 0;
            above += plus ? weight : 0;
        }
        void add_to(ChannelAnalysis& channel) const {
            channel.nan += nan;
            channel.infinite += infinite;
            channel.below += below;
            channel.above += above;
        }
    };

    /// A worker's sums, one table per channel, zero where nothing is counted between analyses, and where they are not
    /// zero.
    struct Sums {
        std::vector<std::uint64_t> weights;
        std::vector<std::uint32_t> lowest, highest;
        std::vector<NotFinite> not_finite;
        rules::ClassCounts classes;
    };
    std::vector<Sums> workers_;
    std::vector<std::uint64_t> together_;
};

}  // namespace gpuhist::cpu
