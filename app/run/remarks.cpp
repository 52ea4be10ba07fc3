#include "run/remarks.hpp"

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
        if (row.channel == Channel::all || is_first(row.channel))
            if (!found || row.channel == Channel::all) found = &row;
    return found;
}

}  // namespace

std::vector<Remark> remarks_on(const io::Image& file) {
    std::vector<Remark> remarks;
    if (!file.named.empty())
        remarks.push_back(
            {"kind", "by its name " + file.named + ", by its bytes " + file.format + ", which it is read as"});
    if (file.pages > 1 && file.page == 0)
        remarks.push_back({"pages", "the first of its " + std::to_string(file.pages) + " pages is measured"});
    if (!file.note.empty()) remarks.push_back({"odd", file.note});
    if (file.damage != io::Damage::none)
        remarks.push_back(
            {"damage", std::string("measured although it is ") + io::to_string(file.damage) + ": " + file.cause});
    return remarks;
}

std::vector<Remark> remarks_on(const io::ImageResult& image, const std::optional<double>& asked_white) {
    const DepthTraits& depth = traits_of(image.info.depth);
    const Statistics* row = row_of_all(image);
    if (depth.floating || !row || !row->max) return {};
    if (asked_white) {
        if (*asked_white <= depth.highest) return {};
        return {{"white", "its samples go up to " + whole(depth.highest) + ", which --white is over"}};
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
    return {{"shifted", std::to_string(varying) + "-bit data in 16 bits, shifted left: they go up to " + highest +
                            ", while clipped_high, mean_01 and std_01 refer to 65535: --white " + highest}};
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
                                        (other_depth ? " but for its depth" : "") +
                                        (names.empty() ? "" : " in" + names) + ": " + (names.empty() ? one : each)});
    };
    const bool ranks = traits_of(normalization.mode).needs == NormalizeNeeds::ranks;
    const std::string percentiles = "both percentiles are ";
    remark("unchanged", unchanged_channels(image, normalization), (ranks ? percentiles : "it has ") + "one value",
           (ranks ? percentiles : "each has ") + "one value");
    const char* filled =
        ranks ? "its percentiles are the ends of the type's range already" : "it fills the range of its type already";
    if (asked) remark("filled", filled_channels(image, normalization), filled, filled);
    return remarks;
}

void add_kind(io::Notes& notes, const io::ImageResult& image) {
    for (const Statistics& row : image.rows)
        if (row.channel == Channel::gray || row.channel == Channel::c0)
            notes.add(io::kind_subject(image.info.depth, row.channel), {image.index, image.info.path, "", 1});
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
            left_out.first_broken_link + ": a link that leads nowhere" +
            (left_out.broken_links == 1 ? "" : " (and " + std::to_string(left_out.broken_links - 1) + " more)"));
    const auto look = [&](const char* option, const std::vector<std::string>& globs) {
        for (const std::string& glob : globs)
            if (left_out.matched.count(glob) == 0)
                notes.push_back(std::string(option) + " '" + glob + "' matches nothing in the directories");
    };
    if (options.follow_links && left_out.followed == 0) notes.push_back("--follow-links finds no link to a directory");
    look("--include", options.include);
    look("--exclude", options.exclude);
    return notes;
}

}  // namespace gpuhist::app
