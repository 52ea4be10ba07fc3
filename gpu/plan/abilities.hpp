// Abilities: what each backend does by itself, in one table.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "gpuhist/image.hpp"
#include "gpuhist/normalize.hpp"

namespace gpuhist::plan {

/// Set of depths.
class DepthSet {
  public:
    constexpr DepthSet(std::initializer_list<Depth> depths) {
        for (const Depth depth : depths) bits_ |= bit(depth);
    }
    /// All depths but these.
    static constexpr DepthSet all_but(std::initializer_list<Depth> depths) {
        DepthSet set({});
        for (const DepthTraits& traits : all_depths) set.bits_ |= bit(traits.depth);
        for (const Depth depth : depths) set.bits_ &= ~bit(depth);
        return set;
    }
    constexpr bool has(Depth depth) const { return (bits_ & bit(depth)) != 0; }

  private:
    static constexpr std::uint32_t bit(Depth depth) { return std::uint32_t{1} << static_cast<unsigned>(depth); }
    std::uint32_t bits_ = 0;
};

/// Abilities of a backend: a row of the table. What it cannot do the CPU does, of images in host memory.
struct Abilities {
    const char* name;    ///< as messages call it
    DepthSet measures;   ///< depths that it measures
    DepthSet masks;      ///< depths whose masked pixels it leaves out
    DepthSet copies;     ///< depths of which it writes normalized copies, of the modes' depths
    DepthSet in_strips;  ///< depths that it counts strip by strip, or whose strips merge
    bool sparse;         ///< it sorts samples of 8 and 16 bits: AnalysisRequest::sparse
    bool device_memory;  ///< it reads images there, and applies rules to them

    /// Verdict on a copy of a depth: whether it writes that itself.
    constexpr bool writes(Depth depth, const Normalization& copy) const {
        return copies.has(depth) && normalized_depth(depth, copy) == normalized_depth(depth, copy.mode);
    }
};

inline constexpr Abilities cpu_abilities{
    "engine cpu", DepthSet::all_but({}), DepthSet::all_but({}), DepthSet::all_but({}), DepthSet::all_but({}), true,
    false};
inline constexpr Abilities cuda_abilities{"engine cuda",
                                          DepthSet::all_but({}),
                                          DepthSet::all_but({Depth::f64}),
                                          {Depth::u8, Depth::u16, Depth::f32},
                                          DepthSet::all_but({Depth::f32}),
                                          false,
                                          true};
inline constexpr Abilities stream_abilities{"stream analyzer",
                                            DepthSet::all_but({Depth::u32, Depth::s32, Depth::f64}),
                                            DepthSet::all_but({Depth::u32, Depth::s32, Depth::f64}),
                                            {Depth::u8, Depth::u16, Depth::f32},
                                            {},
                                            false,
                                            true};

}  // namespace gpuhist::plan
