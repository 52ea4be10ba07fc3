// OpenEXR. The header is read here and compared with the length of the file; the library decodes the pixels.
#include <ImfFrameBuffer.h>
#include <ImfHeader.h>
#include <ImfIO.h>
#include <ImfInputPart.h>
#include <ImfMultiPartInputFile.h>
#include <ImfRgbaFile.h>
#include <ImfThreading.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <vector>

#include "decode/formats.hpp"

namespace gpuhist::io {
namespace {

using Kind = IoError::Kind;

struct ChannelInfo {
    std::string_view name;
    std::uint64_t type = 0;              ///< as below
    std::uint64_t across = 1, down = 1;  ///< distances of samples, in pixels

    bool subsampled() const { return across != 1 || down != 1; }
    std::uint64_t sample_bytes() const { return type == 1 ? 2 : 4; }
};

/// Types of a channel's samples.
enum : std::uint64_t { whole_numbers, halves, floats };

/// Facts in the header of a part.
struct Header {
    std::uint64_t chunks = 0;  ///< that the file says there are; 0: nothing is said
    std::uint64_t width = 0, height = 0, compression = 0;
    std::uint64_t tile_width = 0, tile_height = 0;  ///< 0: rows
    std::string_view type;
    std::vector<ChannelInfo> channels;
    std::uint64_t end = 0;  ///< where the next header begins, or the table of chunks

