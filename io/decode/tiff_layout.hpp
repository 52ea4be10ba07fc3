// Facts in a directory of a TIFF: the samples, and the places of the strips or tiles.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "decode/bytes.hpp"
#include "decode/probe.hpp"
#include "decode/tiff_directory.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/image.hpp"
#include "gpuhist/io/image.hpp"
#include "gpuhist/io/metadata.hpp"

namespace gpuhist::io {

/// Numbers of TIFF's compressions.
namespace tiff_compression {
enum : std::uint64_t {
    none = 1,
    ccitt_rle = 2,
    ccitt_group3 = 3,
    ccitt_group4 = 4,
    lzw = 5,
    jpeg = 7,
    adobe_deflate = 8,
    packbits = 32773,
    deflate = 32946,
    sgi_log = 34676,
    sgi_log24 = 34677,
    lerc = 34887,
    lzma = 34925,
    zstd = 50000,
    webp = 50001
};
}  // namespace tiff_compression

/// Bytes of the longest text that names a channel.
inline constexpr std::size_t longest_channel_name = 64;

/// A strip or tile in the file.
struct TiffPiece {
    std::uint64_t x, y, plane;       ///< its first pixel, and of separate planes which
    std::uint64_t columns, rows;     ///< that lie in the image
    std::uint64_t offset, length;    ///< its bytes, which may pass the end of the file
    std::uint64_t row_bytes, bytes;  ///< decoded: a row, and all rows that it must hold
    std::uint64_t most_bytes;        ///< decoded: that it may hold
    bool sparse;                     ///< it is left out of the file
};

/// Image of a page, or of the mask of one. The four texts are empty where all is well.
struct TiffLayout {
    enum class Part : std::uint8_t {
        header,  ///< without strips and tiles, of which there may be many
        image,
        mask  ///< one sample per pixel, left as it is stored
    };
    TiffLayout(const Bytes& file, const PagePlace& page, Part part = Part::image);

    /// Work on the stored samples once they are in the matrix.
    enum class Finish : std::uint8_t { none, cmyk, ycbcr, log_luv };

    std::string unsupported, damaged, truncated, too_large;
    bool decodable = false;  ///< all is known that strips and tiles are decoded by, whatever of them is missing

    TiffDirectory directory;
    std::uint64_t width = 0, height = 0, bits = 1, samples = 1, compression = 1, photometric = 0, predictor = 1;
    std::uint64_t orientation = 1;
    bool planar = false, tiled = false, reversed = false;  ///< reversed: the bits of every byte

    Depth depth = Depth::u8;
    Samples meaning = Samples::color;
    Alpha alpha = Alpha::none;
    std::vector<std::string> bands;  ///< names by place; empty where none has one
    Finish finish = Finish::none;
    double white = 255;
    std::uint64_t channels = 1;  ///< of the matrix that samples go to
    bool palette = false, zero_is_white = false;
    bool raw = false;                                  ///< samples of fewer than 8 bits stay as they are
    std::uint64_t chroma_across = 1, chroma_down = 1;  ///< pixels that share their chroma

    /// Leaves samples as they are stored: palette indices, bits, zeros that are white.
    void leave_raw();
    /// Verdict on samples as they are stored: whether 0 stands for white.
    bool shows_zero_white() const;

