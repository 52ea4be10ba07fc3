// TIFF, classic and big.
#include <algorithm>
#include <array>
#include <climits>
#include <optional>

#include "decode/formats.hpp"
#include "decode/opencv_codecs.hpp"
#include "files/failure.hpp"
#include "gpuhist/image.hpp"

namespace gpuhist::io {
namespace {

using namespace std::string_view_literals;

bool matches(const Bytes& file) {
    return file.starts_with("II\x2A\0"sv) || file.starts_with("MM\0\x2A"sv) || file.starts_with("II\x2B\0"sv) ||
           file.starts_with("MM\0\x2B"sv);
}

/// The first directory of a classic or Big TIFF.
class TiffDirectory {
  public:
    explicit TiffDirectory(const Bytes& file) : file_(file) {
        endian_ = file.starts_with("II") ? Endian::little : Endian::big;
        big_ = file.number(2, 2, endian_) == 43u;
        word_ = big_ ? 8 : 4;
        const auto start = file.number(big_ ? 8 : 4, word_, endian_);
        const unsigned count_bytes = big_ ? 8 : 2;
        const auto count = start ? file.number(*start, count_bytes, endian_) : std::nullopt;
        if (!count) return;
        start_ = *start + count_bytes;
        count_ = *count;
        // The entries and, after them, where the next directory is.
        complete_ = count_ <= file.size() && file.has(start_, saturating_product(count_, entry_bytes()) + word_);
    }

    bool complete() const { return complete_; }

    /// Whether the values kept outside the directory are inside the file.
    bool values_complete() const {
        for (std::uint64_t i = 0; i < count_; ++i) {
            const auto entry = read_entry(i);
            if (entry.type_bytes && !file_.has(entry.offset, saturating_product(entry.count, entry.type_bytes)))
                return false;
        }
        return true;
    }

    /// A field of whole numbers, read in place.
    class Values {
      public:
        std::uint64_t count() const { return count_; }
        std::uint64_t operator[](std::uint64_t index) const {
            return file_->number(offset_ + index * bytes_, bytes_, endian_).value_or(0);
        }

      private:
        friend class TiffDirectory;
        const Bytes* file_ = nullptr;
        Endian endian_ = Endian::little;
        std::uint64_t offset_ = 0, count_ = 0;
        unsigned bytes_ = 0;
    };

    Values values(unsigned tag) const {
        Values values;
        for (std::uint64_t i = 0; i < count_; ++i) {
            const auto entry = read_entry(i);
            if (entry.tag != tag) continue;
            const bool whole = entry.type == 1 || entry.type == 3 || entry.type == 4 || entry.type == 16;
            if (whole && file_.has(entry.offset, saturating_product(entry.count, entry.type_bytes))) {
                values.file_ = &file_;
                values.endian_ = endian_;
                values.offset_ = entry.offset;
                values.count_ = entry.count;
                values.bytes_ = entry.type_bytes;
            }
            break;
        }
        return values;
    }

    std::uint64_t value(unsigned tag, std::uint64_t otherwise) const {
        const auto all = values(tag);
        return all.count() ? all[0] : otherwise;
    }

  private:
    struct Entry {
        std::uint64_t tag, type, count, offset;  ///< offset: where the values are, in the entry itself if they fit
        unsigned type_bytes;                     ///< 0 for a type that is not known
    };

    std::uint64_t entry_bytes() const { return big_ ? 20 : 12; }

    Entry read_entry(std::uint64_t index) const {
        constexpr std::array<unsigned char, 19> sizes{0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8, 8, 8};
        const std::uint64_t at = start_ + index * entry_bytes();
        Entry entry{};
        entry.tag = file_.number(at, 2, endian_).value_or(0);
        entry.type = file_.number(at + 2, 2, endian_).value_or(0);
        entry.count = file_.number(at + 4, word_, endian_).value_or(0);
        entry.type_bytes = entry.type < sizes.size() ? sizes[entry.type] : 0;
        entry.offset = at + 4 + word_;
        if (saturating_product(entry.count, entry.type_bytes) > word_)
            entry.offset = file_.number(entry.offset, word_, endian_).value_or(0);
        return entry;
    }

