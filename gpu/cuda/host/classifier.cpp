#include "cuda/host/classifier.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "cuda/host/analyzer.hpp"
#include "gpuhist/error.hpp"

namespace gpuhist::cuda {

ClassRules class_rules(const rules::ImageRules& rules, int channels) {
    constexpr double infinite = std::numeric_limits<double>::infinity();
    ClassRules made{};
    made.channels = channels;
    made.colors = rules.colors();
    made.kept = rules.alpha_left_out() ? 3 : channels;
    made.any = rules.any();
    made.nodata_any = rules.nodata_any();
    made.alpha_mask = rules.alpha_mask();
    int known = 0, values = 0;
    for (int c = 0; c < channels; ++c) {
        const rules::SampleRule& rule = rules[c];
        const Range bounds = rule.bounds().value_or(Range{-infinite, infinite});
        const auto same = [&](const ClassRules::Rule& one) {
            return one.nan == rule.nan() && one.lowest == bounds.lower && one.highest == bounds.upper &&
                   std::equal(made.values + one.first, made.values + one.last, rule.values().begin(),
                              rule.values().end());
        };
        const auto at = static_cast<int>(std::find_if(made.rules, made.rules + known, same) - made.rules);
        made.rule_of[c] = static_cast<std::uint8_t>(at);
        if (at < known) continue;
        const int more = static_cast<int>(rule.values().size());
        if (known == ClassRules::most_rules || values + more > ClassRules::most_values)
            throw InvalidArgument("nodata and valid intervals of an image in device memory: at most " +
                                  std::to_string(ClassRules::most_rules) + " different ones among its channels, and " +
                                  std::to_string(ClassRules::most_values) + " values in all");
        std::copy(rule.values().begin(), rule.values().end(), made.values + values);
        made.rules[known++] = {bounds.lower, bounds.upper, values, values + more, rule.nan()};
        values += more;
    }
    return made;
}

std::uint64_t bits_of(rules::PixelsOf which, const ClassRules& of) {
    return which == rules::PixelsOf::unmasked ? 0
           : which == rules::PixelsOf::colors ? rules::first_bits(of.colors)
                                              : rules::first_bits(of.channels);
}

ImageView with_copy(ImageView image, const void* copy, int channels) {
    image.data = copy;
    image.mask = nullptr;
    image.channels = channels;
    image.row_bytes = image.packed_row_bytes();
    return image;
}

ImageView with_mask(ImageView image, const void* mask) {
    image.mask = static_cast<const std::uint8_t*>(mask);
    image.mask_row_bytes = image.width;
    return image;
}

namespace {

/// Classifier of images in GPU memory, where its masks and copies are too.
class DeviceClassifier final : public plan::Classifier {
  public:
    explicit DeviceClassifier(int gpu) : gpu_(gpu) {}

    ImageView substitute(const ImageView& image, const rules::ImageRules& of, rules::ClassCounts& counts) override {
        const ClassRules rules = class_rules(of, image.channels);
        const CurrentDevice current(gpu_);
        const ImageView copy = with_copy(image, nullptr, rules.kept);
        char* const memory = memory_.reserve(packed_bytes(copy));
        classify(image, rules, {memory, rules.kept, nullptr, 0, nullptr}, counts);
        return with_copy(image, memory, rules.kept);
    }
    ImageView mask(const ImageView& image, const rules::ImageRules& of, rules::PixelsOf which,
                   rules::ClassCounts& counts) override {
        const ClassRules rules = class_rules(of, image.channels);
        const CurrentDevice current(gpu_);
        char* const memory = memory_.reserve(static_cast<std::size_t>(image.pixels()));
        auto* const bytes = reinterpret_cast<std::uint8_t*>(memory);
        classify(image, rules, {nullptr, 0, bytes, bits_of(which, rules), nullptr}, counts);
        return with_mask(image, bytes);
    }

  private:
    void classify(const ImageView& image, const ClassRules& rules, ClassOutput to, rules::ClassCounts& counts) {
        if (!stream_) stream_.emplace();
        Launch launch = launch_on(gpu_);
        launch.stream = *stream_;
        to.sums = reinterpret_cast<rules::ClassCounts*>(sums_.reserve(sizeof(rules::ClassCounts)));
        GPUHIST_CUDA(cudaMemsetAsync(to.sums, 0, sizeof(rules::ClassCounts), *stream_));
        launch_classes(image_of(image), image.depth, {image.mask, image.mask_row_bytes}, rules, to, launch);
        GPUHIST_CUDA(cudaMemcpyAsync(&counts, to.sums, sizeof counts, cudaMemcpyDeviceToHost, *stream_));
        GPUHIST_CUDA(cudaStreamSynchronize(*stream_));  // the engine has another stream
    }

    const int gpu_;
    std::optional<Stream> stream_;
    DeviceBuffer memory_, sums_;
};

}  // namespace

std::unique_ptr<plan::Classifier> make_classifier(int gpu) {
    return std::make_unique<DeviceClassifier>(gpu);
}

}  // namespace gpuhist::cuda
