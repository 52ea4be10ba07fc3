// PNG, by libpng, which gets the chunks that make the pixels and no others.
#include <libdeflate.h>
#include <png.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstring>
#include <memory>
#include <opencv2/core.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "decode/apng.hpp"
#include "decode/formats.hpp"
#include "files/window.hpp"

namespace gpuhist::io {
namespace {

constexpr std::string_view png_signature("\x89PNG\r\n\x1a\n", 8);
constexpr std::size_t piece_bytes = 1 << 16;                           ///< that are read at once
constexpr std::string_view extra{"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"};  ///< no checksum of Adler's either

bool matches(const Bytes& file) {
    return file.starts_with(png_signature);
}

// ---- chunks ----

struct Chunk {
    std::uint64_t position;  ///< of its length, type, data and checksum
    std::string type;
    std::uint64_t size;  ///< of what is there of its data, in a truncated file
    bool whole;

    std::uint64_t data() const { return position + 8; }
    std::uint64_t end() const { return data() + size + 4; }
    bool critical() const { return type[0] < 'a'; }
    bool is(std::string_view name) const { return type == name; }
};

/// Chunk at a position. None where its type does not consist of letters, or the file ends before.
std::optional<Chunk> chunk_at(const Bytes& file, std::uint64_t position) {
    const auto length = file.number(position, 4, Endian::big);
    if (!length || !file.has(position, 8)) return std::nullopt;
    const std::string type(file.text(position + 4, 4));
    const auto letter = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); };
    if (!std::all_of(type.begin(), type.end(), letter)) return std::nullopt;
    const std::uint64_t there = std::min<std::uint64_t>(*length, file.size() - position - 8);
    return Chunk{position, type, there, file.has(position, 12 + *length)};
}

/// Tells whether a checksum is wrong, of a chunk on which the pixels depend. A tRNS does not lose itself by a change of
/// its name.
bool checksum_fails(const Bytes& file, const Chunk& chunk) {
    const auto checksum = [&](std::string_view type) {
        std::uint32_t sum = libdeflate_crc32(0, type.data(), type.size());
        for (std::uint64_t at = chunk.data(), count; at < chunk.end() - 4; at += count) {
            count = std::min<std::uint64_t>(chunk.end() - 4 - at, piece_bytes);
            file.let_go();
            sum = libdeflate_crc32(sum, file.part(at, count).at(0), count);
        }
        return sum;
    };
    const auto stored = file.number(chunk.end() - 4, 4, Endian::big);
    constexpr std::size_t longest_palette = 256;
    if (chunk.critical() || chunk.is("tRNS")) return checksum(chunk.type) != stored;
    return chunk.size <= longest_palette && checksum("tRNS") == stored;
}

/// Header of the image.
struct Header {
    std::uint64_t width, height, bits, color, interlaced;

    bool palette() const { return color == PNG_COLOR_TYPE_PALETTE; }
    bool has_alpha() const { return (color & PNG_COLOR_MASK_ALPHA) != 0; }
    bool gray() const { return (color & PNG_COLOR_MASK_COLOR) == 0; }
};

Header read_header(const Bytes& file) {
    const auto number = [&](std::uint64_t at, unsigned count) {
        return file.number(at, count, Endian::big).value_or(0);
    };
    return {number(16, 4), number(20, 4), number(24, 1), number(25, 1), number(28, 1)};
}

/// Bytes of a row as PNG stores it, without its filter's.
std::uint64_t row_bytes(const Header& header) {
    const std::uint64_t samples = header.palette() ? 1 : (header.gray() ? 1 : 3) + (header.has_alpha() ? 1 : 0);
    return (saturating_product(header.width, samples * header.bits) - 1) / 8 + 1;
}

/// Bytes that the data of an image are before they are compressed: rows, each after the number of its filter.
std::uint64_t inflated_bytes(const Header& header) {
    if (!header.interlaced) return saturating_product(row_bytes(header) + 1, header.height);
    struct Pass {
        std::uint64_t left, top, across, down;
    };
    constexpr Pass passes[] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4},
                               {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};
    std::uint64_t bytes = 0;
    for (const auto& [left, top, across, down] : passes) {
        if (header.width <= left || header.height <= top) continue;
        Header pass = header;
        pass.width = (header.width - left - 1) / across + 1;
        bytes += saturating_product(row_bytes(pass) + 1, (header.height - top - 1) / down + 1);
    }
    return bytes;
}

