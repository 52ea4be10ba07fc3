// FITS, by CFITSIO. The images of all extensions are pages, and so are the planes of a cube.
#ifdef GPUHIST_FITS
#include <fitsio.h>
#endif

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <limits>
#include <mutex>
#include <optional>
#include <vector>

#include "decode/formats.hpp"

namespace gpuhist::io {
namespace {

using Kind = IoError::Kind;

bool matches(const Bytes& file) {
    return file.starts_with("SIMPLE  =");
}

#ifdef GPUHIST_FITS

/// CFITSIO may have been compiled for one thread.
std::unique_lock<std::recursive_mutex> alone() {
    static std::recursive_mutex mutex;
    return fits_is_reentrant() != 0 ? std::unique_lock<std::recursive_mutex>() : std::unique_lock(mutex);
}

/// Image of an extension: its planes, and how its samples are read.
struct Extension {
    std::uint64_t number = 0;  ///< of the header and its data, from 1
    std::uint64_t width = 0, height = 0, planes = 1;
    Depth depth = Depth::u8;
    int type = 0;         ///< CFITSIO's word for the depth
    bool scaled = false;  ///< integers that BSCALE and BZERO make floats
    std::optional<double> blank;
    std::string unsupported, truncated;
};

/// File in memory.
class Fits {
  public:
    explicit Fits(const Bytes& file)
        : lock_(alone()), data_(const_cast<unsigned char*>(file.at(0))), size_(file.size()), memory_(file.size()) {
        constexpr std::size_t block = 2880;
        if (size_ % block != 0) {  // CFITSIO reads whole blocks, also where the last one is cut off
            padded_.assign(data_, data_ + size_);
            memory_ = (size_ / block + 1) * block;
            padded_.resize(memory_);
            data_ = padded_.data();
        }
        fits_open_memfile(&fits_, "memory", READONLY, reinterpret_cast<void**>(&data_), &memory_, 0, nullptr, &status_);
        if (status_ != 0) fits_ = nullptr;
    }
    Fits(const Fits&) = delete;
    Fits& operator=(const Fits&) = delete;
    ~Fits() {
        int ignored = 0;
        if (fits_) fits_close_file(fits_, &ignored);
        fits_clear_errmsg();
    }

    bool opened() const { return fits_ != nullptr; }
    std::string words() const {
        std::array<char, FLEN_STATUS> text{};
        fits_get_errstatus(status_, text.data());
        return std::string("CFITSIO: \"") + text.data() + '"';
    }
    bool failed() const { return status_ != 0; }
    bool overflowed() const { return status_ == NUM_OVERFLOW; }
    /// Goes to a header. Returns false if there is none.
    bool go_to(std::uint64_t number) {
        int kind = 0;
        return fits_movabs_hdu(fits_, static_cast<int>(number), &kind, &status_) == 0;
    }
    /// Whether the last failure is that the file ends regularly.
    bool at_end() const { return status_ == END_OF_FILE; }

    /// Image of the present header; nothing if it has none.
    std::optional<Extension> extension(std::uint64_t number) {
        Extension found;
        found.number = number;
        int kind = 0, axes = 0, type = 0;
        // CFITSIO reads outside of its memory where such a file is damaged.
        const bool compressed = fits_is_compressed_image(fits_, &status_) != 0;
        if (compressed) {
            found.width = found.height = 1;
            found.unsupported =
                "a FITS image that is compressed is not supported: expand it with CFITSIO's funpack (Debian: "
                "libcfitsio-bin)";
            return found;
        }
        if (fits_get_hdu_type(fits_, &kind, &status_) != 0 || kind != IMAGE_HDU) return std::nullopt;
        constexpr int most = 16;
        std::array<LONGLONG, most> sides{};
        if (fits_get_img_dim(fits_, &axes, &status_) != 0 || axes == 0) return std::nullopt;
        if (axes > most) {
            found.unsupported = "a FITS image of " + std::to_string(axes) + " axes is not supported";
            return found;
        }
        if (fits_get_img_sizell(fits_, most, sides.data(), &status_) != 0 ||
            fits_get_img_equivtype(fits_, &type, &status_) != 0)
            return std::nullopt;
        found.width = static_cast<std::uint64_t>(sides[0]);
        found.height = axes > 1 ? static_cast<std::uint64_t>(sides[1]) : 1;
        for (int axis = 2; axis < axes; ++axis)
            found.planes =
                saturating_product(found.planes, static_cast<std::uint64_t>(sides[static_cast<std::size_t>(axis)]));
        if (found.width == 0 || found.height == 0 || found.planes == 0) return std::nullopt;
        set_type(type, found);
        LONGLONG head = 0, data = 0, end = 0;
        fits_get_hduaddrll(fits_, &head, &data, &end, &status_);
        // The last block may lack its padding.
        const std::uint64_t bytes = saturating_product(saturating_product(found.width, found.height), found.planes);
        int stored = 0;
        fits_get_img_type(fits_, &stored, &status_);
        const std::uint64_t needed = saturating_product(bytes, static_cast<std::uint64_t>(std::abs(stored) / 8));
        const std::uint64_t left = size_ - std::min<std::uint64_t>(size_, static_cast<std::uint64_t>(data));
        if (status_ == 0 && needed > left)
            found.truncated = "the FITS file ends in the data of its header " + std::to_string(number);
        return found;
    }

