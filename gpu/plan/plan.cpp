#include "plan/plan.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/channels.hpp"
#include "core/validate.hpp"
#include "gpuhist/reduce.hpp"
#include "plan/refusal.hpp"

namespace gpuhist::plan {
namespace {

/// Way to leave out excluded samples. Floats are measured in copies in which NaN stands for them. Integers are counted
/// in all unmasked pixels, and nodata is then taken out by value; their luma has a mask of its own.
struct Exclusion {
    Pixels pixels = Pixels::given;
    rules::PixelsOf of = rules::PixelsOf::unmasked;
    bool luma_apart = false;

    Exclusion() = default;
    /// `masks` says that the executor leaves out masked pixels, which is enough for floats without other rules.
    Exclusion(const ImageView& image, const rules::ImageRules& rules, bool masks) {
        const bool mask_alone = !rules.any() && !rules.alpha_mask().any && !rules.alpha_left_out();
        const bool swept = core::is_swept(image) && (image.channels != 4 || core::has_alpha(image));
        if (traits_of(image.depth).floating && !(masks && swept && mask_alone)) {
            pixels = Pixels::substituted;
            return;
        }
        luma_apart = !rules.nodata_any() && rules.any_color() && rules.colors() == 3;
        if (!rules.nodata_any() && !rules.alpha_mask().any) return;
        pixels = Pixels::masked;
        of = rules.nodata_any() ? rules::PixelsOf::all : rules::PixelsOf::unmasked;
    }
};

/// Image as passes see it: a copy has no place for alpha that is left out.
ImageView seen_by_passes(ImageView image, const Exclusion& excluded, const rules::ImageRules& rules) {
    if (excluded.pixels == Pixels::substituted && rules.alpha_left_out()) image.channels = 3;
    return image;
}

AnalysisRequest without_validity(AnalysisRequest request) {
    request.validity.reset();
    return request;
}

bool has_bins(const ImageView& image) {
    return traits_of(image.depth).counting == Counting::bins;
}

bool finds_measures(const ImageView& image, const AnalysisRequest& request) {
    return !(core::colors_of(image) > 0 ? request.measures : request.measures.of_pixels(true)).empty();
}

/// Adds the percentiles that measures need to those whose order statistics are found.
void add_percentiles(const ImageView& image, AnalysisRequest& request) {
    const bool gray = core::colors_of(image) < 3 || image.samples == Samples::gray_alpha;
    for (const MeasureTraits& traits : all_measures)
        if (request.measures.has(traits.measure) && (gray || !traits.reads_pixels))
            for (const std::uint8_t percent : traits.percentiles)
                if (percent > 0) request.percentiles.add(percent);
}

/// Adds the passes for the measures of an image: one of the backend, and one of the CPU for those that the backend does
/// not find. Excluded pixels are masked or NaN.
void add_measures(std::vector<Pass>& passes, const ImageView& image, const Exclusion& exclusion,
                  const rules::ImageRules& rules, const AnalysisRequest& request, Rows rows, const Abilities& abilities,
                  bool on_host) {
    if (core::colors_of(image) == 0) return;
    Pass pass;
    pass.role = Role::measures;
    pass.channels = image.channels;
    pass.accumulator = Accumulator::measures;
    pass.request = without_validity(request);
    pass.pixels = exclusion.pixels;
    pass.of = exclusion.of;
    if (pass.pixels != Pixels::substituted && !rules.nodata_any() && rules.any_color()) {
        pass.pixels = Pixels::masked;
        pass.of = rules::PixelsOf::colors;
    }
    const Measures all = request.measures.of_pixels(),
                   found = on_host ? Measures() : found_by(abilities, all, image, rows);
    for (const bool host : {false, true}) {
        pass.on_host = host;
        pass.request.measures = all.without(host ? found : all.without(found));
        if (!pass.request.measures.empty()) passes.push_back(pass);
    }
}

/// Adds the measures of pixels as they are stored: to the pass for the others if it leaves out no pixel, or as a pass
/// of their own before the channels.
void add_stored_pass(std::vector<Pass>& passes, const ImageView& image, const AnalysisRequest& request,
                     const Abilities& abilities) {
    Pass pass;
    pass.role = Role::measures;
    pass.channels = image.channels;
    pass.accumulator = Accumulator::measures;
    pass.request = without_validity(request);
    pass.request.measures = request.measures.of_pixels(true);
    pass.on_host = !abilities.finds.contain(pass.request.measures);
    for (Pass& other : passes)
        if (other.role == Role::measures && other.pixels == Pixels::given && !image.mask &&
            other.on_host == pass.on_host) {
            for (const MeasureTraits& traits : all_measures)
                if (pass.request.measures.has(traits.measure)) other.request.measures.add(traits.measure);
            return;
        }
    const auto of_channels = [](const Pass& other) { return other.role == Role::channels; };
    if (!pass.request.measures.empty())
        passes.insert(std::find_if(passes.begin(), passes.end(), of_channels), std::move(pass));
}

/// Adds a pass for the colors, and one per band.
void add_parts(std::vector<Pass>& passes, Pass pass, const ImageView& image) {
    pass.part = true;
    const int bands = core::first_band(image);
    if (bands > 0) {
        pass.channels = bands;
        passes.push_back(pass);
    }
    pass.channels = 1;
    for (pass.first = bands; pass.first < image.channels; ++pass.first) passes.push_back(pass);
}

/// Passes over an image whose excluded samples are left out in this way. `parts` says that its channels are measured
/// apart.
std::vector<Pass> make_passes(const ImageView& image, const Exclusion& exclusion, bool parts,
                              const AnalysisRequest& request, const std::optional<Stretch>& stretch,
                              const rules::ImageRules& rules, Rows rows, const Abilities& abilities, bool on_host) {
    Pass pass;
    pass.on_host = on_host;
    pass.channels = image.channels;
    pass.accumulator = accumulator_of(image.depth, abilities);
    pass.request = without_validity(request);
    pass.stretch = stretch;
    std::vector<Pass> passes;
    if (exclusion.luma_apart) {
        Pass luma = pass;
        luma.role = Role::luma;
        luma.pixels = Pixels::masked;
        luma.of = rules::PixelsOf::colors;
        luma.part = parts;
        if (parts) luma.channels = core::first_band(image);
        passes.push_back(luma);
    }
    pass.pixels = exclusion.pixels;
    pass.of = exclusion.of;
    const auto add_measures_here = [&] {
        add_measures(passes, image, exclusion, rules, request, rows, abilities, on_host);
    };
    if (!parts) {
        add_measures_here();
        passes.push_back(pass);
        return passes;
    }
    if (has_bins(image) && !request.range) {
        Pass range = pass;
        range.role = Role::range;
        range.request.detail = Detail::brief;
        range.request.bins = 1;
        add_parts(passes, range, image);
    }
    add_measures_here();
    add_parts(passes, pass, image);
    if (has_bins(image) && request.detail == Detail::full) {
        pass.role = Role::pooled;
        pass.part = true;
        pass.channels = 0;
        passes.push_back(pass);
    }
    return passes;
}

}  // namespace

bool Plan::luma_apart() const {
    return std::any_of(passes.begin(), passes.end(), [](const Pass& pass) { return pass.role == Role::luma; });
}

bool is_by_parts(const ImageView& image, bool copied) {
    const bool fourth = image.channels == 4 && core::has_bands(image);
    return !core::is_swept(image) || (fourth && (copied || has_bins(image)));
}

bool copies_bands(const ImageView& image, bool valid) {
    return valid ? is_by_parts(image, true) : core::has_bands(image);
}

bool needs_luma(const AnalysisRequest& request, const Normalization& copy) {
    return request.luma_histogram || (traits_of(copy.mode).joint_by_luma && copy.joint);
}

AnalysisRequest without_weights(AnalysisRequest request) {
    Validity others = *request.validity;
    others.alpha = AlphaRule::row;
    others.opaque = 0;
    request.validity = others == Validity() ? nullptr : std::make_shared<const Validity>(std::move(others));
    return request;
}

bool is_direct(const ImageView& image, const AnalysisRequest& request, const Normalization* copy) {
    return rules::all_valid(image, request) && !is_by_parts(image, copy != nullptr) && !finds_measures(image, request);
}

Measures found_by(const Abilities& abilities, const Measures& measures, const ImageView& image, Rows rows) {
    const Sides sides{image.width, image.height};
    const bool able = abilities.finds_in.has(image.depth) && !(abilities.finds_whole && rows == Rows::strips),
               reduced = measures.longest_side() > 0 && !(reduced_sides(sides, measures.longest_side()) == sides);
    Measures not_found = measures.without(abilities.finds);
    for (const MeasureTraits& traits : all_measures)
        if (traits.reads_pixels && (!able || (abilities.finds_whole && reduced && traits.neighborhoods)))
            not_found.add(traits.measure);
    return measures.without(not_found);
}

std::vector<Pass> passes_of(const ImageView& image, const rules::ImageRules& rules, const AnalysisRequest& request,
                            const Abilities& abilities) {
    return make_passes(image, Exclusion(image, rules, abilities.masks.has(image.depth)), false, request, {}, rules,
                       Rows::whole, abilities, false);
}

Plan make_plan(const ImageView& image, const AnalysisRequest& request, const Normalization* copy, Rows rows,
               const Abilities& abilities) {
    refuse(image, request, copy, rows, abilities);
    const bool weighs = rules::weighs(request), weighted = weighs && core::has_alpha(image),
               on_device = image.memory == Memory::device, bins = has_bins(image);
    AnalysisRequest asked = weighs && !weighted ? without_weights(request) : request;
    if (copy) asked.luma_histogram = needs_luma(request, *copy);
    if (has_bins(image) && finds_measures(image, request)) add_percentiles(image, asked);
    const bool valid = rules::all_valid(image, asked);
    Plan plan{asked, rules::ImageRules(image, asked.validity.get())};
    plan.luma_of_copy = asked.luma_histogram && !request.luma_histogram;
    if (copy) {
        const bool by_place = traits_of(copy->mode).kind == NormalizeKind::place;  // by the executor if all are valid
        const bool by_executor = on_device && abilities.writes(image.depth, *copy) && (valid || !by_place);
        plan.copy = copies_bands(image, valid) ? Copy::bands : by_executor ? Copy::executor : Copy::findings;
    }
    if (weighted || plan.copy == Copy::executor) {  // the executor applies the rules
        Pass pass;
        pass.channels = image.channels;
        pass.accumulator = weighted ? Accumulator::weights : accumulator_of(image.depth, abilities);
        pass.request = plan.copy == Copy::executor ? request : asked;
        pass.on_host = !on_device;
        const Exclusion excluded(image, plan.rules, true);
        add_measures(plan.passes, seen_by_passes(image, excluded, plan.rules), excluded, plan.rules, asked, rows,
                     abilities, pass.on_host);
        plan.passes.push_back(std::move(pass));
        add_stored_pass(plan.passes, image, asked, abilities);
        return plan;
    }
    if (weighs) plan.weight = rules::weight_of_opaque(image.depth, *request.validity);

    // Copies of f32 need ranks beside the reported ones, which the CPU finds.
    std::optional<Stretch> stretch;
    if (plan.copy == Copy::findings && bins && needs_of(*copy) == NormalizeNeeds::ranks)
        stretch = Stretch{copy->low, copy->high};
    const auto exclusion = [&](const Abilities& by) {
        return valid ? Exclusion() : Exclusion(image, plan.rules, by.masks.has(image.depth));
    };
    Exclusion excluded = exclusion(abilities);
    const bool able = valid || abilities.masks.has(image.depth) || excluded.pixels == Pixels::substituted;
    const bool on_host = !able || (bins && ((plan.copy == Copy::findings && !on_device) || rows == Rows::strips));
    if (on_host) excluded = exclusion(cpu_abilities);

    const ImageView seen = seen_by_passes(image, excluded, plan.rules);
    const bool parts = is_by_parts(seen, copy && valid);
    plan.passes = make_passes(seen, excluded, parts, asked, stretch, plan.rules, rows, abilities, on_host);
    add_stored_pass(plan.passes, image, asked, abilities);
    plan.finds_range = parts && bins && !request.range;
    return plan;
}

}  // namespace gpuhist::plan
