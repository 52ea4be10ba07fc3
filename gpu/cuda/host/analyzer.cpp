#include "cuda/host/analyzer.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "core/codes.hpp"
#include "cuda/host/classifier.hpp"
#include "cuda/host/copier.hpp"
#include "cuda/host/test_hooks.hpp"
#include "cuda/normalize/clahe.hpp"
#include "cuda/normalize/tone.hpp"
#include "cuda/normalize/valid_copy.hpp"
#include "cuda/pixels/interleave.hpp"
#include "cuda/rules/weights.hpp"
#include "gpuhist/error.hpp"
#include "normalize/clahe.hpp"
#include "normalize/depths.hpp"
#include "plan/float_details.hpp"
#include "plan/plan.hpp"
#include "rules/rules.hpp"

namespace gpuhist::cuda {
namespace {

/// Counts in a channel of a result.
std::uint32_t bins_of(Depth depth, std::uint32_t requested) {
    return traits_of(depth).values != 0 ? traits_of(depth).values : requested;
}

template <class... Functions>
struct Overloads : Functions... {
    using Functions::operator()...;
};
/// Dispatch on a depth to the one of `functions` whose kernels count its samples: by codes of 8 or 16 bits, or floats.
template <class... Functions>
auto with_kernels(Depth depth, const Functions&... functions) {
    const Overloads<Functions...> all{functions...};
    return with_depth(depth, [&](auto sample) -> decltype(all(std::uint8_t{})) {
        using Sample = decltype(sample);
        constexpr Counting counting = traits_of(core::depth_of<Sample>()).counting;
        if constexpr (counting == Counting::values) {
            return all(core::Code<Sample>{});
        } else if constexpr (counting == Counting::bins) {
            return all(sample);
        } else {
            return decltype(all(std::uint8_t{}))();  // a plan of these is refused
        }
    });
}

/// Common::flip of a depth.
std::uint32_t flip_of(Depth depth) {
    return depth == Depth::s8 ? 0x80808080 : depth == Depth::s16 ? 0x80008000 : 0;
}

/// Pixels of 16 bits, at most, whose sums are exact where they are weighted.
constexpr std::int64_t most_weighted_pixels = std::int64_t{1} << 30;

bool counts_bins(Depth depth) {
    return traits_of(depth).counting == Counting::bins;
}

CountParameters count_parameters(const Common& common, void* workspace, int channels, const AnalysisRequest& request) {
    const KernelNormalization& of = common.normalization;
    CountParameters p{};
    p.common = common;
    p.workspace = workspace;
    const bool other = common.depth == Depth::s16 || common.depth == Depth::f16;  // whose luma is not summed up apart
    p.count_luma = channels > 1 && (request.luma_histogram || other || (of.joint && traits_of(of.mode).joint_by_luma));
    return p;
}
/// The ranks of a launch are one group of percentiles; the first group's comes last, with everything else.
template <int C, class Images>
void launch_groups(const Images& images, const Common& common, void* workspace, const Mask& mask,
                   const AnalysisRequest& request, const Launch& launch) {
    F32Parameters p{};
    p.common = common;
    p.workspace = workspace;
    p.mask = mask;
    p.detail = Detail::full;
    p.has_range = request.range.has_value();
    p.range = request.range.value_or(Range{});
    const KernelNormalization& normalization = common.normalization;
    const bool stretch = common.needs == NormalizeNeeds::ranks;
    p.groups = request.detail == Detail::full || stretch ? core::RankRequest::groups(request.percentiles) : 1;
    p.common.normalize = false;
    for (p.group = p.groups - 1; p.group > 0; --p.group) {
        p.ranks = core::RankRequest::of(request.percentiles, p.group, false, 0, 0);
        launch_f32<C>(images, p, launch);
    }
    p.detail = request.detail;
    p.common.normalize = common.normalize;
    p.publish = true;
    p.ranks = core::RankRequest::of(request.percentiles, 0, stretch, stretch ? normalization.low : 0,
                                    stretch ? normalization.high : 0);
    launch_f32<C>(images, p, launch);
}

/// Request for the percentiles that take the most room.
AnalysisRequest widest_request(std::uint32_t bins) {
    std::vector<double> percents(Percentiles::most);
    std::iota(percents.begin(), percents.end(), 0);
    AnalysisRequest request;
    request.bins = bins;
    request.percentiles = Percentiles(percents);
    return request;
}

bool makes_copies(const StreamPlan& plan) {
    return plan.normalize && plan::stream_abilities.copies.has(plan.depth);
}

/// Bytes that pixels of a plan take without gaps, up to where others may begin.
std::size_t interleaved_bytes(const StreamPlan& plan, std::int64_t pixels) {
    return place_after(static_cast<std::size_t>(pixels) * static_cast<std::size_t>(plan.channels) *
                       sample_bytes(plan.depth));
}

/// Memory after the workspace of an analyzer, for work in several launches: intermediate results, if the plan may need
/// them, and masks or copies of images with excluded samples.
struct StepsMemory {
    std::uint32_t* arrived = nullptr;
    char *found = nullptr, *found_luma = nullptr;  ///< a result each
    rules::ClassCounts* sums = nullptr;
    char* pixels = nullptr;       ///< a mask, or a copy of floats
    char* interleaved = nullptr;  ///< pixels whose channels lie in planes
    ClaheMemory clahe;
    std::size_t bytes;

