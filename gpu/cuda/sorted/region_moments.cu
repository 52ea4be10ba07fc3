// Region moments: the numbers of each region's sorted samples, of weighted 8- and 16-bit integers too, by a warp, or by
// a block where there are many.

#include <algorithm>
#include <limits>
#include <type_traits>

#include "cuda/block/central_moments.cuh"
#include "cuda/host/launcher.cuh"
#include "cuda/results.cuh"
#include "cuda/sorted/regions.cuh"
#include "plan/abilities.hpp"
#include "statistics/float_analysis.hpp"

namespace gpuhist::cuda {
namespace {

constexpr int threads = 256, warps = threads / warp_lanes, resident = 4;
constexpr std::uint32_t most_of_warp = 1024;  ///< keys of a region that a warp measures

/// Places in a region's keys where something begins that ends the part before.
enum Place : int { minus_infinity, finite, plus_infinity, nan, masked, nodata, zero, positive, places };

/// Value of a key at which a place lies. Integers are all finite; zero is looked for in doubles alone.
template <class Sample, class Key>
__device__ inline Key value_at_place(int place, int sample_bits) {
    const Key excluded = Key{1} << sample_bits;
    if (place == masked) return excluded;
    if (place == nodata) return excluded | 1;
    if constexpr (core::is_real<Sample>) {
        constexpr Key lowest = core::minus_infinity_code<Sample>, highest = core::plus_infinity_code<Sample>;
        const Key none = core::code_of(Sample{});
        return place == minus_infinity  ? lowest
               : place == finite        ? lowest + 1
               : place == plus_infinity ? highest
               : place == nan           ? highest + 1
               : place == zero          ? none
                                        : none + 1;
    } else {
        return place <= finite ? 0 : excluded;
    }
}

/// Verdict on samples: whether this unit measures them because they have weights.
template <class Sample>
inline constexpr bool is_weighted = std::is_integral_v<Sample> && sizeof(Sample) <= 2;

/// Memory of a group.
struct GroupMemory {
    static constexpr int digits = 68;  ///< of 32 bits, in a sum of doubles

    std::uint32_t at[places];
    std::uint64_t scanned[warps];
    Word digit[digits];
    double mean;
};
struct BlockMemory {
    GroupMemory of_warp[warps];
    core::i128 sums[warps];
};

/// Threads that measure a region together: a warp, or all of the block.
template <bool WholeBlock>
struct Group {
    static constexpr unsigned size = WholeBlock ? threads : warp_lanes;
    BlockMemory& block;
    GroupMemory& memory;

    __device__ explicit Group(BlockMemory& of)
        : block(of), memory(of.of_warp[WholeBlock ? 0 : threadIdx.x / warp_lanes]) {}
    __device__ unsigned rank() const { return threadIdx.x % size; }
    __device__ void wait() const {
        if constexpr (WholeBlock)
            __syncthreads();
        else
            __syncwarp();
    }
    /// Sum of numbers under 2^107 in size, for all threads.
    __device__ core::i128 sum(core::i128 value) const {
        value = wide_sum_over_warp(value);
        if constexpr (WholeBlock) {
            __syncthreads();  // the last sums are read
            if (threadIdx.x % warp_lanes == 0) block.sums[threadIdx.x / warp_lanes] = value;
            __syncthreads();  // all warps' sums
            value = 0;
            for (const core::i128& of_warp : block.sums) value += of_warp;
        }
        return value;
    }
    /// Sum of the values of the threads before this one; and of all.
    __device__ std::uint64_t before(std::uint64_t value, std::uint64_t& all) const {
        const std::uint64_t lanes = scan_lanes(value);
        if constexpr (WholeBlock) return scan_warps(lanes, memory.scanned, all) + lanes - value;
        all = __shfl_sync(0xFFFFFFFFu, lanes, warp_lanes - 1);
        return lanes - value;
    }
};

/// Finite samples of a region, ascending.
template <class Sample, class Key, class Group>
struct RegionSamples {
    const Group& group;
    const Key* keys;
    std::uint32_t count;
    double lowest;  ///< value of the code 0, of integers
    int weight_bits;

