#include <cuda_runtime.h>

#include <cub/device/device_histogram.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cuda/std/array>

#include <cmath>
#include <limits>
#include <vector>

#include "bench/gpu_timing.hpp"
#include "bench/peers.hpp"

namespace gpuhist::bench {
namespace {

struct Extremes {
    float lowest, highest;
};
struct Both {
    __host__ __device__ Extremes operator()(float value) const { return {value, value}; }
};
struct Wider {
    __host__ __device__ Extremes operator()(const Extremes& a, const Extremes& b) const {
        return {a.lowest < b.lowest ? a.lowest : b.lowest, a.highest > b.highest ? a.highest : b.highest};
    }
};

/// CUB's calls come in pairs: the first says how much memory the second needs.
class Storage {
  public:
    template <class Call>
    void reserve(const Call& call) {
        std::size_t bytes = 0;
        BENCH_CUDA(call(nullptr, bytes));
        memory_ = DeviceMemory(std::max<std::size_t>(bytes, 1));
    }
    template <class Call>
    void run(const Call& call) {
        std::size_t bytes = memory_.bytes();
        BENCH_CUDA(call(memory_.get(), bytes));
    }

  private:
    DeviceMemory memory_;
};

template <typename T, int channels>
class Cub : public GpuPeer {
    static constexpr int counted = channels == 1 ? 1 : 3;
    static constexpr bool floats = sizeof(T) == 4;
    using Level = std::conditional_t<floats, float, int>;

  public:
    Cub(const PeerImage& image, bool sort)
        : image_(image), sort_(sort), counts_(counted * static_cast<std::size_t>(image.bins) * sizeof(unsigned)) {
        for (int c = 0; c < counted; ++c) {
            histograms_[c] = counts_.as<unsigned>() + c * image.bins;
            levels_[c] = image.bins + 1;
            lower_[c] = floats ? static_cast<Level>(image.range.lower) : Level{0};
            upper_[c] = floats ? static_cast<Level>(image.range.upper) : static_cast<Level>(image.bins);
            if constexpr (floats)
                if (image.upper_closed) upper_[c] = std::nextafter(upper_[c], std::numeric_limits<float>::infinity());
        }
        histogram_storage_.reserve(histogram(nullptr, nullptr));
        if constexpr (floats) {
            extremes_ = DeviceMemory(sizeof(Extremes));
            extremes_storage_.reserve(find_extremes(nullptr, nullptr));
            if (sort) {
                sorted_ = DeviceMemory(static_cast<std::size_t>(image.samples()) * sizeof(T));
                sort_storage_.reserve(sort_samples(nullptr, nullptr));
            }
        }
    }

    void enqueue(const void* pixels, cudaStream_t stream) override {
        const T* samples = static_cast<const T*>(pixels);
        if constexpr (floats) {
            extremes_storage_.run(find_extremes(samples, stream));
            if (sort_) sort_storage_.run(sort_samples(samples, stream));
        }
        histogram_storage_.run(histogram(samples, stream));
    }

    std::string compare(const Analysis& ours) const override {
        std::string remark = "agrees";
        std::vector<unsigned> found(counts_.bytes() / sizeof(unsigned));
        BENCH_CUDA(cudaMemcpy(found.data(), counts_.get(), counts_.bytes(), cudaMemcpyDeviceToHost));
        for (int c = 0; c < counted; ++c) {
            const auto first = found.begin() + static_cast<std::ptrdiff_t>(c) * image_.bins;
            const std::string moved = compare_counts("CUB", channel_in_memory_order(ours, c),
                                                     std::vector<std::uint32_t>(first, first + image_.bins), floats);
            if (moved != "agrees") remark = moved;
        }
        if constexpr (floats) {
            Extremes extremes{};
            BENCH_CUDA(cudaMemcpy(&extremes, extremes_.get(), sizeof extremes, cudaMemcpyDeviceToHost));
            float lowest = std::numeric_limits<float>::infinity(), highest = -lowest;
            for (int c = 0; c < counted; ++c) {
                lowest = std::min(lowest, channel_in_memory_order(ours, c).minimum);
                highest = std::max(highest, channel_in_memory_order(ours, c).maximum);
            }
            if (lowest != extremes.lowest || highest != extremes.highest)
                throw Mismatch("CUB and gpuhist find different extremes");
            if (sort_) compare_ranks(ours.channels.at(0));
        }
        return remark;
    }

