// Rows of luma that the accumulators of an image share, so that each row is turned into luma once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "cpu/measure_rows.hpp"
#include "cpu/workers.hpp"
#include "gpuhist/image.hpp"

namespace gpuhist::cpu {

/// Rows of luma of any depth: LumaRows of the type of its samples.
class AnyLumaRows {
  public:
    virtual ~AnyLumaRows() = default;
    /// Reads the rows of the next strip.
    virtual void read(Workers& workers, const ImageView& strip) = 0;
};

/// Rows of the last strip, and the two rows above it.
template <class Sample>
class LumaRows final : public AnyLumaRows {
  public:
    using Row = MeasureRow<measures::Value<Sample>>;

    void read(Workers& workers, const ImageView& strip) override {
        first_ += static_cast<std::int64_t>(count_);
        const auto count = static_cast<std::size_t>(strip.height);
        if (rows_.size() < count + above) rows_.resize(count + above);
        for (std::size_t i = 0; count_ > 0 && i < above; ++i) std::swap(rows_[i], rows_[count_ + i]);
        count_ = count;
        workers.sweep_rows(strip.height, strip.width, [&](int, std::int64_t begin, std::int64_t end) {
            for (std::int64_t y = begin; y < end; ++y)
                read_row<Sample>(strip, y, RowOf::luma, rows_[static_cast<std::size_t>(y) + above]);
        });
    }

    /// Row of the image.
    const Row& at(std::int64_t y) const { return rows_[static_cast<std::size_t>(y - first_) + above]; }

  private:
    static constexpr std::size_t above = 2;
    std::vector<Row> rows_;
    std::int64_t first_ = 0;  ///< row of the image with which the strip begins
    std::size_t count_ = 0;   ///< rows of the strip
};

/// Rows of an image of a depth.
inline std::unique_ptr<AnyLumaRows> make_luma_rows(Depth depth) {
    return with_depth(depth, [](auto sample) -> std::unique_ptr<AnyLumaRows> {
        return std::make_unique<LumaRows<decltype(sample)>>();
    });
}

}  // namespace gpuhist::cpu
