#include "rules/rules.hpp"

#include <cmath>
#include <string>

#include "core/channels.hpp"
#include "core/codes.hpp"
#include "gpuhist/error.hpp"

namespace gpuhist {

std::optional<double> nodata_in(Depth depth, double value) {
    const DepthTraits& traits = traits_of(depth);
    if (!traits.floating) {
        const double rounded = std::nearbyint(value);
        if (!(rounded >= traits.lowest && rounded <= traits.highest)) return std::nullopt;
        return rounded;
    }
    return with_depth(depth, [&](auto sample) -> std::optional<double> {
        using Sample = decltype(sample);
        if constexpr (core::is_real<Sample>) {
            const double held = core::value_of(core::rounded_to<Sample>(value));
            if (std::isinf(held) && !std::isinf(value)) return std::nullopt;
            return held;
        }
        return std::nullopt;
    });
}

std::string alpha_text(const Validity& validity) {
    return traits_of(validity.alpha).name;
}

void set_alpha(Validity& validity, const std::string& text) {
    std::string names;
    for (const AlphaTraits& known : all_alpha_rules) {
        if (text == known.name) {
            validity.alpha = known.rule;
            return;
        }
        names.append(names.empty() ? "" : ", ").append(known.name);
    }
    throw InvalidArgument("'" + text + "' is none of " + names);
}

namespace rules {

SampleRule::SampleRule(const Validity& validity, Channel channel, Depth depth) {
    const auto concerns = [&](const std::optional<Channel>& named) {
        return named ? *named == channel : channel != Channel::alpha;
    };
    for (const Validity::Value& one : validity.nodata) {
        if (!concerns(one.channel)) continue;
        const auto held = nodata_in(depth, one.value);
        if (held && *held != *held)
            nan_ = true;
        else if (held)
            values_.push_back(*held);
    }
    bool own = false;
    for (const Validity::Interval& one : validity.valid) {
        if (!concerns(one.channel) || (own && !one.channel)) continue;
        own = one.channel.has_value();
        bounds_ = Range{one.lowest, one.highest};
    }
}

ImageRules::ImageRules(const ImageView& image, const Validity* validity)
    : rules_(static_cast<std::size_t>(image.channels)),
      has_alpha_(core::has_alpha(image)),
      colors_(core::colors_of(image)) {
    if (!validity) return;
    for (const Validity::Interval& one : validity->valid)
        if (!(one.lowest <= one.highest))
            throw InvalidArgument("valid values from " + std::to_string(one.lowest) + " to " +
                                  std::to_string(one.highest) + ": the lower one first");
    for (int c = 0; c < image.channels; ++c) {
        SampleRule& rule = rules_[static_cast<std::size_t>(c)] =
            SampleRule(*validity, core::channel_at(image, c), image.depth);
        any_ = any_ || rule.any();
        any_color_ = any_color_ || (c < colors_ && rule.any());
    }
    nodata_any_ = validity->nodata_any && any_;
    const bool weight = validity->alpha == AlphaRule::weight;  // samples of alpha 0 weigh nothing
    alpha_mask_.any = has_alpha_ && (validity->alpha == AlphaRule::mask || weight);
    alpha_left_out_ = has_alpha_ && (validity->alpha == AlphaRule::ignore || weight);
}

void validate_weights(const ImageView& image, const Validity& validity) {
    const DepthTraits& traits = traits_of(image.depth);
    if (traits.counting != Counting::values || traits.floating)
        throw InvalidArgument(std::string("samples of ") + traits.name +
                              " are not weighted by alpha: integers of 8 and 16 bits are");
    if (ImageRules(image, &validity).has_alpha() && traits.lowest < 0)
        throw InvalidArgument(std::string("alpha of ") + traits.name + " is no weight: it has a sign");
    if (validity.opaque > traits.highest)
        throw InvalidArgument("opaque pixels that weigh " + std::to_string(validity.opaque) + ": " + traits.name +
                              " has up to " + std::to_string(static_cast<std::uint64_t>(traits.highest)));
}

}  // namespace rules
}  // namespace gpuhist
