// Images whose values are counted one by one, those of 8 and 16 bits: a count per value, and the brightness sums.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/integers.hpp"
#include "cpu/simd/avx512.hpp"
#include "cpu/workers.hpp"
#include "gpuhist/analysis.hpp"
#include "gpuhist/image.hpp"

namespace gpuhist::cpu {

/// Analyzer of images whose values are counted one by one. Owns its workspace and reuses it.
class CountedAnalyzer {
  public:
    /// Counts an image as a request wants it.
    void analyze(Workers& workers, const ImageView& image, const AnalysisRequest& request, Analysis& result);

    /// Analysis of an image in strips, in one pass: begins it, takes rows, and completes the result. An analysis that
    /// is not completed leaves counts behind; then do not use the analyzer again.
    void begin(const ImageView& image, const AnalysisRequest& request, Analysis& result);
    void take(Workers& workers, const ImageView& strip);
    /// Returns that there is no other pass.
    bool end_pass();

    /// Interleaved channels, then luma.
    static constexpr int luma_table = 4, max_tables = 5;

    /// Sums within a round of pixels; a cache line of its own for each worker.
    struct alignas(64) Sums {
        std::uint64_t pixels = 0;  ///< unmasked
        std::uint64_t sum = 0, squares = 0;
        std::uint32_t minimum = ~0u, maximum = 0;
    };

  private:
    template <class Sample, class Source>
    void count(Workers& workers, const Source& source);
    template <class Code>
    void gather();
    void add(const Sums& sums);

    Analysis* result_ = nullptr;
    bool luma_ = false;
    /// Counts to which each table goes; null for those that are not counted.
    std::array<std::uint64_t*, max_tables> totals_{};
    std::uint64_t rows_pixels_ = 0, pixels_ = 0;  ///< that came, and the unmasked of them
    core::u128 squares_ = 0;
    Brightness brightness_;
    std::int64_t round_ = 0;  ///< pixels that came since counters were gathered

    std::vector<std::uint32_t> tables_;  ///< a worker's after another's; all zero between images
    std::vector<Sums> sums_;
    std::vector<avx512::Scratch> scratch_;
};

}  // namespace gpuhist::cpu
