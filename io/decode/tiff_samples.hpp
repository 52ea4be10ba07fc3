// Samples of a TIFF become pixels.
#pragma once

#include <opencv2/core/mat.hpp>
#include <optional>
#include <string>

#include "decode/tiff_layout.hpp"

namespace gpuhist::io {

/// Where the stored samples of an image go: its strips and tiles in any order, then the whole of it.
class TiffSamples {
  public:
    /// `pixels`: of the layout's depth and channels.
    TiffSamples(const TiffLayout& layout, cv::Mat& pixels);
    /// Lets the matrix stand for the rows from this one on.
    void begin_at(std::uint64_t row) { first_row_ = row; }

    /// Where a piece may be decoded to, its rows being the matrix's; null where its samples must move.
    unsigned char* in_place(const TiffPiece& piece) const;
    /// Puts a decoded piece into the matrix. `from` may be the result of `in_place`; it is changed. Returns why samples
    /// are not read, or nothing.
    std::string put(const TiffPiece& piece, unsigned char* from);

  private:
    int row_of(std::uint64_t y) const { return static_cast<int>(y - first_row_); }
    template <class Sample>
    std::string put_rows(const TiffPiece& piece, unsigned char* from);
    void put_chroma(const TiffPiece& piece, const unsigned char* from);

    const TiffLayout& layout_;
    cv::Mat& pixels_;
    std::optional<std::uint64_t> nodata_beyond_;  ///< as TiffLayout::nodata_beyond
    std::uint64_t first_row_ = 0;
    std::vector<std::uint16_t> colors_;   ///< of a palette: blue, green and red of each entry
    std::vector<std::uint8_t> expanded_;  ///< of samples under 8 bits: what they stand for
};

/// Fills a strip or tile that the file leaves out, as if it had been decoded: with the value that GDAL says stands for
/// no data, or 0.
void fill_sparse(const TiffLayout& layout, const TiffPiece& piece, unsigned char* to);

/// Conversions of Finish, in place: YCbCr to colors as in libtiff, and LogLuv as in `cv::imread`.
void finish_ycbcr(const TiffLayout& layout, cv::Mat& pixels);
void finish_log_luv(cv::Mat& pixels);
/// Ink as `cv::imread` turns that of a JPEG into colors. `colors` has three channels.
void finish_cmyk(const cv::Mat& ink, cv::Mat& colors);

}  // namespace gpuhist::io
