#include "cpu/parts.hpp"

#include <cstring>

namespace gpuhist::cpu {
namespace {

/// Copies samples of some bytes, which lie so far apart.
template <std::size_t bytes>
void copy_samples(const std::byte* from, std::size_t from_step, std::byte* to, std::size_t to_step,
                  std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i, from += from_step, to += to_step) std::memcpy(to, from, bytes);
}

void copy_row(const std::byte* from, std::size_t from_step, std::byte* to, std::size_t to_step, std::int64_t pixels,
              int channels, std::size_t bytes) {
    const auto copy = bytes == 1   ? copy_samples<1>
                      : bytes == 2 ? copy_samples<2>
                      : bytes == 4 ? copy_samples<4>
                                   : copy_samples<8>;
    for (int c = 0; c < channels; ++c, from += bytes, to += bytes) copy(from, from_step, to, to_step, pixels);
}

}  // namespace

MutableImageView Part::like(const ImageView& image, int channels, Depth depth) {
    MutableImageView view{nullptr, image.width, image.height, channels, depth, 0, image.order, image.memory};
    view.mask = image.mask;
    view.mask_row_bytes = image.mask_row_bytes;
    view.row_bytes = view.packed_row_bytes();
    memory_.resize(static_cast<std::size_t>(view.row_bytes * view.height));
    view.data = memory_.data();
    view_ = view;
    return view;
}

const ImageView& Part::of(const ImageView& image, int first, int channels) {
    const MutableImageView part = like(image, channels, image.depth);
    const std::size_t bytes = sample_bytes(image.depth), step = bytes * static_cast<std::size_t>(image.channels);
    const auto* from = static_cast<const std::byte*>(image.data) + bytes * static_cast<std::size_t>(first);
    for (std::int64_t y = 0; y < image.height; ++y)
        copy_row(from + y * image.row_bytes, step, memory_.data() + y * part.row_bytes,
                 bytes * static_cast<std::size_t>(channels), image.width, channels, bytes);
    return view_;
}

void Part::put(const MutableImageView& output, int first) const {
    const std::size_t bytes = sample_bytes(output.depth), step = bytes * static_cast<std::size_t>(output.channels);
    auto* to = static_cast<std::byte*>(output.data) + bytes * static_cast<std::size_t>(first);
    for (std::int64_t y = 0; y < output.height; ++y)
        copy_row(memory_.data() + y * view_.row_bytes, bytes * static_cast<std::size_t>(view_.channels),
                 to + y * output.row_bytes, step, output.width, view_.channels, bytes);
}

}  // namespace gpuhist::cpu
