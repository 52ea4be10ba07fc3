#include "cpu/exposure.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu/measure_rows.hpp"
#include "measures/exposure.hpp"

namespace gpuhist::cpu {
namespace {

class ExposureStrips final : public StripAnalysis {
  public:
    explicit ExposureStrips(const MeasuredImage& of)
        : workers_(of.workers),
          white_(of.measures.white()),
          luma_(of.luma),
          counts_(traits_of(of.image.depth).counting == Counting::bins ? static_cast<std::size_t>(of.workers.threads())
                                                                       : 0),
          result_(of.result) {}

    void take(const ImageView& strip) override {
        if (counts_.empty()) return;
        const auto& luma = static_cast<const LumaRows<float>&>(*luma_);
        workers_.sweep_rows(strip.height, strip.width, [&](int worker, std::int64_t first, std::int64_t last) {
            Counts& counts = counts_[static_cast<std::size_t>(worker)];
            for (std::int64_t y = first; y < last; ++y) {
                const MeasureRow<double>& row = luma.at(known_ + y);
                for (std::size_t x = 1; x <= static_cast<std::size_t>(strip.width); ++x) {
                    if (!row.valid[x]) continue;
                    ++counts.pixels;
                    counts.dark += measures::Exposure::is_dark(row.luma[x], white_);
                    counts.bright += measures::Exposure::is_bright(row.luma[x], white_);
                }
            }
        });
        known_ += strip.height;
    }

    bool end_pass() override {
        Measured found{Measure::exposure, 0, {}};
        for (const Counts& counts : counts_) {
            found.pixels += counts.pixels;
            found.sums.resize(2);
            found.sums[0].low += counts.dark;
            found.sums[1].low += counts.bright;
        }
        result_.measured.push_back(std::move(found));
        return false;
    }

  private:
    struct Counts {
        std::uint64_t pixels = 0, dark = 0, bright = 0;
    };
    Workers& workers_;
    const double white_;
    const AnyLumaRows* const luma_;
    std::vector<Counts> counts_;  ///< of each worker; none of types that are not f32
    Analysis& result_;
    std::int64_t known_ = 0;  ///< rows that have come
};

}  // namespace

std::unique_ptr<StripAnalysis> exposure_strips(const MeasuredImage& image) {
    return std::make_unique<ExposureStrips>(image);
}

}  // namespace gpuhist::cpu
