// `gpuhist-bench ladder`: every rung on every content, its answer checked, and its time beside the product's.
#include "bench/ladder/ladder.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <opencv2/core.hpp>
#include <stdexcept>
#include <tuple>

#include "bench/gpu_timing.hpp"
#include "bench/ladder/exact.hpp"
#include "bench/pictures.hpp"
#include "bench/report.hpp"
#include "gpuhist/gpuhist.hpp"
#include "gpuhist/stream.hpp"

namespace gpuhist::bench {
namespace {

using namespace ladder;

constexpr const char* title = "The ladder: known ways to reduce and to count an image on a GPU";

constexpr const char* host_clock = "host's clock";
constexpr const char* product_group = "product";
constexpr const char* product_name = "histogram_and_brightness";

constexpr std::int64_t width = 4096;
constexpr std::int64_t step = width * 4 * 64;  ///< bytes: whole rows of any depth, for any divisor

std::vector<std::uint8_t> photograph(const std::string& path, std::string& name) {
    const Picture picture = natural_picture(path);
    name = picture.name;
    const cv::Mat bytes = with_depth(with_channels(picture.pixels, 1), CV_8U).reshape(1, 1);
    return {bytes.begin<std::uint8_t>(), bytes.end<std::uint8_t>()};
}

class Ladder {
  public:
    explicit Ladder(const ReportOptions& options)
        : options_(options),
          bytes_(static_cast<std::size_t>(std::max(options.bytes / step, std::int64_t{1}) * step)),
          report_(title, options, options.gpu),
          timer_(options.gpu, options.repetitions, options.pause_ms),
          photograph_(photograph(options.image, photograph_name_)) {}

    void run() {
        report_.say("natural: " + photograph_name_ + ", repeated. Every answer is compared with the exact one.");
        use(Depth::u8);
        const Timing sweep = time_sweep(timer_, pixels_.front().device, bytes_, options_.gpu);
        report_.set_ceiling("sweep", static_cast<double>(bytes_) / sweep.median_ms * 1e-6);
        report_.add({"ceiling", "read_only", "", "16-byte loads", static_cast<double>(bytes_), sweep, {}, {}, ""});
        if (options_.wants(product_group, product_name)) {
            report_.say("\nwhat the rungs led to: 256 counts, sum, squares, minimum, maximum, in one sweep");
            for (const Content content : contents)
                attempt(product_group, product_name, content, "gpuhist", [&] { product(content); });
        }
        for (const Rung& rung : rungs()) {
            if (!options_.wants(rung.group, rung.name)) continue;
            report_.say("\n" + std::string(rung.change));
            use(rung.depth);
            for (const Content content : contents)
                attempt(rung.group, rung.name, content, "ladder", [&] { climb(rung, content); });
        }
        report_.finish();
        if (!failed_.empty()) throw std::runtime_error("wrong or failed: " + failed_);
    }

  private:
    /// Samples of one content, twice behind each other on the GPU: an image that is used in turns is not in the cache.
    struct Pixels {
        std::vector<unsigned char> host;
        DeviceMemory device;
    };

    /// Runs a case. What goes wrong is said, and the others still run.
    template <class Work>
    void attempt(const char* group, const char* name, Content content, const char* tool, const Work& work) {
        try {
            work();
        } catch (const std::exception& error) {
            report_.skip({group, name, to_string(content), tool, std::string("FAILED: ") + error.what()});
            fail(group, name);
            (void)cudaGetLastError();
        }
    }

    void fail(const std::string& group, const std::string& name) {
        const std::string text = group + " " + name;
        if (failed_.find(text) == std::string::npos) failed_ += (failed_.empty() ? "" : ", ") + text;
    }

    /// Makes all contents in this depth, unless they are there.
    void use(Depth depth) {
        if (!pixels_.empty() && depth == depth_) return;
        depth_ = depth;
        exact_.clear();
        pixels_.resize(std::size(contents));
        for (const Content content : contents) {
            Pixels& pixels = pixels_[static_cast<std::size_t>(content)];
            pixels.host.resize(bytes_);
            make_samples(pixels.host.data(), static_cast<std::int64_t>(bytes_ / sample_bytes(depth)), depth, content,
                         photograph_);
            if (pixels.device.bytes() == 0) pixels.device = DeviceMemory(2 * bytes_);
            for (std::size_t copy : {std::size_t{0}, bytes_})
                BENCH_CUDA(
                    cudaMemcpy(pixels.device.as<char>() + copy, pixels.host.data(), bytes_, cudaMemcpyHostToDevice));
        }
        BENCH_CUDA(cudaDeviceSynchronize());  // the timer's stream does not wait for copies
    }

    /// The image of so many bytes that is used in one of the turns.
    Image image_at(const Pixels& pixels, const Rotation& rotation, std::size_t bytes, int turn) const {
        const auto* device = static_cast<const char*>(rotation.at(pixels.device, turn));
        const auto offset = static_cast<std::size_t>(device - pixels.device.as<char>());
        return {device, pixels.host.data() + offset % bytes_, width,
                static_cast<std::int64_t>(bytes / sample_bytes(depth_)) / width};
    }

    const Answer& exact_answer(Answer (*exact)(const Image&), Content content, const Image& image) {
        Answer& answer = exact_[{exact, content, image.height}];
        if (answer.empty()) answer = exact(image);
        return answer;
    }

