// Images and results in GPU memory, and the fixture of every test of the stream-level API: what it leaves in a result
// must be what the CPU engine finds, bit for bit.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "gpuhist/statistics.hpp"
#include "gpuhist/stream.hpp"
#include "support/engines_under_test.hpp"
#include "support/modes.hpp"
#include "support/oracle.hpp"

namespace gpuhist::test {

inline void check(cudaError_t status) {
    if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}

/// What lies around pixels and behind buffers.
inline constexpr unsigned char untouched = 0xC3;

/// GPU memory with a guard behind it.
class DeviceMemory {
  public:
    DeviceMemory(std::size_t bytes, int byte) : bytes_(bytes) {
        check(cudaMalloc(&data_, bytes + guard_bytes));
        check(cudaMemset(data() + bytes, untouched, guard_bytes));
        fill(byte);
    }
    ~DeviceMemory() { cudaFree(data_); }
    DeviceMemory(const DeviceMemory&) = delete;
    DeviceMemory& operator=(const DeviceMemory&) = delete;

    char* data() const { return static_cast<char*>(data_); }
    std::size_t bytes() const { return bytes_; }
    void fill(int byte) {
        check(cudaMemset(data_, byte, bytes_));
        check(cudaStreamSynchronize(nullptr));  // streams here do not wait for the default one
    }
    bool guard_untouched() const {
        unsigned char guard[guard_bytes];
        check(cudaMemcpy(guard, data() + bytes_, guard_bytes, cudaMemcpyDeviceToHost));
        for (unsigned char byte : guard)
            if (byte != untouched) return false;
        return true;
    }

  private:
    static constexpr std::size_t guard_bytes = 4096;
    void* data_ = nullptr;
    std::size_t bytes_;
};

/// Samples from an aligned address to an image, and between its rows.
struct Placement {
    int offset = 0, row_padding = 0;
};
inline constexpr Placement placements[] = {{0, 0}, {1, 0}, {5, 3}, {0, 16}, {15, 13}, {3, 1}, {8, 4}, {16, 7}};
inline Placement placement(std::size_t turn) {
    return placements[turn % std::size(placements)];
}

/// Images in one piece of GPU memory, and on the host what is to lie there: all but pixels is 0xC3.
class DeviceImages {
  public:
    /// Lays an image out behind those before it.
    void add(const Shape& shape, const Placement& at = {}) {
        const std::int64_t sample = static_cast<std::int64_t>(sample_bytes(shape.depth));
        const std::int64_t aligned = (static_cast<std::int64_t>(bytes_.size()) + 255) / 256 * 256;
        add_at(shape, aligned + at.offset * sample, (shape.width * shape.channels + at.row_padding) * sample);
    }
    void add(const Picture& picture, const Placement& at = {}) {
        add(picture.shape(), at);
        set(images_.size() - 1, picture.view());
    }
    /// The next image of a batch, so many samples behind the last row of the one before, of the same shape.
    void add_next(int gap) {
        const Image before = images_.back();
        add_at(before.shape,
               before.first + before.row_bytes * before.shape.height +
                   gap * static_cast<std::int64_t>(sample_bytes(before.shape.depth)),
               before.row_bytes);
    }