/// Most bytes of data that are inflated at once.
constexpr std::uint64_t most_inflated = std::uint64_t{1} << 27;

void inspect(const Bytes& file, Probe& probe) {
    if (!file.has(0, png_signature.size() + 8)) {
        probe.truncated = "the PNG ends inside its header";
        return;
    }
    if (!file.starts_with("IHDR", 12)) {
        probe.damaged = "the PNG does not begin with its IHDR chunk";
        return;
    }
    const Header header = read_header(file);
    probe.set_size(header.width, header.height);
    probe.pixel_bytes = header.palette() ? 5 : header.bits == 16 ? 8 : 4;
    probe.depth = header.bits == 16 ? Depth::u16 : Depth::u8;
    probe.strip_rows = header.interlaced ? 0 : 1;
    probe.held_bytes = FileWindow::kept + (1 << 20);
    std::uint64_t position = png_signature.size(), data = 0;
    bool ended = false;
    while (const auto chunk = chunk_at(file, position)) {
        if (chunk->is("IDAT")) data += chunk->size;
        if (!chunk->whole) break;
        const std::string name = "the PNG's " + std::string(chunk->type) + " chunk at byte " + std::to_string(position);
        if (checksum_fails(file, *chunk)) {
            probe.damaged = "the checksum of " + name + " is wrong";
            return;
        }
        if (chunk->is("tRNS") && data) probe.damaged = name + " comes after the image data";
        const bool known = chunk->is("IHDR") || chunk->is("PLTE") || chunk->is("IDAT") || chunk->is("IEND");
        if (chunk->critical() && !known) probe.unsupported = name + " is critical, and of no kind that gpuhist reads";
        position = chunk->end();
        if ((ended = chunk->is("IEND"))) break;
    }
    if (!ended && file.has(position, 8) && !chunk_at(file, position))
        probe.damaged = "the PNG has no chunk at byte " + std::to_string(position) + ", where one must begin";
    else if (!ended)
        probe.truncated = file.has(position, 8)
                              ? "the PNG ends inside a chunk (at byte " + std::to_string(position) + ")"
                              : "the PNG ends before its IEND chunk";
    else if (data == 0)
        probe.damaged = "the PNG has no image data";
    if (inflated_bytes(header) <= most_inflated) probe.whole_bytes = inflated_bytes(header) + data;
    // Deflate makes at most 1032 bytes of one. Less in a truncated file is no wonder, up to a point.
    const std::uint64_t most = 1032 * data * (probe.truncated.empty() ? 1 : 1024);
    if (saturating_product(row_bytes(header), header.height) > most && probe.damaged.empty() && header.width != 0)
        probe.too_large =
            cannot_hold("the PNG's " + std::to_string(data) + " bytes of data", header.width, header.height);
}

// ---- libpng ----

/// Inflates data whose stream is sound, ends with them, and has the expected length. Returns whether it is so.
bool inflate_whole(const unsigned char* data, std::size_t size, unsigned char* to, std::size_t bytes) {
    struct Free {
        void operator()(libdeflate_decompressor* codec) const { libdeflate_free_decompressor(codec); }
    };
    thread_local const std::unique_ptr<libdeflate_decompressor, Free> codec(libdeflate_alloc_decompressor());
    std::size_t used = 0;
    return codec &&
           libdeflate_zlib_decompress_ex(codec.get(), data, size, to, bytes, &used, nullptr) == LIBDEFLATE_SUCCESS &&
           used == size;
}

/// PNG as libpng gets it: the header's chunks, and the data in chunks of our own. libpng looks for the end of the zlib
/// stream, and at its checksum, only in the piece of data that it holds when the last row is done, and keeps quiet
/// where there is none. So the last piece is a large one, and ends in bytes that belong to nothing: "Extra compressed
/// data" then tells that the stream ended before them, with the right checksum.
///
/// If all rows are decoded at once, and their data are sound, they come inflated, as a stream of stored blocks:
/// libdeflate inflates faster than the zlib that libpng uses. Of other data, libpng says what is wrong.
struct Stream {
    /// Bytes of the file, of the inflated rows, or others.
    struct Piece {
        enum class Of { file, rows, text } of;
        std::uint64_t begin, size;
        std::string text{};

