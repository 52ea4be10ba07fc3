// Stream analyser of regions: validates what callers hand over, and lays out its memory.

#include "gpuhist/stream_regions.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <string>

#include "core/validate.hpp"
#include "cpu/validity.hpp"
#include "cpu/weights.hpp"
#include "cuda/host/analyzer.hpp"
#include "cuda/host/device.hpp"
#include "cuda/host/sorted_analysis.hpp"
#include "cuda/rules/classes.hpp"
#include "cuda/sorted/regions.hpp"
#include "engines.hpp"
#include "gpuhist/error.hpp"

namespace gpuhist {
namespace {

constexpr std::int64_t most_pixels = std::int64_t{1} << 30, most_regions = std::int64_t{1} << 28;
/// Numbers of labels up to which each has its region in a table: beyond it regions are searched.
constexpr std::uint64_t most_places = std::uint64_t{1} << 24;

std::uint64_t largest_of(const RegionPlan& plan) {
    const auto highest = static_cast<std::uint64_t>(traits_of(plan.labels).highest);
    return plan.largest_label == 0 ? highest : plan.largest_label;
}

void require_range(const char* what, std::int64_t value, std::int64_t most) {
    if (value < 1 || value > most)
        throw InvalidArgument("plan of " + std::to_string(value) + " " + what + ": 1 to " + std::to_string(most));
}

cuda::LabelNumbers numbers_of(const RegionPlan& plan) {
    cuda::LabelNumbers numbers{};
    numbers.first = plan.label_zero ? 0 : 1;
    numbers.largest = static_cast<std::uint32_t>(largest_of(plan));
    numbers.of_each = numbers.largest - std::uint64_t{numbers.first} + 1;
    numbers.outside = numbers.of_each * static_cast<std::uint64_t>(plan.images);
    numbers.sample_bits = 8 * static_cast<int>(sample_bytes(plan.depth));
    numbers.weight_bits = cpu::weighs(plan.validity.get()) ? numbers.sample_bits : 0;
    numbers.value_bits = numbers.weight_bits + numbers.sample_bits + (plan.masks || plan.validity ? 1 : 0);
    // Where each value of the type is a label, none is outside.
    const bool all = plan.label_zero && plan.labels != Depth::s32 &&
                     static_cast<double>(numbers.largest) == traits_of(plan.labels).highest;
    numbers.bits = numbers.value_bits + static_cast<int>(std::bit_width(numbers.outside - (all ? 1 : 0)));
    return numbers;
}

void require(const RegionPlan& plan) {
    if (plan.channels != 1 && plan.channels != 3 && plan.channels != 4)
        throw InvalidArgument("plan of " + std::to_string(plan.channels) + " channels: there are 1, 3 and 4");
    if (static_cast<std::size_t>(plan.depth) >= std::size(all_depths)) throw InvalidArgument("plan of unknown depth");
    if (plan.labels != Depth::u8 && plan.labels != Depth::u16 && plan.labels != Depth::u32 && plan.labels != Depth::s32)
        throw InvalidArgument(std::string("plan of labels of ") + to_string(plan.labels) +
                              ": u8, u16, u32, or s32 that is not negative");
    if (static_cast<double>(plan.largest_label) > traits_of(plan.labels).highest)
        throw InvalidArgument("plan of labels up to " + std::to_string(plan.largest_label) + ", which " +
                              to_string(plan.labels) + " does not hold");
    if (cpu::weighs(plan.validity.get())) {
        ImageView like;
        like.depth = plan.depth;
        like.channels = plan.channels;
        cpu::validate_weights(like, *plan.validity);
    }
    require_range("pixels", plan.pixels, most_pixels);
    require_range("images", plan.images, plan.pixels);
    require_range("regions", plan.regions, most_regions);
    const std::string why = cuda::why_unavailable(plan.gpu);
    if (!why.empty()) throw EngineUnavailable("stream analyser of regions: " + why);
}

/// Regions that there is room for: no more than pixels.
std::uint32_t room_of(const RegionPlan& plan) {
    return static_cast<std::uint32_t>(std::min(plan.regions, plan.pixels));
}

/// Memory of an analyser, laid out behind `base`. Returns its bytes in `end`.
cuda::FewRegionsMemory lay_out_few(const RegionPlan& plan, char* base, std::size_t& end) {
    const auto numbers = static_cast<std::size_t>(numbers_of(plan).outside);
    cuda::FewRegionsMemory memory{};
    cuda::Placing place{base};
    place(memory.counts, numbers * 256 * sizeof(cuda::Word));
    place(memory.excluded, numbers * 2 * sizeof(cuda::Word));
    place(memory.boxes, numbers * sizeof(cuda::RegionBox));
    place(memory.places, numbers * sizeof(std::uint32_t));
    place(memory.refused, sizeof(cuda::Word));
    memory.regions = room_of(plan);
    end = place.end;
    return memory;
}
template <class Key>
cuda::RegionMemory<Key> lay_out(const RegionPlan& plan, char* base, std::size_t& end) {
    const auto pixels = static_cast<std::size_t>(plan.pixels);
    const std::size_t one_more = std::size_t{room_of(plan)} + 1;
    const cuda::LabelNumbers numbers = numbers_of(plan);
    cuda::RegionMemory<Key> memory{};
    cuda::Placing place{base};
    place(memory.keys, pixels * sizeof(Key));
    place(memory.sorted, pixels * sizeof(Key));
    place(memory.chunks, (static_cast<std::size_t>(cuda::chunks_of(plan.pixels)) + 1) * sizeof(std::uint32_t));
    place(memory.starts, one_more * sizeof(std::uint32_t));
    place(memory.numbers, one_more * sizeof(std::uint64_t));
    if (numbers.outside < most_places)
        place(memory.places, (static_cast<std::size_t>(numbers.outside) + 1) * sizeof(std::uint32_t));
    place(memory.boxes, one_more * sizeof(cuda::RegionBox));
    if (!cuda::are_measured_apart(numbers, plan.depth)) place(memory.sums, one_more * sizeof(cuda::RegionSums));
    place(memory.refused, sizeof(cuda::Word));
    memory.temporary_bytes = cuda::sort_temporary<Key>(plan.pixels);
    place(memory.temporary, memory.temporary_bytes);
    memory.regions = room_of(plan);
    end = place.end;
    return memory;
}

/// Memory behind that: a mask of the samples that count, where there are rules for them.
struct ClassifiedMemory {
    std::uint8_t* mask = nullptr;
    cuda::ClassSums* sums = nullptr;
    std::size_t end;

