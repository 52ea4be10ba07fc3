// 16-bit images: one bin per possible value, and the brightness sums, in one sweep of the pixels.
#pragma once

#include <cstdint>

#include "cuda/block/packed_counters.cuh"
#include "cuda/histogram/brightness.cuh"
#include "cuda/host/launcher.cuh"
#include "cuda/normalize/lut.cuh"
#include "cuda/pixels/resident.cuh"
#include "cuda/pixels/ring.cuh"
#include "cuda/pixels/sweep.cuh"
#include "cuda/results.cuh"

namespace gpuhist::cuda {
namespace {

constexpr int values = 65536;
/// Values that share the high byte. Of each page the samples are added up too, for what needs running sums.
constexpr int page_values = 256, page_count = values / page_values;

/// How rows of counts share the shared memory: `rows` of them at a time, in counters of `bits` bits. Wide where a block
/// has 160 KiB or more: grey counts into 16 bits; of colours two rows fit at once, so that pixels are read half as
/// often, and 8 bits wrap rarely enough. Narrow fits all GPUs.
template <int C, bool Wide>
struct Layout {
    static constexpr bool wide = Wide;
    static constexpr int bits = Wide ? (C == 1 ? 16 : 8) : 6;
    static constexpr int rows = Wide && C > 1 ? 2 : 1;
    static constexpr int roles = C == 1 ? 1 : (C + rows) / rows;  ///< of channels and luma
    static constexpr int threads = C == 1 ? 1024 : 768;           ///< colours take more registers
    using Counters = PackedCounters<bits>;
    using Crowded = CrowdedPlaces<Wide ? 5 : 4>;
    using Rings = Ring<std::uint16_t, C, C == 3 ? 1 : 2, C == 3 ? 2 : 3>;  ///< of a warp, where there is room
    static constexpr bool ringed = has_copy_engine && Wide && C > 1;
    static constexpr int counter_words = rows * Counters::words, words = counter_words + rows * Crowded::words;
};

/// Carries are added up by so many of the blocks that count the same rows.
constexpr int carriers = 8;

/// What one block counted, in device memory.
template <class L>
struct alignas(256) Slab {
    std::uint32_t words[L::rows][L::Counters::words];
    std::uint32_t carries[L::rows][values];  ///< of each place; zero but between counting and merging
    bool carried;                            ///< whether a carry is not
};

/// A row's sums over a whole image; Σ x² in parts that 64 bits hold. Zero between images.
struct RowSums {
    Word sum, squares_low, squares_high;
    std::uint32_t complement_minimum, maximum;

    __device__ void add(std::uint32_t value, std::uint64_t times) {
        if (times == 0) return;
        const core::u128 squares = static_cast<core::u128>(times) * (static_cast<std::uint64_t>(value) * value);
        sum += times * value;
        squares_low += static_cast<std::uint32_t>(squares);
        squares_high += static_cast<std::uint64_t>(squares >> 32);
        complement_minimum = max(complement_minimum, ~value);
        maximum = max(maximum, value);
    }
    __device__ void reduce_over_warp() {
        sum = reduce_warp(sum, Sum{});
        squares_low = reduce_warp(squares_low, Sum{});
        squares_high = reduce_warp(squares_high, Sum{});
        complement_minimum = reduce_warp(complement_minimum, Max{});
        maximum = reduce_warp(maximum, Max{});
    }
    /// Adds to sums that others add to as well, in shared or device memory.
    __device__ void add_to(RowSums& all) const {
        if (complement_minimum == 0) return;  // no sample
        atomicAdd(&all.sum, sum);
        atomicAdd(&all.squares_low, squares_low);
        atomicAdd(&all.squares_high, squares_high);
        atomicMax(&all.complement_minimum, complement_minimum);
        atomicMax(&all.maximum, maximum);
    }
};

/// Zero but for the slabs' words between launches.
template <class L>
struct WordWorkspace {
    RowSums sums[5];
    Word pages[5][page_count];  ///< a row's samples in each page, where tables follow
    std::uint32_t arrived;
    Slab<L> slabs[1];  ///< one a block
};

/// The blocks of one role, which is to count some rows together. They are dealt to the roles in turn; of two, by the
/// work that each has, so that both go through the image at the same pace: what those of one read from memory those of
/// the other then find in L2. Two rows and luma's sums of the pixels are as much work as two rows. Limit: 3 blocks.
class Crew {
  public:
    __device__ Crew(int role, int roles, bool count_luma)
        : role_(role),
          roles_(roles),
          part_(count_luma ? role == 0 ? lighter_role_blocks : 32 - lighter_role_blocks : 16) {}

    static __device__ int role_of(int block, int roles, bool count_luma) {
        if (roles != 2) return block % roles;
        return Crew(0, 2, count_luma).before(block + 1) > Crew(0, 2, count_luma).before(block) ? 0 : 1;
    }
    __device__ int blocks() const { return before(static_cast<int>(gridDim.x)); }
    __device__ int rank(int block) const { return before(block); }
    __device__ int block(int rank) const {
        if (roles_ != 2) return role_ + rank * roles_;
        return role_ == 0 ? rank * 32 / part_ : ((rank + 1) * 32 + part_ - 1) / part_ - 1;
    }

