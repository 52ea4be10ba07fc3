// Images whose samples are sorted: a count for each value that occurs.
#pragma once

#include <cstdint>
#include <tuple>
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

    /// Codes, and as many others while they are sorted.
    template <class Code>
    struct Keys {
        std::vector<Code> codes, scratch;
    };
    template <class Code>
    Keys<Code>& keys_of() {
        return std::get<Keys<Code>>(keys_);
    }

    std::tuple<Keys<std::uint32_t>, Keys<std::uint64_t>> keys_;  ///< of 32 bits and fewer, and of f64
};

}  // namespace gpuhist::cpu
