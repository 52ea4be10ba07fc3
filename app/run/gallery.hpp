/// Gallery: the images of a set that a page shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "gpuhist/flags.hpp"
#include "run/image_flags.hpp"
#include "run/largest.hpp"

namespace gpuhist::app {

/// The worst images of each flag, and some groups of duplicates. Images are counted from 0, in the order of the tables.
class Gallery {
  public:
    static constexpr std::size_t worst_per_flag = 12, most_groups = 12, copies_per_group = 4;
    struct Worst {
        std::uint64_t image;
        double value;
    };

    Gallery() : worst_(flag_count, Largest<Worst>(worst_per_flag)) {}
    /// Adds a flag of an image; duplicates are left out.
    void add(const ImageFlag& flag);
    /// Adds duplicates: the first image of the group of each image, as from `group_duplicates`.
    void add_groups(const std::vector<std::uint32_t>& first);

    /// The worst images of a flag, the worst first.
    std::vector<Worst> worst(Flag flag) const;
    /// The first image of each group, with its copies.
    const std::map<std::uint32_t, std::vector<std::uint32_t>>& groups() const { return groups_; }
    /// All these images, in ascending order.
    std::vector<std::uint64_t> images() const;

  private:
    std::vector<Largest<Worst>> worst_;  ///< of each flag
    std::map<std::uint32_t, std::vector<std::uint32_t>> groups_;
};

/// Paths of the images in the gallery of a set. `part`: these are images of a part of a set, and the paths include all
/// of the part that can be in the gallery of the set, except for duplicates of images in other parts. Throws IoError.
std::vector<std::string> gallery_paths(const FlagFinder& flags, bool part);

}  // namespace gpuhist::app
