#include "cuda/host/region_analyzer.hpp"

#include <algorithm>
#include <bit>

#include "core/channels.hpp"
#include "cuda/host/analyzer.hpp"
#include "cuda/host/classifier.hpp"
#include "cuda/host/sorted_analysis.hpp"

namespace gpuhist::cuda {
namespace {

/// Numbers of labels up to which each has its region in a table: beyond it regions are searched.
constexpr std::uint64_t most_places = std::uint64_t{1} << 24;

LabelNumbers numbers_of(const RegionPlan& plan) {
    LabelNumbers numbers{};
    numbers.first = plan.label_zero ? 0 : 1;
    numbers.largest = static_cast<std::uint32_t>(
        plan.largest_label != 0 ? plan.largest_label : static_cast<std::uint64_t>(traits_of(plan.labels).highest));
    numbers.of_each = numbers.largest - std::uint64_t{numbers.first} + 1;
    numbers.outside = numbers.of_each * static_cast<std::uint64_t>(plan.images);
    numbers.sample_bits = 8 * static_cast<int>(sample_bytes(plan.depth));
    numbers.weight_bits = rules::weighs(plan.validity.get()) ? numbers.sample_bits : 0;
    numbers.value_bits = numbers.weight_bits + numbers.sample_bits + (plan.masks || plan.validity ? 1 : 0);
    // Where each value of the type is a label, none is outside.
    const bool all = plan.label_zero && plan.labels != Depth::s32 &&
                     static_cast<double>(numbers.largest) == traits_of(plan.labels).highest;
    numbers.bits = numbers.value_bits + static_cast<int>(std::bit_width(numbers.outside - (all ? 1 : 0)));
    return numbers;
}

/// Regions that there is room for: no more than pixels.
std::uint32_t room_of(const RegionPlan& plan) {
    return static_cast<std::uint32_t>(std::min(plan.regions, plan.pixels));
}

/// Memory of an analyzer, laid out behind `base`. Returns its bytes in `end`.
FewRegionsMemory lay_out_few(const RegionPlan& plan, char* base, std::size_t& end) {
    const auto numbers = static_cast<std::size_t>(numbers_of(plan).outside);
    FewRegionsMemory memory{};
    Placing place{base};
    place(memory.counts, numbers * 256 * sizeof(Word));
    place(memory.excluded, numbers * 2 * sizeof(Word));
    place(memory.boxes, numbers * sizeof(RegionBox));
    place(memory.places, numbers * sizeof(std::uint32_t));
    place(memory.refused, sizeof(Word));
    memory.regions = room_of(plan);
    end = place.end;
    return memory;
}
template <class Key>
RegionMemory<Key> lay_out(const RegionPlan& plan, char* base, std::size_t& end) {
    const auto pixels = static_cast<std::size_t>(plan.pixels);
    const std::size_t one_more = std::size_t{room_of(plan)} + 1;
    const LabelNumbers numbers = numbers_of(plan);
    RegionMemory<Key> memory{};
    Placing place{base};
    place(memory.keys, pixels * sizeof(Key));
    place(memory.sorted, pixels * sizeof(Key));
    place(memory.chunks, (static_cast<std::size_t>(chunks_of(plan.pixels)) + 1) * sizeof(std::uint32_t));
    place(memory.starts, one_more * sizeof(std::uint32_t));
    place(memory.numbers, one_more * sizeof(std::uint64_t));
    if (numbers.outside < most_places)
        place(memory.places, (static_cast<std::size_t>(numbers.outside) + 1) * sizeof(std::uint32_t));
    place(memory.boxes, one_more * sizeof(RegionBox));
    if (!are_measured_apart(numbers, plan.depth)) place(memory.sums, one_more * sizeof(RegionSums));
    place(memory.refused, sizeof(Word));
    memory.temporary_bytes = sort_temporary<Key>(plan.pixels);
    place(memory.temporary, memory.temporary_bytes);
    memory.regions = room_of(plan);
    end = place.end;
    return memory;
}

/// Memory behind that: a mask of the valid samples, where there are rules for them.
struct ClassifiedMemory {
    std::uint8_t* mask = nullptr;
    rules::ClassCounts* sums = nullptr;
    std::size_t end;

