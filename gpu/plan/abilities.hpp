// Abilities: what each backend does by itself, in one table.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "gpuhist/image.hpp"

namespace gpuhist::plan {

/// Set of depths.
class DepthSet {
  public:
    constexpr DepthSet(std::initializer_list<Depth> depths) {
        for (const Depth depth : depths) bits_ |= bit(depth);
    }
    /// Depths of which a verdict on their row of the table is true.
    template <class Verdict>
    static constexpr DepthSet where(Verdict verdict) {
        DepthSet set({});
        for (const DepthTraits& traits : all_depths)
            if (verdict(traits)) set.bits_ |= bit(traits.depth);
        return set;
    }
    constexpr bool has(Depth depth) const { return (bits_ & bit(depth)) != 0; }

  private:
    static constexpr std::uint32_t bit(Depth depth) { return std::uint32_t{1} << static_cast<unsigned>(depth); }
    std::uint32_t bits_ = 0;
};

inline constexpr DepthSet every_depth = DepthSet::where([](const DepthTraits&) { return true; });
inline constexpr DepthSet not_sorted =
    DepthSet::where([](const DepthTraits& of) { return of.counting != Counting::sorted; });
inline constexpr DepthSet not_in_bins =
    DepthSet::where([](const DepthTraits& of) { return of.counting != Counting::bins; });
/// Masked samples of those that are sorted become the highest code, which floats have for NaN.
inline constexpr DepthSet not_sorted_floats =
    DepthSet::where([](const DepthTraits& of) { return of.counting != Counting::sorted || !of.floating; });

/// Abilities of a backend: a row of the table. What it cannot do the CPU does, of images in host memory.
struct Abilities {
    const char* name;    ///< as messages call it
    DepthSet measures;   ///< depths that it measures
    DepthSet masks;      ///< depths whose masked pixels it leaves out
    DepthSet copies;     ///< depths of which it writes normalized copies, of the modes' depths
    DepthSet in_strips;  ///< depths that it counts strip by strip, or whose strips merge
    bool sparse;         ///< it sorts samples of 8 and 16 bits: AnalysisRequest::sparse
    bool device_memory;  ///< it reads images there, and applies rules to them
};

inline constexpr Abilities cpu_abilities{"engine cpu", every_depth, every_depth, every_depth, every_depth, true, false};
inline constexpr Abilities cuda_abilities{
    "engine cuda", every_depth, not_sorted_floats, {Depth::u8, Depth::u16, Depth::f32}, not_in_bins, false, true};
inline constexpr Abilities stream_abilities{
    "stream analyzer", not_sorted, not_sorted, {Depth::u8, Depth::u16, Depth::f32}, {}, false, true};

}  // namespace gpuhist::plan
