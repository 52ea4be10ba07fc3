// PNG. The image data are compressed in blocks of rows, by several threads: libpng knows one.
#include <libdeflate.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <opencv2/core.hpp>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "encode/encode.hpp"
#include "files/failure.hpp"
#include "files/threads.hpp"

namespace gpuhist::io {
namespace {

using Bytes = std::vector<unsigned char>;

/// Bytes of the rows that are compressed as one block. Where blocks begin depends on the image alone.
constexpr std::uint64_t block_bytes = std::uint64_t{1} << 18;
/// Bytes that zlib looks back.
constexpr std::uint64_t window_bytes = std::uint64_t{1} << 15;
constexpr std::size_t most_in_chunk = std::size_t{1} << 30;  // PNG allows 2^31 - 1

enum class ColorType : unsigned char { gray = 0, rgb = 2, palette = 3, gray_alpha = 4, rgba = 6 };

/// How the bytes of a row are predicted (PNG specification, 9.2); `least`: for each row the filter with the least sum
/// of absolute differences.
enum class Filter : unsigned char { none = 0, left = 1, above = 2, average = 3, paeth = 4, least };

struct Format {
    ColorType color;
    unsigned sample_bits, samples;
    Filter filter;
    int level, strategy;  ///< of zlib
    std::array<unsigned char, 3 * 256> palette{};
    std::size_t palette_bytes = 0;

    std::uint64_t pixel_bytes() const { return samples * sample_bits / 8; }
};

void put_number(unsigned char* to, std::uint32_t value) {
    for (int i = 0; i < 4; ++i) to[i] = static_cast<unsigned char>(value >> (24 - 8 * i));
}

/// Samples of a row in the order and with the bytes of PNG. Places in a palette are like gray.
template <class Sample>
void pack(const Sample* from, int width, int channels, const Format& format, unsigned char* to) {
    const auto put = [&](Sample value) {
        if constexpr (sizeof value == 2) *to++ = static_cast<unsigned char>(value >> 8);
        *to++ = static_cast<unsigned char>(value);
    };
    for (int x = 0; x < width; ++x, from += channels) {
        if (channels == 1) {
            put(from[0]);
        } else if (format.color == ColorType::gray_alpha) {
            put(from[0]);
            put(from[3]);
        } else {
            for (const int channel : {2, 1, 0}) put(from[channel]);
            if (channels == 4) put(from[3]);
        }
    }
}

unsigned char paeth(int left, int above, int corner) {
    const int to_left = std::abs(above - corner), to_above = std::abs(left - corner),
              to_corner = std::abs(left + above - 2 * corner);
    return static_cast<unsigned char>(to_left <= to_above && to_left <= to_corner ? left
                                      : to_above <= to_corner                     ? above
                                                                                  : corner);
}

/// Filters a row. `above` is the row before, zeros for the first one. `step` is the number of bytes of a pixel.
template <Filter kind>
void filter(const unsigned char* row, const unsigned char* above, std::uint64_t bytes, std::uint64_t step,
            unsigned char* to) {
    const auto predicted = [&](std::uint64_t i, unsigned left, unsigned corner) {
        if constexpr (kind == Filter::none) return 0U;
        if constexpr (kind == Filter::left) return left;
        if constexpr (kind == Filter::above) return static_cast<unsigned>(above[i]);
        if constexpr (kind == Filter::average) return (left + above[i]) / 2;
        return static_cast<unsigned>(
            paeth(static_cast<int>(left), static_cast<int>(above[i]), static_cast<int>(corner)));
    };
    for (std::uint64_t i = 0; i < std::min(step, bytes); ++i)
        to[i] = static_cast<unsigned char>(row[i] - predicted(i, 0, 0));
    for (std::uint64_t i = step; i < bytes; ++i)
        to[i] = static_cast<unsigned char>(row[i] - predicted(i, row[i - step], above[i - step]));
}

void filter_by(Filter kind, const unsigned char* row, const unsigned char* above, std::uint64_t bytes,
               std::uint64_t step, unsigned char* to) {
    *to++ = static_cast<unsigned char>(kind);
    if (kind == Filter::none) filter<Filter::none>(row, above, bytes, step, to);
    if (kind == Filter::left) filter<Filter::left>(row, above, bytes, step, to);
    if (kind == Filter::above) filter<Filter::above>(row, above, bytes, step, to);
    if (kind == Filter::average) filter<Filter::average>(row, above, bytes, step, to);
    if (kind == Filter::paeth) filter<Filter::paeth>(row, above, bytes, step, to);
}

/// Sum of the bytes as differences, from -128 to 127.
std::uint64_t cost(const unsigned char* bytes, std::uint64_t count) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < count; ++i) sum += bytes[i] < 128 ? bytes[i] : 256U - bytes[i];
    return sum;
}

