// Shared memory by its own 32-bit addresses, and sums in device memory that nobody waits for: generic ones are slower.
#pragma once

#include <cstdint>

namespace gpuhist::cuda {

__device__ inline std::uint32_t shared_address(const void* pointer) {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ inline std::uint32_t shared_load(std::uint32_t address, std::uint8_t) {
    std::uint32_t value;
    asm volatile("ld.shared.u8 %0, [%1];" : "=r"(value) : "r"(address));
    return value;
}
__device__ inline std::uint32_t shared_load(std::uint32_t address, std::uint16_t) {
    std::uint32_t value;
    asm volatile("{ .reg .u16 h; ld.shared.u16 h, [%1]; cvt.u32.u16 %0, h; }" : "=r"(value) : "r"(address));
    return value;
}
__device__ inline std::uint32_t shared_load(std::uint32_t address, std::uint32_t) {
    std::uint32_t value;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
    return value;
}
__device__ inline std::uint32_t shared_load(std::uint32_t address, float) {
    std::uint32_t bits;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(bits) : "r"(address));
    return bits;
}

/// Adds 1. Nothing is returned, so that equal addresses of a warp are one addition to the hardware.
__device__ inline void shared_increment(std::uint32_t address) {
    asm volatile("red.shared.add.u32 [%0], 1;" ::"r"(address) : "memory");
}
/// Returns the old value.
__device__ inline std::uint32_t shared_add(std::uint32_t address, std::uint32_t value) {
    std::uint32_t old;
    asm volatile("atom.shared.add.u32 %0, [%1], %2;" : "=r"(old) : "r"(address), "r"(value) : "memory");
    return old;
}
/// Adds where `yes`, without a branch; elsewhere the old value is said to be 0.
__device__ inline void shared_increment_if(bool yes, std::uint32_t address) {
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %0, 0; @p red.shared.add.u32 [%1], 1; }" ::"r"(std::uint32_t{yes}),
                 "r"(address)
                 : "memory");
}
__device__ inline std::uint32_t shared_add_if(bool yes, std::uint32_t address, std::uint32_t value) {
    std::uint32_t old = 0;
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; @p atom.shared.add.u32 %0, [%2], %3; }"
                 : "+r"(old)
                 : "r"(std::uint32_t{yes}), "r"(address), "r"(value)
                 : "memory");
    return old;
}
__device__ inline void shared_set(std::uint32_t address) {
    asm volatile("{ .reg .u16 one; mov.u16 one, 1; st.shared.u8 [%0], one; }" ::"r"(address) : "memory");
}
/// Writes `value` where `expected` was there.
__device__ inline void shared_exchange_if(std::uint32_t address, std::uint32_t expected, std::uint32_t value) {
    [[maybe_unused]] std::uint32_t old;
    asm volatile("atom.shared.cas.b32 %0, [%1], %2, %3;"
                 : "=r"(old)
                 : "r"(address), "r"(expected), "r"(value)
                 : "memory");
}

/// Adds to device memory. Nothing is returned, so that nobody waits: atomicAdd brings back the old value where the
/// compiler cannot tell the kind of memory, and of 64 bits the next instruction begins when it has come.
__device__ inline void global_add(std::uint32_t* counter, std::uint32_t value) {
    asm volatile("red.global.add.u32 [%0], %1;" ::"l"(__cvta_generic_to_global(counter)), "r"(value) : "memory");
}
__device__ inline void global_add(unsigned long long* counter, unsigned long long value) {
    asm volatile("red.global.add.u64 [%0], %1;" ::"l"(__cvta_generic_to_global(counter)), "l"(value) : "memory");
}
/// Keeps the larger one in device memory, likewise.
__device__ inline void global_max(std::uint32_t* value, std::uint32_t other) {
    asm volatile("red.global.max.u32 [%0], %1;" ::"l"(__cvta_generic_to_global(value)), "r"(other) : "memory");
}

}  // namespace gpuhist::cuda
