#include "run.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <future>
#include <memory>
#include <opencv2/core.hpp>
#include <opencv2/core/utils/logger.hpp>
#include <utility>

#include "gpuhist/error.hpp"
#include "gpuhist/io/opencv.hpp"
#include "gpuhist/io/plot.hpp"
#include "gpuhist/io/report.hpp"
#include "inputs.hpp"

namespace gpuhist::app {
namespace {

namespace fs = std::filesystem;

void say(const std::string& message) {
    std::fprintf(stderr, "gpuhist: %s\n", printable(message).c_str());
}

class StandardOutput {
  public:
    void print(const std::string& text) {
        if (closed_ || failed_) return;
        if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return;
        closed_ = errno == EPIPE;  // the reader has seen enough: no failure
        failed_ = !closed_;
        if (failed_) say(std::string("standard output: ") + std::strerror(errno));
    }
    bool closed() const { return closed_; }
    bool failed() const { return failed_; }

  private:
    bool closed_ = false;
    bool failed_ = false;
};

/// Throws IoError where `directory` can be neither written nor made. Makes nothing yet: a run whose engine or inputs
/// fail leaves no empty directory.
void check_output_directory(const fs::path& directory) {
    std::error_code ignored;
    fs::path existing = directory;
    while (!fs::exists(existing, ignored)) {
        if (!existing.has_parent_path() || existing == existing.parent_path()) {
            existing = ".";
            break;
        }
        existing = existing.parent_path();
    }
    std::string cause;
    if (!fs::is_directory(existing, ignored))
        cause = "not a directory";
    else if (access(existing.c_str(), W_OK | X_OK) != 0)
        cause = std::strerror(errno);
    if (cause.empty()) return;
    if (existing != directory) cause = existing.string() + ": " + cause;
    throw IoError(directory.string() + ": cannot write results there: " + cause +
                  "; name another directory with --output");
}

void make_directories(const fs::path& directory) {
    std::error_code failure;
    fs::create_directories(directory, failure);
    if (failure) throw IoError(directory.string() + ": cannot make this directory: " + failure.message());
}

/// Where the command stands while it goes through the inputs.
class Run {
  public:
    explicit Run(const Options& options) : options_(options) {}
    int execute();

  private:
    std::future<cv::Mat> start_reading(const Input& input) const;
    void adopt_engine(std::unique_ptr<Engine> engine);
    void measure(const Input& input, const cv::Mat& pixels);
    void look(const cv::Mat& pixels, bool normalize, Analysis& analysis, cv::Mat& normalized);
    bool write(const fs::path& path, const std::function<void()>& writer);
    std::vector<std::string> write_files(const Input& input, const Writes& writes, const Histogram& histogram,
                                         const std::vector<Statistics>& rows, const cv::Mat& normalized);
    void print(const TableHeading& heading, const std::vector<Statistics>& rows, const Histogram& histogram);
    void finish();

    Writes writes_of(const Input& input) const {
        if (options_.write) return *options_.write;
        return input.from_directory ? Writes{true, false, false, false} : Writes{true, true, true, true};
    }

