// TIFF, classic and big.
#include <tiffio.h>

#include <algorithm>
#include <memory>
#include <new>
#include <opencv2/core.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "decode/formats.hpp"
#include "decode/tiff_codecs.hpp"
#include "decode/tiff_layout.hpp"
#include "decode/tiff_samples.hpp"
#include "files/threads.hpp"
#include "files/window.hpp"

namespace gpuhist::io {
namespace {

using namespace std::string_view_literals;
using Finish = TiffLayout::Finish;

bool matches(const Bytes& file) {
    return file.starts_with("II\x2A\0"sv) || file.starts_with("MM\0\x2A"sv) || file.starts_with("II\x2B\0"sv) ||
           file.starts_with("MM\0\x2B"sv);
}

/// Rows of a mask that are decoded at once.
std::uint64_t rows_of_mask(const TiffLayout& mask) {
    constexpr std::uint64_t fewest = 64;
    return std::min(mask.height, (fewest + mask.strip_rows() - 1) / mask.strip_rows() * mask.strip_rows());
}

void inspect(const Bytes& file, Probe& probe) {
    if (probe.page.directory == 0) {
        const TiffPages found = first_tiff_page(file);
        if (!found.places.empty()) probe.page = found.places.front();
        probe.pages = std::max<std::uint64_t>(1, found.count);
    }
    TiffLayout layout(file, probe.page);
    probe.held_bytes = layout.longest + FileWindow::kept;
    probe.set_size(layout.width, layout.height);
    probe.pixel_bytes = layout.pixel_bytes();
    probe.depth = layout.depth;
    probe.strip_rows = layout.strip_rows();
    probe.stored = layout.compression == tiff_compression::none;
    probe.turned = layout.orientation >= 2 && layout.orientation <= 8;
    probe.bands =
        layout.finish == Finish::none && (layout.meaning == Samples::bands || layout.meaning == Samples::color_bands);
    probe.unsupported = std::move(layout.unsupported);
    probe.damaged = std::move(layout.damaged);
    probe.truncated = std::move(layout.truncated);
    probe.too_large = std::move(layout.too_large);
    if (probe.masks && probe.page.mask != 0) probe.add_mask(probe_tiff_mask(file, probe.page.mask));
}

/// Memory for a strip or tile whose samples do not lie as those of the matrix do.
class Scratch {
  public:
    unsigned char* of(std::uint64_t bytes) {
        if (bytes > size_) memory_.reset(new unsigned char[size_ = bytes]);
        return memory_.get();
    }

  private:
    std::unique_ptr<unsigned char[]> memory_;
    std::uint64_t size_ = 0;
};

/// Throws IoError for tiles that are too large: they may be larger than a small image.
void validate_tiles(const EncodedImage& file, const TiffLayout& layout) {
    const std::uint64_t most = std::max<std::uint64_t>(file.options.max_pixels, 1 << 24);
    if (saturating_product(layout.piece_width, layout.strip_rows()) > most)
        file.refuse("its tiles are of more than " + std::to_string(most) + " pixels", IoError::Kind::too_large);
}

/// Decoder of the strips and tiles. Throws IoError.
std::unique_ptr<TiffCodec> open_codec(const EncodedImage& file, const TiffLayout& layout) {
    try {
        return layout.by_libtiff() ? libtiff_codec(file.bytes, layout) : own_tiff_codec(file.bytes, layout);
    } catch (const std::runtime_error& error) {
        file.refuse(std::string("damaged: the TIFF's directory: ") + error.what(), IoError::Kind::damaged);
    }
}

/// Pixels of an image, some rows after the other in the same memory.
class Rows {
  public:
    /// Makes memory for `at_once` rows.
    Rows(const EncodedImage& file, const TiffLayout& layout, std::uint64_t at_once)
        : file_(file),
          layout_(layout),
          stored_(file.allocate(at_once, layout.width,
                                CV_MAKETYPE(opencv_depth(layout.depth), static_cast<int>(layout.channels)))),
          samples_(layout, stored_) {
        // One thread per four pieces at most: then strips and tiles being decoded take a part of the memory of these.
        const std::uint64_t rows = (std::min(at_once, layout.height) + layout.strip_rows() - 1) / layout.strip_rows();
        const std::uint64_t pieces = saturating_product(rows, layout.pieces() / layout.down);
        most_threads_ = 1 + pieces / 4;
        workers_.emplace_back(file, layout);
        if (layout.finish == Finish::cmyk)
            colors_ = file.allocate(at_once, layout.width, CV_MAKETYPE(opencv_depth(layout.depth), 3));
    }

