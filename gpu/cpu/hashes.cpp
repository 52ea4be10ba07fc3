#include "cpu/hashes.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/channels.hpp"
#include "core/codes.hpp"
#include "core/luma.hpp"
#include "cpu/simd/avx2.hpp"
#include "fingerprint/digest.hpp"
#include "fingerprint/reduction.hpp"
#include "fingerprint/samples.hpp"
#include "fingerprint/similar.hpp"
#include "measures/measure.hpp"

namespace gpuhist::cpu {
namespace {

/// Start of a row of a strip. A strip of one row may have any distance between rows.
const std::byte* row_of(const ImageView& strip, std::int64_t y) {
    return static_cast<const std::byte*>(strip.data) + (y == 0 ? 0 : y * strip.row_bytes);
}

/// Samples of an image, in blocks.
class BlockHash {
  public:
    BlockHash(Workers& workers, const ImageView& image)
        : workers_(workers), pixels_(image), hash_(image, pixels_.channels()) {}

    void take(const ImageView& strip) {
        const std::int64_t all = strip.pixels() * pixels_.bytes();
        std::int64_t begin = 0;
        if (!kept_.empty()) {
            begin = std::min(all, block - static_cast<std::int64_t>(kept_.size()));
            keep(strip, 0, begin);
        }
        const std::int64_t blocks = (all - begin) / block;
        digests_.resize(static_cast<std::size_t>(blocks));
        const std::int64_t together = 4, alone = serial_pixels * pixels_.bytes() / block;
        workers_.sweep(blocks, together, alone, workers_.threads(), [&](int, std::int64_t first, std::int64_t last) {
            std::vector<std::byte> memory;
            for (std::int64_t i = first; i < last; ++i)
                digests_[static_cast<std::size_t>(i)] =
                    fingerprint::digest_of(bytes_of(strip, begin + i * block, block, memory), fingerprint::block_bytes);
        });
        hash_.add(digests_.data(), digests_.size());
        keep(strip, begin + blocks * block, all);
    }
    Hash128 value() {
        if (!kept_.empty()) add_kept();
        return hash_.value();
    }

  private:
    static constexpr auto block = static_cast<std::int64_t>(fingerprint::block_bytes);

    /// Canonical bytes of a strip, in its own memory or in `memory`.
    const std::byte* bytes_of(const ImageView& strip, std::int64_t begin, std::int64_t bytes,
                              std::vector<std::byte>& memory) const {
        if (pixels_.as_stored() && (strip.height == 1 || strip.row_bytes == strip.packed_row_bytes()))
            return static_cast<const std::byte*>(strip.data) + begin;
        const std::int64_t size = pixels_.bytes(), first = begin / size, end = (begin + bytes + size - 1) / size;
        memory.resize(static_cast<std::size_t>((end - first) * size));
        const std::int64_t stored = strip.channels * static_cast<std::int64_t>(sample_bytes(strip.depth));
        std::byte* to = memory.data();
        for (std::int64_t pixel = first; pixel < end;) {
            const std::int64_t y = pixel / strip.width, x = pixel % strip.width,
                               count = std::min(strip.width - x, end - pixel);
            copy(row_of(strip, y) + x * stored, count, strip, to);
            pixel += count;
            to += count * size;
        }
        return memory.data() + (begin - first * size);
    }
    void copy(const std::byte* from, std::int64_t pixels, const ImageView& strip, std::byte* to) const {
        static const bool fast = avx2::supported();
        std::int64_t done = 0;
        if (fast && pixels_.swapped() && strip.channels <= 4 && sample_bytes(strip.depth) <= 2)
            done = avx2::swap_colors(from, static_cast<int>(pixels), strip.channels,
                                     static_cast<int>(sample_bytes(strip.depth)), to);
        pixels_.copy(from + done * pixels_.bytes(), pixels - done, to + done * pixels_.bytes());
    }
    /// Keeps bytes for the next strip, as far as they fill no block.
    void keep(const ImageView& strip, std::int64_t begin, std::int64_t end) {
        if (begin == end) return;
        const std::byte* const bytes = bytes_of(strip, begin, end - begin, memory_);
        kept_.insert(kept_.end(), bytes, bytes + (end - begin));
        if (kept_.size() == fingerprint::block_bytes) add_kept();
    }
    void add_kept() {
        const fingerprint::Digest digest = fingerprint::digest_of(kept_.data(), kept_.size());
        hash_.add(&digest, 1);
        kept_.clear();
    }