  private:
    /// Of the first `count` blocks of the grid, those of this role.
    __device__ int before(int count) const {
        if (roles_ != 2) return (count - role_ + roles_ - 1) / roles_;
        return role_ == 0 ? (count * part_ + 31) / 32 : count * part_ / 32;
    }

    int role_, roles_, part_;
};

/// Counts what packed counters carry, of each place.
struct Carries {
    std::uint32_t* counts;  ///< in device memory
    std::uint32_t any;      ///< shared address of a bool: set when there is one

    __device__ void operator()(std::uint32_t place, std::uint32_t times) const { global_add(counts + place, times); }
    __device__ void noted() const { shared_set(any); }
};

/// What counting needs of a block.
struct Counting {
    std::uint32_t counters, crowded, carried;  ///< shared addresses
    std::uint32_t rings;                       ///< likewise; 0: there are none
    std::uint32_t* carries;                    ///< of the first row
    bool rgb;
};

/// Counts rows [First, Last) of each pixel, row C being luma; or adds luma up, where that is not counted. Limit: fewer
/// than 2^32 pixels a block, whose Σ luma² < 2^64.
template <int C, class L, int First, int Last, bool CountLuma>
struct WordCounter {
    using Pixels = Group<std::uint16_t, C>;
    static constexpr int few = few_groups;
    Counting counting;
    Luma luma;
    BrightnessSums sums;

