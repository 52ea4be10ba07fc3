// Threads that work on the parts of one image.
#pragma once

#include <cstddef>
#include <functional>

namespace gpuhist::io {

/// Calls work(part, thread) once for each of `parts`, from up to `threads` threads, this one included. Two calls at a
/// time never share a thread number, which is below `threads`. Returns when all are done. If a call throws, its
/// exception is passed on, and there may be parts that are never worked on.
void on_threads(int threads, std::size_t parts, const std::function<void(std::size_t part, int thread)>& work);

}  // namespace gpuhist::io
