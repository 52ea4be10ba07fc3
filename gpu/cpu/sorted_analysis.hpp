// Images whose samples are sorted: a count for each value that occurs.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/workers.hpp"
#include "gpuhist/analysis.hpp"
#include "gpuhist/image.hpp"

namespace gpuhist::cpu {

/// Analyzer of images whose samples are sorted: those of Counting::sorted, and of 8 and 16 bits where that is asked.
/// Owns its workspace and reuses it.
class SortedAnalyzer {
  public:
    void analyze(Workers& workers, const ImageView& image, const AnalysisRequest& request, Analysis& result);

  private:
    template <class Sample, class Source>
    void run(Workers& workers, const Source& source, const AnalysisRequest& request, Analysis& result);

    std::vector<std::uint32_t> words_;  ///< codes of 32 bits and fewer
    std::vector<std::uint32_t> scratch_;
    std::vector<std::uint64_t> longs_;  ///< codes of f64
};

}  // namespace gpuhist::cpu
