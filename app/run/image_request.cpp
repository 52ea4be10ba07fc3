#include "run/image_request.hpp"

#include "gpuhist/analysis.hpp"
#include "gpuhist/io/report.hpp"

namespace gpuhist::app {
namespace {

std::string percents(const Percentiles& percentiles) {
    std::string text;
    for (std::size_t i = 0; i < percentiles.size(); ++i)
        text.append(text.empty() ? "" : ",").append(io::shortest(percentiles.micro(i) / 1e6));
    return text;
}

std::string validity_text(const Validity& validity, bool nodata_of_file) {
    const auto of = [](const std::optional<Channel>& channel) {
        return channel ? std::string(to_string(*channel)) + ":" : std::string();
    };
    std::string text = nodata_of_file ? "tag " : "";
    for (const auto& [channel, value] : validity.nodata) text += of(channel) + io::shortest(value) + " ";
    for (const auto& [channel, lowest, highest] : validity.valid)
        text += of(channel) + io::shortest(lowest) + "," + io::shortest(highest) + " ";
    return text + (validity.nodata_any ? "any " : "");
}

}  // namespace

std::optional<double> nodata_of(const io::Image& image, std::string& problem) {
    problem = image.nodata_problem;
    if (!image.nodata) return std::nullopt;
    const auto held = nodata_in(image.depth, *image.nodata);
    if (held && (traits_of(image.depth).floating || *held == *image.nodata)) return image.nodata;
    problem = "its nodata tag says " + io::shortest(*image.nodata) + ", which is no value of " +
              to_string(image.depth) + " samples";
    return std::nullopt;
}

AnalysisRequest ImageRequest::without_rules() const {
    AnalysisRequest request;
    if (histogram.bins != 0) request.bins = histogram.bins;
    request.range = histogram.range;
    request.percentiles = percentiles;
    request.measures = measures;
    return request;
}

void ImageRequest::add_to(std::map<std::string, std::string>& fingerprint) const {
    const auto& range = histogram.range;
    fingerprint["--percentile-columns"] = percents(percentiles);
    fingerprint["--bins"] = std::to_string(histogram.bins);
    fingerprint["--range"] = range ? io::shortest(range->lower) + "," + io::shortest(range->upper) : "";
    fingerprint["--white"] = white ? io::shortest(*white) : "";
    fingerprint["--nodata, --valid or --nodata-any"] = validity_text(validity, nodata_of_file);
    fingerprint["--quality"] = measures.text();
    fingerprint["--alpha"] = alpha_text(validity);
}

}  // namespace gpuhist::app
