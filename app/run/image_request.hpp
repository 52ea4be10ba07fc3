// Request for every image of a run, from the command or from Python.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "gpuhist/color_space.hpp"
#include "gpuhist/histogram.hpp"
#include "gpuhist/io/decode.hpp"
#include "gpuhist/io/image.hpp"
#include "gpuhist/request.hpp"
#include "gpuhist/statistics.hpp"

namespace gpuhist::app {

/// Value that stands for no data in an image, by what its file says; absent where no sample is it. `problem` is then
/// why, in words, or empty where the file says nothing.
std::optional<double> nodata_of(const io::Image& image, std::string& problem);

/// Reason why rules for valid samples cannot name such a channel, or nothing: those that are made of others. Any name
/// may be that of a band.
std::string no_channel_of_rules(const std::string& name);
/// Adds a value that is nodata, or an interval of valid ones, in the channel of that name; absent: in all but alpha.
void add_nodata(Validity& validity, const std::optional<std::string>& name, double value);
void add_valid(Validity& validity, const std::optional<std::string>& name, double lowest, double highest);

/// Request for every image, whatever its depth.
struct ImageRequest {
    HistogramOptions histogram;
    Percentiles percentiles;          ///< that have a column
    bool robust = false;              ///< robust numbers have columns
    double clip_sigma = 3;            ///< of these
    std::optional<double> white;      ///< value that stands for white in every image; absent: the image's own
    Validity validity;                ///< which samples are valid
    Measures measures;                ///< of whole images
    std::int64_t quality_scale = 0;   ///< longest side of the images whose sharpness and noise are measured; 0: any
    bool nodata_of_file = true;       ///< beside its values the one that a file says stands for no data
    bool masks_of_file = true;        ///< pixels that a file masks are excluded
    bool by_opencv = false;           ///< OpenCV decodes the images
    std::optional<ColorSpace> space;  ///< in which colors are measured; absent: as they are stored

    /// Numbers that have columns.
    StatisticsRequest statistics() const {
        return {percentiles, robust ? std::optional<double>(clip_sigma) : std::nullopt};
    }
    /// Sets what decides about the samples of images that are decoded.
    void set(io::DecodeOptions& decode) const;
    /// Whether rules for valid samples name channels.
    bool rules_name_channels() const;
    /// Request for an analysis, without the rules for valid samples, which follow from the file too.
    AnalysisRequest without_rules() const;
    /// Adds all settings that change results, by option, to the fingerprint of a run.
    void add_to(std::map<std::string, std::string>& fingerprint) const;
};

}  // namespace gpuhist::app