    bool tiled() const { return tile_width != 0 && tile_height != 0; }
};

bool matches(const Bytes& file) {
    return file.starts_with("\x76\x2F\x31\x01");
}

/// Text up to a zero; nothing where the file ends before it.
std::optional<std::string_view> text_at(const Bytes& file, std::uint64_t at) {
    if (at >= file.size()) return std::nullopt;
    const void* end = std::memchr(file.at(at), 0, file.size() - at);
    if (!end) return std::nullopt;
    return file.text(at, static_cast<std::uint64_t>(static_cast<const unsigned char*>(end) - file.at(at)));
}

std::vector<ChannelInfo> read_channels(const Bytes& file, std::uint64_t at, std::uint64_t end) {
    std::vector<ChannelInfo> channels;
    while (at < end) {
        const auto name = text_at(file, at);
        if (!name || name->empty() || at + name->size() + 17 > end) break;
        at += name->size() + 1;
        const auto number = [&](unsigned offset) { return file.number(at + offset, 4, Endian::little).value_or(0); };
        channels.push_back({*name, number(0), number(8), number(12)});
        at += 16;
    }
    return channels;
}

/// Attributes: name, type, length, value; an empty name ends the header. Nothing where the file ends before.
std::optional<Header> read_header(const Bytes& file, std::uint64_t position = 8) {
    Header header;
    for (;;) {
        const auto name = text_at(file, position);
        if (!name) return std::nullopt;
        header.end = position + 1;
        if (name->empty()) return header;
        const auto type = text_at(file, position + name->size() + 1);
        if (!type) return std::nullopt;
        position += name->size() + type->size() + 2;
        const auto length = file.number(position, 4, Endian::little);
        position += 4;
        if (!length || !file.has(position, *length)) return std::nullopt;
        const auto number = [&](unsigned index) {
            return file.number(position + 4 * index, 4, Endian::little).value_or(0);
        };
        const auto extent = [&](unsigned index) {
            const auto coordinate = [&](unsigned i) { return std::int64_t{static_cast<std::int32_t>(number(i))}; };
            return static_cast<std::uint64_t>(std::max<std::int64_t>(coordinate(index + 2) - coordinate(index) + 1, 0));
        };
        if (*name == "dataWindow" && *length == 16) {
            header.width = extent(0);
            header.height = extent(1);
        } else if (*name == "compression" && *length == 1) {
            header.compression = *file.at(position);
        } else if (*name == "tiles" && *length == 9) {
            header.tile_width = number(0);
            header.tile_height = number(1);
        } else if (*name == "chunkCount" && *length == 4) {
            header.chunks = number(0);
        } else if (*name == "type") {
            header.type = file.text(position, *length);
        } else if (*name == "channels") {
            header.channels = read_channels(file, position, position + *length);
        }
        position += *length;
    }
}

std::string list(const std::vector<ChannelInfo>& channels) {
    std::string names;
    for (std::size_t i = 0; i < channels.size(); ++i) {
        if (i == 8) return names + " …";
        (names += i == 0 ? "" : " ") += channels[i].name;
    }
    return names;
}

/// Whether the channels are luminance and subsampled chroma, with or without alpha.
bool are_luminance_chroma(const std::vector<ChannelInfo>& channels) {
    const std::string names = list(channels);
    return (names == "BY RY Y" || names == "A BY RY Y") &&
           std::all_of(channels.begin(), channels.end(), [](const ChannelInfo& one) {
               const std::uint64_t distance = one.name.size() == 2 ? 2 : 1;
               return one.type == halves && one.across == distance && one.down == distance;
           });
}

/// Meaning of the channels, in the order of their names; nothing if there are too many. Channels other than colors, and
/// gray with alpha, are bands with names, and so is alpha beside them.
std::optional<Samples> samples_of(const std::vector<ChannelInfo>& channels) {
    if (are_luminance_chroma(channels)) return Samples::color;
    const std::string names = list(channels);
    if (names == "B G R" || names == "A B G R" || names == "Y") return Samples::color;
    if (names == "A Y") return Samples::gray_alpha;
    const auto has = [&](std::string_view name) {
        return std::any_of(channels.begin(), channels.end(), [&](const auto& one) { return one.name == name; });
    };
    if (channels.size() > most_channels) return std::nullopt;
    return has("R") && has("G") && has("B") ? Samples::color_bands : Samples::bands;
}

/// Channels in the order of the samples of a pixel: first the colors, if any, in OpenCV's order.
std::vector<ChannelInfo> in_pixel_order(std::vector<ChannelInfo> channels) {
    constexpr std::string_view colors = "BGRA";
    if (samples_of(channels) == Samples::bands) return channels;
    const auto place = [&](const ChannelInfo& channel) {
        return channel.name.size() == 1 ? colors.find(channel.name) : colors.npos;
    };
    std::stable_sort(channels.begin(), channels.end(),
                     [&](const auto& a, const auto& b) { return place(a) < place(b); });
    return channels;
}

/// Names of bands in the order of a pixel's samples: alpha is called so, as in other formats.
std::vector<std::string> names_of_bands(const std::vector<ChannelInfo>& ordered, Samples samples) {
    std::vector<std::string> names;
    for (const ChannelInfo& channel : ordered) {
        const bool color = samples == Samples::color_bands && names.size() < 3;
        names.emplace_back(color ? "" : channel.name == "A" ? "alpha" : channel.name);
    }
    return names;
}

/// Depth that holds all channels' samples exactly: their own where it is one.
Depth depth_of_channels(const std::vector<ChannelInfo>& channels) {
    if (channels.front().type == whole_numbers) return Depth::u32;
    const bool all = std::all_of(channels.begin(), channels.end(), [](const auto& one) { return one.type == halves; });
    return all ? Depth::f16 : Depth::f32;
}

bool is_multipart(const Bytes& file) {
    return (file.number(4, 4, Endian::little).value_or(0) & 0x1000) != 0;
}

std::string unsupported(const Bytes& file, const Header& header) {
    const bool deep = (file.number(4, 4, Endian::little).value_or(0) & 0x800) != 0 && !is_multipart(file);
    if (deep || header.type.starts_with("deep")) return "a deep OpenEXR file is not supported: gpuhist reads flat ones";
    const auto any = [&](auto condition) {
        return std::any_of(header.channels.begin(), header.channels.end(), condition);
    };
    if (are_luminance_chroma(header.channels)) {
        if (header.width % 2 == 0 && header.height % 2 == 0 && !header.tiled()) return {};
        return "an OpenEXR file of luminance and chroma (" + list(header.channels) +
               ") of odd sides, or in tiles, is not supported";
    }
    if (any([](const ChannelInfo& channel) { return channel.subsampled(); }))
        return "an OpenEXR file of subsampled channels (" + list(header.channels) + ") is not supported";
    const auto is_whole = [](const ChannelInfo& channel) { return channel.type == whole_numbers; };
    if (any(is_whole) && !std::all_of(header.channels.begin(), header.channels.end(), is_whole))
        return "an OpenEXR file of channels of whole numbers and of floats (" + list(header.channels) +
               ") is not supported: gpuhist reads those of one kind";
    if (!samples_of(header.channels))
        return "an OpenEXR file of the channels " + list(header.channels) + " is not supported: gpuhist reads up to " +
               std::to_string(most_channels);
    return {};
}

struct Codec {
    std::uint64_t rows, gain;  ///< rows of a chunk, and what becomes of a byte at most
};

// None, RLE, ZIPS, ZIP, PIZ, PXR24, B44, B44A, DWAA, DWAB.
constexpr std::array<Codec, 10> codecs{Codec{1, 1}, {1, 64},  {1, 1032}, {16, 1032},  {32, 1032},
                                       {16, 2064},  {32, 16}, {32, 16},  {32, 65536}, {256, 65536}};

struct Chunk {
    std::uint64_t first_row = 0, rows = 0;
    std::uint64_t begin = 0, length = 0;  ///< of its data; 0: not in the file
    std::uint64_t size = 0;               ///< of its samples, uncompressed
};

/// Chunks of a part, and of tiles the first level: first in its table. The tables of all parts lie behind the headers.
class Chunks {
  public:
    Chunks(const Bytes& file, const Header& header, std::uint64_t part)
        : file_(file), header_(header), table_(header.end) {
        const bool multipart = is_multipart(file);
        std::uint64_t before = 0;  // chunks
        if (multipart) table_ = 8;
        for (std::uint64_t i = 0; multipart; ++i) {
            const auto next = read_header(file, table_);
            const bool last = !next || next->end == table_ + 1;
            table_ = next ? next->end : file.size();
            if (last) break;
            if (i < part) before += next->chunks;
        }
        table_ = before > file.size() ? file.size() : table_ + 8 * before;
        // The number of its part, its place, its length, its data.
        head_ = (multipart ? 4 : 0) + (header.tiled() ? 16 : 4);
        columns_ = header.tiled() ? header.tile_width : header.width;
        rows_ = header.tiled() ? header.tile_height : codecs[header.compression].rows;
        const auto along = [](std::uint64_t length, std::uint64_t step) { return (length + step - 1) / step; };
        across_ = along(header.width, columns_);
        count_ = saturating_product(across_, along(header.height, rows_));
    }

