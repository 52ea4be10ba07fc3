/// Files that appear whole: images, and any other bytes.
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

namespace gpuhist::io {

/// Contents of a file that come one after the other: a function that gives each to `take`.
using Pieces = std::function<void(const std::function<void(const void* data, std::size_t bytes)>& take)>;

/// File that is written where it is to be, without a name until all of it is there: unless it gets one it goes again,
/// however the process ends. File systems that know no such files (NFS) give it a temporary name, which no other
/// process uses and no link leads away from. Functions throw IoError naming the file's name and the cause.
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
    /// Writes at a place, in any order, of a file that is not written otherwise.
    void write_at(std::uint64_t place, const void* data, std::size_t bytes);
    /// Brings to disk what was written.
    void sync();
    /// Lets go of its descriptor: it has a temporary name until it gets its own.
    void set_aside();
    std::uint64_t bytes() const { return bytes_; }
    const std::filesystem::path& path() const { return path_; }
    /// Gives it its name, in place of the file that has it.
    void replace();
    /// Gives it its name, unless one has it. Returns whether it did.
    bool create();

  private:
    std::filesystem::path temporary_name() const;
    int link_to(const std::filesystem::path& name) const;
    void close();

    std::filesystem::path path_;
    std::filesystem::path temporary_;  ///< empty: it has no name yet
    int file_ = -1;
    std::uint64_t bytes_ = 0;
};

/// Gives a file another name, unless one has it. Returns 0, or the system's error: EEXIST where one has.
int rename_to_new(const std::filesystem::path& from, const std::filesystem::path& to);

/// Writes a file so that a reader never sees half of it. Every write and the close are checked. Throws IoError naming
/// the path and the cause, and what `pieces` throws; nothing is then left.
void write_file(const std::filesystem::path& path, const Pieces& pieces);
void write_file(const std::filesystem::path& path, const void* data, std::size_t bytes);
void write_file(const std::filesystem::path& path, const std::string& text);

/// What writes a file: `write_file`, or another that does more.
using FileWriter = std::function<void(const std::filesystem::path& path, const Pieces& pieces)>;
/// `write_file`, into a directory that is made where it is not there.
FileWriter whole_file_writer();

/// Prefix of the temporary names of this process, and of no other's: files of such names that a killed process left may
/// be removed.
const std::string& temporary_prefix();

/// Extension of the format that keeps every sample of an image: `.png` for u8 and u16, `.tiff` for others and for
/// bands.
const char* lossless_extension(Depth depth, Samples samples = Samples::color);

/// Encodes in the format of the path's extension (.png for 8U and 16U, .tiff for any), without loss. Bands need .tiff.
/// `depth` says what the matrix's does not: 32S may be u32. Throws IoError where that fails. Safe to call from several
/// threads.
std::vector<unsigned char> encode_image(const std::filesystem::path& path, const cv::Mat& image,
                                        Samples samples = Samples::color, std::optional<Depth> depth = std::nullopt);

/// Encoder of an image whose rows come one after the other: the bytes of `encode_image`. Functions throw IoError.
class RowEncoder {
  public:
    virtual ~RowEncoder() = default;
    /// Encodes the next rows, of the image's width and type.
    virtual void add(const cv::Mat& rows) = 0;
    /// Ends the image, all rows of which were added.
    virtual void finish() = 0;
};

/// Begins to encode an image of these sides and OpenCV's type into a file, which must outlive the encoder; otherwise as
/// `encode_image`, by the file's path.
std::unique_ptr<RowEncoder> encode_rows(NewFile& file, cv::Size sides, int type, Samples samples = Samples::color,
                                        std::optional<Depth> depth = std::nullopt);

/// Encodes, and writes with `write_file`.
void write_image(const std::filesystem::path& path, const cv::Mat& image, Samples samples = Samples::color,
                 std::optional<Depth> depth = std::nullopt);

}  // namespace gpuhist::io
