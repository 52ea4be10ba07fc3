/// cv::Mat in pinned memory. Header only.
#pragma once

#include <memory>
#include <opencv2/core/mat.hpp>

#include "gpuhist/pinned_memory.hpp"

namespace gpuhist::io {

/// Allocator that gives matrices memory from a pool, if it is their `allocator`. It must outlive the matrices, and the
/// pool must outlive it. Functions may be called by several threads.
class PinnedAllocator final : public cv::MatAllocator {
  public:
    explicit PinnedAllocator(PinnedPool& pool) : pool_(pool) {}

    cv::UMatData* allocate(int dims, const int* sizes, int type, void* data, std::size_t* step, cv::AccessFlag access,
                           cv::UMatUsageFlags usage) const override {
        if (data) return cv::Mat::getStdAllocator()->allocate(dims, sizes, type, data, step, access, usage);
        std::size_t bytes = CV_ELEM_SIZE(type);
        for (int i = dims - 1; i >= 0; --i) {
            if (step) step[i] = bytes;
            bytes *= static_cast<std::size_t>(sizes[i]);
        }
        auto block = std::make_unique<cv::UMatData>(this);
        block->data = block->origdata = static_cast<unsigned char*>(pool_.take(bytes));
        block->size = bytes;
        return block.release();
    }
    bool allocate(cv::UMatData* block, cv::AccessFlag, cv::UMatUsageFlags) const override { return block != nullptr; }
    void deallocate(cv::UMatData* block) const override {
        if (!block) return;
        pool_.give_back(block->origdata);
        delete block;
    }

  private:
    PinnedPool& pool_;
};

}  // namespace gpuhist::io
