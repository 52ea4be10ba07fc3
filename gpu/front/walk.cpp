#include "front/walk.hpp"

#include <algorithm>
#include <utility>

#include "core/channels.hpp"
#include "core/validate.hpp"
#include "gpuhist/error.hpp"
#include "plan/finish.hpp"

namespace gpuhist::front {

plan::Executor& Workshop::executor(const plan::Pass& pass) {
    if (!pass.on_host || !abilities().device_memory) return *own_;
    if (!host_) host_ = cpu::make_executor(options_);
    return *host_;
}

plan::Classifier& Workshop::classifier(Memory memory) {
    return memory == Memory::device ? own_->classifier() : classifier_;
}

void Workshop::copy(cpu::NormalizedPixels pixels, const rules::ImageRules& rules, const Analysis& found,
                    const Normalization& normalization, const MutableImageView& output) {
    if (pixels.image.memory == Memory::device) {
        pixels.copier = own_->copier();
        pixels.rules = &rules;
    }
    normalizer_.apply(workers_, pixels, found, normalization, &counter_, output);
}

ImageView kept_from(const ImageView& image, const MutableImageView& output, const rules::ImageRules& rules,
                    const Normalization& copy, cpu::Part& memory) {
    ImageView kept = image;
    if (output.data != image.data || !cpu::settles(rules, image.depth, output.depth, copy)) return kept;
    kept.data = memory.of(image, 0, image.channels).data;
    kept.row_bytes = kept.packed_row_bytes();
    return kept;
}

void MergedStrips::take(const ImageView& strip) {
    analyze_(strip, first_ ? result_ : strip_);
    if (!std::exchange(first_, false)) result_ += strip_;
}

Walk::Walk(Workshop& workshop, plan::Plan plan, const ImageView& image, const Normalization* copy, plan::Rows rows,
           Analysis& result)
    : workshop_(workshop),
      plan_(std::move(plan)),
      image_(image),
      copy_(copy ? std::optional(*copy) : std::nullopt),
      rows_(rows),
      result_(result) {
    std::size_t ranges = 0;
    while (plan_.passes[ranges].role == plan::Role::range) ++ranges;
    ranges_ = ranges > 0;
    begin(0, ranges_ ? ranges : plan_.passes.size());
}

/// Begins the passes from `first` up to `last`.
void Walk::begin(std::size_t first, std::size_t last) {
    found_.clear();
    found_.resize(last - first);
    running_.clear();
    for (std::size_t i = first; i < last; ++i) {
        const plan::Pass& pass = plan_.passes[i];
        const bool alone = &pass == &plan_.main() && !plan_.parts();
        running_.push_back({&pass, begin_pass(pass, alone ? result_ : found_[i - first])});
    }
}

std::unique_ptr<StripAnalysis> Walk::begin_pass(const plan::Pass& pass, Analysis& result) {
    plan::Executor& executor = workshop_.executor(pass);
    const bool merges = rows_ == plan::Rows::whole || (pass.part && pass.accumulator != plan::Accumulator::bins);
    if (!merges) {
        ImageView sides = pass.channels == 0 ? core::as_one_channel(image_) : image_;
        if (pass.channels > 0) sides.channels = pass.channels;
        sides.mask = nullptr;
        if (auto analysis = executor.begin(pass, sides, result)) return analysis;
    }
    return std::make_unique<MergedStrips>(
        [&pass, &executor](const ImageView& pixels, Analysis& to) { executor.analyze(pass, pixels, to); }, result);
}

/// Returns whether a pass of the engine's own executor reads pixels that another of its passes also reads, but not in
/// parts, which are made from one copy anyway.
bool Walk::reads_again(const plan::Pass& pass) const {
    const auto reads_them = [&](const Running& one) {
        return &workshop_.executor(*one.pass) == &workshop_.own() && !one.done &&
               std::pair(one.pass->pixels, one.pass->of) == std::pair(pass.pixels, pass.of);
    };
    const auto whole = [&](const Running& one) { return !one.pass->part && reads_them(one); };
    return &workshop_.executor(pass) == &workshop_.own() &&
           std::count_if(running_.begin(), running_.end(), reads_them) > 1 &&
           std::any_of(running_.begin(), running_.end(), whole);
}

/// Pixels of a strip that a pass reads. They stay until the next call for other ones.
ImageView Walk::pixels_of(const plan::Pass& pass, const ImageView& strip) {
    const std::pair wanted(pass.pixels, pass.of);
    if (viewed_ != wanted) {
        viewed_ = wanted;
        parts_taken_ = false;
        brought_.reset();
        rules::ClassCounts counts;
        view_ = pass.pixels == plan::Pixels::given ? strip
                : pass.pixels == plan::Pixels::masked
                    ? workshop_.classifier(strip.memory).mask(strip, plan_.rules, pass.of, counts)
                    : workshop_.classifier(strip.memory).substitute(strip, plan_.rules, counts);
        const plan::Pass& main = plan_.main();
        if (first_ && wanted == std::pair(main.pixels, main.of)) counts_ += counts;
    }
    plan::Executor& executor = workshop_.executor(pass);
    if (!brought_ && view_.memory == Memory::host && reads_again(pass)) brought_ = executor.bring(view_);
    const ImageView& view = brought_ && &executor == &workshop_.own() ? *brought_ : view_;
    if (!pass.part) return view;
    plan::PartMaker& parts = executor.parts();
    if (!std::exchange(parts_taken_, true)) taken_ = parts.take(view);
    return pass.channels == 0 ? core::as_one_channel(taken_) : parts.part(pass.first, pass.channels);
}

void Walk::take(const ImageView& strip) {
    if (rows_ == plan::Rows::strips) {
        core::validate(strip, plan_.request);
        if (strip.memory == Memory::device && !workshop_.abilities().device_memory)
            throw InvalidArgument(std::string(workshop_.abilities().name) + ": the strip lies in device memory");
        if (strip.mask && !image_.mask) throw InvalidArgument("strip with a mask: the image was begun without a mask");
        viewed_.reset();  // it belongs to the previous strip
    }
    for (Running& one : running_)
        if (!one.done) one.analysis->take(pixels_of(*one.pass, strip));
}

bool Walk::end_pass() {
    first_ = false;
    bool more = false;
    for (Running& one : running_) {
        one.done = one.done || !one.analysis->end_pass();
        more = more || !one.done;
    }
    if (more) return true;
    if (ranges_) {
        ranges_ = false;
        const Range range = plan::found_range(found_);
        for (plan::Pass& pass : plan_.passes)
            if (pass.role != plan::Role::range) pass.request.range = range;
        begin(found_.size(), plan_.passes.size());
        return true;
    }
    finish();
    return false;
}

/// Makes the result from the findings of the passes.
void Walk::finish() {
    plan::assemble(plan_, image_, found_, result_);
    const bool floats = traits_of(image_.depth).counting == Counting::bins,
               excludes =
                   plan_.main().accumulator != plan::Accumulator::weights && !rules::all_valid(image_, plan_.request);
    // Copies of f32 follow from the findings in the counted samples, other copies from those in the valid samples.
    // Between the strips and their copies, the result belongs to the caller.
    const auto decide = [&](bool result_changes) {
        if (copy_ && (result_changes || rows_ == plan::Rows::strips)) decides_ = result_;
    };
    if (floats) decide(excludes);
    if (excludes) plan::exclude(plan_, image_, counts_, plan_.luma_apart() ? &found_.front() : nullptr, result_);
    if (!floats) decide(plan_.luma_of_copy || plan_.weight > 0);
    if (!floats && copy_ && plan_.luma_of_copy) plan::drop_luma(result_);
    if (plan_.weight > 0) plan::weigh(result_, plan_.weight);
}

void Walk::copy(const ImageView& strip, const MutableImageView& output) {
    if (!copy_) return StripAnalysis::copy(strip, output);
    core::validate(strip, plan_.request);
    core::validate_output(strip, normalized_depth(strip.depth, *copy_), output);
    const bool bins = traits_of(strip.depth).counting == Counting::bins, by_place = needs_places(*copy_),
               on_device = strip.memory == Memory::device;
    const bool counts_again = bins && ((by_place && !on_device) || needs_of(*copy_) == NormalizeNeeds::counts);
    cpu::NormalizedPixels pixels{strip, counts_again ? pixels_of(plan_.main(), strip) : strip};
    const Analysis& found = decides_ ? *decides_ : result_;
    if (on_device || rules::all_valid(strip, plan_.request))
        return workshop_.copy(pixels, plan_.rules, found, *copy_, output);
    std::vector<std::uint8_t> valid;
    if (!bins && by_place) {
        valid = workshop_.host_classifier().sample_mask(strip, plan_.rules);
        pixels.valid = valid.data();
    }
    const ImageView kept = kept_from(strip, output, plan_.rules, *copy_, kept_);
    workshop_.copy(pixels, plan_.rules, found, *copy_, output);
    cpu::settle(workshop_.workers(), kept, plan_.rules, *copy_, output);
}

}  // namespace gpuhist::front
