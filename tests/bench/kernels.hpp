// The engine on the GPU against the hardware's ceilings and CUB, in one run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gpuhist::bench {

struct KernelsOptions {
    int gpu = 0;
    std::int64_t bytes = std::int64_t{4} << 30;  ///< pixels of a large image
    int repetitions = 9;
    std::vector<unsigned char> photograph;  ///< samples of a picture, behind `natural`; at least one
    std::string csv;                        ///< where to write the table, besides standard output
};

/// Prints the tables. Throws where there is no GPU, or where CUB counts otherwise than the engine.
void run_kernels(const KernelsOptions& options);

}  // namespace gpuhist::bench