        explicit Piece(std::string others) : of(Of::text), begin(0), size(others.size()), text(std::move(others)) {}
        Piece(Of bytes, std::uint64_t first, std::uint64_t count) : of(bytes), begin(first), size(count) {}
        Piece part(std::uint64_t first, std::uint64_t count) const {
            return of == Of::text ? Piece(text.substr(first, count)) : Piece(of, begin + first, count);
        }
    };
    std::vector<Piece> pieces;  ///< all of it, in order
    cv::Mat rows;               ///< inflated; empty: the data are the file's

    explicit Stream(const EncodedImage& file);

  private:
    bool inflate(const EncodedImage& file, const Header& header, const std::vector<Piece>& data, std::uint64_t size);
    std::vector<Piece> stored(std::uint64_t bytes) const;
    void add_data(const std::vector<Piece>& data, std::uint64_t begin, std::uint64_t end, bool last);
};

Stream::Stream(const EncodedImage& file) {
    const Header header = read_header(file.bytes);
    std::string head(png_signature);
    std::vector<Piece> data;
    std::uint64_t position = png_signature.size(), size = 0;
    while (const auto chunk = chunk_at(file.bytes, position)) {
        position = chunk->end();
        if (chunk->is("IDAT")) {
            data.emplace_back(Piece::Of::file, chunk->data(), chunk->size);
            size += chunk->size;
        }
        const bool wanted =
            chunk->is("IHDR") || (chunk->is("PLTE") && header.palette()) || (chunk->is("tRNS") && !header.has_alpha());
        if (wanted && chunk->whole && data.empty()) head += file.bytes.text(chunk->position, 12 + chunk->size);
        if (chunk->is("IEND") || !chunk->whole) break;
    }
    pieces.emplace_back(std::move(head));
    if (inflate(file, header, data, size)) {
        data = stored(inflated_bytes(header));
        size = 0;
        for (const Piece& piece : data) size += piece.size;
    }
    const std::uint64_t tail = size - std::min<std::uint64_t>(size, piece_bytes - extra.size());
    constexpr std::uint64_t longest = std::uint64_t{1} << 30;
    for (std::uint64_t begin = 0; begin < tail; begin += longest)
        add_data(data, begin, std::min(tail, begin + longest), false);
    add_data(data, tail, size, file.probe.truncated.empty());
}

/// Inflates the rows. Returns false, without rows, if they are not decoded at once, or if libpng must look at the data.
bool Stream::inflate(const EncodedImage& file, const Header& header, const std::vector<Piece>& data,
                     std::uint64_t size) {
    if (file.strip_rows > 0 || file.probe.whole_bytes == 0 || !file.probe.truncated.empty() || data.empty())
        return false;
    const std::uint64_t bytes = inflated_bytes(header);
    std::unique_ptr<unsigned char[]> joined;
    const unsigned char* all = file.bytes.at(data.front().begin);
    try {
        rows.allocator = file.options.allocator;
        rows.create(1, static_cast<int>(bytes), CV_8UC1);
        if (data.size() > 1 || file.bytes.of_window()) {
            joined.reset(new unsigned char[size]);
            std::uint64_t at = 0;
            for (const Piece& piece : data) at += file.bytes.copy(piece.begin, piece.size, joined.get() + at);
            all = joined.get();
        }
    } catch (const std::exception&) {  // no memory
        rows.release();
        return false;
    }
    if (!inflate_whole(all, size, rows.data, bytes)) rows.release();
    return !rows.empty();
}