    /// Decodes the strips and tiles with the rows from `first` on. Damage is reported for the image. Returns the memory
    /// that may be exchanged before the next rows.
    cv::Mat& decode(std::uint64_t first, std::uint64_t count, Image& image) {
        samples_.begin_at(first);
        const auto threads = std::clamp<std::uint64_t>(file_.threads(), 1, most_threads_);
        while (workers_.size() < threads) workers_.emplace_back(file_, layout_);
        layout_.each_piece(first, first + count, [&](std::uint64_t i, const TiffPiece& piece) {
            waiting_.push_back({i, piece, {}, {}});
            if (threads == 1 || waiting_.size() == most_waiting) decode_waiting(threads, image);
        });
        decode_waiting(threads, image);
        if (layout_.finish == Finish::ycbcr) finish_ycbcr(layout_, stored_);
        if (layout_.finish == Finish::log_luv) finish_log_luv(stored_);
        if (layout_.finish == Finish::cmyk) finish_cmyk(stored_, colors_);
        return colors_.empty() ? stored_ : colors_;
    }

  private:
    static constexpr std::size_t most_waiting = 4096;
    struct Piece {
        std::uint64_t index;
        TiffPiece piece;
        std::string wrong, refusal;
    };
    /// What a thread needs for itself.
    struct Worker {
        Worker(const EncodedImage& file, const TiffLayout& layout) : codec(open_codec(file, layout)) {}
        std::unique_ptr<TiffCodec> codec;
        Scratch scratch;
    };

    /// Decodes pieces. Damage and refusals come in their order.
    void decode_waiting(std::uint64_t threads, Image& image) {
        on_threads(static_cast<int>(threads), waiting_.size(), [&](std::size_t i, int thread) {
            Worker& worker = workers_[static_cast<std::size_t>(thread)];
            auto& [index, piece, wrong, refusal] = waiting_[i];
            unsigned char* place = samples_.in_place(piece);
            if (!place) place = worker.scratch.of(piece.bytes);
            if (piece.sparse)
                fill_sparse(layout_, piece, place);
            else
                wrong = worker.codec->decode(index, piece, place);
            refusal = samples_.put(piece, place);
        });
        for (const Piece& one : waiting_) {
            if (!one.wrong.empty()) file_.report(image, "the TIFF's " + layout_.name_of(one.index) + ": " + one.wrong);
            if (!one.refusal.empty()) file_.refuse(one.refusal);
        }
        waiting_.clear();
        file_.bytes.let_go();
    }

    const EncodedImage& file_;
    const TiffLayout& layout_;
    cv::Mat stored_, colors_;
    TiffSamples samples_;
    std::uint64_t most_threads_ = 1;
    std::vector<Worker> workers_;
    std::vector<Piece> waiting_;
};

/// Mask of an image, some rows after the other.
class MaskRows {
  public:
    /// `file` is the file with the mask.
    MaskRows(const EncodedImage& file, const TiffLayout& layout)
        : layout_(layout), at_once_(rows_of_mask(layout)), rows_(file, layout, at_once_) {}

    /// Decodes rows into `to`. Damage is reported for the image.
    void decode(std::uint64_t first, std::uint64_t count, Image& image, cv::Mat& to) {
        for (std::uint64_t row = first; row < first + count;) {
            if (!decoded_ || row < begin_ || row >= begin_ + at_once_) {
                begin_ = row / at_once_ * at_once_;
                decoded_ = &rows_.decode(begin_, std::min(at_once_, layout_.height - begin_), image);
            }
            const std::uint64_t end = std::min(first + count, begin_ + at_once_);
            const auto range = [](std::uint64_t from, std::uint64_t until) {
                return cv::Range(static_cast<int>(from), static_cast<int>(until));
            };
            cv::Mat part = to.rowRange(range(row - first, end - first));
            decoded_->rowRange(range(row - begin_, end - begin_)).copyTo(part);
            row = end;
        }
    }

