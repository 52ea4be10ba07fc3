#include "cpu/bands.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/analysis.hpp"
#include "core/bins.hpp"
#include "core/validate.hpp"
#include "engines.hpp"
#include "gpuhist/error.hpp"

namespace gpuhist {
namespace cpu {
namespace {

/// Copies samples of some bytes, which lie so far apart.
template <std::size_t bytes>
void copy_samples(const std::byte* from, std::size_t from_step, std::byte* to, std::size_t to_step,
                  std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i, from += from_step, to += to_step) std::memcpy(to, from, bytes);
}

void copy_row(const std::byte* from, std::size_t from_step, std::byte* to, std::size_t to_step, std::int64_t pixels,
              int channels, std::size_t bytes) {
    const auto copy = bytes == 1   ? copy_samples<1>
                      : bytes == 2 ? copy_samples<2>
                      : bytes == 4 ? copy_samples<4>
                                   : copy_samples<8>;
    for (int c = 0; c < channels; ++c, from += bytes, to += bytes) copy(from, from_step, to, to_step, pixels);
}

}  // namespace

MutableImageView Part::like(const ImageView& image, int channels, Depth depth) {
    MutableImageView view{nullptr, image.width, image.height, channels, depth, 0, image.order, image.memory};
    view.mask = image.mask;
    view.mask_row_bytes = image.mask_row_bytes;
    view.row_bytes = view.packed_row_bytes();
    memory_.resize(static_cast<std::size_t>(view.row_bytes * view.height));
    view.data = memory_.data();
    view_ = view;
    return view;
}

const ImageView& Part::of(const ImageView& image, int first, int channels) {
    const MutableImageView part = like(image, channels, image.depth);
    const std::size_t bytes = sample_bytes(image.depth), step = bytes * static_cast<std::size_t>(image.channels);
    const auto* from = static_cast<const std::byte*>(image.data) + bytes * static_cast<std::size_t>(first);
    for (std::int64_t y = 0; y < image.height; ++y)
        copy_row(from + y * image.row_bytes, step, memory_.data() + y * part.row_bytes,
                 bytes * static_cast<std::size_t>(channels), image.width, channels, bytes);
    return view_;
}

void Part::put(const MutableImageView& output, int first) const {
    const std::size_t bytes = sample_bytes(output.depth), step = bytes * static_cast<std::size_t>(output.channels);
    auto* to = static_cast<std::byte*>(output.data) + bytes * static_cast<std::size_t>(first);
    for (std::int64_t y = 0; y < output.height; ++y)
        copy_row(memory_.data() + y * view_.row_bytes, bytes * static_cast<std::size_t>(view_.channels),
                 to + y * output.row_bytes, step, output.width, view_.channels, bytes);
}

namespace {

/// Extremes of the finite samples of f32 analyses.
struct Found {
    bool any = false;
    float minimum = 0, maximum = 0;

    void add(const Analysis& analysis) {
        for (const ChannelAnalysis& channel : analysis.channels) {
            if (channel.valid() == 0) continue;
            minimum = any ? std::min(minimum, channel.minimum) : channel.minimum;
            maximum = any ? std::max(maximum, channel.maximum) : channel.maximum;
            any = true;
        }
    }
};

/// Counts samples at the upper end of the range in the last bin, with which it was not closed.
void close_range(Analysis& analysis) {
    for (ChannelAnalysis& channel : analysis.channels) {
        const std::uint64_t plus_infinite = channel.infinite - channel.below;  // nothing finite lies below
        channel.counts.back() += channel.above - plus_infinite;
        channel.above = plus_infinite;
    }
}

/// Maker of parts in host memory, which are copies.
class HostParts final : public PartMaker {
  public:
    ImageView take(const ImageView& image) override {
        if (image.memory != Memory::host)
            throw InvalidArgument(
                "engine cpu: the image lies in device memory; copy it to the host or use engine cuda");
        return image_ = image;
    }
    ImageView part(int first, int channels) override { return part_.of(image_, first, channels); }

