// Alpha: premultiplied colors are divided by it.
#include "gpuhist/alpha.hpp"

#include <string>

#include "core/channels.hpp"
#include "core/half.hpp"
#include "core/validate.hpp"
#include "gpuhist/error.hpp"

namespace gpuhist {

Half divide_by_alpha(Half color, Half alpha) {
    const float divisor = core::to_float(alpha);
    if (!(divisor > 0)) return color;
    return core::narrowed<Half>(core::to_float(color) / divisor);
}

void divide_by_alpha(const MutableImageView& image) {
    core::validate(image);
    if (image.depth != Depth::f16 || !core::has_alpha(image))
        throw InvalidArgument("image of " + std::to_string(image.channels) + " channels of " + to_string(image.depth) +
                              ": colors of f16 are divided by their alpha");
    if (image.memory != Memory::host) throw InvalidArgument("division by alpha: the image lies in device memory");
    for (std::int64_t y = 0; y < image.height; ++y) {
        auto* pixel = reinterpret_cast<Half*>(static_cast<char*>(image.data) + y * image.row_bytes);
        for (std::int64_t x = 0; x < image.width; ++x, pixel += 4)
            for (int c = 0; c < 3; ++c) pixel[c] = divide_by_alpha(pixel[c], pixel[3]);
    }
}

}  // namespace gpuhist
