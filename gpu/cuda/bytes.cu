// 8-bit images: one bin per possible value, and the brightness sums, in one sweep of the pixels.

#include <cstdint>

#include "cuda/brightness.cuh"
#include "cuda/launch.cuh"
#include "cuda/results.cuh"
#include "cuda/shared.cuh"
#include "cuda/shares.cuh"
#include "cuda/sweep.cuh"
#include "cuda/tables.cuh"

namespace gpuhist::cuda {
namespace {

constexpr int values = 256;

/// Where the blocks that share an image of several add what they counted. Zero but for `generation` while none does.
template <int C>
struct Meeting {
    Word counts[rows_of(C) * values];
    BrightnessSums luma;       ///< where it is not counted
    std::uint32_t arrived;     ///< blocks that have added what they found
    std::uint32_t generation;  ///< grows when an image's result is complete
};

/// Where all blocks add what they counted of a single image: two counts under 2^32 in each word.
template <int C>
struct Total {
    Word pairs[rows_of(C) * values / 2];
    BrightnessSums luma;
};

template <int C>
__device__ inline Word counted(const Total<C>& total, std::uint32_t bin) {
    return __ldcg(&total.pairs[bin / 2]) >> bin % 2 * 32 & 0xFFFFFFFFu;
}

template <int C>
struct ByteWorkspace {
    Total<C> totals[2];        ///< used in turn: each launch clears the next one's
    std::uint32_t arrived;     ///< blocks that have added to a total; zero between launches
    std::uint32_t generation;  ///< launches that have used a total
    std::uint32_t completed;   ///< the last of them whose result a block has begun to write, counted from one
    Meeting<C> meetings[1];    ///< one a block
};

/// Rows of counts that are looked at.
template <int C, bool CountLuma>
constexpr int counted_rows = C > 1 && CountLuma ? C + 1 : C;

// A block keeps copies of each bin side by side in shared memory, its columns, usually 32: a lane adds to its own, so
// that no two lanes of a warp ever meet in a bank. Of 32 columns two rows share 64 KiB: bin b of both begins at 256 b
// and takes 128 bytes for each. A counter's address then has the sample in its second byte and the lane in its first:
// one byte permutation makes it from both. A row with none to share with takes 128 bytes a bin.
template <int rows>
constexpr bool shares_space(int row) {
    return (row | 1) < rows;
}
/// The first of a bin's 32 columns, counted in words.
template <int rows>
__host__ __device__ constexpr int first_column(int row, int value) {
    constexpr int words_of_two = 2 * values * 32;
    return row / 2 * words_of_two + (shares_space<rows>(row) ? value * 64 + row % 2 * 32 : value * 32);
}

/// `Columns`: as a constant where there are 32; 0: `1 << columns_log2`.
template <int C, int Columns, bool CountLuma>
struct ByteCounter {
    static constexpr int rows = counted_rows<C, CountLuma>;
    static constexpr bool sums_luma = C > 1 && !CountLuma;
    /// Whether a row's samples are handled as addresses: 256 times as large, and the lane's place added.
    template <int row>
    static constexpr bool as_address = Columns == 32 && shares_space<rows>(row);
    /// core::luma is the uppermost byte of 2^9 times the sum that it shifts.
    static constexpr std::uint32_t luma_scale = 1u << 9, half = luma_scale << 14;
    static constexpr std::uint32_t bias = 128;  ///< so that no row's place is 0, see `look_at`

    std::uint32_t base;    ///< shared address of all columns, less `bias`
    std::uint32_t lane;    ///< this lane's place among a bin's columns, in bytes
    std::uint32_t column;  ///< shared address of this lane's copy of bin 0 of row 0
    int columns_log2;
    std::uint32_t first, green, last;  ///< factors of a pixel's colours, in memory order, as they are handled
    std::uint32_t rest;                ///< to be added to the sum of their products
    BrightnessSums brightness{};       ///< of luma, where it is not counted
    std::uint32_t group_sum = 0, group_squares = 0;
    std::uint32_t minima = 0xFFFFFFFFu, maxima = 0;  ///< two each, of what look_at_pixel returns the upper halves

    __device__ ByteCounter(const std::uint32_t* columns, int log2, bool rgb)
        : base(shared_address(columns) - bias),
          lane(threadIdx.x % (1u << log2) * 4),
          column(shared_address(columns) + lane),
          columns_log2(log2),
          first(factor<0>(rgb ? core::luma_red : core::luma_blue)),
          green(factor<1>(core::luma_green)),
          last(factor<2>(rgb ? core::luma_blue : core::luma_red)),
          rest(half - ((as_address<0> ? first : 0) + (as_address<1> ? green : 0) + (as_address<2> ? last : 0)) * lane) {
    }
    template <int c>
    __device__ static std::uint32_t factor(std::uint32_t weight) {
        return as_address<c> ? luma_scale / 256 * weight : luma_scale * weight;
    }