    std::uint64_t count() const { return count_; }
    std::uint64_t bytes() const { return bytes_of({0, header_.width}, {0, header_.height}); }
    Chunk at(std::uint64_t index) const {
        Chunk chunk;
        chunk.first_row = index / across_ * rows_;
        chunk.rows = std::min(rows_, header_.height - chunk.first_row);
        const std::uint64_t left = index % across_ * columns_;
        chunk.size =
            bytes_of({left, std::min(left + columns_, header_.width)}, {chunk.first_row, chunk.first_row + chunk.rows});
        const auto offset = file_.number(table_ + 8 * index, 8, Endian::little);
        if (!offset || *offset == 0 || *offset >= file_.size()) return chunk;
        const auto length = file_.number(*offset + head_, 4, Endian::little);
        if (!length || !file_.has(*offset + head_ + 4, *length)) return chunk;
        chunk.begin = *offset + head_ + 4;
        chunk.length = *length;
        return chunk;
    }
    bool all_there() const {
        for (std::uint64_t i = 0; i < count_; ++i)
            if (at(i).begin == 0) return false;
        return true;
    }

  private:
    struct Range {
        std::uint64_t begin, end;
        std::uint64_t samples(std::uint64_t distance) const {
            return (end + distance - 1) / distance - (begin + distance - 1) / distance;
        }
    };
    /// Bytes of all channels' samples. The data window begins where a subsampled channel has a sample.
    std::uint64_t bytes_of(const Range& columns, const Range& rows) const {
        std::uint64_t sum = 0;
        for (const ChannelInfo& channel : header_.channels) {
            const std::uint64_t samples =
                saturating_product(columns.samples(channel.across), rows.samples(channel.down));
            sum = std::max(sum, sum + saturating_product(samples, channel.sample_bytes()));
        }
        return sum;
    }

