#include "run/one_table.hpp"

namespace gpuhist::app {

void OneTable::resume(const Summary& images) {
    for (const DepthSummary& depth : images.depths())
        kinds_[depth.depth] = {depth.find(Channel::gray) != nullptr, depth.find(Channel::red) != nullptr};
}

std::optional<std::string> OneTable::refusal(const io::ImageResult& image) {
    const std::string& path = image.info.path;
    const Depth depth = image.info.depth;
    if (linked_ && !kinds_.empty() && kinds_.count(depth) == 0)
        return path + ": is " + to_string(depth) + ", the images before it are " + to_string(kinds_.begin()->first) +
               ": --link dataset makes one table, of one depth; leave one of them out (--include, --exclude)";
    Kinds& all = kinds_[depth];
    const bool gray_before = all.gray;
    for (const Statistics& row : image.rows) {
        all.gray = all.gray || row.channel == Channel::gray;
        all.colors = all.colors || row.channel == Channel::red;
    }
    if (!separate_ || !all.gray || !all.colors) return std::nullopt;
    const char* what =
        gray_before ? ": is in color, the images before it are gray" : ": is gray, there are colors before it";
    return path + what + ": --channels separate has no table for both; give --channels joint";
}

}  // namespace gpuhist::app
