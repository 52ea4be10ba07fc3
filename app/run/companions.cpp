#include "run/companions.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include "gpuhist/error.hpp"
#include "gpuhist/io/formats.hpp"
#include "gpuhist/io/pages.hpp"

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

std::string sides(std::int64_t width, std::int64_t height) {
    return std::to_string(width) + " x " + std::to_string(height);
}

}  // namespace

Companions::Companions(std::string path, const char* what)
    : path_(std::move(path)), what_(what), directory_([&] {
          std::error_code failed;
          return fs::is_directory(path_, failed);
      }()) {}

std::string Companions::path_of(const Input& input) const {
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
        throw IoError(input.path + ": two files are its " + what_ + ": " +
                          std::min(first->second, std::next(first)->second) + " and " +
                          std::max(first->second, std::next(first)->second),
                      IoError::Kind::unsupported);
    return first->second;
}

namespace {

/// Options for a companion: samples as they are stored.
io::DecodeOptions stored(io::DecodeOptions options) {
    options.raw = true;
    options.masks = false;
    options.strips = nullptr;
    options.page = 0;
    options.pages = nullptr;
    return options;
}

/// Page of a companion for that of the image. Throws IoError where it has others.
std::uint64_t page_of(const Input& input, const std::string& path, std::uint64_t found, std::uint64_t pages) {
    if (found == 1) return 0;
    if (found != pages)
        throw IoError(path + ": has " + std::to_string(found) + " pages, the image " + std::to_string(pages),
                      IoError::Kind::unsupported);
    return std::max<std::uint64_t>(1, input.page);
}

}  // namespace

io::Image Companions::read(const Input& input, std::int64_t width, std::int64_t height, std::uint64_t pages,
                           io::DecodeOptions options) const {
    const std::string path = path_of(input);
    options = stored(options);
    io::Image found;
    try {
        found = io::read_image(path, options);
        options.page = page_of(input, path, found.pages, pages);
        if (options.page > 1) found = io::read_image(path, options);
    } catch (const IoError& error) {
        throw IoError(input.path + ": its " + what_ + ": " + error.what(), error.kind());
    }
    validate(found, path, input, width, height);
    return found;
}

io::Image Companions::read_strips(const Input& input, std::int64_t width, std::int64_t height, std::uint64_t pages,
                                  io::DecodeOptions options, io::Strips strips) const {
    const std::string path = path_of(input);
    std::error_code failed;
    if (!fs::is_regular_file(path, failed)) return read(input, width, height, pages, options);  // which comes once
    options = stored(options);
    strips.take = [&, take = strips.take](const io::Image& strip, std::uint64_t row) {
        if (row == 0) validate(strip, path, input, width, height);
        take(strip, row);
    };
    options.strips = &strips;
    io::Image found;
    try {
        options.page = page_of(input, path, io::probe_pages(path)->pages.size(), pages);
        found = io::read_image(path, options);
    } catch (const IoError& error) {
        const std::string words = error.what(), begin = input.path + ": its ";
        if (words.rfind(begin, 0) == 0) throw;  // it was validated
        throw IoError(begin + what_ + ": " + words, error.kind());
    }
    if (!found.pixels.empty()) validate(found, path, input, width, height);
    return found;
}

void Companions::validate(const io::Image& found, const std::string& path, const Input& input, std::int64_t width,
                          std::int64_t height) const {
    const std::string start = input.path + ": its " + what_ + " " + path;
    const bool strip = found.width > 0;
    const std::int64_t across = strip ? static_cast<std::int64_t>(found.width) : found.pixels.cols;
    const std::int64_t down = strip ? static_cast<std::int64_t>(found.height) : found.pixels.rows;
    if (across != width || down != height) {
        const bool turned = across == height && down == width;
        throw IoError(start + " has " + sides(across, down) + " pixels, the image " + sides(width, height) +
                          (turned ? ": it must lie as the image is shown" : ""),
                      IoError::Kind::unsupported);
    }
    if (found.pixels.channels() != 1)
        throw IoError(start + " has " +
                          std::to_string(found.samples == Samples::gray_alpha ? 2 : found.pixels.channels()) +
                          " channels: one is wanted",
                      IoError::Kind::unsupported);
}

void validate_labels(const io::Image& labels, const Input& input) {
    if (labels.format == "a JPEG")
        throw IoError(input.path + ": its label image is a JPEG, which does not keep labels",
                      IoError::Kind::unsupported);
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
