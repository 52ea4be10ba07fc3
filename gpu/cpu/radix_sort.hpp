// Radix sort of keys.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "cpu/workers.hpp"

namespace gpuhist::cpu {

/// Sorts n > 0 keys below 2^bits, of at most `Digits` digits of `DigitBits` bits. The result is in `keys` or in
/// `other`, which has the same size. Returns the one with the result.
template <int DigitBits, std::size_t Digits>
std::uint32_t* radix_sort(std::uint32_t* keys, std::uint32_t* other, std::size_t n, int bits) {
    constexpr std::uint32_t values = 1U << DigitBits;
    std::array<std::array<std::uint32_t, values>, Digits> counts{};
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t digit = 0; digit < Digits; ++digit)
            ++counts[digit][keys[i] >> digit * DigitBits & (values - 1)];
    for (int pass = 0; pass * DigitBits < bits; ++pass) {
        const int shift = pass * DigitBits;
        auto& places = counts[static_cast<std::size_t>(pass)];
        if (places[keys[0] >> shift & (values - 1)] == n) continue;  // all the same
        std::uint32_t place = 0;
        for (std::uint32_t& count : places) place += std::exchange(count, place);
        for (std::size_t i = 0; i < n; ++i) other[places[keys[i] >> shift & (values - 1)]++] = keys[i];
        std::swap(keys, other);
    }
    return keys;
}

/// Sorts keys that fit into a cache, from the lowest digit on that differs. `other` has the same size.
template <class Key>
void sort_bucket(Key* keys, Key* other, std::size_t n) {
    constexpr std::size_t least = 128;  // below it a radix sort takes more time
    if (n < least) return std::sort(keys, keys + n);
    constexpr int digit_bits = 8;
    Key differing = 0;
    for (std::size_t i = 1; i < n; ++i) differing |= keys[i] ^ keys[0];
    Key *from = keys, *to = other;
    for (int shift = 0; shift < static_cast<int>(std::bit_width(differing)); shift += digit_bits) {
        constexpr Key mask = (Key{1} << digit_bits) - 1;
        if ((differing >> shift & mask) == 0) continue;
        std::array<std::size_t, std::size_t{1} << digit_bits> places{};
        for (std::size_t i = 0; i < n; ++i) ++places[from[i] >> shift & mask];
        std::size_t place = 0;
        for (std::size_t& count : places) place += std::exchange(count, place);
        for (std::size_t i = 0; i < n; ++i) to[places[from[i] >> shift & mask]++] = from[i];
        std::swap(from, to);
    }
    if (from != keys) std::copy_n(from, n, keys);
}

/// Sorts keys on the threads of an engine: first into buckets by the highest bits that differ, then each bucket.
/// `other` has the same size. Its contents and those of `keys` may change places: returns the one with the result.
template <class Key>
Key* sort_keys(Workers& workers, Key* keys, Key* other, std::size_t n) {
    constexpr int bucket_bits = 11;
    constexpr std::size_t buckets = std::size_t{1} << bucket_bits, least_part = std::size_t{1} << 16;
    if (n < least_part) {
        sort_bucket(keys, other, n);
        return keys;
    }
    const auto parts =
        static_cast<std::int64_t>(std::min<std::size_t>(static_cast<std::size_t>(workers.threads()), n / least_part));
    const auto for_parts = [&](const auto& body) {
        workers.sweep(parts, 1, 2, workers.threads(), [&](int, std::int64_t begin, std::int64_t end) {
            for (std::int64_t part = begin; part < end; ++part) {
                const auto at = static_cast<std::size_t>(part), all = static_cast<std::size_t>(parts);
                body(at, n / all * at, at + 1 == all ? n : n / all * (at + 1));
            }
        });
    };
    std::vector<Key> differing_parts(static_cast<std::size_t>(parts));
    for_parts([&](std::size_t part, std::size_t begin, std::size_t end) {
        Key differing = 0;
        for (std::size_t i = begin; i < end; ++i) differing |= keys[i] ^ keys[0];
        differing_parts[part] = differing;
    });
    Key differing = 0;
    for (const Key of_part : differing_parts) differing |= of_part;
    if (differing == 0) return keys;
    const int shift = std::max(0, static_cast<int>(std::bit_width(differing)) - bucket_bits);
    const auto bucket_of = [&](Key key) { return static_cast<std::size_t>(key >> shift) & (buckets - 1); };
    std::vector<std::array<std::size_t, buckets>> places(static_cast<std::size_t>(parts));
    for_parts([&](std::size_t part, std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) ++places[part][bucket_of(keys[i])];
    });
    std::array<std::size_t, buckets + 1> begins{};
    std::size_t place = 0;
    for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
        begins[bucket] = place;
        for (auto& of_part : places) place += std::exchange(of_part[bucket], place);
    }
    begins[buckets] = n;
    for_parts([&](std::size_t part, std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) other[places[part][bucket_of(keys[i])]++] = keys[i];
    });
    constexpr std::int64_t at_once = 16;
    workers.sweep(buckets, at_once, 2, workers.threads(), [&](int, std::int64_t begin, std::int64_t end) {
        for (auto bucket = static_cast<std::size_t>(begin); bucket < static_cast<std::size_t>(end); ++bucket) {
            const std::size_t first = begins[bucket], count = begins[bucket + 1] - first;
            if (count > 1) sort_bucket(other + first, keys + first, count);
        }
    });
    return other;
}

}  // namespace gpuhist::cpu