    ClassifiedMemory(const RegionPlan& plan, char* base, std::size_t from) : end(from) {
        if (!plan.validity) return;
        Placing place{base, from};
        place(mask, static_cast<std::size_t>(plan.pixels));
        place(sums, sizeof(rules::ClassCounts));
        end = place.end;
    }
};

bool are_few(const RegionPlan& plan, const Launch& launch) {
    return are_few(numbers_of(plan), sample_bytes(plan.depth), launch);
}

/// Calls function(Key{}) with the type of a plan's keys.
template <class Function>
auto with_key(const RegionPlan& plan, const Function& function) {
    const int bits = numbers_of(plan).bits;
    return bits <= 32 ? function(std::uint32_t{}) : bits <= 64 ? function(std::uint64_t{}) : function(WideKey{});
}

/// Image as it lies: its rows are not taken together.
Image as_it_lies(const ImageView& view) {
    return {view.data, view.width, view.height, view.height == 1 ? view.packed_row_bytes() : view.row_bytes};
}

}  // namespace

std::size_t RegionAnalyzer::workspace_bytes(const RegionPlan& plan) {
    std::size_t end = 0;
    if (are_few(plan, launch_on(plan.gpu)))
        lay_out_few(plan, nullptr, end);
    else
        with_key(plan, [&](auto key) { lay_out<decltype(key)>(plan, nullptr, end); });
    return ClassifiedMemory(plan, nullptr, end).end;
}

RegionAnalyzer::RegionAnalyzer(const RegionPlan& plan, void* workspace)
    : plan_(plan), numbers_(numbers_of(plan)), launch_(launch_on(plan.gpu)), few_(are_few(plan, launch_)) {
    workspace_ = static_cast<char*>(workspace ? workspace : owned_.reserve(workspace_bytes(plan)));
    const std::size_t percentiles =
        static_cast<std::size_t>(measured_channels(plan.channels)) * plan.percentiles.size();
    layout_.first = place_after(sizeof(RegionsFound));
    layout_.percentiles_offset = sizeof(RegionResult);
    layout_.stride = (sizeof(RegionResult) + percentiles * sizeof(double) + 15) / 16 * 16;
    layout_.bytes = layout_.first + layout_.stride * static_cast<std::size_t>(plan.regions);
}

/// Masks of all images one after the other, of the valid samples of a channel; `image`: the first.
void RegionAnalyzer::classify(const LabeledImages& images, const ImageView& image, const rules::ImageRules& of,
                              Channel channel, std::uint8_t* mask_to, rules::ClassCounts* sums,
                              const Launch& launch) const {
    const ClassRules rules = class_rules(of, image.channels);
    const int position = core::position_of(image, channel);
    const std::uint64_t also =
        position < 0 ? rules::first_bits(rules.colors) : std::uint64_t{1} << static_cast<unsigned>(position);
    for (std::int64_t i = 0; i < images.images; ++i) {
        Image one = images.channel.image;
        one.data = static_cast<const char*>(one.data) + i * images.image_bytes;
        Mask mask = images.channel.mask;
        if (mask.data) mask.data += i * images.mask_bytes;
        launch_classes(one, plan_.depth, mask, rules,
                       {nullptr, 0, mask_to + i * one.pixels(), also, sums, nodata_class}, launch);
    }
}

/// Calls `enqueue(images, c, results, launch)` for each channel of the results, which is measured for itself. `end`:
/// of the memory that the launches use.
template <class Enqueue>
void RegionAnalyzer::for_channels(const BatchView& images, const BatchView& labels, void* results, std::size_t end,
                                  cudaStream_t stream, const Enqueue& enqueue) const {
    Launch launch = launch_;
    launch.stream = stream;
    const ImageView& image = images.first;
    const ClassifiedMemory classified(plan_, workspace_, end);
    const rules::ImageRules rules(image, plan_.validity.get());
    LabeledImages all{};
    all.labels = as_it_lies(labels.first);
    all.images = images.images;
    all.image_bytes = images.image_bytes;
    all.labels_bytes = labels.image_bytes;
    all.classes = plan_.validity != nullptr;
    if (numbers_.weight_bits > 0) all.weight = rules::weight_of_opaque(plan_.depth, *plan_.validity);
    const DepthTraits& traits = traits_of(plan_.depth);
    if (!traits.floating && traits.lowest < 0) all.flip = std::uint32_t{1} << (numbers_.sample_bits - 1);
    RegionResults to{static_cast<char*>(results),
                     layout_,
                     plan_.depth,
                     traits.floating ? 0 : traits.lowest,
                     static_cast<std::int32_t>(plan_.percentiles.size()),
                     {}};
    for (std::size_t i = 0; i < plan_.percentiles.size(); ++i) to.micro[i] = plan_.percentiles.micro(i);
    // Channels of results are red, green, blue, luma and alpha.
    static constexpr Channel colors[] = {Channel::red, Channel::green, Channel::blue, Channel::luma, Channel::alpha};
    const int channels = measured_channels(plan_.channels) - (numbers_.weight_bits > 0 && plan_.channels == 4 ? 1 : 0);
    for (int c = 0; c < channels; ++c) {
        const Channel channel = plan_.channels == 1 ? Channel::gray : colors[c];
        all.channel = sorted_channel(image, channel);
        all.channel.image = as_it_lies(image);
        all.channel.mask = {image.mask, image.height == 1 ? image.width : image.mask_row_bytes};
        all.mask_bytes = images.mask_bytes;
        if (plan_.validity) {
            classify(all, image, rules, channel, classified.mask, classified.sums, launch);
            all.channel.mask = {classified.mask, image.width};
            all.mask_bytes = image.pixels();
        }
        enqueue(all, c, to, launch);
    }
}

void RegionAnalyzer::enqueue(const BatchView& images, const BatchView& labels, void* results, cudaStream_t stream) {
    std::size_t end = 0;
    if (few_) {
        const FewRegionsMemory memory = lay_out_few(plan_, workspace_, end);
        return for_channels(
            images, labels, results, end, stream, [&](const auto& all, int c, const auto& to, const auto& launch) {
                launch_few_regions_channel(all, numbers_, memory, sample_bytes(plan_.labels), c == 0, c, to, launch);
            });
    }
    with_key(plan_, [&](auto key) {
        const auto memory = lay_out<decltype(key)>(plan_, workspace_, end);
        for_channels(
            images, labels, results, end, stream, [&](const auto& all, int c, const auto& to, const auto& launch) {
                launch_region_channel(all, numbers_, memory, sample_bytes(plan_.labels), c == 0, c, to, launch);
            });
    });
}

}  // namespace gpuhist::cuda
