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
        return path + ": is " + to_string(depth) + ", but the images before it are " +
               to_string(kinds_.begin()->first) +
               ": --link dataset makes one table for one sample type; leave out the others (--include, --exclude)";
    Kinds& all = kinds_[depth];
    const bool gray_before = all.gray;
    for (const Statistics& row : image.rows) {
        all.gray = all.gray || row.channel == Channel::gray;
        all.colors = all.colors || row.channel == Channel::red;
    }
    if (!separate_ || !all.gray || !all.colors) return std::nullopt;
    const char* what = gray_before ? ": is in color, but the images before it are gray"
                                   : ": is gray, but there are color images before it";
    return path + what + ": --channels separate has no table for both: give --channels joint";
}

void make_copies_of(Depth depth, std::vector<LutSet>& tables, const std::string& name) {
    for (LutSet& one : tables) {
        if (one.copy_depth() == depth) continue;
        const bool real = traits_of(one.mode).real;
        if (real || traits_of(one.depth).counting == Counting::values)
            throw UsageError(name + ": its " + to_string(one.mode) + " table of " + to_string(one.depth) +
                             " images makes copies of " + to_string(one.copy_depth()) + ": leave out --depth" +
                             (real ? "" : std::string(", or make the table with --depth ") + to_string(depth)));
        one.copies = depth;
    }
}

void fill_copies_of(double fill, std::vector<LutSet>& tables, const std::string& name) {
    for (LutSet& one : tables) {
        const std::string table =
            name + ": its " + to_string(one.mode) + " table of " + to_string(one.depth) + " images";
        const bool by_value = traits_of(one.depth).counting == Counting::values;
        if (by_value && !traits_of(one.copy_depth()).floating && one.fill != fill)
            throw UsageError(table + (one.fill ? " keeps another value for nodata" : " keeps no value for nodata") +
                             ": leave out --fill, or make the table with --fill " + io::shortest(fill));
        if (const std::string refusal = fill_refusal(one.copy_depth(), fill); !refusal.empty())
            throw UsageError(table + ": " + refusal);
        one.fill = fill;
    }
}

}  // namespace gpuhist::app
