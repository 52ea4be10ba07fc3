#include "run/image_batch.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <opencv2/core.hpp>
#include <optional>
#include <utility>

#include "gpuhist/error.hpp"
#include "run/interruption.hpp"
#include "run/remarks.hpp"
#include "run/set_summary.hpp"

namespace gpuhist::app {
namespace {

/// Path up to the first dot in the name: images with the same one are a sample of WebDataset.
std::string key_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return path.substr(0, path.find('.', slash == path.npos ? 1 : slash + 2));
}

/// Runs a step of the work for an input. Returns whether it went well; else the outcome says why it did not.
template <class Step>
bool attempt(Outcome& outcome, Step step) {
    const std::string& path = outcome.input.path;
    try {
        step();
        return true;
    } catch (const OutOfMemory&) {  // smaller images may still fit
        outcome.failure = current_failure(path);
    } catch (const CudaError&) {
        outcome.end = current_failure(path);
        outcome.engine_ended = true;
    } catch (const Interrupted&) {
        outcome.interrupted = true;
    } catch (const EngineUnavailable& error) {
        outcome.end = Failure{"engine", error.what()};
        outcome.engine_ended = true;
    } catch (...) {
        outcome.failure = current_failure(path);
    }
    return false;
}

}  // namespace

void Measurer::Images::read(Outcome& outcome) {
    Image image{&outcome, measurer_.writes_of(outcome)};
    if (measurer_.pass_ == 2 && !image.writes.normalized) return;
    clock_.enter(Stage::read);
    const bool done = attempt(outcome, [&] {
        if (!spare_.empty()) {
            image.analysis = std::move(spare_.back());
            spare_.pop_back();
        }
        measurer_.read(image, held_, share_, clock_);
        const std::uint64_t more = image.in_strips ? 0 : analysis_bytes(image.view, image.file, measurer_.options_);
        if (more > 0) share_.require(share_.bytes() + more);
        if (!image.in_strips) {
            measurer_.read_mask(image, share_);
            measurer_.prepare(image);
        }
        if (!image.left_encoded()) outcome.add(remarks_on(image.file));
        outcome.pixels = static_cast<std::uint64_t>(image.view.pixels());
    });
    ended_ = ended_ || outcome.ends_run();
    if (!done) return;
    // Small images wait for others, and JPEGs for a GPU, which decodes several at once.
    const bool waits = image.left_encoded() || EnginePool::is_small(image.view);
    if (!waits) finish();
    held_ += image.bytes(measurer_.options_);
    waiting_.push_back(std::move(image));
    const std::uint64_t most =
        waiting_.back().left_encoded() ? std::min(most_decoded, measurer_.budget_.limit() / 16) : most_held;
    if (!waits || held_ >= most) finish();
}

void Measurer::Images::finish() {
    decode();
    if (measurer_.pass_ == 1) analyze();
    for (Image& image : waiting_) {
        Outcome& outcome = *image.outcome;
        if (!outcome.failure && !outcome.ends_run())
            attempt(outcome, [&] {
                count_values_of(image);
                if (outcome.end) return;
                if (measurer_.pass_ == 1 && measurer_.options_.regions_asked())
                    measurer_.measure_regions(image, share_, clock_);
                if (outcome.end) return;
                measurer_.write_results(image, clock_);
                if (!outcome.end) add_up(image);
            });
        for (const auto& [name, stored] : image.stored_regions)  // of an image that failed
            measurer_.values_->give_back(stored.place, stored.bytes);
        ended_ = ended_ || outcome.ends_run();
        if (measurer_.kept_) {
            outcome.analysis = std::move(image.analysis);
            outcome.values = std::move(image.values);
        } else {
            spare_.push_back(std::move(image.analysis));
        }
    }
    waiting_.clear();
    held_ = 0;
}

void Measurer::Images::end() {
    finish();
    give_summaries();
}

