#include "run/image_strips.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "gpuhist/io/opencv.hpp"
#include "run/interruption.hpp"
#include "run/remarks.hpp"
#include "run/weights.hpp"

namespace gpuhist::app {

void Measurer::InStrips::take(const io::Image& strip, std::uint64_t row) {
    wait();
    end_if_interrupted();
    if (!image_.in_strips) begin(strip);
    if (pass_ == Pass::analysis && !task_ && !restarts_) begin_analysis();
    if (!restarts_) work_ = std::async(std::launch::async, [this, strip, row] { work(strip, row); });
    clock_.enter(Stage::decode);
}

bool Measurer::InStrips::again() {
    wait();
    clock_.enter(Stage::analyze);
    if (std::exchange(restarts_, false)) return true;
    if (pass_ == Pass::analysis) {
        if (task_->end_pass()) return true;
        end_analysis();
        const bool bins = traits_of(image_.view.depth).counting == Counting::bins;
        if (bins && measurer_.needs_values(image_)) {
            pass_ = Pass::values;
            return true;
        }
    }
    if (pass_ == Pass::copies) {
        write([&] { rows_->finish(); });
        return false;
    }
    if (!image_.writes.normalized) return false;
    pass_ = Pass::copies;
    begin_copies();
    return true;
}

void Measurer::InStrips::begin(const io::Image& strip) {
    image_.in_strips = true;
    image_.file = strip;
    image_.file.pixels.release();
    image_.file.mask.release();
    image_.view = io::masked_view(strip);
    image_.masked_by_file = image_.view.mask != nullptr;
    clock_.enter(Stage::memory);
    const bool bins = traits_of(image_.view.depth).counting == Counting::bins;
    share_.require(share_.bytes() + (bins ? counting_bytes(image_.view) : 0) +
                   analysis_bytes(image_.view, image_.file, measurer_.options_));
    image_.view.data = nullptr;
    image_.view.width = static_cast<std::int64_t>(strip.width);
    image_.view.height = static_cast<std::int64_t>(strip.height);
    image_.view.row_bytes = image_.view.packed_row_bytes();
    if (measurer_.masks_.any()) open_mask();
    measurer_.prepare(image_);
    if (measurer_.pass_ == 1) return;
    pass_ = Pass::copies;
    begin_copies();
}

/// Opens the mask that was given, once there is memory for it: for strips as they are decoded, and for the bytes of one
/// that waits, and of the rows beside a strip of the image.
void Measurer::InStrips::open_mask() {
    const ImageView& view = image_.view;
    const std::uint64_t held = share_.bytes();
    const std::uint64_t rows = MaskRows::strip_bytes + measurer_.strip_bytes();
    io::DecodeOptions decode = measurer_.decoding();
    decode.admit = [this, held, rows, pixels = static_cast<std::uint64_t>(view.pixels())](std::uint64_t file_bytes,
                                                                                          std::uint64_t pixel_bytes) {
        if (given_) return;  // it is opened for a further pass
        share_.require(held + file_bytes + pixel_bytes + std::max(rows, pixel_bytes < pixels ? rows : pixels));
    };
    given_.emplace([this, decode, width = view.width, height = view.height](const io::Strips& strips) {
        return measurer_.masks_.read_strips(image_.outcome->input, {width, height, image_.file.pages}, decode, strips);
    });
    static constexpr std::uint8_t some = 0;
    image_.view.mask = &some;  // strips have theirs
    image_.view.mask_row_bytes = view.width;
}

void Measurer::InStrips::begin_analysis() {
    clock_.enter(Stage::engine);
    const bool copied = image_.writes.normalized && !measurer_.luts_;
    if (copied) normalization_ = measurer_.normalization_of(image_.file);
    task_.emplace(measurer_.engines_.analyze_strips(image_.view, image_.request, image_.analysis,
                                                    copied ? &normalization_ : nullptr, measurer_.in_flight_ == 1));
}

void Measurer::InStrips::end_analysis() {
    image_.outcome->engine = task_->engine();
    if (given_ && given_->zero_is_white()) image_.outcome->remarks.push_back(remark_on_white_mask());
    measurer_.name(image_, image_.file);
    if (!image_.writes.normalized || measurer_.luts_) return task_.reset();
    image_.outcome->add(remarks_on_copy(image_.analysis, normalization_, measurer_.options_.copies_asked()));
}

void Measurer::InStrips::wait() {
    if (!work_.valid()) return;
    clock_.enter(Stage::analyze);
    try {
        work_.get();
    } catch (const CudaError& error) {
        if (!measurer_.engines_.does_without_gpu(error)) throw;
        task_.reset();
        restarts_ = true;
    }
}

void Measurer::InStrips::work(const io::Image& strip, std::uint64_t row) {
    divide_by_alpha(measurer_.options_.validity, strip);
    ImageView view = io::masked_view(strip);
    if (given_) intersect(view, given_->rows(static_cast<std::int64_t>(row), view.height, view.width));
    switch (pass_) {
        case Pass::analysis:
            return analyze(view);
        case Pass::values:
            return count_values(view, strip.samples);
        case Pass::copies:
            return write([&] { copy(view, strip.samples); });
    }
}

void Measurer::InStrips::analyze(const ImageView& view) {
    task_->take(view);
    std::uint64_t bytes = 0;
    for (const ChannelAnalysis& channel : image_.analysis.channels) bytes += channel.values.memory_bytes();
    const std::uint64_t most = measurer_.budget_.limit() / 2;  // as much again where they are merged
    if (bytes > most)
        throw IoError(image_.outcome->input.path + ": the different values of its " + to_string(view.depth) +
                          " samples take more than half of --memory, " + std::to_string(most) + " bytes",
                      IoError::Kind::too_large);
}

void Measurer::InStrips::count_values(const ImageView& view, Samples samples) {
    if (image_.outcome->end) return;
    try {
        auto tables = count_frequencies(view, measurer_.values_, image_.request, samples);
        if (image_.values.empty()) image_.values.assign(tables.size(), FrequencyTable(measurer_.values_));
        for (std::size_t i = 0; i < tables.size(); ++i) {
            image_.values[i].add(tables[i]);
            image_.values[i].settle();
        }
    } catch (const IoError& error) {
        image_.outcome->end = failure_of(error);  // of the file of values, which others need as well
    }
}

void Measurer::InStrips::begin_copies() {
    Copy& copy = image_.copy;
    copy.depth = measurer_.luts_ ? measurer_.luts_for(image_.view.depth).copy_depth()
                                 : normalized_depth(image_.view.depth, normalization_);
    type_ = CV_MAKETYPE(io::opencv_depth(copy.depth), image_.view.channels);
    measurer_.form_copy(image_);
    write([&] {
        copy.file.emplace(measurer_.files_.open_copy(image_.outcome->input, copy, image_.file.samples));
        if (image_.view.height > std::numeric_limits<int>::max())
            throw IoError(copy.file->path().string() + ": not written: a copy of " +
                          std::to_string(image_.view.height) + " rows is too large");
        const cv::Size sides(static_cast<int>(image_.view.width), static_cast<int>(image_.view.height));
        rows_ = io::encode_rows(*copy.file, sides, type_, image_.file.samples, copy.depth, copy.form);
    });
}

void Measurer::InStrips::copy(const ImageView& view, Samples samples) {
    if (copied_.rows < view.height) copied_.create(static_cast<int>(view.height), static_cast<int>(view.width), type_);
    const cv::Mat rows = copied_.rowRange(0, static_cast<int>(view.height));
    MutableImageView output = io::mutable_view(copied_);
    output.height = view.height;
    output.order = view.order;
    output.depth = image_.copy.depth;
    if (measurer_.luts_)
        measurer_.apply_luts(view, samples, image_.request, output);
    else
        task_->copy(view, output);
    rows_->add(rows);
}

}  // namespace gpuhist::app