/// Rows of an image as PNG has them, some of them in memory.
class PackedRows {
  public:
    explicit PackedRows(std::uint64_t row_bytes) : row_bytes_(row_bytes), zeros_(row_bytes) {}

    std::uint64_t begin() const { return begin_; }
    std::uint64_t end() const { return end_; }
    /// Row that is in memory; zeros above the first row of the image.
    const unsigned char* row(std::uint64_t y) const { return memory_.data() + (y - begin_) * row_bytes_; }
    const unsigned char* above(std::uint64_t y) const { return y == 0 ? zeros_.data() : row(y - 1); }
    /// Makes memory for the next rows, which are undefined.
    unsigned char* add(std::uint64_t rows) {
        end_ += rows;
        memory_.resize((end_ - begin_) * row_bytes_);
        return memory_.data() + (end_ - rows - begin_) * row_bytes_;
    }
    void drop_before(std::uint64_t y) {
        if (y <= begin_) return;
        memory_.erase(memory_.begin(), memory_.begin() + static_cast<std::ptrdiff_t>((y - begin_) * row_bytes_));
        begin_ = y;
    }

  private:
    const std::uint64_t row_bytes_;
    std::uint64_t begin_ = 0, end_ = 0;
    Bytes memory_, zeros_;
};

/// Block of rows, filtered and compressed.
struct Block {
    Bytes bytes;             ///< raw deflate, which ends at a whole byte
    std::uint32_t checksum;  ///< Adler-32 of the filtered rows
    std::uint64_t filtered;  ///< number of their bytes
};

/// Compressor of one block.
class Deflate {
  public:
    explicit Deflate(const Format& format) {
        constexpr int raw = -15, memory = 8;
        if (deflateInit2(&stream_, format.level, Z_DEFLATED, raw, memory, format.strategy) != Z_OK)
            throw std::bad_alloc();
    }
    ~Deflate() { deflateEnd(&stream_); }
    Deflate(const Deflate&) = delete;
    Deflate& operator=(const Deflate&) = delete;

    void look_back_on(const unsigned char* bytes, std::uint64_t count) {
        deflateSetDictionary(&stream_, bytes, static_cast<uInt>(count));
    }
    Bytes run(const Bytes& from, bool last) {
        Bytes made(from.size() / 2 + 1024);
        std::uint64_t taken = 0, count = 0;
        for (;;) {
            const std::size_t given = std::min<std::size_t>(from.size() - taken, most_in_chunk);
            const bool all = taken + given == from.size();
            if (count == made.size()) made.resize(2 * made.size());
            stream_.next_in = const_cast<unsigned char*>(from.data() + taken);
            stream_.avail_in = static_cast<uInt>(given);
            stream_.next_out = made.data() + count;
            const std::size_t room = std::min<std::size_t>(made.size() - count, most_in_chunk);
            stream_.avail_out = static_cast<uInt>(room);
            const int result = deflate(&stream_, !all ? Z_NO_FLUSH : last ? Z_FINISH : Z_SYNC_FLUSH);
            taken += given - stream_.avail_in;
            count += room - stream_.avail_out;
            if (all && (last ? result == Z_STREAM_END : stream_.avail_in == 0 && stream_.avail_out > 0)) break;
        }
        made.resize(count);
        return made;
    }

  private:
    z_stream stream_{};
};

class PngEncoder final : public RowEncoder {
  public:
    PngEncoder(EncodedBytes& to, cv::Size sides, const Format& format, int threads)
        : to_(to),
          format_(format),
          threads_(threads),
          width_(sides.width),
          height_(static_cast<std::uint64_t>(sides.height)),
          row_bytes_(static_cast<std::uint64_t>(sides.width) * format.pixel_bytes()),
          block_rows_(std::max<std::uint64_t>(1, block_bytes / (row_bytes_ + 1))),
          looked_back_(format.strategy == Z_RLE ? 0 : window_bytes / (row_bytes_ + 1) + 1),
          rows_(row_bytes_) {
        write("\x89PNG\r\n\x1A\n", 8);
        std::array<unsigned char, 13> header{};
        put_number(header.data(), static_cast<std::uint32_t>(sides.width));
        put_number(header.data() + 4, static_cast<std::uint32_t>(sides.height));
        header[8] = static_cast<unsigned char>(format.sample_bits);
        header[9] = static_cast<unsigned char>(format.color);
        write_chunk("IHDR", header.data(), header.size());
        if (format.palette_bytes > 0) write_chunk("PLTE", format.palette.data(), format.palette_bytes);
    }

