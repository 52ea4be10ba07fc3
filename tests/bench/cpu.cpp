// The cpu engine against OpenCV, same pixels, same threads. Bytes are those of the pixels, read once.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <stdexcept>
#include <thread>
#include <vector>

#include "bench.hpp"
#include "gpuhist/gpuhist.hpp"
#include "gpuhist/io/opencv.hpp"

namespace gpuhist::bench {
namespace {

struct Options {
    std::string image;
    std::vector<int> threads{1, static_cast<int>(std::max(1u, std::thread::hardware_concurrency()))};
    int repetitions = 15;
    std::string only;
    std::string csv;
};

struct Case {
    std::string name;
    cv::Mat image;
};

/// Histograms of all channels and of the luma, and what else OpenCV finds beside them.
class OpenCvWork {
  public:
    explicit OpenCvWork(const cv::Mat& image) : image_(image) {
        switch (image.depth()) {
            case CV_8U:
                bins_ = 256;
                break;
            case CV_16U:
                bins_ = 65536;
                break;
            default:
                bins_ = 256;
        }
        upper_ = static_cast<float>(bins_);
    }

    void run() {
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
            histogram(image_, 0, histograms[0]);
            cv::meanStdDev(image_, mean_, deviation_);
            return;
        }
        for (int channel = 0; channel < 3; ++channel) histogram(image_, channel, histograms[channel]);
        cv::cvtColor(image_, luma_, cv::COLOR_BGR2GRAY);
        histogram(luma_, 0, histograms[3]);
        cv::meanStdDev(luma_, mean_, deviation_);
    }

    std::array<cv::Mat, 4> histograms;  ///< in the order of the image's channels, then luma

  private:
    void histogram(const cv::Mat& image, int channel, cv::Mat& result) {
        const float limits[] = {lower_, upper_};
        const float* ranges[] = {limits};
        cv::calcHist(&image, 1, &channel, cv::noArray(), result, 1, &bins_, ranges);
    }