    /// Reads rows of a plane into memory for floats or integers of the image's type. Returns false if CFITSIO fails.
    bool read(const Extension& image, std::uint64_t plane, std::uint64_t row, std::uint64_t rows, void* to) {
        const LONGLONG first = static_cast<LONGLONG>((plane * image.height + row) * image.width) + 1;
        double missing = std::numeric_limits<double>::quiet_NaN();
        auto missing_float = static_cast<float>(missing);
        void* const null = !image.scaled               ? nullptr
                           : image.depth == Depth::f64 ? static_cast<void*>(&missing)
                                                       : &missing_float;
        int any = 0;
        return fits_read_img(fits_, image.type, first, static_cast<LONGLONG>(rows * image.width), null, to, &any,
                             &status_) == 0;
    }
    /// Tells whether a checksum of the present header or data is wrong.
    bool wrong_checksum() {
        int data = 0, all = 0, status = 0;
        fits_verify_chksum(fits_, &data, &all, &status);
        return status == 0 && (data < 0 || all < 0);
    }

  private:
    void set_type(int type, Extension& image) {
        struct Type {
            int image, type;
            Depth depth;
        };
        constexpr Type types[] = {{BYTE_IMG, TBYTE, Depth::u8},     {SBYTE_IMG, TSBYTE, Depth::s8},
                                  {SHORT_IMG, TSHORT, Depth::s16},  {USHORT_IMG, TUSHORT, Depth::u16},
                                  {LONG_IMG, TINT, Depth::s32},     {ULONG_IMG, TUINT, Depth::u32},
                                  {LONGLONG_IMG, TINT, Depth::s32}, {ULONGLONG_IMG, TUINT, Depth::u32},
                                  {FLOAT_IMG, TFLOAT, Depth::f32},  {DOUBLE_IMG, TDOUBLE, Depth::f64}};
        for (const Type& kind : types)
            if (kind.image == type) {
                image.depth = kind.depth;
                image.type = kind.type;
            }
        int stored = 0;
        fits_get_img_type(fits_, &stored, &status_);
        image.scaled = stored > 0 && traits_of(image.depth).floating;
        if (image.type == 0)
            image.unsupported = "a FITS image of BITPIX " + std::to_string(stored) + " is not supported";
        const auto number = [&](const char* key) -> std::optional<double> {
            double value = 0;
            int status = 0;
            return fits_read_key(fits_, TDOUBLE, key, &value, nullptr, &status) == 0 ? std::optional(value)
                                                                                     : std::nullopt;
        };
        const std::optional<double> blank = number("BLANK");
        if (stored > 0 && blank && !image.scaled)
            image.blank = *blank * number("BSCALE").value_or(1) + number("BZERO").value_or(0);
        fits_clear_errmsg();
    }

