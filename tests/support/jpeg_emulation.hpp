// Decoding of JPEGs as the GPU does it, with loops in place of blocks and threads, over the same functions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "jpeg/chunk.hpp"
#include "jpeg/color.hpp"
#include "jpeg/dc.hpp"
#include "jpeg/idct.hpp"
#include "jpeg/parse.hpp"

namespace gpuhist::test {

/// Sizes that the kernels have as constants; small ones show more of their seams.
struct JpegSizes {
    std::uint32_t chunk_bits = jpeg::default_chunk_bits;
    int threads = 128;   ///< of a block that synchronizes chunks
    int warm_up = 8;     ///< of these, how many begin before the block's own chunks
    int scanners = 256;  ///< threads that sum DC differences
};

struct EmulatedJpeg {
    std::string reason;        ///< why the file is not for the GPU
    std::uint32_t damage = 0;  ///< jpeg::Damage
    int width = 0, height = 0, channels = 0;
    std::vector<std::uint8_t> pixels;
    int rounds = 0;    ///< the most that a block took
    int repaired = 0;  ///< blocks that began wrongly
};

/// Decodes a file from its bytes to its pixels.
class JpegEmulation {
  public:
    JpegEmulation(const unsigned char* file, std::size_t bytes, const JpegSizes& sizes = {}) : sizes_(sizes) {
        jpeg::Plan plan = jpeg::parse(file, bytes);
        if (plan.reason.empty()) {
            words_.resize(jpeg::staged_bytes(bytes, plan) / 4);
            words_.resize(jpeg::stage(file, bytes, reinterpret_cast<unsigned char*>(words_.data()), segments_, plan,
                                      sizes.chunk_bits) /
                          4);
        }
        result_.reason = plan.reason;
        image_ = plan.image;
        tables_ = plan.tables;
        result_.width = image_.width;
        result_.height = image_.height;
        result_.channels = image_.channels();
        if (!plan.reason.empty()) return;
        codes_ = {tables_.data(), image_.dc_table, image_.ac_table, static_cast<std::uint32_t>(image_.phases)};
        synchronize();
        write();
        sum_dc();
        transform();
        make_pixels();
    }

    const EmulatedJpeg& result() const { return result_; }

  private:
    const std::uint32_t* words_of(const jpeg::Chunk& chunk) const {
        return words_.data() + segments_[chunk.segment].first_word;
    }
    jpeg::Chunk chunk(std::uint32_t number) const { return jpeg::find_chunk(image_, segments_.data(), number); }

    /// A block of threads after the other, then what is between them.
    void synchronize() {
        const auto own = static_cast<std::uint32_t>(sizes_.threads - sizes_.warm_up);
        ends_.resize(image_.chunks);
        std::vector<jpeg::State> begins;
        for (std::uint32_t first = 0; first < image_.chunks; first += own) begins.push_back(synchronize_block(first));
        for (std::size_t b = 1; b < begins.size(); ++b) {
            const auto first = static_cast<std::uint32_t>(b) * own;
            if (jpeg::begin_of(chunk(first), ends_.data(), first) == begins[b]) continue;
            ++result_.repaired;
            jpeg::repair(codes_, image_, segments_.data(), words_.data(), ends_.data(), first);
        }
        starts_.resize(image_.chunks + 1);
        for (std::uint32_t c = 0; c < image_.chunks; ++c) starts_[c + 1] = starts_[c] + ends_[c].blocks();
    }

    /// Decodes chunks until nothing changes. Returns the state that the first one of its own began with.
    jpeg::State synchronize_block(std::uint32_t first) {
        const auto threads = static_cast<std::size_t>(sizes_.threads);
        struct Thread {
            bool active = false;
            std::uint32_t number = 0;
            jpeg::Chunk chunk{};
            jpeg::State begin;
        };
        std::vector<Thread> all(threads);
        std::vector<jpeg::ChunkEnd> shared(threads);
        for (std::size_t t = 0; t < threads; ++t) {
            const std::int64_t number = std::int64_t{first} - sizes_.warm_up + static_cast<std::int64_t>(t);
            if (number < 0 || number >= image_.chunks) continue;
            all[t] = {true, static_cast<std::uint32_t>(number), chunk(static_cast<std::uint32_t>(number)), {}};
            shared[t] = jpeg::pass_chunk(codes_, words_of(all[t].chunk), all[t].chunk, all[t].begin);
        }
        int rounds = 1;
        for (bool changed = true; changed; ++rounds) {
            changed = false;
            const std::vector<jpeg::ChunkEnd> before = shared;
            for (std::size_t t = 1; t < threads; ++t) {
                if (!all[t].active || all[t].chunk.first || !all[t - 1].active) continue;
                const jpeg::State begin = before[t - 1].state();
                if (begin == all[t].begin) continue;
                all[t].begin = begin;
                shared[t] = jpeg::pass_chunk(codes_, words_of(all[t].chunk), all[t].chunk, begin);
                changed = true;
            }
        }
        result_.rounds = std::max(result_.rounds, rounds);
        const auto warm_up = static_cast<std::size_t>(sizes_.warm_up);
        for (std::size_t t = warm_up; t < threads; ++t)
            if (all[t].active) ends_[all[t].number] = shared[t];
        return all[warm_up].begin;
    }

