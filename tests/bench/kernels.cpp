// `gpuhist-bench kernels`: the cases K1 to K14, against the hardware's ceilings and other libraries, in one run. The
// pixels lie on the GPU; times are those of the GPU, from the analysis to its results on the device, unless said
// otherwise.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <opencv2/core.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "bench/gpu_pixels.hpp"
#include "bench/gpu_timing.hpp"
#include "bench/ours.hpp"
#include "bench/peers.hpp"
#include "bench/pictures.hpp"
#include "bench/report.hpp"
#include "cuda/host/analyzer.hpp"
#include "cuda/host/measure_analyzer.hpp"
#include "cuda/host/sorted_analysis.hpp"
#include "cuda/measures/sums.hpp"
#include "cuda/pixels/parts.hpp"
#include "gpuhist/gpuhist.hpp"
#include "gpuhist/io/opencv.hpp"
#include "gpuhist/regions.hpp"
#include "gpuhist/stream.hpp"
#include "gpuhist/stream_regions.hpp"

namespace gpuhist::bench {
namespace {

constexpr std::int64_t million = 1'000'000;
constexpr std::size_t chip_bytes = 24 * million;  ///< of an image that fits into shared memory and into the cache

const char* channels_text(int channels) {
    return channels == 1 ? "gray" : channels == 3 ? "BGR" : "BGRA";
}
std::string type_text(Depth depth, int channels) {
    return std::string(to_string(depth)) + " " + channels_text(channels);
}
std::string size_text(std::size_t bytes) {
    constexpr std::size_t mebibyte = std::size_t{1} << 20, gibibyte = std::size_t{1} << 30;
    if (bytes % gibibyte == 0) return std::to_string(bytes / gibibyte) + " GiB";
    if (bytes % mebibyte == 0) return std::to_string(bytes / mebibyte) + " MiB";
    return std::to_string((bytes + million / 2) / million) + " MB";
}

struct Place {
    std::string group, name, content;
};

/// Images, and what is done with them.
struct Kind {
    const char* name;
    Depth depth;
    int channels;
    AnalysisRequest request;
    NormalizeMode mode = NormalizeMode::minmax;
};

class Kernels {
  public:
    explicit Kernels(const ReportOptions& options)
        : options_(options),
          report_("gpuhist on the GPU", options, options.gpu),
          timer_(options.gpu, options.repetitions, options.pause_ms),
          photograph_(load_photograph(options.image, photograph_name_)),
          pixels_(static_cast<std::size_t>(options.bytes)),
          output_(static_cast<std::size_t>(options.bytes)) {}

    void run() {
        report_.say("natural: " + photograph_name_ + ", repeated\n");
        measure_ceilings();
        counting("K1", "u8 gray, all statistics", Depth::u8, 1, {}, 0.97, true);
        AnalysisRequest no_luma;
        no_luma.luma_histogram = false;
        counting("K2", "u8 BGR and brightness, no luma histogram", Depth::u8, 3, no_luma, 0.90, false);
        counting("K3", "u8 BGR and luma histogram", Depth::u8, 3, {}, 0.67, true);
        counting("K4", "u16 gray, 65,536 bins", Depth::u16, 1, {}, 0.50, true);
        counting("K4", "u16 BGR and luma histogram, 65,536 bins", Depth::u16, 3, {}, 0.50, true);
        AnalysisRequest brief;
        brief.detail = Detail::brief;
        counting("K5", "f32 gray, brief", Depth::f32, 1, brief, 0.45, true);
        counting("K5", "f32 BGR and luma, brief", Depth::f32, 3, brief, 0.45, true);
        counting("K5", "f32 gray, full", Depth::f32, 1, {}, {}, false);
        counting("K5", "f32 BGR and luma, full", Depth::f32, 3, {}, {}, false);
        cached_floats(brief);
        regions(no_luma, brief);
        copy_in_two_steps();
        normalizing(no_luma, brief);
        tones(no_luma, brief);
        adaptive(no_luma);
        copies_from_findings(no_luma, brief);
        small_images(brief);
        one_image();
        many_images(no_luma);
        other_types();
        bands();
        sorting();
        masks();
        labels();
        measures();
        report_.finish();
        if (failures_ > 0) throw std::runtime_error(std::to_string(failures_) + " cases failed: see above");
    }

  private:
    /// Runs a case. What is not there is said; what goes wrong is said, and the others still run.
    void attempt(const Place& place, const std::string& tool, const std::function<void()>& work) {
        if (!options_.wants(place.group, place.name)) return;
        try {
            work();
        } catch (const Unavailable& reason) {
            // Said once per case: it is the same for every content.
            if (said_.insert(place.group + place.name + tool + reason.what()).second)
                report_.skip({place.group, place.name, place.content, tool, reason.what()});
        } catch (const std::exception& error) {
            report_.skip({place.group, place.name, place.content, tool, std::string("FAILED: ") + error.what()});
            ++failures_;
            (void)cudaGetLastError();
        }
    }
    void add(const Place& place, const std::string& tool, double bytes, const Timing& timing,
             const std::optional<Target>& target, const std::string& note) {
        report_.add({place.group, place.name, place.content, tool, bytes, timing, target, {}, note});
    }
    StreamPlan plan_for(Depth depth, int channels) const {
        StreamPlan plan;
        plan.depth = depth;
        plan.channels = channels;
        plan.gpu = options_.gpu;
        return plan;
    }

    void fill_with(Content content, Depth depth, int channels) {
        fill(pixels_.get(), static_cast<std::int64_t>(pixels_.bytes() / sample_bytes(depth)), depth, channels, content,
             photograph_, timer_.stream());
        BENCH_CUDA(cudaStreamSynchronize(timer_.stream()));
    }

    /// The largest image that `--bytes` holds.
    ImageView large(Depth depth, int channels, std::size_t bytes) const {
        constexpr std::int64_t width = 8192;
        const auto row_bytes =
            static_cast<std::size_t>(width) * static_cast<std::size_t>(channels) * sample_bytes(depth);
        return view_of(pixels_.get(), depth, channels, width, static_cast<std::int64_t>(bytes / row_bytes));
    }

    void measure_ceilings() {
        fill_with(Content::random, Depth::u8, 1);
        const std::size_t bytes = pixels_.bytes() / 16 * 16;
        const double all = static_cast<double>(bytes);
        const Timing sweep = time_sweep(timer_, pixels_, bytes, options_.gpu);
        const Timing copy = time_copy(timer_, output_, pixels_, bytes, options_.gpu);
        report_.set_ceiling("sweep", all / sweep.median_ms * 1e-6);
        report_.set_ceiling("copy, both ways", 2 * all / copy.median_ms * 1e-6);
        const std::string name = "the hardware's, over " + size_text(bytes);
        add({"Ceilings", name, "read only"}, "ceiling", all, sweep, {}, "16-byte loads");
        add({"Ceilings", name, "copy"}, "ceiling", 2 * all, copy, {}, "read and written");
    }

