// Rows of images and of sets' groups, which the writers of results share.
#pragma once

#include <memory>
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
/// Row of a region of an image.
ColumnRow row_of(const ImageInfo& image, const RegionInfo& region);

/// Text of dataset.csv or dataset.json, which grows group by group.
struct DatasetText {
    virtual ~DatasetText() = default;
    virtual std::string begin() const = 0;
    virtual std::string group(const GroupNumbers& numbers) = 0;
    virtual std::string end() const = 0;
};
std::unique_ptr<DatasetText> dataset_csv_text(const Percentiles& percentiles);
std::unique_ptr<DatasetText> dataset_json_text(const Percentiles& percentiles);

}  // namespace gpuhist::io