    Bytes file_;
    const Header& header_;
    std::uint64_t table_, head_ = 0, columns_ = 1, rows_ = 1, across_ = 1, count_ = 0;
};

/// Header of a page, which is a part of the file: 0 stands for the first one.
std::optional<Header> header_of(const Bytes& file, const PagePlace& page) {
    return read_header(file, page.directory == 0 ? 8 : page.directory);
}
std::uint64_t part_of(const PagePlace& page) {
    return page.directory == 0 ? 0 : page.number;
}

void inspect_size(const Bytes& file, const Header& header, std::uint64_t part, Probe& probe) {
    if (header.compression >= codecs.size()) {
        probe.unsupported =
            "an OpenEXR file of compression " + std::to_string(header.compression) + " is not supported";
    } else if (std::max(header.tile_width, header.tile_height) > 65536 ||
               header.tile_width * header.tile_height > 1 << 26) {
        probe.unsupported = "an OpenEXR file of tiles of more than 2^26 pixels is not supported";
    } else if (header.width != 0 && header.height != 0) {
        const Chunks chunks(file, header, part);
        const std::uint64_t gain = codecs[header.compression].gain;
        if (gain > 1 && chunks.bytes() / gain > file.size())
            probe.too_large = cannot_hold("the OpenEXR file", header.width, header.height);
        else if (chunks.bytes() / gain > file.size() || !chunks.all_there())
            probe.truncated = "the OpenEXR file ends before all of its data, or was never finished";
    }
}

void inspect(const Bytes& whole, Probe& probe) {
    const Bytes file = whole.part(0, whole.size());
    probe.held_bytes = file.size();
    const auto header = header_of(file, probe.page);
    if (!header) {
        probe.truncated = "the OpenEXR file ends inside its header";
        return;
    }
    probe.set_size(header->width, header->height);
    const auto not_before = [](const ChannelInfo& a, const ChannelInfo& b) { return a.name >= b.name; };
    const auto& channels = header->channels;
    if (channels.empty() || std::adjacent_find(channels.begin(), channels.end(), not_before) != channels.end()) {
        probe.damaged = "the OpenEXR file's list of channels is empty, or not in order, each once";
        probe.set_size(0, 0);
        return;
    }
    probe.unsupported = unsupported(file, *header);
    if (is_multipart(file) && are_luminance_chroma(channels)) probe.held_bytes *= 2;  // as `as_single_part`
    if (!probe.unsupported.empty()) return;
    probe.pixel_bytes = std::max<std::uint64_t>(4, header->channels.size()) *
                        static_cast<std::uint64_t>(sample_bytes(depth_of_channels(header->channels)));
    inspect_size(file, *header, part_of(probe.page), probe);
}

/// Bytes that run lengths stand for: a count below 0 of literals, or one more than a count of one byte.
std::uint64_t run_length_size(const Bytes& data) {
    std::uint64_t size = 0;
    for (std::uint64_t at = 0; at < data.size();) {
        const int count = static_cast<signed char>(*data.at(at));
        size += static_cast<std::uint64_t>(count < 0 ? -count : count + 1);
        at += count < 0 ? 1 + static_cast<std::uint64_t>(-count) : 2;
    }
    return size;
}

/// Bytes that become of a zlib stream; more than `most` where they are more. `words`: zlib's, where it complains.
std::uint64_t zlib_size(const Bytes& data, std::uint64_t most, std::string& words) {
    std::array<unsigned char, 16384> out;
    z_stream stream{};
    stream.next_in = const_cast<unsigned char*>(data.at(0));
    stream.avail_in = static_cast<uInt>(data.size());
    if (inflateInit(&stream) != Z_OK) return 0;
    int status = Z_OK;
    while (status == Z_OK && stream.total_out <= most) {
        stream.next_out = out.data();
        stream.avail_out = out.size();
        status = inflate(&stream, Z_NO_FLUSH);
    }
    const std::uint64_t size = stream.total_out;
    if (stream.msg) words = " (zlib: \"" + std::string(stream.msg) + "\")";
    inflateEnd(&stream);
    return size;
}

/// Tells whether a chunk's data stand for all of its samples. The library does not notice where they do not, and hands
/// over memory that nothing wrote; the codecs with a format of their own do notice. What does not become smaller is
/// stored as it is.
bool fills(const Bytes& file, const Header& header, const Chunk& chunk, std::string& words) {
    if (chunk.length == 0 || header.compression == 0) return chunk.length == chunk.size;
    if (header.compression > 3 || chunk.length >= chunk.size) return true;
    const Bytes data(file.at(chunk.begin), chunk.length);
    return (header.compression == 1 ? run_length_size(data) : zlib_size(data, chunk.size, words)) == chunk.size;
}

/// File in memory.
class Stream : public Imf::IStream {
  public:
    explicit Stream(const Bytes& bytes) : IStream("the file"), bytes_(bytes) {}

