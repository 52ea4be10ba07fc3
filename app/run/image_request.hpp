// What is asked of every image of a run, by the command and by Python.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "gpuhist/histogram.hpp"
#include "gpuhist/io/image.hpp"
#include "gpuhist/request.hpp"

namespace gpuhist::app {

/// Value that stands for no data in an image, by what its file says; absent where no sample is it. `problem` is then
/// why, in words, or empty where the file says nothing.
std::optional<double> nodata_of(const io::Image& image, std::string& problem);

/// Request for every image, whatever its depth.
struct ImageRequest {
    HistogramOptions histogram;
    Percentiles percentiles;      ///< that have a column
    std::optional<double> white;  ///< value that stands for white in every image; absent: the image's own
    Validity validity;            ///< which samples are valid
    Measures measures;            ///< of whole images
    bool nodata_of_file = false;  ///< beside its values the one that a file says stands for no data

    /// Request for an analysis, without the rules for valid samples, which follow from the file too.
    AnalysisRequest without_rules() const;
    /// Adds what changes results, by option, to the fingerprint of a run.
    void add_to(std::map<std::string, std::string>& fingerprint) const;
};

}  // namespace gpuhist::app