    std::size_t size() const { return images_.size(); }
    MutableImageView operator[](std::size_t i) const { return view(memory_->data(), i); }
    MutableBatchView batch() const {
        const std::int64_t distance = size() > 1 ? images_[1].first - images_[0].first : 0;
        return {(*this)[0], static_cast<std::int64_t>(size()), distance};
    }
    /// The pixels of image i are to be these: uploaded, or expected.
    void set(std::size_t i, const ImageView& pixels) {
        const ImageView there = view(bytes_.data(), i);
        for (std::int64_t y = 0; y < there.height; ++y)
            std::memcpy(const_cast<unsigned char*>(static_cast<const unsigned char*>(there.data)) + y * there.row_bytes,
                        static_cast<const unsigned char*>(pixels.data) + y * pixels.row_bytes,
                        static_cast<std::size_t>(there.packed_row_bytes()));
    }
    void upload() {
        if (!memory_) memory_ = std::make_unique<DeviceMemory>(bytes_.size(), untouched);
        check(cudaMemcpy(memory_->data(), bytes_.data(), bytes_.size(), cudaMemcpyHostToDevice));
        check(cudaStreamSynchronize(nullptr));
    }
    /// The place where the memory is not as it is to be, or empty.
    std::string difference() const {
        std::vector<unsigned char> got(bytes_.size());
        check(cudaMemcpy(got.data(), memory_->data(), got.size(), cudaMemcpyDeviceToHost));
        if (got == bytes_) return memory_->guard_untouched() ? "" : "bytes behind the images were written to";
        for (std::size_t i = 0; i < size(); ++i) {
            const std::string what = test::difference(ImageView(view(got.data(), i)),
                                                      ImageView(view(const_cast<unsigned char*>(bytes_.data()), i)));
            if (!what.empty()) return "image " + std::to_string(i) + ", " + what;
        }
        return "bytes around pixels were written to";
    }

  private:
    struct Image {
        Shape shape;
        std::int64_t first, row_bytes;
    };
    void add_at(const Shape& shape, std::int64_t first, std::int64_t row_bytes) {
        images_.push_back({shape, first, row_bytes});
        bytes_.resize(static_cast<std::size_t>(first + row_bytes * shape.height + 64), untouched);
    }
    template <class Byte>
    MutableImageView view(Byte* base, std::size_t i) const {
        const auto& [shape, first, row_bytes] = images_[i];
        return {base + first, shape.width, shape.height, shape.channels,
                shape.depth,  row_bytes,   shape.order,  Memory::device};
    }

    std::vector<Image> images_;
    std::vector<unsigned char> bytes_;
    std::unique_ptr<DeviceMemory> memory_;
};

/// Memory for results, full of poison: 0xFF or 0x5A in turn, on every alignment that is allowed.
class DeviceResults {
  public:
    DeviceResults(const ResultLayout& layout, std::size_t images)
        : layout_(layout), memory_(layout.bytes * images + (turn() % 4 / 2) * 16, turn() % 2 ? 0xFF : 0x5A) {
        first_ = memory_.data() + (memory_.bytes() - layout.bytes * images);
        ++turn();
    }
    void poison() { memory_.fill(turn()++ % 2 ? 0xFF : 0x5A); }

    const ResultLayout& layout() const { return layout_; }
    char* at(std::size_t image = 0) const { return first_ + image * layout_.bytes; }
    /// A copy on the host, until the next one is fetched.
    const ImageResult& fetch(std::size_t image = 0) {
        host_.resize(layout_.bytes / sizeof(std::uint64_t));
        check(cudaMemcpy(host_.data(), at(image), layout_.bytes, cudaMemcpyDeviceToHost));
        return *reinterpret_cast<const ImageResult*>(host_.data());
    }
    bool guard_untouched() const { return memory_.guard_untouched(); }

  private:
    static unsigned& turn() {
        static unsigned turn = 0;
        return turn;
    }

