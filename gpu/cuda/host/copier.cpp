#include "cuda/host/copier.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "core/codes.hpp"
#include "cuda/host/analyzer.hpp"
#include "cuda/host/classifier.hpp"
#include "cuda/host/sorted_analysis.hpp"
#include "cuda/normalize/curve_copy.hpp"
#include "cuda/normalize/place_copy.hpp"
#include "cuda/normalize/table_copy.hpp"
#include "normalize/background.hpp"
#include "normalize/clahe.hpp"
#include "normalize/depths.hpp"

namespace gpuhist::cuda {
namespace {

class DeviceCopier final : public plan::Copier {
  public:
    explicit DeviceCopier(int gpu) : gpu_(gpu) {}

    void write(const plan::DeviceCopy& of, const plan::SampleTables& tables) override {
        run([&](const Launch& launch) { write(of, tables, launch); });
    }
    void write(const plan::DeviceCopy& of, const std::array<const core::CurveFacts*, 4>& facts) override {
        run([&](const Launch& launch) { write(of, facts, launch); });
    }
    void write_by_place(const plan::DeviceCopy& of) override {
        run([&](const Launch& launch) {
            of.normalization.mode == NormalizeMode::clahe ? write_clahe(of, launch) : write_background(of, launch);
        });
    }

    std::vector<double> gather(const ImageView& image, const std::vector<int>& positions, std::int64_t stride,
                               std::int64_t most) override {
        const std::int64_t n = image.pixels() * static_cast<std::int64_t>(positions.size());
        std::vector<double> values(static_cast<std::size_t>(std::min(most, (n + stride - 1) / stride)));
        run([&](const Launch& launch) {
            SampleGather gather{image_of(image),
                                image.depth,
                                image.channels,
                                {},
                                static_cast<int>(positions.size()),
                                stride,
                                static_cast<std::int64_t>(values.size()),
                                nullptr};
            std::copy(positions.begin(), positions.end(), gather.positions);
            gather.values = reinterpret_cast<double*>(memory_.reserve(values.size() * sizeof(double)));
            launch_gather(gather, launch);
            fetch(values, gather.values, launch);
        });
        return values;
    }

    std::vector<FrequencyTable> frequencies(const ImageView& image) override {
        AnalysisRequest request;
        request.luma_histogram = image.channels > 1;
        run([&](const Launch& launch) { sorted_.analyze(image, request, sorted_findings_, launch.stream); });
        std::vector<FrequencyTable> tables;
        for (ChannelAnalysis& channel : sorted_findings_.channels) tables.push_back(std::move(channel.values));
        return tables;
    }

  private:
    /// Runs work on the stream, and waits for it.
    template <class Work>
    void run(const Work& work) {
        const CurrentDevice current(gpu_);
        if (!stream_) stream_.emplace();
        try {
            Launch launch = launch_on(gpu_);
            launch.stream = *stream_;
            work(launch);
            GPUHIST_CUDA(cudaStreamSynchronize(*stream_));
        } catch (...) {
            ignore(cudaStreamSynchronize(*stream_));
            throw;
        }
    }

    void write(const plan::DeviceCopy& of, const plan::SampleTables& tables, const Launch& launch) {
        TableCopy copy{pixel_copy(of), {}};
        const Uploads memory(memory_.reserve(tables.at.size() * place_after(tables.bytes)), launch.stream);
        for (int c = 0; c < of.image.channels; ++c) {
            const auto end = tables.at.begin() + c;
            const auto same = std::find(tables.at.begin(), end, tables.at[c]);
            copy.tables[c] =
                same != end ? copy.tables[same - tables.at.begin()] : memory.add(tables.at[c], tables.bytes);
        }
        launch_table_copy(copy, launch);
    }