    bool read(char* buffer, int count) override {
        if (count < 0 || !bytes_.has(position_, static_cast<std::uint64_t>(count)))
            throw std::runtime_error("Unexpected end of file.");
        std::memcpy(buffer, bytes_.at(position_), static_cast<std::size_t>(count));
        position_ += static_cast<std::uint64_t>(count);
        return position_ < bytes_.size();
    }
    std::uint64_t tellg() override { return position_; }
    void seekg(std::uint64_t position) override { position_ = position; }

  private:
    Bytes bytes_;
    std::uint64_t position_ = 0;
};

/// Parts.
void find_pages(const Bytes& whole, PageList& list) {
    constexpr std::uint64_t longest = 1 << 20;
    const Bytes file = whole.part(0, std::min<std::uint64_t>(longest, whole.size()));
    const bool multipart = is_multipart(file);
    std::uint64_t position = 8;
    do {
        const auto header = read_header(file, position);
        if (!header && list.count() > 0) {
            list.rest = file.size() == whole.size() ? "the OpenEXR file ends inside its headers"
                                                    : "the OpenEXR file's headers have more than 2^20 bytes";
            list.rest_kind = Kind::truncated;
        }
        if (!header || header->end == position + 1) return;
        PageFacts page;
        if (multipart) page.place = position;
        position = header->end;
        page.width = header->width;
        page.height = header->height;
        page.samples = header->channels.size();
        page.problem = unsupported(file, *header);
        if (!list.add(std::move(page))) return;
    } while (multipart);
}

/// Slices of the matrix; halves beside floats become floats, exactly.
Imf::FrameBuffer frame_buffer(const std::vector<ChannelInfo>& channels, Samples samples, const Imath::Box2i& window,
                              Depth depth, cv::Mat& pixels) {
    Imf::FrameBuffer buffer;
    const Imf::PixelType type = depth == Depth::u32 ? Imf::UINT : depth == Depth::f16 ? Imf::HALF : Imf::FLOAT;
    for (const ChannelInfo& channel : channels) {
        const std::string name(channel.name);
        const auto at = static_cast<std::size_t>(&channel - channels.data());
        const std::size_t place = samples != Samples::gray_alpha ? at : name == "A" ? 3 : 0;
        // The library counts from the window's origin, which is not the matrix's.
        const auto base = reinterpret_cast<std::intptr_t>(pixels.data) +
                          static_cast<std::intptr_t>(place * sample_bytes(depth)) -
                          window.min.x * static_cast<std::intptr_t>(pixels.elemSize()) -
                          window.min.y * static_cast<std::intptr_t>(pixels.step[0]);
        buffer.insert(name, Imf::Slice(type, reinterpret_cast<char*>(base), pixels.elemSize(), pixels.step[0]));
    }
    return buffer;
}

/// File with a part of a multipart file alone, whose chunks are all there. `begin`: of its header.
std::vector<unsigned char> as_single_part(const Bytes& file, std::uint64_t begin, const Header& header,
                                          const Chunks& chunks) {
    constexpr std::uint64_t of_multipart = 0x1800, head = 8;  // flags; a chunk's row and length
    std::vector<unsigned char> single;
    const auto put = [&](std::uint64_t value, unsigned bytes) {
        for (unsigned i = 0; i < bytes; ++i) single.push_back(static_cast<unsigned char>(value >> 8 * i));
    };
    const auto copy = [&](std::uint64_t from, std::uint64_t bytes) {
        single.insert(single.end(), file.at(from), file.at(from) + bytes);
    };
    copy(0, 4);
    put(file.number(4, 4, Endian::little).value_or(0) & ~of_multipart, 4);
    copy(begin, header.end - begin);
    std::uint64_t place = single.size() + 8 * chunks.count();
    for (std::uint64_t i = 0; i < chunks.count(); ++i) {
        put(place, 8);
        place += head + chunks.at(i).length;
    }
    for (std::uint64_t i = 0; i < chunks.count(); ++i) {
        const Chunk chunk = chunks.at(i);
        copy(chunk.begin - head, head + chunk.length);
    }
    return single;
}

/// Reads luminance and chroma as colors. Throws exceptions of OpenEXR.
void read_luminance_chroma(const Bytes& bytes, cv::Mat& pixels) {
    Stream stream(bytes);
    Imf::RgbaInputFile file(stream, 0);
    const Imath::Box2i window = file.dataWindow();
    std::vector<Imf::Rgba> row(static_cast<std::size_t>(pixels.cols));
    const auto base =
        reinterpret_cast<std::intptr_t>(row.data()) - window.min.x * static_cast<std::intptr_t>(sizeof(Imf::Rgba));
    file.setFrameBuffer(reinterpret_cast<Imf::Rgba*>(base), 1, 0);
    const int channels = pixels.channels();
    for (int y = 0; y < pixels.rows; ++y) {
        file.readPixels(window.min.y + y);
        auto* out = pixels.ptr<std::uint16_t>(y);
        for (const Imf::Rgba& pixel : row) {
            const std::array samples{pixel.b.bits(), pixel.g.bits(), pixel.r.bits(), pixel.a.bits()};
            out = std::copy_n(samples.begin(), channels, out);
        }
    }
}

/// Reads all rows of a part by several threads. Returns false if any cannot be decoded.
template <class SetBuffer>
bool read_rows_at_once(const Bytes& bytes, int part_number, int threads, std::uint64_t height,
                       const SetBuffer& set_buffer) {
    static std::mutex mutex;  // the library has one set of threads for all files
    {
        const std::lock_guard lock(mutex);
        if (Imf::globalThreadCount() < threads) Imf::setGlobalThreadCount(threads);
    }
    try {
        Stream stream(bytes);
        Imf::MultiPartInputFile parts(stream, threads, false);
        Imf::InputPart part(parts, part_number);
        set_buffer(part);
        const int first = part.header().dataWindow().min.y;
        part.readPixels(first, first + static_cast<int>(height) - 1);
        return true;
    } catch (const std::bad_alloc&) {
        throw;
    } catch (const std::exception&) {
        return false;
    }
}

/// Decodes a part, and the first of several levels of tiles. Rows that cannot be decoded stay zeros.
Image decode(const EncodedImage& file) {
    const Bytes bytes = file.bytes.part(0, file.bytes.size());
    const std::uint64_t part_number = part_of(file.probe.page);
    const Header header = *header_of(bytes, file.probe.page);
    const bool chroma = are_luminance_chroma(header.channels);
    Image image;
    image.depth = depth_of_channels(header.channels);
    image.white = traits_of(image.depth).highest;
    image.samples = samples_of(header.channels).value_or(Samples::color);
    const bool bands = image.samples == Samples::bands || image.samples == Samples::color_bands;
    const int channels = image.samples == Samples::gray_alpha ? 4 : static_cast<int>(header.channels.size());
    for (const ChannelInfo& channel : header.channels)
        if (channel.name == "A") image.alpha = Alpha::premultiplied;
    const std::vector<ChannelInfo> ordered = in_pixel_order(header.channels);
    if (bands) image.bands = names_of_bands(ordered, image.samples);
    image.pixels = file.allocate(header.height, header.width, CV_MAKETYPE(opencv_depth(image.depth), channels));
    const auto clear = [&] {
        for (int y = 0; y < image.pixels.rows; ++y)
            std::memset(image.pixels.ptr(y), 0, static_cast<std::size_t>(image.pixels.cols) * image.pixels.elemSize());
    };
    clear();
    const auto words = [](const std::exception& error) { return " (OpenEXR: \"" + std::string(error.what()) + "\")"; };
    std::string damage;
    const auto note = [&](std::uint64_t row, const std::string& what) {
        if (damage.empty()) damage = "the OpenEXR file's data at row " + std::to_string(row) + what;
    };
    std::vector<bool> sound(header.height, true);
    const Chunks chunks(bytes, header, part_number);
    for (std::uint64_t i = 0; i < chunks.count(); ++i) {
        const Chunk chunk = chunks.at(i);
        std::string complaint;
        if (chunk.begin != 0 && fills(bytes, header, chunk, complaint)) continue;
        if (chunk.begin != 0) note(chunk.first_row, " do not fill their part of the picture" + complaint);
        std::fill_n(sound.begin() + static_cast<std::ptrdiff_t>(chunk.first_row), chunk.rows, false);
    }
    const bool all_there = std::all_of(sound.begin(), sound.end(), [](bool one) { return one; });
    if (chroma && !all_there)  // the rows around a damaged one need it, too
        file.refuse("damaged: " + (damage.empty() ? "the OpenEXR file lacks some of its data" : damage), Kind::damaged);
    if (!damage.empty()) file.report(image, damage);
    try {
        Stream stream(bytes);
        Imf::MultiPartInputFile parts(stream, 0, false);
        image.pages = static_cast<std::uint64_t>(parts.parts());
        Imf::InputPart part(parts, static_cast<int>(part_number));
        if (chroma) {
            if (!is_multipart(bytes)) {
                read_luminance_chroma(bytes, image.pixels);
                return image;
            }
            const std::uint64_t begin = file.probe.page.directory == 0 ? 8 : file.probe.page.directory;
            // The library makes colors of the first part alone.
            const std::vector<unsigned char> single = as_single_part(bytes, begin, header, chunks);
            read_luminance_chroma(Bytes(single.data(), single.size()), image.pixels);
            return image;
        }
        const Imath::Box2i window = part.header().dataWindow();
        const auto set_buffer = [&](Imf::InputPart& to) {
            to.setFrameBuffer(frame_buffer(ordered, image.samples, window, image.depth, image.pixels));
        };
        const int threads = file.threads();
        const bool at_once = threads > 1 && all_there && chunks.count() > 1;
        const bool done =
            at_once && read_rows_at_once(bytes, static_cast<int>(part_number), threads, header.height, set_buffer);
        if (at_once && !done) clear();
        set_buffer(part);
        for (std::uint64_t y = 0; y < header.height && !done; ++y) {
            if (!sound[y]) continue;
            try {
                part.readPixels(window.min.y + static_cast<int>(y));
            } catch (const std::exception& error) {
                note(y, words(error));
                if (file.options.on_damaged == OnDamaged::error) break;
            }
        }
    } catch (const std::bad_alloc&) {
        file.refuse("no memory for the OpenEXR file's decoder", Kind::memory);
    } catch (const std::exception& error) {
        file.refuse((chroma ? "damaged: the OpenEXR file's header or data" : "damaged: the OpenEXR file's header") +
                        words(error),
                    Kind::damaged);
    }
    if (!damage.empty()) file.report(image, damage);
    if (image.samples == Samples::gray_alpha) {
        const std::size_t size = sample_bytes(image.depth);
        for (int y = 0; y < image.pixels.rows; ++y) {
            unsigned char* pixel = image.pixels.ptr(y);
            for (int x = 0; x < image.pixels.cols; ++x, pixel += 4 * size) {
                std::memcpy(pixel + size, pixel, size);
                std::memcpy(pixel + 2 * size, pixel, size);
            }
        }
    }
    return image;
}

}  // namespace

const ImageFormat openexr_format{
    "an OpenEXR file",
    {".exr"},
    16,
    matches,
    inspect,
    decode,
    {"OpenEXR",
     {"OpenEXR"},
     "f16, f32, u32; halves beside floats converted to f32, exactly",
     "parts",
     "R G B, R G B A, Y, Y A; Y RY BY of halves, with and without A, as the colors of OpenEXR's RgbaInputFile; any "
     "others, also beside R G B, as bands under their own names, A beside bands as a band "
     "called alpha; rows, tiles (the first level), the data window; alpha premultiplied",
     "deep, otherwise subsampled, u32 beside floats; damaged Y RY BY even with --on-damaged accept"},
    find_pages};

}  // namespace gpuhist::io