/// Stream of zlib whose blocks are the rows, uncompressed.
std::vector<Stream::Piece> Stream::stored(std::uint64_t bytes) const {
    constexpr std::uint64_t longest = 65535;
    std::vector<Piece> stream;
    stream.emplace_back(std::string("\x78\x01", 2));
    for (std::uint64_t begin = 0; begin < bytes; begin += longest) {
        const std::uint64_t count = std::min(longest, bytes - begin);
        std::string header(1, begin + count == bytes ? '\1' : '\0');
        for (const std::uint64_t number : {count, ~count})
            for (const int shift : {0, 8}) header += static_cast<char>(number >> shift & 255);
        stream.emplace_back(std::move(header));
        stream.emplace_back(Piece::Of::rows, begin, count);
    }
    const std::uint32_t sum = libdeflate_adler32(1, rows.data, bytes);
    std::string end;
    for (int shift = 24; shift >= 0; shift -= 8) end += static_cast<char>(sum >> shift & 255);
    stream.emplace_back(std::move(end));
    return stream;
}

void Stream::add_data(const std::vector<Piece>& data, std::uint64_t begin, std::uint64_t end, bool last) {
    const std::uint64_t length = end - begin + (last ? extra.size() : 0);
    std::string header;
    for (int shift = 24; shift >= 0; shift -= 8) header += static_cast<char>(length >> shift & 255);
    pieces.emplace_back(header += "IDAT");
    std::uint64_t at = 0;
    for (const Piece& part : data) {
        const std::uint64_t first = std::clamp(begin, at, at + part.size), next = std::clamp(end, at, at + part.size);
        if (first < next) pieces.push_back(part.part(first - at, next - first));
        at += part.size;
    }
    if (last) pieces.emplace_back(std::string(extra));
    if (last || begin != end) pieces.emplace_back(std::string(4, '\0'));  // the checksum, at which nobody looks
}

/// Decoder of libpng, and the results of its callbacks: plain data, so that longjmp is safe.
struct Decoder {
    png_structp png;
    png_infop info;
    const Bytes* file;
    const unsigned char* rows;    ///< inflated
    const Stream::Piece* pieces;  ///< what is still to be read
    const Stream::Piece* end;
    std::uint64_t offset;  ///< in the first of them
    std::jmp_buf failed;
    bool ended;       ///< the zlib stream, with the right checksum
    bool truncated;   ///< the first failure is that the data end
    char words[200];  ///< libpng's, of the first failure; empty: none
    std::uint32_t row;
    int passes;
};

Decoder& decoder_of(png_structp png) {
    return *static_cast<Decoder*>(png_get_error_ptr(png));
}

void take_note(Decoder& decoder, const char* words) {
    if (decoder.words[0] == 0) std::strncpy(decoder.words, words, sizeof decoder.words - 1);
}

void on_error(png_structp png, png_const_charp words) {
    take_note(decoder_of(png), words);
    std::longjmp(decoder_of(png).failed, 1);
}

/// Warnings are about data that make the pixels, because libpng gets no other data; these are the exceptions.
void on_warning(png_structp png, png_const_charp words) {
    if (std::strstr(words, "Extra compressed data"))
        decoder_of(png).ended = true;
    else if (!std::strstr(words, "Too much image data"))
        take_note(decoder_of(png), words);
}

void read(png_structp png, png_bytep to, std::size_t count) {
    Decoder& decoder = *static_cast<Decoder*>(png_get_io_ptr(png));
    while (count > 0) {
        if (decoder.pieces == decoder.end) {
            decoder.truncated = decoder.words[0] == 0;
            png_error(png, "the data end");
        }
        const Stream::Piece& piece = *decoder.pieces;
        const std::size_t got = std::min<std::uint64_t>(count, piece.size - decoder.offset);
        switch (piece.of) {
            case Stream::Piece::Of::file:
                decoder.file->copy(piece.begin + decoder.offset, got, to);
                break;
            case Stream::Piece::Of::rows:
                std::memcpy(to, decoder.rows + piece.begin + decoder.offset, got);
                break;
            case Stream::Piece::Of::text:
                std::memcpy(to, piece.text.data() + decoder.offset, got);
        }
        to += got;
        count -= got;
        decoder.offset += got;
        if (decoder.offset == piece.size) {
            ++decoder.pieces;
            decoder.offset = 0;
        }
    }
}