    /// A case over a large image, every content, and its peers.
    void counting(const std::string& group, const std::string& name, Depth depth, int channels,
                  const AnalysisRequest& request, std::optional<double> target, bool opencv) {
        const ImageView view = large(depth, channels, pixels_.bytes());
        const double bytes = static_cast<double>(bytes_of(view));
        const StreamPlan plan = plan_for(depth, channels);
        for (const Content content : contents) {
            const Place place{group, name, to_string(content)};
            std::optional<Analysis> found;
            attempt(place, "gpuhist", [&] {
                fill_with(content, depth, channels);
                Ours ours(plan, request);
                const Timing timing =
                    timer_.sustained(1, [&](cudaStream_t stream, int) { ours.enqueue(view, stream); });
                found = ours.result(timer_.stream());
                add(place, "gpuhist", bytes, timing,
                    target ? std::optional(at_least_of_ceiling(*target)) : std::nullopt, "");
            });
            if (!found) continue;
            const auto peer = [&](const std::string& tool, const std::function<std::unique_ptr<GpuPeer>()>& make) {
                attempt(place, tool, [&] {
                    const std::unique_ptr<GpuPeer> work = make();
                    const Timing timing = timer_.sustained(
                        1, [&](cudaStream_t stream, int) { work->enqueue(view.data, stream); }, false);
                    add(place, tool, bytes, timing, {}, work->compare(*found));
                });
            };
            const PeerImage image = peer_image(view, *found);
            const bool sorts = depth == Depth::f32 && channels == 1 && request.detail == Detail::full;
            peer(sorts ? "CUB with sort" : "CUB", [&] { return make_cub(image, sorts); });
            if (depth == Depth::u8) peer("NPP", [&] { return make_npp(image, NppWork::histogram, options_.gpu); });
            if (depth == Depth::u8 && channels == 1) {
                peer("NPP mean, std", [&] { return make_npp(image, NppWork::mean_std, options_.gpu); });
                peer("NPP min, max", [&] { return make_npp(image, NppWork::min_max, options_.gpu); });
            }
            if (opencv) attempt(place, "OpenCV, CPU", [&] { compare_with_opencv(place, plan, request, view); });
        }
    }

    static PeerImage peer_image(const ImageView& view, const Analysis& found) {
        return {view.depth,  view.channels,     view.width, view.height, view.depth == Depth::u16 ? 65536 : 256,
                found.range, found.upper_closed};
    }

    /// The first 2^24 pixels: OpenCV counts in floats, which are exact so far.
    void compare_with_opencv(const Place& place, const StreamPlan& plan, const AnalysisRequest& request,
                             ImageView view) {
        view.height = std::min(view.height, (std::int64_t{1} << 24) / view.width);
        const int depth = view.depth == Depth::u8 ? CV_8U : view.depth == Depth::u16 ? CV_16U : CV_32F;
        cv::Mat picture(static_cast<int>(view.height), static_cast<int>(view.width), CV_MAKETYPE(depth, view.channels));
        BENCH_CUDA(cudaMemcpy(picture.data, view.data, bytes_of(view), cudaMemcpyDeviceToHost));
        OpenCvPeer peer(picture);
        const Timing timing = time_on_host(std::min(5, options_.repetitions), [&] { peer.run(); });
        Ours ours(plan, request);
        ours.enqueue(view, timer_.stream());
        const std::string remark = peer.compare(ours.result(timer_.stream()));
        add(place, "OpenCV, CPU", static_cast<double>(bytes_of(view)), timing, {},
            remark + ", over " + size_text(bytes_of(view)) + ", " + std::to_string(cv::getNumThreads()) + " threads");
    }

    /// K5 where the second reading finds the pixels in the cache.
    void cached_floats(const AnalysisRequest& request) {
        for (const int channels : {1, 3}) {
            const Place place{"K5",
                              type_text(Depth::f32, channels) + (channels == 1 ? ", brief" : " and luma, brief") +
                                  ", small enough for the cache",
                              size_text(chip_bytes)};
            attempt(place, "gpuhist", [&] {
                fill_with(Content::natural, Depth::f32, channels);
                const ImageView view = view_of(pixels_.get(), Depth::f32, channels, 2000, 3000 / channels);
                const Rotation rotation(bytes_of(view), pixels_.bytes(), options_.gpu);
                Ours ours(plan_for(Depth::f32, channels), request);
                const Timing timing = timer_.sustained(rotation.copies, [&](cudaStream_t stream, int turn) {
                    ours.enqueue(at(view, rotation.at(pixels_, turn)), stream);
                });
                add(place, "gpuhist", static_cast<double>(bytes_of(view)), timing, at_least_of_ceiling(0.80),
                    check_analysis(ours, view, request));
            });
        }
    }

    /// Regions of interest of a large image: rows with gaps between, which begin and end anywhere.
    void regions(const AnalysisRequest& no_luma, const AnalysisRequest& brief) {
        const Kind kinds[] = {
            {"u8 gray", Depth::u8, 1, {}},
            {"u8 BGR, no luma histogram", Depth::u8, 3, no_luma},
            {"u16 gray", Depth::u16, 1, {}},
            {"u16 BGR and luma histogram", Depth::u16, 3, {}},
            {"f32 gray, brief", Depth::f32, 1, brief},
            {"f32 BGR and luma, brief", Depth::f32, 3, brief},
        };
        struct Region {
            std::int64_t width, of, left;
        };
        for (const Kind& kind : kinds)
            for (const Region& region : {Region{7001, 8192, 101}, Region{257, 321, 31}}) {
                const Place place{"ROI", std::string(kind.name) + ", regions of interest",
                                  std::to_string(region.width) + " of " + std::to_string(region.of)};
                attempt(place, "gpuhist", [&] {
                    fill_with(Content::natural, kind.depth, kind.channels);
                    const std::size_t pixel = sample_bytes(kind.depth) * static_cast<std::size_t>(kind.channels),
                                      row = pixel * static_cast<std::size_t>(region.of);
                    ImageView view = view_of(pixels_.get(), kind.depth, kind.channels, region.of,
                                             static_cast<std::int64_t>(pixels_.bytes() / row));
                    view.data = static_cast<const char*>(view.data) + static_cast<std::size_t>(region.left) * pixel;
                    view.width = region.width;
                    Ours ours(plan_for(kind.depth, kind.channels), kind.request);
                    const Timing timing =
                        timer_.sustained(1, [&](cudaStream_t stream, int) { ours.enqueue(view, stream); });
                    const double bytes =
                        static_cast<double>(view.height) * static_cast<double>(view.width) * static_cast<double>(pixel);
                    add(place, "gpuhist", bytes, timing, {}, check_analysis(ours, view, kind.request));
                    add(place, "ceiling", bytes, time_sweep(timer_, view), {},
                        "the words in which pixels lie, read only");
                });
            }
    }

