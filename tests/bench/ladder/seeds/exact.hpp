// The seeds' answers, by plain loops on the host: nothing here is shared with the kernels but sizes.
#pragma once

#include "bench/ladder/exact.hpp"

namespace gpuhist::bench::ladder::seeds {

// What kernels and exact answers agree on.
inline constexpr int branch_steps = 64;                      ///< of the work in a branch
inline constexpr int bright_stretch = 256;                   ///< pixels among which a block looks for bright ones
inline constexpr int tree_threads = 128;                     ///< of a block of the articles, and so pixels of one
inline constexpr int utilization_blocks = 1024;              ///< whose threads add many pixels each
inline constexpr int plane_width = 32, plane_height = 4;     ///< threads of a block in two dimensions
inline constexpr int float_blocks = 10240;                   ///< that leave a partial sum of floats
inline constexpr int last_blocks = 256, last_threads = 256;  ///< of the float sum that the last block finishes
inline constexpr int listing_blocks = 32, listing_threads = 256;
inline constexpr int atomic_tile = 256;     ///< pixels that meet in a word
inline constexpr unsigned turns = 6;        ///< the bound at which atomicInc and atomicDec wrap
inline constexpr unsigned astray = 100;     ///< beyond that bound
inline constexpr int handed_pixels = 1024;  ///< of which a block's first warp sums one half, its second the other

namespace exact {

// u8
Answer branch_none(const Image& image);  ///< Σ of what work 0 makes of the pixels
Answer branch_by_warp(const Image& image);
Answer branch_by_lane(const Image& image);
Answer branch_one_side(const Image& image);
Answer bright_stretches(const Image& image);  ///< of stretches with a bright pixel Σ maxima; bright pixels; all bright
Answer ring(const Image& image);              ///< of 32 pixels: Σ of 31 products around, Σ of the first
Answer votes(const Image& image, unsigned mask);  ///< of 32 pixels, those in the mask: Σ ballots, all, any
template <unsigned Mask>
Answer votes(const Image& image) {
    return votes(image, Mask);
}
Answer widths(const Image& image);            ///< of 5 widths the four shuffles, weighted
Answer types(const Image& image);             ///< 8 times Σ of the next lanes' pixels
Answer utilization_tree(const Image& image);  ///< Σ, additions, steps of threads
Answer utilization_loop(const Image& image);
Answer members(const Image& image);          ///< Σ x · each of the members
Answer grid_members(const Image& image);     ///< Σ, valid
Answer tiles(const Image& image);            ///< Σ (Σ of 4)², Σ (Σ of 32)²
Answer tile_votes(const Image& image);       ///< of tiles of 4, and of 32: ballot, all, any, four shuffles
Answer four_times(const Image& image);       ///< 4 Σ
Answer weighted(const Image& image);         ///< Σ x · (k mod 256)² in the k-th 512 pixels
Answer squares(const Image& image);          ///< Σ x²
Answer sum_32(const Image& image);           ///< Σ mod 2^32
Answer counts(const Image& image);           ///< of tiles: Σ bright, Σ bright²
Answer count_pairs(const Image& image);      ///< of tiles: Σ bright², Σ others²
Answer lost(const Image& image);             ///< of 32 pixels: those with a bright one; bright pixels
Answer extremes(const Image& image);         ///< of tiles: Σ minima, Σ maxima, of x
Answer signed_extremes(const Image& image);  ///< of x − 128
Answer wide_extremes(const Image& image);    ///< of x · 2^33
Answer signed_wide_extremes(const Image& image);
Answer exchanges_wide(const Image& image);  ///< Σ x · 2^33 mod 2^64
Answer wraps(const Image& image);           ///< of tiles: Σ of two turns up, Σ of two down
Answer bits_32(const Image& image);         ///< of tiles: Σ and, Σ or, Σ xor, of 32 bits made from pixels
Answer bits_64(const Image& image);
Answer sequence(const Image& image);  ///< Σ of the words after the operations of testAtom, by one thread each

// f32, NaN taken as 0
Answer float_twice(const Image& image);       ///< bits of the sum in the order of the two calls
Answer float_last_block(const Image& image);  ///< bits of the sum in the order of blocks and last block

}  // namespace exact
}  // namespace gpuhist::bench::ladder::seeds