    std::uint64_t pieces() const { return across * down * (planar ? samples : 1); }
    TiffPiece piece(std::uint64_t index) const;
    /// Calls use(index, piece) for the strips and tiles with the rows [first, last), or for parts of strips that are
    /// not compressed.
    template <class Use>
    void each_piece(std::uint64_t first, std::uint64_t last, const Use& use) const {
        for (std::uint64_t plane = 0; plane < (planar ? samples : 1); ++plane)
            for (std::uint64_t index = (plane * down + first / piece_height) * across;
                 index < (plane * down + (last - 1) / piece_height + 1) * across; ++index) {
                const TiffPiece whole = piece(index);
                const std::uint64_t begin = std::max(first, whole.y) - whole.y;
                const std::uint64_t end = std::min(last - whole.y, whole.rows);
                for (std::uint64_t row = begin, rows; row < end; row += rows) {
                    rows = part_rows_ > 0 ? std::min(end - row, part_rows_) : whole.rows;
                    use(index, rows == whole.rows ? whole : part(whole, row, rows));
                }
            }
    }
    /// Rows that are decoded at once at least.
    std::uint64_t strip_rows() const { return part_rows_ > 0 ? 1 : piece_height; }
    std::uint64_t longest = 0;  ///< bytes in the file of the largest piece, or part
    /// "strip 3 of 12", counted from 1.
    std::string name_of(std::uint64_t index) const;
    /// Whether libtiff decodes it, not this library.
    bool by_libtiff() const;
    /// Whether libtiff hands over RGB where the file has YCbCr.
    bool rgb_of_jpeg() const;
    /// Coefficients of red, green and blue in luma, and the values of Y, Cb and Cr that stand for black and for white.
    std::vector<float> ycbcr_coefficients() const;
    std::vector<float> reference_black_white() const;
    /// Bytes that a pixel takes in memory, those of strips and tiles as large as the image included.
    std::uint64_t pixel_bytes() const {
        const std::uint64_t stored = std::max<std::uint64_t>(sample_bytes(depth), decoded_bits() / 8);
        const std::uint64_t of_codec = compression == tiff_compression::lerc ? stored + 1 : 0;
        return std::max<std::uint64_t>(channels * (sample_bytes(depth) + stored + of_codec), 1);
    }
    /// Bits of a sample as it is decoded.
    std::uint64_t decoded_bits() const { return finish == Finish::log_luv ? 32 : bits; }
    /// Whether samples are integers of 64 bits, whose values must fit into 32.
    bool wide() const { return bits == 64 && !traits_of(depth).floating; }
    /// Name of the compression, with its number.
    std::string compression_name() const;
    /// Value of the color map as it is measured; `channel` 0 is red.
    std::uint64_t color(std::uint64_t index, std::uint64_t channel) const {
        return colormap[channel * (std::uint64_t{1} << bits) + index] >> palette_shift;
    }

    /// Value that GDAL's tag says stands for no data, among the samples as they are measured. Where the tag is of no
    /// use, `problem` says why.
    std::optional<double> nodata(std::string& problem) const;
    std::optional<double> stored_nodata() const;
    /// Bits of the nodata of integers of 64 bits; absent: the tag names no value of their type.
    std::optional<std::uint64_t> wide_nodata() const;
    /// Bits of this value if 32 bits don't hold it and `nodata_stands_in`: then `stand_in(depth)` is the nodata.
    std::optional<std::uint64_t> nodata_beyond() const;
    bool nodata_stands_in = false;
    /// Bytes of an image as it is stored, where nothing is compressed.
    std::uint64_t plane_bytes() const;

    TiffDirectory::Values offsets, lengths, colormap;
    std::uint64_t piece_width = 0, piece_height = 0, across = 1, down = 1;
    unsigned palette_shift = 0;

  private:
    void read_samples();
    void read_type(Part part);
    void read_compression();
    void read_pieces(const Bytes& file);
    void read_palette();
    TiffPiece part(const TiffPiece& strip, std::uint64_t first, std::uint64_t rows) const;
    void read_jpeg(const Bytes& file, const TiffPiece& piece);

    std::uint64_t file_bytes_ = 0;
    std::uint64_t before_ = 0;     ///< bytes of the planes before this one
    std::uint64_t part_rows_ = 0;  ///< of strips that are not compressed, whose rows are read without those before them
};

/// Pages: the directories of the chain without overviews, thumbnails and masks; in place of a thumbnail before them,
/// the pictures in its SubIFDs. If no directory is a page, the first one is. A mask belongs to the nearest page before
/// it with the same width and height. A stack behind the directory of a single page has one page per plane.
struct TiffPages {
    std::vector<PagePlace> places;
    std::uint64_t count = 0;  ///< also of pages whose places are not here
    std::string rest{};       ///< why there may be more
    IoError::Kind kind = IoError::Kind::damaged;
};

/// Finds the first `most` pages, and one more.
TiffPages tiff_pages(const Bytes& file, std::uint64_t most);
/// Finds the first page and counts all pages, in constant memory.
TiffPages first_tiff_page(const Bytes& file);

/// Text of XML with its entities replaced; unknown entities stay.
std::string unescape_xml(std::string_view xml);

/// Facts that a file gives about a page beside its samples.
struct PageDescription {
    std::string channel;                  ///< name of its channel, by OME-XML or ImageJ; empty: it has none
    std::optional<PixelSize> pixel_size;  ///< of the image turned upright
};

/// Describes a page, the first of which is 0.
PageDescription describe_page(const Bytes& file, const TiffLayout& layout, std::uint64_t page);

/// Metadata of a page, for a copy that is turned upright.
Metadata metadata_of(const Bytes& file, const TiffLayout& layout);

}  // namespace gpuhist::io
