/// Guesses at mistyped words, of the command line and of files.
#pragma once

#include <string>
#include <vector>

namespace gpuhist::io {

/// ": did you mean X?" with the nearest of the known words, if one is within two letters; else nothing. Neighbors
/// swapped count as one letter.
std::string suggestion(const std::string& word, const std::vector<std::string>& known);

}  // namespace gpuhist::io