    ClassifiedMemory(const RegionPlan& plan, char* base, std::size_t from) : end(from) {
        if (!plan.validity) return;
        cuda::Placing place{base, from};
        place(mask, static_cast<std::size_t>(plan.pixels));
        place(sums, sizeof(cuda::ClassSums));
        end = place.end;
    }
};

bool are_few(const RegionPlan& plan, const cuda::Launch& launch) {
    return cuda::are_few(numbers_of(plan), sample_bytes(plan.depth), launch);
}

/// Calls function(Key{}) with the type of a plan's keys.
template <class Function>
auto with_key(const RegionPlan& plan, const Function& function) {
    const int bits = numbers_of(plan).bits;
    return bits <= 32 ? function(std::uint32_t{}) : bits <= 64 ? function(std::uint64_t{}) : function(cuda::WideKey{});
}

/// Image as it lies: its rows are not taken together.
cuda::Image as_it_lies(const ImageView& view) {
    return {view.data, view.width, view.height, view.height == 1 ? view.packed_row_bytes() : view.row_bytes};
}

}  // namespace

class StreamRegionAnalyzer::Implementation {
  public:
    Implementation(const RegionPlan& planned, void* workspace)
        : plan(planned), numbers_(numbers_of(plan)), launch_(cuda::launch_on(plan.gpu)), few_(are_few(plan, launch_)) {
        workspace_ = static_cast<char*>(workspace ? workspace : owned_.reserve(workspace_bytes(plan)));
        const std::size_t percentiles =
            static_cast<std::size_t>(cuda::rows_of(plan.channels)) * plan.percentiles.size();
        layout.first = cuda::place_after(sizeof(RegionsFound));
        layout.percentiles_offset = sizeof(RegionResult);
        layout.stride = (sizeof(RegionResult) + percentiles * sizeof(double) + 15) / 16 * 16;
        layout.bytes = layout.first + layout.stride * static_cast<std::size_t>(plan.regions);
    }

