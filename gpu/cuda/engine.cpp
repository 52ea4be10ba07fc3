// The engine on the GPU, host side: validate, move the pixels, launch, fetch the integers.

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string>

#include "core/bins.hpp"
#include "core/float_analysis.hpp"
#include "core/validate.hpp"
#include "cuda/parameters.hpp"
#include "cuda/runtime.hpp"
#include "engines.hpp"
#include "gpuhist/error.hpp"

namespace gpuhist::cuda {

void check(cudaError_t status, const char* call, const char* file, int line) {
    if (status == cudaSuccess) return;
    (void)cudaGetLastError();
    const std::string what = std::string("CUDA: ") + cudaGetErrorString(status) + " (" + cudaGetErrorName(status) +
                             ") in " + call + " at " + std::filesystem::path(file).filename().string() + ":" +
                             std::to_string(line);
    if (status == cudaErrorMemoryAllocation) throw OutOfMemory(what + ": use a smaller image or the cpu engine");
    throw CudaError(what);
}

namespace {

int attribute(cudaDeviceAttr name, int gpu) {
    int value = 0;
    GPUHIST_CUDA(cudaDeviceGetAttribute(&value, name, gpu));
    return value;
}

/// One image on its way through the GPU: where its pixels lie there.
struct Placed {
    Image image;
    void* output = nullptr;
    std::int64_t output_row_bytes = 0;
};

class CudaEngine final : public Engine {
  public:
    explicit CudaEngine(const EngineOptions& options)
        : gpu_(options.gpu),
          launch_{stream_, attribute(cudaDevAttrMultiProcessorCount, gpu_),
                  static_cast<std::size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, gpu_)),
                  options.cooperative && attribute(cudaDevAttrCooperativeLaunch, gpu_) != 0} {}

    std::string_view name() const override { return "cuda"; }

    void analyze(const ImageView& image, const AnalysisRequest& request, Analysis& result) override {
        run(image, request, nullptr, nullptr, result);
    }
    void normalize(const ImageView& image, const AnalysisRequest& request, const Normalization& normalization,
                   const MutableImageView& output, Analysis& result) override {
        run(image, request, &normalization, &output, result);
    }

  private:
    void run(const ImageView& image, const AnalysisRequest& request, const Normalization* normalization,
             const MutableImageView* output, Analysis& result);
    Placed place(const ImageView& image, const MutableImageView* output);

    void run_counts(const ImageView& image, const Placed& placed, const AnalysisRequest& request,
                    const Normalization* normalization, Analysis& result);
    void run_floats(const ImageView& image, const Placed& placed, const AnalysisRequest& request,
                    const Normalization* normalization, Analysis& result);

    int gpu_;
    Stream stream_;
    Launch launch_;
    DeviceBuffer input_, output_, workspace_;
    PinnedBuffer results_;
};

/// Uploads host pixels; device pixels stay where they are. Images whose rows follow each other become one long row.
Placed CudaEngine::place(const ImageView& image, const MutableImageView* output) {
    Placed placed{{image.data, image.width, image.height, image.row_bytes}, nullptr, 0};
    if (image.height == 1) placed.image.row_bytes = image.packed_row_bytes();
    if (output) {
        placed.output = output->data;
        placed.output_row_bytes = image.height == 1 ? output->packed_row_bytes() : output->row_bytes;
    }
    if (image.memory == Memory::host) {
        const std::int64_t row_bytes = image.packed_row_bytes();
        void* device = input_.reserve(static_cast<std::size_t>(row_bytes * image.height));
        GPUHIST_CUDA(cudaMemcpy2DAsync(device, row_bytes, image.data, placed.image.row_bytes, row_bytes, image.height,
                                       cudaMemcpyHostToDevice, stream_));
        placed.image.data = device;
        placed.image.row_bytes = row_bytes;
        if (output) {
            placed.output_row_bytes = output->packed_row_bytes();
            placed.output = output_.reserve(static_cast<std::size_t>(placed.output_row_bytes * output->height));
        }
    }
    const bool packed = placed.image.row_bytes == image.packed_row_bytes() &&
                        (!output || placed.output_row_bytes == output->packed_row_bytes());
    if (packed) placed.image = {placed.image.data, image.width * image.height, 1, placed.image.row_bytes};
    return placed;
}

