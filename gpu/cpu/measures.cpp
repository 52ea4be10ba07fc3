#include "cpu/measures.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/channels.hpp"
#include "core/codes.hpp"
#include "core/exact_sum.hpp"
#include "core/integers.hpp"
#include "core/luma.hpp"
#include "measures/list.hpp"

namespace gpuhist::cpu {
namespace {

bool look_at_colors(const Measures& asked) {
    bool any = false;
    measures::All::for_each(
        [&](auto measure) { any = any || (asked.has(measure.measure) && measure.reach == measures::Reach::colors); });
    return any;
}

template <class Sample>
class MeasureStrips final : public StripAnalysis {
  public:
    MeasureStrips(Workers& workers, const Measures& measures, const ImageView& image, Analysis& result)
        : workers_(workers),
          measures_(measures),
          width_(image.width),
          height_(image.height),
          has_colors_(core::colors_of(image) == 3 && image.samples != Samples::gray_alpha),
          reads_colors_(has_colors_ && look_at_colors(measures)),
          result_(result),
          totals_(static_cast<std::size_t>(workers.threads())) {}

    void take(const ImageView& strip) override;
    bool end_pass() override;

  private:
    using Value = measures::Value<Sample>;
    using Term = measures::Term<Value>;
    static constexpr bool real = std::is_same_v<Value, double>;
    using Sum = std::conditional_t<real, core::ExactSum, core::i128>;

    /// Pixels whose terms are added up in the terms' own type: 2^37 each of values of 16 bits.
    static constexpr std::int64_t together = std::int64_t{1} << 20;

    /// Row of an image as values, with the border reflected: a pixel more at each end.
    struct Row {
        std::vector<Value> luma;
        std::vector<Value> colors[3];  ///< where a measure looks at them
        std::vector<std::uint8_t> valid;
        bool all_valid = true;
    };
    struct Total {
        std::uint64_t pixels = 0;
        std::vector<Sum> sums{};
    };
    /// Totals of each measure of the list.
    using Totals = std::array<Total, measures::All::size>;

    void load(const ImageView& strip, std::int64_t y, Row& row) const;
    void load_from(const ImageView& strip, std::int64_t y, Row& row) const;
    void add_row(std::int64_t y, const Row (&rows)[3], std::vector<std::uint8_t>& valid, Totals& totals) const;
    template <class Which>
    void add_terms(const measures::Pixel<Value>& row, const std::uint8_t* valid, std::int64_t begin, std::int64_t end,
                   Total& total) const;

