// Strips and tiles that this library decodes itself, to the end of their data: libtiff stops once it has enough, and
// sees no damage after that, nor a checksum.
#include <libdeflate.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "decode/tiff_codecs.hpp"

namespace gpuhist::io {
namespace {

namespace compression = tiff_compression;

/// Memory for the output of a codec, and a place for any output beyond, which is only counted.
class Output {
  public:
    Output(unsigned char* data, std::uint64_t size) : data_(data), size_(size) {}

    std::pair<unsigned char*, std::size_t> room() {
        if (count_ < size_) return {data_ + count_, static_cast<std::size_t>(size_ - count_)};
        return {beyond_.data(), beyond_.size()};
    }
    void add(std::uint64_t bytes) { count_ += bytes; }
    std::uint64_t count() const { return count_; }

  private:
    unsigned char* data_;
    std::uint64_t size_, count_ = 0;
    std::array<unsigned char, 4096> beyond_;
};

/// Codec of a stream. `run` decodes all of it, or stops after more than `most` bytes; returns the fault.
struct Stream {
    virtual ~Stream() = default;
    virtual std::string run(const Bytes& from, Output& to, std::uint64_t most) = 0;
};

constexpr const char* ends_early = "its data end early";

class Deflate : public Stream {
  public:
    Deflate() {
        if (!whole_ || inflateInit(&stream_) != Z_OK) throw std::bad_alloc();
    }
    ~Deflate() override { inflateEnd(&stream_); }
    Deflate(const Deflate&) = delete;
    Deflate& operator=(const Deflate&) = delete;

    std::string run(const Bytes& from, Output& to, std::uint64_t most) override {
        // libdeflate is faster, and takes nothing but data that are sound and of the exact length.
        const auto [all, bytes] = to.room();
        std::size_t used = 0, made = 0;
        if (libdeflate_zlib_decompress_ex(whole_.get(), from.at(0), from.size(), all, bytes, &used, &made) ==
                LIBDEFLATE_SUCCESS &&
            made == bytes) {
            to.add(made);
            return {};
        }
        constexpr std::size_t longest = std::size_t{1} << 30;  // of what zlib counts in 32 bits
        inflateReset(&stream_);
        std::uint64_t taken = 0;
        while (to.count() <= most) {
            const auto [place, size] = to.room();
            const std::size_t given = std::min<std::uint64_t>(from.size() - taken, longest);
            const std::size_t asked = std::min(size, longest);
            stream_.next_in = const_cast<unsigned char*>(from.at(taken));
            stream_.avail_in = static_cast<uInt>(given);
            stream_.next_out = place;
            stream_.avail_out = static_cast<uInt>(asked);
            const int result = inflate(&stream_, Z_NO_FLUSH);
            taken += given - stream_.avail_in;
            to.add(asked - stream_.avail_out);
            if (result == Z_STREAM_END) return {};
            if (result == Z_MEM_ERROR) throw std::bad_alloc();
            if (result == Z_BUF_ERROR) return ends_early;
            if (result != Z_OK) return std::string("zlib: ") + (stream_.msg ? stream_.msg : "needs a dictionary");
        }
        return {};
    }

  private:
    struct Free {
        void operator()(libdeflate_decompressor* codec) const { libdeflate_free_decompressor(codec); }
    };
    std::unique_ptr<libdeflate_decompressor, Free> whole_{libdeflate_alloc_decompressor()};
    z_stream stream_{};
};

class Zstd : public Stream {
  public:
    std::string run(const Bytes& from, Output& to, std::uint64_t most) override {
        if (!context_) throw std::bad_alloc();
        ZSTD_DCtx_reset(context_.get(), ZSTD_reset_session_only);
        ZSTD_inBuffer in{from.at(0), from.size(), 0};
        while (to.count() <= most) {
            const auto [place, size] = to.room();
            ZSTD_outBuffer out{place, size, 0};
            const std::size_t before = in.pos;
            const std::size_t result = ZSTD_decompressStream(context_.get(), &out, &in);
            to.add(out.pos);
            if (ZSTD_isError(result)) return std::string("zstd: ") + ZSTD_getErrorName(result);
            if (result == 0) return {};
            if (in.pos == in.size && in.pos == before && out.pos == 0) return ends_early;
        }
        return {};
    }

  private:
    struct Free {
        void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
    };
    std::unique_ptr<ZSTD_DCtx, Free> context_{ZSTD_createDCtx()};
};

class Lzma : public Stream {
  public:
    Lzma() = default;
    ~Lzma() override { lzma_end(&stream_); }
    Lzma(const Lzma&) = delete;
    Lzma& operator=(const Lzma&) = delete;

