/// Images of the tables of a run, one by one, with the numbers of each.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpuhist/flags.hpp"
#include "gpuhist/io/csv_rows.hpp"

namespace gpuhist::app {

/// Measures that flags need, by their names, each with its number.
inline constexpr std::pair<std::string_view, std::optional<double> FlagNumbers::*> flag_measures[] = {
    {"sharpness_laplacian", &FlagNumbers::sharpness_laplacian},
    {"sharpness_tenengrad", &FlagNumbers::sharpness_tenengrad},
    {"noise", &FlagNumbers::noise},
    {"contrast_rms", &FlagNumbers::contrast_rms},
    {"brightness_p5", &FlagNumbers::brightness_p5},
    {"brightness_p99", &FlagNumbers::brightness_p99},
    {"gray", &FlagNumbers::gray},
};

/// Tables of images. Each call opens a table at its beginning. There may be no `quality`: null.
struct ImageTables {
    std::function<io::CsvRows()> stats, quality;
};

/// Reader of images from two tables: a row of quality.csv with the rows of stats.csv that belong to it. A file that was
/// given several times in a row has as many rows of quality.csv, and each of these has as many rows of stats.csv. The
/// names of bands do not tell images apart: a file may give two bands the same.
///
/// Without quality.csv, a file is a single image, however often it was given in a row. Functions throw IoError.
class MeasuredImages {
  public:
    explicit MeasuredImages(const ImageTables& tables);

    /// Moves to the first image, or to the next. Returns false at the end.
    bool next();
    std::string_view path() const { return quality_ ? quality_->text(quality_path_) : std::string_view(file_); }
    const FlagNumbers& numbers() const { return image_; }
    /// Name of the depth.
    const std::string& depth() const { return depth_; }
    /// Reader at the row of the image. There must be such a table.
    const io::CsvRows& quality() const { return *quality_; }
    bool has_quality() const { return quality_.has_value(); }

  private:
    void read_file();
    void add_channel();

    io::CsvRows stats_;
    std::optional<io::CsvRows> quality_, ahead_;
    std::size_t path_, width_, height_, depth_column_, channel_, white_, min_, max_, entropy_, low_, high_, nan_, inf_,
        quality_path_ = 0;
    std::vector<std::pair<std::size_t, std::optional<double> FlagNumbers::*>> measures_;
    std::string file_, depth_;
    FlagNumbers image_, about_;                   ///< `about_`: of the file, without channels
    std::vector<FlagNumbers::Channel> channels_;  ///< of the file, as often as it was given
    std::size_t times_ = 0, times_left_ = 0;
    bool stats_left_ = false, ahead_left_ = false;
};

}  // namespace gpuhist::app