  private:
    const TiffLayout& layout_;
    const std::uint64_t at_once_;
    Rows rows_;
    cv::Mat* decoded_ = nullptr;  ///< the rows from `begin_` on
    std::uint64_t begin_ = 0;
};

/// Mask that an image has, if it is wanted: in memory as for its pixels.
class Mask {
  public:
    Mask(const EncodedImage& file, const TiffLayout& image) {
        const bool beside = file.mask != nullptr;
        if (!file.options.masks || (!beside && file.probe.page.mask == 0)) return;
        name_ = beside ? file.mask->name : file.name + ": its mask";
        file_.emplace(EncodedImage{beside ? file.mask->bytes : file.bytes, file.probe, name_, file.options});
        const PagePlace first = beside ? probe(file.mask->bytes).page : PagePlace{file.probe.page.mask};
        layout_.emplace(file_->bytes, first, TiffLayout::Part::mask);
        if (!layout_->decodable || layout_->width != image.width || layout_->height != image.height)
            file_->refuse("damaged: " + layout_->damaged + layout_->truncated, IoError::Kind::damaged);
        validate_tiles(*file_, *layout_);
        rows_.emplace(*file_, *layout_);
        for (cv::Mat& memory : memory_)
            if (&memory == memory_ || file.strip_rows > 0)
                memory = file.allocate(file.rows_at_once(), image.width, CV_8U);
    }
    Mask(const Mask&) = delete;
    Mask& operator=(const Mask&) = delete;

    /// Gives an image the rows of its mask. They stay as they are while those after them are decoded.
    void decode(std::uint64_t first, std::uint64_t count, Image& image) {
        if (!rows_) return;
        rows_->decode(first, count, image, memory_[0]);
        image.mask = memory_[0].rowRange(0, static_cast<int>(count));
        if (!memory_[1].empty()) std::swap(memory_[0], memory_[1]);
    }

