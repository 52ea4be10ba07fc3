#include "run/companions.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <opencv2/core.hpp>
#include <system_error>
#include <type_traits>
#include <utility>

#include "gpuhist/error.hpp"
#include "gpuhist/io/formats.hpp"
#include "gpuhist/io/pages.hpp"
#include "gpuhist/io/report.hpp"

namespace gpuhist::app {
namespace {

namespace fs = std::filesystem;

bool is_image_name(const fs::path& path) {
    static const std::vector<std::string> known = [] {
        std::vector<std::string> all;
        for (const io::FormatInfo& format : io::list_formats())
            all.insert(all.end(), format.extensions.begin(), format.extensions.end());
        return all;
    }();
    std::string extension = path.extension().string();
    for (char& c : extension)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return std::find(known.begin(), known.end(), extension) != known.end();
}

std::string text_of(const Companions::Sides& sides) {
    return std::to_string(sides.width) + " x " + std::to_string(sides.height);
}

}  // namespace

bool is_pattern(const std::string& path) {
    std::error_code failed;
    return path.find('{') != path.npos && !fs::exists(path, failed);
}

std::string fill_pattern(const std::string& pattern, const std::string& image) {
    const fs::path path(image);
    const auto text_of_word = [&](const std::string& word) -> std::string {
        if (word == "name") return path.filename().string();
        if (word == "dir") return path.has_parent_path() ? path.parent_path().string() : ".";
        if (word != "stem")
            throw InvalidArgument("'{" + word + "}' in " + pattern + " is unknown: give {stem}, {name} or {dir}");
        const fs::path stem = path.stem();
        return (stem.extension() == ".ome" ? stem.stem() : stem).string();
    };
    std::string filled;
    for (std::size_t at = 0; at < pattern.size();) {
        const std::size_t open = pattern.find('{', at), close = pattern.find('}', open == pattern.npos ? at : open);
        if (open == pattern.npos) return filled + pattern.substr(at);
        if (close == pattern.npos) throw InvalidArgument("'{' without '}' in " + pattern);
        filled += pattern.substr(at, open - at) + text_of_word(pattern.substr(open + 1, close - open - 1));
        at = close + 1;
    }
    return filled;
}

std::vector<LabelMap> parse_label_maps(const std::string& text) {
    std::error_code failed;
    if (text.empty()) return {};
    const std::size_t equals = text.find('=');
    const bool named = equals != text.npos && text.find_first_of("/{") > equals && !fs::exists(text, failed);
    if (!named) return {{"", text}};
    std::vector<LabelMap> maps;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find(',', at), text.size());
        const std::string one = text.substr(at, end - at);
        const std::size_t sign = one.find('=');
        if (sign == one.npos || sign == 0 || sign + 1 == one.size())
            throw InvalidArgument("'" + one + "' is not NAME=FILE: several label images each need a name");
        LabelMap map{one.substr(0, sign), one.substr(sign + 1)};
        for (const LabelMap& other : maps)
            if (other.name == map.name) throw InvalidArgument("two label images have the name '" + map.name + "'");
        maps.push_back(std::move(map));
        at = end + 1;
    }
    return maps;
}

Companions::Companions(std::string path, const char* what)
    : path_(std::move(path)), what_(what), pattern_(is_pattern(path_)), directory_([&] {
          std::error_code failed;
          return fs::is_directory(path_, failed);
      }()) {}