    template <int row>
    __device__ void count(std::uint32_t sample) const {
        constexpr std::uint32_t place = first_column<rows>(row, 0) * 4;
        if constexpr (as_address<row>)
            shared_increment(base + (bias + place) + sample);
        else if constexpr (Columns == 32)
            shared_increment(column + place + sample * 128);
        else
            shared_increment(column + ((row * values + sample) << (columns_log2 + 2)));
    }
    /// Byte `at` of a word, as a sample of the row is handled: from the lowest byte up the lane's, the sample, 0, 0; or
    /// the sample alone.
    template <int row>
    __device__ std::uint32_t sample_of(std::uint32_t word, int at) const {
        return as_address<row> ? __byte_perm(word, lane, 0x7604 | at << 4) : __byte_perm(word, 0, 0x4440 | at);
    }
    /// Luma of four pixels, where it is not counted.
    __device__ void add(const std::uint32_t (&luma)[4]) {
        const std::uint32_t low = __byte_perm(luma[0], luma[1], 0x7632), high = __byte_perm(luma[2], luma[3], 0x7632),
                            bytes = __byte_perm(low, high, 0x7531);
        group_sum = __dp4a(bytes, 0x01010101u, group_sum);
        group_squares = __dp4a(bytes, bytes, group_squares);
        minima = __vminu2(__vminu2(minima, low), high);
        maxima = __vmaxu2(__vmaxu2(maxima, low), high);
    }
    /// Samples of 0 that were none, of grey images.
    __device__ void take_back(int zeros) const { shared_add(column, 0u - static_cast<std::uint32_t>(zeros)); }
    /// Of one.
    __device__ void add(std::uint32_t luma) {
        const std::uint32_t value = luma >> 24, twice = __byte_perm(luma, 0, 0x3232);
        group_sum += value;
        group_squares += value * value;
        minima = __vminu2(minima, twice);
        maxima = __vmaxu2(maxima, twice);
    }
    /// Before 2^16 pixels, while their sums fit 32 bits.
    __device__ void fold() {
        if constexpr (sums_luma) {
            brightness.sum += group_sum;
            brightness.squares += group_squares;
            group_sum = group_squares = 0;
        }
    }
    /// What was summed up.
    __device__ BrightnessSums found() const {
        BrightnessSums sums = brightness;
        if (maxima == 0) return sums;  // no pixel: of a black one `half` is in it
        sums.complement_minimum = ~(min(minima & 0xFFFFu, minima >> 16) >> 8);
        sums.maximum = max(maxima & 0xFFFFu, maxima >> 16) >> 8;
        return sums;
    }
    /// `sample(c)`: of channel c, a constant. Returns 2^9 times the sum that core::luma shifts, of which luma is the
    /// uppermost byte.
    template <class Sample>
    __device__ std::uint32_t look_at_pixel(Sample sample) {
        const std::uint32_t a = sample(std::integral_constant<int, 0>{});
        count<0>(a);
        if constexpr (C > 1) {
            const std::uint32_t b = sample(std::integral_constant<int, 1>{}),
                                c = sample(std::integral_constant<int, 2>{});
            count<1>(b);
            count<2>(c);
            if constexpr (C > 3) count<3>(sample(std::integral_constant<int, 3>{}));
            const std::uint32_t luma = first * a + green * b + last * c + rest;
            if constexpr (CountLuma) count<C>(sample_of<C>(luma, 3));
            return luma;
        }
        return 0;
    }
    __device__ void look_at(const Group<std::uint8_t, C>& g) {
        // As if they changed each time. Else the compiler keeps the address of each row in a register and adds it to
        // every sample; this way the base, which is the same for all lanes, and a place other than 0 are part of the
        // address that the increment itself takes. And it would find out each time which lane this is.
        asm volatile("" : "+r"(base), "+r"(lane));
#pragma unroll
        for (int i = 0; i < Group<std::uint8_t, C>::samples; i += 4 * C) {
            std::uint32_t luma[4];
#pragma unroll
            for (int p = 0; p < 4; ++p)
                luma[p] =
                    look_at_pixel([&](auto c) { return sample_of<c>(g.word_of(i + p * C + c), (i + p * C + c) % 4); });
            if constexpr (sums_luma) add(luma);
        }
        fold();
    }
    __device__ void look_at(const std::uint8_t (&pixel)[C]) {
        const std::uint32_t luma = look_at_pixel([&](auto c) { return sample_of<c>(pixel[c], 0); });
        if constexpr (sums_luma) add(luma);
        fold();
    }
};

/// Grey images want two blocks of a multiprocessor, each of its threads with 32 registers: that is all their counters
/// leave room for; colours and normalised copies want 64.
template <int C, typename O>
constexpr int blocks_wanted = C == 1 && std::is_void_v<O> ? 2 : 1;
/// Whether the last pixels of a large image are counted by sweep_in_turns: two blocks gain by it, one does not.
constexpr bool takes_turns(int wanted) {
    return wanted == 2;
}
/// Groups loaded at once: as many as the registers hold; BGR, whose group is three words, loads one ahead.
template <int C, int Wanted>
constexpr int unroll = C == 3                  ? 1
                       : C == 1 && Wanted == 2 ? 3
                                               : 4;
/// Of rows with gaps between, whose steps take up registers themselves.
template <int C, int Wanted>
constexpr int rows_unroll = C == 1 && Wanted == 2 ? 2 : unroll<C, Wanted>;

/// The hot loops.
template <int C, int Columns, bool CountLuma, bool OneRow, int Wanted, bool Turns>
__device__ __forceinline__ BrightnessSums count_share(const Image& image, const Share& share, int columns_log2,
                                                      bool rgb, std::uint32_t taken) {
    ByteCounter<C, Columns, CountLuma> counter(dynamic_shared, columns_log2, rgb);
    if constexpr (OneRow && Turns)
        sweep_in_turns<std::uint8_t, C, unroll<C, Wanted>>(image, share, taken, counter);
    else if constexpr (OneRow)
        sweep_one_row<std::uint8_t, C>(image, share, Loads<unroll<C, Wanted>, C == 3>{}, counter);
    else if constexpr (C == 1 && Columns == 32)
        sweep_covered<std::uint8_t>(image, share, Loads<rows_unroll<C, Wanted>>{}, counter);
    else
        sweep_rows<std::uint8_t, C>(image, share, Loads<rows_unroll<C, Wanted>, C == 3>{}, counter);
    return counter.found();
}
/// As functions of their own, so that what the kernel keeps does not crowd their registers.
template <int C, int Columns, bool CountLuma, bool OneRow, int Wanted, bool Turns>
__device__ __noinline__ BrightnessSums count_apart(Image image, Share share, int columns_log2, bool rgb,
                                                   std::uint32_t taken) {
    return count_share<C, Columns, CountLuma, OneRow, Wanted, Turns>(image, share, columns_log2, rgb, taken);
}
/// `taken`: a counter for sweep_in_turns.
template <int C, bool CountLuma, int Wanted, bool Turns = false>
__device__ inline BrightnessSums count_columns(const Image& image, const Share& share, int columns_log2, bool rgb,
                                               std::uint32_t taken = 0) {
    if (columns_log2 != 5)
        return count_apart<C, 0, CountLuma, false, Wanted, false>(image, share, columns_log2, rgb, 0);
    return in_one_row<std::uint8_t, C>(image)
               ? count_apart<C, 32, CountLuma, true, Wanted, Turns>(image, share, 5, rgb, taken)
               : count_apart<C, 32, CountLuma, false, Wanted, false>(image, share, 5, rgb, 0);
}

__device__ inline void clear_columns(int counters) {
#pragma unroll 4
    for (int i = threadIdx.x; i < counters / 4; i += blockDim.x) reinterpret_cast<uint4*>(dynamic_shared)[i] = uint4{};
}

/// A bin's count over a block's 32 columns, which are zero afterwards if `clear`.
template <int rows>
__device__ inline std::uint32_t gather(std::uint32_t bin, bool clear) {
    constexpr std::uint32_t quads = 8;
    uint4* first = reinterpret_cast<uint4*>(dynamic_shared + first_column<rows>(bin / values, bin % values));
    uint4 quad[quads];
    auto place = [&](std::uint32_t i) { return first + (i + bin) % quads; };  // neighbours use other banks
#pragma unroll
    for (std::uint32_t i = 0; i < quads; ++i) quad[i] = *place(i);
    std::uint32_t sum = 0;
#pragma unroll
    for (std::uint32_t i = 0; i < quads; ++i) sum += quad[i].x + quad[i].y + quad[i].z + quad[i].w;
    if (clear) {
#pragma unroll
        for (std::uint32_t i = 0; i < quads; ++i) *place(i) = uint4{};
    }
    return sum;
}
/// The same of `1 << columns_log2` columns, which are zero afterwards.
template <int C>
__device__ inline std::uint32_t gather_any(std::uint32_t bin, int rows, int columns_log2) {
    if (columns_log2 == 5) return rows == C ? gather<C>(bin, true) : gather<counted_rows<C, true>>(bin, true);
    std::uint32_t sum = 0;
    for (std::uint32_t i = bin << columns_log2; i < (bin + 1) << columns_log2; ++i) {
        sum += dynamic_shared[i];
        dynamic_shared[i] = 0;
    }
    return sum;
}

constexpr int warps_of_row = values / warp_lanes;

/// Whether all sums over an image fit 32 bits.
__device__ inline bool is_narrow(std::int64_t pixels) {
    constexpr std::int64_t most = 0xFFFFFFFFu / ((values - 1) * (values - 1));
    return pixels <= most;
}

/// Writes the count of a bin, each lane of a warp that of the next one. The warp's part of its row's sums goes to
/// `partial`. `narrow`: see is_narrow.
template <int C>
__device__ inline void write_count(const Common& common, std::int64_t index, bool narrow, std::uint32_t bin,
                                   Word samples, BrightnessSums* partial) {
    const std::uint32_t value = bin % values;
    counts_of(common, index, counted_row(static_cast<int>(bin / values), C, common.rgb))[value] = samples;
    BrightnessSums sums{};
    sums.add(value, samples);
    sums.reduce_over_warp(narrow);
    if (bin % warp_lanes == 0) partial[bin / warp_lanes] = sums;
}
/// Writes an image's counts: `count(bin)` of every row's values.
template <int C, class Count>
__device__ inline void write_counts(const Common& common, std::int64_t index, std::int64_t pixels, int rows,
                                    BrightnessSums* partial, Count count) {
    const bool narrow = is_narrow(pixels);
#pragma unroll 1
    for (std::uint32_t bin = threadIdx.x; bin < static_cast<std::uint32_t>(rows * values); bin += blockDim.x)
        write_count<C>(common, index, narrow, bin, count(bin), partial);
}

/// The last lanes of a block, which have the least else to do, see to the parts of all rows' sums in turn: the part of
/// this thread, negative where it has none.
template <int C>
__device__ inline int part_of_thread() {
    constexpr int lanes = (rows_of(C) * warps_of_row + warp_lanes - 1) / warp_lanes * warp_lanes;
    return static_cast<int>(threadIdx.x) + lanes - static_cast<int>(blockDim.x);
}
/// Writes what follows from the sums: of `write_counts`, a barrier later, and of luma that is not counted this thread's
/// part.
template <int C>
__device__ inline void write_sums(const Common& common, std::int64_t index, std::int64_t pixels, int rows,
                                  const BrightnessSums* partial, const BrightnessSums& luma) {
    const int part = part_of_thread<C>(), row = part / warps_of_row;
    if (threadIdx.x == 0) write_header(common, index, pixels, Depth::u8, rows_of(C));
    if (part < 0) return;
    BrightnessSums sums = row < rows ? partial[part] : luma;
    sums.template reduce_over_lanes<warps_of_row>();
    if (part % warps_of_row == 0 && row < rows_of(C))
        write_channel(result_of(common, index)->channels[counted_row(row, C, common.rgb)], pixels, sums.sum,
                      sums.squares, ~sums.complement_minimum, sums.maximum);
}

/// What this block's warps found of luma that is not counted.
__device__ inline BrightnessSums found_by_warps(const BrightnessSums* warp_luma, int part) {
    BrightnessSums sums{};
#pragma unroll
    for (int warp = 0; warp < warp_lanes; warp += warps_of_row)
        if (warp + part < static_cast<int>(blockDim.x) / warp_lanes) sums.add(warp_luma[warp + part]);
    return sums;
}
/// This thread's part of it, for write_sums.
template <int C>
__device__ inline BrightnessSums luma_part(const BrightnessSums* warp_luma) {
    const int part = part_of_thread<C>() - C * warps_of_row;
    if (C == 1 || part < 0) return {};
    return found_by_warps(warp_luma, part % warps_of_row);
}
/// The same where others have added to it.
template <int C>
__device__ inline BrightnessSums luma_part(const BrightnessSums& all) {
    if (C == 1 || part_of_thread<C>() != C * warps_of_row) return {};
    return {__ldcg(&all.sum), __ldcg(&all.squares), __ldcg(&all.complement_minimum), __ldcg(&all.maximum)};
}
/// By the last warp of the block.
__device__ inline void add_luma(const BrightnessSums* warp_luma, BrightnessSums& all) {
    if (threadIdx.x < blockDim.x - warp_lanes) return;
    const int lane = threadIdx.x % warp_lanes;
    BrightnessSums sums = found_by_warps(warp_luma, lane % warps_of_row);
    sums.reduce_over_lanes<warps_of_row>();
    if (lane != 0 || sums.complement_minimum == 0) return;
    atomicAdd(reinterpret_cast<Word*>(&all.sum), Word{sums.sum});
    atomicAdd(reinterpret_cast<Word*>(&all.squares), Word{sums.squares});
    atomicMax(&all.complement_minimum, sums.complement_minimum);
    atomicMax(&all.maximum, sums.maximum);
}

template <typename O>
__device__ inline O* written_tables(const Common& common, std::int64_t index) {
    return reinterpret_cast<O*>(reinterpret_cast<char*>(result_of(common, index)) + common.layout.tables_offset);
}
/// An image's tables, as a block keeps them. A warp looks at a part of a table at a time, a value a lane.
template <typename O>
struct Tables {
    static constexpr int parts = values / warp_lanes;

