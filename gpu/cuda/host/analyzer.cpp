#include "cuda/host/analyzer.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "core/float_details.hpp"
#include "core/validate.hpp"
#include "gpuhist/error.hpp"

namespace gpuhist::cuda {
namespace {

int attribute(cudaDeviceAttr name, int gpu) {
    int value = 0;
    GPUHIST_CUDA(cudaDeviceGetAttribute(&value, name, gpu));
    return value;
}

/// The oldest GPUs that CUDA 13 compiles for.
constexpr int oldest_major = 7, oldest_minor = 5;

std::uint32_t bins_of(Depth depth, std::uint32_t requested) {
    return depth == Depth::u8 ? 256 : depth == Depth::u16 ? 65536 : requested;
}

constexpr std::size_t round_up(std::size_t bytes) {
    return (bytes + 255) / 256 * 256;
}

bool packed(const ImageView& image) {
    return image.height == 1 || image.row_bytes == image.packed_row_bytes();
}

/// Whether pixels start on 16-byte boundaries now and then, where groups of them can be loaded at once.
bool meets_boundaries(const ImageView& image) {
    const auto pixel = sample_bytes(image.depth) * static_cast<std::size_t>(image.channels);
    return reinterpret_cast<std::uintptr_t>(image.data) % std::min<std::size_t>(pixel & (0 - pixel), 16) == 0;
}
/// Whether an image, and its output, are described to the kernels as one long row.
bool one_row(const ImageView& image, const MutableImageView* output) {
    return packed(image) && (!output || packed(*output)) && meets_boundaries(image);
}

/// As the kernels see it: what is packed, input and output, is one long row.
struct Placed {
    Image image;
    Output output;
    std::int64_t pieces;
};
Placed place(const ImageView& view, const MutableImageView* output) {
    Placed placed{{view.data, view.width, view.height, view.row_bytes}, {}, 0};
    if (output) placed.output = {output->data, output->row_bytes};
    if (one_row(view, output)) placed.image = {view.data, view.pixels(), 1, 0};
    const int group = group_pixels(static_cast<int>(sample_bytes(view.depth)), view.channels);
    placed.pieces = pieces_in_row(placed.image.width, group) * placed.image.height;
    return placed;
}

bool alike(const ImageView& a, const ImageView& b) {
    return a.width == b.width && a.height == b.height && a.row_bytes == b.row_bytes && a.order == b.order;
}
std::int64_t distance(const void* from, const void* to) {
    return static_cast<const char*>(to) - static_cast<const char*>(from);
}

/// How many views from `first` on are equal images at equal distances.
std::int64_t tensor_length(const Views& views, std::int64_t first) {
    auto image = [&](std::int64_t i) -> const ImageView& { return views.images[first + i]; };
    auto output = [&](std::int64_t i) -> ImageView { return views.outputs[first + i]; };
    const std::int64_t count = views.count - first;
    std::int64_t length = 1;
    while (length < count && alike(image(0), image(length)) &&
           distance(image(length - 1).data, image(length).data) == distance(image(0).data, image(1).data) &&
           (!views.outputs ||
            (alike(output(0), output(length)) &&
             distance(output(length - 1).data, output(length).data) == distance(output(0).data, output(1).data))))
        ++length;
    return length;
}

}  // namespace

std::string why_unavailable(int gpu) {
    int count = 0;
    const cudaError_t status = cudaGetDeviceCount(&count);
    if (status == cudaErrorInsufficientDriver) {
        (void)cudaGetLastError();
        int driver = 0;
        (void)cudaDriverGetVersion(&driver);
        return driver == 0 ? "no CUDA driver is installed" : "the CUDA driver is older than this program needs";
    }
    if (status != cudaSuccess) {
        (void)cudaGetLastError();
        return cudaGetErrorString(status);
    }
    if (count == 0) return "no GPU is visible";
    if (gpu < 0 || gpu >= count)
        return "there is no GPU " + std::to_string(gpu) + ": they are numbered 0 to " + std::to_string(count - 1);
    const int major = attribute(cudaDevAttrComputeCapabilityMajor, gpu),
              minor = attribute(cudaDevAttrComputeCapabilityMinor, gpu);
    if (major * 10 + minor < oldest_major * 10 + oldest_minor)
        return "GPU " + std::to_string(gpu) + " has compute capability " + std::to_string(major) + "." +
               std::to_string(minor) + ", at least 7.5 is needed";
    return "";
}

Launch launch_on(const StreamPlan& plan) {
    const int gpu = plan.gpu;
    Launch launch;
    launch.gpu = gpu;
    launch.multiprocessors = attribute(cudaDevAttrMultiProcessorCount, gpu);
    launch.shared_bytes = static_cast<std::size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, gpu));
    if (plan.shared_bytes != 0) launch.shared_bytes = std::min(launch.shared_bytes, plan.shared_bytes);
    launch.cooperative = plan.cooperative && attribute(cudaDevAttrCooperativeLaunch, gpu) != 0;
    return launch;
}