    StepsMemory(const StreamPlan& plan, std::size_t from, void* workspace) : bytes(from) {
        const bool classifies = plan.classified_pixels > 0,
                   makes_tables = makes_copies(plan) && !counts_bins(plan.depth);
        Placing place{static_cast<char*>(workspace), from};
        const std::size_t result = layout_of(plan.depth, plan.channels, widest_request(plan.bins), nullptr).bytes;
        if (classifies || makes_tables) {
            place(arrived, sizeof(std::uint32_t));
            place(found, result);
        }
        if (classifies) {
            const std::size_t pixel =
                traits_of(plan.depth).floating ? sample_bytes(plan.depth) * static_cast<std::size_t>(plan.channels) : 1;
            place(found_luma, result);
            place(sums, sizeof(rules::ClassCounts));
            place(pixels, static_cast<std::size_t>(plan.classified_pixels) * pixel);
        }
        if (makes_tables && plan.depth == Depth::u8) {
            place(clahe.counts, std::size_t{most_clahe_tiles} * 256 * sizeof *clahe.counts);
            place(clahe.tables, std::size_t{most_clahe_tiles} * 256);
        }
        if (plan.planar_pixels > 0) place(interleaved, interleaved_bytes(plan, plan.planar_pixels));
        bytes = place.end;
    }
};

/// Bytes of the workspace that the counting kernels have.
std::size_t counting_bytes(const StreamPlan& plan, const Launch& launch) {
    return with_channels(plan.channels, [&](auto channels) {
        constexpr int C = decltype(channels)::value;
        return place_after(with_kernels(
            plan.depth, [&](std::uint8_t) { return u8_workspace<C>(launch); },
            [&](std::uint16_t) { return u16_workspace<C>(launch); },
            [&](float) { return f32_workspace<C>(plan.bins); }));
    });
}

/// Copy of a valid view; `output` null: its kernels are loaded.
ValidCopy valid_copy(const Common& common, const ClassRules& rules, const ImageView& image,
                     const MutableImageView* output, bool has_alpha, bool tone) {
    const KernelNormalization& of = common.normalization;
    return {settling(image, rules, of.copies, of.valid_only, of.fill, has_alpha), common, image_of(image, output),
            output ? Output{output->data, output->row_bytes} : Output{}, image.channels == 4 && tone};
}
/// Enqueues the tables of u8 or u16, from the counts of the result, and the copy by them.
void launch_by_luts(const ValidCopy& copy, const Normalization& normalization, int channels, std::uint32_t each,
                    std::uint32_t* arrived, const Launch& launch) {
    if (has_tone(copy.common.depth, normalization))
        launch_tone_luts(
            {copy.common, ToneTraits(normalization.mode), core::CurveParameters(normalization), channels == 4},
            channels, each, arrived, launch);
    else
        launch_valid_luts(copy.common, channels, each, arrived, launch);
    launch_valid_copy(copy, channels, launch);
}

}  // namespace

Launch launch_on(int gpu) {
    Launch launch{nullptr, gpu, attribute(cudaDevAttrMultiProcessorCount, gpu),
                  static_cast<std::size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, gpu))};
    if (const std::size_t bound = shared_memory_bound) launch.shared_bytes = std::min(launch.shared_bytes, bound);
    return launch;
}

