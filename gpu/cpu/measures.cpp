#include "cpu/measures.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <vector>

#include "core/channels.hpp"
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
    bool (*reads_luma)(const ImageView&);
    std::unique_ptr<StripAnalysis> (*make)(const MeasuredImage&);
};

bool never(const ImageView&) {
    return false;
}
bool if_present(const ImageView& image) {
    return core::colors_of(image) > 0;
}
bool if_binned(const ImageView& image) {
    return traits_of(image.depth).counting == Counting::bins;
}

const Maker makers[] = {
    {measures_of_neighborhoods(), if_present, neighborhood_strips},
    {measures_of_colors(), never, color_strips},
    {Measures::of(Measure::brightness), never, brightness_strips},
    {Measures::of(Measure::exposure), if_binned, exposure_strips},
    {Measures::of(Measure::hashes), if_present, make_hashes},
};

/// Bytes per thread that all accumulators read before the next ones: they stay in the second cache.
constexpr std::int64_t bytes_together = 1 << 18;

/// Accumulators of one image.
class MeasureStrips final : public StripAnalysis {
  public:
    MeasureStrips(Workers& workers, const Measures& measures, const ImageView& image, Analysis& result)
        : workers_(workers), result_(result), ignores_mask_(Measures::of(Measure::hashes).contain(measures)) {
        const auto asked = [&](const Maker& maker) { return measures.intersects(maker.finds); };
        if (std::any_of(std::begin(makers), std::end(makers),
                        [&](const Maker& maker) { return asked(maker) && maker.reads_luma(image); }))
            luma_ = make_luma_rows(image.depth);
        for (const Maker& maker : makers)
            if (asked(maker)) running_.push_back(maker.make({workers, measures, image, luma_.get(), result}));
    }

    void take(const ImageView& strip) override {
        const std::int64_t row_bytes = std::max<std::int64_t>(1, strip.packed_row_bytes()),
                           rows = std::max<std::int64_t>(2 * workers_.threads(),
                                                         bytes_together * workers_.threads() / row_bytes);
        for (const auto& one : running_)
            if (auto* const ahead = dynamic_cast<LooksAhead*>(one.get())) ahead->look_ahead(strip);
        for (std::int64_t y = 0; y < strip.height; y += rows) {
            ImageView part = strip;
            part.height = std::min(rows, strip.height - y);
            part.data = static_cast<const std::byte*>(strip.data) + y * strip.row_bytes;
            if (strip.mask) part.mask = strip.mask + y * strip.mask_row_bytes;
            if (luma_) read_luma(part);
            for (const auto& one : running_) one->take(part);
        }
    }
    bool end_pass() override {
        running_.erase(
            std::remove_if(running_.begin(), running_.end(), [](const auto& one) { return !one->end_pass(); }),
            running_.end());
        luma_.reset();  // accumulators that read it have one pass
        if (!running_.empty()) return true;
        std::sort(result_.measured.begin(), result_.measured.end(),
                  [](const Measured& a, const Measured& b) { return a.measure < b.measure; });
        return false;
    }

  private:
    void read_luma(ImageView part) {
        if (ignores_mask_) part.mask = nullptr;
        luma_->read(workers_, part);
    }

    Workers& workers_;
    Analysis& result_;
    const bool ignores_mask_;
    std::unique_ptr<AnyLumaRows> luma_;
    std::vector<std::unique_ptr<StripAnalysis>> running_;
};

}  // namespace

std::unique_ptr<StripAnalysis> measure_strips(Workers& workers, const Measures& measures, const ImageView& image,
                                              Analysis& result) {
    result = {};
    return std::make_unique<MeasureStrips>(workers, measures, image, result);
}

}  // namespace gpuhist::cpu
