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
#include "plan/plan.hpp"
#include "statistics/float_analysis.hpp"

namespace gpuhist::cpu {

/// Analyzer of f32 images. Owns its workspace and reuses it.
class FloatAnalyzer {
  public:
    FloatAnalyzer();
    ~FloatAnalyzer();

    /// Analyzes an f32 image; with `stretch` in full, and the order statistics hold its nearest ranks too.
    void analyze(Workers& workers, const ImageView& image, const AnalysisRequest& request,
                 const std::optional<plan::Stretch>& stretch, Analysis& result);

    /// Analysis of an image in strips, once per sweep: begins it, and takes the rows of a pass. An analysis that is not
    /// finished leaves counts behind; then do not use the analyzer again.
    void begin(const ImageView& image, const AnalysisRequest& request, Analysis& result,
               const std::optional<plan::Stretch>& stretch = std::nullopt);
    void take(Workers& workers, const ImageView& strip);
    /// Ends a pass. Returns whether there is another one; else the result is complete.
    bool end_pass();

    /// Counts the finite samples of some channels into equal bins: counts[c] has `bins.bins` entries, or is null for a
    /// channel that is not wanted. All these samples must be in the range.
    void count(Workers& workers, const ImageView& image, const core::FloatBins& bins,
               const std::array<std::uint64_t*, plane_count>& counts);

  private:
    struct Worker;
    struct ChannelState;
    /// Sweep to which the pixels are passed.
    enum class Sweep : std::uint8_t { extremes, bins, moments, ranks };

    template <class Source>
    void find_extremes(Workers& workers, const Source& source);
    template <class Source>
    void keep_voters(const Source& source);
    void end_extremes();
    void prepare_full();
    void plan_ranks(const core::RankRequest& request);
    void find_usual_values();
    bool begin_bins();
    template <class Finish>
    void gather_bins(int used, const Finish& finish);
    template <class Source>
    void count_and_sum(Workers& workers, const Source& source);
    void end_bins();
    bool begin_moments();
    template <class Source, class Look>
    void look_again(Workers& workers, const Source& source, const Look& look);
    template <class Source>
    void sum_again(Workers& workers, const Source& source);
    void end_moments();
    template <class Source>
    void keep_again(Workers& workers, const Source& source);
    void finish_ranks();
    void finish();

    bool is_pooled(int channel) const { return channels_ > 1 && channel <= blue_channel; }

    ImageView image_;  ///< without pixels
    AnalysisRequest request_;
    std::optional<plan::Stretch> stretch_;
    Analysis* result_ = nullptr;
    Sweep sweep_ = Sweep::extremes;
    int group_ = 0;          ///< of ranks
    std::int64_t came_ = 0;  ///< pixels that came in the first sweep
    int channels_ = 0;       ///< 1, 4 or 5
    bool brief_ = false;
    std::uint64_t pixels_ = 0;   ///< of the image, unmasked
    std::vector<float> voters_;  ///< samples from all over the image
    struct Plan;
    std::unique_ptr<Plan> plan_;  ///< of the sweeps after the first
    std::vector<Worker> workers_;
    std::array<std::unique_ptr<ChannelState>, core::float_channels> states_;
};

}  // namespace gpuhist::cpu