std::size_t workspace_bytes(const StreamPlan& plan, const Launch& launch) {
    return StepsMemory(plan, counting_bytes(plan, launch), nullptr).bytes;
}

ResultLayout layout_of(Depth depth, int channels, const AnalysisRequest& request, const Normalization* normalization) {
    const std::uint32_t values = bins_of(depth, request.bins);
    const bool floating = counts_bins(depth);
    ResultLayout layout;
    std::size_t end = place_after(sizeof(ImageResult));
    auto append = [&](std::size_t bytes) { return std::exchange(end, place_after(end + bytes)); };
    if (floating)
        layout.details_offset = append(core::float_details_bytes(core::RankRequest::groups(request.percentiles)));
    layout.counts_offset = append(std::size_t(measured_channels(channels)) * values * sizeof(std::uint64_t));
    if (normalization && !floating && traits_of(normalization->mode).kind != NormalizeKind::place) {
        const std::size_t alpha = channels == 4 && has_tone(depth, *normalization) ? 1 : 0,
                          tables = channels == 1 || KernelNormalization::is_joint(*normalization) ? 1 : 3;
        layout.tables_offset =
            append((tables + alpha) * values * sample_bytes(normalized_depth(depth, *normalization)));
    }
    layout.bytes = end;
    return layout;
}

void require_planned(const ImageView& image, int channels, Depth depth) {
    if (image.depth != depth || image.channels != channels)
        throw InvalidArgument("image of " + std::to_string(image.channels) + " channels " + to_string(image.depth) +
                              ": the analyzer was planned for " + std::to_string(channels) + " channels " +
                              to_string(depth));
    if (image.memory != Memory::device)
        throw InvalidArgument("image in host memory: a stream-level analyzer reads device memory");
}

void require_results(const void* results) {
    if (!results) throw InvalidArgument("results: a null pointer");
    if (reinterpret_cast<std::uintptr_t>(results) % 16 != 0)
        throw InvalidArgument("results are not aligned to 16 bytes");
}

void validate(const BatchView& batch, const char* what) {
    if (batch.images < 1) throw InvalidArgument(std::string(what) + " of " + std::to_string(batch.images) + " images");
    const std::int64_t own = (batch.first.height - 1) * batch.first.row_bytes + batch.first.packed_row_bytes();
    if (batch.images > 1 && (batch.image_bytes < own ||
                             batch.image_bytes % static_cast<std::int64_t>(sample_bytes(batch.first.depth)) != 0))
        throw InvalidArgument(std::string(what) + ": image_bytes is " + std::to_string(batch.image_bytes) +
                              ", at least an image's " + std::to_string(own) + " and whole samples are needed");
}

Analyzer::Analyzer(const StreamPlan& plan, void* workspace)
    : plan_(plan), launch_(launch_on(plan.gpu)), workspace_(workspace), list_(std::make_unique<List>()) {
    const std::size_t bytes = workspace_bytes(plan, launch_);
    if (!workspace_) workspace_ = owned_.reserve(bytes);
    GPUHIST_CUDA(cudaMemset(workspace_, 0, bytes));
    GPUHIST_CUDA(cudaStreamSynchronize(cudaStreamLegacy));
}

