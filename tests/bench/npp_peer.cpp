#include "bench/peers.hpp"

#ifdef GPUHIST_BENCH_NPP

#include <nppdefs.h>
#include <nppi_statistics_functions.h>

#include <cmath>

#include "bench/gpu_timing.hpp"

namespace gpuhist::bench {
namespace {

void check(NppStatus status, const char* function) {
    if (status != NPP_SUCCESS)
        throw Unavailable(std::string(function) + " refuses this image (status " + std::to_string(status) + ")");
}

/// The number of bytes of buffer that a function needs, as a query writes it: older versions of NPP into an int, newer
/// ones into a size_t. On the little-endian machines that CUDA runs on the value is the same.
struct BufferBytes {
    std::size_t bytes = 0;
    operator std::size_t*() { return &bytes; }
    operator int*() { return reinterpret_cast<int*>(&bytes); }
};

class Npp : public GpuPeer {
  public:
    Npp(const PeerImage& image, NppWork work, int gpu)
        : image_(image), work_(work), row_bytes_(static_cast<int>(image.width) * image.channels) {
        if (image.depth != Depth::u8) throw Unavailable("measured with 8 bits only");
        if (image.channels != 1 && (image.channels != 3 || work != NppWork::histogram))
            throw Unavailable("measured with one channel only, histograms with three too");
        size_ = {static_cast<int>(image.width), static_cast<int>(image.height)};
        cudaDeviceProp properties{};
        BENCH_CUDA(cudaGetDeviceProperties(&properties, gpu));
        context_.nCudaDeviceId = gpu;
        context_.nMultiProcessorCount = properties.multiProcessorCount;
        context_.nMaxThreadsPerMultiProcessor = properties.maxThreadsPerMultiProcessor;
        context_.nMaxThreadsPerBlock = properties.maxThreadsPerBlock;
        context_.nSharedMemPerBlock = properties.sharedMemPerBlock;
        context_.nCudaDevAttrComputeCapabilityMajor = properties.major;
        context_.nCudaDevAttrComputeCapabilityMinor = properties.minor;
        BufferBytes needed;
        const char* query = "the query for the buffer's size";
        if (work == NppWork::mean_std)
            check(nppiMeanStdDevGetBufferHostSize_8u_C1R_Ctx(size_, needed, context_), query);
        else if (work == NppWork::min_max)
            check(nppiMinMaxGetBufferHostSize_8u_C1R_Ctx(size_, needed, context_), query);
        else if (image.channels == 1)
            check(nppiHistogramEvenGetBufferSize_8u_C1R_Ctx(size_, levels, needed, context_), query);
        else
            check(nppiHistogramEvenGetBufferSize_8u_C3R_Ctx(size_, levels_, needed, context_), query);
        buffer_ = DeviceMemory(needed.bytes);
        results_ = DeviceMemory(static_cast<std::size_t>(image.channels) * 256 * sizeof(Npp32s));
        for (int c = 0; c < image.channels && c < 3; ++c) counts_[c] = results_.as<Npp32s>() + c * 256;
    }

    void enqueue(const void* pixels, cudaStream_t stream) override {
        if (stream != context_.hStream) {
            context_.hStream = stream;
            BENCH_CUDA(cudaStreamGetFlags(stream, &context_.nStreamFlags));
        }
        const Npp8u* samples = static_cast<const Npp8u*>(pixels);
        Npp8u* buffer = buffer_.as<Npp8u>();
        if (work_ == NppWork::mean_std)
            check(nppiMean_StdDev_8u_C1R_Ctx(samples, row_bytes_, size_, buffer, results_.as<Npp64f>(),
                                             results_.as<Npp64f>() + 1, context_),
                  "nppiMean_StdDev");
        else if (work_ == NppWork::min_max)
            check(nppiMinMax_8u_C1R_Ctx(samples, row_bytes_, size_, results_.as<Npp8u>(), results_.as<Npp8u>() + 1,
                                        buffer, context_),
                  "nppiMinMax");
        else if (image_.channels == 1)
            check(
                nppiHistogramEven_8u_C1R_Ctx(samples, row_bytes_, size_, counts_[0], levels, 0, 256, buffer, context_),
                "nppiHistogramEven");
        else
            check(nppiHistogramEven_8u_C3R_Ctx(samples, row_bytes_, size_, counts_, levels_, lower_, upper_, buffer,
                                               context_),
                  "nppiHistogramEven");
    }

    std::string compare(const Analysis& ours) const override {
        std::vector<std::uint32_t> found(results_.bytes() / sizeof(std::uint32_t));
        BENCH_CUDA(cudaMemcpy(found.data(), results_.get(), results_.bytes(), cudaMemcpyDeviceToHost));
        if (work_ == NppWork::histogram) {
            for (int c = 0; c < image_.channels; ++c) {
                const auto first = found.begin() + c * 256;
                compare_counts("NPP", channel_in_memory_order(ours, c), std::vector<std::uint32_t>(first, first + 256),
                               false);
            }
            return "agrees";
        }
        const Brightness& brightness = ours.brightness.value();
        if (work_ == NppWork::min_max) {
            const auto* extremes = reinterpret_cast<const Npp8u*>(found.data());
            if (extremes[0] != brightness.minimum || extremes[1] != brightness.maximum)
                throw Mismatch("NPP and gpuhist find different extremes");
            return "agrees";
        }
        // NPP gives the mean in floating point: the sum that it stands for must be the integer.
        const double mean = *reinterpret_cast<const Npp64f*>(found.data());
        const double sum = mean * static_cast<double>(image_.samples());
        if (std::llround(sum) != static_cast<long long>(brightness.sum))
            return "its mean is " +
                   std::to_string(mean - static_cast<double>(brightness.sum) / static_cast<double>(image_.samples())) +
                   " off";
        return "agrees";
    }

  private:
    static constexpr int levels = 257;

    PeerImage image_;
    NppWork work_;
    int row_bytes_;
    NppiSize size_{};
    NppStreamContext context_{};
    DeviceMemory buffer_, results_;
    Npp32s* counts_[3] = {};
    int levels_[3] = {levels, levels, levels};
    Npp32s lower_[3] = {0, 0, 0}, upper_[3] = {256, 256, 256};
};

}  // namespace

std::unique_ptr<GpuPeer> make_npp(const PeerImage& image, NppWork work, int gpu) {
    return std::make_unique<Npp>(image, work, gpu);
}

}  // namespace gpuhist::bench

#else

namespace gpuhist::bench {

std::unique_ptr<GpuPeer> make_npp(const PeerImage&, NppWork, int) {
    throw Unavailable("the CUDA toolkit of this build has no NPP");
}

}  // namespace gpuhist::bench

#endif
