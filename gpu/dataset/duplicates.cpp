// Neighbors among hashes: the bits are cut into more blocks than may differ, so that neighbors agree in some of them.
// For each choice of that many blocks, hashes with the same bits there are brought together and compared.
#include "gpuhist/duplicates.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "gpuhist/error.hpp"

namespace gpuhist {
namespace {

/// Sets of places that are joined. The first place of a set stands for it.
class Sets {
  public:
    explicit Sets(std::size_t places) : parents_(places) { std::iota(parents_.begin(), parents_.end(), 0u); }

    std::uint32_t first(std::uint32_t place) {
        while (parents_[place] != place) place = parents_[place] = parents_[parents_[place]];
        return place;
    }
    void join(std::uint32_t a, std::uint32_t b) {
        a = first(a);
        b = first(b);
        if (a != b) parents_[std::max(a, b)] = std::min(a, b);
    }
    std::vector<std::uint32_t> take() {
        for (std::uint32_t& parent : parents_) parent = parents_[parent];  // parents come first
        return std::move(parents_);
    }

  private:
    std::vector<std::uint32_t> parents_;
};

/// Hash of an image, and the place of the image.
struct Item {
    std::uint64_t hash;
    std::uint32_t place;
};

/// Hashes as a list, and room for as many.
struct Items {
    Item *begin, *end, *room;

    std::size_t size() const { return static_cast<std::size_t>(end - begin); }
};

constexpr std::uint64_t every_bit = ~std::uint64_t{0};

/// Bits that one pass of the sort uses.
constexpr int digit_bits = 11;

/// Sorts hashes so that hashes with equal bits under a mask are adjacent. The sort is stable.
void gather(const Items& items, std::uint64_t mask) {
    if (items.size() < 2048) {  // fewer than a pass has counters
        std::stable_sort(items.begin, items.end,
                         [&](const Item& a, const Item& b) { return (a.hash & mask) < (b.hash & mask); });
        return;
    }
    Item *from = items.begin, *to = items.room;
    while (mask != 0) {
        const int shift = std::countr_zero(mask);
        const std::uint64_t digit = mask >> shift & ((1u << digit_bits) - 1);
        std::array<std::size_t, std::size_t{1} << digit_bits> places{};
        for (std::size_t i = 0; i < items.size(); ++i) ++places[from[i].hash >> shift & digit];
        std::size_t place = 0;
        for (std::size_t& count : places) place += std::exchange(count, place);
        for (std::size_t i = 0; i < items.size(); ++i) to[places[from[i].hash >> shift & digit]++] = from[i];
        mask &= ~(digit << shift);
        std::swap(from, to);
    }
    if (from != items.begin) std::copy(from, from + items.size(), items.begin);
}

/// Calls function(run) for each run of hashes with equal bits under a mask.
template <class Function>
void for_runs(const Items& items, std::uint64_t mask, const Function& function) {
    for (Item* begin = items.begin; begin != items.end;) {
        Item* end = begin + 1;
        while (end != items.end && ((end->hash ^ begin->hash) & mask) == 0) ++end;
        function(Items{begin, end, items.room + (begin - items.begin)});
        begin = end;
    }
}

/// Number of ways to choose some of n.
constexpr double choices(int n, int chosen) {
    double ways = 1;
    for (int i = 1; i <= chosen; ++i) ways = ways * (n - chosen + i) / i;
    return ways;
}

/// The blocks into which some bits are cut, as masks.
std::vector<std::uint64_t> blocks_of(std::uint64_t bits, int count) {
    std::vector<std::uint64_t> blocks(static_cast<std::size_t>(count));
    const int all = std::popcount(bits);
    for (int i = 0; bits != 0; ++i, bits &= bits - 1)
        blocks[static_cast<std::size_t>(i * count / all)] |= bits & (~bits + 1);
    return blocks;
}

/// Joins hashes that differ in few bits.
class Search {
  public:
    Search(Sets& sets, int distance) : sets_(sets), distance_(distance) {}

    /// Hashes that are not equal.
    void among(const Items& items) {
        if (items.size() > 16 && joined(items)) return;
        std::uint64_t bits = 0;  // that differ
        for (const Item* item = items.begin; item != items.end; ++item) bits |= item->hash ^ items.begin->hash;
        const int width = std::popcount(bits);
        if (width <= distance_) return join_all(items);
        const int agreeing = blocks_that_agree(items.size(), width);
        if (agreeing == 0) return compare_all(items);
        const std::vector<std::uint64_t> blocks = blocks_of(bits, distance_ + agreeing);
        choose(items, blocks, 0, agreeing, 0);
    }

  private:
    /// Nanoseconds to compare two hashes, and to bring one to its place in a pass of the sort.
    static constexpr double compare_cost = 1.5, move_cost = 8;

