// Groups of duplicates against all pairs.
#include "gpuhist/duplicates.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bitset>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "gpuhist/error.hpp"

namespace gpuhist::test {
namespace {

using Hashes = std::vector<std::uint64_t>;
using Places = std::vector<std::uint32_t>;

/// Different pixels for each image.
std::vector<Hash128> different(std::size_t images) {
    std::vector<Hash128> pixels(images);
    for (std::size_t i = 0; i < images; ++i) pixels[i] = {i * 0x9e3779b97f4a7c15u, i};
    return pixels;
}

/// The first image of each group: marks spread over all pairs until none changes.
Places by_all_pairs(const std::vector<Hash128>& pixels, const Hashes& hashes, int distance) {
    Places first(pixels.size());
    std::iota(first.begin(), first.end(), 0u);
    for (bool changed = true; changed;) {
        changed = false;
        for (std::size_t a = 0; a < first.size(); ++a)
            for (std::size_t b = 0; b < a; ++b) {
                const bool same = pixels[a] == pixels[b],
                           near = !hashes.empty() && hashes[a] != 0 && hashes[b] != 0 &&
                                  std::bitset<64>(hashes[a] ^ hashes[b]).count() <= static_cast<std::size_t>(distance);
                if ((!same && !near) || first[a] == first[b]) continue;
                first[a] = first[b] = std::min(first[a], first[b]);
                changed = true;
            }
    }
    return first;
}

/// Random hashes, some of which are others with a few bits changed.
Hashes with_neighbors(std::size_t images, int most_bits, std::mt19937_64& random) {
    Hashes hashes;
    for (std::size_t i = 0; i < images; ++i) {
        std::uint64_t hash = random();
        if (i > 0 && random() % 3 == 0) {
            hash = hashes[random() % i];
            for (auto bits = static_cast<int>(random() % static_cast<std::uint64_t>(most_bits + 1)); bits > 0; --bits)
                hash ^= std::uint64_t{1} << random() % 64;
        }
        hashes.push_back(hash);
    }
    return hashes;
}

TEST(Duplicates, are_those_of_all_pairs) {
    std::mt19937_64 random(1);
    for (const int distance : {0, 1, 2, 3, 4, 6, 8, 11, 16})
        for (const std::size_t images : {1u, 2u, 30u, 600u}) {
            const Hashes hashes = with_neighbors(images, distance + 2, random);
            EXPECT_EQ(group_duplicates(different(images), hashes, distance),
                      by_all_pairs(different(images), hashes, distance))
                << images << " images, distance " << distance;
        }
}

// More hashes than are compared pair by pair, so that all of the search is used.
TEST(Duplicates, are_those_of_all_pairs_among_many) {
    std::mt19937_64 random(2);
    for (const int distance : {1, 4}) {
        const Hashes hashes = with_neighbors(6000, distance + 1, random);
        EXPECT_EQ(group_duplicates(different(6000), hashes, distance), by_all_pairs(different(6000), hashes, distance));
    }
}

TEST(Duplicates, are_found_where_few_bits_differ_at_all) {
    std::mt19937_64 random(3);
    for (const std::uint64_t bits : {0xfffull << 30, 0x8001000100010001ull | 0xff00ull, 0xf0f0f0f0ull})
        for (const int distance : {1, 2, 4}) {
            Hashes hashes;
            for (int i = 0; i < 3000; ++i) hashes.push_back((random() & bits & random()) | std::uint64_t{1} << 60);
            EXPECT_EQ(group_duplicates(different(3000), hashes, distance),
                      by_all_pairs(different(3000), hashes, distance))
                << bits << ' ' << distance;
        }
}

TEST(Duplicates, are_images_with_equal_pixels_too) {
    const std::vector<Hash128> pixels{{1, 1}, {1, 2}, {2, 1}, {1, 2}, {9, 9}, {1, 1}};
    EXPECT_EQ(group_duplicates(pixels, {}, 4), (Places{0, 1, 2, 1, 4, 0}));
    // 1 and 3 link what is near to either.
    EXPECT_EQ(group_duplicates(pixels, {1, 0xff, 0xff0000, 0xff00000000, 0xff000000ff, 2}, 0),
              (Places{0, 1, 2, 1, 4, 0}));
    EXPECT_EQ(group_duplicates(pixels, {1, 0xff, 0xfe, 0xff00000000, 0xff00000001, 0xf000}, 1),
              (Places{0, 1, 1, 1, 1, 0}));
}

TEST(Duplicates, of_uniform_images_have_equal_pixels) {
    EXPECT_EQ(group_duplicates({{1, 1}, {2, 2}, {1, 1}, {3, 3}}, {0, 0, 0, 1}, 4), (Places{0, 1, 0, 3}));
}

TEST(Duplicates, are_linked_by_others) {
    EXPECT_EQ(group_duplicates(different(4), {0xff00, 0xfff0, 0xffff, 0xf000000000}, 4), (Places{0, 0, 0, 3}));
    EXPECT_EQ(group_duplicates(different(3), {0xff00, 0xffff, 0xfff0}, 4), (Places{0, 0, 0}));
}

TEST(Duplicates, of_no_images_are_none) {
    EXPECT_TRUE(group_duplicates({}, {}, 4).empty());
}

TEST(Duplicates, refuse_what_makes_no_sense) {
    EXPECT_THROW(group_duplicates(different(2), {1}, 4), InvalidArgument);
    EXPECT_THROW(group_duplicates(different(1), {1}, -1), InvalidArgument);
    EXPECT_THROW(group_duplicates(different(1), {1}, most_distance + 1), InvalidArgument);
}

TEST(HashDistance, counts_bits) {
    EXPECT_EQ(hash_distance(0, 0), 0);
    EXPECT_EQ(hash_distance(0, ~std::uint64_t{0}), 64);
    EXPECT_EQ(hash_distance(0x8000000000000001, 1), 1);
}

// Comparing all pairs would take an hour.
TEST(Duplicates, a_million_equal_hashes_are_a_group_at_once) {
    constexpr std::size_t images = 1'000'000;
    Places found = group_duplicates(different(images), Hashes(images, 0x123456789abcdef), 4);
    EXPECT_EQ(found, Places(images, 0));
    Hashes hashes(images, 0xf0f0f0f0f0f0f0f0);  // and those of two centers with their neighbors
    for (std::size_t i = 0; i < images; ++i)
        hashes[i] = (i % 2 ? 0xf0f0f0f0f0f0f0f0 : 0xffff) ^ (std::uint64_t{1} << i / 2 % 64);
    found = group_duplicates(different(images), hashes, 4);
    for (std::size_t i = 0; i < images; ++i) ASSERT_EQ(found[i], i % 2);
}

/// Largest memory of the process so far, in GB.
double most_memory() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.rfind("VmHWM:", 0) == 0) return std::stod(line.substr(6)) / 1e6;
    return 0;
}