    std::string run(const Bytes& from, Output& to, std::uint64_t most) override {
        constexpr std::uint64_t memory = std::uint64_t{3} << 29;  // dictionaries up to 1.5 GiB: more is no picture's
        if (lzma_stream_decoder(&stream_, memory, 0) != LZMA_OK) throw std::bad_alloc();
        stream_.next_in = from.at(0);
        stream_.avail_in = from.size();
        while (to.count() <= most) {
            const auto [place, size] = to.room();
            stream_.next_out = place;
            stream_.avail_out = size;
            const lzma_ret result = lzma_code(&stream_, LZMA_FINISH);
            to.add(size - stream_.avail_out);
            if (result == LZMA_STREAM_END) return {};
            if (result == LZMA_MEM_ERROR) throw std::bad_alloc();
            if (result == LZMA_BUF_ERROR) return ends_early;
            if (result != LZMA_OK) return std::string("lzma: ") + words(result);
        }
        return {};
    }

  private:
    static const char* words(lzma_ret result) {
        switch (result) {
            case LZMA_FORMAT_ERROR:
                return "file format not recognized";
            case LZMA_OPTIONS_ERROR:
                return "unsupported options";
            case LZMA_MEMLIMIT_ERROR:
                return "a dictionary larger than 1.5 GiB";
            default:
                return "compressed data are corrupt";
        }
    }
    lzma_stream stream_ = LZMA_STREAM_INIT;
};

class PackBits : public Stream {
  public:
    explicit PackBits(bool exact) : exact_(exact) {}

    std::string run(const Bytes& from, Output& to, std::uint64_t most) override {
        const std::uint64_t end = from.size();
        std::uint64_t at = 0;
        while (at < end && (exact_ || to.count() < most)) {
            const unsigned char head = *from.at(at++);
            if (head == 128) continue;
            const std::uint64_t count = head < 128 ? head + 1U : 257U - head, given = head < 128 ? count : 1;
            // A file that was filled up to an even length may hold one byte more, after all rows.
            if (to.count() >= most && at == end) break;
            if (!from.has(at, given)) return ends_early;
            for (std::uint64_t done = 0; done < count;) {
                const auto [place, size] = to.room();
                const std::size_t part = std::min<std::uint64_t>(count - done, size);
                if (head < 128)
                    std::memcpy(place, from.at(at + done), part);
                else
                    std::memset(place, *from.at(at), part);
                done += part;
                to.add(part);
            }
            at += given;
            if (to.count() > most) return {};
        }
        return {};
    }

  private:
    bool exact_;  ///< the length of its data is known
};

std::unique_ptr<Stream> make_stream(const TiffLayout& layout) {
    switch (layout.compression) {
        case compression::none:
            return nullptr;
        case compression::packbits:
            return std::make_unique<PackBits>(layout.lengths.count() > 0);
        case compression::zstd:
            return std::make_unique<Zstd>();
        case compression::lzma:
            return std::make_unique<Lzma>();
        default:
            return std::make_unique<Deflate>();
    }
}

template <class Number>
void to_native(unsigned char* row, std::uint64_t count, Endian endian) {
    static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
    if (endian == Endian::little) return;
    for (std::uint64_t i = 0; i < count; ++i) {
        Number value;
        std::memcpy(&value, row + i * sizeof value, sizeof value);
        if constexpr (sizeof value == 2)
            value = __builtin_bswap16(value);
        else if constexpr (sizeof value == 4)
            value = __builtin_bswap32(value);
        else
            value = __builtin_bswap64(value);
        std::memcpy(row + i * sizeof value, &value, sizeof value);
    }
}

/// Sums up the differences of neighbors, `Step` samples apart: the sums stay in registers.
template <class Number, unsigned Step>
void sum_up(unsigned char* row, std::uint64_t count) {
    std::array<Number, Step> sums{};
    for (std::uint64_t i = 0; i + Step <= count; i += Step)
        for (unsigned k = 0; k < Step; ++k) {
            Number value;
            unsigned char* at = row + (i + k) * sizeof value;
            std::memcpy(&value, at, sizeof value);
            sums[k] = static_cast<Number>(sums[k] + value);
            std::memcpy(at, &sums[k], sizeof value);
        }
}

template <class Number>
void sum_up(unsigned char* row, std::uint64_t count, std::uint64_t step) {
    if (step == 1) sum_up<Number, 1>(row, count);
    if (step == 2) sum_up<Number, 2>(row, count);
    if (step == 3) sum_up<Number, 3>(row, count);
    if (step == 4) sum_up<Number, 4>(row, count);
    if (step <= 4) return;
    std::vector<Number> sums(step);
    for (std::uint64_t i = 0; i < count; ++i) {
        Number value;
        std::memcpy(&value, row + i * sizeof value, sizeof value);
        sums[i % step] = value = static_cast<Number>(sums[i % step] + value);
        std::memcpy(row + i * sizeof value, &value, sizeof value);
    }
}

/// The predictor of floating point: a row holds the first bytes of all samples, then the second ones, as differences.
void join_bytes(unsigned char* row, std::uint64_t count, std::uint64_t bytes, std::uint64_t step,
                std::vector<unsigned char>& spare) {
    sum_up<std::uint8_t>(row, count * bytes, step);
    spare.assign(row, row + count * bytes);
    for (std::uint64_t i = 0; i < count; ++i)
        for (std::uint64_t byte = 0; byte < bytes; ++byte) row[bytes * i + bytes - 1 - byte] = spare[byte * count + i];
}

class OwnCodec : public TiffCodec {
  public:
    OwnCodec(const Bytes& file, const TiffLayout& layout)
        : file_(file), layout_(layout), stream_(make_stream(layout)) {}