/// Decodes the images that were left encoded: on the GPU, or here if the GPU does not decode them.
void Measurer::Images::decode() {
    std::vector<Image*> left;
    for (Image& image : waiting_)
        if (image.left_encoded()) left.push_back(&image);
    if (left.empty()) return;
    clock_.enter(Stage::decode);
    std::optional<Failure> end;
    int gpu = any_gpu;
    try {
        decode_on_gpu(left, gpu);
    } catch (const OutOfMemory&) {  // smaller images may still fit
    } catch (const Error& error) {
        if (!measurer_.jpegs_.does_without(gpu, error)) end = Failure{"engine", error.what()};
    }
    for (Image* image : left) {
        Outcome& outcome = *image->outcome;
        if (image->measured) continue;
        if (end) {
            outcome.end = end;
            outcome.engine_ended = true;
        }
        if (outcome.failure || outcome.ends_run()) continue;
        clock_.enter(Stage::decode);
        attempt(outcome, [&] {
            if (image->left_encoded()) measurer_.decode_left(*image, held_, share_);
            outcome.add(remarks_on(image->file));
        });
    }
}

/// Decodes images on a GPU, as far as it can. If nothing else needs their pixels, they are measured there. Nothing here
/// may wait for memory of the run.
void Measurer::Images::decode_on_gpu(const std::vector<Image*>& left, int& gpu) {
    std::vector<JpegFile> files;
    for (const Image* image : left) files.push_back({image->file.encoded.data(), image->file.encoded.size()});
    const JpegPool::Lease lane = measurer_.jpegs_.take();
    gpu = lane.gpu();
    const auto begun = std::chrono::steady_clock::now();
    const std::vector<JpegImage> decoded = lane->decode(files);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begun;
    std::vector<Task> tasks;
    std::vector<Image*> measured;
    for (std::size_t i = 0; i < left.size(); ++i) {
        Image& image = *left[i];
        if (!decoded[i].reason.empty()) continue;
        image.decode_seconds = seconds.count() / static_cast<double>(left.size());
        const ImageView& from = decoded[i].view;
        if (measurer_.pass_ == 1 && !measurer_.needs_pixels(image)) {
            attempt(*image.outcome, [&] {
                tasks.push_back(measurer_.task_of(image));
                tasks.back().job.image = from;
                tasks.back().gpu = gpu;
                measured.push_back(&image);
            });
            continue;
        }
        cv::Mat pixels;
        pixels.allocator = measurer_.allocator_.get();
        if (!attempt(*image.outcome, [&] {
                pixels.create(static_cast<int>(from.height), static_cast<int>(from.width), CV_8UC(from.channels));
            }))
            continue;
        lane->copy(i, io::mutable_view(pixels));
        attempt(*image.outcome, [&] {
            measurer_.file_memory_.give_back(std::move(image.file.encoded));
            io::take_pixels(image.file, std::move(pixels), measurer_.allocator_.get());
            image.view.data = image.file.pixels.data;
            image.view.row_bytes = io::view(image.file).row_bytes;
        });
    }
    if (tasks.empty()) return;
    measurer_.engines_.run(tasks, measurer_.in_flight_ == 1, clock_);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        if (tasks[i].job.error) continue;  // it is decoded and measured once more
        Image& image = *measured[i];
        image.measured = true;
        measurer_.file_memory_.give_back(std::exchange(image.file.encoded, {}));
        image.outcome->add(remarks_on(image.file));
        took(image, tasks[i]);
    }
}

void Measurer::Images::analyze() {
    std::vector<Task> tasks;
    std::vector<Image*> images;
    for (Image& image : waiting_) {
        if (image.in_strips || image.measured || image.outcome->failure || image.outcome->ends_run()) continue;
        attempt(*image.outcome, [&] {
            tasks.push_back(measurer_.task_of(image));
            images.push_back(&image);
        });
    }
    measurer_.engines_.run(tasks, measurer_.in_flight_ == 1, clock_);
    for (std::size_t i = 0; i < tasks.size(); ++i) took(*images[i], tasks[i]);
}

