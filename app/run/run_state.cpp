#include "run/run_state.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <opencv2/core.hpp>
#include <system_error>
#include <utility>

#include "gpuhist/io/decode.hpp"
#include "gpuhist/io/policy.hpp"
#include "gpuhist/io/report.hpp"
#include "gpuhist/version.hpp"
#include "run/image_flags.hpp"
#include "run/kept_counts.hpp"

namespace gpuhist::app {
namespace {

namespace fs = std::filesystem;

std::string join(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text.append(text.empty() ? "" : " ").append(word);
    return text;
}

std::string rectangles_text(const Options& options) {
    std::string text = options.rectangles_from + (options.clip_rectangles ? " clipped" : "");
    for (const Rectangle& one : options.rectangles)
        text += " " + one.name + "=" + std::to_string(one.x) + "," + std::to_string(one.y) + "," +
                std::to_string(one.width) + "," + std::to_string(one.height);
    return text;
}

/// Stamp of a file: zeros where it is no regular one.
Stamp stamp_of_file(const std::string& path) {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
    const auto nanoseconds = [](const timespec& time) {
        return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
    };
    Stamp stamp;
    stamp.bytes = static_cast<std::uint64_t>(status.st_size);
    stamp.modified = nanoseconds(status.st_mtim);
    stamp.changed = nanoseconds(status.st_ctim);
    return stamp;
}

/// Checksum of the contents of a file, as far as it can be read.
std::uint64_t checksum_of_file(const std::string& path) {
    io::Checksum sum;
    std::ifstream file(path, std::ios::binary);
    std::vector<char> piece(1 << 16);
    while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())) || file.gcount() > 0)
        sum.add(piece.data(), static_cast<std::size_t>(file.gcount()));
    return sum.value();
}

/// Text that identifies the contents of a file that all images share. Empty for other than regular files.
std::string identity_of(const std::string& path, bool shared_out) {
    const Stamp stamp = stamp_of_file(path);
    if (path.empty() || stamp.modified == 0) return {};
    if (shared_out) return "of checksum " + io::checksum_text(checksum_of_file(path));
    return "of " + std::to_string(stamp.bytes) + " bytes and times " + std::to_string(stamp.modified) + " and " +
           std::to_string(stamp.changed);
}

std::string pages_text(const std::optional<PageSelection>& pages) {
    std::string text;
    for (const auto& [first, last] : pages ? pages->ranges : std::vector<PageSelection::Range>{})
        text.append(text.empty() ? "" : ",")
            .append(std::to_string(first))
            .append(last == first                ? ""
                    : last == PageSelection::end ? "-"
                                                 : '-' + std::to_string(last));
    return text;
}

}  // namespace

std::map<std::string, std::string> fingerprint(const Options& options) {
    const Normalization& normalization = options.normalization;
    const auto number = [](double value) { return io::shortest(value); };
    const io::PlotRequest& plots = options.plots;
    std::string formats;
    for (const io::PlotFormat format : plots.formats) formats += io::extension_of(format);
    std::string normalize = to_string(normalization.mode);
    for (const NormalizeParameter& parameter : all_normalize_parameters)
        for (const auto member : {parameter.first, parameter.second})
            if (member) normalize += "," + number(normalization.*member);
    for (const NormalizeWord& word : all_normalize_words) normalize += "," + word.text(normalization);
    std::map<std::string, std::string> all{
        {"the inputs", join(options.inputs.arguments)},
        {"--files-from", options.inputs.files_from.value_or("")},
        {"the manifest", options.inputs.manifest ? options.inputs.manifest->checksum() : ""},
        {"--no-recursive", options.inputs.walk.recursive ? "no" : "yes"},
        {"--follow-links", options.inputs.walk.follow_links ? "yes" : "no"},
        {"--include", join(options.inputs.walk.include)},
        {"--exclude", join(options.inputs.walk.exclude)},
        {"--pages", pages_text(options.inputs.pages)},
        {"--group-by", options.group_by == GroupBy::directory ? "dir"
                       : options.group_by == GroupBy::file    ? "file"
                       : options.group_by == GroupBy::key     ? "key"
                       : options.group_by == GroupBy::region  ? "region"
                                                              : ""},
        {"--log", plots.options.log_counts ? "yes" : "no"},
        {"--plot-range", plots.range.kind == io::PlotRange::Kind::given
                             ? number(plots.range.values.lower) + "," + number(plots.range.values.upper)
                         : plots.range.kind == io::PlotRange::Kind::full ? "full"
                                                                         : "auto"},
        {"--plot-format", formats},
        {"--plot-theme", plots.options.theme == io::PlotTheme::dark ? "dark" : "light"},
        {"--max-pixels", std::to_string(options.decode.max_pixels)},
        {"--on-damaged", options.decode.on_damaged == io::OnDamaged::accept ? "accept" : "error"},
        {"--normalize", normalize + (normalization.joint ? ",joint" : ",separate")},
        {"the version of gpuhist", GPUHIST_VERSION},
        {"the version of OpenCV", cv::getVersionString()},
    };
    options.add_to(all);
    std::string& write = all["--write"];
    if (const auto& writes = options.write)
        for (const auto& [wanted, name] :
             {std::pair(writes->stats, "stats "), std::pair(writes->histogram, "histogram "),
              std::pair(writes->plot, "plot "), std::pair(writes->normalized, "normalized ")})
            if (wanted) write += name;
    if (!options.write && options.normalize) write = "normalized of directories too";
    all["--depth"] = normalization.depth ? to_string(*normalization.depth) : "";
    all["--mask"] = options.masks;
    if (const auto& array = options.decode.array)
        all["--raw"] = to_string(array->depth) + std::string(array->big_endian ? "be" : "") + "," +
                       std::to_string(array->width) + "," + std::to_string(array->height) + "," +
                       std::to_string(array->channels) + "," + std::to_string(array->offset);
    all["--labels"] = options.labels + (options.label_zero ? " with 0" : "");
    all["--roi, --rois or --clip-rois"] = rectangles_text(options);
    all["--apply-to"] = normalization.valid_only ? "valid" : "all";
    all["--fill"] = normalization.fill ? number(*normalization.fill) : "";
    all["--split-pages"] = options.split_pages ? "yes" : "no";
    all["--compression"] = io::to_string(options.compression);
    all["--png-level"] = std::to_string(options.png_level);
    all["--size"] = options.copy_size > 0 ? std::to_string(options.copy_size) : "";
    all[thresholds_option] = options.flags_asked() ? io::flags_json(options.flags) : "";
    all[keep_counts_option] = options.keep_image_counts ? "images" : options.keep_counts ? "set" : "";
    all["--link"] = options.linked ? "dataset" : "";
    all["--reference"] = options.reference.string();
    all["--lut-in"] = options.tables_from.string();
    all["--lut-out"] = options.tables_to.string();
    for (const auto& [option, path] : {std::pair("--mask", options.masks),
                                       {"--labels", options.labels},
                                       {"--rois", options.rectangles_from},
                                       {"--reference", options.reference.string()},
                                       {"--lut-in", options.tables_from.string()}})
        all[std::string(file_of_option) + option] = identity_of(path, options.shard.has_value());
    return all;
}