    template <int Row, int N>
    __device__ void count(const std::uint32_t (&place)[N]) const {
        constexpr int at = Row - First;
        add_samples<typename L::Counters, typename L::Crowded>(
            counting.counters + at * L::Counters::words * 4, counting.crowded + at * L::Crowded::words * 4, place,
            Carries{counting.carries + at * values, counting.carried});
        asm volatile("" ::: "memory");  // one row after the other: else all of them take up registers
    }
    template <int N>
    __device__ void look_at_luma(std::uint32_t (&value)[N]) {
        if constexpr (CountLuma) {
#pragma unroll
            for (std::uint32_t& v : value) v = spread(v);
            count<C>(value);
        } else {
#pragma unroll
            for (std::uint32_t v : value) sums.add(v);
        }
    }
    template <int Row>
    __device__ void count_channels(const Pixels& spread_pixels) const {
        if constexpr (Row < C && Row < Last) {
            std::uint32_t place[Pixels::pixels];
#pragma unroll
            for (int p = 0; p < Pixels::pixels; ++p) place[p] = spread_pixels[p * C + Row];
            count<Row>(place);
            count_channels<Row + 1>(spread_pixels);
        }
    }
    __device__ void look_at(const Pixels& loaded) {
        Pixels pixels = loaded;
        if constexpr (C > 1 && Last > C) {
            std::uint32_t value[Pixels::pixels];
#pragma unroll
            for (int p = 0; p < Pixels::pixels; ++p)
                value[p] = luma(pixels[p * C], pixels[p * C + 1], pixels[p * C + 2]);
            look_at_luma(value);
        }
#pragma unroll
        for (uint4& word : pixels.word)
            word = {spread_both(word.x), spread_both(word.y), spread_both(word.z), spread_both(word.w)};
        count_channels<First>(pixels);
    }
    template <int Row>
    __device__ void count_sample(const std::uint16_t (&sample)[C]) const {
        if constexpr (Row < C && Row < Last) {
            const std::uint32_t place[1] = {spread(sample[Row])};
            count<Row>(place);
            count_sample<Row + 1>(sample);
        }
    }
    __device__ void look_at(const std::uint16_t (&sample)[C]) {
        if constexpr (C > 1 && Last > C) {
            std::uint32_t value[1] = {luma(sample[0], sample[1], sample[2])};
            look_at_luma(value);
        }
        count_sample<First>(sample);
    }
};

/// Groups that a thread loads together.
template <int C>
constexpr int word_unroll = C == 1 ? 4 : 1;

/// The hot loops: functions of their own, so that what the kernel keeps does not crowd their registers.
template <int C, class L, int Role, bool CountLuma, bool OneRow, bool Ringed>
__device__ __noinline__ BrightnessSums count_role(Image image, Share share, Counting counting) {
    constexpr int first = Role * L::rows, all = C == 1 ? 1 : C + 1,
                  last = first + L::rows < all ? first + L::rows : all;
    WordCounter<C, L, first, last, CountLuma> counter{counting, Luma(counting.rgb), BrightnessSums{}};
    auto sweep_by = [&](const auto& by) {
        if constexpr (OneRow)
            sweep_one_row<std::uint16_t, C>(image, share, by, counter);
        else
            sweep_rows<std::uint16_t, C>(image, share, by, counter);
    };
    if constexpr (Ringed)
        sweep_by(typename L::Rings{counting.rings});
    else
        sweep_by(Loads<word_unroll<C>, C == 3>{});
    __syncwarp();  // what follows a call may be a barrier
    return counter.sums;
}
template <int C, class L, int Role, bool CountLuma>
__device__ inline BrightnessSums count_role(const Image& image, const Share& share, const Counting& counting) {
    if constexpr (L::ringed)
        if (counting.rings != 0)
            return in_one_row<std::uint16_t, C>(image)
                       ? count_role<C, L, Role, CountLuma, true, true>(image, share, counting)
                       : count_role<C, L, Role, CountLuma, false, true>(image, share, counting);
    if constexpr (L::wide && !L::ringed)  // others do without: sweep_rows takes any image
        if (in_one_row<std::uint16_t, C>(image))
            return count_role<C, L, Role, CountLuma, true, false>(image, share, counting);
    return count_role<C, L, Role, CountLuma, false, false>(image, share, counting);
}
template <int C, class L, int Role = 0>
__device__ inline BrightnessSums count_role(int role, const Image& image, const Share& share, const Counting& counting,
                                            bool count_luma) {
    if constexpr (Role + 1 < L::roles) {
        if (role != Role) return count_role<C, L, Role + 1>(role, image, share, counting, count_luma);
        return count_role<C, L, Role, true>(image, share, counting);
    } else {  // the one that luma belongs to
        if (C == 1 || count_luma) return count_role<C, L, Role, true>(image, share, counting);
        return count_role<C, L, Role, C == 1>(image, share, counting);
    }
}

/// The same of an image that a Tile begins to keep; grey has one role.
template <class L>
__device__ __noinline__ void count_kept(Image image, Share share, Counting counting, Tile<std::uint16_t, 1> tile) {
    WordCounter<1, L, 0, 1, true> counter{counting, Luma(counting.rgb), BrightnessSums{}};
    tile.sweep_coming(counter);
    tile.template sweep_behind<1>(image, share, Loads<word_unroll<1>>{}, counter);
    __syncwarp();  // what follows a call may be a barrier
}

/// Writes a row's counts from a block's own counters and carries (null: there are none), which are zero afterwards. By
/// all threads; returns each one's sums.
template <class L>
__device__ __noinline__ RowSums write_counts(const std::uint32_t* words, std::uint32_t* carries, Word* counts) {
    using Counters = typename L::Counters;
    RowSums sums{};
    for (int w = threadIdx.x; w < static_cast<int>(Counters::words); w += blockDim.x) {
        std::uint32_t before = 0;
#pragma unroll
        for (int k = 0; k < Counters::per_word; ++k) {
            const std::uint32_t place = w * Counters::per_word + k;
            if (place >= Counters::places) break;
            std::uint64_t n = Counters::counter(words[w], k);
            if (carries) {
                const std::uint32_t here = __ldcg(carries + place);
                if (here != 0) carries[place] = 0;
                n += (std::uint64_t{here} << L::bits) - before;
                before = here;
            }
            counts[spread(place)] = n;
            sums.add(spread(place), n);
        }
    }
    return sums;
}

/// Side by side in memory, at an address divisible by their size; not from this multiprocessor's own cache.
__device__ inline void load_words(const std::uint32_t* from, std::uint32_t (&words)[2]) {
    const uint2 two = __ldcg(reinterpret_cast<const uint2*>(from));
    words[0] = two.x;
    words[1] = two.y;
}
__device__ inline void load_words(const std::uint32_t* from, std::uint32_t (&words)[4]) {
    const uint4 four = __ldcg(reinterpret_cast<const uint4*>(from));
    words[0] = four.x;
    words[1] = four.y;
    words[2] = four.z;
    words[3] = four.w;
}

/// Adds up what the blocks of each role counted, and each row's sums and pages in the workspace. A chunk of words at a
/// time, several a lane, by as many groups of threads as a block has, which take turns reading the blocks' counters.
template <int C, class L>
__device__ __noinline__ void add_up_slabs(const CountParameters& p, std::int64_t i, RowSums* sums) {
    using Counters = typename L::Counters;
    auto& workspace = *static_cast<WordWorkspace<L>*>(p.workspace);
    const int rows = C == 1 ? 1 : C + p.count_luma;
    constexpr int lanes = 64, each = L::wide ? 4 : 2, per_word = Counters::per_word, chunk = lanes * each,
                  places = chunk * per_word, chunks = (Counters::words + chunk - 1) / chunk;
    static_assert(places % warp_lanes == 0);  // a warp's places lie in one page
    const int groups = blockDim.x / lanes, group = threadIdx.x / lanes, lane = threadIdx.x % lanes;
    std::uint32_t* partial = dynamic_shared;  // groups × places; all blocks' counters together fit 32 bits
    if (threadIdx.x < 5) sums[threadIdx.x] = RowSums{};
    for (int c = blockIdx.x; c < rows * chunks; c += gridDim.x) {
        const int row = c / chunks, role = row / L::rows, at = row % L::rows, first = c % chunks * chunk,
                  w = first + lane * each;
        const Crew crew(role, L::roles, p.count_luma);
        std::uint32_t counts[each * per_word] = {};
        if (w < static_cast<int>(Counters::words)) {
#pragma unroll 4
            for (int rank = group; rank < crew.blocks(); rank += groups) {
                std::uint32_t word[each];
                load_words(&workspace.slabs[crew.block(rank)].words[at][w], word);
#pragma unroll
                for (int k = 0; k < each * per_word; ++k)
                    counts[k] += Counters::counter(word[k / per_word], k % per_word);
            }
        }
#pragma unroll
        for (int k = 0; k < each * per_word; ++k) partial[group * places + lane * each * per_word + k] = counts[k];
        const int used = min(carriers, crew.blocks());
        bool carried[carriers];
#pragma unroll
        for (int k = 0; k < carriers; ++k)
            carried[k] = k < used && *static_cast<volatile bool*>(&workspace.slabs[crew.block(k)].carried);
        __syncthreads();  // every group's part is there
        RowSums own{};
        for (int q = threadIdx.x; q < places; q += blockDim.x) {
            const std::uint32_t place = first * per_word + q;
            Word n = 0;
            if (place < Counters::places) {
                for (int g = 0; g < groups; ++g) n += partial[g * places + q];
#pragma unroll
                for (int k = 0; k < carriers; ++k) {
                    if (!carried[k]) continue;
                    const std::uint32_t* carries = workspace.slabs[crew.block(k)].carries[at] + place;
                    n += Word{__ldcg(carries)} << L::bits;
                    if (place % per_word != 0) n -= __ldcg(carries - 1);
                }
                counts_of(p.common, i, counted_row(row, C, p.common.rgb))[spread(place)] = n;
                own.add(spread(place), n);
            }
            if (p.common.normalize) {
                const Word of_page = reduce_warp(n, Sum{});
                if (threadIdx.x % warp_lanes == 0 && place < Counters::places)
                    atomicAdd(&workspace.pages[row][place / page_values], of_page);
            }
        }
        own.reduce_over_warp();
        if (threadIdx.x % warp_lanes == 0) own.add_to(sums[row]);
        __syncthreads();  // the parts may be written again, and the carries
        for (int q = threadIdx.x; q < places; q += blockDim.x)
#pragma unroll
            for (int k = 0; k < carriers; ++k)
                if (const std::uint32_t place = first * per_word + q; carried[k] && place < Counters::places)
                    workspace.slabs[crew.block(k)].carries[at][place] = 0;
    }
    __syncthreads();  // the block's sums, for all
    if (threadIdx.x < 5) sums[threadIdx.x].add_to(workspace.sums[threadIdx.x]);
    __syncwarp();
}

template <int C>
__device__ __noinline__ void write_rows(const CountParameters& p, std::int64_t i, std::int64_t pixels,
                                        const RowSums* sums) {
    if (threadIdx.x % warp_lanes == 0 && static_cast<int>(threadIdx.x) / warp_lanes < rows_of(C)) {
        const int row = threadIdx.x / warp_lanes;
        const RowSums& s = sums[row];
        write_channel(result_of(p.common, i)->channels[counted_row(row, C, p.common.rgb)], pixels, s.sum,
                      static_cast<core::u128>(s.squares_low) + (static_cast<core::u128>(s.squares_high) << 32),
                      ~s.complement_minimum, s.maximum);
    }
    if (threadIdx.x == blockDim.x - 1) write_header(p.common, i, pixels, Depth::u16, rows_of(C));
    __syncwarp();
}

/// Number `at` of 256 is the first at which their running sum reaches a rank; `before` is the sum of those before it.
struct Reached {
    int at;
    Word before;
};
/// By a warp. `count(i)`: the numbers, whose sum is at least `rank`, which is at least 1.
template <class Count>
__device__ inline Reached reach(Count count, Word rank) {
    constexpr unsigned all = 0xFFFFFFFFu;
    constexpr int each = 256 / warp_lanes;
    const int first = static_cast<int>(threadIdx.x % warp_lanes) * each;
    Word n[each], own = 0;
#pragma unroll
    for (int k = 0; k < each; ++k) own += n[k] = count(first + k);
    Word before = scan_lanes(own) - own;
    const bool here = before < rank && rank <= before + own;
    int at = first;
    if (here)
#pragma unroll
        for (int k = 0; k < each; ++k)
            if (at == first + k && rank > before + n[k]) {
                before += n[k];
                ++at;
            }
    const int lane = __ffs(__ballot_sync(all, here)) - 1;
    return {__shfl_sync(all, at, lane), __shfl_sync(all, before, lane)};
}

/// What table t of an image is derived from: the counts of a row, or of three colours together.
template <int C>
struct TableSource {
    const Common& common;
    std::int64_t image;
    bool pooled;
    int row;  ///< of the result

