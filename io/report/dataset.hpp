// Rows of images and of sets' groups, which the writers of results share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gpuhist/columns.hpp"
#include "gpuhist/io/dataset.hpp"
#include "gpuhist/io/report.hpp"

namespace gpuhist::io {

/// Group, and what all files say of it.
struct GroupNumbers {
    const std::string* name;
    const Summary* summary;
    SetNumbers found;
};

/// Row of a group's channel.
ColumnRow row_of(const GroupNumbers& group, const SummaryRow& row);
/// Row of an image, whose channels' statistics are filled in one after the other.
ColumnRow row_of(const ImageInfo& image);

std::string dataset_csv(const std::vector<GroupNumbers>& groups, const Percentiles& percentiles);
std::string dataset_json(const std::vector<GroupNumbers>& groups, const Percentiles& percentiles);

}  // namespace gpuhist::io
