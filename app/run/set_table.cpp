#include "run/set_table.hpp"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <iterator>

#include "cli/console.hpp"
#include "gpuhist/io/plot.hpp"

namespace gpuhist::app {

void GroupRows::add(const std::string& name, const io::SetNumbers& numbers) {
    if (name.empty() || ++groups_ > most) return;
    const auto add_first = [&](Depth depth, std::initializer_list<bool (*)(Channel)> verdicts) {
        for (const auto& verdict : verdicts)
            for (const SummaryRow& row : numbers.rows)
                if (row.depth == depth && verdict(row.statistics.channel)) {
                    rows_.emplace_back(name, row);
                    return;
                }
    };
    for (const DepthTraits& traits : all_depths) {
        add_first(traits.depth, {[](Channel channel) { return channel == Channel::gray; }});
        add_first(traits.depth,
                  {[](Channel channel) { return channel == Channel::all; }, is_band});  // a single band has no `all`
    }
}

std::string GroupRows::text(Depth depth, const std::filesystem::path& others, const TableStyle& style) const {
    std::vector<std::pair<std::string, SummaryRow>> rows;
    std::copy_if(rows_.begin(), rows_.end(), std::back_inserter(rows),
                 [&](const auto& row) { return row.second.depth == depth; });
    if (rows.empty()) return {};
    std::string text = format_groups(rows, style);
    if (groups_ > most)
        text += "and " + counted(groups_ - most, "more group") + ": see " + printable(others.string()) + '\n';
    return text;
}

std::string set_table(const std::string& name, const Summary& whole, std::size_t depth, const io::SetNumbers& numbers,
                      const GroupRows& groups, const Options& options) {
    const Depth of = whole.depths()[depth].depth;
    const auto [rows, images] = io::rows_of(numbers.rows, of);
    const TableHeading heading{name, counted(images, "image") + "  " + to_string(of)};
    return format_table(heading, rows, io::plot_panels(whole, of, rows, options.plots.range), "", options.style) +
           format_training(numbers.training[depth], options.style) +
           groups.text(of, options.output / "dataset.csv", options.style);
}

}  // namespace gpuhist::app