std::string Companions::path_of(const Input& input) const {
    if (pattern_) {
        const std::string path = fill_pattern(path_, input.file_path());
        std::error_code failed;
        if (fs::exists(path, failed)) return path;
        throw IoError(input.path + ": there is no " + what_ + " for it: " + path, IoError::Kind::missing);
    }
    if (!directory_) return path_;
    std::string name = input.output_name;
    if (const std::string page = ".p" + std::to_string(input.page);
        input.page > 0 && name.size() > page.size() && name.compare(name.size() - page.size(), page.npos, page) == 0)
        name.resize(name.size() - page.size());
    const fs::path wanted = fs::path(path_) / name, parent = wanted.parent_path();
    const std::string stem = wanted.stem().string();
    const std::lock_guard lock(mutex_);
    auto there = listed_.find(parent);
    if (there == listed_.end()) {
        there = listed_.emplace(parent, std::multimap<std::string, std::string>()).first;
        std::error_code failed;
        for (const auto& entry : fs::directory_iterator(parent, failed))
            if (is_image_name(entry.path())) there->second.emplace(entry.path().stem().string(), entry.path().string());
    }
    const auto [first, last] = there->second.equal_range(stem);
    if (first == last)
        throw IoError(input.path + ": there is no " + what_ + " for it: " + (parent / stem).string() + ".*",
                      IoError::Kind::missing);
    if (std::next(first) != last)
        throw IoError(input.path + ": two files could be its " + what_ + ": " +
                          std::min(first->second, std::next(first)->second) + " and " +
                          std::max(first->second, std::next(first)->second),
                      IoError::Kind::unsupported);
    return first->second;
}

std::optional<std::string> Companions::own_path_of(const Input& input) const {
    if ((!directory_ && !pattern_) || input.failure) return std::nullopt;
    try {
        return path_of(input);
    } catch (const IoError&) {  // an error of the input, once it is read
        return std::nullopt;
    }
}

namespace {

/// Options for a companion: samples as they are stored.
io::DecodeOptions stored(io::DecodeOptions options) {
    options.raw = true;
    options.masks = false;
    options.nodata = false;
    options.strips = nullptr;
    options.array.reset();
    options.page = 0;
    options.pages = nullptr;
    return options;
}

/// Page of a companion for that of the image. Throws IoError where it has others.
std::uint64_t page_of(const Input& input, const std::string& path, std::uint64_t found, std::uint64_t pages) {
    if (found == 1) return 0;
    if (found != pages)
        throw IoError(path + ": has " + std::to_string(found) + " pages, but the image has " + std::to_string(pages),
                      IoError::Kind::unsupported);
    return input.page > 1 ? input.page : 0;
}

}  // namespace

template <class Read>
io::Image Companions::read_page(const Input& input, const std::string& path, const Sides& sides,
                                io::DecodeOptions options, const Read& read) const {
    const std::string start = input.path + ": its ";
    options.sides = [&](std::uint64_t width, std::uint64_t height) {  // before it is turned upright
        const Sides found{static_cast<std::int64_t>(width), static_cast<std::int64_t>(height), 0};
        if (!sides.alike(found) && !sides.alike({found.height, found.width, 0})) refuse(found, path, input, sides);
    };
    std::error_code failed;
    const bool known = fs::is_regular_file(path, failed);  // what else there is comes once, and says its pages then
    io::Image found;
    try {
        if (known) {
            options.pages = io::probe_pages(path, options.most_page_bytes);
            options.page = page_of(input, path, options.pages->pages.size(), sides.pages);
        }
        found = read(options);
        if (!known && (options.page = page_of(input, path, found.pages, sides.pages)) > 1) found = read(options);
    } catch (const IoError& error) {
        const std::string words = error.what();
        if (words.rfind(start, 0) == 0) throw;  // it was compared with the image
        throw IoError(start + what_ + ": " + words, error.kind());
    }
    if (!found.pixels.empty()) validate(found, path, input, sides);
    return found;
}

io::Image Companions::read(const Input& input, const Sides& sides, const io::DecodeOptions& options) const {
    const std::string path = path_of(input);
    return read_page(input, path, sides, stored(options),
                     [&](const io::DecodeOptions& page) { return io::read_image(path, page); });
}

io::Image Companions::read_strips(const Input& input, const Sides& sides, const io::DecodeOptions& options,
                                  io::Strips strips) const {
    const std::string path = path_of(input);
    strips.take = [&, take = strips.take](const io::Image& strip, std::uint64_t row) {
        if (row == 0) validate(strip, path, input, sides);
        take(strip, row);
    };
    std::error_code failed;
    const bool comes_once = !fs::is_regular_file(path, failed);
    return read_page(input, path, sides, stored(options), [&](io::DecodeOptions page) {
        page.strips = comes_once ? nullptr : &strips;
        return io::read_image(path, page);
    });
}