    O value[3 * values];
    core::Line<std::uint8_t> lines[3];  ///< one a colour: what the tables say, where `by_line`
    bool by_line;
    Word samples[3 * parts];
    std::uint32_t low[3], high[3];
};
/// Makes them from the image's counts, by one block; they are there for all its threads afterwards. `partial`: room for
/// each part's sums.
/// Barriers: the counts, what the parts are in sum, the percentiles and the tables, for all.
template <int C, typename O>
__device__ __noinline__ void build_tables(const Normalization& normalization, const Word* counts,
                                          BrightnessSums* partial, Tables<O>& tables) {
    constexpr int parts = Tables<O>::parts;
    const NormalizeMode mode = normalization.mode;
    const bool joint = C > 1 && normalization.joint, pooled = joint && mode != NormalizeMode::equalize;
    const int end = tables_of(C, normalization) * values, lane = threadIdx.x % warp_lanes;
    auto count = [&](int i) {  // of value i of all tables in a row
        if (pooled) return counts[i] + counts[values + i] + counts[2 * values + i];
        return counts[joint ? C * values + i : i];
    };
    __syncthreads();
#pragma unroll 1
    for (int i = threadIdx.x; i < end; i += blockDim.x) {
        BrightnessSums sums{};
        sums.add(i % values, count(i));
        sums.reduce_over_warp();
        const Word samples = sum_over_warp(count(i));
        if (lane == 0) {
            partial[i / warp_lanes] = sums;
            tables.samples[i / warp_lanes] = samples;
        }
    }
    __syncthreads();
    auto through = [&](int i) {  // samples of its table up to value i
        Word sum = scan_lanes(count(i));
        for (int part = i / values * parts; part < i / warp_lanes; ++part) sum += tables.samples[part];
        return sum;
    };
    auto total = [&](int t) {
        Word sum = 0;
        for (int k = 0; k < parts; ++k) sum += tables.samples[t * parts + k];
        return sum;
    };
    if (mode == NormalizeMode::percentile) {
#pragma unroll 1
        for (int i = threadIdx.x; i < end; i += blockDim.x) {
            const int t = i / values;
            const Word all = total(t), upto = through(i), before = upto - count(i),
                       low_rank = core::nearest_rank(normalization.low, all),
                       high_rank = core::nearest_rank(normalization.high, all);
            if (before < low_rank && low_rank <= upto) tables.low[t] = i % values;
            if (before < high_rank && high_rank <= upto) tables.high[t] = i % values;
        }
        __syncthreads();
    }
#pragma unroll 1
    for (int i = threadIdx.x; i < end; i += blockDim.x) {
        const int t = i / values;
        BrightnessSums sums{};
#pragma unroll
        for (int k = 0; k < parts; ++k) sums.add(partial[t * parts + k]);
        std::uint32_t low = ~sums.complement_minimum, high = sums.maximum;
        if (mode == NormalizeMode::percentile) {
            low = tables.low[t];
            high = tables.high[t];
        }
        TableRecipe<std::uint8_t> recipe;
        const bool equalize = mode == NormalizeMode::equalize;
        recipe.set(mode, low, high, total(t), equalize ? count(t * values + static_cast<int>(low)) : 0, sums.sum,
                   sums.squares);
        tables.value[i] = recipe.template value<O>(i % values, equalize ? through(i) : 0);
        if (i % values == 0) set_lines<C>(normalization, t, recipe.line, tables.lines);
    }
    if (threadIdx.x == 0) tables.by_line = is_stretch(mode);
    __syncthreads();
}
template <int C, typename O>
__device__ inline void write_tables(const Common& common, std::int64_t index, const Tables<O>& tables) {
    for (int v = threadIdx.x; v < tables_of(C, common.normalization) * values; v += blockDim.x)
        written_tables<O>(common, index)[v] = tables.value[v];
}
template <int C, typename O>
__device__ inline void read_tables(const Common& common, std::int64_t index, Tables<O>& tables) {
    for (int v = threadIdx.x; v < tables_of(C, common.normalization) * values; v += blockDim.x)
        tables.value[v] = __ldcg(written_tables<O>(common, index) + v);
    if (threadIdx.x == 0) tables.by_line = false;
    __syncthreads();
}
/// The copy of an image, or of a share of its pieces_of_samples.
template <int C, typename O>
__device__ inline void apply_tables(const Common& common, const Tables<O>& tables, const Image& image,
                                    const Share& share, const Output& output) {
    auto apply = [&](auto map) {
        write_mapped<false>(image, share, MappedWriter<std::uint8_t, C, O, decltype(map)>{map, output});
    };
    if constexpr (std::is_same_v<O, std::uint8_t>)
        if (tables.by_line)
            return common.normalization.mode == NormalizeMode::minmax
                       ? apply(LineMap<std::uint8_t, false>{tables.lines})
                       : apply(LineMap<std::uint8_t, true>{tables.lines});
    apply(TableMap<std::uint8_t, O, true>(tables.value, !common.normalization.joint));
}

/// What a block keeps in shared memory beside its columns; counts and tables only for a normalised copy.
template <int C, typename O, int Rows = rows_of(C), int Threads = block_threads>
struct Kept {
    BrightnessSums partial[Rows * warps_of_row];
    BrightnessSums warp_luma[Threads / warp_lanes];
    Word counts[std::is_void_v<O> ? 1 : rows_of(C) * values];
    std::conditional_t<std::is_void_v<O>, bool, Tables<O>> tables;
    std::uint32_t taken;  ///< turns, by the block's warps
    std::uint32_t launch;
    bool completes;  ///< the result is this block's to write
};
static_assert(sizeof(Kept<4, float>) <= static_shared_bytes);

/// Writes the result of a single image from what all blocks added up.
template <int C, typename O>
__device__ __noinline__ void complete_image(const Common& common, std::int64_t pixels, int rows, const Total<C>& total,
                                            Kept<C, O>& kept) {
    const BrightnessSums luma = luma_part<C>(total.luma);
    write_counts<C>(common, 0, pixels, rows, kept.partial, [&](std::uint32_t bin) { return counted(total, bin); });
    __syncthreads();  // the warps' parts of the sums
    write_sums<C>(common, 0, pixels, rows, kept.partial, luma);
    __syncthreads();
    if (threadIdx.x == 0) publish(result_of(common, 0));
}

/// Counts per value of every channel and, with CountLuma, of luma; else luma's brightness sums from the pixels. Then,
/// for O not void, the image's tables from its counts, and its normalised copy. One image under 2^32 pixels.
/// Launch: any grid of 1024 threads a block; cooperative where both steps are in one launch. The pixels are dealt to
/// all blocks in turn, so that they walk through memory side by side; of large ones see takes_turns too.
/// Shared memory: 32 columns, rows × 32 KiB. Each block adds its counts to a total in device memory.
/// The last to arrive writes the result; where all are to normalise, they wait for it to arrive and build the tables
/// each for itself, and the first whose pixels are done writes the result.
/// Barriers: after clearing, and between counting and gathering, since any lane may count into any bin. Bytes: each
/// pixel is read once; for the copy once more (from L2 where it fits) and written once.
template <int C, bool CountLuma, typename O>
__global__ void __launch_bounds__(block_threads, blocks_wanted<C, O>)
    image_kernel(const __grid_constant__ Image image, const __grid_constant__ Output output,
                 const __grid_constant__ CountParameters p, int steps) {
    constexpr int rows = counted_rows<C, CountLuma>;
    constexpr bool sums_luma = C > 1 && !CountLuma;
    __shared__ Kept<C, O> kept;
    const Common& common = p.common;
    auto dealt = [&](std::int64_t pieces) {
        return Share{std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x, pieces, std::int64_t{gridDim.x} * blockDim.x};
    };
    auto apply = [&] {
        if constexpr (!std::is_void_v<O>)
            apply_tables<C>(common, kept.tables, image, dealt(pieces_of_samples<std::uint8_t, C>(image)), output);
    };
    if (!(steps & analyze_step)) {
        if constexpr (!std::is_void_v<O>) read_tables<C>(common, 0, kept.tables);
        return apply();
    }

    auto& workspace = *static_cast<ByteWorkspace<C>*>(p.workspace);
    auto* generation = static_cast<volatile std::uint32_t*>(&workspace.generation);
    clear_columns(rows * values * 32);
    if (threadIdx.x == 0) kept.taken = 0;
    __syncthreads();
    if (threadIdx.x == 0) kept.launch = *generation;  // one warp waits for it, while the others sweep
    constexpr int wanted = blocks_wanted<C, O>;
    BrightnessSums luma = count_columns<C, CountLuma, wanted, takes_turns(wanted)>(
        image, dealt(pieces_in_row(image.width, Group<std::uint8_t, C>::pixels) * image.height), 5, common.rgb,
        shared_address(&kept.taken));
    if constexpr (sums_luma) {
        luma.reduce_over_warp();
        if (threadIdx.x % warp_lanes == 0) kept.warp_luma[threadIdx.x / warp_lanes] = luma;
    }
    __syncthreads();
    Total<C>& total = workspace.totals[kept.launch % 2];
#pragma unroll 1
    for (std::uint32_t bin = threadIdx.x; bin < rows * values; bin += blockDim.x) {
        const std::uint32_t samples = gather<rows>(bin, false);
        const Word pair = samples | Word{__shfl_down_sync(0xFFFFFFFFu, samples, 1)} << 32;
        if (bin % 2 == 0 && pair != 0) atomicAdd(&total.pairs[bin / 2], pair);
    }
    if (sums_luma) add_luma(kept.warp_luma, total.luma);

    const bool last = arrive_last(&workspace.arrived, gridDim.x, &kept.completes);
    if (last) {
        if (threadIdx.x == 0) *generation = kept.launch + 1;  // behind arrive_last's fence
        Total<C>& next = workspace.totals[(kept.launch + 1) % 2];
#pragma unroll 1
        for (int i = threadIdx.x; i < rows_of(C) * values / 2; i += blockDim.x) next.pairs[i] = 0;
        if (threadIdx.x == 0) next.luma = BrightnessSums{};
    }
    if (steps & apply_step) {
        if (threadIdx.x == 0 && !last) {
            while (*generation == kept.launch) __nanosleep(20);
            __threadfence();
        }
        __syncthreads();
    } else if (!last) {
        return;
    }
    if constexpr (!std::is_void_v<O>) {
        for (std::uint32_t bin = threadIdx.x; bin < rows * values; bin += blockDim.x)
            kept.counts[bin] = counted(total, bin);
        build_tables<C>(common.normalization, kept.counts, kept.partial, kept.tables);
        if (steps & apply_step) {
            apply();
            if (threadIdx.x == 0) kept.completes = atomicExch(&workspace.completed, kept.launch + 1) != kept.launch + 1;
            __syncthreads();
            if (!kept.completes) return;
        }
        write_tables<C>(common, 0, kept.tables);
    }
    complete_image<C>(common, image.pixels(), rows, total, kept);
}

/// The same for a batch of equal images, which are dealt to the blocks in turn: each is one block's. There is no
/// barrier between an image and the next: while the last warps write the sums of one, the others sweep the other.
/// Counters go on counting from one image to the next: each thread remembers what its bins had come to, modulo 2^32.
/// Launch: any grid of batch_threads_of(rows) threads a block, never cooperative.
/// `OneRow`: all_in_one_row.
template <int C, bool CountLuma, bool OneRow, typename O>
__global__ void __launch_bounds__(batch_threads_of(counted_rows<C, CountLuma>),
                                  batch_blocks(counted_rows<C, CountLuma>))
    batch_kernel(const __grid_constant__ Tensor images, const __grid_constant__ CountParameters p, int steps) {
    constexpr int rows = counted_rows<C, CountLuma>, threads = batch_threads_of(rows),
                  bins_of_thread = (rows * values + threads - 1) / threads;
    __shared__ Kept<C, O, rows, threads> kept;
    static_assert(rows != 3 || !std::is_void_v<O> || sizeof(kept) <= 1024, "see batch_blocks");
    const Common& common = p.common;
    const bool analyze = std::is_void_v<O> || (steps & analyze_step);
    if (analyze) {
        clear_columns(rows * values * 32);
        __syncthreads();
    }
    std::uint32_t before[bins_of_thread]{};
#pragma unroll 1
    for (std::int64_t index = blockIdx.x; index < images.count; index += gridDim.x) {
        const Image image = images.image(index);
        if (analyze) {
            const bool narrow = is_narrow(image.pixels());
            const Share share{threadIdx.x, images.pieces, threads};
            BrightnessSums luma = count_share<C, 32, CountLuma, OneRow, 1, false>(image, share, 5, common.rgb, 0);
            if (index + gridDim.x < images.count)
                fetch_ahead<std::uint8_t, C>(images.image(index + gridDim.x), threadIdx.x);
            if constexpr (rows == C && C > 1) {
                luma.reduce_over_warp(narrow);
                if (threadIdx.x % warp_lanes == 0) kept.warp_luma[threadIdx.x / warp_lanes] = luma;
            }
            __syncthreads();
            if constexpr (rows == C) luma = luma_part<C>(kept.warp_luma);
#pragma unroll
            for (int i = 0; i < bins_of_thread; ++i) {
                const std::uint32_t bin = threadIdx.x + i * threads;
                if (bin >= rows * values) break;
                const std::uint32_t now = gather<rows>(bin, false), samples = now - before[i];
                before[i] = now;
                if constexpr (!std::is_void_v<O>) kept.counts[bin] = samples;
                write_count<C>(common, index, narrow, bin, samples, kept.partial);
            }
            __syncthreads();  // the warps' parts of the sums
            write_sums<C>(common, index, image.pixels(), rows, kept.partial, luma);
        }
        if constexpr (!std::is_void_v<O>) {
            if (analyze) {
                build_tables<C>(common.normalization, kept.counts, kept.partial, kept.tables);
                write_tables<C>(common, index, kept.tables);
            } else {
                __syncthreads();  // the image before has been written
                read_tables<C>(common, index, kept.tables);
            }
            if (steps & apply_step)
                apply_tables<C>(common, kept.tables, image,
                                {threadIdx.x, pieces_of_samples<std::uint8_t, C>(image), blockDim.x},
                                images.output_of(index));
        }
    }
    __syncthreads();
    if (threadIdx.x == 0 && analyze) {
        __threadfence_system();
        for (std::int64_t index = blockIdx.x; index < images.count; index += gridDim.x)
            set_ready(result_of(common, index));
    }
}

/// The steps of images_kernel. A block has whole images, and shares its first and its last one at most.
template <int C, typename O, class Images>
struct BlockOfImages {
    static constexpr int wanted = blocks_wanted<C, O>;
    const Images& images;
    const CountParameters& p;
    Kept<C, O>& kept;

