#include "gpuhist/io/suggestion.hpp"

#include <algorithm>
#include <cstddef>

namespace gpuhist::io {
namespace {

std::size_t edit_distance(const std::string& a, const std::string& b) {
    std::vector<std::vector<std::size_t>> distance(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i)
        for (std::size_t j = 0; j <= b.size(); ++j) {
            auto& here = distance[i][j];
            if (i == 0 || j == 0) {
                here = i + j;
                continue;
            }
            here = std::min(
                {distance[i - 1][j] + 1, distance[i][j - 1] + 1, distance[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                here = std::min(here, distance[i - 2][j - 2] + 1);
        }
    return distance[a.size()][b.size()];
}

}  // namespace

std::string suggestion(const std::string& word, const std::vector<std::string>& known) {
    std::string nearest;
    std::size_t least = 3;
    for (const std::string& other : known)
        if (const std::size_t distance = edit_distance(word, other); distance < least) {
            least = distance;
            nearest = other;
        }
    return nearest.empty() ? "" : ": did you mean " + nearest + "?";
}

}  // namespace gpuhist::io
