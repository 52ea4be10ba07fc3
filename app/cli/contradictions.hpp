/// Contradictions: options that could have no effect, or do not go together. They are misunderstandings, and said.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "run/options.hpp"

namespace gpuhist::app {

class Contradiction : public std::runtime_error {
  public:
    /// `options`: without one of these there would be none.
    Contradiction(std::vector<std::string> options, const std::string& text)
        : std::runtime_error(text), options_(std::move(options)) {}
    const std::vector<std::string>& options() const { return options_; }

  private:
    std::vector<std::string> options_;
};

/// Options that say how a table is made.
std::vector<std::string> table_options();

/// Throws the first Contradiction among the options by which inputs are listed.
void check_inputs(const InputOptions& options, const std::function<bool(const char*)>& given);

/// Throws the Contradiction of a mask, label image or file of regions that does not exist.
void check_companions(const Options& options);

/// Throws the Contradiction of a color space and a rule for alpha.
void check_space_and_alpha(const Options& options);

/// Throws the first Contradiction among the options of a run. `given` tells whether an option has a value from
/// anywhere.
void check(const Options& options, const std::function<bool(const char*)>& given);

}  // namespace gpuhist::app