  private:
    ImageView image_;
    Part part_;
};

/// Puts the findings in a part of an image, from this channel on, behind those in the parts before it.
void append_part(Analysis& whole, Analysis& part, int first) {
    if (first == 0) {
        std::swap(whole, part);
        if (whole.channels.size() == 1) whole.channels.front().channel = band(0);
        return;
    }
    whole.channels.push_back(std::move(part.channels.front()));
    whole.channels.back().channel = band(first);
}

/// Calls visit(first channel, channels) for the colors, and for each band.
template <class Visit>
void each_part(const ImageView& image, const Visit& visit) {
    const int bands = first_band(image);
    if (bands > 0) visit(0, bands);
    for (int c = bands; c < image.channels; ++c) visit(c, 1);
}

void validate_samples(const ImageView& image) {
    const std::string samples = "image of " + std::to_string(image.channels) + " channels: ";
    if (image.samples == Samples::gray_alpha || (image.samples == Samples::color_bands && image.channels < 4))
        throw InvalidArgument(samples + "gray and alpha are four samples a pixel, colors and bands more than three");
}

/// Analysis of an f32 image in parts that comes in strips. All parts are analysed beside each other: first for their
/// range, unless it is given, then as is asked, together with all samples as one channel.
class FloatParts final : public StripAnalysis {
  public:
    FloatParts(Engine& engine, const ImageView& image, const AnalysisRequest& request, Analysis& result)
        : engine_(engine), image_(image), request_(request), result_(result) {
        validate_samples(image);
        if (image.memory != Memory::host)
            throw InvalidArgument("strips of " + std::to_string(image.channels) +
                                  " channels: of f32 they are taken apart in host memory");
        begin();
    }

    void take(const ImageView& strip) override {
        for (One& one : all_)
            if (!one.done)
                one.analysis->take(one.channels == 0 ? as_one_channel(strip)
                                                     : part_.of(strip, one.first, one.channels));
    }

    bool end_pass() override {
        bool more = false;
        for (One& one : all_) {
            one.done = one.done || !one.analysis->end_pass();
            more = more || !one.done;
        }
        if (more) return true;
        if (!request_.range && !range_) {
            Found found;
            for (const One& one : all_) found.add(one.found);
            range_ = core::found_range(found.any, found.minimum, found.maximum);
            begin();
            return true;
        }
        Analysis whole;
        for (One& one : all_) {
            if (range_) close_range(one.found);
            if (one.channels > 0)
                append_part(whole, one.found, one.first);
            else
                whole.pooled_order_statistics = std::move(one.found.channels.front().order_statistics);
        }
        if (first_band(image_) == 0) whole.brightness.reset();
        whole.upper_closed = range_.has_value();
        result_ = std::move(whole);
        return false;
    }

  private:
    struct One {
        int first, channels;  ///< 0 channels: all as one
        Analysis found{};
        std::unique_ptr<StripAnalysis> analysis{};
        bool done = false;
    };

    void begin() {
        AnalysisRequest asked = request_;
        if (range_) asked.range = range_;
        if (!asked.range) {
            asked.detail = Detail::brief;
            asked.bins = 1;
        }
        all_.clear();
        each_part(image_, [&](int first, int channels) { all_.push_back({first, channels}); });
        if (asked.detail == Detail::full) all_.push_back({0, 0});
        for (One& one : all_) {
            ImageView view = one.channels == 0 ? as_one_channel(image_) : image_;
            if (one.channels > 0) view.channels = one.channels;
            view.samples = Samples::color;
            one.analysis = engine_.analyze_strips(view, asked, one.found);
        }
    }

    Engine& engine_;
    const ImageView image_;
    const AnalysisRequest request_;
    Analysis& result_;
    std::optional<Range> range_;  ///< that was found
    std::vector<One> all_;
    Part part_;
};

class PartsEngine final : public Engine {
  public:
    PartsEngine(std::unique_ptr<Engine> engine, std::unique_ptr<PartMaker> maker)
        : engine_(std::move(engine)), maker_(std::move(maker)) {}

    std::string_view name() const override { return engine_->name(); }

    void analyze(const ImageView& image, const AnalysisRequest& request, Analysis& result) override {
        if (by_parts(image, false))
            analyze_parts(image, request, result);
        else
            engine_->analyze(image, request, result);
    }

    void normalize(const ImageView& image, const AnalysisRequest& request, const Normalization& normalization,
                   const MutableImageView& output, Analysis& result) override {
        if (!by_parts(image, true)) return engine_->normalize(image, request, normalization, output, result);
        core::validate(normalization);
        core::validate_output(image, normalized_depth(image.depth, normalization), output);
        if (image.memory != Memory::host)
            throw InvalidArgument("copy of an image of " + std::to_string(image.channels) +
                                  " channels: it is made in host memory, and the image lies in device memory");
        if (normalization.joint && traits_of(normalization.mode).joint_by_luma)
            throw InvalidArgument(std::string(to_string(normalization.mode)) +
                                  " of bands together goes by luma, which they have not: separate tables");
        analyze_parts(image, request, result);
        if (normalization.joint) return normalize_as_one(image, request, normalization, output);
        for (int c = 0; c < image.channels; ++c) {
            const MutableImageView copy = copy_.like(image, 1, output.depth);
            engine_->normalize(part_.of(image, c, 1), request, normalization, copy, of_part_);
            copy_.put(output, c);
        }
    }

