// Parameters of normalizations that are words.
#include <charconv>
#include <cmath>
#include <string>
#include <utility>

#include "gpuhist/normalize.hpp"

namespace gpuhist {
namespace {

std::optional<double> number_in(std::string_view text) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(number)) return std::nullopt;
    return number;
}

std::string text_of(double number) {
    char text[32];
    return {text, std::to_chars(text, text + sizeof text, number).ptr};
}

/// Number behind "NAME="; absent if the text is another one.
std::optional<double> argument(std::string_view text, std::string_view name) {
    if (text.substr(0, name.size()) != name || text.substr(name.size(), 1) != "=") return std::nullopt;
    return number_in(text.substr(name.size() + 1));
}

template <class Word>
using Words = std::pair<std::string_view, Word>;

constexpr Words<StretchFunction> functions[] = {
    {"linear", StretchFunction::linear}, {"sqrt", StretchFunction::sqrt}, {"log", StretchFunction::log},
    {"asinh", StretchFunction::asinh},   {"sinh", StretchFunction::sinh}, {"sigmoid", StretchFunction::sigmoid}};
constexpr Words<StretchInterval> intervals[] = {{"minmax", StretchInterval::minmax},
                                                {"percentile", StretchInterval::percentile},
                                                {"zscale", StretchInterval::zscale},
                                                {"sigma", StretchInterval::sigma}};
constexpr Words<ThresholdRule> thresholds[] = {
    {"otsu", ThresholdRule::otsu}, {"triangle", ThresholdRule::triangle}, {"li", ThresholdRule::li}};
constexpr Words<bool> clip_bins[] = {{"all", false}, {"white", true}};

template <class Table, class Member>
bool set_word(const Table& table, std::string_view text, Member& member) {
    for (const auto& [name, word] : table) {
        if (name != text) continue;
        member = word;
        return true;
    }
    return false;
}

template <class Table, class Word>
std::string word_in(const Table& table, Word sought) {
    for (const auto& [name, word] : table)
        if (word == sought) return std::string(name);
    return {};
}

bool set_stretch(Normalization& of, std::string_view text) {
    if (set_word(functions, text, of.stretch)) return true;
    if (const auto power = argument(text, "power"); power && *power > 0) {
        of.stretch = StretchFunction::power;
        of.power = *power;
        return true;
    }
    const std::size_t comma = text.find(',');
    if (comma == std::string_view::npos) return false;
    const auto contrast = argument(text.substr(0, comma), "sigmoid"), midpoint = number_in(text.substr(comma + 1));
    if (!contrast || !midpoint || !(*contrast > 0 && *contrast <= 700 && *midpoint >= 0 && *midpoint <= 1))
        return false;
    of.stretch = StretchFunction::sigmoid;
    of.contrast = *contrast;
    of.midpoint = *midpoint;
    return true;
}

std::string text_of_stretch(const Normalization& of) {
    if (of.stretch == StretchFunction::power) return "power=" + text_of(of.power);
    if (of.stretch == StretchFunction::sigmoid) return "sigmoid=" + text_of(of.contrast) + "," + text_of(of.midpoint);
    return word_in(functions, of.stretch);
}

bool set_interval(Normalization& of, std::string_view text) {
    if (set_word(intervals, text, of.interval)) return true;
    const auto sigmas = argument(text, "sigma");
    if (!sigmas || !(*sigmas > 0)) return false;
    of.interval = StretchInterval::sigma;
    of.sigmas = *sigmas;
    return true;
}

std::string text_of_interval(const Normalization& of) {
    if (of.interval == StretchInterval::sigma) return "sigma=" + text_of(of.sigmas);
    return word_in(intervals, of.interval);
}

bool set_threshold(Normalization& of, std::string_view text) {
    if (set_word(thresholds, text, of.threshold)) return true;
    const auto value = number_in(text);
    if (!value) return false;
    of.threshold = ThresholdRule::value;
    of.threshold_value = *value;
    return true;
}

std::string text_of_threshold(const Normalization& of) {
    return of.threshold == ThresholdRule::value ? text_of(of.threshold_value) : word_in(thresholds, of.threshold);
}

bool set_clip_bins(Normalization& of, std::string_view text) {
    return set_word(clip_bins, text, of.clip_white);
}

std::string text_of_clip_bins(const Normalization& of) {
    return word_in(clip_bins, of.clip_white);
}

}  // namespace

const NormalizeWord all_normalize_words[4] = {
    {"stretch",
     {NormalizeMode::stretch},
     "FUNCTION",
     "linear, sqrt, log, asinh, sinh, power=G or sigmoid=CONTRAST,MIDPOINT",
     "linear [default], sqrt, log, asinh, sinh, power=G or sigmoid=C,M\nFunction of --normalize stretch, as in "
     "astropy.visualization; sigmoid is ImageMagick's.",
     set_stretch,
     text_of_stretch},
    {"interval",
     {NormalizeMode::stretch},
     "KIND",
     "minmax, percentile, zscale, sigma or sigma=K",
     "minmax [default], percentile, zscale or sigma=K to stretch over\nBetween the extremes, --percentiles, the ends "
     "of IRAF's zscale, or mean +- K std [3].",
     set_interval,
     text_of_interval},
    {"threshold",
     {NormalizeMode::threshold},
     "T",
     "otsu, triangle, li or a number",
     "otsu [default], triangle, li or a value\nValues over it become white, others black.",
     set_threshold,
     text_of_threshold},
    {"clip-bins",
     {NormalizeMode::clahe},
     "WHICH",
     "all or white",
     "all [default] bins of clahe, or those up to white\nall equals OpenCV. In 16-bit files that use 12 bits, small "
     "limits then do nothing.",
     set_clip_bins,
     text_of_clip_bins},
};

}  // namespace gpuhist
