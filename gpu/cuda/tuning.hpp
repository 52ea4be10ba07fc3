// Launch shapes, with what was measured when they were chosen: NVIDIA H200, 2026-11-20 to 23, 1 GiB of pixels, as a
// fraction of the read-only sweep in the same run (4360 to 4650 GB/s).
#pragma once

#include <cstdint>

namespace gpuhist::cuda {

/// One block of 1024 threads fills its multiprocessor's warps and shares one set of counters; of grey u8, whose
/// counters are small, two.
///   u8 grey  2 × 1024 threads, 2 loads a thread  0.985   1 × 1024, 4 loads  0.961   4 × 512, 4 loads  0.960
///            on another day  2 loads  0.962 to 0.971     3 loads  0.968 to 0.976
///            the last eighth in turns (sweep_in_turns)   0.978 for 0.972
///   u8 BGR   1 × 1024, one group ahead           0.92    2 × 1024           0.79    2 × 768          0.85   2 × 512
///   0.89
inline constexpr int block_threads = 1024;

/// Of a batch's images, each of which is one block's: as many blocks a multiprocessor as its rows of counters, 32 KiB
/// each, leave room for, so that one counts while another gathers. Two blocks of three rows that keep no more than
/// 1 KiB beside them leave 60 KiB of first-level cache, where loads arrive; with more they leave 28.
///   4096 × 224 × 224 BGR   three rows   2 × 384  0.75   2 × 352  0.73   2 × 448  0.70 (registers spilled)
///                          four (luma)  1 × 640  0.65   1 × 800  0.62
///   Three rows came to that in turns: 193 µs; luma of four pixels at a time 189.5; the next image's first groups
///   brought into L2 while one is gathered 184; one division fewer before the first load 180; by a constant 176.5.
///   Before:                three rows   2 × 384  0.69   2 × 352  0.68   2 × 448  0.67
///                          four (luma)  1 × 640  0.61   1 × 768  0.60   1 × 1024  0.60
///                          addresses by multiplication, three rows: 2 × 384  0.66, with 28 KiB of cache  0.64
///                                       2 × 416  0.62   1 × 640  0.59   1 × 800  0.58
///                          counters cleared and summed up as 64 bits besides: 2 × 384  0.60, of four rows  0.48
///                    grey, the same: 4 × 256  0.71   2 × 512  0.57   2 × 384  0.60
constexpr int batch_threads_of(int rows) {
    return rows == 1 ? 256 : rows <= 3 ? 384 : 640;
}
constexpr int batch_blocks(int rows) {
    return rows == 1 ? 4 : rows <= 3 ? 2 : 1;
}

/// The most that are resident of any other kernel: more, smaller ones were slower.
inline constexpr int blocks_per_multiprocessor = 2;

/// Pixels that are worth a block: fewer blocks than the GPU holds are launched for small images, since every block must
/// clear and merge its counters. A photograph, µs:
///   u8 BGR, copy     1 MB 16384 pixels 12.9, 8192 11.7, 4096 11.8       2 MB 13.3, 12.0, 12.2       grey no difference
///   f32 brief, analysis; that it fits in a Tile follows from it
///     grey    0.5 MB 16384 pixels 15.5, 8192 14.3, 4096 14.0, 2048 13.5   2 MB 15.7, 14.6, 14.9, 15.0
///     BGR     1 MB   16384 pixels 32.4, 8192 32.5, 4096 22.5, 2048 20.9   4 MB 34.4, 34.3, 23.3, 23.8
///     BGRA    1 MB   16384 pixels 42.5, 8192 42.5, 4096 42.5, 2048 23.8   7 MB 44.2, 40.2, 35.6, 28.9
///   f32 full, analysis; the more blocks, the more counts are added up (H100)
///     grey    0.5 MB 8192 pixels 54, 4096 50   1 MB 53, 51   2 MB 54, 59   4 MB 65, 66   8 MB 74, 74   16384: 1 MB 64
///     BGR     0.5 MB 8192 pixels 81, 4096 67   1 MB 73, 69   2 MB 76, 78   4 MB 90, 89   8 MB 100, 100  2048: 1 MB 75
inline constexpr std::int64_t u8_pixels_per_block = 8 * 1024;
constexpr std::int64_t float_pixels_per_block(int channels, bool full) {
    if (full) return channels == 1 ? 8 * 1024 : 4 * 1024;
    return channels == 1 ? 4 * 1024 : 2 * 1024;
}
/// u16: lists' images up to this are one block's. Others, and single images, are shared by all blocks, however small,
/// since all then add up what few have counted. A single photograph, by so many pixels a block and by all, µs:
///   grey  0.5 MB  65536 pixels 109, 32768 62, 16384 37, 8192 29, all 21       4 MB 35, 27, 26, 23, 23
///   BGR   0.5 MB  65536 pixels 333, 32768 240, 16384 147, 8192 98, all 38     4 MB 110, 72, 53, 43, 43
///   One block alone takes 29 µs for 10,000 pixels of grey, 57 with a normalised copy.
inline constexpr std::int64_t u16_pixels_alone = 64 * 1024;

/// u16 BGR with luma counted: of 32 blocks, those that count the two rows which are less work. Random, natural,
/// constant, two values:
///   12  0.34 0.30 0.36 0.27   14  0.38 0.36 0.50 0.29   15  0.39 0.36 0.46 0.27   16  0.36 0.33 0.41 0.26
inline constexpr int lighter_role_blocks = 14;

/// Rounds of a Tile that are on their way together: more of them come more slowly. And how much of an image it is to
/// hold, at least: with it there is less first-level cache for the rest, which BGR's loads of 48 bytes make use of.
///   u8 grey, 2, 6, 12, 18, 25 MB, with nothing but this in the kernel
///            3   9.7 11.8 16.4 19.5 21.5 µs      4  10.0 11.8 16.5 19.7 21.5      6   9.9 11.8 17.3 20.5 21.5
///            12 10.4 12.2 17.7 22.3 23.8         without a tile  10.6 12.7 16.5 19.7 24.8
///   The copy engine, a round a copy: 3 on their way 10.3 12.6 17.2 20.5 22.5, all of them 10.2 12.5 17.4 20.5 23.0
///   at no boundary of 32 bytes, in the kernel as it is                      10.4 12.7 16.7 20.0 23.7
///   60 MB, of which a tile holds 0.4 (grey) and 0.2 (BGR): 52.8 for 55.6 and 56.6 for 57.2; 536 MB of BGR 412 for 400
///   u16 and f32, without a tile and with one. f32, brief, keeps whole images alone; u16 grey, whose counters take 128
///   KB, what there is room for; colours of u16, whose rings fill the rest, nothing.
///     u16 grey, copy          2, 8, 12, 18, 24 MB   53.2 40.6 41.5 45.2 50.9 -> 52.9 38.2 38.1 40.2 46.4 µs
///       then by all blocks, see u16_pixels_alone   24.9 30.2 34.4 40.1 47.1
///     f32 grey, analysis      2, 8, 12, 18, 24 MB   19.3 22.3 25.3 29.0 32.1 -> 15.8 17.6 19.4 21.8 24.8
///     f32 grey, copy          2, 8, 12, 18, 24 MB   26.2 30.3 36.6 44.0 49.6 -> 20.4 23.6 26.6 32.0 36.8
///     f32 BGR, analysis; copy          1, 4, 8 MB   32.4 34.4 34.7; 44.5 48.0 49.7 -> 20.9 23.8 26.6; 25.6 31.1 36.6
///     u16 BGR brought back from L2 into what counters took while the blocks add these up, copy
///                             2, 8, 12, 18, 24 MB   51.2 65.5 72.1 79.2 82.7 -> 48.0 63.5 70.4 79.5 85.6
///     u16 grey so, for what it takes kept           26.4 31.9 35.5 41.5 48.0
inline constexpr int tile_rounds_ahead = 3, least_part_of_tile = 8;

/// Threads of a block of f32. Brief: few, so that a thread has registers for many groups that are on their way
/// together, see extremes_unroll and detail_unroll.
///   brief grey 640 threads 0.453, 512 0.450, 768 0.449     BGR 512 threads 0.404, 384 0.394, 640 0.381
///   full grey 1024 threads 0.195, 768 0.183                BGR 768 threads 0.105, 640 0.096
constexpr int float_threads_of(int channels, bool full) {
    return full ? (channels == 1 ? 1024 : 768) : (channels == 1 ? 640 : 512);
}

/// Speculation of brief f32 analyses: one of so many pixels is sampled, an odd number so that images of common widths
/// are sampled in all columns, in so many parts; images without one, at most, after one that was of no use; width of a
/// window, at most, of a bin; images that L2 does not hold for a second sweep, and those of which listing what lies in
/// windows is worth it. 1 GiB, random, photograph and two values, µs:
///   every 23rd pixel   grey 313 323 296    BGR 424 452 377        none   grey 512 511 288    BGR 561 560 366
inline constexpr int sample_every = 23, sample_parts = 32;
inline constexpr std::uint32_t most_backoff = 15;
inline constexpr double most_window = 0x1p-8;
constexpr std::int64_t sampled_pixels(int channels) {
    return (std::int64_t{1} << 24) / channels;
}
constexpr std::int64_t listed_pixels(int channels) {
    return (std::int64_t{1} << 26) / channels;
}

/// Clustered are f32 images in which more than one of so many samples of a row lie under the high digits that are
/// wanted, and have many different values: two values 1.33 ms for 2.06 where these are not asked for.
inline constexpr int clustered_part = 6;
inline constexpr std::uint32_t middle_digits = 1024, lows_of_middle = 65536 / middle_digits;

/// Groups of a thread of f32 that are on their way together when the normalized copy is written, 512 MiB:
///   grey  4  558 µs, 2  587, 6  564        BGR  6  604 µs, 4  624, 8  608
constexpr int apply_unroll_of(int channels) {
    return channels == 3 ? 6 : 4;
}

/// u16 grey: groups of a thread from which on the unrolled loop is worth fetching its instructions. 24 MB, 11 groups,
/// normalised: 50.9 µs with it, 55.8 without.
inline constexpr int few_groups = 16;

// What else was tried, and lost:
//   one image as a stretch a block instead of dealt in turn     u8 grey 0.952 to 0.966 for 0.985
//   the last, partial round shared evenly by all blocks         no difference
//   prefetch.global.L2 of the first rounds                      1 µs slower: issuing them delays the clearing
//   cp.async.bulk.prefetch.L2 of three rounds ahead             u8 0.58 for 0.89: it carries less than the loads do
//   one copy of the loop's body for full and partial rounds     u8 BGR 0.84 for 0.86, u16 0.47 for 0.53
//   loads through the read-only path (ld.global.nc)             sunk to their first use by ptxas, one in flight
//   generic instead of 32-bit shared addresses                  u16 0.37 for 0.45
//   u8: the last eighth in turns elsewhere                BGR 0.945, 0.951 and 0.967 for 0.955: as the compiler
//                                                           happens to lay it out; a normalised grey image 24 MB
//                                                           24.4 µs for 23.8, 512 MiB 396 for 398
//   u8: all of it in turns                                grey 0.974 for 0.966, BGR 0.91 for 0.957
//   u8: the last eighth by one counter for all blocks     grey 0.92 to 0.95 for 0.972, BGR 0.90 to 0.94 for 0.957
//   f32: what is summed up counted in sweep 1 under a power of two that the sample foretells, bins alone in sweep 2
//                                                           grey 548 µs for 526, BGR 674 and more for 607: the sums
//                                                           alone keep a sweep busy for 395
//   f32: groups in a ring of registers, each loaded anew    BGR 636 to 678 µs for 600, grey 524 to 543 for 520: rows
//        as soon as it is looked at                         of four samples at a time leave too little side by side
//   f32: squares summed from a constant, four at a time     BGR 594 to 615 µs for 593, two values 428 to 445 for 421;
//                                                           grey no difference
//   f32 BGR: 384 threads of 4 or 5 groups                   577 to 585 µs for 567, two values 442 to 462 for 425,
//                                                           24 MB 45 to 48 for 48; 448 of 3, 320 of 6, 256 of 8 worse
//   f32: groups looked at one by one loaded one ahead       no difference
//   f32: the last eighth in turns                         grey 0.451 for 0.450, BGR 0.375 for 0.392
//   u16: the same                                         grey 0.63 for 0.655
//   programmatic dependent launch                         u8 grey 0.968 for 0.971, BGR 0.960 for 0.956, 24 MB
//                                                           normalised 23.2 µs for 23.9; u16 and f32 no difference
//   u8 batch: its first groups loaded into registers        214 µs for 189.5, 32 bytes of which are spilled
//   u8 batch: loads that pass by the first-level cache      214 µs for 189.5: each sector comes twice
//   u8 batch: two rounds of groups into L2; earlier         184 µs; 196
//   u8 batch: images of one row and of many by one kernel   192 µs for 177: of warps that may part in calls between
//                                                           which they choose it is not known that they stay together
//   u8 BGR: two groups in turn, so that none is copied      245 instructions for 228: sums of addresses at each sample
//   16 instead of 32 columns in twice as many blocks        4096 × 224 × 224 BGR 0.55 for 0.60; additions alone come
//                                                           to 15 lanes a clock and multiprocessor for 22
//   u16: each addition's overflow looked for before the next    0.45 for 0.53
//   u16: a value's bank by its lowest bits alone            8-bit data << 8 at 0.11 for 0.75, without the merging
//   u16: crowds found by votes, a leader adds for its warp  two values 0.46 for 0.54
//   u16 BGR: counters of 6 bits, all four rows in a block   0.42, but few values 0.18
//   u16 BGR: three rows a block, luma added up              0.39
//   u16 BGR: more blocks, side by side, for the row with luma 0.20 for 0.28
//   u16 BGR: loads into registers, not by the copy engine   0.29 for 0.35
//   u16 BGR: a ring a block, not a warp                     0.35 for 0.37
//   u16 BGR: shifts not modulo 32                           0.35 for 0.37; but of grey 0.65 for 0.56
//   u16 BGR: one row and many by one kernel                 661 µs for 612, one value 514 for 470
//   u16 grey: loads by the copy engine                      0.58 for 0.65
//   f32: loads by the copy engine, 512 to 4096 bytes a warp grey 0.20 to 0.435 for 0.45, BGR 0.26 to 0.36 for 0.39
//   what is left of a thread's groups loaded together       24 MB: f32 74.6 µs for 57.6, u16 grey 68.4 for 59.4
//   f32: the next round loaded ahead of this one            spilled: 0.28 for 0.40
//   f32: a ring in shared memory, filled by cp.async        second sweep alone: grey 0.74 for 0.84, BGR 0.51 for 0.55
//   f32: Σx split like Σx², three additions more a sample   BGR 0.34 for 0.36, grey no difference
//   f32: the last eighth taken by warps as they come        grey 0.41 for 0.43, BGR 0.37 for 0.38: one counter for all
//   the last sixteenth so, each chunk asked for one ahead   f32 grey no difference, BGR 0.378 for 0.382, u8 BGR 0.94
//                                                           for 0.97
//   f32: each block gathers its bins from another one on    BGR 0.388 for 0.392, 24 MB 65.4 µs for 59.8
//   f32: counters cleared before the barrier                no difference: code is waited for, not the clearing
//   f32: plan and quotients run ahead by a warp that has    24 MB 52.5 µs for 49.4, 1 GiB no difference
//        time, so that their code is near when all wait
//   u8: copies made from the end of the image backwards     512 MiB no difference, 24 MB 2.05 for 1.97
//   u16: copies not made backwards                          512 MiB 2.33 for 2.29, 24 MB 4.22 for 4.15 (BGR, grey)
//   f32: one kernel for brief and full                      24 MB 48.8 µs for 45.0, 1 GiB grey 0.441 for 0.445
//   f32: squares as integers modulo 2^64 beside a sum that   BGR 585 µs for 576, two values 416 for 425; grey 513
//        is rounded: half the operations in double precision   for 510, two values 312 for 291
//   the same, a group at a time, each loaded anew as soon    BGR 4 % longer at ncu's clocks, grey 523 µs for 518
//        as it was looked at
//   f32 BGR: floats widened by integer operations           no difference
//   f32 brief too told whether the step before was idle     BGR 593 µs for 585, 24 MB 52 for 47
//   f32 BGR: 32 KB less of shared memory set aside          no difference
//   f32 BGR, brief: two of the four rows a warp, another    591 to 681 µs for 552, two values 401 to 476 for 358,
//        warp reading the same pixels for the others          24 MB 49 for 43
//   f32 BGR: small samples looked for in three rows at once 0.32 for 0.35, both of 640 threads: spilled
//   f32 BGR: small samples not looked for (an eighth fewer  0.400 for 0.397: the issue slots do not bound it
//        instructions, and wrong)
//   f32 BGR: squares summed in two chains a row             0.36 for 0.39: spilled
//   f32 BGR: luma's order of channels chosen once a row     0.390 for 0.397
//   f32: additions to counts told that they lead to device  BGR 595 µs for 585, 24 MB 52 for 46; grey no difference.
//        memory by __isGlobal; by global_add they gain       f32 brief 1, 4, 8 MB by it: BGR 19.4, 22.1 and 24.0 µs for
//                                                           21.5, 23.8 and 25.9, grey 14.3, 15.7, 16.7 for 14.7, 16.6,
//                                                           17.6; with sums merged from registers 17.3, 18.7, 20.3 and
//                                                           14.4, 15.2, 16.3
//   f32 brief: sums merged so, but straight through         BGR 19.9, 21.5 and 23.2 µs, grey 14.6, 15.3 and 16.1
//        instead of by calls, see merge_lanes
//   f32 brief: counters cleared while a Tile's first        no difference
//        rounds are on their way
//   u16: a block's sums added to the image's by global_add  no difference
//   prefetch.global.L2 of a thread's next groups            f32 grey 0.434 for 0.451, BGR no difference, u8 grey 0.86
//                                                           for 0.97, u16 grey 0.64 for 0.80 of one value
//   the same by a load of a word a line                     f32 grey 0.31, BGR 0.30
//   u8, u16: samples mapped in 3 or 4 groups together       no difference
//   24 MB of f32 kept in shared memory for the copy, stored   grey 67.3 (68.4) for 59.6, BGR 97.6 (92.5) for 84.5
//        there by the threads that count it (half as much
//        in brackets)
//   f32: a minmax copy written along with sweep 2, a few    512 MiB grey 818 to 884 µs for 558, BGR 911 and more for
//        groups a thread at a time, while they are in L2    610; 24 MB 65 for 59, 93 for 84
//   f32: a minmax copy written after sweep 2 without a      24 MB grey 56.7 µs for 58.0, BGR 84.0 for 83.6; 512 MiB
//        barrier, from the extremes of sweep 1              grey 559 for 561, BGR 622 for 609
//   u16: minmax lines found in the blocks' counters before  24 MB grey 57.4 for 55.6, BGR 76.5 for 79.1; 512 MiB grey
//        these are added up, so that no block waits for it  470 for 469, BGR 573 for 577
//   regions, 257 of 321 pixels: groups and the pixels       u8 BGR 271 µs for 261, u16 grey 575 for 409, u16 BGR 790
//        that none holds in turns, so that L2 still has       for 671, f32 grey 505 for 519, BGR 571 for 504
//        these
//   u8 grey so; in bands of 8, 16 and 32 pieces a thread    390 µs for 384; 392, 379 and 358 for 330 (of 320); by
//                                                           groups that cover the rows 256
//   u16 grey by groups that cover the rows                  421 µs for 410, 7001 of 8192 pixels 367 for 362
//   f32 full, 1 and 24 MB, H100: order statistics by a      grey 104 and 163 µs for 57 and 106, BGR 119 and 194 for 73
//        block a high half, ranks by one thread, middles      and 140; many values under the halves wanted 220 and 303
//        cleared by one block                                 for 84 and 163, BGR 295 and 397 for 106 and 196
//   f32 full: middles summed up by lines, as high halves    a rank's is found 1.5 µs later, 1 MB 56 for 54; many
//        are in locate.cuh                                    values under the halves wanted, 8 MB, 123 for 127
//   copies stored as what L2 may drop first (st.global.cs)  u8 grey 24 MB 23.3 for 23.8, 512 MiB 401 for 399, BGR
//                                                           27.4 for 28.2, 404.5 for 402.7; u16, f32 no difference

}  // namespace gpuhist::cuda