/// Reads everything before the data. Returns false on failure.
bool start(Decoder& decoder, const Header& header, bool raw) {
    if (setjmp(decoder.failed)) return false;
    decoder.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &decoder, on_error, on_warning);
    if (!decoder.png) return false;
    decoder.info = png_create_info_struct(decoder.png);
    if (!decoder.info) return false;
    png_set_read_fn(decoder.png, &decoder, read);
    png_set_user_limits(decoder.png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_chunk_malloc_max(decoder.png, 0);
    png_set_crc_action(decoder.png, PNG_CRC_QUIET_USE, PNG_CRC_QUIET_USE);  // inspect() looked at them
    png_set_benign_errors(decoder.png, 1);
    png_set_compression_buffer_size(decoder.png, piece_bytes);
#ifdef PNG_IGNORE_ADLER32  // newer versions may be built without it
    if (decoder.rows) png_set_option(decoder.png, PNG_IGNORE_ADLER32, PNG_OPTION_ON);  // libdeflate looked at it
#endif
    png_set_option(decoder.png, PNG_MAXIMUM_INFLATE_WINDOW, PNG_OPTION_ON);  // some encoders name one too small
    png_read_info(decoder.png, decoder.info);
    if (header.palette() || (raw && header.gray() && !header.has_alpha())) {
        png_set_packing(decoder.png);
        if (header.bits == 16) png_set_swap(decoder.png);
    } else {
        png_set_expand(decoder.png);
        const bool alpha = header.has_alpha() || png_get_valid(decoder.png, decoder.info, PNG_INFO_tRNS);
        if (header.gray() && alpha) png_set_gray_to_rgb(decoder.png);
        if (header.bits == 16) png_set_swap(decoder.png);
        png_set_bgr(decoder.png);
    }
    decoder.passes = png_set_interlace_handling(decoder.png);
    png_read_update_info(decoder.png, decoder.info);
    return true;
}

/// Reads the next rows, `first` and those after it, and behind the last one the data to their end; of an interlaced
/// image all. False where that fails.
bool read_rows(Decoder& decoder, unsigned char* pixels, std::size_t step, std::uint32_t first, std::uint32_t rows) {
    if (setjmp(decoder.failed)) return false;
    for (int pass = 0; pass < decoder.passes; ++pass)
        for (decoder.row = first; decoder.row < first + rows; ++decoder.row)
            png_read_row(decoder.png, pixels + step * (decoder.row - first), nullptr);
    return true;
}

/// Turns the indices in the rows from `first` on into colors, with alpha if there is any.
void color(const EncodedImage& file, const Decoder& decoder, const cv::Mat& indices, std::uint64_t first,
           cv::Mat& pixels, Image& image) {
    png_colorp colors = nullptr;
    png_bytep alphas = nullptr;
    int count = 0, with_alpha = 0;
    png_get_PLTE(decoder.png, decoder.info, &colors, &count);
    if (!png_get_tRNS(decoder.png, decoder.info, &alphas, &with_alpha, nullptr)) with_alpha = 0;
    std::array<std::array<unsigned char, 4>, 256> table{};
    for (int i = 0; i < count; ++i)
        table[i] = {colors[i].blue, colors[i].green, colors[i].red,
                    static_cast<unsigned char>(i < with_alpha ? alphas[i] : 255)};
    const std::size_t channels = with_alpha ? 4 : 3;
    if (pixels.empty())
        pixels = file.allocate(static_cast<std::uint64_t>(indices.rows), file.probe.width,
                               CV_8UC(static_cast<int>(channels)));
    for (int y = 0; y < indices.rows; ++y) {
        const unsigned char* from = indices.ptr(y);
        unsigned char* to = pixels.ptr(y);
        int highest = 0;
        for (int x = 0; x < indices.cols; ++x, to += channels) {
            highest = std::max<int>(highest, from[x]);
            std::memcpy(to, table[from[x]].data(), channels);
        }
        if (highest >= count)
            file.report(image, "the PNG at row " + std::to_string(first + static_cast<std::uint64_t>(y)) + ": color " +
                                   std::to_string(highest) + " of a palette of " + std::to_string(count));
    }
}

/// Verdict on a palette: whether its first color is white.
bool first_is_white(const Decoder& decoder) {
    png_colorp colors = nullptr;
    int count = 0;
    png_get_PLTE(decoder.png, decoder.info, &colors, &count);
    return count > 0 && colors[0].red == 255 && colors[0].green == 255 && colors[0].blue == 255;
}