    void add(const cv::Mat& rows) override {
        const std::uint64_t most = block_rows_ * 2 * static_cast<std::uint64_t>(threads_);  // that wait
        for (int y = 0; y < rows.rows;) {
            const std::uint64_t room = most - (rows_.end() - next_);
            const int count =
                static_cast<int>(std::min<std::uint64_t>(room, static_cast<std::uint64_t>(rows.rows - y)));
            unsigned char* const place = rows_.add(static_cast<std::uint64_t>(count));
            constexpr int at_once = 64;
            on_threads(threads_, static_cast<std::size_t>((count + at_once - 1) / at_once), [&](std::size_t part, int) {
                const int first = static_cast<int>(part) * at_once;
                for (int i = first; i < std::min(count, first + at_once); ++i) {
                    unsigned char* const to = place + static_cast<std::uint64_t>(i) * row_bytes_;
                    if (rows.depth() == CV_8U)
                        pack(rows.ptr<std::uint8_t>(y + i), width_, rows.channels(), format_, to);
                    else
                        pack(rows.ptr<std::uint16_t>(y + i), width_, rows.channels(), format_, to);
                }
            });
            y += count;
            if (rows_.end() - next_ == most || rows_.end() == height_) compress();
        }
    }

    void finish() override { write_chunk("IEND", nullptr, 0); }

  private:
    /// Compresses all whole blocks that wait.
    void compress() {
        const std::uint64_t waiting = rows_.end() - next_;
        const std::uint64_t count =
            rows_.end() == height_ ? (waiting + block_rows_ - 1) / block_rows_ : waiting / block_rows_;
        std::vector<Block> blocks(count);
        on_threads(threads_, blocks.size(), [&](std::size_t i, int) {
            const std::uint64_t first = next_ + i * block_rows_;
            blocks[i] = block(first, std::min(rows_.end(), first + block_rows_));
        });
        for (const Block& one : blocks) {
            next_ = std::min(rows_.end(), next_ + block_rows_);
            checksum_ = static_cast<std::uint32_t>(
                adler32_combine(checksum_, one.checksum, static_cast<z_off_t>(one.filtered)));
            write_data(one.bytes);
        }
        rows_.drop_before(next_ - std::min(next_, looked_back_ + 1));  // the first of these has one above
    }

    void add_filtered(std::uint64_t y, Bytes& to, Bytes& spare) const {
        const std::size_t place = to.size();
        const std::uint64_t step = std::max<std::uint64_t>(1, format_.pixel_bytes());
        to.resize(place + row_bytes_ + 1);
        const auto run = [&](Filter kind, unsigned char* into) {
            filter_by(kind, rows_.row(y), rows_.above(y), row_bytes_, step, into);
        };
        if (format_.filter != Filter::least) return run(format_.filter, to.data() + place);
        spare.resize(row_bytes_ + 1);
        std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
        for (const Filter kind : {Filter::none, Filter::left, Filter::above, Filter::average, Filter::paeth}) {
            run(kind, spare.data());
            const std::uint64_t sum = cost(spare.data() + 1, row_bytes_);
            if (sum >= least) continue;
            least = sum;
            std::copy(spare.begin(), spare.end(), to.begin() + static_cast<std::ptrdiff_t>(place));
        }
    }

    Block block(std::uint64_t first, std::uint64_t end) const {
        Bytes filtered, spare;
        Deflate codec(format_);
        if (first > 0 && looked_back_ > 0) {
            filtered.reserve(window_bytes + 2 * row_bytes_);
            for (std::uint64_t y = first - std::min(first, looked_back_); y < first; ++y)
                add_filtered(y, filtered, spare);
            const std::uint64_t count = std::min<std::uint64_t>(window_bytes, filtered.size());
            codec.look_back_on(filtered.data() + filtered.size() - count, count);
            filtered.clear();
        }
        filtered.reserve((end - first) * (row_bytes_ + 1));
        for (std::uint64_t y = first; y < end; ++y) add_filtered(y, filtered, spare);
        return {codec.run(filtered, end == height_), libdeflate_adler32(1, filtered.data(), filtered.size()),
                filtered.size()};
    }

    /// Writes compressed bytes: with the header of zlib before the first ones, and its checksum behind the last.
    void write_data(const Bytes& bytes) {
        Bytes data;
        data.reserve(bytes.size() + 6);
        if (!begun_) data = {0x78, 0x01};
        begun_ = true;
        data.insert(data.end(), bytes.begin(), bytes.end());
        if (next_ == height_) {
            data.resize(data.size() + 4);
            put_number(data.data() + data.size() - 4, checksum_);
        }
        for (std::size_t at = 0; at < data.size(); at += most_in_chunk)
            write_chunk("IDAT", data.data() + at, std::min(most_in_chunk, data.size() - at));
    }

