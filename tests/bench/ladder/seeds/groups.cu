// Cooperative groups: what a group says of itself and of its threads, tiles of tiles, and what tiles can do that plain
// groups cannot.

#include <cooperative_groups.h>

#include "bench/ladder/ladder.cuh"
#include "bench/ladder/seeds/exact.hpp"
#include "bench/ladder/seeds/seeds.cuh"
#include "bench/ladder/seeds/seeds.hpp"

namespace gpuhist::bench::ladder::seeds {
namespace {

namespace cg = cooperative_groups;

constexpr int plane_pixels = plane_width * plane_height;

/// Planes of the image, one pixel per thread: a block for each, or as many blocks as the GPU holds.
template <class... Parameters>
void launch_planes(const Call& call, void (*kernel)(Parameters...), std::size_t words, bool block_for_each) {
    clear(call, call.answer, words * sizeof(Word));
    const std::int64_t planes = (call.image.samples() + plane_pixels - 1) / plane_pixels;
    const std::int64_t blocks =
        block_for_each ? planes : std::min<std::int64_t>(planes, resident_blocks(kernel, plane_pixels));
    kernel<<<static_cast<unsigned>(blocks), dim3(plane_width, plane_height), 0, call.stream>>>(
        pixels_of(call), call.image.samples(), call.answer);
    LADDER_CUDA(cudaGetLastError());
}

/// A thread's pixel in a plane, by what the block's group says: threads are numbered row by row.
__device__ unsigned pixel_of(const cg::thread_block& block, std::int64_t plane, const std::uint8_t* pixels,
                             std::int64_t count) {
    const std::int64_t i = plane * block.size() + block.thread_rank();
    return i < count ? pixels[i] : 0;
}

/// Planes that fall to a block: all its threads call `visit(their pixels)` together.
template <class Visit>
__device__ void for_each_plane(const cg::thread_block& block, const std::uint8_t* pixels, std::int64_t count,
                               Visit visit) {
    const std::int64_t planes = (count + plane_pixels - 1) / plane_pixels;
    for (std::int64_t plane = blockIdx.x; plane < planes; plane += gridDim.x)
        visit(pixel_of(block, plane, pixels, count));
}

template <int Words>
__device__ void add_up(const Word (&sums)[Words], Word* answer) {
    // reduce_block is of blocks in one dimension, as the trees here are: a warp's sum, and one atomic each.
#pragma unroll
    for (int k = 0; k < Words; ++k) {
        const Word sum = reduce_warp(sums[k], Sum{});
        if (threadIdx.x == 0) atomicAdd(answer + k, sum);
    }
}

/// Pixels times each member of a thread_block and of the thread_group that it is; last the pixel of the thread at the
/// other end of the block, which is there after the group's sync. Launch: one thread per pixel.
__global__ void members_kernel(const std::uint8_t* pixels, std::int64_t count, Word* answer) {
    __shared__ unsigned values[plane_width * plane_height];
    const cg::thread_block block = cg::this_thread_block();
    const cg::thread_group group = block;
    const unsigned value = pixel_of(block, block.group_index().x, pixels, count);
    values[group.thread_rank()] = value;
    group.sync();
    const unsigned other = values[group.size() - 1 - group.thread_rank()];
    const Word sums[] = {value * group.size(),
                         value * (group.thread_rank() + 1),
                         Word{value} * (block.group_index().x % 1021 + 1),
                         Word{value} * (block.thread_index().x + 1),
                         Word{value} * (block.thread_index().y + 1),
                         Word{other} * (block.thread_rank() + 1)};
    add_up(sums, answer);
}

void members(const Call& call) {
    launch_planes(call, members_kernel, 6, true);
}

/// The grid as a group: its rank and size deal out the pixels, and all of it waits before it says that it is valid.
/// Launch: a cooperative one.
__global__ void __launch_bounds__(many_threads)
    grid_kernel(const std::uint8_t* pixels, std::int64_t count, Word* answer) {
    const cg::grid_group grid = cg::this_grid();
    Word sum = 0;
    for (std::int64_t i = static_cast<std::int64_t>(grid.thread_rank()); i < count;
         i += static_cast<std::int64_t>(grid.size()))
        sum += pixels[i];
    sum = reduce_block(sum, Word{0}, Sum{});
    if (threadIdx.x == 0) atomicAdd(answer, sum);
    grid.sync();
    if (grid.thread_rank() == grid.size() - 1) answer[1] = grid.is_valid();
}

void grid_members(const Call& call) {
    clear(call, call.answer, 2 * sizeof(Word));
    const int blocks = blocks_for(grid_kernel, many_threads, 16 * call.image.samples());
    launch_cooperatively(call.stream, grid_kernel, blocks, many_threads, pixels_of(call), call.image.samples(),
                         call.answer);
}

/// Squares of the sums of tiles of 4, and of 32, said in groups whose size is known when the kernel runs: they have no
/// shuffles, and their threads meet in shared memory. Syncs: the tile's pixels are there, and have been read. Launch:
/// any grid of planes.
__global__ void dynamic_kernel(const std::uint8_t* pixels, std::int64_t count, Word* answer) {
    __shared__ unsigned values[plane_width * plane_height];
    const cg::thread_block block = cg::this_thread_block();
    const cg::thread_group g32 = cg::tiled_partition(block, 32);
    const cg::thread_group g4 = cg::tiled_partition(g32, 4);
    const auto rank = static_cast<unsigned>(block.thread_rank());
    const auto sum_of = [&](const cg::thread_group& group) {
        const auto first = rank - static_cast<unsigned>(group.thread_rank());
        Word sum = 0;
        if (group.thread_rank() == 0)
            for (unsigned k = 0; k < group.size(); ++k) sum += values[first + k];
        return sum * sum;
    };
    Word sums[2] = {};
    for_each_plane(block, pixels, count, [&](unsigned value) {
        values[rank] = value;
        g4.sync();
        sums[0] += sum_of(g4);
        g32.sync();
        sums[1] += sum_of(g32);
        g32.sync();
    });
    add_up(sums, answer);
}

void tiles_dynamic(const Call& call) {
    launch_planes(call, dynamic_kernel, 2, false);
}

/// Thread 0 of the tile gets the sum.
template <unsigned Size, class Parent>
__device__ unsigned sum_down(const cg::thread_block_tile<Size, Parent>& tile, unsigned value) {
    for (unsigned half = tile.size() / 2; half > 0; half /= 2) value += tile.shfl_down(value, half);
    return value;
}

/// Tiles of those sizes once more, which now the compiler knows. Launch: any grid of planes.
__global__ void static_kernel(const std::uint8_t* pixels, std::int64_t count, Word* answer) {
    const cg::thread_block block = cg::this_thread_block();
    const auto g32 = cg::tiled_partition<32>(block);
    const auto g4 = cg::tiled_partition<4>(g32);
    Word sums[2] = {};
    for_each_plane(block, pixels, count, [&](unsigned value) {
        const Word of_4 = sum_down(g4, value), of_32 = sum_down(g32, value);
        if (g4.thread_rank() == 0) sums[0] += of_4 * of_4;
        if (g32.thread_rank() == 0) sums[1] += of_32 * of_32;
    });
    add_up(sums, answer);
}

void tiles_static(const Call& call) {
    launch_planes(call, static_kernel, 2, false);
}

/// A tile's votes, which its thread 0 adds up, and its shuffles, which count as many times as a thread's rank and one.
template <class Tile>
__device__ void ask_tile(const Tile& tile, unsigned value, Word* sums) {
    const bool bright_pixel = value >= bright, first = tile.thread_rank() == 0;
    const unsigned ballot = tile.ballot(bright_pixel);
    const int all = tile.all(bright_pixel), any = tile.any(bright_pixel);
    const Word weight = tile.thread_rank() + 1;
    if (first) {
        sums[0] += ballot;
        sums[1] += static_cast<Word>(all);
        sums[2] += static_cast<Word>(any);
    }
    sums[3] += weight * tile.shfl(value, 1);
    sums[4] += weight * tile.shfl_up(value, 1);
    sums[5] += weight * tile.shfl_down(value, 1);
    sums[6] += weight * tile.shfl_xor(value, 1);
}

/// Launch: any grid of planes.
__global__ void tile_kernel(const std::uint8_t* pixels, std::int64_t count, Word* answer) {
    const cg::thread_block block = cg::this_thread_block();
    const auto g32 = cg::tiled_partition<32>(block);
    const auto g4 = cg::tiled_partition<4>(g32);
    Word sums[14] = {};
    for_each_plane(block, pixels, count, [&](unsigned value) {
        ask_tile(g4, value, sums);
        ask_tile(g32, value, sums + 7);
    });
    add_up(sums, answer);
}

void tile_votes(const Call& call) {
    launch_planes(call, tile_kernel, 14, false);
}

/// The article's reduce_cp: a tree in shared memory, and its last five steps by a tile's shuffles. `Xor`: every thread
/// of the tile gets the sum. Launch: one thread per pixel.
template <bool Xor>
__global__ void __launch_bounds__(tree_threads)
    tile_reduce_kernel(const std::uint8_t* pixels, std::int64_t count, Word* answer) {
    __shared__ unsigned values[tree_threads];
    const unsigned tid = threadIdx.x;
    const std::int64_t n = grid_rank();
    values[tid] = n < count ? pixels[n] : 0;
    __syncthreads();
    for (unsigned half = tree_threads / 2; half >= warp_lanes; half /= 2) {
        if (tid < half) values[tid] += values[tid + half];
        __syncthreads();
    }
    unsigned sum = values[tid];
    const auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    for (unsigned half = tile.size() / 2; half > 0; half /= 2)
        sum += Xor ? tile.shfl_xor(sum, half) : tile.shfl_down(sum, half);
    if (tid == 0) atomicAdd(answer, Word{sum});
}

template <bool Xor>
void tile_reduce(const Call& call) {
    clear(call, call.answer, sizeof(Word));
    launch(call, tile_reduce_kernel<Xor>, (call.image.samples() + tree_threads - 1) / tree_threads, tree_threads,
           pixels_of(call), call.image.samples(), call.answer);
}

}  // namespace

std::vector<Rung> group_rungs() {
    const auto rung = [](const char* name, const char* change, Answer (*answer)(const Image&),
                         void (*run)(const Call&)) {
        return Rung{"seeds", name, change, answer, run};
    };
    return {
        rung("group_members", "thread_group and thread_block: size, rank, indices, and sync in place of __syncthreads",
             exact::members, members)
            .with(&Rung::divisor, 4),
        rung("group_grid",
             "the grid as a group: its size and ranks deal out the pixels, and in a cooperative launch it waits for "
             "itself",
             exact::grid_members, grid_members),
        rung("tiles_dynamic", "blocks cut into tiles of 32, and these into 4, while the kernel runs: shared memory",
             exact::tiles, tiles_dynamic)
            .with(&Rung::divisor, 4),
        rung("tiles_static", "the same tiles in the types: the compiler knows their size, and they have shuffles",
             exact::tiles, tiles_static)
            .with(&Rung::divisor, 4),
        rung("tile_votes", "ballot, all, any and four shuffles of tiles of 4 and of 32, without masks",
             exact::tile_votes, tile_votes)
            .with(&Rung::divisor, 4),
        rung("tile_shfl_down", "the tree's last five steps by a tile's shfl_down", ladder::exact::sum,
             tile_reduce<false>),
        rung("tile_shfl_xor", "by its shfl_xor: as many steps, and the whole tile has the sum", ladder::exact::sum,
             tile_reduce<true>),
    };
}

}  // namespace gpuhist::bench::ladder::seeds
