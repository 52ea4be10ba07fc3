/// Mask of an image that comes in strips.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "gpuhist/io/decode.hpp"

namespace gpuhist::app {

/// Rows of a mask, which another thread decodes beside those of the image, a strip ahead of them. Where the file does
/// not let its rows be decoded one by one, all of them are held.
class MaskRows {
  public:
    /// Reads the mask, whole or by `strips`; throws IoError where it is none of this image.
    using Read = std::function<io::Image(const io::Strips& strips)>;

    /// Reads up to the first rows. Throws what `read` throws.
    explicit MaskRows(Read read);
    ~MaskRows();
    MaskRows(const MaskRows&) = delete;
    MaskRows& operator=(const MaskRows&) = delete;

    /// Rows, 0 or 1 per pixel and without gaps, which may be changed, and are there until the next call. Rows come in
    /// their order; the first ones begin a new pass. Throws what `read` throws.
    std::uint8_t* rows(std::int64_t first, std::int64_t count, std::int64_t width);

    /// Bytes of a strip as it is decoded.
    static constexpr std::uint64_t strip_bytes = std::uint64_t{1} << 20;

  private:
    struct Stopped {};

    void start();
    void stop();
    void read();
    void wait_for_rows(std::unique_lock<std::mutex>& lock);

    const Read read_;
    std::thread thread_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::uint8_t> ready_;  ///< the next rows
    std::size_t taken_ = 0;            ///< bytes of these
    bool whole_ = false;               ///< these are all rows
    bool stopped_ = false, ended_ = false;
    std::exception_ptr error_;
    std::int64_t next_ = 0;  ///< row
    std::vector<std::uint8_t> rows_;
};

}  // namespace gpuhist::app
