#include "run/image_flags.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "cli/console.hpp"
#include "cli/table.hpp"
#include "gpuhist/columns.hpp"
#include "gpuhist/hashes.hpp"
#include "gpuhist/io/report.hpp"
#include "gpuhist/io/sink.hpp"
#include "run/largest.hpp"
#include "run/measured_images.hpp"

namespace gpuhist::app {
namespace {

constexpr std::size_t worst_shown = 3;
constexpr std::size_t many_bytes = std::size_t{1} << 18;

std::string short_number(double value) {
    return io::formatted("%.3g", value);
}

}  // namespace

bool is_duplicate(Flag flag) {
    return flag == Flag::duplicate || flag == Flag::near_duplicate;
}

void HashColumns::add(const io::CsvRows& quality, ImageHashes& to) const {
    const std::string_view pixels = quality.text(*pixels_), similar = quality.text(*similar_);
    const auto hash = pixels.empty() ? Hash128{~std::uint64_t{0}, to.pixels.size()} : hash128_of(pixels);
    if (!hash) quality.refuse("'" + std::string(pixels) + "' is not a hash");
    const auto like = similar.empty() ? std::uint64_t{0} : hash64_of(similar);
    if (!like) quality.refuse("'" + std::string(similar) + "' is not a hash");
    to.pixels.push_back(*hash);
    to.similar.push_back(*like);
}

void SetFlags::complete(std::vector<double> sizes, const ImageHashes& hashes) {
    if (!sizes.empty()) sizes_ = usual_sizes(std::move(sizes), *thresholds_.of(Flag::odd_size));
    if (hashes.pixels.empty()) return;
    exact_ = group_duplicates(hashes.pixels, {}, 0);
    if (const auto& distance = thresholds_.of(Flag::near_duplicate)) {
        near_ = group_duplicates(hashes.pixels, hashes.similar, static_cast<int>(*distance));
        hashes_ = hashes.similar;
    }
}

void SetFlags::each(std::uint64_t image, std::string_view path,
                    const std::function<std::optional<double>(Flag)>& value_of,
                    const std::function<void(const ImageFlag&)>& take) const {
    const auto flag = [&](const FlagTraits& traits, double value, std::optional<double> threshold,
                          std::optional<std::uint64_t> first = std::nullopt) {
        take({image, path, traits.flag, value, threshold, first});
    };
    for (const FlagTraits& traits : all_flags) {
        const auto& threshold = thresholds_.of(traits.flag);
        if (!threshold) continue;
        if (is_duplicate(traits.flag)) {
            if (exact_.empty()) continue;
            const bool exact = exact_[image] != image, near = !near_.empty() && near_[image] != image && !exact;
            if (traits.flag == Flag::duplicate && exact) flag(traits, 0, std::nullopt, exact_[image]);
            if (traits.flag == Flag::near_duplicate && near)
                flag(traits, hash_distance(hashes_[image], hashes_[near_[image]]), threshold, near_[image]);
            continue;
        }
        const std::optional<double> value = value_of(traits.flag);
        if (!value) continue;
        if (traits.flag == Flag::odd_size) {
            if (const auto bound = sizes_->broken_by(*value)) flag(traits, *value, bound);
        } else if (is_flagged(traits.flag, *value, *threshold)) {
            flag(traits, *value, traits.has_threshold() ? threshold : std::nullopt);
        }
    }
}

FlagFinder::FlagFinder(ImageTables tables, const FlagThresholds& thresholds)
    : tables_(std::move(tables)), set_(thresholds) {
    std::vector<double> sizes;
    ImageHashes hashes;
    MeasuredImages images(tables_);
    const HashColumns columns(images.quality());
    const bool hashed = columns.present() && set_.wants_hashes();
    for (; images.next(); ++images_) {
        if (set_.wants_sizes()) sizes.push_back(*flag_value(Flag::odd_size, images.numbers()));
        if (hashed) columns.add(images.quality(), hashes);
    }
    set_.complete(std::move(sizes), hashes);
}

void FlagFinder::each(const std::function<void(const ImageFlag&)>& take) const {
    MeasuredImages images(tables_);
    const auto value_of = [&](Flag flag) { return flag_value(flag, images.numbers()); };
    for (std::uint64_t image = 0; images.next(); ++image) set_.each(image, images.path(), value_of, take);
}

std::vector<std::uint64_t> FlagFinder::smallest_and_largest(std::size_t count) const {
    Largest<std::uint64_t> smallest(count), largest(count);
    MeasuredImages images(tables_);
    for (std::uint64_t image = 0; images.next(); ++image) {
        const double size = flag_value(Flag::odd_size, images.numbers()).value_or(0);
        smallest.add(-size, image);
        largest.add(size, image);
    }
    std::vector<std::uint64_t> found;
    for (const auto& ends : {smallest, largest})
        for (const auto& [size, image] : ends.all()) found.push_back(image);
    return found;
}

std::map<std::uint64_t, std::string> FlagFinder::paths_of(const std::vector<std::uint64_t>& images) const {
    std::map<std::uint64_t, std::string> paths;
    for (const std::uint64_t image : images) paths[image];
    auto wanted = paths.begin();
    if (wanted == paths.end()) return paths;
    io::CsvRows quality = tables_.quality();
    const std::size_t path = quality.column("path");
    for (std::uint64_t image = 0; wanted != paths.end() && quality.next(); ++image)
        if (image == wanted->first) (wanted++)->second = quality.text(path);
    return paths;
}

double excess(const ImageFlag& flag) {
    if (!flag.threshold) return 0;
    switch (traits_of(flag.flag).side) {
        case FlagSide::above:
            return flag.value - *flag.threshold;
        case FlagSide::below:
        case FlagSide::at_most:
            return *flag.threshold - flag.value;
        default:
            return std::abs(flag.value - *flag.threshold);
    }
}

void FlagSummary::add(const ImageFlag& flag) {
    if (last_ != flag.image) ++images_;
    last_ = flag.image;
    OfFlag& of = of_[static_cast<std::size_t>(flag.flag)];
    ++of.images;
    const auto place = std::find_if(of.worst.begin(), of.worst.end(),
                                    [&](const Worst& other) { return excess(other.flag) < excess(flag); });
    if (place == of.worst.end() && of.worst.size() == worst_shown) return;
    Worst& worst = *of.worst.insert(place, {std::string(flag.path), flag});
    worst.flag.path = {};  // the row's
    if (of.worst.size() > worst_shown) of.worst.pop_back();
}

std::string FlagSummary::text(const FlagFinder& flags) const {
    std::vector<std::uint64_t> firsts;
    std::size_t names = 0, digits = 0;
    for (const FlagTraits& traits : all_flags) {
        const OfFlag& of = of_[static_cast<std::size_t>(traits.flag)];
        if (of.images == 0) continue;
        names = std::max(names, std::string_view(traits.name).size());
        digits = std::max(digits, std::to_string(of.images).size());
        for (const Worst& worst : of.worst)
            if (worst.flag.first) firsts.push_back(*worst.flag.first);
    }
    std::map<std::uint64_t, std::string> paths = flags.paths_of(firsts);
    std::string text =
        "flags  " + std::to_string(images_) + " of " + counted(flags.images(), "image") + (images_ > 0 ? ":\n" : "\n");
    for (const FlagTraits& traits : all_flags) {
        const OfFlag& of = of_[static_cast<std::size_t>(traits.flag)];
        if (of.images == 0) continue;
        const std::string name = traits.name, count = std::to_string(of.images);
        text += "  " + name + std::string(names - name.size() + 2 + digits - count.size(), ' ') + count + ' ';
        for (std::size_t i = 0; i < of.worst.size(); ++i) {
            const Worst& worst = of.worst[i];
            const std::string value = value_text(worst.flag, worst.flag.first ? paths[*worst.flag.first] : "");
            text += (i == 0 ? " " : ", ") + printable(worst.path) + (value.empty() ? "" : ' ' + printable(value));
        }
        text += of.images > of.worst.size() ? " ...\n" : "\n";
    }
    return text;
}

io::Pieces flags_csv(const FlagFinder& flags, FlagSummary& summary) {
    return [&](const std::function<void(const void*, std::size_t)>& take) {
        const auto sink = io::make_sink("csv", {io::Table(ColumnFile::flags)});
        std::string text = sink->begin();
        const auto flush = [&] {
            take(text.data(), text.size());
            text.clear();
        };
        flags.each([&](const ImageFlag& flag) {
            summary.add(flag);
            io::Record record{ColumnFile::flags};
            record.about.path = flag.path;
            record.about.flag = traits_of(flag.flag).name;
            record.about.value = flag.value;
            record.about.threshold = flag.threshold;
            text += sink->append(sink->format(record));
            if (text.size() > many_bytes) flush();
        });
        text += sink->end();
        flush();
    };
}

std::string value_text(const ImageFlag& flag, const std::string& first) {
    if (flag.first) return "= " + first;
    return traits_of(flag.flag).has_threshold() && flag.flag != Flag::constant ? short_number(flag.value) : "";
}

}  // namespace gpuhist::app