    void normalizing(const AnalysisRequest& no_luma, const AnalysisRequest& brief) {
        const Kind kinds[] = {
            {"u8 gray minmax", Depth::u8, 1, {}},
            {"u8 gray equalize", Depth::u8, 1, {}, NormalizeMode::equalize},
            {"u8 BGR minmax, no luma histogram", Depth::u8, 3, no_luma},
            {"u8 BGR equalize", Depth::u8, 3, {}, NormalizeMode::equalize},
            {"u16 gray minmax", Depth::u16, 1, {}},
            {"u16 BGR minmax, no luma histogram", Depth::u16, 3, no_luma},
            {"f32 gray minmax, brief", Depth::f32, 1, brief},
            {"f32 BGR minmax, brief", Depth::f32, 3, brief},
        };
        const std::size_t large_bytes = pixels_.bytes() / 2;
        for (const Kind& kind : kinds)
            for (const std::size_t bytes : {chip_bytes, large_bytes}) {
                const Place place{"K6", std::string(kind.name) + ", natural", size_text(bytes)};
                attempt(place, "gpuhist", [&] {
                    fill_with(Content::natural, kind.depth, kind.channels);
                    const std::int64_t samples = static_cast<std::int64_t>(bytes / sample_bytes(kind.depth));
                    const ImageView view = bytes == chip_bytes ? view_of(pixels_.get(), kind.depth, kind.channels, 2000,
                                                                         samples / kind.channels / 2000)
                                                               : large(kind.depth, kind.channels, bytes);
                    normalize(place, view, kind.mode, kind.request, bytes == chip_bytes);
                });
            }
    }

    /// Time of a normalized copy without an analysis.
    void copy_in_two_steps() {
        for (const bool keep : {false, true}) {
            const Place place{"K6", size_text(chip_bytes) + " read, a grid barrier, written: no analysis",
                              keep ? "kept on chip" : "through L2"};
            attempt(place, "ceiling", [&] {
                const Rotation rotation(chip_bytes, pixels_.bytes(), options_.gpu);
                const Timing timing = timer_.sustained(rotation.copies, [&](cudaStream_t stream, int turn) {
                    enqueue_read_meet_write(rotation.at(output_, turn), rotation.at(pixels_, turn), chip_bytes, keep,
                                            stream);
                });
                const Timing copy = time_copy(timer_, output_, pixels_, chip_bytes, options_.gpu);
                const Relative relative{timing.median_ms / copy.median_ms, "times a copy"};
                report_.add({place.group, place.name, place.content, "ceiling", 0, timing, {}, relative, ""});
            });
        }
    }

    struct Normalized {
        Timing ours, copy;
        std::string remark;
    };
    /// `check`: against the CPU engine.
    Normalized time_normalized(const ImageView& view, const Normalization& normalization,
                               const AnalysisRequest& request, bool check) {
        const Rotation rotation(bytes_of(view), pixels_.bytes(), options_.gpu);
        StreamPlan plan = plan_for(view.depth, view.channels);
        plan.normalize = true;
        Ours ours(plan, request, 1, normalization);
        const auto output = [&](int turn) {
            return output_of(rotation.at(output_, turn), view, normalized_depth(view.depth, normalization));
        };
        Normalized found;
        found.ours = timer_.sustained(rotation.copies, [&](cudaStream_t stream, int turn) {
            ours.enqueue(at(view, rotation.at(pixels_, turn)), output(turn), stream);
        });
        found.copy = time_copy(timer_, output_, pixels_, bytes_of(view) / 16 * 16, options_.gpu);
        found.remark = "a copy takes " + std::to_string(std::lround(found.copy.median_ms * 1e3)) + " us";
        if (check) found.remark += check_normalized(ours, view, output(0), request, normalization);
        return found;
    }
    void normalize(const Place& place, const ImageView& view, NormalizeMode mode, const AnalysisRequest& request,
                   bool on_chip) {
        const Normalized found = time_normalized(view, of_mode(mode), request, on_chip);
        report_.add({place.group, place.name, place.content, "gpuhist", 0, found.ours,
                     at_most_relative(on_chip ? 1.25 : 1.6),
                     Relative{found.ours.median_ms / found.copy.median_ms, "times a copy"}, found.remark});
    }

    static Normalization of_mode(NormalizeMode mode) {
        Normalization normalization;
        normalization.mode = mode;
        return normalization;
    }

    /// Copies whose tables follow behind the analysis: in another depth, and by curves.
    void tones(const AnalysisRequest& no_luma, const AnalysisRequest& brief) {
        struct Tone {
            const char* name;
            Normalization normalization;
            std::optional<Target> target;
        };
        Normalization bytes = of_mode(NormalizeMode::minmax), equalized = of_mode(NormalizeMode::equalize),
                      gamma = of_mode(NormalizeMode::gamma), stretch = of_mode(NormalizeMode::stretch);
        bytes.depth = equalized.depth = Depth::u8;
        gamma.gamma = 2.2;
        stretch.stretch = StretchFunction::asinh;
        stretch.interval = StretchInterval::percentile;
        for (const Kind& kind : {Kind{"u16 gray", Depth::u16, 1, {}}, Kind{"u16 BGR", Depth::u16, 3, no_luma},
                                 Kind{"u8 BGR", Depth::u8, 3, no_luma}, Kind{"f32 BGR, brief", Depth::f32, 3, brief}})
            for (const Tone& tone :
                 {Tone{"minmax in u8", bytes, at_most_relative(1.25)}, Tone{"equalize in u8", equalized, {}},
                  Tone{"gamma", gamma, {}}, Tone{"asinh between percentiles", stretch, {}}}) {
                if (kind.depth == Depth::u8 && tone.normalization.depth) continue;
                const Place place{"Tone", std::string(kind.name) + ", natural", tone.name};
                attempt(place, "gpuhist", [&] {
                    fill_with(Content::natural, kind.depth, kind.channels);
                    const auto samples = static_cast<std::int64_t>(chip_bytes / sample_bytes(kind.depth));
                    const ImageView view =
                        view_of(pixels_.get(), kind.depth, kind.channels, 2000, samples / kind.channels / 2000);
                    const Normalized own = time_normalized(
                        view,
                        of_mode(tone.normalization.mode == NormalizeMode::equalize ? NormalizeMode::equalize
                                                                                   : NormalizeMode::minmax),
                        kind.request, false);
                    const Normalized found = time_normalized(view, tone.normalization, kind.request, true);
                    report_.add({place.group, place.name, place.content, "gpuhist", 0, found.ours, tone.target,
                                 Relative{found.ours.median_ms / own.ours.median_ms, "times a copy in its own depth"},
                                 found.remark});
                });
            }
    }

    /// clahe of u8, beside a copy.
    void adaptive(const AnalysisRequest& no_luma) {
        for (const Kind& kind : {Kind{"u8 gray", Depth::u8, 1, {}}, Kind{"u8 BGR", Depth::u8, 3, no_luma}}) {
            const Place place{"Tone", std::string(kind.name) + ", natural", "clahe, 8 x 8 tiles, limit 2"};
            attempt(place, "gpuhist", [&] {
                fill_with(Content::natural, kind.depth, kind.channels);
                const ImageView view = view_of(pixels_.get(), kind.depth, kind.channels, 2000,
                                               static_cast<std::int64_t>(chip_bytes) / kind.channels / 2000);
                Normalization normalization = of_mode(NormalizeMode::clahe);
                normalization.clip_limit = 2;
                const Normalized found = time_normalized(view, normalization, kind.request, true);
                report_.add({place.group, place.name, place.content, "gpuhist", 0, found.ours, at_most_relative(2.5),
                             Relative{found.ours.median_ms / found.copy.median_ms, "times a copy"}, found.remark});
            });
        }
    }