    void climb(const Rung& rung, Content content) {
        const std::size_t bytes = bytes_ / static_cast<std::size_t>(rung.divisor);
        const Pixels& pixels = pixels_[static_cast<std::size_t>(content)];
        const Rotation rotation(bytes, pixels.device.bytes(), options_.gpu);
        const Image first = image_at(pixels, rotation, bytes, 0);
        const std::string obstacle = rung.obstacle ? rung.obstacle(first) : "";
        if (!obstacle.empty()) {
            report_.skip({rung.group, rung.name, to_string(content), "ladder", obstacle});
            return;
        }
        const Answer& expected = exact_answer(rung.exact, content, first);
        Trial trial(rung, first, expected.size());
        const auto is_right = [&] {
            trial.poison();
            trial.run(first, timer_.stream());
            return trial.answer() == expected && trial.surroundings_untouched();
        };
        const Enqueue enqueue = [&](cudaStream_t stream, int turn) {
            trial.run(image_at(pixels, rotation, bytes, turn), stream);
        };
        bool right = is_right();
        const bool on_host = rung.clock == Clock::host;
        const Timing timing = on_host ? timer_.end_to_end(enqueue)
                                      : timer_.sustained(rotation.copies, enqueue, rung.clock == Clock::graph);
        right = is_right() && right;
        add(rung.group, rung.name, content, "ladder", bytes, timing, on_host ? host_clock : "", right);
    }

    /// What the rungs led to: the histogram and all brightness sums at once, on a stream, and as one call.
    void product(Content content) {
        const Pixels& pixels = pixels_[static_cast<std::size_t>(content)];
        const Rotation rotation(bytes_, pixels.device.bytes(), options_.gpu);
        const Image first = image_at(pixels, rotation, bytes_, 0);
        const Answer& counts = exact_answer(exact::histogram, content, first);
        const Answer& sums = exact_answer(exact::four_quantities, content, first);
        const auto is_right = [&](const Analysis& analysis) {
            const ChannelAnalysis* gray = analysis.find(Channel::gray);
            return gray && analysis.brightness &&
                   std::equal(counts.begin(), counts.end(), gray->counts.begin(), gray->counts.end()) &&
                   analysis.brightness->sum == sums[0] && analysis.brightness->sum_squares.low == sums[1] &&
                   analysis.brightness->minimum == sums[2] && analysis.brightness->maximum == sums[3];
        };
        const auto view_at = [&](int turn) {
            const Image image = image_at(pixels, rotation, bytes_, turn);
            ImageView view = packed_view(image.device, image.width, image.height, 1, Depth::u8);
            view.memory = Memory::device;
            return view;
        };

        StreamPlan plan;
        plan.gpu = options_.gpu;
        StreamAnalyzer analyzer(plan);
        const AnalysisRequest request;
        const ResultLayout layout = analyzer.layout(request);
        const DeviceMemory result(layout.bytes);
        const Timing enqueued = timer_.sustained(rotation.copies, [&](cudaStream_t stream, int turn) {
            analyzer.enqueue(view_at(turn), request, result.get(), stream);
        });
        BENCH_CUDA(cudaStreamSynchronize(timer_.stream()));
        std::vector<std::uint64_t> copy(layout.bytes / sizeof(std::uint64_t));
        BENCH_CUDA(cudaMemcpy(copy.data(), result.get(), layout.bytes, cudaMemcpyDeviceToHost));
        Analysis analysis = read_result(copy.data());
        add(product_group, product_name, content, "gpuhist", bytes_, enqueued, "on a stream", is_right(analysis));

        EngineOptions engine_options;
        engine_options.gpu = options_.gpu;
        const std::unique_ptr<Engine> engine = make_engine("cuda", engine_options);
        const Timing called =
            timer_.end_to_end([&](cudaStream_t, int turn) { engine->analyze(view_at(turn), request, analysis); });
        add(product_group, product_name, content, "gpuhist engine", bytes_, called,
            std::string(host_clock) + ", results fetched", is_right(analysis));
    }

    void add(const char* group, const char* name, Content content, const char* tool, std::size_t bytes,
             const Timing& timing, const std::string& note, bool right) {
        const std::string remark = right ? note : "WRONG ANSWER" + (note.empty() ? "" : ", " + note);
        if (!right) fail(group, name);
        report_.add({group, name, to_string(content), tool, static_cast<double>(bytes), timing, {}, {}, remark});
    }

    ReportOptions options_;
    std::size_t bytes_;
    Report report_;
    GpuTimer timer_;
    std::string photograph_name_;
    std::vector<std::uint8_t> photograph_;
    Depth depth_ = Depth::u8;
    std::vector<Pixels> pixels_;  ///< by content
    std::map<std::tuple<Answer (*)(const Image&), Content, std::int64_t>, Answer> exact_;
    std::string failed_;  ///< names, for the end
};

}  // namespace

void add_ladder(CLI::App& app) {
    auto options = std::make_shared<ReportOptions>();
    options->bytes = std::int64_t{256} << 20;
    CLI::App* command = app.add_subcommand(
        "ladder", "The known techniques one by one, each checked and timed; what changed is said above each.");
    bind_report_options(*command, *options);
    bind_gpu_options(*command, *options);
    command->callback([options] { Ladder(*options).run(); });
}

}  // namespace gpuhist::bench
