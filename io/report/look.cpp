#include "report/look.hpp"

#include <cstddef>
#include <iterator>

namespace gpuhist::io {
namespace {

Color rgb(unsigned hex) {
    return {static_cast<unsigned char>(hex), static_cast<unsigned char>(hex >> 8),
            static_cast<unsigned char>(hex >> 16)};
}

}  // namespace

const Color& Look::of(Channel channel) const {
    switch (channel) {
        case Channel::red:
            return red;
        case Channel::green:
            return green;
        case Channel::blue:
            return blue;
        case Channel::alpha:
            return alpha;
        default:
            break;
    }
    if (!is_band(channel)) return gray;
    return bands[(static_cast<std::size_t>(channel) - static_cast<std::size_t>(Channel::c0)) % std::size(bands)];
}

const Look& look_of(PlotTheme theme) {
    static const Look light{rgb(0xffffff), rgb(0x1f2328),
                            rgb(0x59636e), rgb(0x8c959f),
                            rgb(0xd55e00), rgb(0x009e73),
                            rgb(0x0072b2), rgb(0x33383d),
                            rgb(0xcc79a7), {rgb(0xe69f00), rgb(0x56b4e9), rgb(0xcc79a7), rgb(0x33383d)}};
    static const Look dark{rgb(0x0d1117), rgb(0xe6edf3),
                           rgb(0xa0a8b1), rgb(0x6e7681),
                           rgb(0xff8534), rgb(0x20c997),
                           rgb(0x56b4e9), rgb(0xd0d7de),
                           rgb(0xe39bc4), {rgb(0xe69f00), rgb(0x56b4e9), rgb(0xe39bc4), rgb(0xd0d7de)}};
    return theme == PlotTheme::dark ? dark : light;
}

}  // namespace gpuhist::io