    Workers& workers_;
    const Measures measures_;
    const std::int64_t width_, height_;
    const bool has_colors_, reads_colors_;
    Analysis& result_;
    std::vector<Totals> totals_;  ///< of each worker
    std::int64_t known_ = 0;      ///< rows that have come
    std::int64_t done_ = 0;       ///< rows whose pixels have been measured
    Row kept_[2];                 ///< the last rows that have come: known_ - 2 and known_ - 1
};

/// Row of a strip, by its number in the strip.
template <class Sample>
void MeasureStrips<Sample>::load_from(const ImageView& strip, std::int64_t y, Row& row) const {
    const auto size = static_cast<std::size_t>(width_ + 2);
    const bool one_row = strip.height == 1;
    const auto* const pixels = reinterpret_cast<const Sample*>(static_cast<const std::byte*>(strip.data) +
                                                               (one_row ? 0 : y * strip.row_bytes));
    const std::uint8_t* const mask = strip.mask ? strip.mask + (one_row ? 0 : y * strip.mask_row_bytes) : nullptr;
    row.valid.assign(size, 1);
    std::uint8_t* const valid = row.valid.data() + 1;
    if (mask)
        for (std::int64_t x = 0; x < width_; ++x) valid[x] = mask[x] != 0;
    const auto read = [&](std::vector<Value>& values, const auto& code_of) {
        values.resize(size);
        const Sample* pixel = pixels;
        for (std::int64_t x = 0; x < width_; ++x, pixel += strip.channels) {
            const core::Code<Sample> code = code_of(pixel);
            if constexpr (core::is_real<Sample>)
                valid[x] &= code > core::minus_infinity_code<Sample> && code < core::plus_infinity_code<Sample>;
            values[static_cast<std::size_t>(x + 1)] = valid[x] ? measures::value_of<Sample>(code) : Value{};
        }
        values.front() = values[std::min<std::size_t>(2, size - 2)];
        values.back() = values[std::max<std::size_t>(3, size) - 3];
    };
    if (has_colors_) {
        const core::Positions at(strip.order);
        const int places[] = {at.red, at.green, at.blue};
        if (reads_colors_)
            for (int c = 0; c < 3; ++c)
                read(row.colors[c], [&](const Sample* pixel) { return core::code_of(pixel[places[c]]); });
        read(row.luma, [&](const Sample* pixel) {
            return core::luma_code<Sample>(core::code_of(pixel[at.red]), core::code_of(pixel[at.green]),
                                           core::code_of(pixel[at.blue]));
        });
    } else {
        read(row.luma, [&](const Sample* pixel) { return core::code_of(pixel[0]); });
    }
    row.valid.front() = row.valid[std::min<std::size_t>(2, size - 2)];
    row.valid.back() = row.valid[std::max<std::size_t>(3, size) - 3];
    row.all_valid = std::all_of(row.valid.begin(), row.valid.end(), [](std::uint8_t one) { return one != 0; });
}

/// Row of the image, which is in the strip or kept; those beyond the border are reflected.
template <class Sample>
void MeasureStrips<Sample>::load(const ImageView& strip, std::int64_t y, Row& row) const {
    if (y < 0) y = std::min<std::int64_t>(1, height_ - 1);
    if (y >= height_) y = std::max<std::int64_t>(0, height_ - 2);
    if (y < known_)
        row = kept_[y - (known_ - 2)];
    else
        load_from(strip, y - known_, row);
}

/// Adds the terms of a measure at the pixels of a row from `begin` up to `end`. `valid` null: all are.
template <class Sample>
template <class Which>
void MeasureStrips<Sample>::add_terms(const measures::Pixel<Value>& row, const std::uint8_t* valid, std::int64_t begin,
                                      std::int64_t end, Total& total) const {
    constexpr int sums = Which::sums;
    total.sums.resize(sums);
    for (std::int64_t first = begin; first < end; first += together) {
        const std::int64_t last = std::min(end, first + together);
        Term part[sums]{};
        std::uint64_t pixels = 0;
        const auto add = [&](std::int64_t x) {
            measures::Pixel<Value> at = row;
            at.x = x;
            if constexpr (real) {
                std::pair<int, double> terms[measures::most_terms];
                int count = 0;
                bool finite = true;
                Which::terms(at, [&](int sum, double term) {
                    terms[count++] = {sum, term};
                    finite = finite && std::isfinite(term);
                });
                if (!finite) return;
                for (int i = 0; i < count; ++i)
                    total.sums[static_cast<std::size_t>(terms[i].first)].add(terms[i].second, 1);
            } else {
                Which::terms(at, [&](int sum, Term term) { part[sum] += term; });
            }
            ++pixels;
        };
        if (valid) {
            for (std::int64_t x = first; x < last; ++x)
                if (valid[x]) add(x);
        } else {
            for (std::int64_t x = first; x < last; ++x) add(x);
        }
        total.pixels += pixels;
        if constexpr (!real)
            for (int i = 0; i < sums; ++i) total.sums[static_cast<std::size_t>(i)] += part[i];
    }
}

/// Adds the terms of row y, from itself and the rows above and below it.
template <class Sample>
void MeasureStrips<Sample>::add_row(std::int64_t y, const Row (&rows)[3], std::vector<std::uint8_t>& valid,
                                    Totals& totals) const {
    const auto at = [&](std::int64_t row) -> const Row& { return rows[(row + 3) % 3]; };
    const Row &above = at(y - 1), &own = at(y), &below = at(y + 1);
    const bool all_valid = above.all_valid && own.all_valid && below.all_valid;
    if (!all_valid) {
        valid.resize(static_cast<std::size_t>(width_ + 2));
        for (std::size_t x = 0; x < valid.size(); ++x) valid[x] = above.valid[x] & own.valid[x] & below.valid[x];
        std::uint8_t before = valid[0];
        for (std::size_t x = 1; x + 1 < valid.size(); ++x)
            valid[x] = std::exchange(before, valid[x]) & valid[x] & valid[x + 1];
    }
    measures::Pixel<Value> row{{above.luma.data() + 1, own.luma.data() + 1, below.luma.data() + 1}, {}, 0};
    for (int c = 0; reads_colors_ && c < 3; ++c) row.colors[c] = own.colors[c].data() + 1;
    std::size_t place = 0;
    measures::All::for_each([&](auto measure) {
        using Which = decltype(measure);
        using measures::Reach;
        Total& total = totals[place++];
        if (!measures_.has(Which::measure)) return;
        if constexpr (Which::reach == Reach::colors) {
            if (has_colors_) add_terms<Which>(row, own.all_valid ? nullptr : own.valid.data() + 1, 0, width_, total);
        } else {
            constexpr int border = Which::reach == Reach::inside ? 1 : 0;
            if (width_ < 3 || height_ < 3 || y < border || y + border >= height_) return;
            add_terms<Which>(row, all_valid ? nullptr : valid.data() + 1, border, width_ - border, total);
        }
    });
}

template <class Sample>
void MeasureStrips<Sample>::take(const ImageView& strip) {
    const std::int64_t come = known_ + strip.height, end = come == height_ ? come : come - 1;  // rows with one below
    if (end > done_)
        workers_.sweep(end - done_, std::max<std::int64_t>(16, tile_pixels / width_),
                       (serial_pixels + width_ - 1) / width_, workers_.threads(),
                       [&](int worker, std::int64_t first, std::int64_t last) {
                           Row rows[3];
                           std::vector<std::uint8_t> valid;
                           const auto load_row = [&](std::int64_t y) { load(strip, y, rows[(y + 3) % 3]); };
                           load_row(done_ + first - 1);
                           load_row(done_ + first);
                           for (std::int64_t y = done_ + first; y < done_ + last; ++y) {
                               load_row(y + 1);
                               add_row(y, rows, valid, totals_[static_cast<std::size_t>(worker)]);
                           }
                       });
    done_ = std::max(done_, end);
    if (come == height_) return;
    if (strip.height == 1)
        kept_[0] = std::move(kept_[1]);
    else
        load_from(strip, strip.height - 2, kept_[0]);
    load_from(strip, strip.height - 1, kept_[1]);
    known_ = come;
}

template <class Sample>
bool MeasureStrips<Sample>::end_pass() {
    std::size_t place = 0;
    measures::All::for_each([&](auto measure) {
        const std::size_t here = place++;
        if (!measures_.has(measure.measure)) return;
        Measured found{measure.measure, 0, {}};
        found.sums.resize(static_cast<std::size_t>(measure.sums) * (real ? core::ExactSum::words : 1));
        for (const Totals& totals : totals_) {
            Measured own{measure.measure, totals[here].pixels, {}};
            for (const Sum& sum : totals[here].sums)
                if constexpr (real)
                    for (int i = 0; i < core::ExactSum::words; ++i) own.sums.push_back(sum.word(i));
                else
                    own.sums.push_back(core::to_public(sum));
            found += own;
        }
        result_.measured.push_back(std::move(found));
    });
    return false;
}

}  // namespace

std::unique_ptr<StripAnalysis> measure_strips(Workers& workers, const Measures& measures, const ImageView& image,
                                              Analysis& result) {
    result = {};
    return with_depth(image.depth, [&](auto sample) -> std::unique_ptr<StripAnalysis> {
        return std::make_unique<MeasureStrips<decltype(sample)>>(workers, measures, image, result);
    });
}

}  // namespace gpuhist::cpu
