// The list of rungs, and memory and pixels to run them on.

#include <algorithm>
#include <cstring>
#include <limits>

#include "bench/ladder/ladder.hpp"
#include "bench/ladder/seeds/seeds.hpp"

namespace gpuhist::bench::ladder {
namespace {

constexpr unsigned char nonsense = 0xC3;
constexpr std::size_t surroundings = 256;  // bytes behind what a rung may write

#define TRIAL_CUDA(call) check((call), #call)
void check(cudaError_t status, const char* call) {
    if (status == cudaSuccess) return;
    (void)cudaGetLastError();
    throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(status));
}

std::uint64_t hash(std::uint64_t x) {  // splitmix64
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

unsigned char* allocate(std::size_t bytes) {
    void* memory = nullptr;
    TRIAL_CUDA(cudaMalloc(&memory, bytes));
    return static_cast<unsigned char*>(memory);
}

/// A sample from `unit`, 24 bits, of which 8- and 16-bit samples have the upper ones.
template <typename T>
T sample(std::uint32_t unit) {
    if constexpr (sizeof(T) == 4)
        return static_cast<T>(unit) * 0x1p-24f - 0.5f;
    else
        return static_cast<T>(unit >> (24 - 8 * sizeof(T)));
}

template <typename T>
void make(T* samples, std::int64_t count, Content content, const std::vector<std::uint8_t>& photograph) {
    constexpr std::uint32_t first = 5033164, second = 11744051;  // 0.3 and 0.7 of 2^24
    std::size_t next = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        const std::uint64_t bits = hash(static_cast<std::uint64_t>(i));
        switch (content) {
            case Content::random:
                samples[i] = sample<T>(static_cast<std::uint32_t>(bits >> 40));
                if constexpr (sizeof(T) == 4)
                    if (bits % 1024 == 0) samples[i] = std::numeric_limits<T>::quiet_NaN();
                break;
            case Content::natural: {
                const std::uint32_t noise =
                    static_cast<std::uint32_t>(bits >> 48) & (sizeof(T) == 2 ? 0xF000u : 0xFFFFu);
                samples[i] = sample<T>(std::uint32_t{photograph[next]} << 16 | noise);
                if (++next == photograph.size()) next = 0;
                break;
            }
            case Content::constant:
                samples[i] = sample<T>(first);
                break;
            case Content::two_values:
                samples[i] = sample<T>(bits & 1 ? first : second);
                if constexpr (sizeof(T) == 4)
                    if (bits & 1) samples[i] = std::numeric_limits<T>::quiet_NaN();
                break;
        }
    }
}

}  // namespace

const std::vector<Rung>& rungs() {
    static const std::vector<Rung> all = [] {
        std::vector<Rung> result;
        for (const auto& group :
             {brightness_rungs(), histogram_rungs(), atomic_rungs(), vote_rungs(), shuffle_rungs(), visibility_rungs(),
              seeds::divergence_rungs(), seeds::warp_rungs(), seeds::tree_rungs(), seeds::group_rungs(),
              seeds::float_rungs(), seeds::memory_rungs(), seeds::atomic_rungs(), seeds::listing_rungs(),
              seeds::barrier_rungs(), seeds::gpu_rungs()})
            result.insert(result.end(), group.begin(), group.end());
        return result;
    }();
    return all;
}

void make_samples(void* samples, std::int64_t count, Depth depth, Content content,
                  const std::vector<std::uint8_t>& photograph) {
    if (photograph.empty()) throw std::logic_error("natural content needs a photograph");
    if (depth == Depth::u8) make(static_cast<std::uint8_t*>(samples), count, content, photograph);
    if (depth == Depth::u16) make(static_cast<std::uint16_t*>(samples), count, content, photograph);
    if (depth == Depth::f32) make(static_cast<float*>(samples), count, content, photograph);
}

Trial::Trial(const Rung& rung, const Image& image, std::size_t words)
    : rung_(rung),
      answer_bytes_(words * static_cast<std::size_t>(rung.answer_bytes)),
      scratch_bytes_(rung.scratch_bytes ? rung.scratch_bytes(image) : 0) {
    if (rung.in_mailbox && words > std::size(Mailbox{}.answer)) throw std::logic_error("the mailbox is too small");
    answer_.reset(allocate(answer_bytes_ + surroundings));
    scratch_.reset(allocate(scratch_bytes_ + surroundings));
    void* mailbox = nullptr;
    TRIAL_CUDA(cudaHostAlloc(&mailbox, sizeof(Mailbox), cudaHostAllocMapped));
    mailbox_.reset(static_cast<Mailbox*>(mailbox));
    poison();
}

Call Trial::call(const Image& image, cudaStream_t stream) const {
    return {image, reinterpret_cast<Word*>(answer_.get()), scratch_.get(), mailbox_.get(), stream};
}

void Trial::poison() {
    TRIAL_CUDA(cudaDeviceSynchronize());
    TRIAL_CUDA(cudaMemset(answer_.get(), nonsense, answer_bytes_ + surroundings));
    TRIAL_CUDA(cudaMemset(scratch_.get(), nonsense, scratch_bytes_ + surroundings));
    std::memset(static_cast<void*>(mailbox_.get()), nonsense, sizeof(Mailbox));
    TRIAL_CUDA(cudaDeviceSynchronize());  // a rung's stream need not wait for the default one
}

Answer Trial::answer() {
    TRIAL_CUDA(cudaDeviceSynchronize());
    const std::size_t words = answer_bytes_ / static_cast<std::size_t>(rung_.answer_bytes);
    if (rung_.in_mailbox) return {mailbox_->answer, mailbox_->answer + words};
    std::vector<unsigned char> bytes(answer_bytes_);
    TRIAL_CUDA(cudaMemcpy(bytes.data(), answer_.get(), bytes.size(), cudaMemcpyDeviceToHost));
    Answer result(words);
    if (rung_.answer_bytes == sizeof(Word)) {
        std::memcpy(result.data(), bytes.data(), bytes.size());
    } else {
        std::vector<std::uint32_t> counts(words);
        std::memcpy(counts.data(), bytes.data(), bytes.size());
        std::copy(counts.begin(), counts.end(), result.begin());
    }
    return result;
}

bool Trial::surroundings_untouched() {
    TRIAL_CUDA(cudaDeviceSynchronize());
    std::vector<unsigned char> bytes(2 * surroundings);
    TRIAL_CUDA(cudaMemcpy(bytes.data(), answer_.get() + answer_bytes_, surroundings, cudaMemcpyDeviceToHost));
    TRIAL_CUDA(
        cudaMemcpy(bytes.data() + surroundings, scratch_.get() + scratch_bytes_, surroundings, cudaMemcpyDeviceToHost));
    return std::all_of(bytes.begin(), bytes.end(), [](unsigned char byte) { return byte == nonsense; });
}

}  // namespace gpuhist::bench::ladder