    void enqueue(const BatchView& images, const BatchView& labels, void* results, cudaStream_t stream) {
        const ImageView& image = images.first;
        cuda::validate(images, "batch");
        cuda::validate(labels, "batch of labels");
        core::validate(image);
        core::validate(labels.first);
        if (image.depth != plan.depth || image.channels != plan.channels)
            throw InvalidArgument("image of " + std::to_string(image.channels) + " channels " + to_string(image.depth) +
                                  ": the analyser was planned for " + std::to_string(plan.channels) + " channels " +
                                  to_string(plan.depth));
        if (labels.first.depth != plan.labels)
            throw InvalidArgument(std::string("labels of ") + to_string(labels.first.depth) +
                                  ": the analyser was planned for " + to_string(plan.labels));
        core::validate_labels(image, labels.first);
        if (labels.images != images.images)
            throw InvalidArgument("batch of " + std::to_string(labels.images) + " label maps for " +
                                  std::to_string(images.images) + " images");
        if (image.memory != Memory::device || labels.first.memory != Memory::device)
            throw InvalidArgument("image or labels in host memory: a stream-level analyser reads device memory");
        if (images.images > plan.images)
            throw InvalidArgument("batch of " + std::to_string(images.images) +
                                  " images: the analyser was planned for " + std::to_string(plan.images));
        if (image.pixels() > plan.pixels / images.images)
            throw InvalidArgument(std::to_string(images.images) + " images of " + std::to_string(image.pixels()) +
                                  " pixels: the analyser was planned for " + std::to_string(plan.pixels) + " in all");
        if (image.mask && !plan.masks) throw InvalidArgument("image with a mask: the analyser was not planned for any");
        if (!results) throw InvalidArgument("results: a null pointer");
        if (reinterpret_cast<std::uintptr_t>(results) % 16 != 0)
            throw InvalidArgument("results are not aligned to 16 bytes");
        const cuda::CurrentDevice current(plan.gpu);
        if (few_) return count(images, labels, results, stream);
        with_key(plan, [&](auto key) { sort<decltype(key)>(images, labels, results, stream); });
    }

    const RegionPlan plan;
    RegionLayout layout;