    Workers& workers_;
    const fingerprint::Pixels pixels_;
    fingerprint::PixelsHash hash_;
    std::vector<fingerprint::Digest> digests_;
    std::vector<std::byte> kept_, memory_;
};

template <class Sample>
class HashStrips final : public StripAnalysis {
  public:
    HashStrips(Workers& workers, const ImageView& image, Analysis& result)
        : workers_(workers),
          width_(image.width),
          height_(image.height),
          result_(result),
          pixels_(workers, image),
          colors_(image.samples == Samples::gray_alpha ? 1 : core::colors_of(image)) {
        similar_.resize(static_cast<std::size_t>(workers.threads()));
    }

    void take(const ImageView& strip) override {
        pixels_.take(strip);
        if (colors_ > 0)
            workers_.sweep_rows(strip.height, width_, [&](int worker, std::int64_t first, std::int64_t last) {
                auto& made = similar_[static_cast<std::size_t>(worker)];
                if (!made) made = std::make_unique<Similar>(width_, height_);
                Similar& own = *made;
                for (std::int64_t y = first; y < last; ++y) {
                    read_luma(strip, y, own.luma);
                    own.dhash.add_row(known_ + y, own.luma.data());
                    own.phash.add_row(known_ + y, own.luma.data());
                }
            });
        known_ += strip.height;
    }
    bool end_pass() override {
        const Hash128 pixels = pixels_.value();
        Measured found{Measure::hashes,
                       static_cast<std::uint64_t>(width_ * known_),
                       {{pixels.low, static_cast<std::int64_t>(pixels.high)}}};
        if (colors_ > 0) {
            Similar all(width_, height_);
            for (const auto& own : similar_)
                if (own) {
                    all.dhash += own->dhash;
                    all.phash += own->phash;
                }
            found.sums.push_back({fingerprint::dhash(all.dhash.pixels()), 0});
            found.sums.push_back({fingerprint::phash(all.phash.pixels()), 0});
        }
        result_.measured.push_back(std::move(found));
        return false;
    }

  private:
    /// Luma as it is summed: codes of 8 and 16 bits, other whole numbers, doubles.
    using Value =
        std::conditional_t<sizeof(Sample) <= 2 && !core::is_real<Sample>, core::Code<Sample>, measures::Value<Sample>>;
    /// What a worker has of the small images.
    struct Similar {
        fingerprint::Reduction<Value> dhash, phash;
        std::vector<Value> luma;  ///< of a row

        Similar(std::int64_t width, std::int64_t height)
            : dhash(width, height, fingerprint::dhash_columns, fingerprint::dhash_rows),
              phash(width, height, fingerprint::phash_side, fingerprint::phash_side) {}
    };

    void read_luma(const ImageView& strip, std::int64_t y, std::vector<Value>& luma) const {
        luma.resize(static_cast<std::size_t>(width_));
        const auto* pixel = reinterpret_cast<const Sample*>(row_of(strip, y));
        const core::Positions at(strip.order);
        std::int64_t x = 0;
        if constexpr (std::is_same_v<Sample, std::uint8_t>) {
            static const bool fast = avx2::supported();
            if (fast && colors_ == 3 && (strip.channels == 3 || strip.channels == 4))
                x = avx2::luma(pixel, static_cast<int>(std::min<std::int64_t>(width_, 1 << 30)), strip.channels,
                               strip.order, luma.data());
            pixel += x * strip.channels;
        }
        for (; x < width_; ++x) {
            const auto code =
                colors_ == 3 ? core::luma_code<Sample>(core::code_of(pixel[at.red]), core::code_of(pixel[at.green]),
                                                       core::code_of(pixel[at.blue]))
                             : core::code_of(pixel[0]);
            bool finite = true;
            if constexpr (core::is_real<Sample>)
                finite = code > core::minus_infinity_code<Sample> && code < core::plus_infinity_code<Sample>;
            luma[static_cast<std::size_t>(x)] = finite ? static_cast<Value>(measures::value_of<Sample>(code)) : Value{};
            pixel += strip.channels;
        }
    }

    Workers& workers_;
    const std::int64_t width_, height_;
    Analysis& result_;
    BlockHash pixels_;
    const int colors_;
    std::vector<std::unique_ptr<Similar>> similar_;  ///< of each worker that has had rows
    std::int64_t known_ = 0;                         ///< rows that have come
};

}  // namespace

std::unique_ptr<StripAnalysis> make_hashes(Workers& workers, const Measures&, const ImageView& image,
                                           Analysis& result) {
    return with_depth(image.depth, [&](auto sample) -> std::unique_ptr<StripAnalysis> {
        return std::make_unique<HashStrips<decltype(sample)>>(workers, image, result);
    });
}

}  // namespace gpuhist::cpu
