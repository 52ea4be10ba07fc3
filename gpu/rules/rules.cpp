#include "rules/rules.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "core/channels.hpp"
#include "core/codes.hpp"
#include "core/weights.hpp"
#include "gpuhist/error.hpp"

namespace gpuhist {

std::optional<double> nodata_in(Depth depth, double value) {
    const DepthTraits& traits = traits_of(depth);
    if (!traits.floating) {
        if (!(value >= traits.lowest && value <= traits.highest) || value != std::floor(value)) return std::nullopt;
        return value;
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

Validity rules_for(const ImageView& image, const std::vector<std::string>& names, const Validity& validity) {
    const auto channel_called = [&](std::string_view name) -> std::optional<Channel> {
        const auto found = std::find(names.begin(), names.end(), name);
        if (found == names.end()) return std::nullopt;
        return core::channel_at(image, static_cast<int>(found - names.begin()));
    };
    Validity rules = validity;
    const auto keep = [&](auto& all) {
        const auto lacks = [&](auto& one) {
            if (!one.channel) return false;
            const auto channel = channel_called(to_string(*one.channel));
            if (channel) one.channel = channel;
            return !channel;
        };
        all.erase(std::remove_if(all.begin(), all.end(), lacks), all.end());
    };
    keep(rules.nodata);
    keep(rules.valid);
    for (const auto& [band, value] : rules.nodata_of_bands)
        if (const auto channel = channel_called(band)) rules.nodata.push_back({channel, value});
    for (const auto& [band, lowest, highest] : rules.valid_of_bands)
        if (const auto channel = channel_called(band)) rules.valid.push_back({channel, lowest, highest});
    rules.nodata_of_bands.clear();
    rules.valid_of_bands.clear();
    return rules;
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
    throw InvalidArgument("'" + text + "' is not one of " + names);
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
        // Samples are compared as they are: an integer is inside from ceil(lowest) to floor(highest). A bound that
        // floats only hold as infinity stays, since infinite samples are outside of it.
        const auto held = [&](double bound) {
            return traits_of(depth).floating ? nodata_in(depth, bound).value_or(bound) : bound;
        };
        bounds_ = Range{held(one.lowest), held(one.highest)};
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
        names_any_ = names_any_ || rule.names_any();
        any_color_ = any_color_ || (c < colors_ && rule.any());
    }
    nodata_any_ = validity->nodata_any && any_;
    const bool weight = validity->alpha == AlphaRule::weight;
    alpha_mask_ = {has_alpha_ && (validity->alpha == AlphaRule::mask || weight), weight};
    alpha_left_out_ = has_alpha_ && (validity->alpha == AlphaRule::ignore || weight);
}

void validate_weights(const ImageView& image, const Validity& validity) {
    const DepthTraits& traits = traits_of(image.depth);
    const bool weighs = traits.alpha_unit > 0 || !core::has_alpha(image);
    if (!weighs && traits.counting == Counting::values)
        throw InvalidArgument(std::string("alpha of ") + traits.name + " cannot be a weight: it is signed");
    if (!weighs)
        throw InvalidArgument(std::string("samples of ") + traits.name +
                              " cannot be weighted by alpha, only those of " +
                              list_depths([](const DepthTraits& of) { return of.alpha_unit > 0 ? of.name : ""; }));
    constexpr double most = 0x1p62;  // of all samples together
    if (static_cast<double>(core::most_weight(image.depth)) * static_cast<double>(image.pixels()) * image.channels >
        most)
        throw InvalidArgument(std::to_string(image.pixels()) + " pixels of " + traits.name +
                              " have more weight by alpha than a sum can hold");
    if (validity.opaque > traits.highest)
        throw InvalidArgument("opaque pixels that weigh " + std::to_string(validity.opaque) + ": " + traits.name +
                              " has up to " + std::to_string(static_cast<std::uint64_t>(traits.highest)));
}

}  // namespace rules
}  // namespace gpuhist
