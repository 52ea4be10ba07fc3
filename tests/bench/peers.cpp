#include "bench/peers.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

namespace gpuhist::bench {

std::string compare_counts(const std::string& peer, const ChannelAnalysis& ours,
                           const std::vector<std::uint32_t>& theirs, bool floats) {
    const auto mismatch = [&](const std::string& what) {
        throw Mismatch(peer + " and gpuhist differ in channel " + to_string(ours.channel) + ": " + what);
    };
    if (ours.counts.size() != theirs.size()) mismatch("numbers of bins");
    std::uint64_t ours_below = 0, below = 0, moved = 0;  // samples under the current bin
    for (std::size_t bin = 0; bin < theirs.size(); ++bin) {
        const std::uint64_t count = theirs[bin], here = ours.counts[bin];
        const std::string place = "bin " + std::to_string(bin) + " holds " + std::to_string(count) + ", and " +
                                  std::to_string(here) + " of gpuhist's";
        if (!floats && here != count) mismatch(place);
        moved += ours_below > below ? ours_below - below : below - ours_below;
        // Ours up to this bin lie between theirs up to the bin before and up to the bin after.
        if (floats && (ours_below + here < below || ours_below > below + count)) mismatch(place);
        ours_below += here;
        below += count;
    }
    // A highest sample can pass the upper end in single precision.
    const bool past_the_end = floats && below < ours_below && ours_below - below <= ours.counts.back();
    if (ours_below != below && !past_the_end)
        mismatch(std::to_string(below) + " samples, and " + std::to_string(ours_below));
    if (past_the_end) moved += ours_below - below;
    return moved ? "agrees but for " + std::to_string(moved) + " samples on the edges of bins" : "agrees";
}

const ChannelAnalysis& channel_in_memory_order(const Analysis& analysis, int channel) {
    constexpr std::array colors{Channel::blue, Channel::green, Channel::red, Channel::luma};
    const ChannelAnalysis* found = analysis.find(colors[static_cast<std::size_t>(channel)]);
    return found ? *found : analysis.channels.at(0);
}

OpenCvPeer::OpenCvPeer(const cv::Mat& image) : image_(image), bins_(image.depth() == CV_16U ? 65536 : 256) {
    upper_ = static_cast<float>(bins_);
}

void OpenCvPeer::run() {
    if (image_.depth() == CV_32F) {
        double lowest = 0, highest = 0;
        cv::minMaxLoc(image_.reshape(1), &lowest, &highest);
        if (lowest == highest) {
            lowest -= 0.5;
            highest += 0.5;
        }
        lower_ = static_cast<float>(lowest);
        upper_ = std::nextafter(static_cast<float>(highest), std::numeric_limits<float>::infinity());
    }
    if (image_.channels() == 1) {
        histogram(image_, 0, histograms_[0]);
        cv::meanStdDev(image_, mean_, deviation_);
        return;
    }
    for (int channel = 0; channel < 3; ++channel)
        histogram(image_, channel, histograms_[static_cast<std::size_t>(channel)]);
    cv::cvtColor(image_, luma_, image_.channels() == 4 ? cv::COLOR_BGRA2GRAY : cv::COLOR_BGR2GRAY);
    histogram(luma_, 0, histograms_[3]);
    cv::meanStdDev(luma_, mean_, deviation_);
}

void OpenCvPeer::histogram(const cv::Mat& image, int channel, cv::Mat& result) {
    const float limits[] = {lower_, upper_};
    const float* ranges[] = {limits};
    cv::calcHist(&image, 1, &channel, cv::noArray(), result, 1, &bins_, ranges);
}

/// OpenCV counts in floats, exact to 2^24.
std::string OpenCvPeer::compare(const Analysis& ours) const {
    std::string remark = "agrees";
    const int channels = image_.channels() == 1 ? 1 : 4;
    for (int c = 0; c < channels; ++c) {
        const cv::Mat& histogram = histograms_[static_cast<std::size_t>(c)];
        const std::vector<std::uint32_t> counts(histogram.begin<float>(), histogram.end<float>());
        const std::string found =
            compare_counts("OpenCV", channel_in_memory_order(ours, c), counts, image_.depth() == CV_32F);
        if (found != "agrees") remark = found;
    }
    return remark;
}

}  // namespace gpuhist::bench