    ResultLayout layout_;
    DeviceMemory memory_;
    char* first_;
    std::vector<std::uint64_t> host_;
};

/// What the CPU engine finds in an image.
struct Expected {
    AnalysisRequest request;
    Analysis analysis;
    Analysis with_luma;  ///< the same, where luma was not to be counted
};

/// The difference of a result on the host from what is expected: in what read_result() makes of it, or in the numbers
/// that kernels read.
inline std::string difference(const ImageResult& got, const ResultLayout& layout, const Expected& expected) {
    if (got.ready != 1) return "ready is " + std::to_string(got.ready);
    const Analysis& analysis = expected.with_luma;
    const DepthTraits& traits = traits_of(analysis.depth);
    const bool floats = traits.counting == Counting::bins, half = traits.floating && !floats;
    std::string found;
    auto compare = [&found](const std::string& what, const auto& a, const auto& b) {
        if (!found.empty() || std::memcmp(&a, &b, sizeof a) == 0) return;
        std::ostringstream text;
        text.precision(17);
        text << what << ": " << +a << ", expected " << +b;
        found = text.str();
    };
    compare("depth", static_cast<int>(got.depth), static_cast<int>(analysis.depth));
    compare("detail", static_cast<int>(got.detail), static_cast<int>(analysis.detail));
    compare("channel_count", got.channel_count, static_cast<std::int32_t>(analysis.channels.size()));
    compare("luma_counted", got.luma_counted, got.channel_count > 1 && (floats || expected.request.luma_histogram));
    compare("upper_closed", got.upper_closed, analysis.upper_closed);
    compare("weighted", got.weighted, analysis.weighted);
    compare("bins", got.bins, static_cast<std::uint32_t>(analysis.channels[0].counts.size()));
    compare("pixels", got.pixels, analysis.channels[0].pixels);
    compare("range.lower", got.range.lower, analysis.range.lower);
    compare("range.upper", got.range.upper, analysis.range.upper);
    compare("counts_offset", got.counts_offset, std::uint64_t{layout.counts_offset});
    compare("tables_offset", got.tables_offset, std::uint64_t{layout.tables_offset});
    compare("details_offset", got.details_offset, std::uint64_t{layout.details_offset});
    if (!found.empty()) return found;

    const std::vector<Statistics> statistics_rows = statistics(analysis, expected.request.percentiles);
    for (std::size_t c = 0; c < analysis.channels.size(); ++c) {
        const ChannelAnalysis& channel = analysis.channels[c];
        const ChannelResult& result = got.channels[c];
        const std::string name = std::string("channel ") + to_string(channel.channel) + " ";
        for (const Statistics& truth : statistics_rows) {
            if (truth.channel != channel.channel) continue;
            compare(name + "samples", result.samples, truth.valid());
            compare(name + "minimum", result.minimum, truth.min.value_or(0));
            compare(name + "maximum", result.maximum, truth.max.value_or(0));
            const double unknown = std::numeric_limits<double>::quiet_NaN();
            compare(name + "mean", result.mean, !truth.mean ? 0 : half ? unknown : *truth.mean);
            compare(name + "std", result.std, !truth.std ? 0 : half ? unknown : *truth.std);
        }
        __extension__ typedef unsigned __int128 u128;
        std::uint64_t sum = 0;
        u128 squares = 0;
        for (std::uint64_t v = 0; v < channel.counts.size() && !traits.floating; ++v) {
            sum += v * channel.counts[v];
            squares += static_cast<u128>(v * v) * channel.counts[v];
        }
        compare(name + "sum", result.sum, sum);
        compare(name + "sum_squares low", result.sum_squares.low, static_cast<std::uint64_t>(squares));
        compare(name + "sum_squares high", result.sum_squares.high, static_cast<std::int64_t>(squares >> 64));
        compare(name + "nan", result.nan, channel.nan);
        compare(name + "infinite", result.infinite, channel.infinite);
        compare(name + "below", result.below, channel.below);
        compare(name + "above", result.above, channel.above);
        compare(name + "nodata", result.nodata, channel.nodata);
    }
    return found.empty() ? difference(read_result(&got), expected.analysis) : found;
}

// ---- pictures ------------------------------------------------------------------------------------------------------

/// Kinds of pictures: the oracle's contents, eight values far apart, and for u16 8-bit data in the high half.
inline std::size_t kinds(Depth depth) {
    return contents_of(depth).size() + (depth == Depth::u16 ? 2 : 1);
}
inline Picture picture_of(const Shape& shape, std::size_t kind) {
    const std::vector<Content> contents = contents_of(shape.depth);
    if (kind < contents.size()) return Picture(shape, packed, contents[kind]);
    const double top = shape.depth == Depth::u8 ? 255 : shape.depth == Depth::u16 ? 65535 : 1;
    Picture picture(shape, packed);
    std::uint64_t bits = kind;
    for (std::int64_t y = 0; y < shape.height; ++y)
        for (std::int64_t x = 0; x < shape.width; ++x)
            for (int c = 0; c < shape.channels; ++c) {
                bits = scramble(bits);
                picture.set(x, y, c,
                            kind == contents.size() ? static_cast<double>(bits % 8) * top / 7
                                                    : static_cast<double>(bits % 256 * 256));
            }
    return picture;
}
/// A picture of a kind with a few pixels of its own.
inline Picture picture_of(const Shape& shape, std::size_t kind, std::uint64_t seed) {
    Picture picture = picture_of(shape, kind);
    for (int i = 0; i < 5; ++i)
        for (int c = 0; c < shape.channels; ++c) {
            const std::uint64_t bits = scramble(seed * 64 + static_cast<std::uint64_t>(i * 4 + c));
            const double top = shape.depth == Depth::u8 ? 256 : shape.depth == Depth::u16 ? 65536 : 1;
            picture.set(static_cast<std::int64_t>(bits % static_cast<std::uint64_t>(shape.width)),
                        static_cast<std::int64_t>((bits >> 20) % static_cast<std::uint64_t>(shape.height)), c,
                        static_cast<double>(bits >> 40) * 0x1p-24 * top);
        }
    return picture;
}

inline Shape normalized_shape(Shape shape, const Normalization& normalization) {
    shape.depth = normalized_depth(shape.depth, normalization);
    return shape;
}

inline std::string describe(const Shape& shape) {
    return std::to_string(shape.width) + "x" + std::to_string(shape.height) + "x" + std::to_string(shape.channels) +
           " " + to_string(shape.depth) + (shape.order == ChannelOrder::bgr ? " bgr" : " rgb");
}
inline std::string describe(const Normalization& normalization) {
    return std::string(to_string(normalization.mode)) + (normalization.joint ? " joint" : " separate");
}
inline std::string describe(const AnalysisRequest& request) {
    std::ostringstream out;
    out << (request.detail == Detail::brief ? "brief, " : "full, ") << request.bins << " bins";
    if (request.range) out << " from " << request.range->lower << " to " << request.range->upper;
    return out.str();
}

inline std::vector<Normalization> normalizations(int channels) {
    std::vector<Normalization> all;
    for (NormalizeMode mode : all_exact_modes)
        for (bool joint : {true, false})
            if (joint || channels > 1) all.push_back({mode, 1, 99, joint});
    return all;
}

// ---- the fixture ---------------------------------------------------------------------------------------------------

/// How an analyzer launches.
struct Path {
    const char* label;
    std::size_t shared_bytes;  ///< that a block may take; 0: all
    friend void PrintTo(const Path& path, std::ostream* out) { *out << path.label; }
};
inline constexpr Path paths[] = {{"large_gpu", 0}, {"small_gpu", 65536}};
inline std::string label_of_path(const testing::TestParamInfo<Path>& info) {
    return info.param.label;
}

/// An analyzer of each type, whose workspace is the test's: as large as workspace_bytes() says, dirty, and guarded.
/// Streams do not wait for the default stream, nor it for them.
class StreamTest : public testing::TestWithParam<Path> {
  protected:
    void SetUp() override {
        const EngineInfo info = info_of("cuda");
        if (!info.available) {
            if (flag("GPUHIST_REQUIRE_CUDA")) FAIL() << "a GPU is required: " << info.description;
            GTEST_SKIP() << info.description;
        }
        cuda::shared_memory_bound = GetParam().shared_bytes;
        reference = make_engine("cpu");
        check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    }
    void TearDown() override {
        cuda::shared_memory_bound = 0;
        if (!stream) return;
        EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
        for (const auto& [type, subject] : subjects_)
            EXPECT_TRUE(subject->workspace.guard_untouched()) << "bytes behind the workspace were written to";
        subjects_.clear();
        EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
        EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    }