    __device__ TableSource(const Common& of, std::int64_t i, int t) : common(of), image(i) {
        const bool joint = C > 1 && of.normalization.joint;
        pooled = joint && of.normalization.mode != NormalizeMode::equalize;
        row = pooled ? 0 : joint ? luma_row : result_row(t, C, of.rgb);
    }
    /// `of(row)` of its row, or of its rows together.
    template <class Of>
    __device__ Word sum(Of of) const {
        return pooled ? of(0) + of(1) + of(2) : of(row);
    }
    __device__ Word count(int value) const {
        return sum([&](int r) { return __ldcg(counts_of(common, image, r) + value); });
    }
};

template <typename O>
__device__ inline O* table_of(const Common& common, std::int64_t i, int t) {
    return reinterpret_cast<O*>(common.results + i * common.layout.bytes + common.layout.tables_offset) + t * values;
}
/// Table t of an image, and its lines, by one block, from counts that have been written.
/// Each warp looks after a stretch of values, whose counts its lanes read side by side: once for totals and extremes,
/// once more, for the modes that need them, as running sums.
template <int C, typename O>
__device__ __noinline__ void build_row_table(const Common& common, std::int64_t i, int t,
                                             core::Line<std::uint16_t>* lines) {
    __shared__ std::uint64_t scratch[warp_lanes];
    __shared__ std::uint32_t low, high;
    __shared__ TableRecipe<std::uint16_t> recipe;
    const TableSource<C> source(common, i, t);
    O* table = table_of<O>(common, i, t);

    const Normalization& normalization = common.normalization;
    const NormalizeMode mode = normalization.mode;
    const int lane = threadIdx.x % warp_lanes, warp = threadIdx.x / warp_lanes, warps = blockDim.x / warp_lanes;
    const int each = (values + warps - 1) / warps;
    const int first = min(warp * each, values), last = min(first + each, values);

    std::uint64_t own = 0, sum = 0, squares_low = 0, squares_high = 0;
    std::uint32_t complement_minimum = 0, maximum = 0;
#pragma unroll 4
    for (int v = first + lane; v < last; v += warp_lanes) {
        const std::uint64_t n = source.count(v);
        own += n;
        if (n == 0) continue;
        complement_minimum = max(complement_minimum, ~static_cast<std::uint32_t>(v));
        maximum = max(maximum, static_cast<std::uint32_t>(v));
        sum += n * v;
        const core::u128 squares = static_cast<core::u128>(n) * (static_cast<std::uint64_t>(v) * v);
        squares_low += static_cast<std::uint32_t>(squares);
        squares_high += static_cast<std::uint64_t>(squares >> 32);
    }
    std::uint64_t total = 0;
    const std::uint64_t before = scan_warps(reduce_warp(own, Sum{}), scratch, total);
    complement_minimum = reduce_block(std::uint64_t{complement_minimum}, scratch, std::uint64_t{0}, Max{});
    maximum = reduce_block(std::uint64_t{maximum}, scratch, std::uint64_t{0}, Max{});
    if (mode == NormalizeMode::zscore) {
        sum = reduce_block(sum, scratch, std::uint64_t{0}, Sum{});
        squares_low = reduce_block(squares_low, scratch, std::uint64_t{0}, Sum{});
        squares_high = reduce_block(squares_high, scratch, std::uint64_t{0}, Sum{});
    }
    /// Calls `visit(value, samples before it, its samples)`.
    auto running = [&](auto visit) {
        std::uint64_t cumulative = before;
        for (int base = first; base < last; base += warp_lanes) {
            const int v = base + lane;
            const std::uint64_t n = v < last ? source.count(v) : 0;
            const std::uint64_t inclusive = scan_lanes(n);
            if (v < last) visit(v, cumulative + inclusive - n, n);
            cumulative += __shfl_sync(0xFFFFFFFFu, inclusive, warp_lanes - 1);
        }
    };
    if (mode == NormalizeMode::percentile) {
        const std::uint64_t low_rank = core::nearest_rank(normalization.low, total),
                            high_rank = core::nearest_rank(normalization.high, total);
        running([&](int v, std::uint64_t before_it, std::uint64_t n) {
            if (before_it < low_rank && low_rank <= before_it + n) low = v;
            if (before_it < high_rank && high_rank <= before_it + n) high = v;
        });
    } else if (threadIdx.x == 0) {
        low = ~complement_minimum;
        high = maximum;
    }
    __syncthreads();  // the range, for all
    if (threadIdx.x == 0) {
        recipe.set(mode, low, high, total, mode == NormalizeMode::equalize ? source.count(low) : 0, sum,
                   static_cast<core::u128>(squares_low) + (static_cast<core::u128>(squares_high) << 32));
        set_lines<C>(normalization, t, recipe.line, lines);
    }
    __syncthreads();  // the recipe, for all
    if (mode == NormalizeMode::equalize)
        running([&](int v, std::uint64_t before_it, std::uint64_t n) { table[v] = recipe.value<O>(v, before_it + n); });
    else
        for (int v = threadIdx.x; v < values; v += blockDim.x) table[v] = recipe.value<O>(v, 0);
    __syncthreads();  // the shared values may be written again
}

/// The recipe of a table from an image's numbers and `count_page(page)`, by a warp.
template <int C, class CountPage>
__device__ inline void make_recipe(const TableSource<C>& source, CountPage count_page,
                                   TableRecipe<std::uint16_t>& recipe) {
    const Normalization& normalization = source.common.normalization;
    const ChannelResult* channels = result_of(source.common, source.image)->channels;
    std::uint32_t low = values - 1, high = 0;
    Word total = 0, sum = 0;
    core::i128 squares = 0;
    for (int r = source.row; r < source.row + (source.pooled ? 3 : 1); ++r) {
        const ChannelResult& channel = channels[r];
        low = min(low, static_cast<std::uint32_t>(__ldcg(&channel.minimum)));
        high = max(high, static_cast<std::uint32_t>(__ldcg(&channel.maximum)));
        total += __ldcg(&channel.samples);
        sum += __ldcg(&channel.sum);
        squares += core::from_public({__ldcg(&channel.sum_squares.low), __ldcg(&channel.sum_squares.high)});
    }
    const Word lowest_samples = normalization.mode == NormalizeMode::equalize ? source.count(static_cast<int>(low)) : 0;
    if (normalization.mode == NormalizeMode::percentile) {
        auto find = [&](double percent) {
            const Word rank = core::nearest_rank(percent, total);
            const Reached page = reach(count_page, rank);
            const int first = page.at * page_values;
            return first + reach([&](int k) { return source.count(first + k); }, rank - page.before).at;
        };
        low = find(normalization.low);
        high = find(normalization.high);
    }
    if (threadIdx.x % warp_lanes == 0)
        recipe.set(normalization.mode, low, high, total, lowest_samples, sum, static_cast<core::u128>(squares));
}

/// All tables of an image by all blocks, a warp 32 values at a time; their lines by each.
template <int C, typename O>
__device__ __noinline__ void build_tables(const Common& common, std::int64_t i, const Word (*pages)[page_count],
                                          core::Line<std::uint16_t>* lines) {
    __shared__ TableRecipe<std::uint16_t> recipes[3];
    constexpr int items = values / warp_lanes, items_of_page = page_values / warp_lanes;
    const int tables = tables_of(C, common.normalization), warps = blockDim.x / warp_lanes,
              warp = threadIdx.x / warp_lanes, lane = threadIdx.x % warp_lanes;
    auto count_page = [&](const TableSource<C>& source, int page) {
        return source.sum([&](int r) {
            return __ldcg(&pages[C == 1 ? 0 : r == luma_row ? C : result_row(r, C, common.rgb)][page]);
        });
    };
    if (warp < tables) {
        const TableSource<C> source(common, i, warp);
        make_recipe(
            source, [&](int page) { return count_page(source, page); }, recipes[warp]);
        if (lane == 0) set_lines<C>(common.normalization, warp, recipes[warp].line, lines);
    }
    __syncthreads();  // the recipes and lines, for all
    for (int item = warp * gridDim.x + blockIdx.x; item < tables * items; item += warps * gridDim.x) {
        const int t = item / items, first = item % items * warp_lanes;
        Word through = 0;
        if (common.normalization.mode == NormalizeMode::equalize) {
            const TableSource<C> source(common, i, t);
            const int page = first / page_values;
            Word before = 0;
#pragma unroll
            for (int k = 0; k < page_count / warp_lanes; ++k)
                if (const int p = k * warp_lanes + lane; p < page) before += count_page(source, p);
#pragma unroll
            for (int k = 0; k < items_of_page; ++k)
                if (const int v = page * page_values + k * warp_lanes + lane; v < first) before += source.count(v);
            through = reduce_warp(before, Sum{}) + scan_lanes(source.count(first + lane));
        }
        table_of<O>(common, i, t)[first + lane] = recipes[t].template value<O>(first + lane, through);
    }
    __syncwarp();
}

/// Phases of an image that all blocks share: count, merge, build, apply. A stretch needs no table to be applied.
__host__ __device__ inline int shared_steps(const Common& common) {
    return !common.normalize ? 2 : is_stretch(common.normalization.mode) ? 3 : 4;
}

template <int C, class L, class Images, class OfImage>
class WordKernel {
  public:
    using Counters = typename L::Counters;
    using Crowded = typename L::Crowded;

