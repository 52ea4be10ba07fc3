// A barrier across the GPUs of one machine, and behind it a sum that a kernel on each of them reads. CUDA 13 has
// neither cudaLaunchCooperativeKernelMultiDevice nor multi_grid_group any more: here each GPU gets a cooperative launch
// of its own, and one thread of each meets the others' through memory that all of them see.

#include <cooperative_groups.h>

#include <cstdlib>
#include <cstring>
#include <cuda/atomic>
#include <map>
#include <set>
#include <utility>

#include "bench/ladder/seeds/exact.hpp"
#include "bench/ladder/seeds/seeds.cuh"
#include "bench/ladder/seeds/seeds.hpp"

namespace gpuhist::bench::ladder::seeds {
namespace {

namespace cg = cooperative_groups;

constexpr int most_gpus = 16;
constexpr int most_partials = 4096;

/// Memory that all GPUs see, zero before a launch.
struct Shared {
    struct alignas(128) Flag {
        unsigned meeting;
    };
    Flag arrived[most_gpus];  ///< the last meeting to which a GPU has come: written by it alone
    alignas(128) unsigned count;
    alignas(128) Word sums[most_gpus];
};

template <typename T>
using System = ::cuda::atomic_ref<T, ::cuda::thread_scope_system>;

/// A flag a GPU. Stores and loads only, which also a bus without atomics takes whole.
struct ByFlags {
    static __device__ void meet(Shared* shared, int gpu, int gpus, unsigned meeting) {
        System<unsigned>(shared->arrived[gpu].meeting).store(meeting, ::cuda::memory_order_release);
        const Patience patience;
        for (int other = 0; other < gpus; ++other)
            while (System<unsigned>(shared->arrived[other].meeting).load(::cuda::memory_order_acquire) < meeting)
                patience.wait();
    }
};

/// One counter in the first GPU's memory: the link between the GPUs adds.
struct ByCount {
    static __device__ void meet(Shared* shared, int, int gpus, unsigned meeting) {
        const System<unsigned> count(shared->count);
        count.fetch_add(1, ::cuda::memory_order_acq_rel);
        const Patience patience;
        while (count.load(::cuda::memory_order_acquire) < meeting * static_cast<unsigned>(gpus)) patience.wait();
    }
};

/// What a GPU does with its part of the image. Its blocks meet, one of them adds their sums and shows the GPU's; the
/// GPUs meet; and each adds all GPUs' sums. Grid barriers: the blocks' sums are written; before and after the GPUs meet
/// all blocks have come and all may go on. The release of one thread hands on what the whole grid wrote before its
/// barrier. Launch: a cooperative one on each of the GPUs, none of which may wait for another's to begin.
template <class Meet>
__global__ void __launch_bounds__(many_threads)
    group_kernel(const std::uint8_t* pixels, std::int64_t count, Word* partials, Shared* shared, int gpu, int gpus,
                 unsigned meetings, Word* total, Word* answer) {
    const cg::grid_group grid = cg::this_grid();
    Word sum = reduce_block(sum_of_pixels(pixels, count), Word{0}, Sum{});
    if (threadIdx.x == 0) partials[blockIdx.x] = sum;
    grid.sync();
    if (blockIdx.x == 0) {
        sum = 0;
        for (unsigned k = threadIdx.x; k < gridDim.x; k += blockDim.x) sum += partials[k];
        sum = reduce_block(sum, Word{0}, Sum{});
        if (threadIdx.x == 0) System<Word>(shared->sums[gpu]).store(sum, ::cuda::memory_order_relaxed);
    }
    for (unsigned meeting = 1; meeting <= meetings; ++meeting) {
        grid.sync();
        if (blockIdx.x == 0 && threadIdx.x == 0) Meet::meet(shared, gpu, gpus, meeting);
        grid.sync();
    }
    if (blockIdx.x != 0) return;
    sum = 0;
    if (static_cast<int>(threadIdx.x) < gpus)
        sum = System<Word>(shared->sums[threadIdx.x]).load(::cuda::memory_order_relaxed);
    sum = reduce_block(sum, Word{0}, Sum{});
    if (threadIdx.x != 0) return;
    *total = sum;
    if (answer) *answer = sum;
}

/// Makes a GPU current, and afterwards the one that was.
class Current {
  public:
    explicit Current(int gpu) {
        LADDER_CUDA(cudaGetDevice(&before_));
        LADDER_CUDA(cudaSetDevice(gpu));
    }
    ~Current() { (void)cudaSetDevice(before_); }
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;