/// The channel of a row of device counts.
Channel channel_of_row(int row, int channels, bool rgb) {
    if (channels == 1) return Channel::gray;
    switch (row) {
        case 0:
            return rgb ? Channel::red : Channel::blue;
        case 1:
            return Channel::green;
        case 2:
            return rgb ? Channel::blue : Channel::red;
        case luma_row:
            return Channel::luma;
        default:
            return Channel::alpha;
    }
}

/// The row of device counts for each of the result's channels: red first.
int row_of_result(int channel, int channels, bool rgb) {
    return channels > 1 && !rgb && (channel == 0 || channel == 2) ? 2 - channel : channel;
}

void CudaEngine::run_counts(const ImageView& image, const Placed& placed, const AnalysisRequest& request,
                            const Normalization* normalization, Analysis& result) {
    const std::size_t values = image.depth == Depth::u8 ? 256 : 65536, rows = rows_of(image.channels);
    const bool rgb = image.order == ChannelOrder::rgb;
    const std::size_t counts_bytes = rows * values * sizeof(Word),
                      fetched_bytes = counts_bytes + sizeof(BrightnessSums);
    const std::size_t table_bytes =
        normalization ? 3 * values * sample_bytes(normalized_depth(image.depth, normalization->mode)) : 0;

    auto* workspace = static_cast<char*>(workspace_.reserve(fetched_bytes + table_bytes));
    CountParameters p{};
    p.image = placed.image;
    p.counts = reinterpret_cast<Word*>(workspace);
    p.brightness = reinterpret_cast<BrightnessSums*>(workspace + counts_bytes);
    p.rgb = rgb;
    p.count_luma = request.luma_histogram;
    if (normalization) {
        p.count_luma |= normalization->mode == NormalizeMode::equalize;
        p.copy = {*normalization, workspace + fetched_bytes, placed.output, placed.output_row_bytes};
    }
    GPUHIST_CUDA(cudaMemsetAsync(workspace, 0, fetched_bytes, stream_));
    (image.depth == Depth::u8 ? launch_bytes : launch_words)(p, image.channels, launch_);

    auto* fetched = static_cast<char*>(results_.reserve(fetched_bytes));
    GPUHIST_CUDA(cudaMemcpyAsync(fetched, workspace, fetched_bytes, cudaMemcpyDeviceToHost, stream_));
    GPUHIST_CUDA(cudaStreamSynchronize(stream_));

    const auto* counts = reinterpret_cast<const Word*>(fetched);
    BrightnessSums sums;
    std::memcpy(&sums, fetched + counts_bytes, sizeof sums);
    result.range = {0, static_cast<double>(values)};
    result.upper_closed = false;
    result.pooled_order_statistics.clear();
    const core::i128 squares =
        static_cast<core::i128>(sums.squares_low) + (static_cast<core::i128>(sums.squares_high) << 32);
    result.brightness = Brightness{sums.sum, core::to_public(squares), ~sums.complement_minimum, sums.maximum};
    const bool no_luma = image.channels > 1 && !request.luma_histogram;
    result.channels.resize(rows - no_luma);
    std::size_t at = 0;
    for (int i = 0; i < static_cast<int>(rows); ++i) {
        if (i == luma_row && no_luma) continue;
        const int row = row_of_result(i, image.channels, rgb);
        ChannelAnalysis& channel = result.channels[at++];
        std::vector<std::uint64_t> storage = std::move(channel.counts);
        channel = {};
        channel.channel = channel_of_row(row, image.channels, rgb);
        channel.pixels = static_cast<std::uint64_t>(image.pixels());
        channel.counts = std::move(storage);
        channel.counts.assign(counts + row * values, counts + (row + 1) * values);
    }
}

