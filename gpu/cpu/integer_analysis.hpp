// 8- and 16-bit images: one count per value, and the brightness sums.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/simd/avx512.hpp"
#include "cpu/workers.hpp"
#include "gpuhist/analysis.hpp"
#include "gpuhist/image.hpp"

namespace gpuhist::cpu {

/// Lays out `result` for an image: depth, rows, their pixels, `bins` zeros each; every other field as new. Storage is
/// reused.
void reset(Analysis& result, const ImageView& image, bool luma, std::size_t bins);

class IntegerAnalyzer {
  public:
    /// Counts a u8 or u16 image, a luma row beside three colours where `luma`.
    void analyze(Workers& workers, const ImageView& image, bool luma, Analysis& result);

    /// Brightness within a round of pixels; a cache line of its own for each worker.
    struct alignas(64) Sums {
        std::uint64_t sum = 0, squares = 0;
        std::uint32_t minimum = ~0u, maximum = 0;
    };

  private:
    template <class Sample>
    void run(Workers& workers, const ImageView& image, bool luma, Analysis& result);

    std::vector<std::uint32_t> tables_;  ///< a worker's after another's; all zero between calls
    std::vector<Sums> sums_;
    std::vector<avx512::Scratch> scratch_;
};

}  // namespace gpuhist::cpu