  private:
    std::string name_;
    std::optional<EncodedImage> file_;
    std::optional<TiffLayout> layout_;
    std::optional<MaskRows> rows_;
    cv::Mat memory_[2];
};

void find_pages(const Bytes& file, PageList& list) {
    TiffPages found = tiff_pages(file, list.most());
    for (const PagePlace& place : found.places) {
        const TiffLayout layout(file, place, TiffLayout::Part::header);
        PageFacts page;
        page.place = place.directory;
        page.plane = place.plane;
        page.planes = place.planes;
        page.mask = place.mask;
        page.width = layout.width;
        page.height = layout.height;
        page.samples = layout.samples;
        for (const std::string* problem : {&layout.unsupported, &layout.too_large, &layout.damaged, &layout.truncated})
            if (page.problem.empty()) page.problem = *problem;
        if (page.problem.empty()) page.depth = layout.depth;
        file.let_go();
        if (!list.add(std::move(page))) return;
    }
    if (found.count > found.places.size()) return list.end_for_memory();
    list.rest = std::move(found.rest);
    list.rest_kind = found.kind;
}

Image decode(const EncodedImage& file) {
    TiffLayout layout(file.bytes, file.probe.page);
    const bool zero_is_white = file.options.raw && layout.damaged.empty() && layout.shows_zero_white();
    if (file.options.raw) layout.leave_raw();
    if (!layout.decodable && layout.damaged.empty())
        file.refuse("truncated: " + layout.truncated, IoError::Kind::truncated);
    if (!layout.decodable) file.refuse("damaged: " + layout.damaged, IoError::Kind::damaged);
    if (layout.by_libtiff() && !TIFFIsCODECConfigured(static_cast<std::uint16_t>(layout.compression)))
        file.refuse("libtiff was built without the compression " + layout.compression_name());
    validate_tiles(file, layout);
    Image image;
    image.depth = layout.depth;
    image.samples = layout.finish == Finish::none ? layout.meaning : Samples::color;
    image.white = layout.white;
    image.alpha = layout.alpha;
    image.zero_is_white = zero_is_white;
    image.bands = layout.bands;
    if (!file.options.raw) {
        PageDescription described = describe_page(file.bytes, layout, file.probe.page.number);
        const bool gray = layout.finish == Finish::none && layout.meaning == Samples::color && layout.channels == 1;
        if (gray && !described.channel.empty()) image.bands = {std::move(described.channel)};
        image.pixel_size = std::move(described.pixel_size);
        layout.nodata_stands_in = file.options.nodata;
    }
    image.nodata = layout.nodata(image.nodata_problem);
    if (file.options.metadata) image.metadata = std::make_shared<const Metadata>(metadata_of(file.bytes, layout));
    image.pages = file.probe.pages;
    const auto no_memory = [&] { file.refuse("no memory for its strips or tiles", IoError::Kind::memory); };
    const std::uint64_t at_once = file.rows_at_once();
    std::optional<Rows> rows;
    std::optional<Mask> mask;
    try {
        rows.emplace(file, layout, at_once);
        mask.emplace(file, layout);
    } catch (const std::bad_alloc&) {
        no_memory();
    }
    for (std::uint64_t row = 0; row < layout.height; row += at_once) {
        const std::uint64_t count = std::min(at_once, layout.height - row);
        cv::Mat* pixels = nullptr;
        try {
            pixels = &rows->decode(row, count, image);
            mask->decode(row, count, image);
        } catch (const std::bad_alloc&) {
            no_memory();
        }
        file.give_rows(image, *pixels, row, count);  // what a receiver throws is not ours
    }
    if (file.strip_rows > 0) image.mask.release();
    file.put_upright(image, layout.orientation);
    return image;
}

}  // namespace

Probe probe_tiff_mask(const Bytes& file, std::uint64_t directory) {
    Probe found;
    found.page.directory = directory;
    if (directory == 0) {
        const TiffPages pages = first_tiff_page(file);
        if (!pages.places.empty()) found.page = pages.places.front();
    }
    TiffLayout layout(file, found.page, TiffLayout::Part::mask);
    found.set_size(layout.width, layout.height);
    found.pixel_bytes = 1;
    found.held_bytes = layout.longest;
    if (layout.decodable)  // rows, and a strip or tile as it is decoded
        found.mask_bytes = saturating_product(
            2 * layout.width, std::max(rows_of_mask(layout), std::min(layout.height, layout.strip_rows())));
    found.unsupported = std::move(layout.unsupported);
    found.damaged = std::move(layout.damaged);
    found.truncated = std::move(layout.truncated);
    found.too_large = std::move(layout.too_large);
    return found;
}

const ImageFormat tiff_format{
    tiff_format_name,
    {".tif", ".tiff"},
    16,
    matches,
    inspect,
    decode,
    {"TIFF, BigTIFF",
     {"libtiff", "libdeflate", "zlib", "zstd", "liblzma"},
     "signed and unsigned integers of 8, 16 and 32 bits, and of 64 bits whose values need 32; floats of 16, 32 and 64 "
     "bits; 9 to 15 bits as u16 unscaled, white 2^bits - 1; 1 to 7 bits as 0 to 255",
     "directories without overviews, thumbnails and masks; the pictures in SubIFDs of a thumbnail; the planes of "
     "stacks "
     "of ImageJ, MetaMorph and tifffile",
     "strips, tiles, planes, both byte orders, predictors, fill orders, also with missing lengths; omitted strips and "
     "tiles as nodata or 0; the mask of the image, inside or as FILE.msk; palettes as "
     "u8, or u16 where 16 bits of the map matter; zero-is-white inverted; gray, RGB, and bands with the names in "
     "GDAL's descriptions; alpha as stored, beside bands a band called alpha; YCbCr, LogLuv "
     "and JPEG as RGB; CMYK of 8 and 16 bits by the formula of cv::imread; CCITT, LZW, WebP, and LERC if libtiff has "
     "it",
     "other depths, mixed depths, more than 64 samples, Lab, CFA, other inks, "
     "old and lossless JPEG, JPEG 2000 and unknown compressions, big-endian LERC over 8 bits, "
     "volumes (ImageDepth), floats and integers of 64 bits "
     "whose zero is white"},
    find_pages,
    nullptr,
    true};

}  // namespace gpuhist::io