    void write(const plan::DeviceCopy& of, const std::array<const core::CurveFacts*, 4>& facts, const Launch& launch) {
        CurveCopy copy{pixel_copy(of), traits_of(of.normalization.mode).real, {}};
        std::size_t bytes = 0;
        for (const core::CurveFacts* one : facts)
            if (one) bytes += 2 * place_after(one->matched.values.size() * sizeof(double));
        const Uploads memory(memory_.reserve(bytes), launch.stream);
        for (int c = 0; c < of.image.channels; ++c) {
            CurveOfChannel& to = copy.curves[c];
            to.levels = core::levels_of(of.output.depth, c < 3 ? of.normalization.fill : std::nullopt);
            if (!facts[c]) continue;
            const auto same = std::find(facts.begin(), facts.begin() + c, facts[c]) - facts.begin();
            if (same < c) {
                to = copy.curves[same];
                continue;
            }
            to.maps = true;
            to.numbers = *facts[c];
            to.match = core::MatchCurve(*facts[c]);
            to.match.values = memory.add(facts[c]->matched.values);
            to.match.matched = memory.add(facts[c]->matched.matched);
        }
        launch_curve_copy(copy, launch);
    }

    /// Pieces of host memory that are copied to the GPU, one behind the other.
    class Uploads {
      public:
        Uploads(char* base, cudaStream_t stream) : next_(base), stream_(stream) {}
        template <class T>
        const T* add(const T* from, std::size_t bytes) const {
            char* const to = std::exchange(next_, next_ + place_after(bytes));
            if (bytes > 0) GPUHIST_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_));
            return reinterpret_cast<const T*>(to);
        }
        const void* add(const void* from, std::size_t bytes) const {
            return add(static_cast<const char*>(from), bytes);
        }
        template <class T>
        const T* add(const std::vector<T>& from) const {
            return add(from.data(), from.size() * sizeof(T));
        }

      private:
        mutable char* next_;
        const cudaStream_t stream_;
    };

    static void fetch(std::vector<double>& to, const double* from, const Launch& launch) {
        GPUHIST_CUDA(
            cudaMemcpyAsync(to.data(), from, to.size() * sizeof(double), cudaMemcpyDeviceToHost, launch.stream));
        GPUHIST_CUDA(cudaStreamSynchronize(launch.stream));
    }

    static PixelCopy pixel_copy(const plan::DeviceCopy& of) {
        const ImageView& image = of.image;
        PixelCopy copy{settling(image, class_rules(of.rules, image.channels), of.output.depth,
                                of.normalization.valid_only, of.normalization.fill, of.rules.has_alpha()),
                       {image.data, image.width, image.height, image.row_bytes},
                       {of.output.data, of.output.row_bytes},
                       image.depth,
                       of.output.depth,
                       image.channels,
                       image.mask || of.rules.any() || of.rules.alpha_mask().any};
        copy.settles = copy.settles && copy.excludes;
        return copy;
    }

    void write_clahe(const plan::DeviceCopy& of, const Launch& launch) {
        const Normalization& normalization = of.normalization;
        const DepthTraits& traits = traits_of(of.image.depth);
        ClaheTables tables{};
        tables.tiles_x = static_cast<std::int32_t>(normalization.tiles_x);
        tables.tiles_y = static_cast<std::int32_t>(normalization.tiles_y);
        tables.joint = of.image.channels > 1 && normalization.joint;
        tables.rgb = of.image.order == ChannelOrder::rgb;
        tables.clip_limit = normalization.clip_limit;
        tables.bins = core::clahe_bins(normalization, of.image.depth);
        tables.levels = core::levels_of(of.output.depth, normalization.fill);
        const std::size_t sets = tables.joint ? 1 : static_cast<std::size_t>(std::min(of.image.channels, 3)),
                          tiles = static_cast<std::size_t>(tables.tiles()) * sets;
        Placing place{memory_.reserve(clahe_bytes(tables, tiles, traits))};
        lay_out(place, tables, tiles, traits);
        launch_clahe_copy(pixel_copy(of), tables, launch);
    }