void CudaEngine::run_floats(const ImageView& image, const Placed& placed, const AnalysisRequest& request,
                            const Normalization* normalization, Analysis& result) {
    constexpr std::size_t keys = core::half_keys;
    const std::size_t rows = rows_of(image.channels);
    const bool rgb = image.order == ChannelOrder::rgb;

    const std::size_t rows_bytes = core::float_rows * sizeof(FloatRow), counts_words = rows * request.bins;
    const std::size_t high_words = rows * keys;
    const std::size_t low_words = (image.channels == 1 ? 1 : core::float_rows) * core::max_ranks * keys;
    const std::size_t equalize_words =
        normalization && normalization->mode == NormalizeMode::equalize ? rows * keys : 0;
    const std::size_t fetched_bytes = rows_bytes + counts_words * sizeof(Word);
    const std::size_t bytes = fetched_bytes + (high_words + low_words + equalize_words) * sizeof(Word);

    auto* workspace = static_cast<char*>(workspace_.reserve(bytes));
    FloatParameters p{};
    p.image = placed.image;
    p.rgb = rgb;
    p.rows = reinterpret_cast<FloatRow*>(workspace);
    p.counts = reinterpret_cast<Word*>(workspace + rows_bytes);
    p.high_counts = p.counts + counts_words;
    p.low_counts = p.high_counts + high_words;
    p.equalize_counts = p.low_counts + low_words;
    p.bins = request.bins;
    p.has_range = request.range.has_value();
    p.range = request.range.value_or(Range{});
    if (normalization) {
        p.stretch = normalization->mode == NormalizeMode::percentile;
        p.copy = {*normalization, nullptr, placed.output, placed.output_row_bytes};
    }
    GPUHIST_CUDA(cudaMemsetAsync(workspace, 0, bytes, stream_));
    launch_floats(p, image.channels, launch_);

    auto* fetched = static_cast<char*>(results_.reserve(fetched_bytes));
    GPUHIST_CUDA(cudaMemcpyAsync(fetched, workspace, fetched_bytes, cudaMemcpyDeviceToHost, stream_));
    GPUHIST_CUDA(cudaStreamSynchronize(stream_));

    const auto* found = reinterpret_cast<const FloatRow*>(fetched);
    const auto* counts = reinterpret_cast<const Word*>(fetched + rows_bytes);
    const auto fetch_order = [](const FloatRow& row, std::vector<OrderStatistic>& order) {
        order.clear();
        for (int r = 0; r < row.ranks.ranks; ++r) order.push_back({row.ranks.rank[r], row.order[r]});
    };
    result.brightness.reset();
    result.channels.resize(rows);
    bool any_finite = false;
    float lowest = 0, highest = 0;
    for (int i = 0; i < static_cast<int>(rows); ++i) {
        const int index = row_of_result(i, image.channels, rgb);
        const FloatRow& row = found[index];
        ChannelAnalysis& channel = result.channels[i];
        channel.channel = channel_of_row(index, image.channels, rgb);
        channel.pixels = static_cast<std::uint64_t>(image.pixels());
        channel.counts.assign(counts + std::size_t(index) * request.bins,
                              counts + std::size_t(index + 1) * request.bins);
        channel.nan = row.nan;
        channel.infinite = row.positive_infinite + row.negative_infinite;
        channel.below = row.below;
        channel.above = row.above;
        channel.minimum = row.minimum;
        channel.maximum = row.maximum;
        channel.moments = FloatMoments{row.pivot, row.exponent, {}};
        for (int k = 0; k < 4; ++k) channel.moments.sums[k] = sum_of(row.sums[k]);
        fetch_order(row, channel.order_statistics);
        if (row.finite == 0) continue;
        lowest = any_finite ? std::min(lowest, row.minimum) : row.minimum;
        highest = any_finite ? std::max(highest, row.maximum) : row.maximum;
        any_finite = true;
    }
    result.range = request.range.value_or(core::found_range(any_finite, lowest, highest));
    result.upper_closed = !request.range;
    result.pooled_order_statistics.clear();
    if (image.channels > 1) fetch_order(found[core::pooled_row], result.pooled_order_statistics);
}

