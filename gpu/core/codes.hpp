// Codes of samples: unsigned integers as wide as the samples, in the order of the values. Samples are counted, sorted
// and looked up by code.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/half.hpp"
#include "core/portable.hpp"
#include "gpuhist/image.hpp"

namespace gpuhist::core {

template <std::size_t bytes>
using UnsignedOf = std::conditional_t<
    bytes == 1, std::uint8_t,
    std::conditional_t<bytes == 2, std::uint16_t, std::conditional_t<bytes == 4, std::uint32_t, std::uint64_t>>>;

/// Type of the code of a sample.
template <class Sample>
using Code = UnsignedOf<sizeof(Sample)>;

/// Sample of a floating type that is nearest to a real number, rounded once.
template <class Out>
GPUHIST_HD Out rounded_to(double v) {
    if constexpr (is_narrow<Out>)
        return narrowed<Out>(v);
    else
        return static_cast<Out>(v);
}

/// Place of a sample among all samples of its type. For integers, it is the distance from the lowest value. Floats are
/// in the order of their values: −0 directly below +0, negative NaN first, positive NaN last.
template <class Sample>
GPUHIST_HD inline Code<Sample> place_of(Sample sample) {
    constexpr auto top = static_cast<Code<Sample>>(Code<Sample>{1} << (8 * sizeof(Sample) - 1));
    Code<Sample> bits;
    memcpy(&bits, &sample, sizeof bits);
    if constexpr (is_real<Sample>)
        return static_cast<Code<Sample>>(bits & top ? ~bits : bits | top);
    else if constexpr (std::is_signed_v<Sample>)
        return static_cast<Code<Sample>>(bits ^ top);
    else
        return bits;
}
/// Sample at a place.
template <class Sample>
GPUHIST_HD inline Sample sample_at(Code<Sample> place) {
    constexpr auto top = static_cast<Code<Sample>>(Code<Sample>{1} << (8 * sizeof(Sample) - 1));
    if constexpr (is_real<Sample>)
        place = static_cast<Code<Sample>>(place & top ? place ^ top : ~place);
    else if constexpr (std::is_signed_v<Sample>)
        place = static_cast<Code<Sample>>(place ^ top);
    Sample sample;
    memcpy(&sample, &place, sizeof sample);
    return sample;
}

/// Code of a sample: its place, except that −0 is treated as +0.
template <class Sample>
GPUHIST_HD inline Code<Sample> code_of(Sample sample) {
    const Code<Sample> place = place_of(sample);
    if constexpr (is_real<Sample>) {
        constexpr auto minus_zero = static_cast<Code<Sample>>(std::numeric_limits<Code<Sample>>::max() / 2);
        return static_cast<Code<Sample>>(place + (place == minus_zero ? 1 : 0));
    } else {
        return place;
    }
}

/// Codes of the infinite numbers. Finite numbers are between them, NaN outside. Integers have none of these.
template <class Sample>
inline constexpr auto minus_infinity_code = static_cast<Code<Sample>>((Code<Sample>{1} << fraction_digits<Sample>)-1);
template <class Sample>
inline constexpr auto plus_infinity_code = static_cast<Code<Sample>>(~minus_infinity_code<Sample>);

/// Code of the quiet NaN that stands for excluded samples.
template <class Sample>
inline constexpr auto nan_code = static_cast<Code<Sample>>(plus_infinity_code<Sample> +
                                                           (Code<Sample>{1} << (fraction_digits<Sample> - 1)));

/// Value of a sample. It is exact, because no sample has more digits than a double.
template <class Sample>
GPUHIST_HD inline double value_of(Sample sample) {
    if constexpr (is_narrow<Sample>)
        return to_float(sample);
    else
        return static_cast<double>(sample);
}

/// Depth of the type of a sample.
template <class Sample>
constexpr Depth depth_of() {
    Depth found{};
    for (const DepthTraits& traits : all_depths)
        with_depth(traits.depth, [&](auto sample) {
            if constexpr (std::is_same_v<decltype(sample), Sample>) found = traits.depth;
        });
    return found;
}

/// Dispatch on a depth whose samples are sorted: calls `function` with a value of its sample type.
template <class Function>
void with_sorted(Depth depth, const Function& function) {
    with_depth(depth, [&](auto sample) {
        if constexpr (traits_of(depth_of<decltype(sample)>()).counting == Counting::sorted) function(sample);
    });
}

/// Value of a code of a depth.
GPUHIST_HD inline double value_at(Depth depth, std::uint64_t code) {
    return with_depth(depth, [&](auto sample) {
        using Sample = decltype(sample);
        return value_of(sample_at<Sample>(static_cast<Code<Sample>>(code)));
    });
}

/// Bits of the sample of a depth that is nearest to a value. Integers must hold it.
inline std::uint64_t sample_bits(Depth depth, double value) {
    return with_depth(depth, [&](auto type) {
        using Sample = decltype(type);
        Sample sample{};
        if constexpr (is_real<Sample>)
            sample = rounded_to<Sample>(value);
        else
            sample = static_cast<Sample>(value);
        std::uint64_t bits = 0;
        std::memcpy(&bits, &sample, sizeof sample);
        return bits;
    });
}

/// First and last code of the finite samples of a depth.
struct CodeRange {
    std::uint64_t first, last;
};
inline CodeRange finite_codes(Depth depth) {
    return with_depth(depth, [](auto sample) -> CodeRange {
        using Sample = decltype(sample);
        if constexpr (is_real<Sample>)
            return {minus_infinity_code<Sample> + std::uint64_t{1}, plus_infinity_code<Sample> - std::uint64_t{1}};
        else
            return {0, std::numeric_limits<Code<Sample>>::max()};
    });
}

}  // namespace gpuhist::core