void Analyzer::check(const Views& views, const AnalysisRequest& request, const void* results) const {
    for (std::int64_t i = 0; i < views.count; ++i) {
        const ImageView& image = views.images[i];
        require_planned(image, plan_.channels, plan_.depth);
        if (traits_of(plan_.depth).values == 0 && request.bins > plan_.bins)
            throw InvalidArgument("request for " + std::to_string(request.bins) +
                                  " bins: the analyzer was planned for " + std::to_string(plan_.bins));
        // Counters of a block have 32 bits, and the blocks share the pixels evenly.
        if (image.pixels() / launch_.multiprocessors >= std::int64_t{1} << 31)
            throw InvalidArgument("image of " + std::to_string(image.pixels()) +
                                  " pixels: this GPU counts fewer than " +
                                  std::to_string((std::int64_t{1} << 31) * launch_.multiprocessors));
        if (!one_row(image, views.output(i)) && image.width * image.channels >= std::int64_t{1} << 30)
            throw InvalidArgument("rows of " + std::to_string(image.width * image.channels) +
                                  " samples, with gaps between or off 16-byte boundaries: fewer than 2^30");
        if (rules::weighs(request)) {
            // Σα · Σαx² of the channels that a copy has one table of fits 128 bits, and Σαx 64.
            if (sample_bytes(image.depth) > 1 && image.pixels() > most_weighted_pixels)
                throw InvalidArgument("image of " + std::to_string(image.pixels()) +
                                      " pixels: in device memory, at most 2^30 pixels of " + to_string(image.depth) +
                                      " can be weighted");
            if (plan_.classified_pixels == 0)
                throw InvalidArgument(
                    "samples weighted by alpha: the analyzer was planned for no request that has a Validity "
                    "(StreamPlan::classified_pixels)");
        } else if (request.validity && image.pixels() > plan_.classified_pixels) {
            throw InvalidArgument("image of " + std::to_string(image.pixels()) +
                                  " pixels, for which a request has a Validity: the analyzer was planned for " +
                                  std::to_string(plan_.classified_pixels) + " such (StreamPlan::classified_pixels)");
        }
        if (views.outputs && !plan_.normalize) throw InvalidArgument("the analyzer was not planned to normalize");
    }
    if (views.count > 0) require_results(results);
}

Common Analyzer::common(const ImageView& like, const AnalysisRequest& request, const Normalization* normalization,
                        char* results) const {
    Common common{};
    common.results = results;
    common.layout = layout(request, normalization);
    common.depth = plan_.depth;
    common.rgb = like.order == ChannelOrder::rgb;
    common.flip = flip_of(plan_.depth);
    common.bins = bins_of(plan_.depth, request.bins);
    common.range = counted_range(traits_of(plan_.depth));
    common.report_luma = plan_.channels > 1 && (request.luma_histogram || counts_bins(plan_.depth));
    common.normalize = normalization != nullptr;
    if (normalization) common.normalization = KernelNormalization(plan_.depth, *normalization);
    if (normalization) common.needs = needs_of(*normalization);
    if (normalization) common.levels = core::levels_of(common.normalization.copies, normalization->fill);
    return common;
}

template <class Images>
void Analyzer::launch(const Images& images, const ImageView& like, const AnalysisRequest& request, const Common& common,
                      cudaStream_t stream) const {
    Launch launch = launch_;
    launch.stream = stream;
    with_channels(plan_.channels, [&](auto channels) {
        constexpr int C = decltype(channels)::value;
        const Mask mask{like.mask, like.mask_row_bytes};
        const auto counting = [&] {
            CountParameters p = count_parameters(common, workspace_, C, request);
            p.mask = mask;
            return p;
        };
        with_kernels(
            plan_.depth, [&](std::uint8_t) { launch_u8<C>(images, counting(), launch); },
            [&](std::uint16_t) { launch_u16<C>(images, counting(), launch); },
            [&](float) { launch_groups<C>(images, common, workspace_, mask, request, launch); });
    });
}

