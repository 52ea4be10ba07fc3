#include "bench/ladder/exact.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace gpuhist::bench::ladder::exact {
namespace {

/// Calls `visit(sample, its place)` for every sample in order.
template <typename T, class Visit>
void for_each(const Image& image, Visit visit) {
    const T* samples = image.on_host<T>();
    for (std::int64_t i = 0, n = image.samples(); i < n; ++i) visit(samples[i], static_cast<Word>(i));
}

}  // namespace

Answer sum(const Image& image) {
    Word total = 0;
    for_each<std::uint8_t>(image, [&](Word x, Word) { total += x; });
    return {total};
}

Answer four_quantities(const Image& image) {
    Word total = 0, squares = 0, minimum = 255, maximum = 0;
    for_each<std::uint8_t>(image, [&](Word x, Word) {
        total += x;
        squares += x * x;
        minimum = std::min(minimum, x);
        maximum = std::max(maximum, x);
    });
    return {total, squares, minimum, maximum};
}

Answer sum_and_mean(const Image& image) {
    const Word total = sum(image)[0];
    return {total, total / static_cast<Word>(image.samples())};
}

Answer histogram(const Image& image) {
    Answer counts(256);
    for_each<std::uint8_t>(image, [&](std::uint8_t x, Word) { ++counts[x]; });
    return counts;
}

Answer cumulative(const Image& image) {
    Answer counts = histogram(image);
    for (std::size_t v = 1; v < counts.size(); ++v) counts[v] += counts[v - 1];
    return counts;
}

Answer clipped(const Image& image) {
    Word low = 0, high = 0;
    for_each<std::uint8_t>(image, [&](std::uint8_t x, Word) {
        low += x == 0;
        high += x == 255;
    });
    return {low, high};
}

Answer darkest(const Image& image) {
    Word value = 256, place = 0;
    for_each<std::uint8_t>(image, [&](Word x, Word i) {
        if (x < value) {
            value = x;
            place = i;
        }
    });
    return {(value << 40) + place};
}

Answer brightest(const Image& image) {
    Word value = 0, place = 0;
    for_each<std::uint8_t>(image, [&](Word x, Word i) {
        if (x > value) {
            value = x;
            place = i;
        }
    });
    return {(value << 40) + (Word{1} << 40) - 1 - place};
}

Answer tiles_by_maximum(const Image& image) {
    Answer lists(2 * 256);
    const auto* samples = image.on_host<std::uint8_t>();
    for (std::int64_t first = 0, tile = 0; first < image.samples(); first += tile_pixels, ++tile) {
        const std::uint8_t highest =
            *std::max_element(samples + first, samples + std::min(first + tile_pixels, image.samples()));
        ++lists[2 * highest];
        lists[2 * highest + 1] += static_cast<Word>(tile);
    }
    return lists;
}

Answer sum_and_turn(const Image& image) {
    const auto tiles = static_cast<Word>((image.samples() + tile_pixels - 1) / tile_pixels);
    return {sum(image)[0], tiles % ring_slots};
}

Answer bright_places(const Image& image) {
    Word count = 0, places = 0, squares = 0;
    for_each<std::uint8_t>(image, [&](std::uint8_t x, Word i) {
        if (x < bright) return;
        ++count;
        places += i;
        squares += i * i;
    });
    return {count, places, squares};
}

Answer variation(const Image& image) {
    Word total = 0;
    int last = image.on_host<std::uint8_t>()[0];
    for_each<std::uint8_t>(image, [&](int x, Word) {
        total += static_cast<Word>(std::abs(x - last));
        last = x;
    });
    return {total};
}

Answer stretched(const Image& image) {
    Word total = 0;
    const auto* samples = image.on_host<std::uint8_t>();
    for (std::int64_t first = 0; first < image.samples(); first += stretch_pixels) {
        const std::int64_t last = std::min(first + stretch_pixels, image.samples());
        const int lowest = *std::min_element(samples + first, samples + last);
        for (std::int64_t i = first; i < last; ++i) total += static_cast<Word>(samples[i] - lowest);
    }
    return {total};
}

Answer thumbnail(const Image& image) {
    const auto* samples = image.on_host<std::uint8_t>();
    std::vector<std::uint8_t> bytes;
    for (std::int64_t top = 0; top < image.height; top += thumbnail_side)
        for (std::int64_t left = 0; left < image.width; left += thumbnail_side) {
            unsigned total = 0, count = 0;
            for (std::int64_t y = top; y < std::min(top + thumbnail_side, image.height); ++y)
                for (std::int64_t x = left; x < std::min(left + thumbnail_side, image.width); ++x, ++count)
                    total += samples[y * image.width + x];
            bytes.push_back(static_cast<std::uint8_t>((total + count / 2) / count));
        }
    Answer words((bytes.size() + sizeof(Word) - 1) / sizeof(Word));
    std::memcpy(words.data(), bytes.data(), bytes.size());
    return words;
}

Answer segment_sums(const Image& image) {
    Answer sums(static_cast<std::size_t>((image.samples() + segment_pixels - 1) / segment_pixels));
    for_each<std::uint8_t>(image, [&](std::uint8_t x, Word i) { sums[i / segment_pixels] += x; });
    return sums;
}

Answer slab_totals(const Image& image) {
    Answer totals;
    const auto* samples = image.on_host<std::uint8_t>();
    Word total = 0;
    std::int64_t i = 0;
    for (std::int64_t slab = 1; slab <= slabs; ++slab) {
        const std::int64_t last = slab == slabs ? image.samples() : image.samples() / 16 * slab / slabs * 16;
        for (; i < last; ++i) total += samples[i];
        totals.push_back(total);
    }
    return totals;
}

Answer cubes(const Image& image) {
    constexpr Word most = std::numeric_limits<Word>::max();
    Word total = 0;
    for_each<std::uint16_t>(image, [&](Word x, Word) { total += std::min(x * x * x, most - total); });
    return {total};
}

Answer bits_or(const Image& image) {
    Word bits = 0;
    for_each<std::uint16_t>(image, [&](Word x, Word) { bits |= x; });
    return {bits};
}

Answer bits_and(const Image& image) {
    Word bits = 0xFFFF;
    for_each<std::uint16_t>(image, [&](Word x, Word) { bits &= x; });
    return {bits};
}

Answer bits_xor(const Image& image) {
    Word bits = 0;
    for_each<std::uint16_t>(image, [&](Word x, Word) { bits ^= x; });
    return {bits};
}

Answer maximum(const Image& image) {
    float largest = -std::numeric_limits<float>::infinity();
    for_each<float>(image, [&](float x, Word) {
        if (x > largest) largest = x;
    });
    std::uint32_t bits = 0;
    std::memcpy(&bits, &largest, sizeof bits);
    return {bits};
}

Answer nan_and_sum(const Image& image) {
    Word nans = 0;
    std::int64_t total = 0;
    for_each<float>(image, [&](float x, Word) {
        if (std::isnan(x))
            ++nans;
        else
            total += std::llrint(static_cast<double>(x) * 0x1p24);
    });
    return {nans, static_cast<Word>(total)};
}

}  // namespace gpuhist::bench::ladder::exact
