#include "run/gallery.hpp"

#include <set>

namespace gpuhist::app {

void Gallery::add(const ImageFlag& flag) {
    if (!is_duplicate(flag.flag))
        worst_[static_cast<std::size_t>(flag.flag)].add(excess(flag), {flag.image, flag.value});
}

void Gallery::add_groups(const std::vector<std::uint32_t>& first) {
    for (std::uint32_t i = 0; i < first.size(); ++i) {
        if (first[i] == i) continue;
        const auto group = groups_.find(first[i]);
        if (group == groups_.end() && groups_.size() == most_groups) continue;
        std::vector<std::uint32_t>& copies = group == groups_.end() ? groups_[first[i]] : group->second;
        if (copies.size() + 1 < copies_per_group) copies.push_back(i);
    }
}

std::vector<Gallery::Worst> Gallery::worst(Flag flag) const {
    std::vector<Worst> found;
    for (const auto& [excess, one] : worst_[static_cast<std::size_t>(flag)].all()) found.push_back(one);
    return found;
}

std::vector<std::uint64_t> Gallery::images() const {
    std::set<std::uint64_t> images;
    for (const Largest<Worst>& worst : worst_)
        for (const auto& [excess, one] : worst.all()) images.insert(one.image);
    for (const auto& [first, copies] : groups_) {
        images.insert(first);
        images.insert(copies.begin(), copies.end());
    }
    return {images.begin(), images.end()};
}

std::vector<std::string> gallery_paths(const FlagFinder& flags, bool part) {
    Gallery gallery;
    flags.each([&](const ImageFlag& flag) { gallery.add(flag); });
    gallery.add_groups(flags.groups());
    const std::vector<std::uint64_t> chosen = gallery.images();
    std::set<std::uint64_t> images(chosen.begin(), chosen.end());
    if (part)  // what size is usual depends on the other parts
        for (const std::uint64_t image : flags.smallest_and_largest(Gallery::worst_per_flag)) images.insert(image);
    std::vector<std::string> paths;
    for (auto& [image, path] : flags.paths_of({images.begin(), images.end()})) paths.push_back(std::move(path));
    return paths;
}

}  // namespace gpuhist::app
