#include "fingerprint/similar.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "core/integers.hpp"

namespace gpuhist::fingerprint {
namespace {

using core::i128;

constexpr int lowest = 8;  ///< frequencies of each direction

/// cos(i pi / 64) 2^50, rounded, for i from 0 to 32. A coefficient of the transform is then off by less than 1e-9 of a
/// sample.
constexpr std::array<std::int64_t, 33> cosines{1125899906842624, 1124543711096240, 1120478391051429,
                                               1113713740420259, 1104266055838614, 1092158097606171,
                                               1077419034854843, 1060084375277789, 1040195879588265,
                                               1017801460914414, 992955069372342,  965716562095560,
                                               936151559033908,  904331284869352,  870332397429480,
                                               834236803012086,  796131459065722,  756108164701588,
                                               714263339541435,  670697791434247,  625516473601305,
                                               578828231794686,  530745542078308,  481384239863244,
                                               430863240850070,  379304254550526,  326831491078640,
                                               273571361917689,  219652175383856,  165203827520266,
                                               110357489166033,  55245289954224,   0};

/// cos((2 place + 1) frequency pi / 64) 2^50.
constexpr std::int64_t cosine(int place, int frequency) {
    int angle = (2 * place + 1) * frequency % 128;
    if (angle > 64) angle = 128 - angle;
    return angle > 32 ? -cosines[static_cast<std::size_t>(64 - angle)] : cosines[static_cast<std::size_t>(angle)];
}

}  // namespace

std::uint64_t dhash(const std::vector<std::uint8_t>& pixels) {
    std::uint64_t bits = 0;
    for (std::size_t row = 0; row < dhash_rows; ++row)
        for (std::size_t at = row * dhash_columns, end = at + dhash_columns - 1; at < end; ++at)
            bits = bits << 1 | (pixels[at + 1] > pixels[at] ? 1 : 0);
    return bits;
}

std::uint64_t phash(const std::vector<std::uint8_t>& pixels) {
    std::array<std::array<std::int64_t, phash_side>, lowest> down{};  // of the columns: 63 bits
    for (int frequency = 0; frequency < lowest; ++frequency)
        for (int y = 0; y < phash_side; ++y)
            for (int x = 0; x < phash_side; ++x)
                down[static_cast<std::size_t>(frequency)][static_cast<std::size_t>(x)] +=
                    cosine(y, frequency) * pixels[static_cast<std::size_t>(y * phash_side + x)];
    std::array<i128, lowest * lowest> found{};
    for (int vertical = 0; vertical < lowest; ++vertical)
        for (int horizontal = 0; horizontal < lowest; ++horizontal)
            for (int x = 0; x < phash_side; ++x)
                found[static_cast<std::size_t>(vertical * lowest + horizontal)] +=
                    static_cast<i128>(down[static_cast<std::size_t>(vertical)][static_cast<std::size_t>(x)]) *
                    cosine(x, horizontal);
    std::array<i128, lowest* lowest> sorted = found;
    std::nth_element(sorted.begin(), sorted.begin() + 31, sorted.end());
    std::uint64_t bits = 0;
    for (const i128 coefficient : found) bits = bits << 1 | (coefficient > sorted[31] ? 1 : 0);
    return bits;
}

}  // namespace gpuhist::fingerprint
