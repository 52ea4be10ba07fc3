#include "run/kept_counts.hpp"

#include <filesystem>
#include <system_error>

namespace gpuhist::app {

namespace fs = std::filesystem;

bool counts_are_kept(const io::Shard& shard) {
    const auto kept = shard.options.find(keep_counts_option);
    return kept != shard.options.end() && !kept->second.empty();
}

std::vector<std::string> kept_counts_names() {
    return {io::counts_file_name, io::counts_values_file_name};
}

std::string kept_counts_working_name() {
    return std::string(io::counts_values_file_name) + ".partial";
}

std::vector<std::string> stage_counts(OutputDirectory& output, const io::Shard& run) {
    output.make();
    const fs::path working = output.path() / kept_counts_working_name();
    std::error_code ignored;
    fs::remove(working, ignored);  // of an interrupted run
    std::vector<std::string> names{io::counts_file_name};
    const bool any = io::write_counts(output.path(), working, run, [&](const fs::path&, const io::Pieces& pieces) {
        output.stage(io::counts_file_name, pieces);
    });
    if (!any) return names;
    output.stage_working(io::counts_values_file_name, working);
    names.emplace_back(io::counts_values_file_name);
    return names;
}

}  // namespace gpuhist::app
