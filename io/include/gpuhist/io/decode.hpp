/// Images from files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <opencv2/core/mat.hpp>
#include <optional>
#include <string>
#include <vector>

#include "gpuhist/color_space.hpp"
#include "gpuhist/io/image.hpp"

namespace gpuhist::io {

/// Treatment of a file that is damaged or truncated.
enum class OnDamaged { error, accept };

struct FilePages;

/// Facts of an image that decide whether it is delivered in strips.
struct StripFacts {
    Depth depth = Depth::u8;
    bool turned = false;  ///< whether it is stored in another orientation than upright
    bool bands = false;   ///< whether some of its samples are neither colors nor alpha
    bool stored = false;  ///< whether its samples are not compressed, so that decoding them again costs little
};

/// Receiver of images that are too large for memory. They come in strips, from the top to the bottom.
struct Strips {
    std::uint64_t strip_bytes = 1 << 25;                ///< approximate bytes of a strip; more if the file needs it
    std::uint64_t max_pixels = std::uint64_t{1} << 36;  ///< replaces DecodeOptions::max_pixels
    /// Function that returns the number of bytes up to which an image still comes whole. Null: 0.
    std::function<std::uint64_t(const StripFacts&)> whole_bytes{};
    /// Function that returns the reason why an image is not delivered in strips, for a message; empty if it is.
    std::function<std::string(const StripFacts&)> refusal;
    /// Function called with each strip. Its Image has the facts of the image, and as `pixels` the rows from `row` on,
    /// as they are stored, not turned upright. The pixels stay until the next call returns, so another thread may read
    /// them while the next strip is decoded; there is memory for two strips. Exceptions are passed on.
    std::function<void(const Image& strip, std::uint64_t row)> take;
    /// Function called after the last strip. Returns whether to deliver all strips once more. Null: they come once.
    /// Exceptions are passed on.
    std::function<bool()> again;
};

/// Layout of a file that holds raw samples and no header: row by row, the channels interleaved. 1 channel is gray, 3
/// are red, green and blue, 4 have alpha too, and other numbers are bands.
struct RawArray {
    Depth depth = Depth::u8;
    std::uint64_t width = 0, height = 0, channels = 1;
    std::uint64_t offset = 0;  ///< bytes before the samples
    bool big_endian = false;
};

/// Options of a decoder.
struct DecodeOptions {
    std::uint64_t max_pixels = std::uint64_t{1}
                               << 30;  ///< limit of width × height, which the header tells before memory is taken
    OnDamaged on_damaged = OnDamaged::error;  ///< accept: decode the sound part of the file
    cv::MatAllocator* allocator = nullptr;    ///< allocator of the pixels; null: that of OpenCV
    /// Most threads that decode one image, the calling one included: strips and tiles of TIFF, blocks of OpenEXR, and
    /// code blocks of JPEG 2000 are decoded at the same time. The pixels and errors do not depend on it.
    int threads = 1;
    /// Replaces `threads` if set: asked again before each strip of a TIFF, so that images decoded at the same time
    /// share the threads that become free. It must be safe to call from any thread.
    std::function<int()> threads_now{};
    /// Function called before memory is taken, with the bytes of the file and the largest number of bytes of the
    /// pixels, which is 0 until the header is known. For a pipe, it is called whenever more memory is needed. It may
    /// wait. Exceptions are passed on.
    std::function<void(std::uint64_t file_bytes, std::uint64_t pixel_bytes)> admit;
    /// Function called with the sides of the image as they are stored, as soon as the header is known, and before
    /// `admit` is called for the pixels. Exceptions are passed on.
    std::function<void(std::uint64_t width, std::uint64_t height)> sides;
    std::uint64_t max_pipe_bytes = std::uint64_t{1} << 32;  ///< limit of the bytes of a pipe; 0 refuses pipes
    /// Function called repeatedly while a pipe is read, at least every 50 ms. Exceptions are passed on.
    std::function<void()> while_reading;
    /// Function called once with the name of a pipe that nobody has opened for writing within two seconds.
    std::function<void(const std::string& name)> unwritten;
    /// Page to read, from 1; messages then name NAME#PAGE. 0: the first page, or in an animated PNG the picture that
    /// programs without animation show, which need not be a frame.
    std::uint64_t page = 0;
    /// Whether to read samples as masks and label images need them: palette indices and samples of fewer than 8 bits as
    /// they are stored, without expansion, inversion, colors, or alpha from a transparent color.
    bool raw = false;
    /// Whether to read the mask of a TIFF: the one in the file (NewSubfileType 4), or else FILE.msk beside it, as GDAL
    /// writes them.
    bool masks = true;
    /// Whether nodata values that 32 bits don't hold are read: 64-bit integers equal to the file's nodata become the
    /// highest value of u32, or the lowest of s32, which is then the nodata of the image. Otherwise they are refused,
    /// as other values of more than 32 bits are.
    bool nodata = true;
    /// Color space to which colors and gray are converted (`convert_colors`). The image then has three bands, named as
    /// the channels of the space, and alpha as a fourth, `opacity`. Samples of OpenEXR, Radiance HDR and PFM are
    /// linear, others are encoded as sRGB has them; profiles are not applied. Pixels with a color that is the file's
    /// nodata are excluded by the image's mask. Other bands are refused. Ignored for `raw` samples.
    std::optional<ColorSpace> space{};
    std::optional<double> white;             ///< value that stands for white there; absent: that of the file
    bool mask_transparent = false;           ///< whether that mask excludes pixels with alpha 0 too
    bool metadata = false;                   ///< whether to read the metadata that copies of a TIFF keep
    std::shared_ptr<const FilePages> pages;  ///< pages of the same file, from `probe_pages`; null: they are searched
    std::uint64_t most_page_bytes = std::uint64_t{1} << 30;  ///< limit of the memory for their list
    /// Receiver of larger images from files whose samples can be decoded in rows: TIFF unless it is compressed as a
    /// single strip, PNG without interlacing, baseline JPEG, binary netpbm, FITS, .npy in C order. The returned image
    /// then has no pixels. Null: all images come whole.
    const Strips* strips = nullptr;
    /// Layout of the samples, if files have no format but hold raw samples, from the offset to their end. Such a file
    /// has one page.
    std::optional<RawArray> array;
    /// Function that decides whether a JPEG is left encoded because the caller decodes it, on a GPU for example. It
    /// gets the bytes of a file whose header was checked, after `admit`. The returned image then has these bytes, and
    /// all facts about the file. Null: every JPEG is decoded, as are files of more than `most_encoded_bytes`.
    /// Exceptions are passed on.
    std::function<bool(const std::vector<unsigned char>& bytes)> leave_encoded;
    /// Memory, with any contents, into which JPEGs are read that may be left encoded; an image that is left encoded
    /// takes it over. Null: each image gets memory of its own, and who reads many waits for the kernel, which clears
    /// it.
    std::vector<unsigned char>* encoded_memory = nullptr;
    static constexpr std::uint64_t most_encoded_bytes = std::uint64_t{1} << 28;
};

/// Gives an image that was left encoded its pixels, which were decoded as they are stored. They are turned upright, in
/// memory of the allocator (null: that of OpenCV). Throws IoError without memory.
void take_pixels(Image& image, cv::Mat pixels, cv::MatAllocator* allocator = nullptr);

/// Path of a mask that may be beside a file: FILE.msk. Empty if the name of the file is that of another format than
/// TIFF.
std::string mask_path_of(const std::string& path);

/// Decodes an image, or the requested page of several. Returns the samples as the file stores them, or throws an
/// IoError that names the cause. `list_formats()` has the formats, with the variants that are read and those that are
/// refused.
///
/// The result has 1 to 64 samples per pixel, and says what they mean. Gray of fewer than 8 bits is expanded to 0 … 255,
/// a palette becomes its colors, and zero-is-white is inverted. The orientation of JPEG and TIFF is applied, as
/// `cv::imread` does it. A file is damaged if its codec or a checksum says so, and truncated if bytes are missing. With
/// `accept`, the result then has the samples that the decoder makes of the rest, and Image::damage says so.
///
/// `name` is for messages. Prints nothing. May be called by several threads. Throws IoError for bytes that are not an
/// image (the message says what they look like), for variants that are not read (the message names them), for more
/// pixels than allowed or than the file can hold, and for damaged and truncated files.
Image decode_image(const std::vector<unsigned char>& bytes, const std::string& name, const DecodeOptions& options = {});

/// Reads an image from a file, as `decode_image`. The file is a regular file, or a named pipe if pipes are allowed and
/// no page is asked for. Opening it never blocks. If its first bytes belong to no format or claim too many pixels, the
/// rest is not read. Of a TIFF, PNG, JPEG, netpbm, FITS or .npy file that is not small, only the needed parts are in
/// memory. Throws IoError as `read_bytes` too.
Image read_image(const std::filesystem::path& path, const DecodeOptions& options = {});

/// Reads an image by `cv::imread(IMREAD_UNCHANGED)`, in place of gpuhist's own decoders. The library gpuhist-opencv is
/// loaded on the first call. Only the limits of the options apply: pixels, memory and allocator. The samples are those
/// that OpenCV makes; see gpuhist/io/imread.hpp. Throws IoError if the library is not installed, if OpenCV makes no
/// image of the file, and for pages after the first.
Image read_image_by_opencv(const std::filesystem::path& path, const DecodeOptions& options = {});
/// Reason why `read_image_by_opencv` can read nothing; empty if it can. Then the version of OpenCV behind it.
std::string opencv_decoder_problem();
std::string opencv_decoder_version();

/// Reads an image from an open file of any kind, such as standard input. It is read like a pipe, from its present place
/// to its end. A page is read from a regular file, from its beginning. The caller keeps the descriptor. `name` is for
/// messages.
Image read_image(int descriptor, const std::string& name, const DecodeOptions& options = {});

}  // namespace gpuhist::io
