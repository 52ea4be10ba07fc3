// f32 images: the sweeps of core/float_analysis.hpp.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/bins.hpp"
#include "cpu/pixel_source.hpp"
#include "cpu/workers.hpp"
#include "gpuhist/analysis.hpp"
#include "gpuhist/image.hpp"
#include "statistics/float_analysis.hpp"

namespace gpuhist::cpu {

/// The two percentiles, in percent, whose order statistics a stretch needs beside the reported ones.
struct Stretch {
    double low, high;
};

class FloatAnalyzer {
  public:
    FloatAnalyzer();
    ~FloatAnalyzer();

    /// Analyses an f32 image; with `stretch` in full, and the order statistics hold its nearest ranks too.
    void analyze(Workers& workers, const ImageView& image, const AnalysisRequest& request,
                 const std::optional<Stretch>& stretch, Analysis& result);

    /// Counts the finite samples of some rows into equal bins: counts[row] has `bins.bins` entries, or is null for a
    /// row that is not wanted. Every such sample must lie in the range.
    void count(Workers& workers, const ImageView& image, const core::FloatBins& bins,
               const std::array<std::uint64_t*, color_rows>& counts);

  private:
    struct Worker;
    struct RowState;

    void find_extremes(Workers& workers, const ImageView& image);
    void plan(const core::RankRequest& request);
    void find_usual_values(const ImageView& image);
    void count_and_sum(Workers& workers, const ImageView& image, Analysis& result);
    void sum_again(Workers& workers, const ImageView& image);
    void finish_ranks(int row, std::vector<OrderStatistic>& result);

    bool is_pooled(int row) const { return rows_ > 1 && row <= blue_row; }

    int rows_ = 0;  ///< 1, 4 or 5
    bool brief_ = false;
    std::vector<Worker> workers_;
    std::array<std::unique_ptr<RowState>, core::float_rows> states_;
};

}  // namespace gpuhist::cpu
