// The bytes of a file, read with every bound checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>

namespace gpuhist::io {

enum class Endian { little, big };

/// Bytes that somebody else owns. What lies outside them reads as absent.
class Bytes {
  public:
    Bytes(const unsigned char* data, std::size_t size) : data_(data), size_(size) {}

    std::size_t size() const { return size_; }
    const unsigned char* at(std::uint64_t offset) const { return data_ + offset; }
    bool has(std::uint64_t offset, std::uint64_t count) const { return offset <= size_ && count <= size_ - offset; }

    bool starts_with(std::string_view text, std::uint64_t offset = 0) const {
        return has(offset, text.size()) && std::memcmp(data_ + offset, text.data(), text.size()) == 0;
    }

    std::optional<std::uint64_t> number(std::uint64_t offset, unsigned count, Endian endian) const {
        if (!has(offset, count)) return std::nullopt;
        std::uint64_t value = 0;
        for (unsigned i = 0; i < count; ++i)
            value = value << 8 | data_[offset + (endian == Endian::big ? i : count - 1 - i)];
        return value;
    }

    std::string_view text(std::uint64_t offset, std::uint64_t count) const {
        return {reinterpret_cast<const char*>(data_ + offset), static_cast<std::size_t>(count)};
    }

  private:
    const unsigned char* data_;
    std::size_t size_;
};

/// a · b, or the largest number where the product passes it: then no file is long enough, which is what is asked.
inline std::uint64_t saturating_product(std::uint64_t a, std::uint64_t b) {
    std::uint64_t product = 0;
    return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::uint64_t>::max() : product;
}

}  // namespace gpuhist::io