Image decode(const EncodedImage& file) {
    const Header header = read_header(file.bytes);
    const Stream stream(file);
    Decoder decoder{};
    decoder.file = &file.bytes;
    decoder.rows = stream.rows.data;
    decoder.pieces = stream.pieces.data();
    decoder.end = decoder.pieces + stream.pieces.size();
    struct Guard {
        Decoder& decoder;
        ~Guard() { png_destroy_read_struct(&decoder.png, &decoder.info, nullptr); }
    } const guard{decoder};
    const auto kind = [&] {
        return decoder.truncated && !file.probe.truncated.empty() ? IoError::Kind::truncated : IoError::Kind::damaged;
    };
    const bool raw = file.options.raw && (header.palette() || (header.gray() && !header.has_alpha()));
    if (!start(decoder, header, raw)) {
        if (!decoder.png || !decoder.info) file.refuse("no memory for libpng", IoError::Kind::memory);
        file.refuse(std::string(kind() == IoError::Kind::truncated ? "truncated" : "damaged") +
                        ": the PNG's header: libpng: " + decoder.words,
                    kind());
    }

    Image image;
    const bool transparent = !raw && png_get_valid(decoder.png, decoder.info, PNG_INFO_tRNS) != 0;
    const bool colored = header.palette() && !raw;
    const int channels = raw ? 1 : header.has_alpha() || transparent ? 4 : header.gray() ? 1 : 3;
    image.depth = header.bits == 16 ? Depth::u16 : Depth::u8;
    image.white = header.bits == 16 ? 65535 : 255;
    PageList frames;
    find_apng_frames(file.bytes, frames);
    image.pages = std::max<std::uint64_t>(1, frames.count());
    if (raw && header.palette()) image.zero_is_white = first_is_white(decoder);
    if (channels == 4) image.alpha = Alpha::straight;
    if (channels == 4 && header.gray()) image.samples = Samples::gray_alpha;
    const int type = colored ? CV_8UC1 : CV_MAKETYPE(header.bits == 16 ? CV_16U : CV_8U, channels);
    const std::uint64_t at_once = file.rows_at_once();
    cv::Mat stored = file.allocate(at_once, header.width, type), colors;
    if (png_get_rowbytes(decoder.png, decoder.info) != header.width * stored.elemSize())
        file.refuse("damaged: the PNG's header contradicts itself", IoError::Kind::damaged);
    bool complete = true;
    for (std::uint64_t row = 0; row < header.height; row += at_once) {
        const auto first = static_cast<std::uint32_t>(row);
        const auto rows = static_cast<std::uint32_t>(std::min(at_once, header.height - row));
        // Samples that a damaged file lacks are 0. The last row may be there even if the end is missing.
        if (colored && row > 0 && file.options.on_damaged == OnDamaged::accept) stored.setTo(0);
        if (complete) complete = read_rows(decoder, stored.data, stored.step, first, rows);
        if (complete && row + rows == header.height && !decoder.ended)
            take_note(decoder, "the compressed data do not end");
        if (decoder.words[0] != 0)
            file.report(image,
                        "the PNG at row " + std::to_string(decoder.row) + " of " + std::to_string(header.height) +
                            ": libpng: " + decoder.words,
                        kind());
        const cv::Mat indices = stored.rowRange(0, static_cast<int>(rows));
        if (colored) color(file, decoder, indices, row, colors, image);
        file.give_rows(image, colored ? colors : stored, row, rows);
    }
    return image;
}

}  // namespace

const ImageFormat png_format{"a PNG",
                             {".png"},
                             8,
                             matches,
                             inspect,
                             decode,
                             {"PNG, APNG",
                              {"libpng", "libdeflate", "zlib"},
                              "u8, u16; 1, 2, 4 bits as 0 to 255",
                              "frames, composed; without --pages the default image",
                              "every type and depth, interlaced; palettes as colors; tRNS as alpha; gamma, profiles, "
                              "sBIT and background are ignored",
                              "unknown critical chunks"},
                             find_apng_frames,
                             open_apng_frames,
                             true};

}  // namespace gpuhist::io
