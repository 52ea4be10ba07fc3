// Cases of excluded samples, in device memory.
#pragma once

#include "support/stream_under_test.hpp"
#include "support/validity_cases.hpp"

namespace gpuhist::test {

/// Copy of a case in device memory, so many bytes off an aligned address.
struct ValidityOnDevice {
    explicit ValidityOnDevice(const ValidityCase& given, std::size_t off = 0)
        : pixels(given.image.memory.size() + off, untouched),
          mask(given.mask.size() + off, untouched),
          offset(off),
          view(given.view()) {
        set(given);
        view.data = pixels.data() + offset;
        if (view.mask) view.mask = reinterpret_cast<const std::uint8_t*>(mask.data() + offset);
        view.memory = Memory::device;
    }
    /// Pixels and mask of another case, which lie as those before.
    void set(const ValidityCase& given) const {
        copy(pixels, given.image.memory.data(), given.image.memory.size());
        copy(mask, given.mask.data(), given.mask.size());
    }

    DeviceMemory pixels, mask;
    std::size_t offset;
    ImageView view;

  private:
    void copy(const DeviceMemory& to, const void* from, std::size_t bytes) const {
        check(cudaMemcpy(to.data() + offset, from, bytes, cudaMemcpyHostToDevice));
        check(cudaStreamSynchronize(nullptr));
    }
};

/// Batch of the two halves of an image, one above the other.
inline BatchView halves_of(const ImageView& image) {
    BatchView batch{image, 2};
    batch.first.height /= 2;
    batch.image_bytes = batch.first.height * image.row_bytes;
    batch.mask_bytes = batch.first.height * image.mask_row_bytes;
    return batch;
}
/// Image of a batch.
inline ImageView image_of(const BatchView& batch, std::size_t i) {
    const auto place = static_cast<std::int64_t>(i);
    ImageView image = batch.first;
    image.data = static_cast<const char*>(image.data) + place * batch.image_bytes;
    if (image.mask) image.mask += place * batch.mask_bytes;
    return image;
}

}  // namespace gpuhist::test