    static void lay_out(Placing& place, ClaheTables& tables, std::size_t tiles, const DepthTraits& traits) {
        place(tables.counts, ClaheTables::at_once * std::size_t{traits.values} * sizeof *tables.counts);
        place(tables.tables, tiles * traits.values * traits.bytes);
    }
    static std::size_t clahe_bytes(ClaheTables tables, std::size_t tiles, const DepthTraits& traits) {
        Placing place{nullptr};
        lay_out(place, tables, tiles, traits);
        return place.end;
    }

    void write_background(const plan::DeviceCopy& of, const Launch& launch) {
        const core::Knots across(of.image.width, of.normalization.tiles_x),
            down(of.image.height, of.normalization.tiles_y);
        const auto tiles = static_cast<std::size_t>(across.tiles * down.tiles),
                   colors = static_cast<std::size_t>(std::min(of.image.channels, 3));
        const auto bytes_of = [](const core::Knots& side) {
            return place_after(side.edges.size() * sizeof side.edges[0]) +
                   place_after(side.first.size() * sizeof side.first[0]) +
                   place_after(side.to_second.size() * sizeof side.to_second[0]);
        };
        const std::size_t medians_bytes = place_after(tiles * colors * sizeof(double));
        char* const base = memory_.reserve(medians_bytes + bytes_of(across) + bytes_of(down));
        auto* const medians = reinterpret_cast<double*>(base);
        const Uploads memory(base + medians_bytes, launch.stream);
        const auto upload = [&](const core::Knots& side) {
            return KnotsOfSide{side.tiles, memory.add(side.edges), memory.add(side.first), memory.add(side.to_second)};
        };
        const Background background{
            upload(across), upload(down), medians, core::levels_of(of.output.depth, of.normalization.fill), {}};
        const PixelCopy copy = pixel_copy(of);
        launch_medians(copy, background, launch);
        std::vector<double> found(tiles * colors);
        fetch(found, medians, launch);
        Background whole = background;
        for (std::size_t c = 0; c < colors; ++c) {
            std::vector<double> channel(found.begin() + static_cast<std::ptrdiff_t>(c * tiles),
                                        found.begin() + static_cast<std::ptrdiff_t>((c + 1) * tiles));
            core::complete_medians(channel);
            whole.known[c] = !channel.empty();
            std::copy(channel.begin(), channel.end(), found.begin() + static_cast<std::ptrdiff_t>(c * tiles));
        }
        GPUHIST_CUDA(cudaMemcpyAsync(medians, found.data(), found.size() * sizeof(double), cudaMemcpyHostToDevice,
                                     launch.stream));
        launch_background(copy, whole, launch);
    }

    const int gpu_;
    std::optional<Stream> stream_;
    DeviceBuffer memory_;
    SortedAnalyzer sorted_;
    Analysis sorted_findings_;
};

}  // namespace

Settling settling(const ImageView& image, const ClassRules& rules, Depth copy, bool valid_only,
                  const std::optional<double>& fill, bool has_alpha) {
    const bool converted = copy != image.depth;
    const bool named = std::any_of(rules.rules, rules.rules + ClassRules::most_rules,
                                   [](const ClassRules::Rule& rule) { return rule.nan || rule.first < rule.last; });
    const double nothing = traits_of(copy).floating ? std::numeric_limits<double>::quiet_NaN() : 0;
    return {rules,
            {image.mask, image.mask_row_bytes},
            has_alpha,
            valid_only || converted || named,
            converted,
            valid_only,
            fill.has_value(),
            core::sample_bits(copy, fill.value_or(nothing)),
            core::sample_bits(copy, fill.value_or(0))};
}

std::unique_ptr<plan::Copier> make_copier(int gpu) {
    return std::make_unique<DeviceCopier>(gpu);
}

}  // namespace gpuhist::cuda
