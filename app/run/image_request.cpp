#include "run/image_request.hpp"

#include <algorithm>

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

std::string validity_text(const ImageRequest& request) {
    const Validity& validity = request.validity;
    const auto of = [](const std::optional<Channel>& channel) {
        return channel ? std::string(to_string(*channel)) + ":" : std::string();
    };
    std::string text = request.masks_of_file ? "" : "none ";
    if (request.nodata_of_file) text += "tag ";
    for (const auto& [channel, value] : validity.nodata) text += of(channel) + io::shortest(value) + " ";
    for (const auto& [band, value] : validity.nodata_of_bands) text += band + ":" + io::shortest(value) + " ";
    for (const auto& [channel, lowest, highest] : validity.valid)
        text += of(channel) + io::shortest(lowest) + "," + io::shortest(highest) + " ";
    for (const auto& [band, lowest, highest] : validity.valid_of_bands)
        text += band + ":" + io::shortest(lowest) + "," + io::shortest(highest) + " ";
    return text + (validity.nodata_any ? "any " : "");
}

}  // namespace

std::optional<double> nodata_of(const io::Image& image, std::string& problem) {
    problem = image.nodata_problem;
    if (!image.nodata) return std::nullopt;
    const auto held = nodata_in(image.depth, *image.nodata);
    if (held) return image.nodata;
    problem = "its nodata tag says " + io::shortest(*image.nodata) + ", which is not a value of " +
              to_string(image.depth) + " samples";
    return std::nullopt;
}

std::string no_channel_of_rules(const std::string& name) {
    const auto channel = channel_of(name);
    if (!name.empty() && channel != Channel::luma && channel != Channel::all) return {};
    return "'" + name + "' is not a channel of a file: give gray, red, green, blue, alpha, c0 to c" +
           std::to_string(most_channels - 1) + ", extra1 to extra" + std::to_string(most_channels - 3) +
           ", or the name of a band";
}

void add_nodata(Validity& validity, const std::optional<std::string>& name, double value) {
    const auto channel = name ? channel_of(*name) : std::nullopt;
    if (name && !channel)
        validity.nodata_of_bands.push_back({*name, value});
    else
        validity.nodata.push_back({channel, value});
}

void add_valid(Validity& validity, const std::optional<std::string>& name, double lowest, double highest) {
    const auto channel = name ? channel_of(*name) : std::nullopt;
    if (name && !channel)
        validity.valid_of_bands.push_back({*name, lowest, highest});
    else
        validity.valid.push_back({channel, lowest, highest});
}

bool ImageRequest::rules_name_channels() const {
    const auto named = [](const auto& rule) { return rule.channel.has_value(); };
    return !validity.nodata_of_bands.empty() || !validity.valid_of_bands.empty() ||
           std::any_of(validity.nodata.begin(), validity.nodata.end(), named) ||
           std::any_of(validity.valid.begin(), validity.valid.end(), named);
}

void ImageRequest::set(io::DecodeOptions& decode) const {
    decode.masks = masks_of_file;
    decode.nodata = nodata_of_file;
    decode.space = space;
    decode.white = white;
    decode.mask_transparent = traits_of(validity.alpha).excludes;
}

AnalysisRequest ImageRequest::without_rules() const {
    AnalysisRequest request;
    if (histogram.bins != 0) request.bins = histogram.bins;
    request.range = histogram.range;
    request.percentiles = percentiles;
    request.measures = measures;
    request.measures.reduce_to(static_cast<std::uint32_t>(quality_scale));
    if (white) request.measures.refer_to(*white);
    return request;
}

void ImageRequest::add_to(std::map<std::string, std::string>& fingerprint) const {
    const auto& range = histogram.range;
    fingerprint["--percentile-columns"] = percents(percentiles);
    fingerprint["--decoder"] = by_opencv ? "opencv" : "";
    fingerprint["--robust or --clip-sigma"] = robust ? io::shortest(clip_sigma) : "";
    fingerprint["--bins"] = std::to_string(histogram.bins);
    fingerprint["--range"] = range ? io::shortest(range->lower) + "," + io::shortest(range->upper) : "";
    fingerprint["--white"] = white ? io::shortest(*white) : "";
    fingerprint["--nodata, --valid or --nodata-any"] = validity_text(*this);
    fingerprint["--quality"] = measures.text();
    fingerprint["--quality-scale"] = quality_scale > 0 ? std::to_string(quality_scale) : "";
    fingerprint["--alpha"] = alpha_text(validity);
    fingerprint["--space"] = space ? traits_of(*space).name : "";
}

}  // namespace gpuhist::app