    /// Copies that an engine writes in GPU memory after the CPU has seen the findings: on the host's clock, beside the
    /// same image and copy in host memory.
    void copies_from_findings(const AnalysisRequest& no_luma, const AnalysisRequest& brief) {
        struct Case {
            const char* name;
            NormalizeMode mode;
            std::optional<Depth> copy{};
        };
        const Case any[] = {{"match", NormalizeMode::match},
                            {"robust", NormalizeMode::robust},
                            {"threshold by Otsu", NormalizeMode::threshold},
                            {"background, 8 x 8 tiles", NormalizeMode::background}};
        const Case of_u16[] = {{"clahe, 8 x 8 tiles, limit 2 over white", NormalizeMode::clahe}};
        const Case of_s16[] = {{"minmax", NormalizeMode::minmax}, {"minmax in u8", NormalizeMode::minmax, Depth::u8}};
        for (const Kind& kind : {Kind{"u8 BGR", Depth::u8, 3, no_luma}, Kind{"u16 gray", Depth::u16, 1, {}},
                                 Kind{"s16 gray", Depth::s16, 1, {}}, Kind{"f32 gray, brief", Depth::f32, 1, brief}}) {
            std::vector<Case> cases(std::begin(any), std::end(any));
            if (kind.depth == Depth::u16) cases.insert(cases.end(), std::begin(of_u16), std::end(of_u16));
            if (kind.depth == Depth::s16) cases.insert(cases.end(), std::begin(of_s16), std::end(of_s16));
            for (const Case& one : cases) {
                const Place place{"Tone", std::string(kind.name) + ", natural", one.name};
                attempt(place, "Engine", [&] { time_from_findings(place, kind, one.mode, one.copy); });
            }
        }
    }
    void time_from_findings(const Place& place, const Kind& kind, NormalizeMode mode, std::optional<Depth> copy) {
        fill_with(Content::natural, kind.depth == Depth::s16 ? Depth::u16 : kind.depth, kind.channels);
        const auto samples = static_cast<std::int64_t>(chip_bytes / sample_bytes(kind.depth));
        const ImageView view = view_of(pixels_.get(), kind.depth, kind.channels, 2000, samples / kind.channels / 2000);
        std::vector<float> pixels;
        const ImageView host = on_host(view, pixels);
        Normalization normalization = of_mode(mode);
        normalization.depth = copy;
        normalization.clip_limit = 2;
        normalization.clip_white = true;
        if (mode == NormalizeMode::match) normalization.reference = reference_of(host, {});
        const Depth depth = normalized_depth(view.depth, normalization);
        const MutableImageView output = output_of(output_.get(), view, depth);
        std::vector<float> copied(static_cast<std::size_t>(output.packed_row_bytes() * output.height) / sizeof(float));
        MutableImageView host_output = output;
        host_output.data = copied.data();
        host_output.memory = Memory::host;
        EngineOptions engine_options;
        engine_options.gpu = options_.gpu;
        const std::unique_ptr<Engine> engine = make_engine("cuda", engine_options);
        Analysis analysis;
        const Comparison times = compare(
            timer_.repetitions, [&] { engine->normalize(view, kind.request, normalization, output, analysis); },
            [&] { engine->normalize(host, kind.request, normalization, host_output, analysis); });
        std::vector<float> fetched(copied.size());
        BENCH_CUDA(cudaMemcpy(fetched.data(), output.data, fetched.size() * sizeof(float), cudaMemcpyDeviceToHost));
        if (std::memcmp(fetched.data(), copied.data(), fetched.size() * sizeof(float)) != 0)
            throw Mismatch("the copy in host memory differs");
        report_.add({place.group,
                     place.name,
                     place.content,
                     "Engine",
                     0,
                     times.ours,
                     {},
                     Relative{times.ours.median_ms / times.other.median_ms, "of the time in host memory"},
                     "the same copy"});
    }

    /// Single images, most of whose time any image takes.
    void small_images(const AnalysisRequest& brief) {
        const Kind kinds[] = {{"u8 gray", Depth::u8, 1, {}},
                              {"u8 BGR", Depth::u8, 3, {}},
                              {"u16 gray", Depth::u16, 1, {}},
                              {"u16 BGR", Depth::u16, 3, {}},
                              {"f32 gray, brief", Depth::f32, 1, brief},
                              {"f32 BGR, brief", Depth::f32, 3, brief},
                              {"f32 gray", Depth::f32, 1, {}},
                              {"f32 BGR", Depth::f32, 3, {}}};
        for (const Kind& kind : kinds)
            for (const std::int64_t bytes : {million, 4 * million, 8 * million}) {
                const std::int64_t width = 500,
                                   row = width * kind.channels * static_cast<std::int64_t>(sample_bytes(kind.depth));
                const ImageView view = view_of(pixels_.get(), kind.depth, kind.channels, width, bytes / row);
                const Place place{"Small", std::string(kind.name) + ", natural", size_text(bytes_of(view))};
                std::optional<Analysis> found;
                attempt(place, "gpuhist", [&] {
                    fill_with(Content::natural, kind.depth, kind.channels);
                    const Rotation rotation(bytes_of(view), pixels_.bytes(), options_.gpu);
                    Ours ours(plan_for(kind.depth, kind.channels), kind.request);
                    const Timing timing = timer_.sustained(rotation.copies, [&](cudaStream_t stream, int turn) {
                        ours.enqueue(at(view, rotation.at(pixels_, turn)), stream);
                    });
                    add(place, "gpuhist", 0, timing, {}, check_analysis(ours, view, kind.request));
                    found = ours.result(timer_.stream());
                });
                if (!found) continue;
                attempt(place, "CUB", [&] {
                    const Rotation rotation(bytes_of(view), pixels_.bytes(), options_.gpu);
                    const std::unique_ptr<GpuPeer> cub = make_cub(peer_image(view, *found));
                    const Timing timing = timer_.sustained(
                        rotation.copies,
                        [&](cudaStream_t stream, int turn) { cub->enqueue(rotation.at(pixels_, turn), stream); },
                        false);
                    cub->enqueue(view.data, timer_.stream());
                    BENCH_CUDA(cudaStreamSynchronize(timer_.stream()));
                    add(place, "CUB", 0, timing, {}, cub->compare(*found) + ", counts alone");
                });
                attempt(place, "gpuhist, minmax", [&] {
                    const Normalized normalized = time_normalized(view, of_mode(kind.mode), kind.request, true);
                    add(place, "gpuhist, minmax", 0, normalized.ours, {}, normalized.remark);
                });
            }
    }