    const Options& options_;
    Inputs inputs_;
    std::unique_ptr<Engine> engine_;
    StandardOutput standard_output_;
    std::string stats_;  ///< stats.csv so far; it appears whole, at the end
    std::size_t measured_ = 0;
    bool inputs_failed_ = false;
    bool output_failed_ = false;
};

std::future<cv::Mat> Run::start_reading(const Input& input) const {
    return std::async(std::launch::async, [path = input.path, decode = options_.decode] {
        return path == "-" ? io::decode_image(io::read_standard_input(), path, decode) : io::read_image(path, decode);
    });
}

void Run::adopt_engine(std::unique_ptr<Engine> engine) {
    engine_ = std::move(engine);
    if (options_.engine != "auto" || !options_.notes || engine_->name() == "cuda" || gpus().empty()) return;
    for (const EngineInfo& info : engines())
        if (info.name == "cuda") say("engine cpu, although there is a GPU: " + info.description);
}

/// Analyses, and normalises where asked. An image too large for the GPU's memory goes to the CPU if the choice is ours.
void Run::look(const cv::Mat& pixels, bool normalize, Analysis& analysis, cv::Mat& normalized) {
    AnalysisRequest request;
    if (options_.histogram.bins != 0) request.bins = options_.histogram.bins;
    request.range = options_.histogram.range;
    const ImageView image = io::view(pixels);
    if (image.depth == Depth::f32 && options_.histogram.bins == 0)
        throw InvalidArgument("--bins full is one bin per value, which f32 does not have: give --bins N");
    const auto work = [&] {
        if (!normalize) return engine_->analyze(image, request, analysis);
        const Depth depth = normalized_depth(image.depth, options_.normalization.mode);
        normalized.create(pixels.rows, pixels.cols,
                          CV_MAKETYPE(depth == Depth::f32 ? CV_32F : pixels.depth(), pixels.channels()));
        engine_->normalize(image, request, options_.normalization, io::mutable_view(normalized), analysis);
    };
    try {
        work();
    } catch (const OutOfMemory& error) {
        if (options_.engine != "auto") throw;
        if (options_.notes) say(std::string("the rest is done by engine cpu: ") + error.what());
        engine_ = make_engine("cpu", options_.engine_options);
        work();
    }
}

/// Runs one writer and says what goes wrong. Safe to call from several threads for different paths.
bool Run::write(const fs::path& path, const std::function<void()>& writer) {
    try {
        if (inputs_.full_paths.count(full_path(path)) > 0)
            throw IoError(path.string() + ": not written, it is one of the inputs; name another --output");
        writer();
        return true;
    } catch (const IoError& error) {
        say(error.what());
    } catch (const std::exception& error) {
        say(path.string() + ": " + error.what());
    }
    return false;
}

/// Returns the suffixes of the files that were written.
std::vector<std::string> Run::write_files(const Input& input, const Writes& writes, const Histogram& histogram,
                                          const std::vector<Statistics>& rows, const cv::Mat& normalized) {
    const std::string stem = (options_.output / input.output_name).string();
    std::vector<std::pair<std::string, std::function<void(const fs::path&)>>> files;
    if (writes.histogram)
        files.emplace_back(".histogram.csv",
                           [&](const fs::path& path) { io::write_file(path, io::histogram_csv(histogram)); });
    if (writes.plot)
        files.emplace_back(".histogram.png", [&](const fs::path& path) {
            io::PlotOptions plot;
            plot.log_counts = options_.log_counts;
            plot.title = printable(input.path == "-" ? "standard input" : input.output_name);
            io::write_image(path, io::plot_histogram(histogram, rows, plot));
        });
    if (writes.normalized)
        files.emplace_back(normalized.depth() == CV_32F ? ".normalized.tiff" : ".normalized.png",
                           [&](const fs::path& path) { io::write_image(path, normalized); });
    if (files.empty()) return {};

    const fs::path directory = fs::path(stem).parent_path();
    if (!write(directory, [&] { make_directories(directory); })) {
        output_failed_ = true;
        return {};
    }
    // Each file has its own thread but the last, which has this one: encoding takes longer than all else.
    std::vector<std::pair<std::string, std::future<bool>>> pending;
    for (auto& [suffix, writer] : files) {
        const auto policy = &suffix == &files.back().first ? std::launch::deferred : std::launch::async;
        pending.emplace_back(suffix, std::async(policy, [this, path = fs::path(stem + suffix), &writer = writer] {
                                 return write(path, [&] { writer(path); });
                             }));
    }
    std::vector<std::string> written;
    pending.back().second.wait();
    for (auto& [suffix, done] : pending) {
        if (done.get())
            written.push_back(suffix);
        else
            output_failed_ = true;
    }
    return written;
}

void Run::print(const TableHeading& heading, const std::vector<Statistics>& rows, const Histogram& histogram) {
    switch (options_.format) {
        case Format::none:
            break;
        case Format::table:
            standard_output_.print((measured_ > 0 ? "\n" : "") +
                                   format_table(heading, rows, histogram, options_.style));
            break;
        case Format::csv:
            standard_output_.print((measured_ > 0 ? "" : io::stats_csv_header()) +
                                   io::stats_csv_rows(heading.image, rows));
            break;
        case Format::json:
            standard_output_.print(io::stats_json(heading.image, heading.engine, rows));
            break;
    }
}

void Run::measure(const Input& input, const cv::Mat& pixels) {
    const Writes writes = writes_of(input);
    const ImageView image = io::view(pixels);
    Analysis analysis;
    cv::Mat normalized;
    look(pixels, writes.normalized, analysis, normalized);
    const std::vector<Statistics> rows = statistics(analysis);
    Histogram histogram;
    if (writes.histogram || writes.plot || options_.format == Format::table)
        histogram = gpuhist::histogram(analysis, options_.histogram);

    TableHeading heading;
    heading.image = {input.path, image.width, image.height, image.depth};
    heading.channels = image.channels;
    heading.engine = engine_->name();
    if (writes.stats)
        stats_ += (stats_.empty() ? io::stats_csv_header() : "") + io::stats_csv_rows(heading.image, rows);
    const auto written = write_files(input, writes, histogram, rows, normalized);
    for (const std::string& suffix : written)
        heading.written += (heading.written.empty() ? (options_.output / input.output_name).string() : " ") + suffix;
    print(heading, rows, histogram);
    ++measured_;
}

void Run::finish() {
    if (stats_.empty()) return;
    const fs::path path = options_.output / "stats.csv";
    const bool written = write(path, [&] {
        make_directories(options_.output);
        io::write_file(path, stats_);
    });
    if (!written)
        output_failed_ = true;
    else if (options_.format == Format::table)
        standard_output_.print("wrote  " + printable(path.string()) + "\n");
}

int Run::execute() {
    if (const Writes most = options_.write.value_or(Writes{true, true, true, true}); most.any()) {
        try {
            check_output_directory(options_.output);
        } catch (const IoError& error) {
            say(error.what());
            return output_failed;
        }
    }
    // A CUDA context takes longer than most images: it is made while the first is read.
    auto engine = std::async(options_.engine == "cpu" ? std::launch::deferred : std::launch::async,
                             [this] { return make_engine(options_.engine, options_.engine_options); });
    inputs_ = list_inputs(options_.inputs, options_.output);
    inputs_failed_ = !inputs_.errors.empty();
    for (const std::string& error : inputs_.errors) say(error);
    if (options_.notes)
        for (const std::string& note : inputs_.notes) say(note);

    std::future<cv::Mat> next;
    if (!inputs_.images.empty()) next = start_reading(inputs_.images.front());
    bool engine_broke = false;
    try {
        adopt_engine(engine.get());
        for (std::size_t i = 0; i < inputs_.images.size(); ++i) {
            const Input& input = inputs_.images[i];
            const bool last = i + 1 == inputs_.images.size();
            try {
                cv::Mat pixels;
                try {
                    pixels = next.get();
                } catch (...) {
                    if (!last) next = start_reading(inputs_.images[i + 1]);
                    throw;
                }
                if (!last) next = start_reading(inputs_.images[i + 1]);
                measure(input, pixels);
            } catch (const OutOfMemory& error) {  // smaller images may still fit
                engine_broke = true;
                say(input.path + ": " + error.what());
            } catch (const CudaError&) {
                throw;
            } catch (const IoError& error) {
                inputs_failed_ = true;
                say(error.what());
            } catch (const std::exception& error) {
                inputs_failed_ = true;
                say(input.path + ": " + error.what());
            }
            if ((standard_output_.closed() || standard_output_.failed()) && options_.write && !options_.write->any())
                break;
        }
    } catch (const Error& error) {
        engine_broke = true;
        say(error.what());
    }
    finish();
    if (engine_broke) return engine_failed;
    if (output_failed_ || standard_output_.failed()) return output_failed;
    return inputs_failed_ ? inputs_failed : all_done;
}

}  // namespace

int run(const Options& options) {
    // What the decoders have to say comes with our errors, which name the file.
    cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_SILENT);
    if (options.engine_options.threads > 0) cv::setNumThreads(options.engine_options.threads);
    return Run(options).execute();
}