    StreamPlan plan_of(Depth depth, int channels) const {
        StreamPlan plan;
        plan.depth = depth;
        plan.channels = channels;
        plan.bins = 65536;
        plan.normalize = true;
        return plan;
    }
    StreamAnalyzer& analyzer(Depth depth, int channels) {
        std::unique_ptr<Subject>& subject = subjects_[{depth, channels}];
        if (!subject) subject = std::make_unique<Subject>(plan_of(depth, channels));
        return subject->analyzer;
    }
    StreamAnalyzer& analyzer(const Shape& shape) { return analyzer(shape.depth, shape.channels); }
    /// The next one will know nothing of the images before.
    void forget_analyzers() { subjects_.clear(); }
    /// What the analyzer of such images keeps between them.
    std::vector<char> kept(const Shape& shape) {
        analyzer(shape);
        const DeviceMemory& workspace = subjects_.at({shape.depth, shape.channels})->workspace;
        std::vector<char> bytes(workspace.bytes());
        check(cudaMemcpy(bytes.data(), workspace.data(), bytes.size(), cudaMemcpyDeviceToHost));
        return bytes;
    }
    void synchronize() { check(cudaStreamSynchronize(stream)); }

    Expected expected(const ImageView& image, const AnalysisRequest& request = {}) {
        Expected result{request, reference->analyze(image, request), {}};
        complete(image, result);
        return result;
    }
    Expected expected(const ImageView& image, const AnalysisRequest& request, const Normalization& normalization,
                      Picture& output) {
        Expected result{request, {}, {}};
        reference->normalize(image, request, normalization, output.mutable_view(), result.analysis);
        complete(image, result);
        return result;
    }
    static void expect(DeviceResults& results, std::size_t i, const Expected& expected, const char* what = "result") {
        EXPECT_EQ(difference(results.fetch(i), results.layout(), expected), "") << what << " " << i;
    }

