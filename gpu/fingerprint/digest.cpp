#include "fingerprint/digest.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <bit>
#include <cstring>
#include <string>

namespace gpuhist::fingerprint {

static_assert(std::endian::native == std::endian::little, "samples are hashed as they are in memory");

Digest digest_of(const void* data, std::size_t bytes) {
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits(data, bytes));
    Digest digest;
    static_assert(sizeof canonical == sizeof digest);
    std::memcpy(digest.data(), canonical.digest, sizeof digest);
    return digest;
}

struct PixelsHash::State {
    XXH3_state_t xxh3;
};

PixelsHash::PixelsHash(const ImageView& image, int channels) : state_(std::make_unique<State>()) {
    XXH3_128bits_reset(&state_->xxh3);
    const std::string line = std::to_string(image.width) + ' ' + std::to_string(image.height) + ' ' +
                             to_string(image.depth) + ' ' + std::to_string(channels) + '\n';
    XXH3_128bits_update(&state_->xxh3, line.data(), line.size());
}
PixelsHash::~PixelsHash() = default;

void PixelsHash::add(const Digest* digests, std::size_t count) {
    XXH3_128bits_update(&state_->xxh3, digests, count * sizeof(Digest));
}

Hash128 PixelsHash::value() const {
    const XXH128_hash_t hash = XXH3_128bits_digest(&state_->xxh3);
    return {hash.high64, hash.low64};
}

}  // namespace gpuhist::fingerprint
