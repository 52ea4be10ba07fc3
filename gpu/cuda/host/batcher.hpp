// Batcher: which jobs have one upload, and which images one launch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "cuda/host/parameters.hpp"
#include "gpuhist/engine.hpp"
#include "gpuhist/stream.hpp"

namespace gpuhist::cuda {

/// Offset of the next image in memory that several have in common.
constexpr std::size_t place_after(std::size_t bytes) {
    return (bytes + 255) / 256 * 256;
}
/// Placing of memory from `base` on, one piece behind the other.
struct Placing {
    char* base;
    std::size_t end = 0;  ///< bytes that are taken

    template <class T>
    void operator()(T*& piece, std::size_t bytes) {
        piece = reinterpret_cast<T*>(base + std::exchange(end, place_after(end + bytes)));
    }
};
template <class View>
std::size_t packed_bytes(const View& image) {
    return static_cast<std::size_t>(image.packed_row_bytes() * image.height);
}
/// Bytes that a job's image takes in an upload of several, with its mask.
inline std::size_t upload_bytes(const ImageView& image) {
    return place_after(packed_bytes(image)) + (image.mask ? place_after(static_cast<std::size_t>(image.pixels())) : 0);
}

/// Small jobs of one launch: of one type, with the same request.
struct JobBatch {
    // Bounds for the memory of an engine; most batches stay far below.
    static constexpr std::size_t most_bytes = std::size_t{1} << 24, most_job_bytes = most_bytes / 4;
    static constexpr std::size_t least_room = most_bytes / 16;

    std::vector<Job*> jobs;
    std::size_t up = 0, down = 0;  ///< bytes to the GPU and back

    bool takes(const Job& job) const {
        const auto asked = [](const Job& one) {
            return std::tuple(one.image.depth, one.image.channels, one.request, one.normalization);
        };
        return asked(*jobs.front()) == asked(job);
    }
    bool full() const {
        return jobs.size() == static_cast<std::size_t>(StreamAnalyzer::list_images) || up >= most_bytes ||
               down >= most_bytes;
    }
};

/// Images of one type in device memory, with outputs or, where `outputs` is null, without.
struct Views {
    const ImageView* images;
    const MutableImageView* outputs;
    std::int64_t count;

    const MutableImageView* output(std::int64_t i) const { return outputs ? outputs + i : nullptr; }
};

/// Whether an image, its mask and its output are described to the kernels as one long row: all are packed, and pixels
/// start on 16-byte boundaries now and then, where groups of them can be loaded at once.
inline bool one_row(const ImageView& image, const MutableImageView* output) {
    auto packed = [](const ImageView& view) {
        return view.height == 1 ||
               (view.row_bytes == view.packed_row_bytes() && (!view.mask || view.mask_row_bytes == view.width));
    };
    const auto pixel = sample_bytes(image.depth) * static_cast<std::size_t>(image.channels);
    return packed(image) && (!output || packed(*output)) &&
           reinterpret_cast<std::uintptr_t>(image.data) % std::min<std::size_t>(pixel & (0 - pixel), 16) == 0;
}

/// Image as the kernels see it, of any number of channels.
inline Image image_of(const ImageView& view, const MutableImageView* output = nullptr) {
    if (one_row(view, output)) return {view.data, view.pixels(), 1, 0};
    return {view.data, view.width, view.height, view.row_bytes};
}

/// Equal images of 1, 3 or 4 channels at equal distances, as the kernels see them.
inline Tensor tensor_of(const BatchView& batch, const MutableBatchView* output) {
    const ImageView& view = batch.first;
    Tensor tensor{image_of(view, output ? &output->first : nullptr), {}, batch.images, batch.image_bytes, 0, 0};
    if (output) {
        tensor.output = {output->first.data, output->first.row_bytes};
        tensor.output_bytes = output->image_bytes;
    }
    const int group = group_pixels(static_cast<int>(sample_bytes(view.depth)), view.channels);
    tensor.units = units_in_row(tensor.first.width, group) * tensor.first.height;
    return tensor;
}

/// Calls `launch(images, first)` for one Tensor or List after the other, from that view on: a tensor where all
/// remaining images, or enough, are equal at equal distances, or of one with a mask; else as many of one order as
/// `list` holds.
template <class Launch>
void for_each_launch(const Views& views, List& list, Launch launch) {
    auto distance = [](const auto* at, std::int64_t i) {  // from an image to the next
        return static_cast<const char*>(at[i + 1].data) - static_cast<const char*>(at[i].data);
    };
    // Whether image i + 1 continues a run that begins with `first`.
    auto goes_on = [&](const auto* at, std::int64_t first, std::int64_t i) {
        const ImageView a = at[first], b = at[i + 1];
        return !a.mask && !b.mask && a.width == b.width && a.height == b.height && a.row_bytes == b.row_bytes &&
               a.order == b.order && distance(at, i) == distance(at, first);
    };
    auto equal = [&](std::int64_t first, std::int64_t count) {
        const BatchView images{views.images[first], count, count > 1 ? distance(views.images, first) : 0};
        if (!views.outputs) return tensor_of(images, nullptr);
        const MutableBatchView outputs{views.outputs[first], count, count > 1 ? distance(views.outputs, first) : 0};
        return tensor_of(images, &outputs);
    };
    for (std::int64_t first = 0; first < views.count;) {
        std::int64_t last = first;
        while (last + 1 < views.count && goes_on(views.images, first, last) &&
               (!views.outputs || goes_on(views.outputs, first, last)))
            ++last;
        if (const std::int64_t count = last + 1 - first;
            last + 1 == views.count || count >= StreamAnalyzer::list_images || views.images[first].mask) {
            launch(equal(first, count), first);
            first += count;
            continue;
        }
        list.count = list.before[0] = 0;
        std::int64_t i = first;
        for (; i < views.count && list.count < StreamAnalyzer::list_images &&
               views.images[i].order == views.images[first].order && !views.images[i].mask;
             ++i) {
            const Tensor one = equal(i, 1);
            list.images[list.count] = one.first;
            list.outputs[list.count] = one.output;
            list.before[list.count + 1] = list.before[list.count] + one.units;
            ++list.count;
        }
        launch(list, first);
        first = i;
    }
}

}  // namespace gpuhist::cuda