    /// A view of the pixels in host memory, which is that of `pixels`.
    static ImageView on_host(const ImageView& view, std::vector<float>& pixels) {
        const auto bytes = static_cast<std::size_t>((view.height - 1) * view.row_bytes + view.packed_row_bytes());
        pixels.resize((bytes + sizeof(float) - 1) / sizeof(float));
        BENCH_CUDA(cudaMemcpy(pixels.data(), view.data, bytes, cudaMemcpyDeviceToHost));
        ImageView host = at(view, pixels.data());
        host.memory = Memory::host;
        return host;
    }
    /// The engine on the CPU must give the same bits: of an image, or of the first rows of a large one.
    std::string check_analysis(Ours& ours, ImageView view, const AnalysisRequest& request) {
        view.height = std::min(view.height, static_cast<std::int64_t>(chip_bytes) / view.row_bytes);
        ours.enqueue(view, timer_.stream());
        const Analysis found = ours.result(timer_.stream());
        std::vector<float> pixels;
        Analysis analysis;
        make_engine("cpu")->analyze(on_host(view, pixels), request, analysis);
        if (!(analysis == found)) throw Mismatch("the CPU engine finds other numbers");
        return "the CPU engine agrees";
    }
    std::string check_normalized(Ours& ours, const ImageView& view, const MutableImageView& output,
                                 const AnalysisRequest& request, const Normalization& normalization) {
        BENCH_CUDA(cudaMemsetAsync(output.data, 0xA5, bytes_of(output), timer_.stream()));
        ours.enqueue(view, output, timer_.stream());
        const Analysis found = ours.result(timer_.stream());
        std::vector<float> input;
        const ImageView host = on_host(view, input);
        std::vector<float> written(bytes_of(output) / sizeof(float) + 1), expected(written.size());
        BENCH_CUDA(cudaMemcpy(written.data(), output.data, bytes_of(output), cudaMemcpyDeviceToHost));
        MutableImageView target = output_of(expected.data(), host, output.depth);
        Analysis analysis;
        make_engine("cpu")->normalize(host, request, normalization, target, analysis);
        if (!(analysis == found)) throw Mismatch("the CPU engine finds other numbers");
        if (std::memcmp(written.data(), expected.data(), bytes_of(output)) != 0)
            throw Mismatch("the CPU engine writes other pixels");
        return ", the CPU engine agrees";
    }

    /// K7: what a frame of a camera costs.
    void one_image() {
        attempt({"K7", frame, "one launch"}, "gpuhist", [&] {
            fill_with(Content::natural, Depth::u8, 3);
            measure_frame(frame, view_of(pixels_.get(), Depth::u8, 3, 4000, 3000), at_most_microseconds(20));
        });
        if (options_.image.empty()) return;
        attempt({"K7", "the picture", ""}, "gpuhist", [&] {
            const cv::Mat picture = natural_picture(options_.image).pixels;
            const ImageView host = io::view(picture);
            const ImageView view = view_of(pixels_.get(), host.depth, host.channels, host.width, host.height);
            if (bytes_of(view) > pixels_.bytes()) throw Unavailable("it is larger than --bytes");
            const Rotation rotation(bytes_of(view), pixels_.bytes(), options_.gpu);
            const auto row_bytes = static_cast<std::size_t>(view.row_bytes);
            for (int copy = 0; copy < rotation.copies; ++copy)
                BENCH_CUDA(cudaMemcpy2D(rotation.at(pixels_, copy), row_bytes, host.data,
                                        static_cast<std::size_t>(host.row_bytes), row_bytes,
                                        static_cast<std::size_t>(view.height), cudaMemcpyHostToDevice));
            BENCH_CUDA(cudaDeviceSynchronize());
            measure_frame("the picture, " + std::to_string(view.width) + " x " + std::to_string(view.height) + " " +
                              type_text(view.depth, view.channels),
                          view, {});
        });
    }

    void measure_frame(const std::string& name, const ImageView& view, std::optional<Target> target) {
        const Place alone{"K7", name, "one launch"}, many{"K7", name, "one of many"}, host{"K7", name, "to the host"};
        const Rotation rotation(bytes_of(view), pixels_.bytes(), options_.gpu);
        const auto image = [&](int turn) { return at(view, rotation.at(pixels_, turn)); };
        Ours ours(plan_for(view.depth, view.channels), {});
        const Enqueue enqueue = [&](cudaStream_t stream, int turn) { ours.enqueue(image(turn), stream); };
        ours.enqueue(image(0), timer_.stream());
        const Analysis found = ours.result(timer_.stream());

        add(alone, "gpuhist", 0, timer_.single(enqueue), target, "between two events");
        attempt(alone, "CUB", [&] {
            const std::unique_ptr<GpuPeer> cub = make_cub(peer_image(view, found));
            const Timing timing =
                timer_.single([&](cudaStream_t stream, int turn) { cub->enqueue(rotation.at(pixels_, turn), stream); });
            cub->enqueue(view.data, timer_.stream());
            BENCH_CUDA(cudaStreamSynchronize(timer_.stream()));
            add(alone, "CUB", 0, timing, {}, cub->compare(found) + ", without luma");
        });
        add(many, "gpuhist", 0, timer_.sustained(rotation.copies, enqueue), {}, "in a CUDA graph");

        PinnedResults pinned(ours.layout());
        const Timing polled = timer_.end_to_end([&](cudaStream_t stream, int turn) {
            pinned.clear();
            ours.enqueue_to(pinned.device(), image(turn), stream);
        });
        add(host, "gpuhist", 0, polled, {}, "from the call on an idle GPU to results in pinned memory");
        attempt(host, "gpuhist Engine", [&] {
            EngineOptions engine_options;
            engine_options.gpu = options_.gpu;
            const std::unique_ptr<Engine> engine = make_engine("cuda", engine_options);
            Analysis analysis;
            int turn = 0;
            const Timing fetched =
                time_on_host(options_.repetitions, [&] { engine->analyze(image(turn++), {}, analysis); });
            engine->analyze(image(0), {}, analysis);
            if (!(analysis == found)) throw Mismatch("Engine and StreamAnalyzer find different numbers");
            add(host, "gpuhist Engine", 0, fetched, {}, "Engine::analyze, agrees");
        });
    }

    /// K8: a tensor of small images, a result for each.
    void many_images(const AnalysisRequest& no_luma) {
        BatchView batch;
        batch.first = view_of(pixels_.get(), Depth::u8, 3, 224, 224);
        batch.images = 4096;
        batch.image_bytes = batch.first.height * batch.first.row_bytes;
        const double bytes = static_cast<double>(batch.images * batch.image_bytes);
        for (const bool luma : {false, true})
            for (const Content content : contents) {
                const Place place{"K8",
                                  "4096 images of 224 x 224 x 3, " + std::string(luma ? "" : "no ") + "luma histogram",
                                  to_string(content)};
                attempt(place, "gpuhist", [&] {
                    if (bytes > static_cast<double>(pixels_.bytes()))
                        throw Unavailable("--bytes is less than these images");
                    fill_with(content, Depth::u8, 3);
                    const AnalysisRequest request = luma ? AnalysisRequest{} : no_luma;
                    Ours ours(plan_for(Depth::u8, 3), request, batch.images);
                    const Timing timing =
                        timer_.sustained(1, [&](cudaStream_t stream, int) { ours.enqueue(batch, stream); });
                    check_batch(ours, batch, request);
                    add(place, "gpuhist", bytes, timing, luma ? std::nullopt : std::optional(at_least_of_ceiling(0.80)),
                        "and " + size_text(ours.layout().bytes * 4096) + " of results");
                });
            }
    }

