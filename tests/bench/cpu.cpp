// `gpuhist-bench cpu`: the engine on the CPU against OpenCV, same pixels, same threads. Bytes are those of the pixels,
// read once.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "bench/files.hpp"
#include "bench/peers.hpp"
#include "bench/pictures.hpp"
#include "bench/report.hpp"
#include "gpuhist/frequency_table.hpp"
#include "gpuhist/gpuhist.hpp"
#include "gpuhist/io/frequency_file.hpp"
#include "gpuhist/io/opencv.hpp"

namespace gpuhist::bench {
namespace {

struct Options {
    ReportOptions report;
    std::vector<int> threads{1, static_cast<int>(std::max(1u, std::thread::hardware_concurrency()))};
};

struct Case {
    std::string name, content;
    int threads = 1;
    std::function<cv::Mat()> make;  ///< when its turn comes: all images at once would need much memory
    bool has_target = false;
    Detail detail = Detail::full;
};

std::string threads_text(int threads) {
    return std::to_string(threads) + (threads == 1 ? " thread" : " threads");
}

/// One depth and number of channels, every content.
void add_cases(std::vector<Case>& result, const cv::Mat& photograph, int depth, int channels, int threads,
               Detail detail = Detail::full) {
    const cv::Size size(4000, 3000);
    const std::string name = std::string(depth == CV_8U    ? "u8"
                                         : depth == CV_16U ? "u16"
                                                           : "f32") +
                             (channels == 3 ? " BGR, " : " gray, ") + (detail == Detail::brief ? "brief, " : "") +
                             "12 MP, " + threads_text(threads);
    const auto add = [&](const char* content, const std::function<cv::Mat()>& make) {
        result.push_back({name, content, threads, [=] { return with_depth(make(), depth); },
                          depth == CV_8U && channels == 3, detail});
    };
    add("random", [=] {
        cv::Mat image(size, CV_MAKETYPE(CV_8U, channels));
        cv::RNG(1).fill(image, cv::RNG::UNIFORM, 0, 256);
        return image;
    });
    add("natural", [=] { return tiled(with_channels(photograph, channels), size); });
    // Without noise under the bits: the values must stay as few as they are.
    const auto few = [=](const cv::Mat& image) {
        cv::Mat deep;
        image.convertTo(deep, depth, depth == CV_8U ? 1 : depth == CV_16U ? 257 : 1.0 / 255);
        return deep;
    };
    add("constant", [=] {
        return few(
            cv::Mat(size, CV_MAKETYPE(CV_8U, channels), channels == 3 ? cv::Scalar(40, 120, 200) : cv::Scalar(120)));
    });
    add("two values", [=] {
        cv::Mat image(size, CV_MAKETYPE(CV_8U, channels));
        cv::RNG(1).fill(image, cv::RNG::UNIFORM, 0, 2);
        return few(image * 255);
    });
}

void run_case(Report& report, const Case& item, int repetitions) {
    const cv::Mat image = item.make();
    const double bytes = static_cast<double>(image.total() * image.elemSize());
    EngineOptions engine_options;
    engine_options.threads = item.threads;
    const std::unique_ptr<Engine> engine = make_engine("cpu", engine_options);
    cv::setNumThreads(item.threads);
    const ImageView view = io::view(image);
    AnalysisRequest request;
    request.detail = item.detail;
    Analysis analysis;
    OpenCvPeer peer(image);
    const Comparison found = compare(
        repetitions, [&] { engine->analyze(view, request, analysis); }, [&] { peer.run(); });
    const std::string remark = peer.compare(analysis);
    report.add({"C1", item.name, item.content, "gpuhist", bytes, found.ours,
                item.has_target ? std::optional(at_least_relative(3)) : std::nullopt,
                Relative{found.other.median_ms / found.ours.median_ms, "x OpenCV's speed"}, ""});
    report.add({"C1", item.name, item.content, "OpenCV", bytes, found.other, {}, {}, remark});
}

/// C2: an image with a mask, which tells valid pixels, against itself without one.
void run_masks(Report& report, const cv::Mat& photograph, const ReportOptions& options) {
    const cv::Size size(4000, 3000);
    for (const int depth : {CV_8U, CV_16U, CV_32F})
        for (const int channels : {1, 3}) {
            const std::string name = std::string(depth == CV_8U    ? "u8"
                                                 : depth == CV_16U ? "u16"
                                                                   : "f32") +
                                     (channels == 3 ? " BGR" : " gray") + " with a mask, 12 MP, 1 thread";
            if (!options.wants("C2", name)) continue;
            const cv::Mat image = with_depth(tiled(with_channels(photograph, channels), size), depth);
            EngineOptions one_thread;
            one_thread.threads = 1;
            const std::unique_ptr<Engine> engine = make_engine("cpu", one_thread);
            const ImageView view = io::view(image);
            for (const std::string content : {"blank", "full", "random", "disc"}) {
                cv::Mat mask(size, CV_8U, cv::Scalar(content == "full" ? 255 : 0));
                if (content == "random") cv::RNG(1).fill(mask, cv::RNG::UNIFORM, 0, 2);
                if (content == "disc") cv::circle(mask, {2000, 1500}, 1200, cv::Scalar(255), cv::FILLED);
                ImageView masked = view;
                masked.mask = mask.data;
                masked.mask_row_bytes = mask.cols;
                Analysis analysis;
                const Comparison found = compare(
                    options.repetitions, [&] { engine->analyze(masked, {}, analysis); },
                    [&] { engine->analyze(view, {}, analysis); });
                const double bytes = static_cast<double>(image.total() * image.elemSize() + mask.total());
                report.add({"C2", name, content, "gpuhist", bytes, found.ours, at_least_relative(0.7),
                            Relative{found.other.median_ms / found.ours.median_ms, "x the speed without it"}, ""});
            }
        }
}

/// What a set of f32 images takes beside: the values of one counted, and the counts merged into one run and read. To
/// sort them is the other way to the same.
void run_values(Report& report, const std::string& name, const char* content, const cv::Mat& image, int repetitions) {
    const double bytes = static_cast<double>(image.total() * image.elemSize());
    const ImageView view = io::view(image);
    const auto file = io::FrequencyFile::temporary(std::filesystem::temp_directory_path());
    std::vector<cv::Mat> channels;  // blue, green, red, luma
    cv::split(image, channels);
    cv::cvtColor(image, channels.emplace_back(), cv::COLOR_BGR2GRAY);
    std::vector<cv::Mat> sorted(channels.size());
    std::vector<FrequencyTable> counts;
    const Comparison found = compare(
        repetitions, [&] { counts = count_frequencies(view, file); },
        [&] {
            for (std::size_t i = 0; i < channels.size(); ++i)
                cv::sort(channels[i].reshape(1, 1), sorted[i], cv::SORT_EVERY_ROW | cv::SORT_ASCENDING);
        });
    std::vector<std::uint64_t> values;
    const Timing merged = time_on_host(repetitions, [&] {
        values.assign(counts.size(), 0);
        for (std::size_t i = 0; i < counts.size(); ++i) {
            const FrequencyTable all = counts[i].merged(file);
            for (FrequencyReader reader(all.runs()); reader.next();) ++values[i];
        }
    });
    float* red = sorted[2].ptr<float>();
    const auto different = static_cast<std::uint64_t>(std::unique(red, red + sorted[2].total()) - red);
    report.add({"V1",
                name,
                content,
                "gpuhist",
                bytes,
                found.ours,
                {},
                Relative{found.other.median_ms / found.ours.median_ms, "x sorting's speed"},
                std::to_string(different) + " values of red"});
    report.add({"V1", name, content, "merged, read", bytes, merged, {}, {}, ""});
    report.add(
        {"V1", name, content, "cv::sort", bytes, found.other, {}, {}, values[0] == different ? "agrees" : "DIFFERS"});
}

void run_values(Report& report, const cv::Mat& photograph, const ReportOptions& options) {
    const std::string name = "values of f32 BGR and luma, 3 MP, 1 thread";
    if (!options.wants("V1", name)) return;
    cv::setNumThreads(1);
    const cv::Size size(2048, 1536);
    cv::Mat noise(size, CV_32FC3), words;
    cv::RNG(1).fill(noise, cv::RNG::NORMAL, 0, 1);
    const cv::Mat natural = tiled(photograph, size);
    with_depth(natural, CV_16U).convertTo(words, CV_32F, 1.0 / 65535);
    run_values(report, name, "noise", noise, options.repetitions);
    run_values(report, name, "natural", with_depth(natural, CV_32F), options.repetitions);
    run_values(report, name, "16 bits", words, options.repetitions);
}

void run(const Options& options) {
    Report report("gpuhist on the CPU", options.report);
    const Picture picture = natural_picture(options.report.image);
    report.say(
        "Histograms of every channel and of the luma, and all statistics; OpenCV: calcHist each, cvtColor,\n"
        "meanStdDev of the luma; of floats minMaxLoc first. It finds no percentiles, as gpuhist in brief.\n"
        "C2: images with a mask, against themselves without.\n"
        "V1: what a set of f32 images takes beside, the values counted, against sorting them.\n"
        "F1: whole processes on a file, CPU time, against libvips.\n"
        "natural: " +
        picture.name + (options.report.image.empty() ? ", repeated" : ", and as it is") + "\n");
    std::vector<int> threads = options.threads;
    threads.erase(std::unique(threads.begin(), threads.end()), threads.end());
    std::vector<Case> all;
    for (int count : threads) {
        if (options.report.image.empty()) break;
        const cv::Size size = picture.pixels.size();
        all.push_back({"the picture, " + std::to_string(size.width) + " x " + std::to_string(size.height) + ", " +
                           threads_text(count),
                       "", count, [&] { return picture.pixels; }});
    }
    for (int depth : {CV_8U, CV_16U, CV_32F})
        for (int channels : {3, 1})
            for (int count : threads) {
                if (depth == CV_32F) add_cases(all, picture.pixels, depth, channels, count, Detail::brief);
                add_cases(all, picture.pixels, depth, channels, count);
            }
    for (const Case& item : all)
        if (options.report.wants("C1", item.name + " " + item.content))
            run_case(report, item, options.report.repetitions);
    run_masks(report, with_channels(picture.pixels, 3), options.report);
    run_values(report, with_channels(picture.pixels, 3), options.report);
    run_files(report, with_channels(picture.pixels, 3), options.report);
    report.finish();
}

}  // namespace

void add_cpu(CLI::App& app) {
    auto options = std::make_shared<Options>();
    CLI::App* command = app.add_subcommand("cpu", "The engine on the CPU against OpenCV, 12 megapixels");
    bind_report_options(*command, options->report);
    command->add_option("--threads", options->threads, "numbers of threads, for both [1 and all]")
        ->delimiter(',')
        ->check(CLI::PositiveNumber);
    command->callback([options] { run(*options); });
}

}  // namespace gpuhist::bench