  private:
    /// Masks of all images one after the other, of the samples of a row that count; `image`: the first.
    void classify(const cuda::LabeledImages& images, const ImageView& image, const cpu::ImageRules& of, Channel channel,
                  const ClassifiedMemory& memory, const cuda::Launch& launch) const {
        const cuda::ClassRules rules = cuda::class_rules(of, image.channels);
        const int position = cpu::position_of(image, channel);
        const std::uint64_t also =
            position < 0 ? cuda::first_bits(rules.colors) : std::uint64_t{1} << static_cast<unsigned>(position);
        for (std::int64_t i = 0; i < images.images; ++i) {
            cuda::Image one = images.row.image;
            one.data = static_cast<const char*>(one.data) + i * images.image_bytes;
            cuda::Mask mask = images.row.mask;
            if (mask.data) mask.data += i * images.mask_bytes;
            cuda::launch_classes(one, plan.depth, mask, rules,
                                 {nullptr, 0, memory.mask + i * one.pixels(), also, memory.sums, cuda::nodata_class},
                                 launch);
        }
    }
    /// Calls `enqueue(images, row, results, launch)` for each row of the results, which is measured for itself. `end`:
    /// of the memory that the launches use.
    template <class Enqueue>
    void for_rows(const BatchView& images, const BatchView& labels, void* results, std::size_t end, cudaStream_t stream,
                  const Enqueue& enqueue) const {
        cuda::Launch launch = launch_;
        launch.stream = stream;
        const ImageView& image = images.first;
        const ClassifiedMemory classified(plan, workspace_, end);
        const cpu::ImageRules rules(image, plan.validity.get());
        cuda::LabeledImages all{};
        all.labels = as_it_lies(labels.first);
        all.images = images.images;
        all.image_bytes = images.image_bytes;
        all.labels_bytes = labels.image_bytes;
        all.classes = plan.validity != nullptr;
        if (numbers_.weight_bits > 0) all.weight = cpu::weight_of_opaque(plan.depth, *plan.validity);
        const DepthTraits& traits = traits_of(plan.depth);
        if (!traits.floating && traits.lowest < 0) all.flip = std::uint32_t{1} << (numbers_.sample_bits - 1);
        cuda::RegionResults to{static_cast<char*>(results),
                               layout,
                               plan.depth,
                               traits.floating ? 0 : traits.lowest,
                               static_cast<std::int32_t>(plan.percentiles.size()),
                               {}};
        for (std::size_t i = 0; i < plan.percentiles.size(); ++i) to.micro[i] = plan.percentiles.micro(i);
        // Rows of results are red, green, blue, luma and alpha.
        static constexpr Channel colors[] = {Channel::red, Channel::green, Channel::blue, Channel::luma,
                                             Channel::alpha};
        const int rows = cuda::rows_of(plan.channels) - (numbers_.weight_bits > 0 && plan.channels == 4 ? 1 : 0);
        for (int row = 0; row < rows; ++row) {
            all.row = cuda::sorted_row(image, plan.channels == 1 ? Channel::gray : colors[row]);
            all.row.image = as_it_lies(image);
            all.row.mask = {image.mask, image.height == 1 ? image.width : image.mask_row_bytes};
            all.mask_bytes = images.mask_bytes;
            if (plan.validity) {
                classify(all, image, rules, plan.channels == 1 ? Channel::gray : colors[row], classified, launch);
                all.row.mask = {classified.mask, image.width};
                all.mask_bytes = image.pixels();
            }
            enqueue(all, row, to, launch);
        }
    }
    void count(const BatchView& images, const BatchView& labels, void* results, cudaStream_t stream) const {
        std::size_t end = 0;
        const cuda::FewRegionsMemory memory = lay_out_few(plan, workspace_, end);
        for_rows(images, labels, results, end, stream,
                 [&](const auto& all, int row, const auto& to, const auto& launch) {
                     cuda::launch_few_regions_row(all, numbers_, memory, sample_bytes(plan.labels), row == 0, row, to,
                                                  launch);
                 });
    }
    template <class Key>
    void sort(const BatchView& images, const BatchView& labels, void* results, cudaStream_t stream) const {
        std::size_t end = 0;
        const cuda::RegionMemory<Key> memory = lay_out<Key>(plan, workspace_, end);
        for_rows(
            images, labels, results, end, stream, [&](const auto& all, int row, const auto& to, const auto& launch) {
                cuda::launch_region_row(all, numbers_, memory, sample_bytes(plan.labels), row == 0, row, to, launch);
            });
    }

    cuda::LabelNumbers numbers_;
    cuda::Launch launch_;
    bool few_;  ///< labels are counted, not sorted
    cuda::DeviceBuffer owned_;
    char* workspace_;
};

std::size_t StreamRegionAnalyzer::workspace_bytes(const RegionPlan& plan) {
    require(plan);
    const cuda::CurrentDevice current(plan.gpu);
    std::size_t end = 0;
    if (are_few(plan, cuda::launch_on(plan.gpu)))
        lay_out_few(plan, nullptr, end);
    else
        with_key(plan, [&](auto key) { lay_out<decltype(key)>(plan, nullptr, end); });
    return ClassifiedMemory(plan, nullptr, end).end;
}

StreamRegionAnalyzer::StreamRegionAnalyzer(const RegionPlan& plan, void* workspace) {
    require(plan);
    const cuda::CurrentDevice current(plan.gpu);
    implementation_ = std::make_unique<Implementation>(plan, workspace);
}
StreamRegionAnalyzer::~StreamRegionAnalyzer() = default;
StreamRegionAnalyzer::StreamRegionAnalyzer(StreamRegionAnalyzer&&) noexcept = default;
StreamRegionAnalyzer& StreamRegionAnalyzer::operator=(StreamRegionAnalyzer&&) noexcept = default;

const RegionPlan& StreamRegionAnalyzer::plan() const {
    return implementation_->plan;
}
RegionLayout StreamRegionAnalyzer::layout() const {
    return implementation_->layout;
}
void StreamRegionAnalyzer::enqueue(const ImageView& image, const ImageView& labels, void* results,
                                   cudaStream_t stream) {
    enqueue(BatchView{image, 1, 0}, BatchView{labels, 1, 0}, results, stream);
}
void StreamRegionAnalyzer::enqueue(const BatchView& images, const BatchView& labels, void* results,
                                   cudaStream_t stream) {
    implementation_->enqueue(images, labels, results, stream);
}

}  // namespace gpuhist
