// Launch of the analysis of f32 images of GPUHIST_CHANNELS channels.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "cuda/float/kernel.cuh"

namespace gpuhist::cuda {
namespace {

/// Least slots of second digits that a block has room for beside its bins; and the bytes of one.
constexpr std::size_t least_slots = 4;
template <int level>
constexpr std::size_t slot_bytes = digit_values<level> * sizeof(std::uint32_t);

/// Number of counts that one block would take long to write.
constexpr std::uint64_t wide_counts = 4096;

template <int C, bool Full, class Images>
void launch_detail(const Images& images, F32Work work, const Launch& launch) {
    constexpr int channels = Full ? 1 : measured_channels(C),
                  threads = f32_threads_of(C, Full);  // channels that a block counts
    const std::uint32_t bins = work.common.bins;
    const std::size_t room = launch.shared_bytes - static_shared_bytes,
                      replica_bytes = channels * std::size_t{bins} * 4,
                      digit_bytes = Full ? least_slots * slot_bytes<1> : 0;
    work.slots_fit = Slots<channels>::total_bytes(bins) + digit_bytes <= room;
    // Slots are mostly used where they fit.
    work.replicas_log2 = std::min(replicas_log2(launch, replica_bytes, digit_bytes), work.slots_fit ? 3 : 5);
    work.slices_log2 = slices_log2(launch);
    work.wide = static_cast<std::uint64_t>(measured_channels(C)) * bins > wide_counts;
    work.speculates = !Full && work.slots_fit && !work.has_range;
    work.listed_of_channel = static_cast<std::uint32_t>(Places<C>::listed_bytes / sizeof(uint4) /
                                                        launch.multiprocessors / measured_channels(C));

    std::size_t bytes = std::max(work.slots_fit ? Slots<channels>::total_bytes(bins) : 0,
                                 work.replicas_log2 < 0 ? 0 : replica_bytes << work.replicas_log2);
    if (Full) {
        const std::size_t digits_at = aligned(bytes), first_bytes = measured_channels(C) * slot_bytes<0>;
        work.digits_at = static_cast<std::uint32_t>(digits_at / sizeof(std::uint32_t));
        work.first_digits_log2 = replicas_log2(launch, first_bytes);
        work.slots[0] = static_cast<int>(std::min<std::size_t>((room - digits_at) / slot_bytes<1>, most_slots<C> / 2));
        work.slots[1] = static_cast<int>(std::min<std::size_t>(room / slot_bytes<2>, most_slots<C>));
        bytes = std::max({digits_at + work.slots[0] * slot_bytes<1>, work.slots[1] * slot_bytes<2>,
                          first_bytes << work.first_digits_log2});
    }
    if (work.common.needs == NormalizeNeeds::counts) bytes = std::max(bytes, std::size_t{131072} >> work.slices_log2);
    std::int64_t largest = 0;
    for (std::int64_t i = 0; i < images.count; ++i) largest = std::max(largest, images.image(i).pixels());
    const LaunchConfiguration configuration{
        blocks_for(largest, f32_pixels_per_block(C, Full)) * (measured_channels(C) / channels), threads, bytes, 1};
    if constexpr (std::is_same_v<Images, Tensor>)
        if (work.mask.data) return launch_masked_f32<C, Full>(images, work, configuration.blocks, bytes, launch);
    if constexpr (!Full && std::is_same_v<Images, Tensor>)
        if (launch_resident_f32<C>(images, work, configuration.blocks, bytes, launch)) return;
    launch_kernel(launch, f32_kernel<C, Full, Images, NoResidentImage>, true, configuration, images, work);
}

}  // namespace

template <int C>
std::size_t f32_workspace(std::uint32_t bins) {
    return Places<C>::counts + static_cast<std::size_t>(measured_channels(C)) * bins * sizeof(Word);
}

template <int C, class Images>
void launch_f32(const Images& images, F32Parameters parameters, const Launch& launch) {
    if (parameters.detail == Detail::full || parameters.ranks.stretch)  // between percentiles
        launch_detail<C, true>(images, F32Work{parameters}, launch);
    else
        launch_detail<C, false>(images, F32Work{parameters}, launch);
}

template std::size_t f32_workspace<GPUHIST_CHANNELS>(std::uint32_t);
template void launch_f32<GPUHIST_CHANNELS>(const Tensor&, F32Parameters, const Launch&);
template void launch_f32<GPUHIST_CHANNELS>(const List&, F32Parameters, const Launch&);

}  // namespace gpuhist::cuda
