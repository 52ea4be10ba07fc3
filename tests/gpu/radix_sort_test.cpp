// Sorting of keys against std::sort: numbers of keys around the limits of buckets and parts, and keys that all share
// their high bits, none, or all.
#include "cpu/radix_sort.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

namespace gpuhist::cpu {
namespace {

template <class Key>
class SortKeys : public testing::Test {};
using Keys = testing::Types<std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(SortKeys, Keys);

TYPED_TEST(SortKeys, AgreesWithStdSort) {
    using Key = TypeParam;
    constexpr int bits = 8 * sizeof(Key);
    std::mt19937_64 random(7);
    const std::function<Key(std::size_t)> kinds[] = {
        [&](std::size_t) { return static_cast<Key>(random()); },                                // anything
        [&](std::size_t) { return static_cast<Key>(random() >> (64 - bits + 12)); },            // without high bits
        [&](std::size_t) { return static_cast<Key>(random() << 12); },                          // without low bits
        [&](std::size_t) { return static_cast<Key>(random() % 3 == 0 ? ~Key{0} : Key{5}); },    // two values
        [&](std::size_t) { return Key{42}; },                                                   // one value
        [&](std::size_t i) { return static_cast<Key>(i); },                                     // ascending
        [&](std::size_t i) { return static_cast<Key>(~i); },                                    // descending
        [&](std::size_t i) { return i == 9 ? ~Key{0} : static_cast<Key>(random() & 0xFFFF); },  // one far away
    };
    for (const int threads : {1, 2, 5}) {
        Workers workers(threads);
        for (const std::size_t n : {0, 1, 2, 127, 128, 129, 65535, 65536, 65537, 200000, 393217})
            for (std::size_t kind = 0; kind < std::size(kinds); ++kind) {
                SCOPED_TRACE(testing::Message() << threads << " threads, " << n << " keys of kind " << kind);
                std::vector<Key> keys(n), other(n);
                for (std::size_t i = 0; i < n; ++i) keys[i] = kinds[kind](i);
                std::vector<Key> expected = keys;
                std::sort(expected.begin(), expected.end());
                const Key* const sorted = sort_keys(workers, keys.data(), other.data(), n);
                ASSERT_TRUE(std::equal(expected.begin(), expected.end(), sorted));
            }
    }
}

}  // namespace
}  // namespace gpuhist::cpu
