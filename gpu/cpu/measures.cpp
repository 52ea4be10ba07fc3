#include "cpu/measures.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cpu/brightness.hpp"
#include "cpu/colors.hpp"
#include "cpu/exposure.hpp"
#include "cpu/hashes.hpp"
#include "cpu/neighborhoods.hpp"

namespace gpuhist::cpu {
namespace {

/// Accumulators, each with the measures that it finds.
struct Maker {
    Measures finds;
    std::unique_ptr<StripAnalysis> (*make)(Workers&, const Measures&, const ImageView&, Analysis&);
};

const Maker makers[] = {
    {measures_of_neighborhoods(), neighborhood_strips},     {measures_of_colors(), color_strips},
    {Measures::of(Measure::brightness), brightness_strips}, {Measures::of(Measure::exposure), exposure_strips},
    {Measures::of(Measure::hashes), make_hashes},
};

/// Bytes per thread that all accumulators read before the next ones: they stay in the second cache.
constexpr std::int64_t bytes_together = 1 << 18;

/// Accumulators of one image.
class MeasureStrips final : public StripAnalysis {
  public:
    MeasureStrips(Workers& workers, const Measures& measures, const ImageView& image, Analysis& result)
        : threads_(workers.threads()), result_(result) {
        for (const Maker& maker : makers)
            if (measures.intersects(maker.finds)) running_.push_back(maker.make(workers, measures, image, result));
    }

    void take(const ImageView& strip) override {
        const std::int64_t row_bytes = std::max<std::int64_t>(1, strip.packed_row_bytes()),
                           rows = std::max<std::int64_t>(16, bytes_together * threads_ / row_bytes);
        for (const auto& one : running_)
            if (auto* const ahead = dynamic_cast<LooksAhead*>(one.get())) ahead->look_ahead(strip);
        for (std::int64_t y = 0; y < strip.height; y += rows) {
            ImageView part = strip;
            part.height = std::min(rows, strip.height - y);
            part.data = static_cast<const std::byte*>(strip.data) + y * strip.row_bytes;
            if (strip.mask) part.mask = strip.mask + y * strip.mask_row_bytes;
            for (const auto& one : running_) one->take(part);
        }
    }
    bool end_pass() override {
        running_.erase(
            std::remove_if(running_.begin(), running_.end(), [](const auto& one) { return !one->end_pass(); }),
            running_.end());
        if (!running_.empty()) return true;
        std::sort(result_.measured.begin(), result_.measured.end(),
                  [](const Measured& a, const Measured& b) { return a.measure < b.measure; });
        return false;
    }

  private:
    int threads_;
    Analysis& result_;
    std::vector<std::unique_ptr<StripAnalysis>> running_;
};

}  // namespace

std::unique_ptr<StripAnalysis> measure_strips(Workers& workers, const Measures& measures, const ImageView& image,
                                              Analysis& result) {
    result = {};
    return std::make_unique<MeasureStrips>(workers, measures, image, result);
}

}  // namespace gpuhist::cpu