  private:
    int before_ = 0;
};

int current() {
    int gpu = 0;
    LADDER_CUDA(cudaGetDevice(&gpu));
    return gpu;
}

/// The current one first.
std::vector<int> first_gpus(int count) {
    std::vector<int> gpus{current()};
    for (int gpu = 0; static_cast<int>(gpus.size()) < count; ++gpu)
        if (gpu != gpus.front()) gpus.push_back(gpu);
    return gpus;
}

/// Lets a GPU, the current one, use another's memory, if it can: also copies then take the link between them.
void reach(int gpu, int other) {
    static std::set<std::pair<int, int>> reached;  // CUDA calls a second time an error
    int can = 0;
    LADDER_CUDA(cudaDeviceCanAccessPeer(&can, gpu, other));
    if (can && reached.insert({gpu, other}).second) LADDER_CUDA(cudaDeviceEnablePeerAccess(other, 0));
}

int attribute(cudaDeviceAttr which, int gpu) {
    int value = 0;
    LADDER_CUDA(cudaDeviceGetAttribute(&value, which, gpu));
    return value;
}

}  // namespace

struct GpuGroup::Member {
    int gpu = 0;
    cudaStream_t stream = nullptr;
    void* memory = nullptr;  ///< of its part, but on the first GPU, where the image is
    std::size_t capacity = 0;
    const std::uint8_t* pixels = nullptr;
    std::int64_t count = 0;
    Word* partials = nullptr;  ///< behind them the total
};

int GpuGroup::count() {
    int count = 0;
    LADDER_CUDA(cudaGetDeviceCount(&count));
    return count;
}

std::string GpuGroup::obstacle(int gpus, Meeting meeting) {
    if (count() < 2) return "needs several GPUs: there is one";
    if (gpus < 2 || gpus > std::min(count(), most_gpus))
        return std::to_string(gpus) + " GPUs: there are " + std::to_string(count());
    const char* blocking = std::getenv("CUDA_LAUNCH_BLOCKING");
    if (blocking && std::string(blocking) == "1")
        return "CUDA_LAUNCH_BLOCKING is set: no GPU's launch would ever come back";
    const std::vector<int> all = first_gpus(gpus);
    for (const int gpu : all) {
        if (!attribute(cudaDevAttrCooperativeLaunch, gpu))
            return "GPU " + std::to_string(gpu) + " launches no cooperative grids";
        if (meeting != Meeting::peer || gpu == all.front()) continue;
        int access = 0, atomics = 0;
        LADDER_CUDA(cudaDeviceCanAccessPeer(&access, gpu, all.front()));
        LADDER_CUDA(cudaDeviceGetP2PAttribute(&atomics, cudaDevP2PAttrNativeAtomicSupported, gpu, all.front()));
        if (!access || !atomics)
            return "GPU " + std::to_string(gpu) + " has no atomics in the memory of GPU " + std::to_string(all.front());
    }
    return "";
}

GpuGroup::GpuGroup(int gpus, Meeting meeting) : meeting_(meeting) {
    const std::string reason = obstacle(gpus, meeting);
    if (!reason.empty()) throw Refused(reason);
    const std::vector<int> all = first_gpus(gpus);
    if (meeting == Meeting::mapped)
        LADDER_CUDA(cudaHostAlloc(&shared_, sizeof(Shared), cudaHostAllocMapped | cudaHostAllocPortable));
    else
        LADDER_CUDA(cudaMalloc(&shared_, sizeof(Shared)));
    members_.resize(all.size());
    for (std::size_t k = 0; k < all.size(); ++k) {
        Member& member = members_[k];
        member.gpu = all[k];
        const Current here(member.gpu);
        if (k > 0) reach(member.gpu, all.front());
        LADDER_CUDA(cudaStreamCreateWithFlags(&member.stream, cudaStreamNonBlocking));
        void* memory = nullptr;
        LADDER_CUDA(cudaMalloc(&memory, (most_partials + 1) * sizeof(Word)));
        member.partials = static_cast<Word*>(memory);
    }
}

GpuGroup::~GpuGroup() {
    int before = 0;
    (void)cudaGetDevice(&before);
    for (const Member& member : members_) {
        (void)cudaSetDevice(member.gpu);
        if (member.stream) (void)cudaStreamDestroy(member.stream);
        (void)cudaFree(member.memory);
        (void)cudaFree(member.partials);
    }
    (void)cudaSetDevice(before);
    (void)(meeting_ == Meeting::mapped ? cudaFreeHost(shared_) : cudaFree(shared_));
}

void GpuGroup::load(const Image& image, cudaStream_t stream) {
    const auto* pixels = image.on_device<std::uint8_t>();
    const auto gpus = static_cast<std::int64_t>(members_.size());
    const std::int64_t words = image.samples() / 16;
    for (std::int64_t k = 0; k < gpus; ++k) {
        Member& member = members_[static_cast<std::size_t>(k)];
        const std::int64_t first = words * k / gpus * 16;
        member.count = (k == gpus - 1 ? image.samples() : words * (k + 1) / gpus * 16) - first;
        member.pixels = pixels + first;
        if (k == 0) continue;
        const auto bytes = static_cast<std::size_t>(member.count);
        if (member.capacity < bytes) {
            const Current here(member.gpu);
            LADDER_CUDA(cudaFree(std::exchange(member.memory, nullptr)));
            member.capacity = 0;
            LADDER_CUDA(cudaMalloc(&member.memory, bytes));
            member.capacity = bytes;
        }
        if (bytes > 0)
            LADDER_CUDA(
                cudaMemcpyPeerAsync(member.memory, member.gpu, pixels + first, members_.front().gpu, bytes, stream));
        member.pixels = static_cast<const std::uint8_t*>(member.memory);
    }
    LADDER_CUDA(cudaStreamSynchronize(stream));
}

std::vector<Word> GpuGroup::sum(int meetings, Word* answer) {
    if (meetings < 1) throw std::logic_error("GPUs that do not meet have no sum");
    const auto kernel = meeting_ == Meeting::mapped ? group_kernel<ByFlags> : group_kernel<ByCount>;
    // What could wait for another GPU comes before the first launch: memory, and the kernel's code on each of them.
    if (meeting_ == Meeting::mapped) {
        std::memset(shared_, 0, sizeof(Shared));
    } else {
        LADDER_CUDA(cudaMemset(shared_, 0, sizeof(Shared)));
        LADDER_CUDA(cudaDeviceSynchronize());
    }
    std::vector<int> blocks;
    for (const Member& member : members_) {
        const Current here(member.gpu);
        blocks.push_back(std::min(blocks_for(kernel, many_threads, member.count), most_partials));
    }
    for (std::size_t k = 0; k < members_.size(); ++k) {
        const Member& member = members_[k];
        const Current here(member.gpu);
        launch_cooperatively(member.stream, kernel, blocks[k], many_threads, member.pixels, member.count,
                             member.partials, static_cast<Shared*>(shared_), static_cast<int>(k),
                             static_cast<int>(members_.size()), static_cast<unsigned>(meetings),
                             member.partials + most_partials, k == 0 ? answer : nullptr);
    }
    std::vector<Word> totals(members_.size());
    for (std::size_t k = 0; k < members_.size(); ++k) {
        const Current here(members_[k].gpu);
        LADDER_CUDA(cudaStreamSynchronize(members_[k].stream));
        LADDER_CUDA(cudaMemcpy(&totals[k], members_[k].partials + most_partials, sizeof(Word), cudaMemcpyDeviceToHost));
    }
    return totals;
}

namespace {

template <GpuGroup::Meeting Meeting>
void all_gpus(const Call& call) {
    static std::map<int, GpuGroup> groups;  // by the first of them
    GpuGroup& group = groups.try_emplace(current(), GpuGroup::count(), Meeting).first->second;
    group.load(call.image, call.stream);
    group.sum(1, call.answer);
}

template <GpuGroup::Meeting Meeting>
std::string not_all_gpus(const Image&) {
    return GpuGroup::obstacle(GpuGroup::count(), Meeting);
}

}  // namespace

std::vector<Rung> gpu_rungs() {
    const auto rung = [](const char* name, const char* change, void (*run)(const Call&),
                         std::string (*obstacle)(const Image&)) {
        return Rung{"seeds", name, change, ladder::exact::sum, run}
            .with(&Rung::clock, Clock::host)
            .with(&Rung::obstacle, obstacle);
    };
    using Meeting = GpuGroup::Meeting;
    return {
        rung("gpus_mapped", "all GPUs sum a part, meet by flags in host memory, and each reads all sums",
             all_gpus<Meeting::mapped>, not_all_gpus<Meeting::mapped>),
        rung("gpus_peer", "they meet by one counter in the first GPU's memory, with atomics over the link",
             all_gpus<Meeting::peer>, not_all_gpus<Meeting::peer>),
    };
}

}  // namespace gpuhist::bench::ladder::seeds