    __device__ core::Code<Sample> code(std::uint64_t i) const {
        return static_cast<core::Code<Sample>>(is_weighted<Sample> ? keys[i] >> weight_bits : keys[i]);
    }
    __device__ std::uint32_t weight(std::uint64_t i) const {
        return static_cast<std::uint32_t>(keys[i] & ((Key{1} << weight_bits) - 1));
    }
    __device__ Sample sample(std::uint64_t i) const { return core::sample_at<Sample>(code(i)); }
    __device__ double value(std::uint64_t i) const {
        if constexpr (core::is_real<Sample>)
            return core::value_of(sample(i));
        else
            return static_cast<double>(code(i)) + lowest;
    }
    /// Calls visit(i) for a thread's samples; returns their number.
    template <class Visit>
    __device__ std::uint32_t each(const Visit& visit) const {
        std::uint32_t own = 0;
#pragma unroll 4
        for (std::uint32_t i = group.rank(); i < count; i += Group::size, ++own) visit(i);
        return own;
    }
};

/// Mean and std of floats, as the CPU finds them: of terms about a pivot near the median, and once more about the mean
/// where that pivot was poor.
template <class Key, class Group>
__device__ core::MeanStd mean_std(const RegionSamples<float, Key, Group>& samples) {
    const std::uint32_t n = samples.count;
    const float minimum = samples.sample(0), maximum = samples.sample(n - 1);
    double pivot = core::middle_of_high_digit(core::high_digit(samples.code(n / 2)), minimum, maximum);
    core::CentralMoments central;
    for (bool again : {false, true}) {
        FloatMoments moments{pivot, core::moment_exponent(pivot, minimum, maximum), {}};
        const core::MomentTerms terms(pivot, moments.exponent);
        std::uint64_t high[2] = {}, low[2] = {};
        const std::uint32_t own = samples.each([&](std::uint32_t i) { terms.add(samples.sample(i), high, low); });
        for (int k = 0; k < 2; ++k)
            moments.sums[k] = core::to_public(samples.group.sum(core::PowerTerms::total(high[k], low[k], own)));
        central = central_moments_of(n, moments);
        if (again || !core::poor_pivot(moments, central)) break;
        pivot = central.mean;
    }
    return {central.mean, sqrt(central.m2)};
}

/// Exact sum of doubles over their number, rounded once. A double is a whole number of 2^-1074: each thread adds up
/// digits of 32 bits, only those that some sample has.
template <class Key, class Group>
__device__ double exact_mean(const RegionSamples<double, Key, Group>& samples, std::uint32_t negative,
                             std::uint32_t positive) {
    constexpr int digit_bits = 32, lowest_exponent = -1074;
    const auto shift_of = [](std::uint64_t bits) {
        const int exponent = static_cast<int>(bits >> 52 & 0x7FF);
        return exponent == 0 ? 0 : exponent - 1;
    };
    const auto bits_at = [&](std::uint32_t i) {
        return static_cast<std::uint64_t>(__double_as_longlong(samples.sample(i)));
    };
    const std::uint32_t n = samples.count;
    GroupMemory& memory = samples.group.memory;
    if (negative == 0 && positive == n) return 0;
    // The largest lie at the ends, the smallest on both sides of zero.
    const int largest = max(shift_of(bits_at(0)), shift_of(bits_at(n - 1))),
              smallest = min(negative > 0 ? shift_of(bits_at(negative - 1)) : largest,
                             positive < n ? shift_of(bits_at(positive)) : largest);
    const int first = smallest / digit_bits, digits = largest / digit_bits - first + 3;  // a double has parts of three
    std::int64_t own[GroupMemory::digits];
    for (int d = 0; d < digits; ++d) own[d] = 0;
    samples.each([&](std::uint32_t i) {
        const std::uint64_t bits = bits_at(i), fraction = bits & ((std::uint64_t{1} << 52) - 1);
        if (bits << 1 == 0) return;
        const int shift = shift_of(bits), at = shift / digit_bits - first;
        const core::u128 whole =
            static_cast<core::u128>((bits >> 52 & 0x7FF) == 0 ? fraction : fraction | std::uint64_t{1} << 52)
            << shift % digit_bits;
        const std::int64_t sign = bits >> 63 ? -1 : 1;
#pragma unroll
        for (int part = 0; part < 3; ++part)
            own[at + part] += sign * static_cast<std::uint32_t>(whole >> (digit_bits * part));
    });
    samples.group.wait();  // the last region's digits are read
    for (unsigned d = samples.group.rank(); d < GroupMemory::digits; d += Group::size) memory.digit[d] = 0;
    samples.group.wait();  // none yet
    for (int d = 0; d < digits; ++d) {
        const std::uint64_t sum = sum_over_warp(static_cast<std::uint64_t>(own[d]));
        if (threadIdx.x % warp_lanes == 0) atomicAdd(memory.digit + d, Word{sum});
    }
    samples.group.wait();  // all sums
    if (samples.group.rank() == 0) {
        const auto carry_of = [&](bool negate, bool keep) {
            std::int64_t carry = 0;
            for (int d = 0; d < digits; ++d) {
                const auto sum = static_cast<std::int64_t>(memory.digit[d]);
                carry += negate ? -sum : sum;
                if (keep) memory.digit[d] = static_cast<std::uint32_t>(carry);
                carry >>= digit_bits;
            }
            return carry;
        };
        const bool below = carry_of(false, false) < 0;
        memory.digit[digits] = static_cast<Word>(carry_of(below, true));
        int top = digits;
        while (top > 0 && memory.digit[top] == 0) --top;
        // 128 bits from the highest on. Lower bits decide ties alone, and a bit in their place does.
        const auto digit = [&](int d) { return d < 0 ? Word{0} : memory.digit[d]; };
        core::u128 window = 0;
        for (int k = 0; k < 4; ++k) window = window << digit_bits | digit(top - k);
        const int shift = __clz(static_cast<int>(digit(top)));
        const Word next = digit(top - 4) << shift;
        bool more = static_cast<std::uint32_t>(next) != 0;
        for (int d = 0; d < top - 4; ++d) more = more || memory.digit[d] != 0;
        window = window << shift | next >> digit_bits | (more ? 1u : 0u);
        const double mean = ldexp(core::ratio(window, n), digit_bits * (first + top - 3) - shift + lowest_exponent);
        memory.mean = below ? -mean : mean;
    }
    samples.group.wait();  // the mean
    return memory.mean;
}

/// Mean of other samples, and of integers the sums of codes: exact, rounded once.
template <class Sample, class Key, class Group>
__device__ double exact_mean(const RegionSamples<Sample, Key, Group>& samples, ChannelResult& channel) {
    const std::uint32_t n = samples.count;
    if constexpr (std::is_same_v<Sample, Half>) {
        std::int64_t own = 0;  // in units of 2^-24: each sample is a whole number of them
        samples.each(
            [&](std::uint32_t i) { own += static_cast<std::int64_t>(core::to_float(samples.sample(i)) * 0x1p24f); });
        return core::ratio(samples.group.sum(own), n) * 0x1p-24;
    } else {
        std::uint64_t sum = 0;
        core::u128 squares = 0;
        samples.each([&](std::uint32_t i) {
            const std::uint64_t code = samples.code(i);
            sum += code;
            squares += code * code;
        });
        const core::i128 all = samples.group.sum(static_cast<core::i128>(sum));
        channel.sum = static_cast<std::uint64_t>(all);
        channel.sum_squares = core::to_public(samples.group.sum(static_cast<core::i128>(squares)));
        return core::ratio(all + static_cast<core::i128>(samples.lowest) * n, n);
    }
}

/// Std of samples about their mean.
template <class Sample, class Key, class Group>
__device__ double std_about(const RegionSamples<Sample, Key, Group>& samples, double mean) {
    const std::uint32_t n = samples.count;
    const core::Distances distance(mean, samples.value(0), samples.value(n - 1));
    std::uint64_t high[2] = {}, low[2] = {};
    const std::uint32_t own =
        samples.each([&](std::uint32_t i) { core::PowerTerms::add(distance(samples.value(i)), high, low); });
    double raw[2];
    for (int k = 0; k < 2; ++k) {
        const core::i128 highs = samples.group.sum(core::PowerTerms::part(high[k], own));
        raw[k] = core::PowerTerms::mean(highs, samples.group.sum(core::PowerTerms::part(low[k], own)), n);
    }
    return distance.std(core::Distances::variance(raw[0], raw[1]));
}

/// Writes the numbers of weighted samples, exact, and the percentiles: the smallest value up to which lies at least
/// that part of the weight. Limit: 2^30 samples of weights of 16 bits.
template <class Sample, class Key, class Group>
__device__ void measure_weighted(const RegionSamples<Sample, Key, Group>& samples, const RegionResults& results,
                                 ChannelResult& channel, double* percentiles) {
    const std::uint32_t n = samples.count, each = (n + Group::size - 1) / Group::size,
                        begin = min(samples.group.rank() * each, n), end = min(begin + each, n);
    std::uint64_t own = 0;  // weight of the thread's samples, which are neighbors
    for (std::uint32_t i = begin; i < end; ++i) own += samples.weight(i);
    std::uint64_t sum = 0;
    core::u128 squares = 0;
    samples.each([&](std::uint32_t i) {
        const std::uint64_t code = samples.code(i), part = code * samples.weight(i);
        sum += part;
        squares += static_cast<core::u128>(part) * code;
    });
    std::uint64_t weight = 0;
    const std::uint64_t before = samples.group.before(own, weight);
    const auto codes = static_cast<std::uint64_t>(samples.group.sum(static_cast<core::i128>(sum)));
    const auto all_squares = static_cast<core::u128>(samples.group.sum(static_cast<core::i128>(squares)));
    const std::uint64_t nodata = channel.nodata;
    write_channel(channel, results.depth, weight, codes, all_squares, samples.code(0), samples.code(n - 1));
    channel.samples = n;
    channel.weight = weight;
    channel.nodata = nodata;
    for (int i = 0; i < results.percentiles; ++i) {
        const auto reaches = [&](std::uint64_t through) {
            return static_cast<core::u128>(through) * core::all_micro >=
                   static_cast<core::u128>(results.micro[i]) * weight;
        };
        if (begin == end || !reaches(before + own) || (begin > 0 && reaches(before))) continue;
        std::uint32_t at = begin;
        for (std::uint64_t through = before; !reaches(through += samples.weight(at));) ++at;
        percentiles[i] = samples.value(at);
    }
}

/// Task of a launch.
template <class Key>
struct Task {
    RegionMemory<Key> memory;
    LabelNumbers numbers;
    bool first;
    int result_channel;
    RegionResults results;
};

/// Writes the results of a region.
template <class Sample, class Key, class Group>
__device__ void measure(const Task<Key>& task, std::uint64_t region, const Group& group) {
    const RegionMemory<Key>& memory = task.memory;
    const RegionResults& results = task.results;
    const std::uint32_t begin = memory.starts[region], end = memory.starts[region + 1];
    const Key values = (Key{1} << task.numbers.value_bits) - 1;
    const auto& at = group.memory.at;
    group.wait();  // the last region's places are read
    if (const auto place = static_cast<int>(group.rank()); place < places)
        group.memory.at[place] = first_of_value<Key>(memory.sorted, begin, end, values,
                                                     value_at_place<Sample, Key>(place, task.numbers.sample_bits)
                                                         << task.numbers.weight_bits);
    group.wait();  // all places
    const RegionSamples<Sample, Key, Group> samples{group, memory.sorted + at[finite], at[plus_infinity] - at[finite],
                                                    results.lowest, task.numbers.weight_bits};
    const std::uint32_t n = samples.count;
    ChannelResult channel{};
    channel.samples = n;
    channel.infinite = at[finite] - at[minus_infinity] + (at[nan] - at[plus_infinity]);
    channel.nan = at[minus_infinity] - begin + (at[masked] - at[nan]);
    channel.nodata = end - at[nodata];
    char* const to = results.memory + results.layout.first + region * results.layout.stride;
    auto* percentiles =
        reinterpret_cast<double*>(to + results.layout.percentiles_offset) + task.result_channel * results.percentiles;
    if (n > 0) {
        if constexpr (is_weighted<Sample>) {
            measure_weighted(samples, results, channel, percentiles);
        } else {
            channel.minimum = samples.value(0);
            channel.maximum = samples.value(n - 1);
            if constexpr (std::is_same_v<Sample, float>) {
                const core::MeanStd of = mean_std(samples);
                channel.mean = of.mean;
                channel.std = of.std;
            } else {
                if constexpr (std::is_same_v<Sample, double>)
                    channel.mean = exact_mean(samples, at[zero] - at[finite], at[positive] - at[finite]);
                else
                    channel.mean = exact_mean(samples, channel);
                channel.std = std_about(samples, channel.mean);
            }
        }
    }
    for (int i = static_cast<int>(group.rank()); i < results.percentiles; i += static_cast<int>(Group::size))
        if (n == 0)
            percentiles[i] = std::numeric_limits<double>::quiet_NaN();
        else if constexpr (!is_weighted<Sample>)
            percentiles[i] =
                core::percentile_of(results.micro[i], n, [&](std::uint64_t rank) { return samples.value(rank); });
    if (group.rank() != 0) return;
    auto& result = *reinterpret_cast<RegionResult*>(to);
    if (task.first) {
        write_place(result, task.numbers, memory.numbers[region], memory.boxes[region]);
        result.area = end - begin;
    }
    result.channels[task.result_channel] = channel;
}

/// Kernel that writes a channel of the results, and the rest of them with the first channel. Launch: any grid. Limit:
/// 2^30 keys, 2^22 per thread.
template <class Sample, class Key>
__global__ void __launch_bounds__(threads, resident) moments_kernel(const __grid_constant__ Task<Key> task) {
    __shared__ BlockMemory memory;
    __shared__ unsigned large[warps];  // of as many regions as the block has threads
    const auto* found = reinterpret_cast<const RegionsFound*>(task.results.memory);
    const std::uint64_t regions = min(Word{found->regions}, Word{task.memory.regions});
    const auto is_large = [&](std::uint64_t region) {
        return task.memory.starts[region + 1] - task.memory.starts[region] > most_of_warp;
    };
    const int warp = static_cast<int>(threadIdx.x) / warp_lanes;
    const std::uint64_t blocks = gridDim.x;
    for (std::uint64_t region = blockIdx.x * std::uint64_t{warps} + warp; region < regions; region += blocks * warps)
        if (!is_large(region)) measure<Sample>(task, region, Group<false>(memory));
    // Large regions are dealt to the blocks, one after the other.
    for (std::uint64_t begin = blockIdx.x; begin < regions; begin += blocks * threads) {
        const std::uint64_t own = begin + blocks * threadIdx.x;
        __syncthreads();  // the last ones are read
        const unsigned lanes = __ballot_sync(0xFFFFFFFFu, own < regions && is_large(own));
        if (threadIdx.x % warp_lanes == 0) large[warp] = lanes;
        __syncthreads();  // which are large
        for (int of = 0; of < warps; ++of)
            for (unsigned left = large[of]; left != 0; left &= left - 1)
                measure<Sample>(task, begin + blocks * (of * warp_lanes + __ffs(static_cast<int>(left)) - 1),
                                Group<true>(memory));
    }
}

}  // namespace

template <class Key>
void launch_region_moments(const LabelNumbers& numbers, const RegionMemory<Key>& memory, std::int64_t count, bool first,
                           int result_channel, const RegionResults& results, const Launch& launch) {
    const LaunchConfiguration configuration{std::min<std::int64_t>(memory.regions, count), threads, 0, resident};
    const Task<Key> task{memory, numbers, first, result_channel, results};
    with_depth(results.depth, [&](auto sample) {
        using Own = decltype(sample);
        using Sample = std::conditional_t<core::is_real<Own>, Own, core::Code<Own>>;  // integers go by their codes
        if constexpr (sizeof(Key) > sizeof(Sample) && plan::depths_of_region_kernels.has(core::depth_of<Own>()))
            launch_kernel(launch, moments_kernel<Sample, Key>, false, configuration, task);
    });
}

template void launch_region_moments(const LabelNumbers&, const RegionMemory<std::uint32_t>&, std::int64_t, bool, int,
                                    const RegionResults&, const Launch&);
template void launch_region_moments(const LabelNumbers&, const RegionMemory<std::uint64_t>&, std::int64_t, bool, int,
                                    const RegionResults&, const Launch&);
template void launch_region_moments(const LabelNumbers&, const RegionMemory<WideKey>&, std::int64_t, bool, int,
                                    const RegionResults&, const Launch&);

}  // namespace gpuhist::cuda
