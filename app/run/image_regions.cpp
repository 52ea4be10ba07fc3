// Regions of images: those of a label image, and rectangles.
#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <utility>

#include "gpuhist/error.hpp"
#include "gpuhist/io/outlines.hpp"
#include "gpuhist/regions.hpp"
#include "run/image_task.hpp"

namespace gpuhist::app {

/// Regions of an image that are being measured.
class Measurer::Regions {
  public:
    Regions(Measurer& measurer, Image& image, MemoryBudget::Share& share, StageClock& clock)
        : measurer_(measurer),
          options_(measurer.options_),
          image_(image),
          share_(share),
          clock_(clock),
          about_{image.outcome->input.index, measurer.info_of(image), {}},
          pooled_(measurer.summed_ && options_.group_by == GroupBy::region) {}

    /// Measures the regions of a label image. Their names are labels, behind the name of the image if it has one.
    void measure_labels(const Measurer::Labels& labels);
    void measure_rectangles();
    /// Measures the pixels in each outline; outlines may overlap.
    void measure_outlines();

  private:
    class Layer;                                        // below
    static constexpr std::size_t most_at_once = 32;     ///< rectangles whose results are held
    static constexpr std::size_t most_formatted = 256;  ///< regions whose rows are formatted at once

    /// Gives the analysis of a region the names and the white of the file.
    void name(Analysis& analysis) const;
    /// Rows of a region. Safe to call from several threads.
    Formatted rows_of(const io::RegionInfo& region, Analysis& analysis,
                      const std::vector<FrequencyTable>& values) const;
    /// Adds rows to the outcome. Returns false where the run ends.
    bool add_rows(const Formatted& rows);
    void add_labels(std::vector<Region>& regions, const std::string& of);
    std::vector<Rectangle> rectangles() const;
    std::uint64_t bytes_of_copies() const;
    void measure(const Rectangle* first, std::size_t count);
    void pool(const std::string& name, Analysis& analysis, std::vector<FrequencyTable> values);