    std::unique_lock<std::recursive_mutex> lock_;
    unsigned char* data_;
    std::size_t size_, memory_;
    std::vector<unsigned char> padded_;
    fitsfile* fits_ = nullptr;
    int status_ = 0;
};

/// Looks for the images of a file, until `take` returns false. Returns why the search ended early, or nothing.
template <class Take>
std::string search(const Bytes& file, const Take& take) {
    Fits fits(file);
    if (!fits.opened()) return "the FITS file's first header (" + fits.words() + ")";
    for (std::uint64_t number = 1; fits.go_to(number); ++number) {
        const auto found = fits.extension(number);
        if (fits.failed()) return "the FITS file's header " + std::to_string(number) + " (" + fits.words() + ")";
        if (found && !take(*found)) return {};
    }
    return fits.at_end() ? std::string() : "the FITS file's headers (" + fits.words() + ")";
}

/// Image of a page; the first one if it names none.
std::optional<Extension> find(const Bytes& file, const PagePlace& page, std::string& problem) {
    std::optional<Extension> image;
    problem = search(file, [&](const Extension& found) {
        if (page.directory == 0 || page.directory == found.number) image = found;
        return !image;
    });
    return image;
}

void inspect(const Bytes& window, Probe& probe) {
    const Bytes file = window.part(0, window.size());
    probe.held_bytes = file.size();
    std::string problem;
    const auto image = find(file, probe.page, problem);
    if (!image) {
        constexpr std::uint64_t block = 2880;
        if (problem.empty())
            probe.unsupported = "a FITS file without an image is not supported";
        else if (file.size() < block || !file.starts_with("END", file.size() - 80))
            probe.truncated = problem;
        else
            probe.damaged = problem;
        return;
    }
    probe.set_size(image->width, image->height);
    probe.unsupported = image->unsupported;
    probe.truncated = image->truncated;
    probe.depth = image->depth;
    probe.pixel_bytes = sample_bytes(image->depth);
}

void find_pages(const Bytes& window, PageList& list) {
    const std::string problem = search(window.part(0, window.size()), [&](const Extension& image) {
        for (std::uint64_t plane = 0; plane < image.planes; ++plane) {
            PageFacts page{image.width, image.height};
            page.depth = image.depth;
            page.samples = 1;
            page.problem = image.unsupported;
            page.place = image.number;
            page.plane = plane;
            page.planes = image.planes;
            if (!image.truncated.empty() && plane > 0) {
                list.rest = image.truncated;
                list.rest_kind = Kind::truncated;
                return false;
            }
            if (!list.add(page)) return false;
        }
        return true;
    });
    if (list.rest.empty() && !problem.empty() && list.count() > 0) {
        list.rest = problem;
        list.rest_kind = Kind::truncated;
    }
}

std::uint64_t count_pages(const Bytes& file) {
    std::uint64_t pages = 0;
    search(file, [&](const Extension& image) {
        pages += image.planes;
        return true;
    });
    return pages;
}

Image decode(const EncodedImage& window) {
    const Bytes file = window.bytes.part(0, window.bytes.size());
    std::string problem;
    const auto found = find(file, window.probe.page, problem);
    if (!found) window.refuse("damaged: " + problem, Kind::damaged);
    Image image;
    image.depth = found->depth;
    image.white = traits_of(found->depth).highest;
    image.nodata = found->blank;
    image.pages = std::max<std::uint64_t>(1, count_pages(file));
    image.pixels = window.allocate(found->height, found->width, CV_MAKETYPE(opencv_depth(found->depth), 1));
    Fits fits(file);
    if (!fits.opened() || !fits.go_to(found->number)) window.refuse("damaged: " + fits.words(), Kind::damaged);
    if (fits.wrong_checksum())
        window.report(image, "a checksum of the FITS file's header " + std::to_string(found->number) + " is wrong");
    for (std::uint64_t row = 0; row < found->height; ++row)
        if (!fits.read(*found, window.probe.page.plane, row, 1, image.pixels.ptr(static_cast<int>(row)))) {
            const std::string words = fits.words();
            if (fits.overflowed()) window.refuse("integers of 64 bits are not supported beyond the range of 32 bits");
            window.report(image, "row " + std::to_string(row) + " (" + words + ")");
            break;
        }
    return image;
}

#else

constexpr std::nullptr_t find_pages = nullptr;

void inspect(const Bytes&, Probe& probe) {
    probe.unsupported = not_built(fits_format);
}

Image decode(const EncodedImage& file) {
    file.refuse(not_built(fits_format));
}

#endif

}  // namespace

const ImageFormat fits_format{"a FITS file",
                              {".fit", ".fits", ".fts"},
                              8,
                              matches,
                              inspect,
                              decode,
                              {"FITS",
                               {"CFITSIO"},
                               "signed and unsigned integers of 8, 16 and 32 bits, and of 64 bits whose values need "
                               "32; floats of 32 and 64 bits; integers with BSCALE as floats",
                               "images of all extensions, and the planes of cubes",
                               "BZERO and BSCALE; BLANK as nodata, or NaN in floats; rows in the "
                               "order in which they are stored; checksums",
                               "compressed images, tables, files without an image",
                               "libcfitsio-dev and -DGPUHIST_READS_FITS=ON, for files that you trust"},
                              find_pages};

}  // namespace gpuhist::io
