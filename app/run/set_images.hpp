/// Images of a set, for commands that look at the pixels themselves instead of measuring each image by an engine.
#pragma once

#include <oneapi/tbb/global_control.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/console.hpp"
#include "gpuhist/image.hpp"
#include "gpuhist/io/image.hpp"
#include "gpuhist/request.hpp"
#include "run/companions.hpp"
#include "run/inputs.hpp"
#include "run/mask_rows.hpp"
#include "run/options.hpp"

namespace gpuhist::app {

/// Image of a set, or a strip of its rows.
struct SetImage {
    Input input;
    std::uint64_t index = 0;                   ///< among the images of the set, pages counted one by one
    io::Image file;                            ///< facts and pixels; of a strip, the pixels of the strip
    ImageView view;                            ///< of these pixels, with their mask
    std::int64_t row = 0;                      ///< first row of the strip
    std::int64_t height = 0;                   ///< of the whole image
    bool last = true;                          ///< strip of the image
    std::shared_ptr<const Validity> validity;  ///< further rules for valid samples; null: none
    /// Mask that was given, to whose bytes the view points: copies of this share them.
    std::shared_ptr<std::vector<std::uint8_t>> mask;
    std::exception_ptr failure;  ///< reason why it, or the rest of it, could not be read; then no pixels
    std::int64_t width() const { return view.width; }
};

/// Reader of the images of a set, by the options of a run for inputs, decoding and valid samples, in bounded memory.
class SetImages {
  public:
    /// Images in flight take up to `bytes` of memory, or one that does not come in strips as much as it needs. `owned`
    /// knows files that gpuhist wrote, which are no inputs. While this object lives, the thread library uses no more
    /// threads than the options say. Throws IoError where a list of paths cannot be opened.
    SetImages(const Options& options, std::uint64_t bytes, std::function<bool(const std::string& file)> owned,
              Console& console);

    /// Most bytes of pixels of an image that `each` passes on beside others.
    std::uint64_t bytes_of_each() const;

    /// Lists the images without reading them: visit(input, index). Throws IoError for one that cannot be listed.
    void list(const std::function<void(const Input& input, std::uint64_t index)>& visit) const;

    /// Reads facts of the first image: of a large one, up to its first strip, else with its pixels. Absent if there are
    /// no images. Throws IoError.
    std::optional<SetImage> first() const;

    /// Passes images on that `wanted` selects by their index, several whole ones at a time, or one strip, in an order
    /// that depends on their sizes and threads. Each image, and its strips, come once. Failures are passed on as images
    /// without pixels. Exceptions of `take` end the pass.
    void each(const std::function<bool(std::uint64_t index)>& wanted,
              const std::function<void(std::vector<SetImage>& images)>& take) const;

    /// Reads another image whole, for example one that belongs to an image of the set, with the rules of the options
    /// for valid samples but without their mask. `page`: 0 is the first one. Throws IoError.
    SetImage read(const std::string& file, std::uint64_t page) const;

    /// Metadata of a TIFF, which copies of it keep; null: it has none, or cannot be read.
    static std::shared_ptr<const io::Metadata> metadata_of(const std::string& file, std::uint64_t page);

  private:
    io::DecodeOptions decoding(const Input& input) const;
    io::Image decode(const Input& input, const io::DecodeOptions& options) const;
    /// Reads an image whole. Returns false if it is too large to be held beside others.
    bool read_beside_others(SetImage& image) const;
    /// Reads a large image, in strips if it does not fit, and passes it on.
    void read_alone(SetImage& image, const std::function<void(std::vector<SetImage>& images)>& take) const;
    void prepare(SetImage& image) const;
    void prepare_whole(SetImage& image) const;
    InputList inputs() const;

    const Options& options_;
    const std::uint64_t bytes_;
    const std::function<bool(const std::string& file)> owned_;
    const int threads_;
    std::optional<tbb::global_control> limit_;
    const Companions masks_;
    Console& console_;
};

}  // namespace gpuhist::app