void PathsHash::add(const std::string& path) {
    // Two FNV-1a hashes, of the bytes and of their complements, with a zero byte after each path.
    const auto step = [&](unsigned char byte) {
        constexpr std::uint64_t prime = 0x100000001b3u;
        high_ = (high_ ^ byte) * prime;
        low_ = (low_ ^ static_cast<unsigned char>(~byte)) * prime;
    };
    for (const char byte : path) step(static_cast<unsigned char>(byte));
    step(0);
}

std::string PathsHash::text() const {
    std::array<char, 33> text{};
    std::snprintf(text.data(), text.size(), "%016llx%016llx", static_cast<unsigned long long>(high_),
                  static_cast<unsigned long long>(low_));
    return text.data();
}

Stamp stamp_of(const Input& input) {
    if (input.standard_input || input.failure) return {};
    if (!input.archive.empty()) return stamp_of_file(input.archive);
    Stamp stamp = stamp_of_file(input.file_path());
    if (const std::string beside = io::mask_path_of(input.file_path()); !beside.empty()) {
        const Stamp mask = stamp_of_file(beside);
        stamp.changed = std::max(stamp.changed, mask.changed);
        stamp.mask_bytes = mask.bytes;
        stamp.mask_modified = mask.modified;
    }
    return stamp;
}

void CompanionStamps::add(const std::vector<std::string>& companions, Stamp& stamp) {
    if (companions.empty()) return;
    io::Checksum sum;
    for (const std::string& path : companions) {
        const Stamp one = stamp_of_file(path);
        const std::uint64_t second = shared_out_ ? checksum_of(path, one) : one.modified;
        sum.add(&one.bytes, sizeof one.bytes);
        sum.add(&second, sizeof second);
        if (!shared_out_) stamp.changed = std::max(stamp.changed, one.changed);
    }
    stamp.companions = sum.value();
}

std::uint64_t CompanionStamps::checksum_of(const std::string& path, const Stamp& stamp) {
    constexpr std::size_t most = 1024;
    {
        const std::lock_guard lock(mutex_);
        const auto found = known_.find(path);
        if (found != known_.end() && found->second.first == stamp && found->second.first.changed == stamp.changed)
            return found->second.second;
    }
    const std::uint64_t checksum = checksum_of_file(path);
    const std::lock_guard lock(mutex_);
    if (known_.size() >= most) known_.clear();
    known_[path] = {stamp, checksum};
    return checksum;
}

void refuse_changed(Input& input) {
    if (input.failure || !input.stamp || input.stamp->modified == 0) return;
    const auto refuse = [&](const char* what, std::uint64_t now, std::uint64_t listed) {
        input.failure = IoError(input.path + ": was changed after it was listed: " + what + " has " +
                                std::to_string(now) + " bytes, but its manifest says " + std::to_string(listed));
    };
    const auto &bytes = input.listed_bytes, &mask = input.listed_mask;
    if (bytes && input.stamp->bytes != *bytes) return refuse("it", input.stamp->bytes, *bytes);
    if (mask && input.stamp->mask_bytes != *mask) refuse("its mask", input.stamp->mask_bytes, *mask);
}

void refuse_changed_since(const Stamp& first, Input& input) {
    if (input.failure || !input.stamp || input.stamp->modified == 0) return;  // what is gone is missed by its reader
    if (first == *input.stamp) return;
    input.failure = IoError(input.path + ": was changed after the first pass: it gets no copy");
}

std::optional<Checkpoint::Output> standard_output() {
    struct stat status {};
    off_t place = lseek(STDOUT_FILENO, 0, SEEK_CUR);
    if (place < 0 || fstat(STDOUT_FILENO, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
    if (fcntl(STDOUT_FILENO, F_GETFL) & O_APPEND)
        place = status.st_size;  // whatever else was written before it is read
    return Checkpoint::Output{status.st_dev, status.st_ino, static_cast<std::uint64_t>(place)};
}

fs::path temporary_directory() {
    std::error_code failure;
    const fs::path path = fs::temp_directory_path(failure);
    return failure ? "/tmp" : path;
}

}  // namespace gpuhist::app
