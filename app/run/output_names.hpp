/// Names under which inputs of a list have files, each of one input alone.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "run/outcome.hpp"

namespace gpuhist::app {

/// Names that were given out. Paths of a list may have the same: `../a.png` and `up/a.png`, an absolute path and a
/// relative one. Memory is taken for each name, of its hash alone.
class OutputNames {
  public:
    OutputNames();
    /// Gives an input its name. Call it in the order of the inputs, so that the first one always gets the name.
    Names take(const Input& input);

  private:
    std::string here_;                                        ///< the working directory
    std::unordered_map<std::uint64_t, std::uint64_t> paths_;  ///< hash of a name, that of the path that has it
};

}  // namespace gpuhist::app
