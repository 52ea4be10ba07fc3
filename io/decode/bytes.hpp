// The bytes of a file, read with every bound checked.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>

namespace gpuhist::io {

enum class Endian { little, big };

class FileWindow;

/// Bytes that somebody else owns. Bytes outside of them read as absent. Bytes of a window on a file come into memory
/// when they are requested; `at` requests none.
class Bytes {
  public:
    Bytes(const unsigned char* data, std::size_t size, FileWindow* window = nullptr)
        : data_(data), size_(size), window_(window) {}

    std::size_t size() const { return size_; }
    bool of_window() const { return window_ != nullptr; }
    const unsigned char* at(std::uint64_t offset) const { return data_ + offset; }
    /// Byte that there is.
    unsigned char byte(std::uint64_t offset) const {
        need(offset, 1);
        return data_[offset];
    }
    /// Part of the bytes, all of it in memory up to the next `let_go`.
    Bytes part(std::uint64_t offset, std::uint64_t count) const {
        need(offset, count);
        return {data_ + offset, static_cast<std::size_t>(count)};
    }
    /// Copies bytes, those of them that there are, without keeping them in the memory of a window. Returns how many.
    std::uint64_t copy(std::uint64_t offset, std::uint64_t count, unsigned char* to) const;
    /// Releases the memory of a window, if it is much. Earlier results of `part` and `text` become invalid.
    void let_go() const;
    bool has(std::uint64_t offset, std::uint64_t count) const { return offset <= size_ && count <= size_ - offset; }

    bool starts_with(std::string_view text, std::uint64_t offset = 0) const {
        if (!has(offset, text.size())) return false;
        need(offset, text.size());
        return std::memcmp(data_ + offset, text.data(), text.size()) == 0;
    }

    std::optional<std::uint64_t> number(std::uint64_t offset, unsigned count, Endian endian) const {
        if (!has(offset, count)) return std::nullopt;
        need(offset, count);
        std::uint64_t value = 0;
        for (unsigned i = 0; i < count; ++i)
            value = value << 8 | data_[offset + (endian == Endian::big ? i : count - 1 - i)];
        return value;
    }

    std::string_view text(std::uint64_t offset, std::uint64_t count) const {
        need(offset, count);
        return {reinterpret_cast<const char*>(data_ + offset), static_cast<std::size_t>(count)};
    }

  private:
    void need(std::uint64_t offset, std::uint64_t count) const {
        if (window_) load(offset, count);
    }
    void load(std::uint64_t offset, std::uint64_t count) const;  // files/window.cpp

    const unsigned char* data_;
    std::size_t size_;
    FileWindow* window_;
};

/// Reader of samples in the order of a file. A window reads many bytes at a time for it.
class ReadAhead {
  public:
    static constexpr std::uint64_t bytes = 1 << 20;  ///< that are read at once, unless more are asked for
    explicit ReadAhead(const Bytes& file) : file_(file) {}

    /// Bytes that are there, in memory up to the next call. Places never decrease.
    const unsigned char* at(std::uint64_t place, std::uint64_t count) {
        if (place + count > end_) {
            file_.let_go();
            const std::uint64_t more = std::min(std::max(count, bytes), file_.size() - place);
            file_.part(place, more);
            end_ = place + more;
        }
        return file_.at(place);
    }

  private:
    const Bytes& file_;
    std::uint64_t end_ = 0;  ///< of the bytes in memory
};

/// a · b, or the largest number if the product overflows: no file is that long.
inline std::uint64_t saturating_product(std::uint64_t a, std::uint64_t b) {
    std::uint64_t product = 0;
    return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::uint64_t>::max() : product;
}

/// a + b, or the largest number if the sum overflows.
inline std::uint64_t saturating_sum(std::uint64_t a, std::uint64_t b) {
    std::uint64_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::uint64_t>::max() : sum;
}

}  // namespace gpuhist::io
