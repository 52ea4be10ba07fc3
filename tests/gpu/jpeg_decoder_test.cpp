// JPEGs decoded on the GPU: pixels of libjpeg, and the same verdicts as the decoding that is played on the CPU.
//
// `small` cases are few and tiny enough for compute-sanitizer: --gtest_filter='JpegDecoderTest.small*'.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gpuhist/error.hpp"
#include "gpuhist/jpeg.hpp"
#include "support/damage.hpp"
#include "support/jpeg_emulation.hpp"
#include "support/jpeg_random.hpp"
#include "support/stream_under_test.hpp"

namespace gpuhist::test {
namespace {

using jpeg_files::Bytes, jpeg_files::Coding, jpeg_files::random_coding, jpeg_files::read, jpeg_files::Reading,
    jpeg_files::text_of, jpeg_files::write;

class JpegDecoderTest : public testing::Test {
  protected:
    void SetUp() override {
        const EngineInfo info = info_of("cuda");
        if (!info.available) {
            if (flag("GPUHIST_REQUIRE_CUDA")) FAIL() << "a GPU is required: " << info.description;
            GTEST_SKIP() << info.description;
        }
        check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        decoder_ = std::make_unique<JpegDecoder>();
    }
    void TearDown() override {
        decoder_.reset();
        if (stream_) cudaStreamDestroy(stream_);
    }

    static std::vector<JpegFile> listed(const std::vector<Bytes>& files) {
        std::vector<JpegFile> list;
        for (const Bytes& file : files) list.push_back({file.data(), file.size()});
        return list;
    }
    void enqueue(const std::vector<Bytes>& files) {
        const std::vector<JpegFile> list = listed(files);
        decoder_->enqueue(list.data(), static_cast<std::int64_t>(list.size()), stream_);
        ASSERT_EQ(decoder_->size(), static_cast<std::int64_t>(files.size()));
    }
    void decode(const std::vector<Bytes>& files) {
        enqueue(files);
        decoder_->finish();
    }

    /// That the image of a file is what libjpeg reads, without a remark.
    void expect_as_libjpeg(const Bytes& file, std::int64_t number) {
        const JpegImage& image = (*decoder_)[number];
        ASSERT_EQ(image.reason, "");
        const Reading expected = read(file);
        ASSERT_EQ(expected.error, "");
        EXPECT_EQ(expected.warnings, 0);
        ASSERT_EQ(image.view.width, expected.pixels.cols);
        ASSERT_EQ(image.view.height, expected.pixels.rows);
        ASSERT_EQ(image.view.channels, expected.pixels.channels());
        EXPECT_EQ(image.view.memory, Memory::device);
        EXPECT_EQ(image.view.row_bytes, image.view.packed_row_bytes());
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(image.view.data) % 256, 0U);
        const auto bytes = static_cast<std::size_t>(image.view.row_bytes * image.view.height);
        std::vector<unsigned char> pixels(bytes);
        check(cudaMemcpy(pixels.data(), image.view.data, bytes, cudaMemcpyDeviceToHost));
        std::size_t differ = 0, first = 0;
        for (std::size_t i = bytes; i-- > 0;)
            if (pixels[i] != expected.pixels.data[i]) ++differ, first = i;
        EXPECT_EQ(differ, 0U) << "of " << bytes << ", the first at " << first;
    }

    /// That files, decoded at once, are as libjpeg reads them. The decoder may refuse those for which the SIMD code and
    /// the C code of libjpeg-turbo differ, as the decoding on the CPU does; these are counted.
    void expect_as_libjpeg(const std::vector<Coding>& codings) {
        std::vector<Bytes> files;
        for (const Coding& coding : codings) files.push_back(write(coding));
        decode(files);
        for (std::size_t i = 0; i < files.size() && !HasFailure(); ++i) {
            SCOPED_TRACE(text_of(codings[i]));
            if ((*decoder_)[static_cast<std::int64_t>(i)].reason == "coefficients out of range" &&
                emulate_jpeg(files[i]).damage == jpeg::idct_out_of_range)
                ++refused_;
            else
                expect_as_libjpeg(files[i], static_cast<std::int64_t>(i));
        }
    }

