// The pixels lie on the GPU; each figure is the median wall time of whole calls, results fetched, over an image large
// enough that a call's fixed cost does not show (the 12 MP rows show it). Ceilings and peers run in the same process on
// the same pixels, and every peer's counts are compared with the engine's.

#include "kernels.hpp"

#include <cuda_runtime.h>

#include <cub/device/device_histogram.cuh>
#include <cuda/std/array>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <vector>

#include "gpuhist/gpuhist.hpp"

namespace gpuhist::bench {
namespace {

void check(cudaError_t status, const char* call) {
    if (status != cudaSuccess) throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(status));
}
#define CHECK(call) check((call), #call)

enum class Content { random, natural, constant, two_values };
constexpr Content contents[] = {Content::random, Content::natural, Content::constant, Content::two_values};
const char* name_of(Content content) {
    switch (content) {
        case Content::random:
            return "random";
        case Content::natural:
            return "natural";
        case Content::constant:
            return "constant";
        default:
            return "two values";
    }
}

__device__ std::uint64_t hash(std::uint64_t x) {  // splitmix64
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

/// Fills with samples of one content; `picture` holds `picture_samples` of 8 bits.
template <typename T>
__global__ void fill(T* data, std::int64_t samples, Content content, const std::uint8_t* picture,
                     std::int64_t picture_samples) {
    const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
    for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < samples; i += step) {
        const std::uint64_t bits = hash(i);
        double unit = 0;  // in [0, 1)
        switch (content) {
            case Content::random:
                unit = static_cast<double>(bits >> 11) * 0x1p-53;
                break;
            case Content::natural:  // the low bits that a deeper photograph has are noise
                unit = (picture[i % picture_samples] + static_cast<double>(bits >> 40) * 0x1p-24) / 256;
                break;
            case Content::constant:
                unit = 0.3;
                break;
            case Content::two_values:
                unit = bits & 1 ? 0.3 : 0.7;
                break;
        }
        if constexpr (sizeof(T) == 4)
            data[i] = static_cast<T>(unit);
        else
            data[i] = static_cast<T>(unit * (1 << 8 * sizeof(T)));
    }
}

/// The read-only sweep: 16-byte loads, several in flight, everything else left out.
__global__ void __launch_bounds__(1024) read_only(const uint4* data, std::int64_t words, unsigned* result) {
    const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
    unsigned all = 0;
    std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    for (; i + 7 * step < words; i += 8 * step) {
        uint4 w[8];
#pragma unroll
        for (int u = 0; u < 8; ++u) w[u] = data[i + u * step];
#pragma unroll
        for (int u = 0; u < 8; ++u) all ^= w[u].x ^ w[u].y ^ w[u].z ^ w[u].w;
    }
    for (; i < words; i += step) all ^= data[i].x ^ data[i].y ^ data[i].z ^ data[i].w;
    if (all == 0x12345678u) *result = all;  // never to be optimised away
}

struct Times {
    double median, spread;  ///< seconds; spread is (p90 − p10) / median
};

Times measure(int repetitions, const std::function<void()>& work) {
    work();
    work();
    std::vector<double> seconds;
    for (int i = 0; i < repetitions; ++i) {
        CHECK(cudaDeviceSynchronize());
        const auto start = std::chrono::steady_clock::now();
        work();
        CHECK(cudaDeviceSynchronize());
        seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    std::sort(seconds.begin(), seconds.end());
    const double median = seconds[seconds.size() / 2];
    return {median, (seconds[seconds.size() * 9 / 10] - seconds[seconds.size() / 10]) / median};
}

class Memory {
  public:
    explicit Memory(std::size_t bytes) { CHECK(cudaMalloc(&data_, bytes)); }
    ~Memory() { cudaFree(data_); }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    void* get() const { return data_; }

  private:
    void* data_ = nullptr;
};

class Table {
  public:
    Table(const std::string& csv, double sweep) : sweep_(sweep) {
        if (!csv.empty()) csv_.open(csv);
        if (csv_) csv_ << "case,content,tool,gb_per_s,percent_of_sweep,milliseconds,spread\n";
        std::printf("%-34s %-11s %-9s %9s %7s %10s %7s\n", "case", "content", "tool", "GB/s", "sweep", "ms", "spread");
    }
    void add(const char* name, Content content, const char* tool, double bytes, Times t) {
        const double rate = bytes / t.median / 1e9;
        std::printf("%-34s %-11s %-9s %9.0f %6.1f%% %10.4f %6.1f%%\n", name, name_of(content), tool, rate,
                    100 * rate / sweep_, t.median * 1e3, 100 * t.spread);
        std::fflush(stdout);
        if (csv_)
            csv_ << name << ',' << name_of(content) << ',' << tool << ',' << rate << ',' << 100 * rate / sweep_ << ','
                 << t.median * 1e3 << ',' << t.spread << '\n';
    }

  private:
    double sweep_;
    std::ofstream csv_;
};

template <typename T>
constexpr Depth depth_of() {
    return sizeof(T) == 1 ? Depth::u8 : sizeof(T) == 2 ? Depth::u16 : Depth::f32;
}

template <typename T>
ImageView device_view(void* data, std::int64_t pixels, int channels) {
    const std::int64_t width = std::min<std::int64_t>(pixels, 4000), height = pixels / width;
    return {data,
            width,
            height,
            channels,
            depth_of<T>(),
            width * channels * static_cast<std::int64_t>(sizeof(T)),
            ChannelOrder::bgr,
            gpuhist::Memory::device};
}

/// CUB on the same pixels; throws where its counts differ from the engine's.
template <typename T, int C>
Times run_cub(const ImageView& view, const Analysis& analysis, int repetitions) {
    constexpr int active = C == 1 ? 1 : 3, bins = sizeof(T) == 2 ? 65536 : 256;
    using Level = std::conditional_t<sizeof(T) == 4, float, int>;
    Memory counts(active * bins * sizeof(unsigned));
    ::cuda::std::array<unsigned*, active> histograms;
    ::cuda::std::array<int, active> levels;
    ::cuda::std::array<Level, active> lower, upper;
    for (int c = 0; c < active; ++c) {
        histograms[c] = static_cast<unsigned*>(counts.get()) + c * bins;
        levels[c] = bins + 1;
        lower[c] = static_cast<Level>(analysis.range.lower);
        upper[c] = static_cast<Level>(analysis.range.upper);
    }
    const T* samples = static_cast<const T*>(view.data);
    auto call = [&](void* storage, std::size_t& bytes) {
        if constexpr (C == 1)
            CHECK(cub::DeviceHistogram::HistogramEven(storage, bytes, samples, histograms[0], levels[0], lower[0],
                                                      upper[0], view.pixels()));
        else
            CHECK((cub::DeviceHistogram::MultiHistogramEven<C, active>(storage, bytes, samples, histograms, levels,
                                                                       lower, upper, view.pixels())));
    };
    std::size_t bytes = 0;
    call(nullptr, bytes);
    Memory storage(bytes);
    const Times times = measure(repetitions, [&] { call(storage.get(), bytes); });
    if (sizeof(T) != 4) {
        std::vector<unsigned> found(active * bins);
        CHECK(cudaMemcpy(found.data(), counts.get(), found.size() * sizeof(unsigned), cudaMemcpyDeviceToHost));
        const Channel order[] = {Channel::blue, Channel::green, Channel::red};
        for (int c = 0; c < active; ++c) {
            const ChannelAnalysis* channel = analysis.find(C == 1 ? Channel::gray : order[c]);
            for (int b = 0; b < bins; ++b)
                if (found[c * bins + b] != static_cast<unsigned>(channel->counts[b]))
                    throw std::runtime_error("CUB and gpuhist count differently");
        }
    }
    return times;
}

}  // namespace

void run_kernels(const KernelsOptions& options) {
    CHECK(cudaSetDevice(options.gpu));
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, options.gpu));
    int runtime = 0, driver = 0;
    CHECK(cudaRuntimeGetVersion(&runtime));
    CHECK(cudaDriverGetVersion(&driver));
    std::printf("%s, %d SMs, CUDA runtime %d.%d, driver %d.%d\n", properties.name, properties.multiProcessorCount,
                runtime / 1000, runtime % 1000 / 10, driver / 1000, driver % 1000 / 10);

    EngineOptions engine_options;
    engine_options.gpu = options.gpu;
    const std::unique_ptr<Engine> engine = make_engine("cuda", engine_options);
    const std::size_t bytes = static_cast<std::size_t>(options.bytes);
    Memory pixels(bytes + 256), output(bytes + 256), flag(4);

    const std::vector<unsigned char>& photograph = options.photograph;
    Memory picture(photograph.size());
    CHECK(cudaMemcpy(picture.get(), photograph.data(), photograph.size(), cudaMemcpyHostToDevice));

    const auto sweep = [&](std::size_t n) {
        return measure(options.repetitions, [&] {
            read_only<<<properties.multiProcessorCount * 2, 1024>>>(static_cast<const uint4*>(pixels.get()),
                                                                    static_cast<std::int64_t>(n / 16),
                                                                    static_cast<unsigned*>(flag.get()));
            CHECK(cudaGetLastError());
        });
    };
    const auto copy = [&](std::size_t n) {
        return measure(options.repetitions,
                       [&] { CHECK(cudaMemcpyAsync(output.get(), pixels.get(), n, cudaMemcpyDeviceToDevice)); });
    };
    const auto fill_with = [&](auto type, Content content) {
        using T = decltype(type);
        fill<T><<<4096, 256>>>(static_cast<T*>(pixels.get()), static_cast<std::int64_t>(bytes / sizeof(T)), content,
                               static_cast<const std::uint8_t*>(picture.get()),
                               static_cast<std::int64_t>(photograph.size()));
        CHECK(cudaGetLastError());
        CHECK(cudaDeviceSynchronize());
    };

    fill_with(std::uint8_t{}, Content::random);
    const double sweep_rate = static_cast<double>(bytes) / sweep(bytes).median / 1e9;
    const Times large_copy = copy(bytes);
    std::printf("read-only sweep %.0f GB/s, device copy %.0f GB/s both ways, over %.2f GiB\n\n", sweep_rate,
                2 * static_cast<double>(bytes) / large_copy.median / 1e9, static_cast<double>(bytes) / (1 << 30));
    Table table(options.csv, sweep_rate);
    Analysis analysis;

    const auto bench = [&](auto type, auto channels_constant, const char* name, const AnalysisRequest& request,
                           bool peer) {
        using T = decltype(type);
        constexpr int C = decltype(channels_constant)::value;
        for (Content content : contents) {
            fill_with(T{}, content);
            const std::int64_t count = static_cast<std::int64_t>(bytes / sizeof(T) / C / 4000 * 4000);
            const ImageView view = device_view<T>(pixels.get(), count, C);
            const double view_bytes = static_cast<double>(view.pixels()) * C * sizeof(T);
            table.add(name, content, "gpuhist", view_bytes,
                      measure(options.repetitions, [&] { engine->analyze(view, request, analysis); }));
            if (peer)
                table.add(name, content, "CUB", view_bytes,
                          run_cub<T, C>(view, analysis, std::max(3, options.repetitions / 3)));
        }
    };
    using One = std::integral_constant<int, 1>;
    using Three = std::integral_constant<int, 3>;
    AnalysisRequest brightness_only;
    brightness_only.luma_histogram = false;
    bench(std::uint8_t{}, One{}, "u8 grey", {}, true);
    bench(std::uint8_t{}, Three{}, "u8 BGR + brightness", brightness_only, true);
    bench(std::uint8_t{}, Three{}, "u8 BGR + luma histogram", {}, false);
    bench(std::uint16_t{}, One{}, "u16 grey, 65536 bins", {}, true);
    bench(std::uint16_t{}, Three{}, "u16 BGR + luma, 65536 bins", {}, true);
    bench(float{}, One{}, "f32 grey, 256 bins, two sweeps", {}, true);
    bench(float{}, Three{}, "f32 BGR + luma, 256 bins", {}, true);

    std::printf("\nnormalised copies, analysis included: time as a multiple of a device copy's\n");
    const auto normalize = [&](auto type, int channels, const char* name, NormalizeMode mode, std::int64_t count) {
        using T = decltype(type);
        fill_with(T{}, Content::natural);
        const ImageView view = device_view<T>(pixels.get(), count, channels);
        MutableImageView target{
            output.get(),
            view.width,
            view.height,
            view.channels,
            normalized_depth(view.depth, mode),
            view.width * view.channels * static_cast<std::int64_t>(sample_bytes(normalized_depth(view.depth, mode))),
            view.order,
            view.memory};
        Normalization normalization;
        normalization.mode = mode;
        const Times t =
            measure(options.repetitions, [&] { engine->normalize(view, {}, normalization, target, analysis); });
        const Times copied = copy(static_cast<std::size_t>(view.pixels()) * channels * sizeof(T));
        std::printf("%-34s %10.4f ms %6.2f x copy\n", name, t.median * 1e3, t.median / copied.median);
    };
    const std::int64_t large = options.bytes / 16 / 4000 * 4000, photo = 12'000'000;
    normalize(std::uint8_t{}, 1, "u8 grey minmax", NormalizeMode::minmax, large);
    normalize(std::uint8_t{}, 3, "u8 BGR minmax", NormalizeMode::minmax, large);
    normalize(std::uint8_t{}, 3, "u8 BGR equalize", NormalizeMode::equalize, large);
    normalize(std::uint16_t{}, 1, "u16 grey minmax", NormalizeMode::minmax, large);
    normalize(float{}, 1, "f32 grey minmax", NormalizeMode::minmax, large / 4);
    normalize(std::uint8_t{}, 3, "u8 BGR minmax, 12 MP", NormalizeMode::minmax, photo);

    std::printf("\none 12 MP BGR image on the GPU, results fetched by the host\n");
    fill_with(std::uint8_t{}, Content::natural);
    const ImageView photo_view = device_view<std::uint8_t>(pixels.get(), photo, 3);
    const Times one = measure(options.repetitions * 5, [&] { engine->analyze(photo_view, {}, analysis); });
    std::printf("%-34s %10.1f us\n", "u8 BGR + luma histogram", one.median * 1e6);
}

}  // namespace gpuhist::bench
