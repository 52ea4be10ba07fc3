#include "run/remarks.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "gpuhist/io/dataset.hpp"
#include "gpuhist/lut.hpp"

namespace gpuhist::app {
namespace {

std::string whole(double value) {
    return std::to_string(static_cast<std::uint64_t>(value));
}

/// Row that stands for all samples but alpha's, or null where there is none.
const Statistics* row_of_all(const io::ImageResult& image) {
    const Statistics* found = nullptr;
    for (const Statistics& row : image.rows)
        if (row.channel == Channel::all || (!found && row.channel != Channel::luma && row.channel != Channel::alpha))
            found = &row;
    return found;
}

}  // namespace

std::vector<Remark> remarks_on(const io::Image& file) {
    std::vector<Remark> remarks;
    if (!file.named.empty())
        remarks.push_back(
            {"kind", "named like " + file.named + ", but read as " + file.format + ", according to its content"});
    if (file.pages > 1 && file.page == 0)
        remarks.push_back({"pages", "only the first of its " + std::to_string(file.pages) + " pages is measured"});
    if (!file.note.empty()) remarks.push_back({"odd", file.note});
    if (!file.profile.empty() && file.profile.find("sRGB") == std::string::npos)
        remarks.push_back(
            {"profile", "its profile is not applied (" + file.profile + "): its colors are taken for sRGB"});
    if (file.damage != io::Damage::none)
        remarks.push_back(
            {"damage", std::string("measured although it is ") + io::to_string(file.damage) + ": " + file.cause});
    return remarks;
}

std::vector<Remark> remarks_on_rules(const Validity& rules, const std::vector<std::string>& names) {
    std::vector<Remark> remarks;
    const auto look = [&](const std::string& name, const std::string& option, const std::string& values) {
        if (std::find(names.begin(), names.end(), name) != names.end()) return;
        const std::string rule = option + name + ":" + values;
        remarks.push_back({io::lacks_subject + rule, io::lacks_subject + ("the channel " + name) + " of " + rule});
    };
    const auto look_at_value = [&](const std::string& name, double value) {
        look(name, "--nodata ", io::shortest(value));
    };
    const auto look_at_interval = [&](const std::string& name, double lowest, double highest) {
        const auto end = [](double bound) { return std::isinf(bound) ? std::string() : io::shortest(bound); };
        look(name, "--valid ", end(lowest) + "," + end(highest));
    };
    for (const auto& [channel, value] : rules.nodata)
        if (channel) look_at_value(to_string(*channel), value);
    for (const auto& [band, value] : rules.nodata_of_bands) look_at_value(band, value);
    for (const auto& [channel, lowest, highest] : rules.valid)
        if (channel) look_at_interval(to_string(*channel), lowest, highest);
    for (const auto& [band, lowest, highest] : rules.valid_of_bands) look_at_interval(band, lowest, highest);
    return remarks;
}

Remark remark_on_white_mask() {
    return {"white mask", "0 is white in its mask: white pixels are excluded, black pixels are measured"};
}

std::vector<Remark> remarks_on(const io::ImageResult& image, const std::optional<double>& asked_white) {
    const DepthTraits& depth = traits_of(image.info.depth);
    const Statistics* row = row_of_all(image);
    if (depth.floating || !row || !row->max) return {};
    if (asked_white) {
        if (*asked_white <= depth.highest) return {};
        return {{"white", "--white is above " + whole(depth.highest) + ", the highest value of its type"}};
    }
    if (image.info.white != depth.highest) return {};  // the file says how many bits there are
    if (const int bits = io::spare_bits(image.info.depth, *row->min, *row->max); bits != 0)
        return {{io::spare_bits_subject, io::spare_bits_text(bits)}};
    const auto varying = row->effective_bits.value_or(0);
    const double step = std::exp2(16 - static_cast<double>(varying));
    const bool shifted = image.info.depth == Depth::u16 && varying >= 8 && varying <= 14 && *row->max >= 32768 &&
                         std::fmod(*row->min, step) == 0 && std::fmod(*row->max, step) == 0;
    if (!shifted) return {};
    const std::string highest = whole(65536 - step);
    return {{"shifted", std::to_string(varying) + "-bit data in 16 bits, shifted left: the highest value is " +
                            highest + ", but clipped_high, mean_01 and std_01 refer to 65535: give --white " +
                            highest}};
}

std::vector<Remark> remarks_on_copy(const Analysis& image, const Normalization& normalization, bool asked) {
    std::vector<Remark> remarks;
    const bool other_depth = normalized_depth(image.depth, normalization) != image.depth;
    const auto remark = [&](const char* subject, const std::vector<Channel>& channels, const std::string& one,
                            const std::string& each) {
        if (channels.empty()) return;
        std::string names;
        for (const Channel channel : channels)
            if (!normalization.joint && channel != Channel::gray) names += std::string(" ") + to_string(channel);
        remarks.push_back({subject, std::string("its normalized copy is unchanged") +
                                        (other_depth ? " except for its depth" : "") +
                                        (names.empty() ? "" : " in" + names) + ": " + (names.empty() ? one : each)});
    };
    const bool ranks = needs_of(normalization) == NormalizeNeeds::ranks;
    const std::string percentiles = "both percentiles are ";
    remark("unchanged", unchanged_channels(image, normalization), (ranks ? percentiles : "it has ") + "one value",
           (ranks ? percentiles : "each has ") + "one value");
    const char* filled =
        ranks ? "its percentiles already are the ends of the type's range" : "it already fills the range of its type";
    if (asked) remark("filled", filled_channels(image, normalization), filled, filled);
    return remarks;
}

void add_kind(io::Notes& notes, const io::ImageResult& image) {
    if (image.rows.empty()) return;
    const Channel first = image.rows.front().channel;
    if (first == Channel::gray || is_band(first))
        notes.add(io::kind_subject(image.info.depth, is_band(first) ? Channel::c0 : first),
                  {image.index, image.info.path, "", 1});
}

std::optional<std::string> note_on_separate_channels(const io::Notes& notes, std::uint64_t images) {
    std::uint64_t gray = 0;
    for (const DepthTraits& depth : all_depths)
        if (const io::Note* note = notes.find(io::kind_subject(depth.depth, Channel::gray))) gray += note->count;
    if (images == 0 || gray < images) return std::nullopt;
    return "--channels separate changes nothing: " +
           (images == 1 ? "the image is gray" : "all " + std::to_string(images) + " images are gray");
}

std::vector<std::string> notes_on(const io::WalkOptions& options, const io::LeftOut& left_out) {
    std::vector<std::string> notes;
    if (left_out.broken_links > 0)
        notes.push_back(
            left_out.first_broken_link + ": a broken link" +
            (left_out.broken_links == 1 ? "" : " (and " + std::to_string(left_out.broken_links - 1) + " more)"));
    const auto look = [&](const char* option, const std::vector<std::string>& globs) {
        for (const std::string& glob : globs)
            if (left_out.matched.count(glob) == 0)
                notes.push_back(std::string(option) + " '" + glob + "' matches nothing in the directories");
    };
    if (options.follow_links && left_out.followed == 0)
        notes.emplace_back("--follow-links finds no link to a directory");
    look("--include", options.include);
    look("--exclude", options.exclude);
    return notes;
}

std::string unwritten_text(const std::string& name) {
    return name + ": waiting for a program to write to this pipe";
}

}  // namespace gpuhist::app