    /// An image on the host, and how it is to lie on the GPU.
    struct Case {
        Picture picture;
        Placement at;
    };
    /// Images of one type: each alone, then all of them as a list, back to back.
    void check_images(const std::vector<Case>& cases, const AnalysisRequest& request = {});
    /// Each alone, as a list, and as a list in place.
    void check_normalized(const std::vector<Case>& cases, const Normalization& normalization,
                          const AnalysisRequest& request = {});
    /// Images of one shape as a batch, `gap` samples between them.
    void check_batch(const std::vector<Picture>& pictures, const Placement& at, int gap,
                     const AnalysisRequest& request = {});
    void check_normalized_batch(const std::vector<Picture>& pictures, const Placement& at, int gap,
                                const Normalization& normalization, const AnalysisRequest& request = {});

    std::unique_ptr<Engine> reference;
    cudaStream_t stream = nullptr;

  private:
    struct Subject {
        explicit Subject(const StreamPlan& plan)
            : workspace(StreamAnalyzer::workspace_bytes(plan), 0xA7), analyzer(plan, workspace.data()) {}
        DeviceMemory workspace;
        StreamAnalyzer analyzer;
    };
    void complete(const ImageView& image, Expected& result) {
        if (result.request.luma_histogram || image.depth == Depth::f32) {
            result.with_luma = result.analysis;
            return;
        }
        AnalysisRequest request = result.request;
        request.luma_histogram = true;
        result.with_luma = reference->analyze(image, request);
    }

    std::map<std::pair<Depth, int>, std::unique_ptr<Subject>> subjects_;
};

}  // namespace gpuhist::test