    __device__ WordKernel(const Images& images, const CountParameters& p, const OfImage& tile,
                          core::Line<std::uint16_t>* lines)
        : images_(images),
          p_(p),
          tile_(tile),
          lines_(lines),
          rows_(C == 1 ? 1 : C + p.count_luma),
          workspace_(*static_cast<WordWorkspace<L>*>(p.workspace)) {}

    __device__ bool alone(std::int64_t i) const { return images_.image(i).pixels() <= p_.alone_pixels; }
    __device__ std::int64_t pieces(std::int64_t i) const {
        return images_.pieces_before(i + 1) - images_.pieces_before(i);
    }
    __device__ Share block_share(std::int64_t i) const { return {threadIdx.x, pieces(i), blockDim.x}; }
    __device__ Share team_share(std::int64_t i, int rank, int blocks) const {
        return {static_cast<std::int64_t>(rank) * blockDim.x + threadIdx.x, pieces(i),
                static_cast<std::int64_t>(blocks) * blockDim.x};
    }

    // ---- Images that one block has alone

    __device__ void do_alone(std::int64_t i, RowSums* sums, bool* carried) const {
        const Image image = images_.image(i);
        Slab<L>& slab = workspace_.slabs[blockIdx.x];
        if (threadIdx.x < 5) sums[threadIdx.x] = RowSums{};
        for (int role = 0; role < L::roles; ++role) {
            count(role, image, block_share(i), slab, sums, carried);
            for (int row = role * L::rows; row < min((role + 1) * L::rows, rows_); ++row) {
                const int at = row - role * L::rows;
                RowSums own =
                    write_counts<L>(dynamic_shared + at * Counters::words, *carried ? slab.carries[at] : nullptr,
                                    counts_of(p_.common, i, counted_row(row, C, p_.common.rgb)));
                own.reduce_over_warp();
                if (threadIdx.x % warp_lanes == 0) own.add_to(sums[row]);
            }
            __syncthreads();  // the counters and the flag may be written again
        }
        write_rows<C>(p_, i, image.pixels(), sums);
        __syncthreads();
        if (p_.common.normalize)
            for (int t = 0; t < tables(); ++t) build(i, t);
        __syncthreads();
        if (threadIdx.x == 0) publish(result_of(p_.common, i));
        if (p_.common.normalize) apply(i, 0, 1);
        __syncthreads();  // shared memory may be written again
    }

