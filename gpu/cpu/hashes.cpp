#include "cpu/hashes.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "cpu/pixel_source.hpp"
#include "cpu/simd/avx2.hpp"
#include "fingerprint/digest.hpp"
#include "fingerprint/reduction.hpp"
#include "fingerprint/samples.hpp"
#include "fingerprint/similar.hpp"

namespace gpuhist::cpu {
namespace {

template <class Value>
[[gnu::always_inline]] inline void add_loop(const Value* row, std::int64_t width, std::uint32_t* columns) {
    for (std::int64_t x = 0; x < width; ++x) columns[x] += static_cast<std::uint32_t>(row[x]);
}
GPUHIST_SIMD void add_to_columns(const std::int16_t* row, std::int64_t width, std::uint32_t* columns) {
    add_loop(row, width, columns);
}
GPUHIST_SIMD void add_to_columns(const std::int32_t* row, std::int64_t width, std::uint32_t* columns) {
    add_loop(row, width, columns);
}

/// Samples of an image, in blocks.
class BlockHash {
  public:
    BlockHash(Workers& workers, const ImageView& image)
        : workers_(workers),
          pixels_(image),
          hash_(image, pixels_.channels()),
          memory_(static_cast<std::size_t>(workers.threads())) {}

    void take(const ImageView& strip) {
        const std::int64_t all = strip.pixels() * pixels_.bytes();
        std::int64_t begin = 0;
        if (kept_ > 0) {
            begin = std::min(all, block - kept_);
            keep(strip, 0, begin);
        }
        const std::int64_t blocks = (all - begin) / block;
        digests_.resize(static_cast<std::size_t>(blocks));
        const std::int64_t together = 4, alone = serial_pixels * pixels_.bytes() / block;
        workers_.sweep(blocks, together, alone, workers_.threads(),
                       [&](int worker, std::int64_t first, std::int64_t last) {
                           for (std::int64_t i = first; i < last; ++i)
                               digests_[static_cast<std::size_t>(i)] = fingerprint::digest_of(
                                   block_of(strip, begin + i * block, memory_[static_cast<std::size_t>(worker)]),
                                   fingerprint::block_bytes);
                       });
        hash_.add(digests_.data(), digests_.size());
        keep(strip, begin + blocks * block, all);
    }
    Hash128 value() {
        if (kept_ > 0) add_kept();
        return hash_.value();
    }

  private:
    static constexpr auto block = static_cast<std::int64_t>(fingerprint::block_bytes);

    /// Canonical bytes of a block of a strip, in its own memory or in `memory`.
    const std::byte* block_of(const ImageView& strip, std::int64_t begin, std::vector<std::byte>& memory) const {
        if (pixels_.as_stored() && (strip.height == 1 || strip.row_bytes == strip.packed_row_bytes()))
            return static_cast<const std::byte*>(strip.data) + begin;
        return copy(strip, begin, begin + block, room_in(memory));
    }
    /// Room for a block, with more on both sides for the rest of the pixels of which it has a part.
    std::byte* room_in(std::vector<std::byte>& memory) const {
        if (memory.empty()) memory.resize(static_cast<std::size_t>(block + 2 * pixels_.bytes()));
        return memory.data() + pixels_.bytes();
    }
    /// Copies canonical bytes of a strip to `to`, and around them the rest of their pixels. Returns `to`.
    const std::byte* copy(const ImageView& strip, std::int64_t begin, std::int64_t end, std::byte* to) const {
        const std::int64_t size = pixels_.bytes(), first = begin / size, last = (end + size - 1) / size;
        const std::int64_t stored = strip.channels * static_cast<std::int64_t>(sample_bytes(strip.depth));
        std::byte* at = to - (begin - first * size);
        for (std::int64_t pixel = first; pixel < last;) {
            const std::int64_t y = pixel / strip.width, x = pixel % strip.width,
                               count = std::min(strip.width - x, last - pixel);
            copy(row_at(strip, y) + x * stored, count, strip, at);
            pixel += count;
            at += count * size;
        }
        return to;
    }
    void copy(const std::byte* from, std::int64_t pixels, const ImageView& strip, std::byte* to) const {
        static const bool fast = avx2::supported();
        std::int64_t done = 0;
        if (fast && pixels_.swapped() && strip.channels <= 4 && sample_bytes(strip.depth) <= 2)
            done = avx2::swap_colors(from, static_cast<int>(pixels), strip.channels,
                                     static_cast<int>(sample_bytes(strip.depth)), to);
        pixels_.copy(from + done * pixels_.bytes(), pixels - done, to + done * pixels_.bytes());
    }
    /// Start of a row of a strip. A strip of one row may have any distance between rows.
    static const std::byte* row_at(const ImageView& strip, std::int64_t y) {
        return static_cast<const std::byte*>(strip.data) + (y == 0 ? 0 : y * strip.row_bytes);
    }
    /// Keeps bytes for the next strip, as far as they fill no block. Those of the strip before end with a pixel.
    void keep(const ImageView& strip, std::int64_t begin, std::int64_t end) {
        if (begin == end) return;
        copy(strip, begin, end, room_in(kept_bytes_) + kept_);
        kept_ += end - begin;
        if (kept_ == block) add_kept();
    }
    void add_kept() {
        const fingerprint::Digest digest =
            fingerprint::digest_of(room_in(kept_bytes_), static_cast<std::size_t>(kept_));
        hash_.add(&digest, 1);
        kept_ = 0;
    }