    void write_chunk(std::string_view type, const unsigned char* data, std::size_t count) {
        std::array<unsigned char, 8> head{};
        put_number(head.data(), static_cast<std::uint32_t>(count));
        std::copy(type.begin(), type.end(), head.begin() + 4);
        std::uint32_t sum = libdeflate_crc32(0, head.data() + 4, 4);
        if (count > 0) sum = libdeflate_crc32(sum, data, count);
        std::array<unsigned char, 4> end{};
        put_number(end.data(), sum);
        write(head.data(), head.size());
        if (count > 0) write(data, count);
        write(end.data(), end.size());
    }

    void write(const void* data, std::size_t count) {
        to_.write(position_, data, count);
        position_ += count;
    }

    EncodedBytes& to_;
    std::uint64_t position_ = 0;
    const Format format_;
    const int threads_, width_;
    const std::uint64_t height_, row_bytes_, block_rows_;
    const std::uint64_t looked_back_;  ///< rows before a block that its compression uses; run lengths use none
    PackedRows rows_;
    std::uint64_t next_ = 0;  ///< first row that is not compressed
    std::uint32_t checksum_ = 1;
    bool begun_ = false;
};

void check_sides(cv::Size sides, const std::string& name) {
    if (sides.width <= 0 || sides.height <= 0) fail(name, "cannot be encoded: it has no pixels");
}

/// Colors of an image, and the place of each pixel's among them.
struct Palette {
    std::vector<std::array<unsigned char, 3>> colors;
    cv::Mat places;
};

/// Palette of an image; none where it has more colors than one holds.
std::optional<Palette> palette_of(const cv::Mat& image) {
    constexpr std::size_t most_colors = 256;
    Palette palette{{}, cv::Mat(image.size(), CV_8UC1)};
    std::unordered_map<unsigned, unsigned char> place_of;
    unsigned before = ~0U;  // no color, which have 24 bits
    unsigned char place = 0;
    for (int y = 0; y < image.rows; ++y) {
        const auto* pixel = image.ptr(y);
        auto* places = palette.places.ptr(y);
        for (int x = 0; x < image.cols; ++x, pixel += 3) {
            const unsigned color = pixel[0] | pixel[1] << 8U | pixel[2] << 16U;
            if (color != before) {
                const auto [found, is_new] = place_of.try_emplace(color, palette.colors.size());
                if (is_new && palette.colors.size() == most_colors) return std::nullopt;
                if (is_new) palette.colors.push_back({pixel[2], pixel[1], pixel[0]});
                place = found->second;
                before = color;
            }
            places[x] = place;
        }
    }
    return palette;
}

}  // namespace

std::unique_ptr<RowEncoder> png_encoder(EncodedBytes& to, cv::Size sides, int type, Samples samples,
                                        const std::string& name, const EncodeOptions& options) {
    const int channels = CV_MAT_CN(type), depth = CV_MAT_DEPTH(type);
    const bool gray_alpha = samples == Samples::gray_alpha, integers = depth == CV_8U || depth == CV_16U;
    if (!integers || channels > 4 || channels == 2 || (!gray_alpha && samples != Samples::color))
        fail(name, "PNG holds no such samples: write TIFF");
    check_sides(sides, name);
    Format format{};
    format.color = gray_alpha      ? ColorType::gray_alpha
                   : channels == 1 ? ColorType::gray
                   : channels == 3 ? ColorType::rgb
                                   : ColorType::rgba;
    format.samples = gray_alpha ? 2U : static_cast<unsigned>(channels);
    format.sample_bits = depth == CV_8U ? 8 : 16;
    // At level 1, row differences and run lengths are twice as fast as any level of zlib that looks further, and within
    // 6 % of the smallest file.
    format.level = options.png_level;
    format.filter = options.png_level > 1 ? Filter::least : options.png_level == 1 ? Filter::left : Filter::none;
    format.strategy = options.png_level > 1 ? Z_DEFAULT_STRATEGY : Z_RLE;
    return std::make_unique<PngEncoder>(to, sides, format, std::max(1, options.threads));
}

// Most rows of a drawing equal the rows above them. Run lengths of the differences are as small as the result of zlib
// at level 6, in a third of the time. A palette reduces both to a third.
std::vector<unsigned char> encode_drawing(const cv::Mat& image, const std::string& name) {
    check_sides(image.size(), name);
    const auto palette = palette_of(image);
    Format format{palette ? ColorType::palette : ColorType::rgb, 8, palette ? 1U : 3U, Filter::above, 1, Z_RLE};
    if (palette)
        for (const auto& color : palette->colors)
            for (const unsigned char sample : color) format.palette[format.palette_bytes++] = sample;
    BytesInMemory bytes;
    PngEncoder encoder(bytes, image.size(), format, 1);
    encoder.add(palette ? palette->places : image);
    encoder.finish();
    return std::move(bytes.bytes);
}

}  // namespace gpuhist::io