void Companions::refuse(const Sides& found, const std::string& path, const Input& input, const Sides& sides) const {
    const bool turned = sides.alike({found.height, found.width, 0});
    throw IoError(input.path + ": its " + what_ + " " + path + " has " + text_of(found) +
                      " pixels, but the image has " + text_of(sides) +
                      (turned ? ": it needs the orientation in which the image is shown" : ""),
                  IoError::Kind::unsupported);
}

void Companions::validate(const io::Image& found, const std::string& path, const Input& input,
                          const Sides& sides) const {
    const bool strip = found.width > 0;
    const Sides own{strip ? static_cast<std::int64_t>(found.width) : found.pixels.cols,
                    strip ? static_cast<std::int64_t>(found.height) : found.pixels.rows, 0};
    if (!sides.alike(own)) refuse(own, path, input, sides);
    if (found.pixels.channels() != 1)
        throw IoError(input.path + ": its " + what_ + " " + path + " has " +
                          std::to_string(found.samples == Samples::gray_alpha ? 2 : found.pixels.channels()) +
                          " channels: it must have one",
                      IoError::Kind::unsupported);
}

namespace {

/// Labels, as 32-bit integers, from floats. Throws IoError if a sample is not a label.
template <class Sample>
cv::Mat whole_labels(const cv::Mat& samples, const Input& input) {
    cv::Mat labels(samples.size(), CV_32S);
    for (int y = 0; y < samples.rows; ++y)
        for (int x = 0; x < samples.cols; ++x) {
            const auto value = static_cast<double>(static_cast<float>(samples.at<Sample>(y, x)));
            const double sample =
                std::is_same_v<Sample, double> ? static_cast<double>(samples.at<Sample>(y, x)) : value;
            if (!(sample >= 0 && sample <= 4294967295.0 && sample == std::floor(sample)))
                throw IoError(input.path + ": its label image has " + io::shortest(sample) + " at " +
                                  std::to_string(x) + "," + std::to_string(y) + ", which is no label",
                              IoError::Kind::unsupported);
            const auto label = static_cast<std::uint32_t>(sample);
            std::memcpy(labels.ptr(y, x), &label, sizeof label);
        }
    return labels;
}

}  // namespace

void make_labels(io::Image& labels, const Input& input) {
    if (labels.format == "a JPEG")
        throw IoError(input.path + ": its label image is a JPEG, which does not keep labels",
                      IoError::Kind::unsupported);
    switch (labels.depth) {
        case Depth::s8:
        case Depth::s16:
            labels.pixels.convertTo(labels.pixels, CV_32S);
            labels.depth = Depth::s32;
            return;
        case Depth::f16:
            labels.pixels = whole_labels<cv::float16_t>(labels.pixels, input);
            break;
        case Depth::f32:
            labels.pixels = whole_labels<float>(labels.pixels, input);
            break;
        case Depth::f64:
            labels.pixels = whole_labels<double>(labels.pixels, input);
            break;
        default:
            return;
    }
    labels.depth = Depth::u32;
}

std::vector<std::uint8_t> mask_of(const io::Image& companion) {
    ImageView view = io::masked_view(companion);
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(view.pixels()));
    with_depth(view.depth, [&](auto type) {
        using Sample = decltype(type);
        for (std::int64_t y = 0; y < view.height; ++y) {
            const auto* row =
                reinterpret_cast<const Sample*>(static_cast<const std::byte*>(view.data) + y * view.row_bytes);
            std::uint8_t* const to = bytes.data() + y * view.width;
            for (std::int64_t x = 0; x < view.width; ++x)
                if constexpr (requires { row[x].bits; })
                    to[x] = (row[x].bits & 0x7FFF) != 0;
                else
                    to[x] = row[x] != Sample{};
        }
    });
    intersect(view, bytes.data());
    return bytes;
}

void intersect(ImageView& view, std::uint8_t* mask) {
    if (view.mask)
        for (std::int64_t y = 0; y < view.height; ++y) {
            const std::uint8_t* const row = view.mask + y * view.mask_row_bytes;
            for (std::int64_t x = 0; x < view.width; ++x) mask[y * view.width + x] &= row[x] != 0;
        }
    view.mask = mask;
    view.mask_row_bytes = view.width;
}

}  // namespace gpuhist::app