void CudaEngine::run(const ImageView& image, const AnalysisRequest& request, const Normalization* normalization,
                     const MutableImageView* output, Analysis& result) {
    core::validate(image);
    core::validate(request);
    if (normalization) {
        core::validate(*normalization);
        core::validate_output(image, *normalization, *output);
    }
    // Counters of a block have 32 bits, and the blocks share the pixels evenly.
    if (image.pixels() / launch_.multiprocessors >= std::int64_t{1} << 31)
        throw InvalidArgument("image of " + std::to_string(image.pixels()) + " pixels: this GPU counts fewer than " +
                              std::to_string((std::int64_t{1} << 31) * launch_.multiprocessors));
    const CurrentDevice current(gpu_);
    const Placed placed = place(image, output);
    result.depth = image.depth;
    if (image.depth == Depth::f32)
        run_floats(image, placed, request, normalization, result);
    else
        run_counts(image, placed, request, normalization, result);
    if (output && output->memory == Memory::host) {
        const std::int64_t row_bytes = output->packed_row_bytes();
        GPUHIST_CUDA(cudaMemcpy2DAsync(output->data, output->height == 1 ? row_bytes : output->row_bytes, placed.output,
                                       row_bytes, row_bytes, output->height, cudaMemcpyDeviceToHost, stream_));
        GPUHIST_CUDA(cudaStreamSynchronize(stream_));
    }
}

/// The oldest GPUs that CUDA 13 compiles for.
constexpr int oldest_major = 7, oldest_minor = 5;

std::string why_unavailable(int gpu) {
    int count = 0;
    const cudaError_t status = cudaGetDeviceCount(&count);
    if (status == cudaErrorInsufficientDriver) {
        (void)cudaGetLastError();
        int driver = 0;
        (void)cudaDriverGetVersion(&driver);
        return driver == 0 ? "no CUDA driver is installed" : "the CUDA driver is older than this program needs";
    }
    if (status != cudaSuccess) {
        (void)cudaGetLastError();
        return cudaGetErrorString(status);
    }
    if (count == 0) return "no GPU is visible";
    if (gpu < 0 || gpu >= count)
        return "there is no GPU " + std::to_string(gpu) + ": they are numbered 0 to " + std::to_string(count - 1);
    const int major = attribute(cudaDevAttrComputeCapabilityMajor, gpu),
              minor = attribute(cudaDevAttrComputeCapabilityMinor, gpu);
    if (major * 10 + minor < oldest_major * 10 + oldest_minor)
        return "GPU " + std::to_string(gpu) + " has compute capability " + std::to_string(major) + "." +
               std::to_string(minor) + ", at least 7.5 is needed";
    return "";
}

}  // namespace

std::vector<GpuInfo> gpus() {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess) {
        (void)cudaGetLastError();
        return {};
    }
    std::vector<GpuInfo> result;
    for (int gpu = 0; gpu < count; ++gpu) {
        cudaDeviceProp properties;
        GPUHIST_CUDA(cudaGetDeviceProperties(&properties, gpu));
        result.push_back({gpu, properties.name, properties.major, properties.minor, properties.totalGlobalMem,
                          properties.multiProcessorCount, properties.cooperativeLaunch != 0});
    }
    return result;
}

EngineInfo info() {
    const std::string why = why_unavailable(0);
    if (!why.empty()) return {"cuda", false, why};
    return {"cuda", true, gpus().front().name};
}

std::unique_ptr<Engine> make(const EngineOptions& options) {
    const std::string why = why_unavailable(options.gpu);
    if (!why.empty()) throw EngineUnavailable("engine cuda: " + why);
    const CurrentDevice current(options.gpu);
    return std::make_unique<CudaEngine>(options);
}

}  // namespace gpuhist::cuda
