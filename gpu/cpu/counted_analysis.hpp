// Images whose values are counted one by one, those of 8 and 16 bits: a count per value, and the brightness sums.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/simd/avx512.hpp"
#include "cpu/workers.hpp"
#include "gpuhist/analysis.hpp"
#include "gpuhist/image.hpp"

namespace gpuhist::cpu {

/// Analyser of images whose values are counted one by one. Owns its workspace and reuses it.
class CountedAnalyzer {
  public:
    /// Counts an image as a request wants it.
    void analyze(Workers& workers, const ImageView& image, const AnalysisRequest& request, Analysis& result);

    /// Sums within a round of pixels; a cache line of its own for each worker.
    struct alignas(64) Sums {
        std::uint64_t pixels = 0;  ///< that count
        std::uint64_t sum = 0, squares = 0;
        std::uint32_t minimum = ~0u, maximum = 0;
    };

  private:
    template <class Sample, class Source>
    void run(Workers& workers, const Source& source, const AnalysisRequest& request, Analysis& result);

    std::vector<std::uint32_t> tables_;  ///< a worker's after another's; all zero between calls
    std::vector<Sums> sums_;
    std::vector<avx512::Scratch> scratch_;
};

}  // namespace gpuhist::cpu
