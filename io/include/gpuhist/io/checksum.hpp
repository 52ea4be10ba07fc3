/// Checksums of what gpuhist writes and reads back: XXH3 with 64 bits. They find damage, not forgery.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::io {

/// Checksum of bytes that come piece by piece.
class Checksum {
  public:
    Checksum();
    ~Checksum();
    Checksum(Checksum&&) noexcept;
    Checksum& operator=(Checksum&&) noexcept;

    void add(const void* data, std::size_t bytes);
    std::uint64_t value() const;  ///< of all bytes so far

  private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Checksum of bytes that are all there.
std::uint64_t checksum(std::string_view bytes);

/// Checksum as 16 hexadecimal digits, and how many these are.
std::string checksum_text(std::uint64_t value);
constexpr std::size_t checksum_digits = 16;

/// Length of a file, and the checksum of each of its blocks, 16 digits each.
struct FileChecksums {
    std::uint64_t bytes = 0;
    std::string blocks;
};

/// Checksums of a file that grows, one for each block of it, so that a reader can check a block before it is used. They
/// take 8 bytes for each 64 KiB.
class BlockChecksums {
  public:
    static constexpr std::size_t block_bytes = std::size_t{1} << 16;

    void add(const void* data, std::size_t bytes);
    std::uint64_t bytes() const { return bytes_; }
    /// Checksums so far, the last of a block that may be short.
    FileChecksums all() const;
    /// Checksum of all of it.
    std::uint64_t value() const { return checksum(all().blocks); }

  private:
    std::vector<std::uint64_t> blocks_;  ///< complete ones
    Checksum last_;
    std::uint64_t bytes_ = 0;
};

/// JSON object with a last member `checksum`, which covers the text before it, and an LF.
std::string seal_json(std::string object);

/// Checks the text of `seal_json`, whose end it must be. Throws IoError, which begins with `name`, where the checksum
/// is missing or wrong.
void check_seal(std::string_view text, const std::string& name);

}  // namespace gpuhist::io