    std::unique_ptr<StripAnalysis> analyze_strips(const ImageView& image, const AnalysisRequest& request,
                                                  Analysis& result, const Normalization* copies) override {
        if (!by_parts(image, copies)) return engine_->analyze_strips(image, request, result, copies);
        if (copies) throw InvalidArgument("copies of strips: bands have none");
        if (traits_of(image.depth).counting != Counting::bins)
            return Engine::analyze_strips(image, request, result, copies);
        return std::make_unique<FloatParts>(*engine_, image, request, result);
    }

    void run(Job* jobs, std::size_t count) override {
        for (std::size_t begin = 0, end; begin < count; begin = end) {
            const bool parts = by_parts(jobs[begin]);
            for (end = begin + 1; end < count && by_parts(jobs[end]) == parts;) ++end;
            if (parts)
                Engine::run(jobs + begin, end - begin);
            else
                engine_->run(jobs + begin, end - begin);
        }
    }

  private:
    /// Verdict on an image: four channels are swept at once, but that a fourth band has no part in f32's order
    /// statistics of all colors, nor in normalisations, which take it for alpha.
    static bool by_parts(const ImageView& image, bool normalized) {
        const bool fourth =
            image.channels == 4 && (image.samples == Samples::bands || image.samples == Samples::color_bands);
        return cpu::has_parts(image) || (fourth && (normalized || traits_of(image.depth).counting == Counting::bins));
    }
    static bool by_parts(const Job& job) { return by_parts(job.image, job.normalization.has_value()); }

    static void validate(const ImageView& image, const AnalysisRequest& request) {
        core::validate(image, request);
        validate_samples(image);
    }

    void analyze_parts(const ImageView& given, const AnalysisRequest& request, Analysis& result) {
        validate(given, request);
        const ImageView image = maker_->take(given);
        const bool bins = traits_of(image.depth).counting == Counting::bins;
        AnalysisRequest asked = request;
        if (bins && !request.range) asked.range = range_of(image, request);
        Analysis whole;
        std::vector<ChannelAnalysis> former = std::move(result.channels);  // their memory is reused
        each_part(image, [&](int first, int channels) {
            const std::size_t at = whole.channels.size();
            of_part_.channels.resize(1);
            if (at < former.size()) std::swap(of_part_.channels.front(), former[at]);
            engine_->analyze(maker_->part(first, channels), asked, of_part_);
            if (bins && !request.range) close_range(of_part_);
            append_part(whole, of_part_, first);
        });
        if (cpu::first_band(image) == 0) whole.brightness.reset();
        whole.upper_closed = bins && !request.range;
        if (whole.detail == Detail::full && bins) {
            engine_->analyze(as_one(image), asked, of_part_);
            whole.pooled_order_statistics = std::move(of_part_.channels.front().order_statistics);
        }
        result = std::move(whole);
    }

    /// Range over all parts of an image that was taken.
    Range range_of(const ImageView& image, const AnalysisRequest& request) {
        AnalysisRequest brief = request;
        brief.detail = Detail::brief;
        brief.bins = 1;
        Found found;
        each_part(image, [&](int first, int channels) {
            engine_->analyze(maker_->part(first, channels), brief, of_part_);
            found.add(of_part_);
        });
        return core::found_range(found.any, found.minimum, found.maximum);
    }

    static ImageView as_one(const ImageView& image) { return cpu::as_one_channel(image); }

    /// Writes a copy by one table of all channels: as of one channel that has all samples.
    void normalize_as_one(const ImageView& image, const AnalysisRequest& request, const Normalization& normalization,
                          const MutableImageView& output) {
        engine_->normalize(as_one(image), request, normalization, cpu::as_one_channel(output), of_part_);
    }

    const std::unique_ptr<Engine> engine_;
    const std::unique_ptr<PartMaker> maker_;
    cpu::Part part_, copy_;  ///< of normalisations
    Analysis of_part_;
};

}  // namespace

std::unique_ptr<PartMaker> make_parts() {
    return std::make_unique<HostParts>();
}

}  // namespace cpu

std::unique_ptr<Engine> with_parts(std::unique_ptr<Engine> engine, std::unique_ptr<PartMaker> maker) {
    return std::make_unique<cpu::PartsEngine>(std::move(engine), std::move(maker));
}

}  // namespace gpuhist