    /// K9: types that are counted one bin per value, beside the unsigned one of as many bytes, on the same bits.
    void other_types() {
        for (const Depth depth : {Depth::s8, Depth::s16, Depth::f16})
            for (const int channels : {1, 3})
                for (const Content content : contents) {
                    const Depth beside = sample_bytes(depth) == 1 ? Depth::u8 : Depth::u16;
                    const Place place{"K9", type_text(depth, channels) + " beside " + to_string(beside),
                                      to_string(content)};
                    attempt(place, "gpuhist", [&] {
                        fill_with(content, beside, channels);
                        const auto time_of = [&](Depth of) {
                            const ImageView view = large(of, channels, pixels_.bytes());
                            Ours ours(plan_for(of, channels), {});
                            const Timing timing =
                                timer_.sustained(1, [&](cudaStream_t stream, int) { ours.enqueue(view, stream); });
                            check_analysis(ours, view, {});
                            return timing;
                        };
                        const Timing unsigned_type = time_of(beside), timing = time_of(depth);
                        report_.add({place.group, place.name, place.content, "gpuhist",
                                     static_cast<double>(bytes_of(large(depth, channels, pixels_.bytes()))), timing,
                                     at_most_relative(1.1),
                                     Relative{timing.median_ms / unsigned_type.median_ms,
                                              std::string("x ") + to_string(beside) + "'s time"},
                                     ""});
                    });
                }
    }

    /// K10: bands: taken apart into planes, which are measured as a batch; and by Engine::analyze, results on the host.
    void bands() {
        constexpr int channels = 8;
        EngineOptions engine_options;
        engine_options.gpu = options_.gpu;
        for (const Content content : contents) {
            const Place place{"K10", "u16, 8 bands", to_string(content)};
            fill_with(content, Depth::u16, 1);
            ImageView view = large(Depth::u16, channels, pixels_.bytes());
            view.samples = Samples::bands;
            const double bytes = static_cast<double>(bytes_of(view));
            std::optional<Analysis> found;
            attempt(place, "gpuhist", [&] {
                BatchView planes{view_of(output_.get(), Depth::u16, 1, view.width, view.height), channels, 0};
                planes.image_bytes = planes.first.height * planes.first.row_bytes;
                const cuda::Image interleaved{view.data, view.pixels(), 1, 0};
                Ours ours(plan_for(Depth::u16, 1), {}, channels);
                const Timing timing = timer_.sustained(1, [&](cudaStream_t stream, int) {
                    cuda::launch_parts(interleaved, channels, 2, 0, nullptr, output_.get(), planes.image_bytes, stream);
                    ours.enqueue(planes, stream);
                });
                found = ours.result(timer_.stream(), channels - 1);
                add(place, "gpuhist", bytes, timing, at_least_of_ceiling(0.15), "");
            });
            attempt(place, "gpuhist Engine", [&] {
                const std::unique_ptr<Engine> engine = make_engine("cuda", engine_options);
                Analysis analysis;
                const Timing timing = time_on_host(options_.repetitions, [&] { engine->analyze(view, {}, analysis); });
                if (found && analysis.channels.back().counts != found->channels.front().counts)
                    throw Mismatch("Engine and StreamAnalyzer find different counts");
                add(place, "gpuhist Engine", bytes, timing, {}, "to results on the host, agrees");
            });
        }
    }

    /// K11: types that are sorted, on the GPU: codes, counts of values. Beside CUB's radix sort of as many keys at
    /// once.
    template <class Sample>
    void sorting() {
        using Code = core::Code<Sample>;
        const Depth depth = core::depth_of<Sample>();
        for (const Content content : {Content::random, Content::natural}) {
            const Place place{"K11", type_text(depth, 1) + ", sorted", to_string(content)};
            attempt(place, "gpuhist", [&] {
                const std::size_t bytes = pixels_.bytes() / 2;
                fill_with(content, sizeof(Sample) == 4 ? Depth::f32 : Depth::u8, 1);
                const auto samples = static_cast<std::int64_t>(bytes / sizeof(Sample));
                const std::int64_t part = std::min(cuda::SortedAnalyzer::part_pixels<Code>, samples);
                const auto n = static_cast<std::size_t>(part);
                const DeviceMemory codes(n * sizeof(Code)), sorted(n * sizeof(Code)), starts(n * 4),
                    chunks((static_cast<std::size_t>(cuda::chunks_of(part)) + 2) * 4),
                    temporary(cuda::sort_temporary(depth, part));
                const cuda::SortMemory memory{codes.get(),
                                              sorted.get(),
                                              starts.as<std::uint32_t>(),
                                              chunks.as<std::uint32_t>(),
                                              chunks.as<std::uint32_t>() + cuda::chunks_of(part) + 1,
                                              temporary.get(),
                                              temporary.bytes()};
                const cuda::SortedChannel channel{{pixels_.get(), samples, 1, 0}, {}, 1, 0, 0, 0, false};
                const Timing timing = timer_.sustained(1, [&](cudaStream_t stream, int) {
                    for (std::int64_t begin = 0; begin < samples; begin += part)
                        cuda::launch_sort(depth, channel, begin, std::min(part, samples - begin), memory, stream);
                });
                const std::unique_ptr<GpuPeer> cub = make_cub_sort(sizeof(Code), samples, output_.get());
                const Timing peer = timer_.sustained(
                    1, [&](cudaStream_t stream, int) { cub->enqueue(pixels_.get(), stream); }, false);
                report_.add({place.group, place.name, place.content, "gpuhist", static_cast<double>(bytes), timing,
                             at_least_relative(0.7), Relative{peer.median_ms / timing.median_ms, "x CUB's speed"},
                             "to values, and where each begins"});
                add(place, "CUB, sort alone", static_cast<double>(bytes), peer, {}, "");
            });
        }
    }
    void sorting() {
        sorting<std::uint32_t>();
        sorting<double>();
    }

