// Launch of the analysis of a single f32 image that is resident. In a unit of its own, as a kernel keeps more in
// registers the fewer share its functions.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cuda/float/kernel.cuh"

namespace gpuhist::cuda {

template <int C>
bool launch_resident_f32(const Tensor& images, F32Work work, std::int64_t blocks, std::size_t bytes,
                         const Launch& launch) {
    if (images.count != 1) return false;
    constexpr int threads = f32_threads_of(C, false);
    using Resident = ResidentImage<float, C>;
    const auto kernel = f32_kernel<C, false, Tensor, Resident>;
    blocks = std::clamp<std::int64_t>(blocks, 1, launch.multiprocessors);
    work.speculates = false;
    work.resident_at = static_cast<std::uint32_t>(aligned(bytes));
    const std::size_t taken = work.resident_at + aligned(static_bytes(launch, reinterpret_cast<const void*>(kernel)));
    if (taken < launch.shared_bytes)
        work.resident_rounds = Resident::rounds(images.first, blocks, threads, launch.shared_bytes - taken, 1);
    if (work.resident_rounds == 0) return false;
    const LaunchConfiguration configuration{blocks, threads,
                                            work.resident_at + Resident::bytes(work.resident_rounds, threads), 1};
    launch_kernel(launch, kernel, true, configuration, images, work);
    return true;
}

template bool launch_resident_f32<GPUHIST_CHANNELS>(const Tensor&, F32Work, std::int64_t, std::size_t, const Launch&);

}  // namespace gpuhist::cuda