    std::string decode(std::uint64_t, const TiffPiece& piece, unsigned char* to) override {
        std::string wrong = decompress(piece, to);
        const std::uint64_t bits = layout_.bits;
        if (bits != 16 && bits != 32 && bits != 64 && layout_.predictor == 1) return wrong;
        const std::uint64_t step = layout_.planar ? 1 : layout_.samples;
        const std::uint64_t count = layout_.piece_width * step;
        const Endian endian = layout_.directory.endian();
        for (unsigned char* row = to; row < to + piece.bytes; row += piece.row_bytes) {
            if (layout_.predictor == 3) {
                join_bytes(row, count, bits / 8, step, spare_);
                continue;
            }
            if (bits == 16) to_native<std::uint16_t>(row, count, endian);
            if (bits == 32) to_native<std::uint32_t>(row, count, endian);
            if (bits == 64) to_native<std::uint64_t>(row, count, endian);
            if (layout_.predictor == 1) continue;
            if (bits == 8) sum_up<std::uint8_t>(row, count, step);
            if (bits == 16) sum_up<std::uint16_t>(row, count, step);
            if (bits == 32) sum_up<std::uint32_t>(row, count, step);
            if (bits == 64) sum_up<std::uint64_t>(row, count, step);
        }
        return wrong;
    }

  private:
    std::string decompress(const TiffPiece& piece, unsigned char* to) {
        std::string wrong;
        std::uint64_t count = 0;
        if (stream_) {
            Bytes from = bytes_of(file_, piece, read_);
            if (layout_.reversed) {
                turned_.assign(from.at(0), from.at(from.size()));
                reverse(turned_.data(), turned_.size());
                from = Bytes(turned_.data(), turned_.size());
            }
            Output output(to, piece.bytes);
            wrong = stream_->run(from, output, piece.most_bytes);
            count = output.count();
        } else {
            count = file_.copy(piece.offset, piece.length, to);
            if (layout_.reversed) reverse(to, count);
        }
        const std::string rows = std::to_string(piece.bytes) + " bytes of its rows";
        if (count < piece.bytes) {
            std::memset(to + count, 0, piece.bytes - count);
            if (wrong.empty()) wrong = "its data are " + std::to_string(count) + " of the " + rows;
        } else if (wrong.empty() && count > piece.most_bytes) {
            wrong = "its data are more than the " + rows;
        }
        return wrong;
    }

    static void reverse(unsigned char* bytes, std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) {
            unsigned value = bytes[i];
            value = (value & 0xF0) >> 4 | (value & 0x0F) << 4;
            value = (value & 0xCC) >> 2 | (value & 0x33) << 2;
            bytes[i] = static_cast<unsigned char>((value & 0xAA) >> 1 | (value & 0x55) << 1);
        }
    }

    const Bytes& file_;
    const TiffLayout& layout_;
    std::unique_ptr<Stream> stream_;  ///< null: nothing is compressed
    std::vector<unsigned char> read_, spare_, turned_;
};

}  // namespace

std::unique_ptr<TiffCodec> own_tiff_codec(const Bytes& file, const TiffLayout& layout) {
    return std::make_unique<OwnCodec>(file, layout);
}

}  // namespace gpuhist::io
