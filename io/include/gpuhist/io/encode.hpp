/// Files that appear complete: images, and any other bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <opencv2/core/mat.hpp>
#include <optional>
#include <string>
#include <vector>

#include "gpuhist/image.hpp"
#include "gpuhist/io/metadata.hpp"

namespace gpuhist::io {

/// Contents of a file in pieces: a function that passes each piece to `take`, in order.
using Pieces = std::function<void(const std::function<void(const void* data, std::size_t bytes)>& take)>;

/// New file, which has no name until it is complete. If it gets no name, it vanishes, however the process ends. File
/// systems without such files (NFS) give it a temporary name, which no other process uses and which is not followed as
/// a link. Functions throw IoError with the path and the cause.
class NewFile {
  public:
    explicit NewFile(std::filesystem::path path);
    NewFile(NewFile&& other) noexcept;
    NewFile& operator=(NewFile&&) = delete;
    ~NewFile();

    void write(const void* data, std::size_t bytes);
    void write(const std::string& text) { write(text.data(), text.size()); }
    void write(const Pieces& pieces) {
        pieces([this](const void* data, std::size_t bytes) { write(data, bytes); });
    }
    /// Writes at a place. Calls may come in any order; do not mix them with `write`.
    void write_at(std::uint64_t place, const void* data, std::size_t bytes);
    /// Brings the written data to disk.
    void sync();
    /// Closes the descriptor. The file has a temporary name until it gets its own.
    void set_aside();
    std::uint64_t bytes() const { return bytes_; }
    const std::filesystem::path& path() const { return path_; }
    /// Path by which this process can read the written data before the file has its name.
    std::filesystem::path readable_path() const;
    /// Gives the file its name, and replaces any file with that name.
    void replace();
    /// Gives the file its name, unless another file has it. Returns whether it did.
    bool create();

  private:
    std::filesystem::path temporary_name() const;
    int link_to(const std::filesystem::path& name) const;
    void close();

    std::filesystem::path path_;
    std::filesystem::path temporary_;  ///< empty: the file has no name yet
    int file_ = -1;
    std::uint64_t bytes_ = 0;
};

/// Renames a file, unless another file has the new name. Returns 0 or the error of the system: EEXIST if there is
/// another file.
int rename_to_new(const std::filesystem::path& from, const std::filesystem::path& to);

/// Writes a file that appears complete: a reader never sees half of it. Every write and the close are checked. Throws
/// IoError with the path and the cause, and the exceptions of `pieces`; then no file is left.
void write_file(const std::filesystem::path& path, const Pieces& pieces);
void write_file(const std::filesystem::path& path, const void* data, std::size_t bytes);
void write_file(const std::filesystem::path& path, const std::string& text);

/// Function that writes a file: `write_file`, or another one that does more.
using FileWriter = std::function<void(const std::filesystem::path& path, const Pieces& pieces)>;
/// Returns `write_file` for directories that may not exist yet: they are made.
FileWriter whole_file_writer();

/// Prefix of the temporary names of this process and no other. If a killed process left files with such names, you may
/// remove them.
const std::string& temporary_prefix();

/// Extension of the format that keeps every sample of an image: `.png` for u8 and u16, `.tiff` for other depths and for
/// bands.
const char* lossless_extension(Depth depth, Samples samples = Samples::color);

/// Compression of a TIFF.
enum class TiffCompression : std::uint8_t { none, lzw, deflate, zstd };

/// Name of a compression in options.
constexpr const char* to_string(TiffCompression compression) {
    constexpr const char* words[] = {"none", "lzw", "deflate", "zstd"};
    return words[static_cast<std::size_t>(compression)];
}

/// Form of an encoded image beside its samples.
struct EncodeOptions {
    TiffCompression compression = TiffCompression::none;
    bool predictor = true;               ///< whether compression of a TIFF is of the differences of neighbors
    std::optional<Metadata> metadata{};  ///< is written into a TIFF; its tiles too, where TIFF allows their sides
    /// Level of a PNG: 0 is not compressed, 1 is fast, 9 is the smallest.
    int png_level = 1;
    /// Most threads that compress a PNG, the calling one included. The bytes do not depend on it.
    int threads = 1;
};

/// Encodes an image without loss in the format of the extension of the path: .png for 8U and 16U, .tiff for any depth.
/// Bands need .tiff. `depth` is the depth if OpenCV lacks it: 32S may be u32. Throws IoError. May be called by several
/// threads.
std::vector<unsigned char> encode_image(const std::filesystem::path& path, const cv::Mat& image,
                                        Samples samples = Samples::color, std::optional<Depth> depth = std::nullopt,
                                        const EncodeOptions& options = {});

/// Encoder of an image whose rows come one after the other. It makes the bytes of `encode_image`. Functions throw
/// IoError.
class RowEncoder {
  public:
    virtual ~RowEncoder() = default;
    /// Encodes the next rows. They have the width and the type of the image.
    virtual void add(const cv::Mat& rows) = 0;
    /// Ends the image, after all of its rows were added.
    virtual void finish() = 0;
};

/// Begins to encode an image with these sides and this type of OpenCV into a file, which must outlive the encoder.
/// Otherwise as `encode_image`, with the path of the file.
std::unique_ptr<RowEncoder> encode_rows(NewFile& file, cv::Size sides, int type, Samples samples = Samples::color,
                                        std::optional<Depth> depth = std::nullopt, const EncodeOptions& options = {});

/// Places in the list of the TIFFs, of one page each, whose pixels have the sides and the type of the first one. They
/// were made by `encode_rows`. Throws IoError.
std::vector<std::size_t> alike_tiffs(const std::vector<std::filesystem::path>& pages);

/// Writes TIFFs of one page each, which were made by `encode_rows`, as the pages of one file. `whole`: they are all
/// pages of a stack, so what the first says about the stack is kept. Throws IoError.
void join_tiffs(NewFile& to, const std::vector<std::filesystem::path>& pages, bool whole);

/// Encodes an image as `encode_image`, and writes it with `write_file`.
void write_image(const std::filesystem::path& path, const cv::Mat& image, Samples samples = Samples::color,
                 std::optional<Depth> depth = std::nullopt);

/// Encodes a small picture, an 8-bit gray or BGR image, as JPEG of a quality from 1 to 100. Throws IoError, and
/// InvalidArgument for another image.
std::vector<unsigned char> encode_jpeg(const cv::Mat& image, int quality);

}  // namespace gpuhist::io
