#include "run/companions.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include "gpuhist/error.hpp"
#include "gpuhist/io/formats.hpp"

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

io::Image Companions::read(const Input& input, std::int64_t width, std::int64_t height, std::uint64_t pages,
                           io::DecodeOptions options) const {
    const std::string path = path_of(input);
    const std::string start = input.path + ": its " + what_ + " " + path;
    options.raw = true;
    options.strips = nullptr;
    options.page = 0;
    options.pages = nullptr;
    io::Image found;
    try {
        found = io::read_image(path, options);
        if (found.pages > 1) {
            if (found.pages != pages)
                throw IoError(
                    path + ": has " + std::to_string(found.pages) + " pages, the image " + std::to_string(pages),
                    IoError::Kind::unsupported);
            options.page = std::max<std::uint64_t>(1, input.page);
            if (options.page > 1) found = io::read_image(path, options);
        }
    } catch (const IoError& error) {
        throw IoError(input.path + ": its " + what_ + ": " + error.what(), error.kind());
    }
    const std::int64_t across = found.pixels.cols, down = found.pixels.rows;
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
    return found;
}

void validate_labels(const io::Image& labels, const Input& input) {
    if (labels.format == "a JPEG")
        throw IoError(input.path + ": its label image is a JPEG, which does not keep labels",
                      IoError::Kind::unsupported);
}

std::vector<std::uint8_t> mask_of(const io::Image& companion) {
    const ImageView view = io::view(companion);
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
    return bytes;
}

}  // namespace gpuhist::app