    // ---- Images that all blocks share: count, merge, build, apply, with all blocks at the same step

    __device__ void count_shared(std::int64_t i, RowSums* sums, bool* carried) const {
        const int role = Crew::role_of(blockIdx.x, L::roles, p_.count_luma);
        const Crew crew(role, L::roles, p_.count_luma);
        const int rank = crew.rank(blockIdx.x);
        Slab<L>& carrier = workspace_.slabs[crew.block(rank % carriers)];
        if (threadIdx.x < 5) sums[threadIdx.x] = RowSums{};
        if (blockIdx.x == 0 && p_.common.normalize)  // before anybody adds to them
            for (int k = threadIdx.x; k < 5 * page_count; k += blockDim.x)
                workspace_.pages[k / page_count][k % page_count] = 0;
        count(role, images_.image(i), team_share(i, rank, crew.blocks()), carrier, sums, carried);
        auto* to = reinterpret_cast<uint4*>(workspace_.slabs[blockIdx.x].words);
        const auto* from = reinterpret_cast<const uint4*>(dynamic_shared);
        for (int w = threadIdx.x; w < L::counter_words / 4; w += blockDim.x) to[w] = from[w];
        if (threadIdx.x != 0) return;
        if (*carried) carrier.carried = true;
        if (C > 1 && rows_ == C && role == L::roles - 1) sums[C].add_to(workspace_.sums[C]);
    }

