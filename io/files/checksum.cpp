#include "gpuhist/io/checksum.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

#include "files/failure.hpp"

namespace gpuhist::io {
namespace {

constexpr std::string_view seal_start = ",\"checksum\":\"", seal_end = "\"}\n";

}  // namespace

struct Checksum::State {
    XXH3_state_t xxh3;
};

Checksum::Checksum() : state_(std::make_unique<State>()) {
    XXH3_64bits_reset(&state_->xxh3);
}
Checksum::~Checksum() = default;
Checksum::Checksum(Checksum&&) noexcept = default;
Checksum& Checksum::operator=(Checksum&&) noexcept = default;

void Checksum::add(const void* data, std::size_t bytes) {
    XXH3_64bits_update(&state_->xxh3, data, bytes);
}

std::uint64_t Checksum::value() const {
    return XXH3_64bits_digest(&state_->xxh3);
}

std::uint64_t checksum(std::string_view bytes) {
    return XXH3_64bits(bytes.data(), bytes.size());
}

std::string checksum_text(std::uint64_t value) {
    std::string text(checksum_digits, '0');
    for (std::size_t i = checksum_digits; i-- > 0; value >>= 4) text[i] = "0123456789abcdef"[value & 15];
    return text;
}

void BlockChecksums::add(const void* data, std::size_t bytes) {
    const char* from = static_cast<const char*>(data);
    while (bytes > 0) {
        const std::size_t part = std::min<std::size_t>(bytes, block_bytes - bytes_ % block_bytes);
        last_.add(from, part);
        from += part;
        bytes -= part;
        bytes_ += part;
        if (bytes_ % block_bytes != 0) continue;
        blocks_.push_back(last_.value());
        last_ = {};
    }
}

FileChecksums BlockChecksums::all() const {
    FileChecksums found{bytes_, {}};
    found.blocks.reserve((blocks_.size() + 1) * checksum_digits);
    for (const std::uint64_t block : blocks_) found.blocks += checksum_text(block);
    if (bytes_ % block_bytes != 0) found.blocks += checksum_text(last_.value());
    return found;
}

std::string seal_json(std::string object) {
    object.pop_back();  // its bracket
    const std::string sum = checksum_text(checksum(object));
    return object.append(seal_start).append(sum).append(seal_end);
}

void check_seal(std::string_view text, const std::string& name) {
    constexpr std::size_t length = seal_start.size() + checksum_digits + seal_end.size();
    if (text.size() <= length) fail(name, "it is truncated: its checksum is missing", IoError::Kind::truncated);
    const std::string_view sealed = text.substr(0, text.size() - length);
    std::string seal(seal_start);
    seal.append(checksum_text(checksum(sealed))).append(seal_end);
    if (text.substr(sealed.size()) != seal)
        fail(name, "it is damaged: its checksum is missing or differs", IoError::Kind::damaged);
}

}  // namespace gpuhist::io
