// Facts about a JPEG file that need no decoding.
#include "gpuhist/jpeg.hpp"
#include "jpeg/parse.hpp"

namespace gpuhist {

JpegImage JpegDecoder::inspect(const JpegFile& file) {
    jpeg::Plan plan = jpeg::parse(static_cast<const unsigned char*>(file.data), file.bytes);
    JpegImage image;
    const jpeg::Image& of = plan.image;
    if (of.components > 0)
        image.view = packed_view(static_cast<const void*>(nullptr), of.width, of.height, of.channels(), Depth::u8);
    image.view.memory = Memory::device;
    image.reason = std::move(plan.reason);
    return image;
}

}  // namespace gpuhist
