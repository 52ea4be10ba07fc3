/// Checksums of the files that gpuhist writes and reads back: XXH3 with 64 bits. They find damage, not forgery.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::io {

/// Checksum of bytes that come in pieces.
class Checksum {
  public:
    Checksum();
    ~Checksum();
    Checksum(Checksum&&) noexcept;
    Checksum& operator=(Checksum&&) noexcept;

    void add(const void* data, std::size_t bytes);
    std::uint64_t value() const;  ///< checksum of all bytes so far

  private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Checksum of bytes in memory.
std::uint64_t checksum(std::string_view bytes);

/// Text of a checksum: 16 hexadecimal digits.
std::string checksum_text(std::uint64_t value);
constexpr std::size_t checksum_digits = 16;

/// Length of a file, and the checksum of each of its blocks, 16 digits each.
struct FileChecksums {
    std::uint64_t bytes = 0;
    std::string blocks;
};

/// Checksums of a file that grows, one per block, so that a reader can check a block before it uses it. They take 8
/// bytes per 64 KiB.
class BlockChecksums {
  public:
    static constexpr std::size_t block_bytes = std::size_t{1} << 16;

    void add(const void* data, std::size_t bytes);
    std::uint64_t bytes() const { return bytes_; }
    /// Checksums so far. The last block may be short.
    FileChecksums all() const;
    /// Checksum of the whole file, made from those of the blocks.
    std::uint64_t value() const { return checksum(all().blocks); }

  private:
    std::vector<std::uint64_t> blocks_;  ///< complete blocks
    Checksum last_;
    std::uint64_t bytes_ = 0;
};

/// Adds to a JSON object a last member `checksum`, which covers the text before it, and an LF.
std::string seal_json(std::string object);

/// Checks a text that ends with the member and LF of `seal_json`. Throws IoError, which begins with `name`, if the
/// checksum is missing or wrong.
void check_seal(std::string_view text, const std::string& name);

}  // namespace gpuhist::io