    __device__ void merge_shared(std::int64_t i, RowSums* sums, bool* last) const {
        add_up_slabs<C, L>(p_, i, sums);
        if (!arrive_last(&workspace_.arrived, gridDim.x, last)) return;
        if (threadIdx.x < 5) {
            RowSums& all = workspace_.sums[threadIdx.x];
            sums[threadIdx.x] = {__ldcg(&all.sum), __ldcg(&all.squares_low), __ldcg(&all.squares_high),
                                 __ldcg(&all.complement_minimum), __ldcg(&all.maximum)};
            all = RowSums{};
        }
        for (unsigned block = threadIdx.x; block < gridDim.x; block += blockDim.x)
            workspace_.slabs[block].carried = false;
        __syncthreads();  // the image's sums, for all
        write_rows<C>(p_, i, images_.image(i).pixels(), sums);
        __syncthreads();
        if (threadIdx.x == 0 && !p_.common.normalize) publish(result_of(p_.common, i));
    }

    __device__ void build_shared(std::int64_t i) const {
        if (p_.to_floats)
            build_tables<C, float>(p_.common, i, workspace_.pages, lines_);
        else
            build_tables<C, std::uint16_t>(p_.common, i, workspace_.pages, lines_);
    }

    __device__ void apply_shared(std::int64_t i) const {
        if (blockIdx.x == 0 && threadIdx.x == 0) publish(result_of(p_.common, i));
        apply(i, blockIdx.x, gridDim.x);
    }

    /// The same two by lines, which each block has: none waits for the tables of others.
    __device__ void build_and_apply_shared(std::int64_t i) const {
        build_shared(i);
        __syncthreads();  // what this block writes of the tables
        if (threadIdx.x == 0 && arrives_last(&workspace_.arrived, gridDim.x)) publish(result_of(p_.common, i));
        apply(i, blockIdx.x, gridDim.x);
    }

  private:
    /// Counts one role's rows of a share in shared memory; luma that is not counted is added to sums[C].
    __device__ void count(int role, const Image& image, const Share& share, Slab<L>& carrier, RowSums* sums,
                          bool* carried) const {
        std::uint32_t* crowded = dynamic_shared + L::counter_words;
        auto* words = reinterpret_cast<uint4*>(dynamic_shared);
        for (int w = threadIdx.x; w < L::counter_words / 4; w += blockDim.x) words[w] = uint4{};
        for (int w = threadIdx.x; w < L::rows * Crowded::words; w += blockDim.x)
            crowded[w] = Crowded::initial(w % Crowded::words);
        if (threadIdx.x == 0) *carried = false;
        __syncthreads();  // counters, sums and the flag, for all
        const Counting counting{shared_address(dynamic_shared),
                                shared_address(crowded),
                                shared_address(carried),
                                p_.rings ? shared_address(dynamic_shared + L::words) : 0,
                                carrier.carries[0],
                                p_.common.rgb};
        BrightnessSums luma{};
        if constexpr (is_kept<OfImage>)
            count_kept<L>(image, share, counting, tile_);
        else
            luma = count_role<C, L>(role, image, share, counting, p_.count_luma);
        if (C > 1 && rows_ == C && role == L::roles - 1) {
            luma.reduce_over_warp();
            if (threadIdx.x % warp_lanes == 0)
                RowSums{luma.sum, luma.squares & 0xFFFFFFFFu, luma.squares >> 32, luma.complement_minimum, luma.maximum}
                    .add_to(sums[C]);
        }
        __syncthreads();  // all samples are counted
        for (int at = 0; at < L::rows; ++at)
            Crowded::template merge<Counters>(crowded + at * Crowded::words,
                                              counting.counters + at * Counters::words * 4,
                                              Carries{carrier.carries[at], counting.carried});
        __syncthreads();
    }
    __device__ int tables() const { return tables_of(C, p_.common.normalization); }
    __device__ void build(std::int64_t i, int t) const {
        if (p_.to_floats)
            build_row_table<C, float>(p_.common, i, t, lines_);
        else
            build_row_table<C, std::uint16_t>(p_.common, i, t, lines_);
    }
    __device__ void apply(std::int64_t i, int rank, int blocks) const {
        const Share share{static_cast<std::int64_t>(rank) * blockDim.x + threadIdx.x,
                          pieces_of_samples<std::uint16_t, C>(images_.image(i)),
                          static_cast<std::int64_t>(blocks) * blockDim.x};
        const Image image = images_.image(i);
        const Output output = images_.output_of(i);
        auto with = [&](auto written, auto map) {
            using O = decltype(written);
            write_mapped<true>(image, share, MappedWriter<std::uint16_t, C, O, decltype(map)>{map, output}, tile_);
        };
        const NormalizeMode mode = p_.common.normalization.mode;
        if (mode == NormalizeMode::minmax) return with(std::uint16_t{}, LineMap<std::uint16_t, false>{lines_});
        if (mode == NormalizeMode::percentile) return with(std::uint16_t{}, LineMap<std::uint16_t, true>{lines_});
        const bool separate = tables() > 1;
        if (p_.to_floats)
            return with(float{}, TableMap<std::uint16_t, float, false>(table_of<float>(p_.common, i, 0), separate));
        const std::uint16_t* table = table_of<std::uint16_t>(p_.common, i, 0);
        // One table for all is copied into shared memory where it fits; others are read through the caches.
        if (separate || L::words < values / 2)
            return with(std::uint16_t{}, TableMap<std::uint16_t, std::uint16_t, false>(table, separate));
        const auto* from = reinterpret_cast<const uint4*>(table);
        auto* near = reinterpret_cast<uint4*>(dynamic_shared);
        for (int w = threadIdx.x; w < values / 8; w += blockDim.x) near[w] = __ldcg(from + w);
        __syncthreads();
        with(std::uint16_t{}, TableMap<std::uint16_t, std::uint16_t, true>(
                                  reinterpret_cast<const std::uint16_t*>(dynamic_shared), separate));
    }