    __device__ int rows() const { return C == 1 ? 1 : C + p.count_luma; }
    __device__ Meeting<C>& meeting_of(const Part& part) const {
        return static_cast<ByteWorkspace<C>*>(p.workspace)->meetings[part.first_block];
    }

    /// Luma's sums, where it is not counted, to `kept`. Ends in a barrier, behind which the columns hold all.
    __device__ void count(const Image& image, const Share& share) const {
        if (rows() > C) {
            count_columns<C, C != 1, wanted>(image, share, p.columns_log2, p.common.rgb);
        } else {
            BrightnessSums luma = count_columns<C, false, wanted>(image, share, p.columns_log2, p.common.rgb);
            if constexpr (C > 1) {
                luma.reduce_over_warp();
                if (threadIdx.x % warp_lanes == 0) kept.warp_luma[threadIdx.x / warp_lanes] = luma;
            }
        }
        __syncthreads();
    }
    /// Writes a result from `counted(bin)` and this thread's part of luma's sums.
    template <class Counted>
    __device__ void complete(std::int64_t index, const BrightnessSums& luma, Counted counted) const {
        write_counts<C>(p.common, index, images.image(index).pixels(), rows(), kept.partial, [&](std::uint32_t bin) {
            const Word samples = counted(bin);
            if constexpr (!std::is_void_v<O>) kept.counts[bin] = samples;
            return samples;
        });
        __syncthreads();  // the warps' parts of the sums
        write_sums<C>(p.common, index, images.image(index).pixels(), rows(), kept.partial, luma);
        if constexpr (!std::is_void_v<O>) {
            build_tables<C>(p.common.normalization, kept.counts, kept.partial, kept.tables);
            write_tables<C>(p.common, index, kept.tables);
        }
    }
    /// An image that this block has alone. No barrier at the end: while the last warps write the sums the others go on
    /// with the next image.
    __device__ void analyze_whole(std::int64_t index) const {
        const std::int64_t pieces = images.pieces_before(index + 1) - images.pieces_before(index);
        count(images.image(index), {threadIdx.x, pieces, blockDim.x});
        complete(index, luma_part<C>(kept.warp_luma),
                 [&](std::uint32_t bin) { return gather_any<C>(bin, rows(), p.columns_log2); });
    }
    /// A part of an image. Returns the meeting's generation before this block arrived.
    __device__ __noinline__ std::uint32_t analyze_shared(const Part part) const {
        Meeting<C>& meeting = meeting_of(part);
        __syncthreads();  // the sums of the image before are written
        count(images.image(part.image), part.share());
#pragma unroll 1
        for (std::uint32_t bin = threadIdx.x; bin < rows() * values; bin += blockDim.x)
            if (const Word samples = gather_any<C>(bin, rows(), p.columns_log2))
                atomicAdd(&meeting.counts[bin], samples);
        if (C > 1 && rows() == C) add_luma(kept.warp_luma, meeting.luma);
        const std::uint32_t generation = *static_cast<volatile std::uint32_t*>(&meeting.generation);
        if (!arrive_last(&meeting.arrived, part.blocks, &kept.completes)) return generation;
        complete(part.image, luma_part<C>(meeting.luma), [&](std::uint32_t bin) {
            const Word samples = __ldcg(&meeting.counts[bin]);
            meeting.counts[bin] = 0;
            return samples;
        });
        __syncthreads();
        if (threadIdx.x == 0) {
            meeting.luma = BrightnessSums{};
            publish(result_of(p.common, part.image));
            atomicAdd(&meeting.generation, 1u);  // publish's fence stands before it
        }
        return generation;
    }
    __device__ void apply(const Part& part) const {
        if constexpr (!std::is_void_v<O>) {
            const Image image = images.image(part.image);
            apply_tables<C>(p.common, kept.tables, image, part.dealt_share(pieces_of_samples<std::uint8_t, C>(image)),
                            images.output_of(part.image));
            __syncthreads();  // the tables may be written again
        }
    }
    /// Through tables that a block has written, in this launch or the one before.
    __device__ void apply_written(const Part& part) const {
        if constexpr (!std::is_void_v<O>) {
            __syncthreads();
            read_tables<C>(p.common, part.image, kept.tables);
            apply(part);
        }
    }
    __device__ void apply_shared(const Part& part, std::uint32_t generation) const {
        if (threadIdx.x == 0) {
            auto* now = static_cast<volatile std::uint32_t*>(&meeting_of(part).generation);
            while (*now == generation) __nanosleep(100);
            __threadfence();
        }
        apply_written(part);
    }
};

/// The same for several images, for any number of copies of each bin (`1 << columns_log2`), and of 2^32 pixels and
/// more. See Parts for who reads which pixels. Of an image that it has alone a block writes the result. Blocks that
/// share one add to a meeting's counts in device memory; the last to arrive writes the result and leaves the meeting
/// empty for the next launch. Limit: fewer than 2^32 pixels a block, for the 32-bit counters.
template <int C, typename O, class Images>
__global__ void __launch_bounds__(block_threads, blocks_wanted<C, O>)
    images_kernel(const __grid_constant__ Images images, const __grid_constant__ CountParameters p, int steps) {
    __shared__ Kept<C, O> kept;
    const BlockOfImages<C, O, Images> block{images, p, kept};
    const Parts<Images> parts(images, blockIdx.x, gridDim.x);
    if (!(steps & analyze_step)) {
        for (int i = 0; i < parts.count(); ++i) block.apply_written(parts[i]);
        return;
    }

    clear_columns(block.rows() * values << p.columns_log2);
    __syncthreads();
    const int end = parts.count();
    const bool first_shared = !parts[0].whole(), last_shared = end > 1 && !parts[end - 1].whole();
    std::uint32_t first_generation = 0, last_generation = 0;
    if (first_shared) first_generation = block.analyze_shared(parts[0]);
    const std::int64_t whole = parts.image(first_shared), whole_end = parts.image(end - last_shared);
    for (std::int64_t index = whole; index < whole_end; ++index) {
        block.analyze_whole(index);
        if (steps & apply_step) block.apply(parts[static_cast<int>(index - parts.image(0))]);
    }
    if (last_shared) last_generation = block.analyze_shared(parts[end - 1]);
    __syncthreads();
    if (threadIdx.x == 0 && whole < whole_end) {  // one fence for all images that were this block's own
        __threadfence_system();
        for (std::int64_t index = whole; index < whole_end; ++index) set_ready(result_of(p.common, index));
    }
    if (steps & apply_step) {
        if (first_shared) block.apply_shared(parts[0], first_generation);
        if (last_shared) block.apply_shared(parts[end - 1], last_generation);
    }
}

template <int C, bool CountLuma, typename O>
void launch_image(const Launch& launch, std::size_t shared_bytes, const Tensor& images, const CountParameters& p) {
    const std::int64_t blocks = blocks_for(images.pieces, byte_pixels_per_block / group_pixels(1, C));
    launch_steps(launch, image_kernel<C, CountLuma, O>, {blocks, block_threads, shared_bytes}, !std::is_void_v<O>,
                 images.first, images.output, p);
}

/// Where at least two thirds of the blocks have an image at any time; false: nothing is launched.
template <int C, bool CountLuma, typename O>
bool launch_batch(Launch launch, std::size_t shared_bytes, const Tensor& images, const CountParameters& p) {
    constexpr int rows = counted_rows<C, CountLuma>;
    const Shape shape{images.count, batch_threads_of(rows), shared_bytes, batch_blocks(rows)};
    const auto kernel = all_in_one_row<std::uint8_t, C>(images) ? batch_kernel<C, CountLuma, true, O>
                                                                : batch_kernel<C, CountLuma, false, O>;
    const std::int64_t blocks =
        std::int64_t{launch.multiprocessors} * resident_blocks(launch, reinterpret_cast<const void*>(kernel), shape);
    const std::int64_t rounds = (images.count + blocks - 1) / blocks;
    if (images.count * 3 < rounds * blocks * 2) return false;
    launch_kernel(launch, kernel, false, shape, images, p,
                  std::is_void_v<O> ? analyze_step : analyze_step | apply_step);
    return true;
}

/// With 32 columns, and counts of an image that fit 32 bits.
template <int C, typename O>
bool launch_equal(const Launch& launch, std::size_t shared_bytes, const Tensor& images, const CountParameters& p) {
    if (p.columns_log2 != 5 || images.first.pixels() >= std::int64_t{1} << 32) return false;
    const bool count_luma = C > 1 && p.count_luma;
    if (images.count > 1)
        return count_luma ? launch_batch<C, C != 1, O>(launch, shared_bytes, images, p)
                          : launch_batch<C, false, O>(launch, shared_bytes, images, p);
    count_luma ? launch_image<C, C != 1, O>(launch, shared_bytes, images, p)
               : launch_image<C, false, O>(launch, shared_bytes, images, p);
    return true;
}
template <int C, typename O>
bool launch_equal(const Launch&, std::size_t, const List&, const CountParameters&) {
    return false;
}

}  // namespace

std::size_t bytes_workspace(int channels, const Launch& launch) {
    std::size_t bytes = 0;
    with_channels(channels, [&](auto constant) {
        constexpr int C = decltype(constant)::value;
        bytes = sizeof(ByteWorkspace<C>) + sizeof(Meeting<C>) * blocks_per_multiprocessor * launch.multiprocessors;
    });
    return bytes;
}

template <class Images>
void launch_bytes(const Images& images, CountParameters p, int channels, const Launch& launch) {
    const std::size_t copy_bytes = (channels == 1 ? 1 : channels + p.count_luma) * values * sizeof(std::uint32_t);
    p.columns_log2 = columns_log2(launch, copy_bytes);
    with_channels(channels, [&](auto constant) {
        constexpr int C = decltype(constant)::value;
        const std::size_t shared_bytes = copy_bytes << p.columns_log2;
        with_output<std::uint8_t>(p.common, [&](auto* output) {
            using O = std::remove_pointer_t<decltype(output)>;
            if (launch_equal<C, O>(launch, shared_bytes, images, p)) return;
            const std::int64_t pieces = images.pieces_before(images.count);
            const std::int64_t blocks = blocks_for(pieces, byte_pixels_per_block / group_pixels(1, C));
            const Shape shape{blocks, images.count > 1 && C > 1 ? batch_threads_of(C + p.count_luma) : block_threads,
                              shared_bytes};
            launch_steps(launch, images_kernel<C, O, Images>, shape, !std::is_void_v<O>, images, p);
        });
    });
}
template void launch_bytes(const Tensor&, CountParameters, int, const Launch&);
template void launch_bytes(const List&, CountParameters, int, const Launch&);

}  // namespace gpuhist::cuda