    /// K12: masks, beside the read-only sweep of as many bytes as pixels and mask are: of nothing, of all, by chance,
    /// and discs; and the same image without one.
    void masks() {
        constexpr std::int64_t width = 16384;
        AnalysisRequest no_luma, brief;
        no_luma.luma_histogram = false;
        brief.detail = Detail::brief;
        const struct {
            Depth depth;
            int channels;
            AnalysisRequest request;
            const char* what;
        } kinds[] = {{Depth::u8, 1, {}, ""},
                     {Depth::u8, 3, no_luma, ""},
                     {Depth::u8, 3, {}, ", luma histogram"},
                     {Depth::u16, 1, {}, ""},
                     {Depth::u16, 3, {}, ""},
                     {Depth::f32, 1, brief, ", brief"},
                     {Depth::f32, 3, brief, ", brief"},
                     {Depth::f32, 1, {}, ", full"}};
        for (const auto& [depth, channels, request, what] : kinds) {
            const auto pixel = static_cast<std::int64_t>(sample_bytes(depth)) * channels + 1;
            const std::int64_t height = static_cast<std::int64_t>(pixels_.bytes()) / (width * pixel) / 256 * 256;
            ImageView view = view_of(pixels_.get(), depth, channels, width, height);
            const auto pixel_bytes = static_cast<std::size_t>(bytes_of(view));
            std::vector<std::uint8_t> mask(static_cast<std::size_t>(view.pixels()));
            for (const char* name : {"none", "blank", "full", "random", "discs"}) {
                const bool any = name[0] != 'n';
                const Place place{"K12", type_text(depth, channels) + what + " and a mask", name};
                attempt(place, "gpuhist", [&] {
                    if (!any) fill_with(Content::natural, depth, channels);  // once: it takes seconds
                    for (std::int64_t y = 0; any && y < height; ++y)
                        for (std::int64_t x = 0; x < width; ++x) {
                            const std::int64_t dx = x % 256 - 128, dy = y % 256 - 128;
                            mask[static_cast<std::size_t>(y * width + x)] =
                                name[0] == 'f' || (name[0] == 'r' && (x * 2654435761 + y * 40503) >> 13 & 1) ||
                                (name[0] == 'd' && dx * dx + dy * dy < 96 * 96);
                        }
                    BENCH_CUDA(
                        cudaMemcpy(pixels_.as<char>() + pixel_bytes, mask.data(), mask.size(), cudaMemcpyHostToDevice));
                    view.mask = any ? pixels_.as<std::uint8_t>() + pixel_bytes : nullptr;
                    view.mask_row_bytes = width;
                    const std::size_t all = pixel_bytes + (any ? mask.size() : 0);
                    const Timing sweep = time_sweep(timer_, pixels_, all, options_.gpu);
                    Ours ours(plan_for(depth, channels), request);
                    const Timing timing =
                        timer_.sustained(1, [&](cudaStream_t stream, int) { ours.enqueue(view, stream); });
                    const Analysis found = ours.result(timer_.stream());
                    const std::uint64_t counted = static_cast<std::uint64_t>(
                        std::count_if(mask.begin(), mask.end(), [](auto byte) { return byte != 0; }));
                    if (any && found.channels[0].pixels - found.channels[0].masked != counted)
                        throw Mismatch("the mask leaves another number of pixels");
                    std::optional<Target> target;
                    if (any && depth == Depth::u8) target = at_least_relative(0.85);
                    report_.add({place.group, place.name, place.content, "gpuhist", static_cast<double>(all), timing,
                                 target, Relative{sweep.median_ms / timing.median_ms, "x the sweep's speed"},
                                 any ? "bytes of pixels and mask" : "without it"});
                });
            }
        }
    }

