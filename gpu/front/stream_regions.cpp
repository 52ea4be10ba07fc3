// Stream analyzer of regions: validates the arguments of callers.

#include "gpuhist/stream_regions.hpp"

#include <string>

#include "core/validate.hpp"
#include "cuda/host/analyzer.hpp"
#include "cuda/host/region_analyzer.hpp"
#include "gpuhist/error.hpp"
#include "plan/refusal.hpp"
#include "rules/rules.hpp"

namespace gpuhist {
namespace {

constexpr std::int64_t most_pixels = std::int64_t{1} << 30, most_regions = std::int64_t{1} << 28;

void require_range(const char* what, std::int64_t value, std::int64_t most) {
    if (value < 1 || value > most)
        throw InvalidArgument("plan of " + std::to_string(value) + " " + what + ": 1 to " + std::to_string(most));
}

void require(const RegionPlan& plan) {
    plan::refuse_plan(plan.channels, plan.depth, false, plan::region_stream_abilities);
    core::validate_labels(plan.labels, "plan of labels");
    if (static_cast<double>(plan.largest_label) > traits_of(plan.labels).highest)
        throw InvalidArgument("plan of labels up to " + std::to_string(plan.largest_label) + ", which " +
                              to_string(plan.labels) + " does not hold");
    if (rules::weighs(plan.validity.get())) {
        ImageView like;
        like.depth = plan.depth;
        like.channels = plan.channels;
        like.memory = Memory::device;
        plan::refuse_weights(like, *plan.validity, plan::region_stream_abilities);
    }
    require_range("pixels", plan.pixels, most_pixels);
    require_range("images", plan.images, plan.pixels);
    require_range("regions", plan.regions, most_regions);
    cuda::require_gpu(plan::region_stream_abilities.name, plan.gpu);
}

}  // namespace

class StreamRegionAnalyzer::Implementation : public cuda::RegionAnalyzer {
  public:
    using RegionAnalyzer::RegionAnalyzer;

    void enqueue(const BatchView& images, const BatchView& labels, void* results, cudaStream_t stream) {
        const RegionPlan& plan = this->plan();
        const ImageView& image = images.first;
        cuda::validate(images, "batch");
        cuda::validate(labels, "batch of labels");
        core::validate(image);
        cuda::require_planned(image, plan.channels, plan.depth);
        if (labels.first.depth != plan.labels)
            throw InvalidArgument(std::string("labels of ") + to_string(labels.first.depth) +
                                  ": the analyzer was planned for " + to_string(plan.labels));
        core::validate_labels(image, labels.first);
        if (labels.images != images.images)
            throw InvalidArgument("batch of " + std::to_string(labels.images) + " label maps for " +
                                  std::to_string(images.images) + " images");
        if (labels.first.memory != Memory::device)
            throw InvalidArgument("labels in host memory: a stream-level analyzer reads device memory");
        if (images.images > plan.images)
            throw InvalidArgument("batch of " + std::to_string(images.images) +
                                  " images: the analyzer was planned for " + std::to_string(plan.images));
        if (image.pixels() > plan.pixels / images.images)
            throw InvalidArgument(std::to_string(images.images) + " images of " + std::to_string(image.pixels()) +
                                  " pixels: the analyzer was planned for " + std::to_string(plan.pixels) + " in all");
        if (image.mask && !plan.masks) throw InvalidArgument("image with a mask: the analyzer was not planned for any");
        cuda::require_results(results);
        const cuda::CurrentDevice current(plan.gpu);
        RegionAnalyzer::enqueue(images, labels, results, stream);
    }
};

std::size_t StreamRegionAnalyzer::workspace_bytes(const RegionPlan& plan) {
    require(plan);
    const cuda::CurrentDevice current(plan.gpu);
    return cuda::RegionAnalyzer::workspace_bytes(plan);
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
    return implementation_->plan();
}
RegionLayout StreamRegionAnalyzer::layout() const {
    return implementation_->layout();
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
