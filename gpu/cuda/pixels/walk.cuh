// Walks: the places of a thread's loads, one after the other.
#pragma once

#include "cuda/block/reduce.cuh"
#include "cuda/pixels/validity.cuh"

namespace gpuhist::cuda {

/// Quotient of numbers that are not negative: under 2^32, as most are, in a tenth of the time.
__device__ inline std::int64_t divide(std::int64_t number, std::int64_t by) {
    if (((number | by) >> 32) == 0) return static_cast<std::uint32_t>(number) / static_cast<std::uint32_t>(by);
    return number / by;
}

/// Work partition: one thread's units of an image, first, first + step, … before `last`. `begin`: the first unit of all
/// threads' partitions.
struct WorkPartition {
    std::int64_t first, last, step, begin = 0;

    __device__ int count() const { return first < last ? static_cast<int>(divide(last - first + step - 1, step)) : 0; }
    /// Partition of the units' items, groups or pixels, dealt as the units are. `before(unit)`: items before a unit.
    template <class Before>
    __device__ WorkPartition of(const Before& before) const {
        const std::int64_t from = before(begin);
        return {from + first - begin, before(last), step, from};
    }
};

/// Partition of units that are dealt in turn to the threads of `blocks` blocks, this one with the given rank.
__device__ inline WorkPartition dealt(std::int64_t units, int rank, int blocks) {
    return {static_cast<std::int64_t>(rank) * blockDim.x + threadIdx.x, units,
            static_cast<std::int64_t>(blocks) * blockDim.x};
}

/// Walk through a partition of the groups of an image that is in_one_row.
template <typename T, int C>
struct RowWalk {
    using G = Group<T, C>;
    const char* at;
    std::int64_t x;
    int step_bytes, x_step;

    __device__ RowWalk(const Image& image, int head, const WorkPartition& partition) {
        const int step = static_cast<int>(partition.step);
        x = head + partition.first * G::pixels;
        at = static_cast<const char*>(image.data) + x * static_cast<std::int64_t>(sizeof(T) * C);
        step_bytes = step * G::bytes;
        x_step = step * G::pixels;
    }
    __device__ Place place() const { return {at, 0, x}; }
    /// Whether this group lies apart from that of the lane before, and how many lie side by side from here, at most.
    __device__ bool apart() const { return false; }
    __device__ int side_by_side() const { return warp_lanes; }
    __device__ void next() {
        at += step_bytes;
        x += x_step;
    }
};

/// Walk through items of `bytes` bytes; every row of an image has `each` side by side.
struct RowsWalk {
    int each, item, item_step;
    std::int64_t y, y_step;
    const char* at;
    std::int64_t step_bytes, wrap_bytes;

    __device__ RowsWalk(const Image& image, int each, int bytes, std::int64_t first, std::int64_t step) : each(each) {
        y = divide(first, each);
        item = static_cast<int>(first - y * each);
        y_step = divide(step, each);
        item_step = static_cast<int>(step - y_step * each);
        at = static_cast<const char*>(image.data) + y * image.row_bytes + std::int64_t{item} * bytes;
        step_bytes = y_step * image.row_bytes + std::int64_t{item_step} * bytes;
        wrap_bytes = image.row_bytes - std::int64_t{each} * bytes;
    }
    __device__ void next() {
        item += item_step;
        y += y_step;
        at += step_bytes;
        if (item >= each) {
            item -= each;
            ++y;
            at += wrap_bytes;
        }
    }
};
/// Walk through groups: `at` is as if rows began with one.
template <typename T, int C>
struct GroupsWalk : RowsWalk {
    using G = Group<T, C>;
    __device__ GroupsWalk(const Image& image, int each, std::int64_t first, std::int64_t step)
        : RowsWalk(image, each, G::bytes, first, step) {}
    __device__ Place place() const {
        const int head = Boundaries<T, C>::head(at);  // as the row's, since groups are whole 16 bytes
        return {at + head * static_cast<int>(sizeof(T) * C), y, head + std::int64_t{item} * G::pixels};
    }
    __device__ bool apart() const { return item == 0; }
    __device__ int side_by_side() const { return each - item; }
};
/// Walk through the pixels that no group holds: `groups` groups lie somewhere between them, or none.
template <typename T, int C>
struct RestWalk : RowsWalk {
    using G = Group<T, C>;
    static constexpr int pixel_bytes = sizeof(T) * C;
    int groups;

    __device__ RestWalk(const Image& image, int groups, int each, std::int64_t first, std::int64_t step)
        : RowsWalk(image, each, pixel_bytes, first, step), groups(groups) {}
    __device__ Place place() const {
        const bool behind = item >= Boundaries<T, C>::head(at - std::int64_t{item} * pixel_bytes);
        const std::int64_t between = behind ? groups : 0;
        return {at + between * G::bytes, y, item + between * G::pixels};
    }
};

/// Walk through the groups that cover a row of one channel, wherever it begins: the first and the last hold samples of
/// others too, or none of the row. `at` is as if rows began with one.
template <typename T>
struct CoverWalk : RowsWalk {
    using G = Group<T, 1>;
    __device__ CoverWalk(const Image& image, int each, std::int64_t first, std::int64_t step)
        : RowsWalk(image, each, G::bytes, first, step) {}
    __device__ Place place() const {
        const unsigned before = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(at)) % G::bytes;
        return {at - before, y, item * G::pixels - static_cast<int>(before / sizeof(T))};
    }
};

}  // namespace gpuhist::cuda
