#include "run/measured_images.hpp"

#include "gpuhist/image.hpp"

namespace gpuhist::app {

MeasuredImages::MeasuredImages(const ImageTables& tables)
    : stats_(tables.stats()),
      path_(stats_.column("path")),
      width_(stats_.column("width")),
      height_(stats_.column("height")),
      depth_column_(stats_.column("depth")),
      channel_(stats_.column("channel")),
      white_(stats_.column("white")),
      min_(stats_.column("min")),
      max_(stats_.column("max")),
      entropy_(stats_.column("entropy")),
      low_(stats_.column("clipped_low")),
      high_(stats_.column("clipped_high")),
      nan_(stats_.column("nan")),
      inf_(stats_.column("inf")) {
    stats_left_ = stats_.next();
    if (!tables.quality) return;
    quality_.emplace(tables.quality());
    ahead_.emplace(tables.quality());
    quality_path_ = quality_->column("path");
    for (const auto& [name, member] : flag_measures)
        if (const auto column = quality_->find(name)) measures_.emplace_back(*column, member);
    ahead_left_ = ahead_->next();
}

bool MeasuredImages::next() {
    if (quality_ ? !quality_->next() : !stats_left_) {
        if (stats_left_) stats_.refuse("quality.csv has no row for this image");
        return false;
    }
    if (times_left_ == 0) read_file();
    --times_left_;
    image_ = about_;
    const std::size_t count = channels_.size() / times_, first = (times_ - 1 - times_left_) * count;
    for (std::size_t i = 0; i < count; ++i) image_.channels.push_back(channels_[first + i]);
    for (const auto& [column, member] : measures_) image_.*member = quality_->number(column);
    return true;
}

/// Reads the rows of a file that was given once, or several times in a row.
void MeasuredImages::read_file() {
    times_ = quality_ ? 0 : 1;
    channels_.clear();
    about_ = {};
    if (!quality_) file_ = stats_.text(path_);
    if (quality_)
        for (; ahead_left_ && ahead_->text(quality_path_) == path(); ahead_left_ = ahead_->next()) ++times_;
    for (; stats_left_ && stats_.text(path_) == path(); stats_left_ = stats_.next()) add_channel();
    if (channels_.empty()) quality_->refuse("stats.csv has no rows for this image");
    if (channels_.size() % times_ != 0) quality_->refuse("stats.csv has the wrong number of rows for this image");
    times_left_ = times_;
}

void MeasuredImages::add_channel() {
    if (channels_.empty()) {
        about_.width = stats_.number(width_).value_or(0);
        about_.height = stats_.number(height_).value_or(0);
        about_.white = stats_.number(white_).value_or(0);
        depth_ = stats_.text(depth_column_);
        for (const DepthTraits& depth : all_depths)
            if (depth_ == depth.name) about_.integers = !depth.floating;
    }
    FlagNumbers::Channel& channel = channels_.emplace_back();
    channel.name = stats_.text(channel_);
    channel.min = stats_.number(min_);
    channel.max = stats_.number(max_);
    channel.entropy = stats_.number(entropy_);
    channel.clipped_low = stats_.number(low_);
    channel.clipped_high = stats_.number(high_);
    channel.nan = stats_.number(nan_).value_or(0);
    channel.inf = stats_.number(inf_).value_or(0);
}

}  // namespace gpuhist::app