std::size_t workspace_bytes(const StreamPlan& plan, const Launch& launch) {
    return with_channels(plan.channels, [&](auto constant) {
        constexpr int C = decltype(constant)::value;
        return round_up(plan.depth == Depth::u8    ? bytes_workspace<C>(launch)
                        : plan.depth == Depth::u16 ? words_workspace<C>(launch)
                                                   : floats_workspace<C>(plan.bins));
    });
}

ResultLayout layout_of(Depth depth, int channels, std::uint32_t bins, const Normalization* normalization) {
    const std::uint32_t values = bins_of(depth, bins);
    ResultLayout layout;
    std::size_t end = round_up(sizeof(ImageResult));
    auto append = [&](std::size_t bytes) { return std::exchange(end, round_up(end + bytes)); };
    if (depth == Depth::f32) layout.details_offset = append(core::float_details_bytes(1));
    layout.counts_offset = append(std::size_t(rows_of(channels)) * values * sizeof(std::uint64_t));
    if (normalization && depth != Depth::f32)
        layout.tables_offset = append((channels == 1 || normalization->joint ? 1u : 3u) * values *
                                      sample_bytes(normalized_depth(depth, normalization->mode)));
    layout.bytes = end;
    return layout;
}

void validate(const StreamPlan& plan) {
    if (plan.channels != 1 && plan.channels != 3 && plan.channels != 4)
        throw InvalidArgument("plan of " + std::to_string(plan.channels) + " channels: there are 1, 3 and 4");
    if (plan.depth != Depth::u8 && plan.depth != Depth::u16 && plan.depth != Depth::f32)
        throw InvalidArgument("plan of unknown depth");
    AnalysisRequest request;
    request.bins = plan.bins;
    core::validate(request);
}

Analyzer::Analyzer(const StreamPlan& plan, void* workspace)
    : plan_(plan), launch_(launch_on(plan)), workspace_(workspace), list_(std::make_unique<List>()) {
    const std::size_t bytes = workspace_bytes(plan, launch_);
    if (!workspace_) workspace_ = owned_.reserve(bytes);
    GPUHIST_CUDA(cudaMemset(workspace_, 0, bytes));
    GPUHIST_CUDA(cudaStreamSynchronize(cudaStreamLegacy));
}

ResultLayout Analyzer::layout(const AnalysisRequest& request, const Normalization* normalization) const {
    return layout_of(plan_.depth, plan_.channels, request.bins, normalization);
}

void Analyzer::check(const ImageView& image, const MutableImageView* output, const AnalysisRequest& request,
                     const Normalization* normalization) const {
    core::validate(image);
    core::validate(request);
    if (image.depth != plan_.depth || image.channels != plan_.channels)
        throw InvalidArgument(std::string("image of ") + std::to_string(image.channels) + " channels " +
                              to_string(image.depth) + ": the analyser was planned for " +
                              std::to_string(plan_.channels) + " channels " + to_string(plan_.depth));
    if (image.memory != Memory::device)
        throw InvalidArgument("image in host memory: a stream-level analyser reads device memory");
    if (plan_.depth == Depth::f32 && request.bins > plan_.bins)
        throw InvalidArgument("request for " + std::to_string(request.bins) + " bins: the analyser was planned for " +
                              std::to_string(plan_.bins));
    // Counters of a block have 32 bits, and the blocks share the pixels evenly.
    if (image.pixels() / launch_.multiprocessors >= std::int64_t{1} << 31)
        throw InvalidArgument("image of " + std::to_string(image.pixels()) + " pixels: this GPU counts fewer than " +
                              std::to_string((std::int64_t{1} << 31) * launch_.multiprocessors));
    if (!one_row(image, output) && image.width * image.channels >= std::int64_t{1} << 30)
        throw InvalidArgument("rows of " + std::to_string(image.width * image.channels) +
                              " samples, with gaps between or off 16-byte boundaries: fewer than 2^30");
    if (!normalization) return;
    if (!plan_.normalize) throw InvalidArgument("the analyser was not planned to normalise");
    core::validate(*normalization);
    core::validate_output(image, *normalization, *output);
}

void Analyzer::check_results(const void* results, std::int64_t images) {
    if (images > 0 && !results) throw InvalidArgument("results: a null pointer");
    if (reinterpret_cast<std::uintptr_t>(results) % 16 != 0)
        throw InvalidArgument("results are not aligned to 16 bytes");
}

