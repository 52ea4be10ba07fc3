// Facts about a JPEG file that need no decoding.
#include "gpuhist/jpeg.hpp"
#include "jpeg/parse.hpp"

namespace gpuhist {

JpegImage JpegDecoder::inspect(const JpegFile& file) {
    const auto* bytes = static_cast<const unsigned char*>(file.data);
    jpeg::Plan plan = jpeg::parse(bytes, file.bytes);
    if (plan.reason.empty()) jpeg::check_data(bytes, file.bytes, plan);
    JpegImage image;
    const jpeg::Image& of = plan.image;
    if (of.components > 0)
        image.view = packed_view(static_cast<const void*>(nullptr), of.width, of.height, of.channels(), Depth::u8);
    image.view.memory = Memory::device;
    image.reason = std::move(plan.reason);
    return image;
}

}  // namespace gpuhist