    Measurer& measurer_;
    const Options& options_;
    Image& image_;
    MemoryBudget::Share& share_;
    StageClock& clock_;
    const io::ImageResult about_;
    const bool pooled_;  ///< by names, over all images
    /// Images wait for those before them, with the rows that they have in memory.
    const std::uint64_t most_bytes_of_rows_ =
        std::clamp<std::uint64_t>(measurer_.budget_.limit() / 256, 1 << 16, 1 << 20);
    std::uint64_t pooled_bytes_ = 0;
};

void Measurer::Regions::name(Analysis& analysis) const {
    name_channels(analysis, image_.file.samples, image_.file.bands);
    analysis.white = options_.white.value_or(image_.file.white);
}

Formatted Measurer::Regions::rows_of(const io::RegionInfo& region, Analysis& analysis,
                                     const std::vector<FrequencyTable>& values) const {
    name(analysis);
    const std::vector<Statistics> rows = statistics(analysis, options_.statistics(), values);
    return measurer_.sinks_.format(io::record_of(about_, region, rows));
}

bool Measurer::Regions::add_rows(const Formatted& rows) {
    if (image_.outcome->end) return false;
    try {
        image_.outcome->regions.add(rows, measurer_.values_, most_bytes_of_rows_);
        return true;
    } catch (const IoError& error) {
        image_.outcome->end = failure_of(error);  // of the file of values, which others need as well
        return false;
    }
}

/// Takes note of a region for its group, and brings what is too much for memory to the file of values. Of 8 and 16 bits
/// a region has mostly fewer pixels than the type has values: its group keeps those that occur.
void Measurer::Regions::pool(const std::string& name, Analysis& analysis, std::vector<FrequencyTable> values) {
    for (ChannelAnalysis& channel : analysis.channels) channel.centroid_sums = {};  // a set has no coordinates
    const DepthTraits& depth = traits_of(analysis.depth);
    if (depth.counting == Counting::values && analysis.channels.front().pixels < depth.values)
        for (ChannelAnalysis& channel : analysis.channels) {
            if (!channel.counts.empty()) channel.values = frequencies_of(analysis.depth, channel.counts);
            channel.counts = {};
            values.push_back(channel.values);
        }
    image_.regions.push_back({name, std::move(analysis), std::move(values)});
    pooled_bytes_ += image_.regions.back().memory_bytes();
    if (pooled_bytes_ <= most_held) return;
    try {
        for (const PooledRegion& one : image_.regions) {
            Summary sum;
            sum.add(one.analysis, one.values);
            image_.stored_regions.emplace_back(one.name, io::store(sum, *measurer_.values_));
        }
    } catch (const IoError& error) {
        image_.outcome->end = failure_of(error);  // of the file of values, which others need as well
    }
    image_.regions.clear();
    pooled_bytes_ = 0;
}

void Measurer::Regions::add_labels(std::vector<Region>& regions, const std::string& of) {
    const auto name_of = [&](const Region& region) {
        return (of.empty() ? "" : of + ":") + std::to_string(region.label);
    };
    if (measurer_.kept_) {
        for (Region& region : regions) {
            name(region.analysis);
            image_.outcome->labeled.push_back(std::move(region));
        }
        return;
    }
    for (std::size_t first = 0; first < regions.size(); first += most_formatted) {
        std::vector<Formatted> rows(std::min(most_formatted, regions.size() - first));
        const auto work = [&](std::size_t i) {
            Region& region = regions[first + i];
            const std::string name = name_of(region);
            rows[i] = rows_of({name, region.x, region.y, region.width, region.height, region.area, region.centroid_x,
                               region.centroid_y},
                              region.analysis, region.values);
        };
        if (measurer_.threads_of_image() > 1)
            tbb::parallel_for(std::size_t{0}, rows.size(), work);
        else
            for (std::size_t i = 0; i < rows.size(); ++i) work(i);
        for (const Formatted& one : rows)
            if (!add_rows(one)) return;
    }
    if (pooled_)
        for (Region& region : regions) pool(name_of(region), region.analysis, std::move(region.values));
}

/// Memory for copies of the pixels of labels, with their coordinates. Copies that stay in a cache are read faster, but
/// for each group of labels that are copied together, all pixels may be searched: at most about 16 times.
std::uint64_t Measurer::Regions::bytes_of_copies() const {
    constexpr std::uint64_t in_cache = 1 << 24, searches = 16;
    const ImageView& view = image_.view;
    const std::uint64_t pixel_bytes = sample_bytes(view.depth) * static_cast<std::uint64_t>(view.channels),
                        all = static_cast<std::uint64_t>(view.pixels()) * (pixel_bytes + 2 * sizeof(std::uint32_t) + 1);
    return std::min(
        all, std::clamp<std::uint64_t>(measurer_.budget_.limit() / 4, 1 << 20, std::max(in_cache, all / searches)));
}

void Measurer::Regions::measure_labels(const Measurer::Labels& labels) {
    clock_.enter(Stage::decode);
    const std::uint64_t held = share_.bytes();
    io::DecodeOptions decode = measurer_.decoding();
    decode.admit = [&](std::uint64_t file_bytes, std::uint64_t pixel_bytes) {
        share_.require(held + file_bytes + pixel_bytes);
    };
    const Input& input = image_.outcome->input;
    io::Image companion = labels.images.read(input, {image_.view.width, image_.view.height, image_.file.pages}, decode);
    if (traits_of(companion.depth).floating || traits_of(companion.depth).lowest < 0)
        share_.require(share_.bytes() + static_cast<std::uint64_t>(image_.view.pixels()) * sizeof(std::uint32_t));
    make_labels(companion, input);
    clock_.enter(Stage::analyze);
    RegionOptions regions;
    regions.label_zero = options_.label_zero;
    regions.threads = measurer_.threads_of_image();
    if (pooled_ || options_.robust) regions.count_values = image_.file.samples;
    regions.memory = bytes_of_copies();
    share_.require(share_.bytes() + regions.memory);
    analyze_regions(
        image_.view, io::view(companion), image_.request,
        [&](std::vector<Region>& found) { add_labels(found, labels.name); }, regions);
    share_.require(held);
}

/// Rectangles of every image, then those of this one.
std::vector<Rectangle> Measurer::Regions::rectangles() const {
    std::vector<Rectangle> all = options_.rectangles;
    const auto own = measurer_.rectangles_.find(image_.outcome->input.path);
    if (own == measurer_.rectangles_.end()) return all;
    for (const Rectangle& one : own->second) {
        for (const Rectangle& other : options_.rectangles)
            if (other.name == one.name)
                throw InvalidArgument("two rectangles have the name '" + one.name +
                                      "', one of --roi and one of --rois");
        all.push_back(one);
    }
    return all;
}

void Measurer::Regions::measure_rectangles() {
    const std::vector<Rectangle> all = rectangles();
    for (std::size_t begin = 0; begin < all.size(); begin += most_at_once)
        measure(&all[begin], std::min(all.size() - begin, most_at_once));
}

void Measurer::Regions::measure(const Rectangle* first, std::size_t count) {
    const ImageView& view = image_.view;
    std::vector<Task> tasks(count);
    std::vector<Analysis> found(count);
    std::vector<Rectangle> inside;
    for (std::size_t i = 0; i < count; ++i) {
        const Rectangle& one = inside.emplace_back(within(first[i], view.width, view.height, options_.clip_rectangles));
        Job& job = tasks[i].job;
        job.request = image_.request;
        job.result = &found[i];
        job.image = view;
        job.image.width = one.width;
        job.image.height = one.height;
        const auto pixel = static_cast<std::int64_t>(sample_bytes(view.depth)) * view.channels;
        job.image.data = static_cast<const std::byte*>(view.data) + one.y * view.row_bytes + one.x * pixel;
        if (job.image.mask) job.image.mask += one.y * view.mask_row_bytes + one.x;
    }
    measurer_.engines_.run(tasks, measurer_.in_flight_ == 1, clock_);
    for (std::size_t i = 0; i < count; ++i) {
        if (const auto& error = tasks[i].job.error) std::rethrow_exception(error);
        const Rectangle& one = inside[i];
        const auto area = static_cast<std::uint64_t>(one.width * one.height);
        std::vector<FrequencyTable> values;
        if ((pooled_ || options_.robust) && traits_of(view.depth).counting == Counting::bins)
            values = count_frequencies(tasks[i].job.image, nullptr, image_.request, image_.file.samples);
        find_centroids(tasks[i].job.image, one.x, one.y, image_.request, found[i], measurer_.threads_of_image());
        const double x = static_cast<double>(one.x) + static_cast<double>(one.width - 1) / 2,
                     y = static_cast<double>(one.y) + static_cast<double>(one.height - 1) / 2;
        if (!add_rows(rows_of({one.name, one.x, one.y, one.width, one.height, area, x, y}, found[i], values))) return;
        if (pooled_) pool(one.name, found[i], std::move(values));
    }
}

/// Outlines that are measured together: their pixels as labels. One that overlaps another waits for the next layer.
class Measurer::Regions::Layer {
  public:
    explicit Layer(const ImageView& image) : width_(image.width), labels_(static_cast<std::size_t>(image.pixels())) {}

