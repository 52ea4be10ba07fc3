#include "run/image_batch.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "gpuhist/error.hpp"
#include "run/interruption.hpp"
#include "run/remarks.hpp"
#include "run/set_summary.hpp"

namespace gpuhist::app {
namespace {

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
        outcome.add(remarks_on(image.file));
        outcome.pixels = static_cast<std::uint64_t>(image.view.pixels());
    });
    ended_ = ended_ || outcome.ends_run();
    if (!done) return;
    const bool small = EnginePool::is_small(image.view);
    if (!small) finish();
    held_ += image.bytes(measurer_.options_);
    waiting_.push_back(std::move(image));
    if (!small || held_ >= most_held) finish();
}

void Measurer::Images::finish() {
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

void Measurer::Images::analyze() {
    std::vector<Task> tasks;
    std::vector<Image*> images;
    for (Image& image : waiting_) {
        if (image.in_strips) continue;
        attempt(*image.outcome, [&] {
            tasks.push_back(measurer_.task_of(image));
            images.push_back(&image);
        });
    }
    measurer_.engines_.run(tasks, measurer_.in_flight_ == 1, clock_);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        Image& image = *images[i];
        image.outcome->engine = tasks[i].engine;
        attempt(*image.outcome, [&] {
            if (const auto& error = tasks[i].job.error) std::rethrow_exception(error);
            measurer_.name(image, image.file);
            if (const auto& normalization = tasks[i].job.normalization)
                image.outcome->add(remarks_on_copy(image.analysis, *normalization, measurer_.options_.copies_asked()));
        });
    }
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