/// Takes the findings of an engine.
void Measurer::Images::took(Image& image, const Task& task) {
    image.outcome->engine = task.engine;
    attempt(*image.outcome, [&] {
        if (task.job.error) std::rethrow_exception(task.job.error);
        measurer_.name(image, image.file);
        if (const auto& normalization = task.job.normalization)
            image.outcome->add(remarks_on_copy(image.analysis, *normalization, measurer_.options_.copies_asked()));
    });
}

void Measurer::Images::count_values_of(Image& image) {
    const Counting counting = traits_of(image.view.depth).counting;
    if (measurer_.pass_ == 2 || counting == Counting::values) return;
    if (counting == Counting::sorted) return store_values_of(image);
    if (image.in_strips || !measurer_.needs_values(image)) return;
    clock_.enter(Stage::memory);
    const std::uint64_t before = share_.bytes();
    share_.require(before + counting_bytes(image.view));
    clock_.enter(Stage::analyze);
    try {
        image.values = count_frequencies(image.view, measurer_.values_, image.request, image.file.samples);
    } catch (const IoError& error) {
        image.outcome->end = failure_of(error);  // of the file of values, which others need as well
    }
    share_.require(before);
}

void Measurer::Images::store_values_of(Image& image) {
    if (!measurer_.summed_) return;
    clock_.enter(Stage::analyze);
    try {
        for (const ChannelAnalysis& channel : image.analysis.channels)
            image.values.push_back(channel.values.merged(measurer_.values_));
    } catch (const IoError& error) {
        image.outcome->end = failure_of(error);  // of the file of values, which others need as well
    }
}

void Measurer::Images::add_up(Image& image) {
    if (!measurer_.summed_ || measurer_.pass_ == 2) return;
    clock_.enter(Stage::analyze);
    if (last_ && std::any_of(last_ + 1, image.outcome,
                             [](const Outcome& between) { return between.failure || between.ends_run(); }))
        give_summaries();
    if (!first_) first_ = image.outcome;
    try {
        const GroupBy by = measurer_.options_.group_by;
        if (by == GroupBy::directory) add_to(image.outcome->input.group, image.analysis, image.values);
        if (by == GroupBy::key) add_to(key_of(image.outcome->input.file_path()), image.analysis, image.values);
        if (by == GroupBy::file) add_to(image.outcome->input.file_path(), image.analysis, image.values);
        if (by == GroupBy::region) {
            for (const PooledRegion& one : image.regions) add_to(one.name, one.analysis, one.values);
            std::move(image.stored_regions.begin(), image.stored_regions.end(), std::back_inserter(stored_));
            image.stored_regions.clear();
        }
        summary_of(summaries_, "").add(image.analysis, image.values);
    } catch (const IoError& error) {
        first_->end = failure_of(error);  // the summaries are in doubt, and with them all that are in them
        ended_ = true;
    }
    last_ = image.outcome;
}

void Measurer::Images::add_to(const std::string& group, const Analysis& analysis,
                              const std::vector<FrequencyTable>& values) {
    Summary& summary = summary_of(summaries_, group);
    bytes_of_groups_ -= summary.memory_bytes();
    summary.add(analysis, values);
    bytes_of_groups_ += summary.memory_bytes();
    if (bytes_of_groups_ > most_held) store_groups();
}

void Measurer::Images::store_groups() {
    for (const io::Group& group : summaries_)
        if (!group.name.empty()) stored_.emplace_back(group.name, io::store(group.summary, *measurer_.values_));
    summaries_.erase(std::remove_if(summaries_.begin(), summaries_.end(),
                                    [](const io::Group& group) { return !group.name.empty(); }),
                     summaries_.end());
    bytes_of_groups_ = 0;
}

void Measurer::Images::give_summaries() {
    if (last_) {
        last_->summaries = std::exchange(summaries_, {});
        last_->stored = std::exchange(stored_, {});
        bytes_of_groups_ = 0;
    }
    first_ = nullptr;
}

}  // namespace gpuhist::app