void Analyzer::load_kernels() {
    // The number of images, their rows and masks, and the request choose the kernel. Copies of images with excluded
    // samples have kernels of their own.
    const Image row{workspace_, 64, 1, 0}, rows{workspace_, 64, 2, 0};
    ImageView masked;
    masked.mask = static_cast<const std::uint8_t*>(workspace_);
    list_->count = 1;
    list_->images[0] = row;
    Normalization to_same, to_floats;
    to_floats.mode = NormalizeMode::zscore;
    launch_.only_loads = true;
    for (const Normalization* normalization :
         std::initializer_list<const Normalization*>{nullptr, &to_same, &to_floats}) {
        if (normalization && !makes_copies(plan_)) continue;
        for (const bool all : {false, true}) {  // luma is asked of u8 and u16, details of f32
            AnalysisRequest request;
            request.bins = plan_.bins;
            request.luma_histogram = all;
            request.detail = all ? Detail::full : Detail::brief;
            const auto load = [&](const auto& images, const ImageView& like) {
                launch(images, like, request, common(like, request, normalization, nullptr), nullptr);
            };
            load(Tensor{row, {}, 1, 0, 0, 1}, {});
            if (!normalization) load(Tensor{row, {}, 1, 0, 0, 1}, masked);
            load(Tensor{row, {}, 2, 0, 0, 1}, {});
            load(Tensor{rows, {}, 2, 0, 0, 1}, {});
            load(*list_, {});
        }
        if (normalization || plan_.classified_pixels > 0)
            enqueue_in_steps({}, nullptr, {}, normalization, nullptr, nullptr);
    }
    for (const DepthTraits& traits : all_depths) {
        if (!makes_copies(plan_) || !plan::stream_abilities.copies.has(traits.depth)) continue;
        Normalization curve, converted;
        curve.mode = NormalizeMode::gamma;
        curve.depth = converted.depth = traits.depth;
        for (const Normalization& normalization : {curve, converted})
            enqueue_in_steps({}, nullptr, {}, &normalization, nullptr, nullptr);
    }
    if (makes_copies(plan_) && plan_.depth == Depth::u8) {
        Normalization clahe;
        clahe.mode = NormalizeMode::clahe;
        enqueue_in_steps({}, nullptr, {}, &clahe, nullptr, nullptr);
    }
    if (plan_.classified_pixels > 0) {
        ImageView image;
        image.channels = plan_.channels;
        image.depth = plan_.depth;
        Validity validity;
        validity.alpha = AlphaRule::weight;
        AnalysisRequest request;
        request.validity = std::make_shared<const Validity>(validity);
        enqueue_weighted(image, nullptr, request, nullptr, nullptr, nullptr);
    }
    if (plan_.planar_pixels > 0)
        launch_interleave({row, 0, 0, 1}, plan_.channels, static_cast<int>(sample_bytes(plan_.depth)), nullptr, 0,
                          launch_);
    launch_.only_loads = false;
}