    int refused_ = 0;
    cudaStream_t stream_ = nullptr;
    std::unique_ptr<JpegDecoder> decoder_;
};

TEST_F(JpegDecoderTest, small_by_chance) {
    std::vector<Coding> codings;
    for (unsigned seed = 0; seed < 40; ++seed) codings.push_back(random_coding(seed, 60));
    expect_as_libjpeg(codings);
}

TEST_F(JpegDecoderTest, small_damage_as_played_on_the_cpu) {
    std::vector<Bytes> files;
    for (unsigned seed = 0; seed < 60; ++seed) {
        const Bytes good = write(random_coding(seed, 40));
        std::mt19937 random(seed);
        const std::string text = damaged(std::string(good.begin(), good.end()), random);
        files.emplace_back(text.begin(), text.end());
    }
    decode(files);
    for (std::size_t i = 0; i < files.size(); ++i) {
        SCOPED_TRACE(i);
        const EmulatedJpeg played = emulate_jpeg(files[i]);
        const JpegImage& image = (*decoder_)[static_cast<std::int64_t>(i)];
        EXPECT_EQ(image.reason.empty(), played.reason.empty() && played.damage == 0);
        EXPECT_EQ(image.view.data == nullptr, !image.reason.empty());
        if (!played.reason.empty()) {
            EXPECT_EQ(image.reason, played.reason);
        }
        if (image.reason.empty()) expect_as_libjpeg(files[i], static_cast<std::int64_t>(i));
    }
}

TEST_F(JpegDecoderTest, every_quality) {
    std::vector<Coding> codings;
    for (int quality = 1; quality <= 100; ++quality) {
        Coding coding{261, 143};
        coding.quality = quality;
        coding.across[0] = 1 + quality % 2;
        coding.down[0] = 1 + quality / 2 % 2;
        codings.push_back(coding);
    }
    expect_as_libjpeg(codings);
}

TEST_F(JpegDecoderTest, by_chance) {
    constexpr unsigned together = 250;
    const auto count = static_cast<unsigned>(repetitions(10000, 500));
    for (unsigned seed = 0; seed < count && !HasFailure(); seed += together) {
        std::vector<Coding> codings;
        for (unsigned i = seed; i < seed + together; ++i) codings.push_back(random_coding(i, i % 50 == 0 ? 900 : 200));
        expect_as_libjpeg(codings);
    }
    EXPECT_LE(refused_, static_cast<int>(count / 1000));
}

TEST_F(JpegDecoderTest, damage_by_chance) {
    constexpr unsigned together = 250;
    const auto count = static_cast<unsigned>(repetitions(5000, 500));
    std::size_t sound = 0;
    for (unsigned seed = 0; seed < count && !HasFailure(); seed += together) {
        std::vector<Bytes> files;
        for (unsigned i = seed; i < seed + together; ++i) {
            const Bytes good = write(random_coding(i, 100));
            std::mt19937 random(i);
            const std::string text = damaged(std::string(good.begin(), good.end()), random);
            files.emplace_back(text.begin(), text.end());
        }
        decode(files);
        for (std::size_t i = 0; i < files.size() && !HasFailure(); ++i) {
            SCOPED_TRACE(seed + i);
            const EmulatedJpeg played = emulate_jpeg(files[i]);
            const bool refused = !(*decoder_)[static_cast<std::int64_t>(i)].reason.empty();
            EXPECT_EQ(refused, !played.reason.empty() || played.damage != 0);
            if (refused) continue;
            ++sound;
            expect_as_libjpeg(files[i], static_cast<std::int64_t>(i));
        }
    }
    EXPECT_GT(sound, 0U);
}

TEST_F(JpegDecoderTest, flat_images) {
    std::vector<Coding> codings;
    for (const int contents : {2, 4})
        for (unsigned seed = 1; seed < 17; ++seed) {
            Coding coding{static_cast<int>(500 + 300 * (seed % 5)), 1200, JCS_YCbCr, {2, 1, 1}, {2, 1, 1}};
            coding.contents = contents;
            coding.seed = seed;
            coding.optimized = seed % 3 == 0;
            coding.same_tables = seed % 4 == 0;
            coding.restart = seed % 5 == 0 ? 200 : 0;
            codings.push_back(coding);
        }
    expect_as_libjpeg(codings);
}

TEST_F(JpegDecoderTest, twelve_megapixels) {
    Coding photograph{4000, 3000, JCS_YCbCr, {2, 1, 1}, {2, 1, 1}}, restarts = photograph, noise{4001, 2999},
                                                                    gray = noise;
    restarts.restart = 250;
    noise.contents = 1;
    noise.quality = 98;
    gray.stored = JCS_GRAYSCALE;
    expect_as_libjpeg({photograph, restarts, noise, gray});
}

TEST_F(JpegDecoderTest, refused_files_among_others) {
    const Bytes good = write({50, 40});
    jpeg_files::JpegOptions progressive;
    progressive.progressive = true;
    const Bytes other = jpeg_files::make_jpeg(jpeg_files::picture_of({50, 40}), progressive);
    enqueue({{}, good, other, good, {1, 2, 3}});
    const char* const reasons[] = {"no JPEG", "", "progressive", "", "no JPEG"};
    for (const bool finished : {false, true}) {
        if (finished) decoder_->finish();
        for (std::int64_t i = 0; i < 5; ++i) {
            EXPECT_EQ((*decoder_)[i].reason, reasons[i]);
            EXPECT_EQ((*decoder_)[i].view.data != nullptr, reasons[i][0] == 0);
        }
    }
    expect_as_libjpeg(good, 1);
    expect_as_libjpeg(good, 3);
    enqueue({other});  // nothing is enqueued
    decoder_->finish();
    EXPECT_EQ((*decoder_)[0].reason, "progressive");
    enqueue({});
    decoder_->finish();
    EXPECT_THROW((*decoder_)[0], InvalidArgument);
    EXPECT_THROW(decoder_->enqueue(nullptr, 1, stream_), InvalidArgument);
    EXPECT_THROW(decoder_->enqueue(nullptr, -1, stream_), InvalidArgument);
}

// Memory that grows and is used again, streams that change: each call waits for the one before.
TEST_F(JpegDecoderTest, calls_one_after_the_other) {
    cudaStream_t other = nullptr;
    check(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    for (unsigned turn = 0; turn < 20; ++turn) {
        std::vector<Bytes> files;
        for (unsigned i = 0; i <= turn % 7; ++i)
            files.push_back(write(random_coding(turn * 10 + i, 100 + 40 * static_cast<int>(turn))));
        const std::vector<JpegFile> list = listed(files);
        decoder_->enqueue(list.data(), static_cast<std::int64_t>(list.size()), turn % 2 ? other : stream_);
        if (turn % 3 != 0) continue;  // the next call comes while this one's work may be going on
        decoder_->finish();
        for (std::size_t i = 0; i < files.size(); ++i) expect_as_libjpeg(files[i], static_cast<std::int64_t>(i));
    }
    JpegDecoder moved = std::move(*decoder_);
    *decoder_ = std::move(moved);
    const Bytes last = write({33, 44});
    decode({last});
    expect_as_libjpeg(last, 0);
    check(cudaStreamDestroy(other));
}

// What follows on the stream sees the pixels without waiting on the host.
TEST_F(JpegDecoderTest, analysis_on_the_same_stream) {
    std::vector<Bytes> files;
    for (unsigned seed = 0; seed < 8; ++seed) {
        Coding coding{640, 480, JCS_YCbCr, {2, 1, 1}, {2, 1, 1}};
        coding.seed = seed;
        files.push_back(write(coding));
    }
    StreamPlan plan;
    plan.channels = 3;
    StreamAnalyzer analyzer(plan);
    const ResultLayout layout = analyzer.layout();
    DeviceMemory results(layout.bytes * files.size(), 0);
    enqueue(files);
    std::vector<ImageView> views;
    for (std::int64_t i = 0; i < decoder_->size(); ++i) views.push_back((*decoder_)[i].view);
    analyzer.enqueue(views.data(), decoder_->size(), {}, results.data(), stream_);
    check(cudaStreamSynchronize(stream_));
    decoder_->finish();
    std::vector<char> host(layout.bytes * files.size());
    check(cudaMemcpy(host.data(), results.data(), host.size(), cudaMemcpyDeviceToHost));
    const auto cpu = make_engine("cpu");
    for (std::size_t i = 0; i < files.size(); ++i) {
        EXPECT_EQ((*decoder_)[static_cast<std::int64_t>(i)].reason, "");
        const cv::Mat pixels = read(files[i]).pixels;
        const Analysis expected =
            cpu->analyze(packed_view(static_cast<const void*>(pixels.data), pixels.cols, pixels.rows, 3, Depth::u8));
        EXPECT_TRUE(statistics(read_result(host.data() + i * layout.bytes)).at(0).mean ==
                    statistics(expected).at(0).mean);
    }
}

}  // namespace
}  // namespace gpuhist::test
