#include "report/look.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace gpuhist::io {
namespace {

Color rgb(unsigned hex) {
    return {static_cast<unsigned char>(hex), static_cast<unsigned char>(hex >> 8),
            static_cast<unsigned char>(hex >> 16)};
}

/// Place, among the colors of bands, of the color of a channel that is not a band.
std::size_t place_of(Channel channel) {
    switch (channel) {
        case Channel::alpha:
            return 2;
        case Channel::green:
            return 4;
        case Channel::blue:
            return 5;
        case Channel::red:
            return 6;
        default:
            return 3;
    }
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
            return gray;
    }
}

const Look& look_of(PlotTheme theme) {
    static const Look light{rgb(0xffffff),
                            rgb(0x1f2328),
                            rgb(0x59636e),
                            rgb(0x8c959f),
                            rgb(0xd55e00),
                            rgb(0x009e73),
                            rgb(0x0072b2),
                            rgb(0x33383d),
                            rgb(0xcc79a7),
                            {rgb(0xe69f00), rgb(0x56b4e9), rgb(0xcc79a7), rgb(0x33383d), rgb(0x009e73), rgb(0x0072b2),
                             rgb(0xd55e00), rgb(0xf0e442)}};
    static const Look dark{rgb(0x0d1117),
                           rgb(0xe6edf3),
                           rgb(0xa0a8b1),
                           rgb(0x6e7681),
                           rgb(0xff8534),
                           rgb(0x20c997),
                           rgb(0x56b4e9),
                           rgb(0xd0d7de),
                           rgb(0xe39bc4),
                           {rgb(0xe69f00), rgb(0x56b4e9), rgb(0xe39bc4), rgb(0xd0d7de), rgb(0x20c997), rgb(0x0072b2),
                            rgb(0xd55e00), rgb(0xf0e442)}};
    return theme == PlotTheme::dark ? dark : light;
}

std::optional<std::vector<Line>> lines_of(const Look& look, const std::vector<Channel>& channels) {
    const bool bands = std::any_of(channels.begin(), channels.end(), is_band);
    const bool colors = std::any_of(channels.begin(), channels.end(),
                                    [](Channel one) { return !is_band(one) && one != Channel::alpha; });
    // Alpha beside bands alone leaves all colors to them.
    const auto is_gray = [&](Channel one) { return one == Channel::alpha && bands && !colors; };
    const auto takes = [&](Channel one, std::size_t place) {
        return !is_band(one) && !is_gray(one) && (place_of(one) == place || look.of(one) == look.bands[place]);
    };
    std::vector<Color> left;
    for (std::size_t place = 0; place < std::size(look.bands); ++place)
        if (std::none_of(channels.begin(), channels.end(), [&](Channel one) { return takes(one, place); }))
            left.push_back(look.bands[place]);
    std::vector<Line> lines;
    std::size_t band = 0;
    for (const Channel one : channels) {
        if (!is_band(one)) {
            lines.push_back({is_gray(one) ? look.axis : look.of(one)});
            continue;
        }
        if (band >= 2 * left.size()) return std::nullopt;
        lines.push_back({left[band % left.size()], band >= left.size()});
        ++band;
    }
    return lines;
}

}  // namespace gpuhist::io