TEST(DuplicatesLarge, are_found_among_ten_million_hashes) {
    if (!std::getenv("GPUHIST_LARGE_TESTS")) GTEST_SKIP() << "takes a minute: GPUHIST_LARGE_TESTS=1 runs it";
    constexpr std::size_t images = 10'000'000, every = 1000;
    std::mt19937_64 random(4);
    Hashes hashes(images);
    for (std::uint64_t& hash : hashes) hash = random();
    for (std::size_t i = every; i < images; i += every) {  // of its neighbor in the list, with up to four bits changed
        hashes[i] = hashes[i - 1];
        for (std::size_t bits = i / every % 5; bits > 0; --bits) hashes[i] ^= std::uint64_t{1} << random() % 64;
    }
    const auto start = std::chrono::steady_clock::now();
    const Places found = group_duplicates(different(images), hashes, 4);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const double memory = most_memory();
    for (std::size_t i = every; i < images; i += every) ASSERT_EQ(found[i], found[i - 1]);
    std::size_t others = 0;  // random hashes that are near by chance: 0.002 pairs are expected
    for (std::size_t i = 0; i < images; ++i) others += i % every != 0 && found[i] != i;
    EXPECT_LE(others, 5u);
    RecordProperty("seconds", std::to_string(seconds));
    RecordProperty("gigabytes", std::to_string(memory));
    std::printf("10,000,000 hashes: %.1f s, %.2f GB\n", seconds, memory);
    EXPECT_LT(memory, 2);
}

}  // namespace
}  // namespace gpuhist::test