template <class Images>
void Analyzer::launch(const Images& images, ChannelOrder order, const AnalysisRequest& request,
                      const Normalization* normalization, char* results, cudaStream_t stream) const {
    Common common{};
    common.results = results;
    common.layout = layout(request, normalization);
    common.rgb = order == ChannelOrder::rgb;
    common.bins = bins_of(plan_.depth, request.bins);
    common.report_luma = plan_.channels > 1 && (request.luma_histogram || plan_.depth == Depth::f32);
    common.normalize = normalization != nullptr;
    if (normalization) common.normalization = *normalization;
    Launch launch = launch_;
    launch.stream = stream;

    if (plan_.depth == Depth::f32) {
        FloatParameters p{};
        p.common = common;
        p.workspace = workspace_;
        p.detail = request.detail;
        p.has_range = request.range.has_value();
        p.range = request.range.value_or(Range{});
        const bool stretch = normalization && normalization->mode == NormalizeMode::percentile;
        p.ranks = core::RankRequest::of(request.percentiles, 0, stretch, stretch ? normalization->low : 0,
                                        stretch ? normalization->high : 0);
        p.group = 0;
        p.groups = 1;
        p.publish = true;
        return with_channels(plan_.channels, [&](auto constant) { launch_floats<constant()>(images, p, launch); });
    }
    CountParameters p{};
    p.common = common;
    p.workspace = workspace_;
    p.count_luma = plan_.channels > 1 && (request.luma_histogram || (normalization && normalization->joint &&
                                                                     normalization->mode == NormalizeMode::equalize));
    with_channels(plan_.channels, [&](auto constant) {
        constexpr int C = decltype(constant)::value;
        (plan_.depth == Depth::u8 ? launch_bytes<C, Images> : launch_words<C, Images>)(images, p, launch);
    });
}

void Analyzer::enqueue(const Views& views, const AnalysisRequest& request, const Normalization* normalization,
                       void* results, cudaStream_t stream) {
    if (views.count < 0) throw InvalidArgument("a list of " + std::to_string(views.count) + " images");
    auto output = [&](std::int64_t i) { return normalization ? views.outputs + i : nullptr; };
    for (std::int64_t i = 0; i < views.count; ++i) check(views.images[i], output(i), request, normalization);
    const std::size_t bytes = layout(request, normalization).bytes;

    check_results(results, views.count);
    for (std::int64_t first = 0; first < views.count;) {
        const ChannelOrder order = views.images[first].order;
        char* at = static_cast<char*>(results) + first * static_cast<std::int64_t>(bytes);
        const std::int64_t length = tensor_length(views, first);
        if (length == views.count - first || length >= StreamAnalyzer::list_images) {
            const Placed placed = place(views.images[first], output(first));
            Tensor tensor{placed.image, placed.output, length, 0, 0, placed.pieces};
            if (length > 1) {
                tensor.image_bytes = distance(views.images[first].data, views.images[first + 1].data);
                if (normalization)
                    tensor.output_bytes = distance(views.outputs[first].data, views.outputs[first + 1].data);
            }
            launch(tensor, order, request, normalization, at, stream);
            first += length;
            continue;
        }
        List& list = *list_;
        list.count = 0;
        list.before[0] = 0;
        while (first + list.count < views.count && list.count < StreamAnalyzer::list_images &&
               views.images[first + list.count].order == order) {
            const std::int64_t i = list.count++;
            const Placed placed = place(views.images[first + i], output(first + i));
            list.images[i] = placed.image;
            list.outputs[i] = placed.output;
            list.before[i + 1] = list.before[i] + placed.pieces;
        }
        launch(list, order, request, normalization, at, stream);
        first += list.count;
    }
}

void Analyzer::enqueue(const BatchView& batch, const MutableBatchView* output, const AnalysisRequest& request,
                       const Normalization* normalization, void* results, cudaStream_t stream) {
    auto check_batch = [](const BatchView& view, const char* what) {
        if (view.images < 1)
            throw InvalidArgument(std::string(what) + " of " + std::to_string(view.images) + " images");
        const std::int64_t own = (view.first.height - 1) * view.first.row_bytes + view.first.packed_row_bytes();
        if (view.images > 1 && (view.image_bytes < own ||
                                view.image_bytes % static_cast<std::int64_t>(sample_bytes(view.first.depth)) != 0))
            throw InvalidArgument(std::string(what) + ": image_bytes is " + std::to_string(view.image_bytes) +
                                  ", at least an image's " + std::to_string(own) + " and whole samples are needed");
    };
    check(batch.first, output ? &output->first : nullptr, request, normalization);
    check_results(results, batch.images);
    check_batch(batch, "batch");
    if (output) {
        check_batch(*output, "output batch");
        if (output->images != batch.images)
            throw InvalidArgument("output batch of " + std::to_string(output->images) + " images for " +
                                  std::to_string(batch.images));
    }
    const Placed placed = place(batch.first, output ? &output->first : nullptr);
    const Tensor tensor{placed.image, placed.output, batch.images, batch.image_bytes, output ? output->image_bytes : 0,
                        placed.pieces};
    launch(tensor, batch.first.order, request, normalization, static_cast<char*>(results), stream);
}

}  // namespace gpuhist::cuda