    const Images& images_;
    const CountParameters& p_;
    const OfImage& tile_;
    core::Line<std::uint16_t>* lines_;  ///< in shared memory: one a colour, of the image that is normalised
    int rows_;
    WordWorkspace<L>& workspace_;
};

/// Where in dynamic shared memory a Tile begins.
template <class L>
constexpr std::size_t tile_at = aligned(L::words * sizeof(std::uint32_t));

/// Counts per value of every channel and of luma, and the brightness sums, from counts or pixels. Then, where it is
/// asked for, each image's tables from its counts, and its normalised copy. Launch: cooperative, one block a
/// multiprocessor of whole warps, at least as many as roles; or one launch a phase. A block's shared memory holds the
/// counters of few rows, see Layout. Small images are dealt to the blocks, which do all of them alone, a role after the
/// other: phase 0. Large ones follow one after the other: blocks are dealt to the roles, see Crew, and those of a role
/// share the pixels; blocks of different roles read the same pixels at about the same time, mostly from L2. Each leaves
/// its counters in its slab, and after a grid barrier all blocks add up the slabs, a stretch of words each; the last
/// one to finish writes the numbers. Then all blocks make the tables and, a barrier later where they need them, write
/// the copy. Colours come through the Rings of each warp, where there is a copy engine and room. What there is room for
/// of a single grey image that is to be normalised stays in shared memory behind the counters, see Tile. Limit: fewer
/// than 2^32 pixels a block. Barriers in a block: after clearing and before reading counters, since any thread may
/// count any value. Bytes: each pixel is read once a role; for the copy once more, and written once.
template <int C, class L, class Images, class OfImage = NoTile>
__global__ void __launch_bounds__(L::threads, 1)
    words_kernel(const __grid_constant__ Images images, const __grid_constant__ CountParameters p, int first,
                 int last) {
    __shared__ RowSums sums[5];
    __shared__ core::Line<std::uint16_t> lines[3];
    __shared__ bool carried, last_block;
    const OfImage tile = tile_of<OfImage>(images.image(0), shared_address(dynamic_shared) + tile_at<L>, p.tile_rounds);
    if constexpr (is_kept<OfImage>) tile.begin();
    const WordKernel<C, L, Images, OfImage> kernel(images, p, tile, lines);
    if constexpr (L::ringed)
        if (p.rings) begin_rings<typename L::Rings>(shared_address(dynamic_shared + L::words));
    int phase = first;
    if constexpr (!is_kept<OfImage>)
        if (phase == 0) {
            for (std::int64_t i = blockIdx.x; i < images.count; i += gridDim.x)
                if (kernel.alone(i)) kernel.do_alone(i, sums, &carried);
            ++phase;
        }
    const int steps = shared_steps(p.common);
    std::int64_t image = -1;
    for (int seen = -1; phase < last; ++phase) {
        wait_for_phase(phase, first);
        while (seen < (phase - 1) / steps)  // on to the next image that is shared
            if (!kernel.alone(++image)) ++seen;
        switch ((phase - 1) % steps) {
            case 0:
                kernel.count_shared(image, sums, &carried);
                break;
            case 1:
                kernel.merge_shared(image, sums, &last_block);
                break;
            case 2:
                steps == 3 ? kernel.build_and_apply_shared(image) : kernel.build_shared(image);
                break;
            default:
                kernel.apply_shared(image);
        }
    }
}

}  // namespace

/// Enqueues the kernel of a single grey image, of a Wide layout, that is to be normalised, if there is room for some of
/// it beside the counters; else returns false.
bool launch_kept_words(const Tensor& images, CountParameters parameters, const Launch& launch);

}  // namespace gpuhist::cuda
