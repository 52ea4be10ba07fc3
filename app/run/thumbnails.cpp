#include "run/thumbnails.hpp"

#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <charconv>
#include <exception>
#include <filesystem>
#include <opencv2/core.hpp>
#include <system_error>

#include "gpuhist/engine.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/io/decode.hpp"
#include "gpuhist/io/encode.hpp"
#include "gpuhist/io/opencv.hpp"
#include "gpuhist/reduce.hpp"
#include "gpuhist/resources.hpp"

namespace gpuhist::app {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t most_pixels = std::uint64_t{1} << 27;
constexpr int most_at_once = 8;

io::Image read(const std::string& path, io::DecodeOptions options) {
    std::error_code ignored;
    const std::size_t mark = path.rfind('#');
    if (fs::exists(path, ignored) || mark == path.npos) return io::read_image(path, options);
    const char* const end = path.data() + path.size();
    const auto [last, error] = std::from_chars(path.data() + mark + 1, end, options.page);
    if (error != std::errc() || last != end) return io::read_image(path, options);
    return io::read_image(path.substr(0, mark), options);
}

/// The colors of an image, or its first sample.
cv::Mat visible(const cv::Mat& pixels, Samples samples) {
    const bool bands = samples == Samples::bands || samples == Samples::color_bands;
    const int channels = bands || pixels.channels() < 3 ? 1 : 3;
    if (pixels.channels() == channels) return pixels;
    cv::Mat picture(pixels.rows, pixels.cols, CV_MAKETYPE(pixels.depth(), channels));
    const int from_to[] = {0, 0, 1, 1, 2, 2};
    cv::mixChannels(&pixels, 1, &picture, 1, from_to, static_cast<std::size_t>(channels));
    return picture;
}

cv::Mat in_8_bits(const cv::Mat& picture, Depth depth) {
    if (depth == Depth::u8) return picture;
    cv::Mat copy(picture.rows, picture.cols, CV_MAKETYPE(CV_8U, picture.channels()));
    ImageView from = io::view(picture);
    from.depth = depth;
    Normalization normalization;
    normalization.depth = Depth::u8;
    EngineOptions one;
    one.threads = 1;
    Analysis ignored;
    make_engine("cpu", one)->normalize(from, {}, normalization, io::mutable_view(copy), ignored);
    return copy;
}

io::Thumbnail thumbnail_of(const std::string& path, const io::DecodeOptions& options) {
    io::Thumbnail made;
    try {
        const io::Image image = read(path, options);
        const bool invisible = image.alpha == io::Alpha::straight && image.pixels.channels() == 4;
        cv::Mat whole = image.pixels;
        const Sides sides{whole.cols, whole.rows}, wanted = reduced_sides(sides, thumbnail_side);
        if (image.depth != Depth::u8) whole = in_8_bits(visible(whole, image.samples), image.depth);
        cv::Mat small = whole;
        if (!(wanted == sides)) {
            small.create(static_cast<int>(wanted.height), static_cast<int>(wanted.width), whole.type());
            reduce(io::view(whole), io::mutable_view(small),
                   invisible && whole.channels() == 4 ? ReduceWeight::alpha : ReduceWeight::area);
        }
        small = visible(small, image.samples);
        for (int quality = 82; quality > 30; quality -= 12) {
            made.jpeg = io::encode_jpeg(small, quality);
            if (made.jpeg.size() <= most_thumbnail_bytes) break;
        }
        made.width = small.cols;
        made.height = small.rows;
    } catch (const std::exception& error) {
        made = {};
        made.missing = std::string("No picture: ") + error.what();
    }
    made.path = path;
    return made;
}

}  // namespace

std::vector<io::Thumbnail> make_thumbnails(const std::vector<std::string>& paths,
                                           const std::optional<io::RawArray>& array) {
    io::DecodeOptions options;
    options.max_pixels = most_pixels;
    options.max_pipe_bytes = 0;
    options.on_damaged = io::OnDamaged::accept;
    options.masks = false;
    options.array = array;
    std::vector<io::Thumbnail> all(paths.size());
    tbb::task_arena arena(std::min(most_at_once, available_threads()));
    arena.execute([&] {
        tbb::parallel_for(std::size_t{0}, paths.size(),
                          [&](std::size_t i) { all[i] = thumbnail_of(paths[i], options); });
    });
    return all;
}

}  // namespace gpuhist::app