int show_devices() {
    std::string text = "engines\n";
    std::string choice = "none: no engine can run here";
    std::string passed_over;
    bool chosen = false;
    for (const EngineInfo& info : engines()) {
        text += "  " + info.name + std::string(info.name.size() < 6 ? 6 - info.name.size() : 1, ' ') +
                (info.available ? "available      " : "not available  ") + info.description + '\n';
        if (info.available && !chosen) {
            chosen = true;
            choice = info.name + (passed_over.empty() ? ", the fastest that is available"
                                                      : ", because " + passed_over + " is not available");
        }
        if (!info.available) passed_over += (passed_over.empty() ? "" : " and ") + info.name;
    }
    text += "GPUs\n";
    const std::vector<GpuInfo> devices = gpus();
    if (devices.empty()) text += "  none that the CUDA driver shows\n";
    for (const GpuInfo& gpu : devices)
        text += "  " + std::to_string(gpu.index) + "  " + gpu.name + ", compute capability " +
                std::to_string(gpu.compute_major) + "." + std::to_string(gpu.compute_minor) + ", " +
                std::to_string(gpu.memory_bytes >> 20) + " MiB, " + std::to_string(gpu.multiprocessors) +
                " multiprocessors" + (gpu.cooperative_launch ? "" : ", no cooperative launch") + '\n';
    text += "auto takes " + choice + '\n';
    StandardOutput standard_output;
    standard_output.print(text);
    return standard_output.failed() ? output_failed : all_done;
}

}  // namespace gpuhist::app
