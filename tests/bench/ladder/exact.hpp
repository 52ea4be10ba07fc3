// The answers, by plain loops on the host: nothing here is shared with the techniques.
#pragma once

#include "bench/ladder/ladder.hpp"

namespace gpuhist::bench::ladder::exact {

// u8
Answer sum(const Image& image);              ///< Σ
Answer four_quantities(const Image& image);  ///< Σ, Σ², minimum, maximum
Answer sum_and_mean(const Image& image);     ///< Σ, ⌊Σ / n⌋
Answer histogram(const Image& image);        ///< 256 counts
Answer cumulative(const Image& image);       ///< of value v: pixels ≤ v
Answer clipped(const Image& image);          ///< pixels that are 0, pixels that are 255
Answer darkest(const Image& image);          ///< the smallest value · 2^40 + the first place where it is
Answer brightest(const Image& image);        ///< the largest value · 2^40 + 2^40 − 1 − the first place where it is
Answer tiles_by_maximum(const Image& image);  ///< of each value, the tiles whose maximum it is: how many, Σ numbers
Answer sum_and_turn(const Image& image);      ///< Σ, number of tiles mod ring_slots
Answer bright_places(const Image& image);     ///< bright pixels: how many, Σ places, Σ places² mod 2^64
Answer variation(const Image& image);         ///< Σ |x[i + 1] − x[i]|, the rows behind one another
Answer stretched(const Image& image);         ///< Σ (x − the smallest of its `stretch_pixels`)
Answer thumbnail(const Image& image);         ///< means of 8 × 8 pixels, rounded half up: bytes, zeros behind the last
Answer segment_sums(const Image& image);      ///< Σ of each `segment_pixels`
Answer slab_totals(const Image& image);       ///< Σ of all pixels up to the end of each slab

// u16
Answer cubes(const Image& image);     ///< Σ x³, 2^64 − 1 where it is more
Answer bits_or(const Image& image);   ///< bits that any sample has
Answer bits_and(const Image& image);  ///< bits that all samples have
Answer bits_xor(const Image& image);  ///< bits that an odd number of samples have

// f32
Answer maximum(const Image& image);      ///< bits of the largest number, −∞ without one
Answer nan_and_sum(const Image& image);  ///< NaNs, Σ rint(x · 2^24) of the others as two's complement

}  // namespace gpuhist::bench::ladder::exact
