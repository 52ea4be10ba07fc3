// How the images of a launch are shared out to its blocks.
#pragma once

#include <cstdint>

#include "cuda/host/parameters.hpp"
#include "cuda/pixels/walk.cuh"

namespace gpuhist::cuda {

/// Part of one image that a block has, and beside whom.
struct Part {
    std::int64_t image;
    std::int64_t first, last;  ///< the block's pieces of the image; of a single image: all
    int first_block, blocks;   ///< those that share the image
    int rank;                  ///< this block's place among them
    bool dealt;                ///< the pieces are dealt to the blocks in turn

    __device__ bool whole() const { return blocks == 1; }
    /// This thread's share.
    __device__ Share share() const {
        if (dealt) return dealt_share(last);
        return {first + threadIdx.x, last, blockDim.x, first};
    }
    /// Share of other pieces of the same image, dealt in turn.
    __device__ Share dealt_share(std::int64_t pieces) const { return cuda::dealt(pieces, rank, blocks); }
};

/// Partition of a launch's pixels. A single image is dealt to all blocks in turn, so that they walk through memory side
/// by side: 2 % faster than a stretch each. Several images are laid end to end and cut into as many equal stretches as
/// there are blocks, so that no block waits for another, whatever the sizes: a block has whole images, and at most two
/// that it shares.
template <class Images>
class Partition {
  public:
    __device__ Partition(const Images& images, int rank, int blocks)
        : images_(images), rank_(rank), blocks_(blocks), pieces_(images.pieces_before(images.count)) {
        begin_ = images.count == 1 ? 0 : begin_of(rank);
        end_ = images.count == 1 ? pieces_ : begin_of(rank + 1);
        first_image_ = images.count == 1 ? 0 : images.image_of(begin_);
        last_image_ = images.count == 1 ? 0 : images.image_of(end_ - 1);
    }
    __device__ int count() const { return static_cast<int>(last_image_ - first_image_) + 1; }
    __device__ std::int64_t image(int i) const { return first_image_ + i; }
    __device__ Part operator[](int i) const {
        Part part;
        part.image = first_image_ + i;
        const std::int64_t before = images_.pieces_before(part.image), after = images_.pieces_before(part.image + 1);
        part.dealt = images_.count == 1;
        part.first = max(begin_, before) - before;
        part.last = min(end_, after) - before;
        const bool own = begin_ <= before && after <= end_ && !part.dealt;
        part.first_block = own ? rank_ : part.dealt ? 0 : block_of(before);
        part.blocks = own ? 1 : part.dealt ? blocks_ : block_of(after - 1) - part.first_block + 1;
        part.rank = rank_ - part.first_block;
        return part;
    }

  private:
    __device__ std::int64_t begin_of(int rank) const { return pieces_ * rank / blocks_; }
    /// The last block that begins at `piece` or before: (p + 1) · blocks − 1 over the pieces, rounded down.
    __device__ int block_of(std::int64_t piece) const {
        return static_cast<int>(((piece + 1) * blocks_ - 1) / pieces_);
    }

    const Images& images_;
    int rank_, blocks_;
    std::int64_t pieces_, begin_, end_, first_image_, last_image_;
};

}  // namespace gpuhist::cuda
