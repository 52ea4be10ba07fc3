// f32 images: the sweeps of statistics/float_analysis.hpp.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/bins.hpp"
#include "cpu/planes.hpp"
#include "cpu/workers.hpp"
#include "gpuhist/analysis.hpp"
#include "gpuhist/image.hpp"
#include "statistics/float_analysis.hpp"

namespace gpuhist::cpu {

/// Percentiles, in percent, whose nearest ranks a stretch needs beside the reported ones.
struct Stretch {
    double low, high;
};

/// Analyser of f32 images. Owns its workspace and reuses it.
class FloatAnalyzer {
  public:
    FloatAnalyzer();
    ~FloatAnalyzer();

    /// Analyses an f32 image; with `stretch` in full, and the order statistics hold its nearest ranks too.
    void analyze(Workers& workers, const ImageView& image, const AnalysisRequest& request,
                 const std::optional<Stretch>& stretch, Analysis& result);

    /// Counts the finite samples of some rows, those that an analysis by the request sees, into equal bins: counts[row]
    /// has `bins.bins` entries, or is null for a row that is not wanted. Every such sample must lie in the range.
    void count(Workers& workers, const ImageView& image, const AnalysisRequest& request, const core::FloatBins& bins,
               const std::array<std::uint64_t*, color_rows>& counts);

  private:
    struct Worker;
    struct RowState;

    template <class Source>
    void run(Workers& workers, const Source& source, const AnalysisRequest& request,
             const std::optional<Stretch>& stretch, Analysis& result);
    template <class Source>
    void count_into(Workers& workers, const Source& source, const core::FloatBins& bins,
                    const std::array<std::uint64_t*, color_rows>& counts);
    template <class Source>
    void find_extremes(Workers& workers, const Source& source);
    void prepare_full();
    template <class Source>
    void plan_ranks(const Source& source, const core::RankRequest& request);
    template <class Source>
    void find_usual_values(const Source& source);
    template <class Source>
    void count_and_sum(Workers& workers, const Source& source, Analysis& result);
    template <class Source>
    void sum_again(Workers& workers, const Source& source);
    template <class Source>
    void keep_again(Workers& workers, const Source& source);
    void finish_ranks(int row, std::vector<OrderStatistic>& result);
    void finish_ranks(Analysis& result);

    bool is_pooled(int row) const { return rows_ > 1 && row <= blue_row; }

    int rows_ = 0;  ///< 1, 4 or 5
    bool brief_ = false;
    std::uint64_t pixels_ = 0;  ///< of the image, that count
    std::vector<Worker> workers_;
    std::array<std::unique_ptr<RowState>, core::float_rows> states_;
};

}  // namespace gpuhist::cpu
