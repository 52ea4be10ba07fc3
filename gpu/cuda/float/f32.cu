// f32 images of GPUHIST_CHANNELS channels: their launch.

#include <cstdint>
#include <type_traits>

#include "cuda/float/kernel.cuh"

namespace gpuhist::cuda {
namespace {

/// Of a LowCounter: with it, all of one fits the shared memory of any GPU.
constexpr int coarsest_map_log2 = 13;

/// So many counts that one block would take long to write them.
constexpr std::uint64_t wide_counts = 4096;

}  // namespace

template <int C>
std::size_t floats_workspace(std::uint32_t bins) {
    return Places<C>::counts + static_cast<std::size_t>(rows_of(C)) * bins * sizeof(Word);
}

template <int C, class Images>
void launch_floats(const Images& images, FloatParameters p, const Launch& launch) {
    const bool full = p.detail == Detail::full || p.ranks.stretch;  // between percentiles
    const bool equalized = p.common.normalize && p.common.normalization.mode == NormalizeMode::equalize;
    p.parts_log2 = parts_log2(launch);
    const bool wide = static_cast<std::uint64_t>(rows_of(C)) * p.common.bins > wide_counts;
    FloatWork work{p, 0, {}, {}, 16, false, false, 0, false, wide, 0, 0};
    bool backwards = false;
    auto add = [&](Step step) { work.step[work.steps++] = step; };
    auto add_sweep = [&](Step step) {
        work.backwards[work.steps] = backwards;
        backwards = !backwards;
        add(step);
    };
    add_sweep(Step::first_sweep);
    if (full) {
        add(Step::plan);
        work.backwards[work.steps] = backwards;
        add(Step::refine);
    }
    add_sweep(Step::second_sweep);
    if (full) add(Step::sum_up);
    if (full || work.wide) add(Step::finish);
    if (equalized) {
        add_sweep(Step::count_equalized);
        add(Step::equalize);
    }
    if (p.common.normalize) add_sweep(Step::apply);
    std::int64_t largest = 0;
    for (std::int64_t i = 0; i < images.count; ++i) largest = std::max(largest, images.image(i).pixels());

    auto launch_detail = [&](auto constant) {
        constexpr bool Full = decltype(constant)::value;
        constexpr int rows = Full ? 1 : rows_of(C);  // that a block counts
        const std::size_t slot_bytes = Slots<rows>::total_bytes(p.common.bins);
        auto low_counter_bytes = [&] {
            return Full ? LowCounter::words(work.map_log2, float_threads_of(C, Full)) * sizeof(std::uint32_t) : 0;
        };
        while (work.map_log2 > coarsest_map_log2 &&
               low_counter_bytes() + slot_bytes + static_shared_bytes > launch.shared_bytes)
            --work.map_log2;
        work.refines = Full && work.map_log2 >= LowCounter::narrow_map_log2;
        const std::size_t low_bytes = low_counter_bytes();
        const std::size_t copy_bytes = rows * std::size_t{p.common.bins} * sizeof(std::uint32_t);
        work.slots_fit = low_bytes + slot_bytes + static_shared_bytes <= launch.shared_bytes;
        work.columns_log2 = columns_log2(launch, copy_bytes, low_bytes);
        // Where the slots fit, they are what is mostly used.
        if (work.slots_fit) work.columns_log2 = std::min(work.columns_log2, 3);
        std::size_t bytes = low_bytes + std::max(work.slots_fit ? slot_bytes : 0,
                                                 work.columns_log2 < 0 ? 0 : copy_bytes << work.columns_log2);
        if (Full || equalized)
            bytes = std::max(bytes, (std::size_t{131072} >> p.parts_log2) + crowded_bytes + HalfFilter::bytes);
        // A guess is kept in shared memory from one phase to the next.
        work.guesses = !full && work.slots_fit && !p.has_range;
        const Shape shape{blocks_for(largest, float_pixels_per_block(C, Full)) * (rows_of(C) / rows),
                          float_threads_of(C, Full), bytes, 1};
        work.listed_of_row =
            static_cast<std::uint32_t>(Places<C>::low_bytes / sizeof(uint4) / launch.multiprocessors / rows_of(C));
        if constexpr (std::is_same_v<Images, Tensor>)
            if (!Full && launch_kept_floats<C>(images, work, shape.blocks, bytes, launch)) return;
        launch_kernel(launch, floats_kernel<C, Full, Images, NoTile>, true, shape, images, work, 0,
                      static_cast<int>(images.count) * work.steps);
    };
    if (full)
        launch_detail(std::true_type{});
    else
        launch_detail(std::false_type{});
}

template std::size_t floats_workspace<GPUHIST_CHANNELS>(std::uint32_t);
template void launch_floats<GPUHIST_CHANNELS>(const Tensor&, FloatParameters, const Launch&);
template void launch_floats<GPUHIST_CHANNELS>(const List&, FloatParameters, const Launch&);

}  // namespace gpuhist::cuda
