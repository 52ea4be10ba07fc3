// Histograms of 256 bins, one per value. What limits them is who meets whom in a counter, or in its bank of shared
// memory.

#include <cub/device/device_histogram.cuh>

#ifdef GPUHIST_HAS_NPP
#include <nppi_statistics_functions.h>
#endif

#include "bench/ladder/exact.hpp"
#include "bench/ladder/ladder.cuh"

namespace gpuhist::bench::ladder {
namespace {

constexpr int bins = 256;

/// Counters in device memory, one atomic per pixel. Launch: any grid. Bytes: each pixel is read once.
__global__ void __launch_bounds__(many_threads)
    global_atomics(const std::uint8_t* pixels, std::int64_t count, Word* counts) {
    sweep(
        pixels, count,
        [&](const uint4& word, std::int64_t) {
            for_each_byte(word, [&](unsigned value, int) { atomicAdd(counts + value, Word{1}); });
        },
        [&](std::uint8_t value, std::int64_t) { atomicAdd(counts + value, Word{1}); });
}

/// A block's own counters in shared memory, added to the image's at the end. Launch: any grid.
__global__ void __launch_bounds__(many_threads)
    one_a_block(const std::uint8_t* pixels, std::int64_t count, Word* counts) {
    const SharedHistogram histogram = SharedHistogram::cleared();
    sweep(
        pixels, count,
        [&](const uint4& word, std::int64_t) { for_each_byte(word, [&](unsigned v, int) { histogram.add(v); }); },
        [&](std::uint8_t value, std::int64_t) { histogram.add(value); });
    histogram.merge(counts);
}

/// A warp's own counters: lanes of different warps no longer meet. Shared memory: 32 KiB for 32 warps. Barriers: after
/// clearing and before merging, which all threads do for all warps.
__global__ void __launch_bounds__(many_threads)
    one_a_warp(const std::uint8_t* pixels, std::int64_t count, Word* counts) {
    __shared__ unsigned of_warp[many_threads / warp_lanes][bins];
    for (int i = threadIdx.x; i < many_threads / warp_lanes * bins; i += blockDim.x) of_warp[i / bins][i % bins] = 0;
    __syncthreads();
    unsigned* own = of_warp[threadIdx.x / warp_lanes];
    sweep(
        pixels, count,
        [&](const uint4& word, std::int64_t) { for_each_byte(word, [&](unsigned v, int) { atomicAdd(own + v, 1u); }); },
        [&](std::uint8_t value, std::int64_t) { atomicAdd(own + value, 1u); });
    __syncthreads();
    for (int v = threadIdx.x; v < bins; v += blockDim.x) {
        Word sum = 0;
        for (int warp = 0; warp < many_threads / warp_lanes; ++warp) sum += of_warp[warp][v];
        if (sum != 0) atomicAdd(counts + v, sum);
    }
}

/// The lanes that hold one value find each other, and the lowest of them adds their number. One histogram per block.
__global__ void __launch_bounds__(many_threads)
    match_any(const std::uint8_t* pixels, std::int64_t count, Word* counts) {
    const SharedHistogram histogram = SharedHistogram::cleared();
    sweep(
        pixels, count,
        [&](const uint4& word, std::int64_t) {
            for_each_byte(word, [&](unsigned value, int) {
                const unsigned equals = __match_any_sync(whole_warp, value);
                if (__ffs(static_cast<int>(equals)) - 1 == lane_of_thread()) histogram.add(value, __popc(equals));
            });
        },
        [&](std::uint8_t value, std::int64_t) { histogram.add(value); });
    histogram.merge(counts);
}

/// 32 copies of each bin side by side, copy l in bank l: lane l counts there, and no two lanes of a warp ever meet in a
/// bank, whatever the picture. Warps still share counters, hence atomics. Shared memory: 32 KiB, and two blocks of 1024
/// threads fill a multiprocessor. Barriers: after clearing and before merging, since lanes of all warps count in a
/// column. Merging, each thread starts at another column: 32 bins' copies of one column share a bank.
__global__ void __launch_bounds__(many_threads)
    column_a_lane(const std::uint8_t* pixels, std::int64_t count, Word* counts) {
    __shared__ unsigned columns[bins][warp_lanes];
    for (int i = threadIdx.x; i < bins * warp_lanes; i += blockDim.x) columns[i / warp_lanes][i % warp_lanes] = 0;
    __syncthreads();
    unsigned* own = &columns[0][lane_of_thread()];
    sweep(
        pixels, count,
        [&](const uint4& word, std::int64_t) {
            for_each_byte(word, [&](unsigned value, int) { atomicAdd(own + value * warp_lanes, 1u); });
        },
        [&](std::uint8_t value, std::int64_t) { atomicAdd(own + value * warp_lanes, 1u); });
    __syncthreads();
    for (int v = threadIdx.x; v < bins; v += blockDim.x) {
        Word sum = 0;
        for (int i = 0; i < warp_lanes; ++i) sum += columns[v][(i + v) % warp_lanes];
        if (sum != 0) atomicAdd(counts + v, sum);
    }
}

template <void (*Kernel)(const std::uint8_t*, std::int64_t, Word*)>
void count_by(const Call& call) {
    clear(call, call.answer, bins * sizeof(Word));
    launch_many(call, Kernel, call.image.samples(), pixels_of(call), call.image.samples(), call.answer);
}

// Libraries

void cub_histogram(const Image& image, void* storage, std::size_t& bytes, unsigned* counts, cudaStream_t stream) {
    LADDER_CUDA(cub::DeviceHistogram::HistogramEven(storage, bytes, image.on_device<std::uint8_t>(), counts, bins + 1,
                                                    0, bins, image.samples(), stream));
}

std::size_t cub_bytes(const Image& image) {
    std::size_t bytes = 0;
    cub_histogram(image, nullptr, bytes, nullptr, nullptr);
    return bytes;
}

void by_cub(const Call& call) {
    std::size_t bytes = cub_bytes(call.image);
    cub_histogram(call.image, call.scratch, bytes, reinterpret_cast<unsigned*>(call.answer), call.stream);
}

#ifdef GPUHIST_HAS_NPP

void check_npp(NppStatus status, const char* call) {
    if (status != NPP_SUCCESS) throw std::runtime_error(std::string(call) + ": NPP's error " + std::to_string(status));
}
#define LADDER_NPP(call) check_npp((call), #call)

NppStreamContext npp_context(cudaStream_t stream) {
    NppStreamContext context{};
    cudaDeviceProp properties{};
    LADDER_CUDA(cudaGetDevice(&context.nCudaDeviceId));
    LADDER_CUDA(cudaGetDeviceProperties(&properties, context.nCudaDeviceId));
    LADDER_CUDA(cudaStreamGetFlags(stream, &context.nStreamFlags));
    context.hStream = stream;
    context.nMultiProcessorCount = properties.multiProcessorCount;
    context.nMaxThreadsPerMultiProcessor = properties.maxThreadsPerMultiProcessor;
    context.nMaxThreadsPerBlock = properties.maxThreadsPerBlock;
    context.nSharedMemPerBlock = properties.sharedMemPerBlock;
    context.nCudaDevAttrComputeCapabilityMajor = properties.major;
    context.nCudaDevAttrComputeCapabilityMinor = properties.minor;
    return context;
}

NppiSize size_of(const Image& image) {
    return {static_cast<int>(image.width), static_cast<int>(image.height)};
}

/// NPP counts bytes of memory in int or in std::size_t, as its version has it.
template <class Size>
std::size_t bytes_by(NppStatus (*ask)(NppiSize, int, Size*, NppStreamContext), const Image& image) {
    Size bytes{};
    LADDER_NPP(ask(size_of(image), bins + 1, &bytes, npp_context(nullptr)));
    return static_cast<std::size_t>(bytes);
}

std::size_t npp_bytes(const Image& image) {
    return bytes_by(nppiHistogramEvenGetBufferSize_8u_C1R_Ctx, image);
}

/// Whether it clears the counts, it does not document: they are cleared.
void by_npp(const Call& call) {
    static NppStreamContext context = npp_context(call.stream);  // asking for properties takes long
    if (context.hStream != call.stream) context = npp_context(call.stream);
    clear(call, call.answer, bins * sizeof(Npp32s));
    LADDER_NPP(nppiHistogramEven_8u_C1R_Ctx(call.image.on_device<Npp8u>(), static_cast<int>(call.image.width),
                                            size_of(call.image), reinterpret_cast<Npp32s*>(call.answer), bins + 1, 0,
                                            bins, static_cast<Npp8u*>(call.scratch), context));
}

std::string no_npp(const Image&) {
    return "";
}

#else

std::size_t npp_bytes(const Image&) {
    return 0;
}

void by_npp(const Call&) {
    throw std::logic_error("built without NPP");
}

std::string no_npp(const Image&) {
    return "built without NPP: CMake did not find it in the CUDA toolkit";
}

#endif

}  // namespace

std::vector<Rung> histogram_rungs() {
    const auto rung = [](const char* name, const char* change, void (*run)(const Call&)) {
        return Rung{"histogram", name, change, exact::histogram, run};
    };
    return {
        rung("global_atomics", "one atomic per pixel, on 256 counters in device memory", count_by<global_atomics>)
            .with(&Rung::divisor, 64),
        rung("one_a_block", "counters in shared memory, merged once per block: near, but all warps meet in them",
             count_by<one_a_block>),
        rung("one_a_warp", "a warp's own counters: only its lanes meet, in a counter or in a bank",
             count_by<one_a_warp>),
        rung("match_any", "lanes of equal value find each other, one adds for all: what it saves, it costs",
             count_by<match_any>),
        rung("column_a_lane", "a lane's own column, each in its own bank: no two lanes of a warp meet at all",
             count_by<column_a_lane>),
        rung("cub", "cub::DeviceHistogram::HistogramEven: one per block, for any number of bins", by_cub)
            .with(&Rung::scratch_bytes, cub_bytes)
            .with(&Rung::answer_bytes, 4)
            .with(&Rung::clock, Clock::stream),
        rung("npp", "nppiHistogramEven_8u_C1R_Ctx: what the image library of the toolkit does", by_npp)
            .with(&Rung::scratch_bytes, npp_bytes)
            .with(&Rung::answer_bytes, 4)
            .with(&Rung::clock, Clock::stream)
            .with(&Rung::obstacle, no_npp),
    };
}

}  // namespace gpuhist::bench::ladder
