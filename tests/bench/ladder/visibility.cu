// Who sees which write, and when: between blocks of one launch, and between the GPU and the host.

#include <atomic>
#include <chrono>
#include <cuda/atomic>

#include "bench/ladder/exact.hpp"
#include "bench/ladder/ladder.cuh"

namespace gpuhist::bench::ladder {
namespace {

// A chain of blocks: each sums its slab of the image, waits for the total of the slab before, adds, and hands on.
// Blocks take slabs by tickets: whoever waits waits for a block that has started before, so that the chain needs no
// co-residency, and cannot hang.

/// Cleared before the launch.
struct Chain {
    unsigned ticket;
    unsigned ready[slabs];
    Word totals[slabs];  ///< OneWord only
};

/// As it was before there was a memory model. The fence keeps the total before the flag, and on the other side the flag
/// before the total; volatile keeps the compiler from reading the flag once and for all.
struct VolatileAndFence {
    static __device__ void publish(Chain* chain, unsigned slab, Word total, Word* answer) {
        static_cast<volatile Word*>(answer)[slab] = total;
        __threadfence();
        static_cast<volatile unsigned*>(chain->ready)[slab] = 1;
    }
    static __device__ Word wait(Chain* chain, unsigned slab, Word* answer) {
        const Patience patience;
        while (static_cast<volatile unsigned*>(chain->ready)[slab] == 0) patience.wait();
        __threadfence();
        return static_cast<volatile Word*>(answer)[slab];
    }
};

/// The same said in the language: a release store of the flag, an acquire load. Nothing is volatile, and each order
/// holds for what it must, not for everything.
struct AcquireRelease {
    using Flag = ::cuda::atomic_ref<unsigned, ::cuda::thread_scope_device>;
    static __device__ void publish(Chain* chain, unsigned slab, Word total, Word* answer) {
        answer[slab] = total;
        Flag(chain->ready[slab]).store(1, ::cuda::memory_order_release);
    }
    static __device__ Word wait(Chain* chain, unsigned slab, Word* answer) {
        const Patience patience;
        while (Flag(chain->ready[slab]).load(::cuda::memory_order_acquire) == 0) patience.wait();
        return answer[slab];
    }
};

/// Flag and total in one word, which is written at once: there is no order to keep. Totals are below 2^63.
struct OneWord {
    using Message = ::cuda::atomic_ref<Word, ::cuda::thread_scope_device>;
    static constexpr Word flag = Word{1} << 63;
    static __device__ void publish(Chain* chain, unsigned slab, Word total, Word* answer) {
        Message(chain->totals[slab]).store(total | flag, ::cuda::memory_order_relaxed);
        answer[slab] = total;
    }
    static __device__ Word wait(Chain* chain, unsigned slab, Word*) {
        const Patience patience;
        while (true) {
            const Word message = Message(chain->totals[slab]).load(::cuda::memory_order_relaxed);
            if (message & flag) return message & ~flag;
            patience.wait();
        }
    }
};

/// Sum of all pixels up to the end of each slab. Launch: one block per slab. Barrier: the ticket has been drawn. Bytes:
/// each pixel is read once.
template <class Order>
__global__ void __launch_bounds__(many_threads)
    chain_kernel(const std::uint8_t* pixels, std::int64_t count, Chain* chain, Word* answer) {
    __shared__ unsigned drawn;
    if (threadIdx.x == 0) drawn = atomicAdd(&chain->ticket, 1u);
    __syncthreads();
    const unsigned slab = drawn;
    const std::int64_t words = count / 16, first = words * slab / slabs, last = words * (slab + 1) / slabs;
    Word sum = 0;
#pragma unroll 4
    for (std::int64_t i = first + threadIdx.x; i < last; i += many_threads)
        sum += sum_of_bytes(reinterpret_cast<const uint4*>(pixels)[i]);
    if (slab == slabs - 1)
        for (std::int64_t i = words * 16 + threadIdx.x; i < count; i += many_threads) sum += pixels[i];
    sum = reduce_block(sum, Word{0}, Sum{});
    if (threadIdx.x != 0) return;
    if (slab > 0) sum += Order::wait(chain, slab - 1, answer);
    Order::publish(chain, slab, sum, answer);
}

std::size_t chain_bytes(const Image&) {
    return sizeof(Chain);
}

template <class Order>
void chain(const Call& call) {
    clear(call, call.scratch, sizeof(Chain));
    launch(call, chain_kernel<Order>, slabs, many_threads, pixels_of(call), call.image.samples(),
           static_cast<Chain*>(call.scratch), call.answer);
}

// Results for the host

constexpr int most_partials = 4096;

/// The sum, written into the host's memory with a flag behind it. The fence, for the whole system: the host sees the
/// flag no sooner than the sum.
struct SystemFence {
    static __device__ void tell(Mailbox* mailbox, Word sum) {
        static_cast<volatile Word*>(mailbox->answer)[0] = sum;
        __threadfence_system();
        *static_cast<volatile unsigned*>(&mailbox->ready) = 1;
    }
};
struct SystemRelease {
    static __device__ void tell(Mailbox* mailbox, Word sum) {
        mailbox->answer[0] = sum;
        ::cuda::atomic_ref<unsigned, ::cuda::thread_scope_system>(mailbox->ready)
            .store(1, ::cuda::memory_order_release);
    }
};
/// For a copy, which comes when the launch is over.
struct ToDevice {
    static __device__ void tell(Mailbox* mailbox, Word sum) { mailbox->answer[0] = sum; }
};

/// Launch: any grid. The last block adds the blocks' sums and tells the host. Bytes: each pixel is read once.
template <class Tell>
__global__ void __launch_bounds__(many_threads)
    tell_kernel(const std::uint8_t* pixels, std::int64_t count, Word* partials, Mailbox* mailbox) {
    Word sum = reduce_block(sum_of_pixels(pixels, count), Word{0}, Sum{});
    if (threadIdx.x == 0) partials[blockIdx.x] = sum;
    if (!is_last_block()) return;
    sum = 0;
    for (unsigned i = threadIdx.x; i < gridDim.x; i += blockDim.x) sum += partials[i];
    sum = reduce_block(sum, Word{0}, Sum{});
    if (threadIdx.x == 0) Tell::tell(mailbox, sum);
}

template <class Tell>
void launch_tell(const Call& call, Mailbox* mailbox) {
    const auto kernel = tell_kernel<Tell>;
    const int blocks = std::min(blocks_for(kernel, many_threads, call.image.samples()), most_partials);
    launch(call, kernel, blocks, many_threads, pixels_of(call), call.image.samples(), static_cast<Word*>(call.scratch),
           mailbox);
}

std::size_t tell_bytes(const Image&) {
    return sizeof(Mailbox) + most_partials * sizeof(Word);
}

/// Looks at the flag until it is set; gives up when the launch failed or ten seconds are over.
void wait_for(Mailbox& mailbox, cudaStream_t stream) {
    using Time = std::chrono::steady_clock;
    const std::atomic_ref<unsigned> ready(mailbox.ready);
    const Time::time_point give_up = Time::now() + std::chrono::seconds(10);
    for (unsigned looks = 1; ready.load(std::memory_order_acquire) == 0; ++looks) {
        if (looks % 65536 != 0) continue;
        const cudaError_t status = cudaStreamQuery(stream);
        if (status != cudaErrorNotReady) LADDER_CUDA(status);
        if (Time::now() > give_up) throw std::runtime_error("the GPU has not set its flag within ten seconds");
    }
}

template <class Tell>
void poll(const Call& call) {
    std::atomic_ref<unsigned>(call.mailbox->ready).store(0, std::memory_order_release);
    void* mailbox = nullptr;
    LADDER_CUDA(cudaHostGetDevicePointer(&mailbox, call.mailbox, 0));
    launch_tell<Tell>(call, static_cast<Mailbox*>(mailbox));
    wait_for(*call.mailbox, call.stream);
}

void copy_and_wait(const Call& call) {
    auto* mailbox = reinterpret_cast<Mailbox*>(static_cast<Word*>(call.scratch) + most_partials);
    launch_tell<ToDevice>(call, mailbox);
    LADDER_CUDA(
        cudaMemcpyAsync(call.mailbox->answer, mailbox->answer, sizeof(Word), cudaMemcpyDeviceToHost, call.stream));
    LADDER_CUDA(cudaStreamSynchronize(call.stream));
}

}  // namespace

std::vector<Rung> visibility_rungs() {
    const auto link = [](const char* name, const char* change, void (*run)(const Call&)) {
        return Rung{"visibility", name, change, exact::slab_totals, run}.with(&Rung::scratch_bytes, chain_bytes);
    };
    const auto told = [](const char* name, const char* change, void (*run)(const Call&)) {
        return Rung{"visibility", name, change, exact::sum, run}
            .with(&Rung::scratch_bytes, tell_bytes)
            .with(&Rung::in_mailbox, true)
            .with(&Rung::clock, Clock::host);
    };
    return {
        link("chain_volatile", "blocks hand on totals: a volatile flag, and a fence between it and the total",
             chain<VolatileAndFence>),
        link("chain_acquire_release", "a release store and an acquire load say just that, and no more",
             chain<AcquireRelease>),
        link("chain_one_word", "flag and total in one word: nothing is left to be ordered", chain<OneWord>),
        told("host_copy", "the host gets the sum by a copy, and waits for the stream", copy_and_wait),
        told("host_flag", "the kernel writes it into mapped memory, fence, flag: the host looks at the flag",
             poll<SystemFence>),
        told("host_release", "the same with a release store for the whole system", poll<SystemRelease>),
    };
}

}  // namespace gpuhist::bench::ladder
