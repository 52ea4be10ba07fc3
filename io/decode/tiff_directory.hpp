// Directories of a TIFF, classic or big: their fields, read in place.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "decode/bytes.hpp"

namespace gpuhist::io {

/// Fields of a directory that the pixels depend on.
namespace tag {
enum : unsigned {
    new_subfile_type = 254,
    subfile_type = 255,
    width = 256,
    height = 257,
    bits = 258,
    compression = 259,
    photometric = 262,
    fill_order = 266,
    document_name = 269,
    image_description = 270,
    strip_offsets = 273,
    orientation = 274,
    samples = 277,
    rows_per_strip = 278,
    strip_lengths = 279,
    x_resolution = 282,
    y_resolution = 283,
    planar = 284,
    resolution_unit = 296,
    date_time = 306,
    artist = 315,
    predictor = 317,
    colormap = 320,
    tile_width = 322,
    tile_height = 323,
    tile_offsets = 324,
    tile_lengths = 325,
    sub_directories = 330,
    ink_set = 332,
    extra_samples = 338,
    sample_format = 339,
    ycbcr_coefficients = 529,
    ycbcr_subsampling = 530,
    reference_black_white = 532,
    copyright = 33432,
    pixel_scale = 33550,
    tiepoints = 33922,
    transformation = 34264,
    icc_profile = 34675,
    geo_keys = 34735,
    geo_numbers = 34736,
    geo_text = 34737,
    imagej_lengths = 50838,
    imagej_metadata = 50839,
    rational_model = 50844,
    image_depth = 32997,
    tile_depth = 32998,
    planes_of_metamorph = 33629,
    gdal_metadata = 42112,
    gdal_nodata = 42113
};
}  // namespace tag

/// A directory. Bytes outlive it.
class TiffDirectory {
  public:
    /// The first directory of a file that begins as a TIFF, or the one at a place.
    explicit TiffDirectory(const Bytes& file, std::uint64_t place = 0) : file_(file) {
        endian_ = file.starts_with("II") ? Endian::little : Endian::big;
        big_ = file.number(2, 2, endian_) == 43u;
        word_ = big_ ? 8 : 4;
        read(place ? std::optional(place) : file.number(big_ ? 8 : 4, word_, endian_));
    }

    /// Whether the file holds all of it.
    bool complete() const { return complete_; }
    Endian endian() const { return endian_; }

    /// Its beginning; 0 if there is none.
    std::uint64_t place() const { return place_; }
    /// The next directory; it is not complete if there is none.
    TiffDirectory next() const {
        TiffDirectory directory = *this;
        directory.read(complete_ ? file_.number(start_ + count_ * entry_bytes(), word_, endian_) : std::nullopt);
        return directory;
    }
    std::uint64_t fields() const { return count_; }
    /// Whether it is an overview or a thumbnail; a mask, which may be that of an overview.
    bool is_reduced() const {
        constexpr std::uint64_t reduced = 1, old_reduced = 2;
        return (value(tag::new_subfile_type, 0) & reduced) != 0 || value(tag::subfile_type, 1) == old_reduced;
    }
    bool is_mask() const {
        constexpr std::uint64_t mask = 4;
        return (value(tag::new_subfile_type, 0) & mask) != 0;
    }
    bool is_page() const { return !is_reduced() && !is_mask(); }
    /// Whether it is a page to which a thumbnail can belong, and not a depth map.
    bool is_picture() const {
        constexpr std::uint64_t depth_map = 8;
        return is_page() && (value(tag::new_subfile_type, 0) & depth_map) == 0;
    }
    std::uint64_t width() const { return value(tag::width, 0); }
    std::uint64_t height() const { return value(tag::height, 0); }

    /// A field of whole numbers.
    class Values {
      public:
        std::uint64_t count() const { return count_; }
        std::uint64_t operator[](std::uint64_t index) const {
            return file_.number(offset_ + index * bytes_, bytes_, endian_).value_or(0);
        }

      private:
        friend class TiffDirectory;
        Bytes file_{nullptr, 0};
        Endian endian_ = Endian::little;
        std::uint64_t offset_ = 0, count_ = 0;
        unsigned bytes_ = 0;
    };

    /// The values of a field; none where it is not there, of another type, or outside the file.
    Values values(unsigned wanted) const {
        Values values;
        const Entry entry = find(wanted);
        constexpr std::array whole{1, 3, 4, 6, 8, 9, 13, 16, 17, 18};
        bool known = false;
        for (const auto type : whole) known = known || entry.type == static_cast<std::uint64_t>(type);
        if (!known || !inside(entry)) return values;
        values.file_ = file_;
        values.endian_ = endian_;
        values.offset_ = entry.offset;
        values.count_ = entry.count;
        values.bytes_ = entry.type_bytes;
        return values;
    }

    std::uint64_t value(unsigned wanted, std::uint64_t otherwise) const {
        const Values all = values(wanted);
        return all.count() ? all[0] : otherwise;
    }

    /// Number of values of a field of any type; 0 where it is not there.
    std::uint64_t count(unsigned wanted) const { return find(wanted).count; }