    /// Number of blocks, in addition to those that may differ, for which the search is quickest; 0: all pairs are
    /// compared.
    int blocks_that_agree(std::size_t items, int width) const {
        const auto n = static_cast<double>(items);
        double least = n / 2 * compare_cost;
        int best = 0;
        for (int agreeing = 1; agreeing <= 4 && distance_ + agreeing <= width; ++agreeing) {
            const int equal_bits = width * agreeing / (distance_ + agreeing);
            double run = n;  // hashes that come together, of random ones
            for (int i = 0; i < equal_bits; ++i) run /= 2;
            const double passes = static_cast<double>((equal_bits + digit_bits - 1) / digit_bits + 1),
                         cost = choices(distance_ + agreeing, agreeing) * (passes * move_cost + run / 2 * compare_cost);
            if (cost < least) {
                least = cost;
                best = agreeing;
            }
        }
        return best;
    }

    /// Chooses blocks from `next` on in all ways, after those of `mask`.
    void choose(const Items& items, const std::vector<std::uint64_t>& blocks, std::size_t next, int agreeing,
                std::uint64_t mask) {
        if (agreeing == 0) {
            gather(items, mask);
            for_runs(items, mask, [&](const Items& run) {
                if (run.size() > 1) among(run);
            });
            return;
        }
        for (std::size_t i = next; i + static_cast<std::size_t>(agreeing) <= blocks.size(); ++i)
            choose(items, blocks, i + 1, agreeing - 1, mask | blocks[i]);
    }

    bool joined(const Items& items) {
        const std::uint32_t first = sets_.first(items.begin->place);
        return std::all_of(items.begin + 1, items.end,
                           [&](const Item& item) { return sets_.first(item.place) == first; });
    }
    bool near(std::uint64_t a, std::uint64_t b) const {
        std::uint64_t left = a ^ b;
        for (int i = 0; i < distance_; ++i) left &= left - 1;
        return left == 0;
    }
    void compare_all(const Items& items) {
        for (const Item* a = items.begin; a != items.end; ++a)
            for (const Item* b = a + 1; b != items.end; ++b)
                if (near(a->hash, b->hash)) sets_.join(a->place, b->place);
    }
    void join_all(const Items& items) {
        for (const Item* item = items.begin; item != items.end; ++item) sets_.join(items.begin->place, item->place);
    }

    Sets& sets_;
    const int distance_;
};

/// Joins images with equal pixels.
void join_equal(const std::vector<Hash128>& pixels, Sets& sets) {
    std::vector<std::uint32_t> places(pixels.size());
    std::iota(places.begin(), places.end(), 0u);
    std::sort(places.begin(), places.end(), [&](std::uint32_t a, std::uint32_t b) { return pixels[a] < pixels[b]; });
    for (std::size_t i = 1; i < places.size(); ++i)
        if (pixels[places[i]] == pixels[places[i - 1]]) sets.join(places[i - 1], places[i]);
}

/// Joins images with near hashes.
void join_near(const std::vector<std::uint64_t>& hashes, int distance, Sets& sets) {
    std::vector<Item> items;
    items.reserve(hashes.size());
    for (std::size_t i = 0; i < hashes.size(); ++i)
        if (hashes[i] != 0) items.push_back({hashes[i], static_cast<std::uint32_t>(i)});
    std::vector<Item> room(items.size());
    gather({items.data(), items.data() + items.size(), room.data()}, every_bit);
    const auto last = std::unique(items.begin(), items.end(), [&](const Item& kept, const Item& next) {
        if (kept.hash != next.hash) return false;
        sets.join(kept.place, next.place);
        return true;
    });
    items.erase(last, items.end());
    if (distance > 0 && items.size() > 1)
        Search(sets, distance).among({items.data(), items.data() + items.size(), room.data()});
}

}  // namespace

std::vector<std::uint32_t> group_duplicates(const std::vector<Hash128>& pixels,
                                            const std::vector<std::uint64_t>& hashes, int distance) {
    if (!hashes.empty() && hashes.size() != pixels.size())
        throw InvalidArgument("duplicates: " + std::to_string(hashes.size()) + " hashes of " +
                              std::to_string(pixels.size()) + " images");
    if (pixels.size() >= std::numeric_limits<std::uint32_t>::max())
        throw InvalidArgument("duplicates: more than 2^32 - 2 images");
    if (distance < 0 || distance > most_distance)
        throw InvalidArgument("duplicates: the distance " + std::to_string(distance) + " is not from 0 to " +
                              std::to_string(most_distance));
    Sets sets(pixels.size());
    join_equal(pixels, sets);
    join_near(hashes, distance, sets);
    return sets.take();
}

}  // namespace gpuhist