void Analyzer::enqueue_in_steps(const ImageView& image, const MutableImageView* output, const AnalysisRequest& request,
                                const Normalization* normalization, char* results, cudaStream_t stream) const {
    if (normalization && traits_of(normalization->mode).kind == NormalizeKind::place)
        return enqueue_clahe(image, output, request, *normalization, results, stream);
    if (rules::weighs(request)) return enqueue_weighted(image, output, request, normalization, results, stream);
    Launch launch = launch_;
    launch.stream = stream;
    const StepsMemory memory(plan_, counting_bytes(plan_, launch_), workspace_);
    const rules::ImageRules rules_of_image(image, request.validity.get());
    const std::vector<plan::Pass> passes = plan::passes_of(image, rules_of_image, request, plan::stream_abilities);
    const ClassRules rules = class_rules(rules_of_image, image.channels);
    const Mask mask{image.mask, image.mask_row_bytes};
    const auto classify = [&](const ClassOutput& to) {
        if (!launch.only_loads) GPUHIST_CUDA(cudaMemsetAsync(memory.sums, 0, sizeof *memory.sums, stream));
        launch_classes(image_of(image), plan_.depth, mask, rules, to, launch);
    };
    const auto pixels_of = [&](const plan::Pass& pass) {
        if (pass.pixels == plan::Pixels::given) return image;
        if (pass.pixels == plan::Pixels::masked) {
            auto* const bytes = reinterpret_cast<std::uint8_t*>(memory.pixels);
            classify({nullptr, 0, bytes, bits_of(pass.of, rules), memory.sums});
            return with_mask(image, memory.pixels);
        }
        // Alpha that is left out stays, as NaN: the analyzer is one of four channels.
        classify({memory.pixels, rules.channels, nullptr, 0, memory.sums});
        return with_copy(image, memory.pixels, rules.channels);
    };
    const auto count = [&](const ImageView& view, char* to) {
        if (launch.only_loads) return;
        Common counted = common(view, request, normalization, to);
        counted.normalize = false;  // what the copy needs is found, and the copy is written below
        this->launch(tensor_of(BatchView{view, 1, 0}, nullptr), view, request, counted, stream);
    };

    ValidParameters p{};
    p.common = common(image, request, normalization, results);
    p.rules = rules;
    p.channels = plan_.channels;
    p.substituted = passes.back().pixels == plan::Pixels::substituted;
    p.without_alpha = rules_of_image.alpha_left_out();
    p.found = memory.found;
    p.found_luma = passes.front().role == plan::Role::luma ? memory.found_luma : nullptr;
    p.arrived = memory.arrived;
    if (passes.back().pixels != plan::Pixels::given) p.sums = memory.sums;
    if (launch.only_loads) classify({});
    // Floats with a mask alone are counted into the result. Others have yet to be put together, or lack tables.
    const bool at_once = !request.validity && counts_bins(plan_.depth) && !launch.only_loads;
    ImageView view;
    for (const plan::Pass& pass : passes) {  // that of the channels is the last, whose classes the sums are of
        view = pixels_of(pass);
        count(view, pass.role == plan::Role::luma ? memory.found_luma : at_once ? results : memory.found);
    }
    if (!at_once) launch_valid_result(p, launch);

    if (!normalization) return;
    const ValidCopy copy =
        valid_copy(p.common, rules, image, output, rules_of_image.has_alpha(), has_tone(plan_.depth, *normalization));
    if (!counts_bins(plan_.depth))
        return launch_by_luts(copy, *normalization, plan_.channels, 1, memory.arrived, launch);
    with_channels(plan_.channels, [&](auto channels) {
        constexpr int C = decltype(channels)::value;
        if (traits_of(normalization->mode).kind == NormalizeKind::exact)
            launch_valid_f32<C>(copy, image_of(view), {view.mask, view.mask_row_bytes}, workspace_, launch);
        else
            launch_tone_f32<C>(copy, core::CurveParameters(*normalization), workspace_, launch);
    });
}

void Analyzer::enqueue_clahe(const ImageView& image, const MutableImageView* output, const AnalysisRequest& request,
                             const Normalization& normalization, char* results, cudaStream_t stream) const {
    Launch launch = launch_;
    launch.stream = stream;
    ClaheCopy copy{};
    copy.tiles_x = static_cast<int>(normalization.tiles_x);
    copy.tiles_y = static_cast<int>(normalization.tiles_y);
    if (!launch.only_loads) {
        this->launch(tensor_of(BatchView{image, 1, 0}, nullptr), image, request,
                     common(image, request, nullptr, results), stream);
        copy.image = {image.data, image.width, image.height, image.row_bytes};
        copy.output = {output->data, output->row_bytes};
        copy.bins = static_cast<int>(core::clahe_bins(normalization, image.depth));
        const core::TiledImage tiled(image.width, image.height, copy.tiles_x, copy.tiles_y);
        copy.most = core::highest_count(normalization.clip_limit, tiled.across.length * tiled.down.length, copy.bins);
    }
    copy.levels = core::levels_of(image.depth, normalization.fill);
    copy.rgb = image.order == ChannelOrder::rgb;
    copy.joint = normalization.joint;
    copy.memory = StepsMemory(plan_, counting_bytes(plan_, launch_), workspace_).clahe;
    launch_clahe(copy, plan_.channels, launch);
}