    /// Characters of a text field, at most so many; empty if there is none.
    std::string text(unsigned wanted, std::uint64_t most) const {
        const Entry entry = find(wanted);
        if (entry.type != 2 || !inside(entry)) return {};
        const std::string_view all = file_.text(entry.offset, std::min(entry.count, most));
        return std::string(all.substr(0, all.find('\0')));
    }

    /// The values of a field of fractions, in the precision that libtiff reads them with.
    std::vector<float> fractions(unsigned wanted, std::vector<float> otherwise) const {
        const Entry entry = find(wanted);
        if (!inside(entry) || entry.count < otherwise.size()) return otherwise;
        for (std::size_t i = 0; i < otherwise.size(); ++i) {
            const std::uint64_t at = entry.offset + i * entry.type_bytes;
            const auto number = [&](std::uint64_t place) {
                return static_cast<std::uint32_t>(file_.number(place, 4, endian_).value_or(0));
            };
            const std::uint32_t first = number(at), second = entry.type == 5 ? number(at + 4) : 0;
            if (entry.type == 5) {
                otherwise[i] = second ? static_cast<float>(first) / static_cast<float>(second) : 0;
            } else if (entry.type == 11) {
                std::memcpy(&otherwise[i], &first, 4);
            } else if (entry.type == 3 || entry.type == 4) {
                otherwise[i] = static_cast<float>(file_.number(at, entry.type_bytes, endian_).value_or(0));
            }
        }
        return otherwise;
    }

    /// The values of a field of numbers, at most so many; none where it has more, or is not there. Fractions are
    /// divided.
    std::vector<double> numbers(unsigned wanted, std::uint64_t most) const {
        const Entry entry = find(wanted);
        std::vector<double> found;
        if (!inside(entry) || entry.count > most) return found;
        enum : std::uint64_t { rational = 5, real = 11, double_real = 12 };
        const bool whole = values(wanted).count() > 0;
        for (std::uint64_t i = 0; i < entry.count; ++i) {
            const std::uint64_t at = entry.offset + i * entry.type_bytes;
            const std::uint64_t bits = file_.number(at, std::min(entry.type_bytes, 8U), endian_).value_or(0);
            if (whole) {
                found.push_back(static_cast<double>(bits));
            } else if (entry.type == rational) {
                const auto part = [&](std::uint64_t place) {
                    return static_cast<double>(file_.number(place, 4, endian_).value_or(0));
                };
                found.push_back(part(at + 4) > 0 ? part(at) / part(at + 4) : 0);
            } else if (entry.type == real) {
                const auto half = static_cast<std::uint32_t>(bits);
                float value = 0;
                std::memcpy(&value, &half, sizeof value);
                found.push_back(value);
            } else if (entry.type == double_real) {
                double value = 0;
                std::memcpy(&value, &bits, sizeof value);
                found.push_back(value);
            } else {
                return {};
            }
        }
        return found;
    }

    /// The bytes of a field, at most so many; none where it has more, or is not there.
    std::vector<unsigned char> raw(unsigned wanted, std::uint64_t most) const {
        const Entry entry = find(wanted);
        std::vector<unsigned char> bytes;
        if (!inside(entry) || entry.type_bytes != 1 || entry.count > most) return bytes;
        bytes.reserve(entry.count);
        for (std::uint64_t i = 0; i < entry.count; ++i)
            bytes.push_back(static_cast<unsigned char>(file_.number(entry.offset + i, 1, endian_).value_or(0)));
        return bytes;
    }

    /// Whether a field is there whose values are not all inside the file.
    bool cut(unsigned wanted) const {
        const Entry entry = find(wanted);
        return entry.type_bytes && !inside(entry);
    }

  private:
    struct Entry {
        std::uint64_t tag, type, count, offset;  ///< offset: where the values are, in the entry itself if they fit
        unsigned type_bytes;                     ///< 0 for a type that is not known
    };

    void read(std::optional<std::uint64_t> start) {
        complete_ = false;
        count_ = start_ = 0;
        place_ = start.value_or(0);
        const unsigned count_bytes = big_ ? 8 : 2;
        const auto count = start && *start ? file_.number(*start, count_bytes, endian_) : std::nullopt;
        if (!count) return;
        start_ = *start + count_bytes;
        count_ = *count;
        // The entries and, after them, where the next directory is.
        complete_ = count_ <= file_.size() && file_.has(start_, saturating_product(count_, entry_bytes()) + word_);
        if (!complete_) count_ = 0;
    }

    std::uint64_t entry_bytes() const { return big_ ? 20 : 12; }

    bool inside(const Entry& entry) const {
        return entry.type_bytes && file_.has(entry.offset, saturating_product(entry.count, entry.type_bytes));
    }

    /// The first entry of a field; it has no type if there is none.
    Entry find(unsigned wanted) const {
        for (std::uint64_t i = 0; i < count_; ++i)
            if (file_.number(start_ + i * entry_bytes(), 2, endian_) == wanted) return read_entry(i);
        return {};
    }

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

    Bytes file_;
    Endian endian_ = Endian::little;
    bool big_ = false;
    unsigned word_ = 4;
    std::uint64_t place_ = 0, start_ = 0, count_ = 0;
    bool complete_ = false;
};

}  // namespace gpuhist::io