    const Bytes& file_;
    Endian endian_ = Endian::little;
    bool big_ = false;
    unsigned word_ = 4;
    std::uint64_t start_ = 0, count_ = 0;
    bool complete_ = false;
};

/// Names what OpenCV would refuse in riddles or, worse, read wrong without a word (16-bit with two channels).
std::string unsupported_tiff(const TiffDirectory& directory, std::uint64_t bits, std::uint64_t samples) {
    enum { format_uint = 1, format_int = 2, format_float = 3, format_void = 4, format_complex_int = 5 };
    const std::uint64_t format = directory.value(339, format_uint);
    const bool whole = format == format_uint || format == format_void;
    if (!(whole && bits <= 16) && !(format == format_float && bits == 32)) {
        const char* prefix = whole ? "u" : format == format_int ? "s" : format == format_float ? "f" : "complex ";
        return "depth " + (prefix + std::to_string(bits)) + " is not supported: gpuhist reads " + depth_names();
    }
    if (samples != 1 && samples != 3 && samples != 4)
        return std::to_string(samples) + " channels are not supported: gpuhist reads 1, 3 or 4";
    return {};
}

void inspect(const Bytes& file, Probe& probe) {
    enum { no_compression = 1, separate_planes = 2 };
    const TiffDirectory directory(file);
    if (!directory.complete()) {
        probe.truncated = "the TIFF ends before its directory";
        return;
    }
    const std::uint64_t width = directory.value(256, 0), height = directory.value(257, 0);
    const std::uint64_t bits = directory.value(258, 1), samples = directory.value(277, 1);
    probe.set_size(width, height);
    probe.unsupported = unsupported_tiff(directory, bits, samples);
    if (!directory.values_complete()) {
        probe.truncated = "the TIFF ends before the values of its directory";
        return;
    }

    const bool tiled = directory.values(324).count() > 0;
    const auto offsets = directory.values(tiled ? 324 : 273);
    const auto lengths = directory.values(tiled ? 325 : 279);
    const bool compressed = directory.value(259, no_compression) != no_compression;
    const std::uint64_t pixel_bits = saturating_product(bits, directory.value(284, 1) == separate_planes ? 1 : samples);
    const std::uint64_t piece_width = tiled ? directory.value(322, 0) : width;
    const std::uint64_t piece_height = tiled ? directory.value(323, 0) : std::min(directory.value(278, height), height);
    const std::uint64_t row_bits = saturating_product(piece_width, pixel_bits);
    const std::uint64_t row_bytes = row_bits / 8 + (row_bits % 8 != 0);
    const std::uint64_t pieces_per_plane = tiled || piece_height == 0 ? 0 : (height + piece_height - 1) / piece_height;
    for (std::uint64_t i = 0; i < offsets.count(); ++i) {
        std::uint64_t rows = piece_height;
        if (pieces_per_plane && (i + 1) % pieces_per_plane == 0) rows = height - (pieces_per_plane - 1) * piece_height;
        const std::uint64_t pixel_bytes = saturating_product(row_bytes, rows);
        // Some writers leave the lengths out, or round them up beyond the end of the file, where nothing is compressed.
        std::uint64_t length = i < lengths.count() ? lengths[i] : compressed ? 0 : pixel_bytes;
        if (!compressed) length = std::min(length, pixel_bytes);
        if (length != 0 && !file.has(offsets[i], length)) {
            probe.truncated = std::string("the TIFF ends before its ") + (tiled ? "tile " : "strip ") +
                              std::to_string(i + 1) + " of " + std::to_string(offsets.count());
            return;
        }
    }
}

Image decode(const EncodedImage& file) {
    return opencv_decode(file);
}

}  // namespace

const ImageFormat tiff_format{"a TIFF", {".tif", ".tiff"}, 16, matches, inspect, decode};

}  // namespace gpuhist::io
