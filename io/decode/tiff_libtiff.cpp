// Strips and tiles that libtiff decodes. Its messages during decoding mean damage, except the few named here; its
// messages about fields do not.
#include <tiffio.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "decode/jpeg.hpp"
#include "decode/tiff_codecs.hpp"

namespace gpuhist::io {
namespace {

namespace compression = tiff_compression;

/// File as libtiff reads it, and the first thing that it complained of. Its header leads to the page that is decoded,
/// which libtiff takes for the first: it need not walk through those before.
struct Client {
    Client(const Bytes& bytes, const TiffDirectory& directory) : file(bytes) {
        const bool big = file.number(2, 2, directory.endian()) == 43U;
        const std::uint64_t at = big ? 8 : 4, count = big ? 8 : 4;
        const std::string_view first = file.text(0, std::min<std::uint64_t>(file.size(), header.size()));
        std::copy(first.begin(), first.end(), header.begin());
        for (std::uint64_t i = 0; i < count; ++i) {
            const std::uint64_t shift = 8 * (directory.endian() == Endian::little ? i : count - 1 - i);
            header[at + i] = static_cast<unsigned char>(directory.place() >> shift);
        }
    }

    Bytes file;
    std::array<unsigned char, 16> header{};
    std::uint64_t position = 0;
    bool heeds_warnings = false;
    char complaint[300] = {};
    Bytes piece{nullptr, 0};  ///< that is decoded
};

/// Tells whether libjpeg's words are on padding before the last end marker of a strip or tile.
bool on_padding(const Bytes& piece, std::string_view text) {
    const std::size_t words = text.find(" extraneous bytes before marker 0xd9");
    std::uint64_t end = words == text.npos ? 0 : piece.size(), count = 0;
    while (end > 1 && !piece.starts_with("\xFF\xD9", end - 2)) --end;
    std::size_t digits = end > 1 ? words : 0;
    while (digits > 0 && std::isdigit(static_cast<unsigned char>(text[digits - 1]))) --digits;
    if (end > 1) std::from_chars(text.data() + digits, text.data() + words, count);
    return end > 1 && are_padding(piece, end - 2, count);
}

/// Remarks on data that are sound all the same.
bool harmless(const Bytes& piece, std::string_view module, std::string_view text) {
    const auto has = [&](std::string_view part) { return text.find(part) != text.npos; };
    if (module == "JPEGLib") {
        return on_padding(piece, text) || (!has("Corrupt JPEG data") && !has("Premature end of JPEG"));
    }
    return has("Old-style LZW codes") || has("JPEG strip size exceeds expected dimensions");
}

void keep(void* user, bool warning, const char* module, const char* format, va_list arguments) {
    Client& client = *static_cast<Client*>(user);
    if (client.complaint[0] || (warning && !client.heeds_warnings)) return;
    char text[200];
    std::vsnprintf(text, sizeof text, format, arguments);
    if (!module) module = "";
    if (warning && harmless(client.piece, module, text)) return;
    std::snprintf(client.complaint, sizeof client.complaint, "%s: %s", module, text);
}

int on_error(TIFF*, void* user, const char* module, const char* format, va_list arguments) {
    keep(user, false, module, format, arguments);
    return 1;
}

int on_warning(TIFF*, void* user, const char* module, const char* format, va_list arguments) {
    keep(user, true, module, format, arguments);
    return 1;
}

Client& client_of(thandle_t handle) {
    return *static_cast<Client*>(handle);
}

tmsize_t read(thandle_t handle, void* to, tmsize_t size) {
    Client& client = client_of(handle);
    const std::uint64_t begin = std::min<std::uint64_t>(client.position, client.file.size());
    const std::uint64_t count = std::min<std::uint64_t>(client.file.size() - begin, static_cast<std::uint64_t>(size));
    client.file.copy(begin, count, static_cast<unsigned char*>(to));
    for (std::uint64_t at = begin; at < std::min<std::uint64_t>(begin + count, client.header.size()); ++at)
        static_cast<unsigned char*>(to)[at - begin] = client.header[at];
    client.position = begin + count;
    return static_cast<tmsize_t>(count);
}

toff_t seek(thandle_t handle, toff_t offset, int from) {
    Client& client = client_of(handle);
    const std::uint64_t base = from == SEEK_CUR ? client.position : from == SEEK_END ? client.file.size() : 0;
    return client.position = base + offset;
}

struct Close {
    void operator()(TIFF* tiff) const { TIFFClose(tiff); }
};

class LibtiffCodec : public TiffCodec {
  public:
    LibtiffCodec(const Bytes& file, const TiffLayout& layout) : layout_(layout), client_(file, layout.directory) {
        const std::unique_ptr<TIFFOpenOptions, decltype(&TIFFOpenOptionsFree)> options(TIFFOpenOptionsAlloc(),
                                                                                       TIFFOpenOptionsFree);
        if (!options) throw std::bad_alloc();
        TIFFOpenOptionsSetErrorHandlerExtR(options.get(), on_error, &client_);
        TIFFOpenOptionsSetWarningHandlerExtR(options.get(), on_warning, &client_);
        tiff_.reset(TIFFClientOpenExt(
            "", "rcm", &client_, read, [](thandle_t, void*, tmsize_t) -> tmsize_t { return 0; }, seek,
            [](thandle_t) { return 0; }, [](thandle_t handle) -> toff_t { return client_of(handle).file.size(); },
            nullptr, nullptr, options.get()));
        if (!tiff_) throw std::runtime_error(complaint());
        if (layout.rgb_of_jpeg()) TIFFSetField(tiff_.get(), TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
        if (layout.finish == TiffLayout::Finish::log_luv)
            TIFFSetField(tiff_.get(), TIFFTAG_SGILOGDATAFMT, SGILOGDATAFMT_FLOAT);
        check();
        client_.complaint[0] = 0;
        client_.heeds_warnings = true;
    }

    std::string decode(std::uint64_t index, const TiffPiece& piece, unsigned char* to) override {
        client_.complaint[0] = 0;
        std::memset(to, 0, piece.bytes);  // rows that the codec does not reach
        const Bytes from = bytes_of(client_.file, piece, read_);
        if (from.size() == 0)
            return "its data are not in the file";  // of no bytes libtiff takes as many as its field says
        auto* data = const_cast<unsigned char*>(from.at(0));
        if (layout_.reversed) {  // libtiff turns the bits where they lie
            turned_.assign(data, data + from.size());
            data = turned_.data();
        }
        client_.piece = Bytes(data, from.size());
        const bool done =
            TIFFReadFromUserBuffer(tiff_.get(), static_cast<std::uint32_t>(index), data,
                                   static_cast<tmsize_t>(from.size()), to, static_cast<tmsize_t>(piece.bytes));
        // Where libtiff gives up, it has not yet undone predictor and byte order.
        if (!done && (layout_.predictor != 1 || layout_.decoded_bits() > 8)) std::memset(to, 0, piece.bytes);
        if (client_.complaint[0]) return complaint();
        return done ? "" : "libtiff does not decode it";
    }

  private:
    std::string complaint() const { return std::string("libtiff: ") + client_.complaint; }

    /// Throws where libtiff reads the directory in another way than TiffLayout.
    void check() {
        const auto number = [&](std::uint32_t tag, auto otherwise) {
            TIFFGetFieldDefaulted(tiff_.get(), tag, &otherwise);
            return static_cast<std::uint64_t>(otherwise);
        };
        constexpr std::uint32_t none32 = 0;
        constexpr std::uint16_t none16 = 0;
        const TiffPiece first = layout_.piece(0);
        const auto pieces = layout_.tiled ? TIFFNumberOfTiles(tiff_.get()) : TIFFNumberOfStrips(tiff_.get());
        const auto bytes = layout_.tiled ? TIFFTileSize64(tiff_.get())
                                         : TIFFVStripSize64(tiff_.get(), static_cast<std::uint32_t>(first.rows));
        if (number(TIFFTAG_IMAGEWIDTH, none32) == layout_.width &&
            number(TIFFTAG_IMAGELENGTH, none32) == layout_.height &&
            number(TIFFTAG_COMPRESSION, none16) == layout_.compression &&
            number(TIFFTAG_SAMPLESPERPIXEL, none16) == layout_.samples &&
            number(TIFFTAG_BITSPERSAMPLE, none16) == layout_.decoded_bits() &&
            (TIFFIsTiled(tiff_.get()) != 0) == layout_.tiled && pieces == layout_.pieces() && bytes == first.bytes)
            return;
        throw std::runtime_error(client_.complaint[0] ? complaint() : "libtiff reads its directory in another way");
    }

    const TiffLayout& layout_;
    Client client_;
    std::vector<unsigned char> read_, turned_;
    std::unique_ptr<TIFF, Close> tiff_;
};

}  // namespace

std::unique_ptr<TiffCodec> libtiff_codec(const Bytes& file, const TiffLayout& layout) {
    return std::make_unique<LibtiffCodec>(file, layout);
}

}  // namespace gpuhist::io
