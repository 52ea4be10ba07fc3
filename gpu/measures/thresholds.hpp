// Thresholds between dark and bright pixels.
#pragma once

#include "measures/measure.hpp"

namespace gpuhist::measures {

/// Pixels up to a threshold are dark. N. Otsu, IEEE Transactions on Systems, Man, and Cybernetics 9 (1979); G. W. Zack,
/// W. E. Rogers and S. A. Latt, Journal of Histochemistry and Cytochemistry 25 (1977); C. H. Li and P. K. S. Tam,
/// Pattern Recognition Letters 19 (1998).
struct Thresholds {
    static constexpr Measure measure = Measure::thresholds;
    static constexpr const char* images = "--quality, integers of 8 and 16 bits, two values";
    static constexpr MeasureColumn columns[] = {
        {measure, "otsu", "sample value", ColumnType::number,
         "Threshold of luma or gray by Otsu's method: the lowest one that maximizes the variance between classes.",
         "cv::THRESH_OTSU, skimage.filters.threshold_otsu", images},
        {measure, "triangle", "sample value", ColumnType::number,
         "Threshold of luma or gray by the triangle algorithm, over all values of the type.", "cv::THRESH_TRIANGLE",
         images},
        {measure, "li", "sample value", ColumnType::number,
         "Threshold of luma or gray with the lowest cross entropy, iterated from the mean (Li, Tam).",
         "skimage.filters.threshold_li", images}};

    static std::vector<MeasureValue> values(const Analysis& image);
};

}  // namespace gpuhist::measures