void Analyzer::enqueue_weighted(const ImageView& image, const MutableImageView* output, const AnalysisRequest& request,
                                const Normalization* normalization, char* results, cudaStream_t stream) const {
    Launch launch = launch_;
    launch.stream = stream;
    const StepsMemory memory(plan_, counting_bytes(plan_, launch_), workspace_);
    const rules::ImageRules rules(image, request.validity.get());
    WeightParameters p{};
    p.common = common(image, request, normalization, results);
    p.image = image_of(image);
    p.mask = {image.mask, image.mask_row_bytes};
    p.rules = class_rules(rules, image.channels);
    p.luma_bits = bits_of(rules.nodata_any() ? rules::PixelsOf::all : rules::PixelsOf::colors, p.rules);
    p.channel_count = measured_channels(image.channels);
    if (rules.has_alpha())
        p.channel_count = measured_channels(image.samples == Samples::gray_alpha && !normalization ? 1 : 3);
    else
        p.opaque = rules::weight_of_opaque(image.depth, *request.validity);
    p.counts = reinterpret_cast<Word*>(memory.found);
    p.sums = memory.sums;
    p.arrived = memory.arrived;
    if (!launch.only_loads) {
        GPUHIST_CUDA(cudaMemsetAsync(p.sums, 0, sizeof *p.sums, stream));
        GPUHIST_CUDA(cudaMemsetAsync(
            p.counts, 0, static_cast<std::size_t>(p.channel_count) * p.common.bins * sizeof *p.counts, stream));
    }
    launch_weights(p, launch);
    if (!normalization) return;
    launch_by_luts(
        valid_copy(p.common, p.rules, image, output, rules.has_alpha(), has_tone(plan_.depth, *normalization)),
        *normalization, plan_.channels, p.opaque ? p.opaque : 1, memory.arrived, launch);
}

/// Verdict on a normalization, or none: whether launches behind the analysis make its tables. The launches of an
/// analysis know no tables that leave a level out.
bool Analyzer::has_steps(const Normalization* normalization) const {
    return normalization &&
           ((has_tone(plan_.depth, *normalization) && !has_tone_at_once(plan_.depth, *normalization)) ||
            (normalization->fill && !traits_of(normalized_depth(plan_.depth, *normalization)).floating));
}

void Analyzer::enqueue(const Views& views, const AnalysisRequest& request, const Normalization* normalization,
                       void* results, cudaStream_t stream) {
    check(views, request, results);
    const auto bytes = static_cast<std::int64_t>(layout(request, normalization).bytes);
    const auto result_of = [&](std::int64_t i) { return static_cast<char*>(results) + i * bytes; };
    const auto in_steps = [&](std::int64_t i) {
        enqueue_in_steps(views.images[i], views.output(i), request, normalization, result_of(i), stream);
    };
    const bool stepwise = request.validity || (views.outputs && has_steps(normalization));
    for (std::int64_t i = 0; stepwise && i < views.count; ++i) in_steps(i);
    if (stepwise) return;
    for_each_launch(views, *list_, [&](const auto& images, std::int64_t first) {
        const ImageView& like = views.images[first];
        if (views.outputs && like.mask) return in_steps(first);  // which is alone
        Common counted = common(like, request, normalization, result_of(first));
        counted.normalize = views.outputs != nullptr;
        launch(images, like, request, counted, stream);
    });
}