    /// K13: every region of a label map of 4096 x 4096, to its results on the GPU, beside CUB's radix sort of as many
    /// keys of 32 bits. Cells of equal labels, or each pixel's by chance.
    void labels() {
        constexpr std::int64_t side = 4096;
        const struct {
            Depth depth;
            int channels;
            std::int64_t cell, by_chance;
        } kinds[] = {{Depth::u16, 1, 29, 0}, {Depth::u16, 1, 4, 0}, {Depth::u16, 1, 0, 20'000}, {Depth::u16, 3, 29, 0},
                     {Depth::u8, 1, 512, 0}, {Depth::u8, 1, 0, 64}, {Depth::u8, 1, 0, 20'000},  {Depth::u8, 3, 512, 0},
                     {Depth::f32, 1, 29, 0}, {Depth::f32, 1, 4, 0}, {Depth::f32, 1, 512, 0},    {Depth::f32, 3, 29, 0}};
        for (const auto& [depth, channels, cell, by_chance] : kinds) {
            const std::int64_t cells = cell ? (side + cell - 1) / cell : 0, regions = cell ? cells * cells : by_chance;
            const Place place{
                "K13",
                type_text(depth, channels) + ", " + std::to_string(regions) + (cell ? " labels" : " labels by chance"),
                "natural"};
            attempt(place, "gpuhist", [&, depth = depth, channels = channels, cell = cell] {
                fill_with(Content::natural, depth, channels);
                const ImageView image = view_of(pixels_.get(), depth, channels, side, side);
                std::vector<std::uint32_t> map(static_cast<std::size_t>(side * side));
                for (std::int64_t i = 0; i < side * side; ++i) {
                    const std::int64_t y = i / side, x = i % side;
                    map[static_cast<std::size_t>(i)] =
                        cell ? static_cast<std::uint32_t>(y / cell * cells + x / cell + 1)
                             : static_cast<std::uint32_t>((static_cast<std::uint64_t>(i) * 0x9E3779B97F4A7C15u >> 33) %
                                                          static_cast<std::uint64_t>(regions)) +
                                   1;
                }
                DeviceMemory on_gpu(map.size() * sizeof map[0]);
                BENCH_CUDA(cudaMemcpy(on_gpu.get(), map.data(), on_gpu.bytes(), cudaMemcpyHostToDevice));
                const ImageView label_map = view_of(on_gpu.get(), Depth::u32, 1, side, side);
                RegionPlan plan;
                plan.depth = depth;
                plan.channels = channels;
                plan.labels = Depth::u32;
                plan.largest_label = static_cast<std::uint64_t>(regions);
                plan.pixels = side * side;
                plan.regions = regions;
                plan.gpu = options_.gpu;
                StreamRegionAnalyzer ours(plan);
                const RegionLayout layout = ours.layout();
                DeviceMemory results(layout.bytes);
                const Timing timing = timer_.sustained(
                    1, [&](cudaStream_t stream, int) { ours.enqueue(image, label_map, results.get(), stream); });
                const DeviceMemory sorted(map.size() * sizeof map[0]);
                const std::unique_ptr<GpuPeer> cub = make_cub_sort(sizeof map[0], side * side, sorted.get());
                const Timing peer = timer_.sustained(
                    1, [&](cudaStream_t stream, int) { cub->enqueue(pixels_.get(), stream); }, false);
                check_regions(image, map, results, layout);
                report_.add({place.group, place.name, place.content, "gpuhist",
                             static_cast<double>(bytes_of(image)) + static_cast<double>(on_gpu.bytes()), timing,
                             channels == 1 && cell != 4 && depth != Depth::f32 ? std::optional(at_most_relative(3))
                                                                               : std::nullopt,
                             Relative{timing.median_ms / peer.median_ms, "x the time of CUB's sort"},
                             "agrees with analyze_regions"});
                add(place, "CUB, sort alone", static_cast<double>(on_gpu.bytes()), peer, {}, "");
            });
        }
    }
    /// Regions on the GPU must have the numbers of the CPU.
    void check_regions(ImageView image, const std::vector<std::uint32_t>& map, const DeviceMemory& results,
                       const RegionLayout& layout) {
        std::vector<std::uint64_t> pixels(bytes_of(image) / sizeof(std::uint64_t)), found(layout.bytes / 8 + 1);
        BENCH_CUDA(cudaMemcpy(pixels.data(), image.data, bytes_of(image), cudaMemcpyDeviceToHost));
        BENCH_CUDA(cudaMemcpy(found.data(), results.get(), layout.bytes, cudaMemcpyDeviceToHost));
        image.data = pixels.data();
        image.memory = Memory::host;
        const ImageView labels = packed_view(map.data(), image.width, image.height, 1, Depth::u32);
        const char* at = reinterpret_cast<const char*>(found.data()) + layout.first;
        std::uint64_t regions = 0;
        const Percentiles median({50});
        analyze_regions(image, labels, {}, [&](std::vector<Region>& some) {
            for (const Region& region : some) {
                const auto& got = *reinterpret_cast<const RegionResult*>(at);
                const auto* medians = reinterpret_cast<const double*>(at + layout.percentiles_offset);
                bool same = got.label == region.label && got.area == region.area && got.x == region.x &&
                            got.width == region.width && got.y == region.y && got.height == region.height;
                for (const Statistics& row : statistics(region.analysis, median)) {
                    for (std::size_t i = 0; i < region.analysis.channels.size(); ++i)
                        if (region.analysis.channels[i].channel == row.channel)
                            same = same && got.channels[i].mean == row.mean && got.channels[i].std == row.std &&
                                   got.channels[i].minimum == row.min && got.channels[i].maximum == row.max &&
                                   medians[i] == row.percentiles[0].value;
                }
                if (!same) throw Mismatch("label " + std::to_string(region.label) + " has other numbers on the CPU");
                at += layout.stride;
                ++regions;
            }
        });
        if (reinterpret_cast<const RegionsFound*>(found.data())->regions != regions)
            throw Mismatch("there are other regions on the CPU");
    }

    /// K14: measures of pixels, to their sums on the GPU: of colors and neighborhoods, and with brightness, whose
    /// passes are those that the image needs.
    void measures() {
        for (const auto& [depth, channels] :
             {std::pair{Depth::u8, 3}, {Depth::u8, 4}, {Depth::u8, 1}, {Depth::u16, 1}, {Depth::u16, 3}})
            for (const Content content : contents) {
                const bool bgr = depth == Depth::u8 && channels == 3;
                const auto target = [&](double share) {
                    return bgr ? std::optional(at_least_of_ceiling(share)) : std::nullopt;
                };
                const ImageView view = large(depth, channels, pixels_.bytes());
                const double bytes = static_cast<double>(bytes_of(view));
                const DeviceMemory sums(cuda::measure_words * sizeof(cuda::Word)), counts(std::size_t{1} << 20);
                cuda::MeasureParameters parameters = cuda::measure_parameters(view, Measures::quality());
                parameters.sums = sums.as<cuda::Word>();
                const auto enqueue = [&](cudaStream_t stream, const std::vector<cuda::KeyParameters>& passes) {
                    cuda::Launch launch = cuda::launch_on(options_.gpu);
                    launch.stream = stream;
                    BENCH_CUDA(cudaMemsetAsync(sums.get(), 0, sums.bytes(), stream));
                    cuda::launch_sums(parameters, launch);
                    for (const cuda::KeyParameters& pass : passes) {
                        const std::size_t all = static_cast<std::size_t>(std::max(1, pass.wanted)) << pass.bits;
                        BENCH_CUDA(cudaMemsetAsync(counts.get(), 0, all * sizeof(cuda::Word), stream));
                        cuda::launch_keys(pass, launch);
                    }
                };
                const Place place{"K14", type_text(depth, channels) + ", measures without brightness",
                                  to_string(content)};
                attempt(place, "gpuhist", [&] {
                    fill_with(content, depth, channels);
                    const Timing timing = timer_.sustained(1, [&](cudaStream_t stream, int) { enqueue(stream, {}); });
                    check_measures(view);
                    add(place, "gpuhist", bytes, timing, target(0.5), "agrees with engine cpu");
                });
                const Place with{"K14", type_text(depth, channels) + ", measures with brightness", to_string(content)};
                if (channels == 1) continue;
                attempt(with, "gpuhist", [&] {
                    fill_with(content, depth, channels);
                    const std::vector<cuda::KeyParameters> passes = key_passes(view, counts);
                    const Timing timing =
                        timer_.sustained(1, [&](cudaStream_t stream, int) { enqueue(stream, passes); });
                    add(with, "gpuhist", bytes, timing, target(0.2),
                        std::to_string(passes.size()) + " passes over the keys, without the host's part");
                });
            }
    }
    /// Passes that select the keys of an image.
    std::vector<cuda::KeyParameters> key_passes(const ImageView& view, const DeviceMemory& counts) {
        cuda::Launch launch = cuda::launch_on(options_.gpu);
        launch.stream = timer_.stream();
        cuda::KeySelection selection = cuda::key_selection(view, launch);
        std::vector<cuda::KeyParameters> passes;
        for (bool more = true; more;) {
            passes.push_back(cuda::key_parameters(view, selection));
            passes.back().counts = counts.as<cuda::Word>();
            std::vector<std::uint64_t> fetched(selection.counts());
            const std::size_t bytes = fetched.size() * sizeof fetched[0];
            BENCH_CUDA(cudaMemsetAsync(counts.get(), 0, bytes, launch.stream));
            cuda::launch_keys(passes.back(), launch);
            BENCH_CUDA(cudaStreamSynchronize(launch.stream));
            BENCH_CUDA(cudaMemcpy(fetched.data(), counts.get(), bytes, cudaMemcpyDeviceToHost));
            more = selection.take(fetched.data());
        }
        return passes;
    }
    /// Measures of the first rows must be those that the CPU finds.
    void check_measures(ImageView view) {
        view.height = std::min<std::int64_t>(view.height, 1024);
        std::vector<std::uint64_t> pixels(bytes_of(view) / sizeof(std::uint64_t));
        BENCH_CUDA(cudaMemcpy(pixels.data(), view.data, bytes_of(view), cudaMemcpyDeviceToHost));
        ImageView on_host = view;
        on_host.data = pixels.data();
        on_host.memory = Memory::host;
        AnalysisRequest request;
        for (const MeasureTraits& traits : all_measures)
            if (!traits.as_stored) request.measures.add(traits.measure);
        EngineOptions options;
        options.gpu = options_.gpu;
        if (!(make_engine("cuda", options)->analyze(view, request) == make_engine("cpu")->analyze(on_host, request)))
            throw Mismatch("the CPU finds other measures");
    }

    /// An image's findings must not depend on those around it: some of them again, alone.
    void check_batch(const Ours& ours, const BatchView& batch, const AnalysisRequest& request) {
        Ours alone(plan_for(batch.first.depth, batch.first.channels), request);
        for (std::int64_t index = 0; index < batch.images; index += 455) {
            ImageView image = batch.first;
            image.data = static_cast<const char*>(image.data) + index * batch.image_bytes;
            alone.enqueue(image, timer_.stream());
            if (!(alone.result(timer_.stream()) == ours.result(timer_.stream(), index)))
                throw Mismatch("image " + std::to_string(index) + " of the batch has other numbers than alone");
        }
    }

    static constexpr const char* frame = "one 12 MP BGR image, u8";

    ReportOptions options_;
    Report report_;
    GpuTimer timer_;
    std::string photograph_name_;
    Photograph photograph_;
    DeviceMemory pixels_, output_;
    std::set<std::string> said_;
    int failures_ = 0;
};

}  // namespace

void add_kernels(CLI::App& app) {
    auto options = std::make_shared<ReportOptions>();
    CLI::App* command = app.add_subcommand(
        "kernels", "The engine on the GPU against the hardware's ceilings, CUB, NPP and OpenCV: cases K1 to K14");
    bind_report_options(*command, *options);
    bind_gpu_options(*command, *options);
    command->callback([options] { Kernels(*options).run(); });
}

}  // namespace gpuhist::bench
