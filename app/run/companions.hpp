/// Companions: image files that say something of the pixels of the inputs, as masks do.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "gpuhist/io/decode.hpp"
#include "gpuhist/io/image.hpp"
#include "run/inputs.hpp"

namespace gpuhist::app {

/// Words in a path that stand for parts of the path of each input: {dir}, {name}, and {stem}, which is the name without
/// its extension, `.ome.tif` being one.
bool is_pattern(const std::string& path);
/// Path of the companion of an image. Throws InvalidArgument for unknown words.
std::string fill_pattern(const std::string& pattern, const std::string& image);

/// Label images with a name, as in `cells=DIR,nuclei=DIR`; without a name, there is one. The name is empty then.
struct LabelMap {
    std::string name, path;
};
/// Throws InvalidArgument.
std::vector<LabelMap> parse_label_maps(const std::string& text);

/// Companions of all inputs: one image for all; or a directory that has one for each, by the name under which results
/// are written, with an extension of any image format; or a pattern. They are read as they are stored, one channel.
/// Safe to call from several threads.
class Companions {
  public:
    /// `what` they are: `mask`. An empty path: none.
    Companions(std::string path, const char* what);

    bool any() const { return !path_.empty(); }
    /// Path of the companion of an input. Throws IoError where there is none.
    std::string path_of(const Input& input) const;
    /// Path of the companion of an input, if each input has one; nothing if there is none.
    std::optional<std::string> own_path_of(const Input& input) const;
    /// Sides of an image, and how many pages its file has.
    struct Sides {
        std::int64_t width, height;
        std::uint64_t pages;
        bool alike(const Sides& other) const { return width == other.width && height == other.height; }
    };
    /// Reads that of an input whose image has these sides and pages; the one page of a file serves all of an input.
    /// Throws IoError, which names both, where there is none or several, it cannot be read, or has other sides, pages
    /// or several channels: of other sides it is not decoded.
    io::Image read(const Input& input, const Sides& sides, const io::DecodeOptions& options) const;
    /// Reads it in strips if it is a regular file of a format that allows strips; else whole. `take` gets these strips.
    /// Throws as `read`.
    io::Image read_strips(const Input& input, const Sides& sides, const io::DecodeOptions& options,
                          io::Strips strips) const;

  private:
    /// Reads the page for that of an input, by `read`, which takes options. Throws IoError.
    template <class Read>
    io::Image read_page(const Input& input, const std::string& path, const Sides& sides, io::DecodeOptions options,
                        const Read& read) const;
    [[noreturn]] void refuse(const Sides& found, const std::string& path, const Input& input, const Sides& sides) const;
    /// Checks an image, or a strip of it. Throws IoError.
    void validate(const io::Image& found, const std::string& path, const Input& input, const Sides& sides) const;

    const std::string path_, what_;
    const bool pattern_, directory_;
    mutable std::mutex mutex_;
    /// Image files of a directory that was looked into, by their names without extension.
    mutable std::map<std::filesystem::path, std::multimap<std::string, std::string>> listed_;
};

/// Makes labels of the samples of a companion: signed integers of 8 and 16 bits, and floats that are whole numbers, get
/// a type that regions have. Throws IoError for other floats, and for a JPEG, which does not keep labels.
void make_labels(io::Image& labels, const Input& input);

/// Bytes of a mask, 1 where the companion is not 0, row after row without gaps; and not masked by a mask that it has.
std::vector<std::uint8_t> mask_of(const io::Image& companion);

/// Masks what a view masks in a mask of its pixels, too, which is the view's then.
void intersect(ImageView& view, std::uint8_t* mask);

}  // namespace gpuhist::app