    void write() {
        coefficients_.assign(std::size_t{image_.blocks()} * jpeg::block_samples, 0);
        dc_.assign(image_.blocks(), 0);
        for (std::uint32_t c = 0; c < image_.chunks; ++c) {
            const jpeg::Chunk at = chunk(c);
            const jpeg::Segment& segment = segments_[at.segment];
            const std::uint32_t block =
                jpeg::first_block(image_, at.segment) + starts_[c] - starts_[segment.first_chunk];
            result_.damage |= jpeg::write_chunk(
                codes_, words_of(at), at, segment.bits, jpeg::begin_of(at, ends_.data(), c), block,
                jpeg::end_block(image_, at.segment), jpeg::natural_order, {coefficients_.data(), dc_.data()});
        }
    }

    void sum_dc() {
        const auto threads = static_cast<std::uint32_t>(sizes_.scanners);
        const std::uint32_t mcus = image_.mcus(), run = (mcus + threads - 1) / threads;
        jpeg::DcSums before;
        for (std::uint32_t t = 0; t < threads; ++t) {
            const std::uint32_t begin = std::min(mcus, t * run), end = std::min(mcus, begin + run);
            jpeg::DcSums own, sums = before;
            for (std::uint32_t m = begin; m < end; ++m) jpeg::add_mcu(image_, m, false, dc_.data(), own);
            for (std::uint32_t m = begin; m < end; ++m)
                result_.damage |= jpeg::add_mcu(image_, m, true, dc_.data(), sums);
            before = before.then(own);
        }
    }

    void transform() {
        std::int64_t samples = 0;
        for (int c = 0; c < image_.components; ++c) {
            jpeg::Component& component = image_.component[c];
            component.plane = samples;
            samples += std::int64_t{component.row_samples} * image_.mcus_down * component.down * jpeg::side;
        }
        planes_.assign(static_cast<std::size_t>(samples), 0);
        jpeg::Fits16 fits;
        for (std::uint32_t b = 0; b < image_.blocks(); ++b) {
            const jpeg::BlockPlace place = jpeg::place_of(image_, b);
            const jpeg::Component& component = image_.component[place.component];
            std::int16_t* block = coefficients_.data() + std::size_t{b} * jpeg::block_samples;
            block[0] = dc_[b];
            std::int32_t columns[jpeg::side][jpeg::side], row[jpeg::side];
            for (int i = 0; i < jpeg::side; ++i)
                jpeg::transform_column(block + i, component.quantization + i, columns[i], fits);
            for (int y = 0; y < jpeg::side; ++y) {
                for (int x = 0; x < jpeg::side; ++x) row[x] = columns[x][y];
                jpeg::transform_row(row, planes_.data() + place.first_sample + std::int64_t{y} * component.row_samples,
                                    fits);
            }
        }
        if (!fits.all()) result_.damage |= jpeg::idct_out_of_range;
    }

    void make_pixels() {
        const auto row_bytes = static_cast<std::size_t>(image_.width) * static_cast<std::size_t>(image_.channels());
        result_.pixels.resize(row_bytes * static_cast<std::size_t>(image_.height));
        for (int y = 0; y < image_.height; ++y)
            for (int x = 0; x < image_.width; x += jpeg::together) {
                std::uint8_t pixels[jpeg::together * jpeg::most_components];
                jpeg::make_pixels(image_, planes_.data(), x, y, pixels);
                const auto count = static_cast<std::size_t>(std::min(jpeg::together, image_.width - x));
                std::memcpy(result_.pixels.data() + row_bytes * static_cast<std::size_t>(y) +
                                static_cast<std::size_t>(x) * static_cast<std::size_t>(image_.channels()),
                            pixels, count * static_cast<std::size_t>(image_.channels()));
            }
    }

    JpegSizes sizes_;
    jpeg::Image image_{};
    std::vector<jpeg::HuffmanTable> tables_;
    std::vector<jpeg::Segment> segments_;
    std::vector<std::uint32_t> words_, starts_;
    jpeg::Codes codes_{};
    std::vector<jpeg::ChunkEnd> ends_;
    std::vector<std::int16_t> coefficients_, dc_;
    std::vector<std::uint8_t> planes_;
    EmulatedJpeg result_;
};

inline EmulatedJpeg emulate_jpeg(const std::vector<unsigned char>& file, const JpegSizes& sizes = {}) {
    return JpegEmulation(file.data(), file.size(), sizes).result();
}

}  // namespace gpuhist::test