  private:
    auto histogram(const T* samples, cudaStream_t stream) {
        return [=, this](void* storage, std::size_t& bytes) {
            if constexpr (channels == 1)
                return cub::DeviceHistogram::HistogramEven(storage, bytes, samples, histograms_[0], levels_[0],
                                                           lower_[0], upper_[0], image_.samples(), stream);
            else
                return cub::DeviceHistogram::MultiHistogramEven<channels, counted>(
                    storage, bytes, samples, histograms_, levels_, lower_, upper_, image_.samples() / channels, stream);
        };
    }
    auto find_extremes(const T* samples, cudaStream_t stream) {
        return [=, this](void* storage, std::size_t& bytes) {
            constexpr float infinity = std::numeric_limits<float>::infinity();
            return cub::DeviceReduce::TransformReduce(storage, bytes, samples, extremes_.template as<Extremes>(),
                                                      image_.samples(), Wider{}, Both{}, Extremes{infinity, -infinity},
                                                      stream);
        };
    }
    auto sort_samples(const T* samples, cudaStream_t stream) {
        return [=, this](void* storage, std::size_t& bytes) {
            return cub::DeviceRadixSort::SortKeys(storage, bytes, samples, sorted_.template as<T>(), image_.samples(),
                                                  0, 8 * static_cast<int>(sizeof(T)), stream);
        };
    }
    void compare_ranks(const ChannelAnalysis& ours) const {
        for (const OrderStatistic& statistic : ours.order_statistics) {
            float value = 0;
            BENCH_CUDA(cudaMemcpy(&value, sorted_.as<float>() + statistic.rank, sizeof value, cudaMemcpyDeviceToHost));
            if (value != statistic.value) throw Mismatch("CUB and gpuhist find different percentiles");
        }
    }

    PeerImage image_;
    bool sort_;
    DeviceMemory counts_, extremes_, sorted_;
    Storage histogram_storage_, extremes_storage_, sort_storage_;
    ::cuda::std::array<unsigned*, counted> histograms_;
    ::cuda::std::array<int, counted> levels_;
    ::cuda::std::array<Level, counted> lower_, upper_;
};

template <typename T>
std::unique_ptr<GpuPeer> make(const PeerImage& image, bool sort) {
    if (image.channels == 1) return std::make_unique<Cub<T, 1>>(image, sort);
    if (image.channels == 3) return std::make_unique<Cub<T, 3>>(image, sort);
    throw Unavailable("measured with one and three channels only");
}

template <typename Key>
class CubSort : public GpuPeer {
  public:
    CubSort(std::int64_t keys, void* sorted) : keys_(keys), sorted_(static_cast<Key*>(sorted)) {
        storage_.reserve(sort(nullptr, nullptr));
    }
    void enqueue(const void* keys, cudaStream_t stream) override {
        storage_.run(sort(static_cast<const Key*>(keys), stream));
    }
    std::string compare(const Analysis&) const override { return ""; }

  private:
    auto sort(const Key* keys, cudaStream_t stream) {
        return [=, this](void* storage, std::size_t& bytes) {
            return cub::DeviceRadixSort::SortKeys(storage, bytes, keys, sorted_, keys_, 0,
                                                  8 * static_cast<int>(sizeof(Key)), stream);
        };
    }

    std::int64_t keys_;
    Key* sorted_;
    Storage storage_;
};

}  // namespace

std::unique_ptr<GpuPeer> make_cub_sort(std::size_t key_bytes, std::int64_t keys, void* sorted) {
    if (key_bytes == 4) return std::make_unique<CubSort<std::uint32_t>>(keys, sorted);
    return std::make_unique<CubSort<std::uint64_t>>(keys, sorted);
}

std::unique_ptr<GpuPeer> make_cub(const PeerImage& image, bool sort) {
    if (sort && (image.depth != Depth::f32 || image.channels != 1))
        throw Unavailable("sorting is measured on gray floats only");
    switch (image.depth) {
        case Depth::u8:
            return make<std::uint8_t>(image, sort);
        case Depth::u16:
            return make<std::uint16_t>(image, sort);
        default:
            return make<float>(image, sort);
    }
}

}  // namespace gpuhist::bench
