#include "run/kept_counts.hpp"

#include <filesystem>

namespace gpuhist::app {

bool counts_are_kept(const io::Shard& shard) {
    const auto kept = shard.options.find(keep_counts_option);
    return kept != shard.options.end() && !kept->second.empty();
}

std::vector<std::string> kept_counts_names() {
    return {io::counts_file_name, io::counts_values_file_name};
}

std::vector<std::string> stage_counts(OutputDirectory& output, const io::Shard& run) {
    output.make();
    return io::write_counts(output.path(), run, [&](const std::filesystem::path& path, const io::Pieces& pieces) {
        output.stage(path.filename().string(), pieces);
    });
}

}  // namespace gpuhist::app
