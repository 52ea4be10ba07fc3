/// Images of results with their hashes, for `group_duplicates`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gpuhist/hashes.hpp"

namespace gpuhist::io {

/// Images in the order of the rows of quality.csv. Each takes 32 bytes, plus its path.
class HashedImages {
  public:
    /// `similar` is the column of the hashes of similar images: dhash or phash.
    explicit HashedImages(std::string similar) : similar_column_(std::move(similar)) {}

    /// Adds the images of a directory of results. Throws IoError for a directory without results, results without
    /// hashes, and a damaged table.
    void add(const std::string& directory);
    /// Adds an image of another object.
    void add(const HashedImages& others, std::size_t image);

    std::size_t size() const { return pixels_.size(); }
    std::string_view path(std::size_t image) const {
        const std::uint64_t begin = image == 0 ? 0 : path_ends_[image - 1];
        return std::string_view(paths_).substr(begin, path_ends_[image] - begin);
    }
    const std::vector<Hash128>& pixels() const { return pixels_; }
    /// Hashes that are similar for similar images; 0 for uniform images, and for images without a hash.
    const std::vector<std::uint64_t>& similar() const { return similar_; }

  private:
    void add(std::string_view path, const Hash128& pixels, std::uint64_t similar);

    std::string similar_column_, paths_;
    std::vector<std::uint64_t> path_ends_;
    std::vector<Hash128> pixels_;
    std::vector<std::uint64_t> similar_;
};

}  // namespace gpuhist::io