    cv::Mat image_, luma_, mean_, deviation_;
    int bins_ = 0;
    float lower_ = 0, upper_ = 0;
};

/// Samples counted differently; OpenCV's counts are floats, exact to 2^24. It finds the bins of floats in single
/// precision, so that a sample at an edge may fall to its other side: those do not count as different.
double differences(const ChannelAnalysis& ours, const cv::Mat& histogram, bool floats) {
    double sum = 0, ours_below = 0, below = 0;  // samples under the current bin
    for (int bin = 0; bin < histogram.rows; ++bin) {
        const double count = histogram.at<float>(bin), here = static_cast<double>(ours.counts[bin]);
        if (floats)  // ours up to this bin lie between theirs up to the bin before and up to the bin after
            sum += std::max({0.0, below - (ours_below + here), ours_below - (below + count)});
        else
            sum += std::abs(here - count) / 2;
        ours_below += here;
        below += count;
    }
    return sum + std::abs(ours_below - below);
}

void check(const Case& item, const Analysis& analysis, const OpenCvWork& work) {
    const std::vector<Channel> order = item.image.channels() == 1
                                           ? std::vector{Channel::gray}
                                           : std::vector{Channel::blue, Channel::green, Channel::red, Channel::luma};
    for (std::size_t c = 0; c < order.size(); ++c) {
        const double different =
            differences(*analysis.find(order[c]), work.histograms[c], item.image.depth() == CV_32F);
        if (different > 0)
            throw std::runtime_error(item.name + ", " + to_string(order[c]) + ": " + std::to_string(different) +
                                     " samples are counted differently by OpenCV");
    }
}

/// A photograph beside itself until there are 12 megapixels: its noise and its edges stay those of a photograph.
cv::Mat tiled(const cv::Mat& photograph, cv::Size size) {
    cv::Mat result;
    cv::repeat(photograph, (size.height + photograph.rows - 1) / photograph.rows,
               (size.width + photograph.cols - 1) / photograph.cols, result);
    return result(cv::Rect({}, size)).clone();
}

/// An 8-bit image as 16-bit or float samples that use the whole depth: noise below the bits that were there.
cv::Mat deepened(const cv::Mat& image, int depth) {
    if (depth == CV_8U) return image;
    cv::Mat result, noise(image.size(), CV_MAKETYPE(CV_16U, image.channels()));
    cv::theRNG().state = 1;
    cv::randu(noise, 0, 256);
    image.convertTo(result, CV_16U, 256);
    result += noise;
    if (depth == CV_32F) result.convertTo(result, CV_32F, 1.0 / 65535);
    return result;
}

std::vector<Case> cases(const Options& options) {
    const cv::Size size(4000, 3000);
    const std::string path = options.image.empty() ? GPUHIST_DATA "/rocket.jpg" : options.image;
    cv::Mat natural = cv::imread(path, cv::IMREAD_UNCHANGED);
    if (natural.empty()) throw std::runtime_error(path + ": cannot be read as an image");
    if (!options.image.empty()) return {{"image", natural}};

    natural = tiled(natural, size);
    cv::Mat random(size, CV_8UC3), two(size, CV_8UC3);
    cv::theRNG().state = 1;
    cv::randu(random, 0, 256);
    cv::randu(two, 0, 2);
    two *= 255;
    const cv::Mat constant(size, CV_8UC3, cv::Scalar(40, 120, 200));
    std::vector<Case> result;
    for (auto [depth, depth_name] : {std::pair{CV_8U, "u8"}, {CV_16U, "u16"}, {CV_32F, "f32"}})
        for (int channels : {3, 1})
            for (const auto& [content, image] : {std::pair<std::string, cv::Mat>{"random", random},
                                                 {"natural", natural},
                                                 {"constant", constant},
                                                 {"two values", two}}) {
                const std::string name = std::string(depth_name) + (channels == 3 ? " BGR " : " grey ") + content;
                if (name.find(options.only) == std::string::npos) continue;
                cv::Mat picture = image;
                if (channels == 1) cv::extractChannel(image, picture, 1);
                if (content == "random" || content == "natural")
                    picture = deepened(picture, depth);
                else
                    picture.convertTo(picture, depth, depth == CV_8U ? 1 : depth == CV_16U ? 257 : 1.0 / 255);
                result.push_back({name, picture});
            }
    return result;
}

void run(const Options& options) {
    std::ofstream csv;
    if (!options.csv.empty()) {
        csv.open(options.csv);
        csv << "case,width,height,threads,gpuhist_ms,gpuhist_spread_percent,gpuhist_megapixels_per_s,gpuhist_gb_per_s,"
               "opencv_ms,opencv_spread_percent,opencv_megapixels_per_s,opencv_gb_per_s,ratio\n";
    }
    std::printf("%s\n", machine().c_str());
    std::printf(
        "histogram of every channel and of the luma, and all statistics; OpenCV: calcHist each, cvtColor,\n"
        "meanStdDev of the luma (floats: minMaxLoc first; it finds no percentiles)\n\n");
    std::printf("%-22s %7s | %9s %6s %7s %7s | %9s %6s %7s %7s | %6s\n", "case", "threads", "gpuhist", "±", "MP/s",
                "GB/s", "OpenCV", "±", "MP/s", "GB/s", "ratio");
    std::vector<int> counts = options.threads;
    counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
    for (const Case& item : cases(options))
        for (int threads : counts) {
            EngineOptions engine_options;
            engine_options.threads = threads;
            const std::unique_ptr<Engine> engine = make_engine("cpu", engine_options);
            cv::setNumThreads(threads);
            const ImageView view = io::view(item.image);
            Analysis analysis;
            OpenCvWork work(item.image);
            engine->analyze(view, {}, analysis);
            work.run();
            check(item, analysis, work);
            const Comparison found = compare(
                options.repetitions, [&] { engine->analyze(view, {}, analysis); }, [&] { work.run(); });

            const double megapixels = static_cast<double>(item.image.total()) * 1e-6;
            const double gigabytes = static_cast<double>(item.image.total() * item.image.elemSize()) * 1e-9;
            const double ratio = found.other.median_ms / found.ours.median_ms;
            auto speed = [](double amount, const Timing& timing) { return amount / (timing.median_ms * 1e-3); };
            std::printf("%-22s %7d | %6.2f ms %5.1f%% %7.0f %7.2f | %6.2f ms %5.1f%% %7.0f %7.2f | %6.2f\n",
                        item.name.c_str(), threads, found.ours.median_ms, found.ours.spread_percent,
                        speed(megapixels, found.ours), speed(gigabytes, found.ours), found.other.median_ms,
                        found.other.spread_percent, speed(megapixels, found.other), speed(gigabytes, found.other),
                        ratio);
            std::fflush(stdout);
            if (csv.is_open())
                csv << item.name << ',' << item.image.cols << ',' << item.image.rows << ',' << threads << ','
                    << found.ours.median_ms << ',' << found.ours.spread_percent << ',' << speed(megapixels, found.ours)
                    << ',' << speed(gigabytes, found.ours) << ',' << found.other.median_ms << ','
                    << found.other.spread_percent << ',' << speed(megapixels, found.other) << ','
                    << speed(gigabytes, found.other) << ',' << ratio << '\n';
        }
    if (csv.is_open() && !csv.flush()) throw std::runtime_error(options.csv + ": cannot be written");
}

}  // namespace

void add_cpu(CLI::App& app) {
    auto options = std::make_shared<Options>();
    CLI::App* command = app.add_subcommand("cpu", "The cpu engine against OpenCV, 12 megapixels");
    command->add_option("--image", options->image, "This picture, as it is, instead of the built-in cases")
        ->check(CLI::ExistingFile);
    command->add_option("--threads", options->threads, "Numbers of threads, for both [1 and all]")
        ->delimiter(',')
        ->check(CLI::PositiveNumber);
    command->add_option("--repetitions", options->repetitions, "Timings of each, taken in turns")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    command->add_option("--only", options->only, "Only cases whose name has this in it, such as 'u8 BGR'");
    command->add_option("--csv", options->csv, "Write the table to this file too");
    command->callback([options] { run(*options); });
}

}  // namespace gpuhist::bench