    Workers& workers_;
    const fingerprint::Pixels pixels_;
    fingerprint::PixelsHash hash_;
    std::vector<fingerprint::Digest> digests_;
    std::vector<std::vector<std::byte>> memory_;  ///< of each worker
    std::vector<std::byte> kept_bytes_;
    std::int64_t kept_ = 0;  ///< of them
};

template <class Sample>
class HashStrips final : public StripAnalysis {
  public:
    explicit HashStrips(const MeasuredImage& of)
        : workers_(of.workers),
          luma_(of.luma),
          width_(of.image.width),
          height_(of.image.height),
          result_(of.result),
          pixels_(of.workers, of.image) {
        similar_.resize(static_cast<std::size_t>(workers_.threads()));
    }

    void take(const ImageView& strip) override {
        pixels_.take(strip);
        if (has_luma())
            workers_.sweep_rows(strip.height, width_, [&](int worker, std::int64_t first, std::int64_t last) {
                auto& made = similar_[static_cast<std::size_t>(worker)];
                if (!made) made = std::make_unique<Similar>(width_, height_);
                for (std::int64_t y = known_ + first; y < known_ + last; ++y) made->add_row(y, luma_row(y));
            });
        known_ += strip.height;
    }
    bool end_pass() override {
        const Hash128 pixels = pixels_.value();
        Measured found{Measure::hashes,
                       static_cast<std::uint64_t>(width_ * known_),
                       {{pixels.low, static_cast<std::int64_t>(pixels.high)}}};
        if (has_luma()) {
            Similar all(width_, height_);
            for (const auto& own : similar_)
                if (own) {
                    own->flush();
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
    using Value = measures::Value<Sample>;
    /// What a worker has of the small images. Values of 8 and 16 bits are added up by column first, as long as their
    /// rows are in one cell of the larger image, of which the cells of the smaller one have several.
    struct Similar {
        fingerprint::Reduction<Value> dhash, phash;

        Similar(std::int64_t width, std::int64_t height)
            : dhash(width, height, fingerprint::dhash_columns, fingerprint::dhash_rows),
              phash(width, height, fingerprint::phash_side, fingerprint::phash_side),
              columns_(by_column ? static_cast<std::size_t>(width) : 0) {}

        void add_row(std::int64_t y, const Value* luma) {
            if constexpr (by_column) {
                if (const auto cell = phash.cell_of_row(y)) {
                    if (*cell != cell_ || rows_ == most_rows) flush();
                    cell_ = *cell;
                    ++rows_;
                    return add_to_columns(luma, static_cast<std::int64_t>(columns_.size()), columns_.data());
                }
            }
            dhash.add_row(y, luma);
            phash.add_row(y, luma);
        }
        /// Adds what was added up by column. To be called after the last row.
        void flush() {
            static_assert(fingerprint::phash_side % fingerprint::dhash_rows == 0);
            if constexpr (by_column) {
                if (rows_ == 0) return;
                phash.add_columns(cell_, columns_.data());
                dhash.add_columns(cell_ / (fingerprint::phash_side / fingerprint::dhash_rows), columns_.data());
                std::fill(columns_.begin(), columns_.end(), 0);
                rows_ = 0;
            }
        }

      private:
        static constexpr bool by_column = sizeof(Value) <= 4;
        static constexpr int most_rows = 65536;  // of values of 16 bits

        std::vector<std::uint32_t> columns_;
        std::int64_t cell_ = 0;
        int rows_ = 0;  ///< that were added to the columns
    };

    bool has_luma() const { return luma_ != nullptr; }
    const Value* luma_row(std::int64_t y) const {
        return static_cast<const LumaRows<Sample>&>(*luma_).at(y).luma.data() + 1;
    }

    Workers& workers_;
    const AnyLumaRows* const luma_;  ///< null of bands alone
    const std::int64_t width_, height_;
    Analysis& result_;
    BlockHash pixels_;
    std::vector<std::unique_ptr<Similar>> similar_;  ///< of each worker that has had rows
    std::int64_t known_ = 0;                         ///< rows that have come
};

}  // namespace

std::unique_ptr<StripAnalysis> make_hashes(const MeasuredImage& image) {
    return with_depth(image.image.depth, [&](auto sample) -> std::unique_ptr<StripAnalysis> {
        return std::make_unique<HashStrips<decltype(sample)>>(image);
    });
}

}  // namespace gpuhist::cpu
