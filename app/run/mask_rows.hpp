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
    /// Reads the mask, whole or by `strips`. Throws IoError if it does not fit this image.
    using Read = std::function<io::Image(const io::Strips& strips)>;

    /// Reads up to the first rows. Throws as `read`.
    explicit MaskRows(Read read);
    ~MaskRows();
    MaskRows(const MaskRows&) = delete;
    MaskRows& operator=(const MaskRows&) = delete;

    /// Rows with 0 or 1 per pixel and without gaps. The caller may change them; they stay until the next call. Request
    /// rows in order; the first ones begin a new pass. Throws as `read`.
    std::uint8_t* rows(std::int64_t first, std::int64_t count, std::int64_t width);

    /// Verdict on the mask of the rows: whether viewers show 0 as white.
    bool zero_is_white();

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
    bool zero_is_white_ = false;
    bool stopped_ = false, ended_ = false;
    std::exception_ptr error_;
    std::int64_t next_ = 0;  ///< row
    std::vector<std::uint8_t> rows_;
};

}  // namespace gpuhist::app
