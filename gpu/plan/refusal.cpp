#include "plan/refusal.hpp"

#include <iterator>
#include <string>

#include "core/channels.hpp"
#include "core/validate.hpp"
#include "gpuhist/error.hpp"
#include "normalize/curves/curves.hpp"

namespace gpuhist::plan {
namespace {

[[noreturn]] void throw_refusal(const std::string& what, const std::string& why) {
    throw InvalidArgument(what + ": " + why);
}

void refuse_depth(Depth depth, const Abilities& abilities) {
    if (!abilities.measures.has(depth))
        throw UnsupportedDepth(std::string(abilities.name) + ": samples of " + to_string(depth) +
                               " are not supported; an engine measures them");
}

void refuse_copy(const ImageView& image, const AnalysisRequest& request, const Normalization& copy,
                 const Abilities& abilities) {
    const Depth depth = normalized_depth(image.depth, copy);
    const auto of = [&] { return std::string("normalized copy of ") + to_string(image.depth); };
    core::validate_fill(depth, copy.fill);
    const bool valid = rules::all_valid(image, request), bands = copies_bands(image, valid);
    if (bands && image.channels > 1 && copy.joint && traits_of(copy.mode).joint_by_luma)
        throw_refusal(of(), std::string(to_string(copy.mode)) +
                                " needs luma, which bands do not have; give each band a table of its own");
    if (traits_of(copy.mode).kind == NormalizeKind::place) {
        const std::string by = of() + " by " + to_string(copy.mode);
        if (copy.mode == NormalizeMode::clahe && (sample_bytes(image.depth) > 2 || traits_of(image.depth).floating))
            throw_refusal(by, "it needs integers of 8 or 16 bits");
        if (depth != image.depth) throw_refusal(by + " in " + to_string(depth), "it must have the depth of the image");
    }
    if (copy.mode == NormalizeMode::match) core::validate_reference(copy, image.depth);
    if (!valid) core::validate_kept(image, copy);
    if (image.memory == Memory::host) return;
    const char* const where = "the image is in device memory; copy it to the host";
    const bool zscale = traits_of(copy.mode).kind == NormalizeKind::curve && needs_places(copy);
    if (!valid && zscale) throw_refusal(of() + " over zscale with excluded samples", where);
    if (bands) throw_refusal(of() + " bands", where);
    if (!valid && image.samples != Samples::color) throw_refusal(of() + " with alpha and excluded samples", where);
    if (abilities.writes_from_findings(image.depth, copy)) return;
    if (abilities.copies.has(image.depth) && !abilities.writes_own(image.depth, copy))
        throw_refusal(of() + " by " + to_string(copy.mode), where);
    if (!abilities.writes(image.depth, copy)) throw_refusal(of() + " in " + to_string(depth), where);
}

void refuse_strips(const ImageView& image, const AnalysisRequest& request, const Normalization* copy,
                   const Abilities& abilities) {
    const bool bins = traits_of(image.depth).counting == Counting::bins;
    if (bins && !abilities.in_strips.has(image.depth) && rules::all_valid(image, request))
        throw UnsupportedDepth(std::string(abilities.name) + ": strips of " + to_string(image.depth) +
                               ": it only measures whole images; engine cpu measures strips");
    if (!copy) return;
    const std::string of = std::string("normalized copies of strips of ") + to_string(image.depth);
    const char* const why = "this needs all pixels at once; give the whole image";
    if (traits_of(image.depth).counting == Counting::sorted) throw_refusal(of, why);
    if (needs_whole(image.depth, *copy)) throw_refusal(of + " by " + to_string(copy->mode), why);
    if (copies_bands(image, rules::all_valid(image, request))) throw_refusal(of + " bands", why);
}

}  // namespace

void refuse(const ImageView& image, const AnalysisRequest& request, const Normalization* copy, Rows rows,
            const Abilities& abilities) {
    rows == Rows::whole ? core::validate(image) : core::validate_sides(image);
    core::validate(request);
    if (copy) core::validate(*copy);
    if (rules::weighs(request)) {
        refuse_weights(image, *request.validity, abilities);
        if (!core::has_alpha(image)) return refuse(image, without_weights(request), copy, rows, abilities);
    }
    refuse_depth(image.depth, abilities);
    if (image.memory == Memory::device && !abilities.device_memory)
        throw_refusal(abilities.name, "the image is in device memory; copy it to the host or use engine cuda");
    const Measures lacking = request.measures.without(found_by(abilities, request.measures, image, rows));
    if (image.memory == Memory::device && !lacking.empty())
        throw_refusal(abilities.name,
                      "it cannot measure " + lacking.text() + " of an image in device memory; copy it to the host");
    if (!core::is_swept(image) &&
        (image.samples == Samples::gray_alpha || (image.samples == Samples::color_bands && image.channels < 4)))
        throw_refusal("image of " + std::to_string(image.channels) + " channels",
                      "gray with alpha has four samples per pixel, and colors with bands have more than three");
    if (copy) refuse_copy(image, request, *copy, abilities);
    if (rows == Rows::strips) refuse_strips(image, request, copy, abilities);
}

void refuse_weights(const ImageView& image, const Validity& validity, const Abilities& abilities) {
    rules::validate_weights(image, validity);
    if (image.memory == Memory::device && abilities.device_memory && !abilities.weighs.has(image.depth))
        throw_refusal(abilities.name, std::string("samples of ") + to_string(image.depth) +
                                          " are not weighted by alpha in device memory; copy the image to the host");
}

void refuse_plan(int channels, Depth depth, bool copied, const Abilities& abilities) {
    if (channels != 1 && channels != 3 && channels != 4)
        throw_refusal("plan of " + std::to_string(channels) + " channels", "1, 3 and 4 are supported");
    if (static_cast<std::size_t>(depth) >= std::size(all_depths)) throw InvalidArgument("plan of unknown depth");
    refuse_depth(depth, abilities);
    if (copied && !abilities.copies.has(depth))
        throw UnsupportedDepth(
            std::string(abilities.name) + ": normalized copies of " + to_string(depth) + ": it only writes those of " +
            list_depths([&](const DepthTraits& of) { return abilities.copies.has(of.depth) ? of.name : ""; }) +
            "; an engine writes the others, in host memory");
}

}  // namespace gpuhist::plan
