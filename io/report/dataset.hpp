// Numbers of a set's groups, which the writers of dataset.* share.
#pragma once

#include <string>
#include <vector>

#include "gpuhist/columns.hpp"
#include "gpuhist/io/dataset.hpp"

namespace gpuhist::io {

/// A group and what all files say of it.
struct GroupNumbers {
    const std::string* name;
    const Summary* summary;
    SetNumbers found;
};

/// What the columns are read from.
ColumnRow row_of(const GroupNumbers& group, const SummaryRow& row);

std::string dataset_csv(const std::vector<GroupNumbers>& groups, const Percentiles& percentiles);
std::string dataset_json(const std::vector<GroupNumbers>& groups, const Percentiles& percentiles);

}  // namespace gpuhist::io