void Analyzer::enqueue(const BatchView& batch, const MutableBatchView* output, const AnalysisRequest& request,
                       const Normalization* normalization, void* results, cudaStream_t stream) {
    check({&batch.first, output ? &output->first : nullptr, 1}, request, results);
    validate(batch, "batch");
    if (output) {
        validate(*output, "output batch");
        if (output->images != batch.images)
            throw InvalidArgument("output batch of " + std::to_string(output->images) + " images for " +
                                  std::to_string(batch.images));
    }
    auto* const to = static_cast<char*>(results);
    if (!batch.first.mask && !request.validity && !has_steps(normalization))
        return launch(tensor_of(batch, output), batch.first, request, common(batch.first, request, normalization, to),
                      stream);
    const std::size_t bytes = layout(request, normalization).bytes;
    for (std::int64_t i = 0; i < batch.images; ++i) {
        ImageView image = batch.first;
        image.data = static_cast<const char*>(image.data) + i * batch.image_bytes;
        if (image.mask) image.mask += i * batch.mask_bytes;
        MutableImageView copy;
        if (output) {
            copy = output->first;
            copy.data = static_cast<char*>(copy.data) + i * output->image_bytes;
        }
        char* const result = to + static_cast<std::size_t>(i) * bytes;
        if (request.validity || normalization)
            enqueue_in_steps(image, output ? &copy : nullptr, request, normalization, result, stream);
        else
            launch(tensor_of(BatchView{image, 1, 0}, nullptr), image, request, common(image, request, nullptr, result),
                   stream);
    }
}

void Analyzer::enqueue(const PlanarBatchView& batch, const AnalysisRequest& request, void* results,
                       cudaStream_t stream) {
    ImageView image = batch.first;
    const auto sample = static_cast<std::int64_t>(sample_bytes(image.depth));
    const auto not_whole = [&](std::int64_t bytes) { return bytes % sample != 0; };
    require_planned(image, plan_.channels, plan_.depth);
    if (batch.images < 1) throw InvalidArgument("planes of " + std::to_string(batch.images) + " images");
    if ((image.height > 1 && image.row_bytes < image.width * sample) || not_whole(image.row_bytes) ||
        not_whole(batch.plane_bytes) || not_whole(batch.image_bytes))
        throw InvalidArgument("planes: row_bytes of " + std::to_string(image.row_bytes) + ", plane_bytes of " +
                              std::to_string(batch.plane_bytes) + " and image_bytes of " +
                              std::to_string(batch.image_bytes) + ": a row of a plane has " +
                              std::to_string(image.width * sample) + " bytes, and all must be whole samples");
    if (image.pixels() > plan_.planar_pixels)
        throw InvalidArgument("image of " + std::to_string(image.pixels()) +
                              " pixels whose channels lie in planes: the analyzer was planned for " +
                              std::to_string(plan_.planar_pixels) + " such (StreamPlan::planar_pixels)");
    require_results(results);
    const StepsMemory memory(plan_, counting_bytes(plan_, launch_), workspace_);
    const std::size_t each = interleaved_bytes(plan_, image.pixels());
    const auto at_once = static_cast<std::int64_t>(interleaved_bytes(plan_, plan_.planar_pixels) / each);
    const std::size_t result = layout(request, nullptr).bytes;
    Launch launch = launch_;
    launch.stream = stream;
    Planes planes{{image.data, image.width, image.height, image.row_bytes}, batch.plane_bytes, batch.image_bytes, 0};
    if (image.height == 1 || image.row_bytes == image.width * sample) planes.first = {image.data, image.pixels(), 1, 0};
    image.data = memory.interleaved;
    image.row_bytes = image.packed_row_bytes();
    for (std::int64_t i = 0; i < batch.images; i += planes.images) {
        planes.images = std::min(at_once, batch.images - i);
        planes.first.data = static_cast<const char*>(batch.first.data) + i * batch.image_bytes;
        launch_interleave(planes, plan_.channels, static_cast<int>(sample), memory.interleaved,
                          static_cast<std::int64_t>(each), launch);
        if (batch.first.mask) image.mask = batch.first.mask + i * batch.mask_bytes;
        enqueue(BatchView{image, planes.images, static_cast<std::int64_t>(each), batch.mask_bytes}, nullptr, request,
                nullptr, static_cast<char*>(results) + static_cast<std::size_t>(i) * result, stream);
    }
}

}  // namespace gpuhist::cuda