    /// Adds the pixels of an outline, unless one of them is another's. Returns whether it did.
    bool add(const io::OutlinePixels& pixels, std::uint32_t label) {
        const auto each = [&](const auto& visit) {
            for (std::int64_t i = 0; i < static_cast<std::int64_t>(pixels.mask.size()); ++i)
                if (pixels.mask[static_cast<std::size_t>(i)] != 0)
                    visit(labels_[static_cast<std::size_t>((pixels.y + i / pixels.width) * width_ + pixels.x +
                                                           i % pixels.width)]);
        };
        bool overlaps = false;
        each([&](std::uint32_t there) { overlaps = overlaps || there != 0; });
        if (!overlaps) each([&](std::uint32_t& there) { there = label; });
        return !overlaps;
    }
    ImageView view() const {
        ImageView labels;
        labels.data = labels_.data();
        labels.width = width_;
        labels.height = static_cast<std::int64_t>(labels_.size()) / width_;
        labels.row_bytes = width_ * static_cast<std::int64_t>(sizeof(std::uint32_t));
        labels.channels = 1;
        labels.depth = Depth::u32;
        return labels;
    }

  private:
    const std::int64_t width_;
    std::vector<std::uint32_t> labels_;
};

void Measurer::Regions::measure_outlines() {
    if (!measurer_.outlines_.any()) return;
    const Input& input = image_.outcome->input;
    const ImageView& view = image_.view;
    std::vector<io::Outline> outlines = io::read_outlines(measurer_.outlines_.path_of(input));
    const auto elsewhere = [&](const io::Outline& one) {
        return one.page > 0 && input.page > 0 && one.page != input.page;
    };
    outlines.erase(std::remove_if(outlines.begin(), outlines.end(), elsewhere), outlines.end());
    const std::uint64_t held = share_.bytes();
    RegionOptions regions;
    regions.threads = measurer_.threads_of_image();
    if (pooled_ || options_.robust) regions.count_values = image_.file.samples;
    regions.memory = bytes_of_copies();
    share_.require(held + static_cast<std::uint64_t>(view.pixels()) * sizeof(std::uint32_t) + regions.memory);
    std::vector<Region> found(outlines.size());
    std::vector<std::uint32_t> waiting(outlines.size());
    for (std::uint32_t i = 0; i < waiting.size(); ++i) waiting[i] = i;
    while (!waiting.empty()) {
        Layer layer(view);
        std::vector<std::uint32_t> later;
        for (const std::uint32_t i : waiting) {
            const io::OutlinePixels inside = io::pixels_of(outlines[i], view.width, view.height);
            const std::string name = "region " + outlines[i].name;
            if (inside.leaves && !options_.clip_rectangles)
                throw InvalidArgument(name + " leaves the image of " + std::to_string(view.width) + " x " +
                                      std::to_string(view.height) + ": --clip-rois clips it");
            if (inside.mask.empty()) throw InvalidArgument(name + " contains no pixel of the image");
            if (!layer.add(inside, i + 1)) later.push_back(i);
        }
        analyze_regions(
            view, layer.view(), image_.request,
            [&](std::vector<Region>& some) {
                for (Region& region : some) found[region.label - 1] = std::move(region);
            },
            regions);
        waiting = std::move(later);
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
        Region& region = found[i];
        const std::string& name = outlines[i].name;
        if (!add_rows(rows_of({name, region.x, region.y, region.width, region.height, region.area, region.centroid_x,
                               region.centroid_y},
                              region.analysis, region.values)))
            return;
        if (pooled_) pool(name, region.analysis, std::move(region.values));
    }
    share_.require(held);
}

/// Measures the regions of an image, whose rows follow each other as labels ascend; then rectangles and outlines.
void Measurer::measure_regions(Image& image, MemoryBudget::Share& share, StageClock& clock) {
    Regions regions(*this, image, share, clock);
    for (const Labels& labels : labels_) regions.measure_labels(labels);
    regions.measure_rectangles();
    regions.measure_outlines();
}

}  // namespace gpuhist::app
