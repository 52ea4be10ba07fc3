// JPEGs that a GPU decodes: every result is that of libjpeg, byte for byte, also if the GPU refuses files or fails. The
// decoder of these tests runs on the CPU, over the same functions as the kernels.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <opencv2/core.hpp>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "gpuhist/error.hpp"
#include "run/pipeline.hpp"
#include "support/codecs.hpp"
#include "support/damage.hpp"
#include "support/image_files.hpp"
#include "support/jpeg_emulation.hpp"
#include "support/jpeg_random.hpp"
#include "support/temporary_directory.hpp"

namespace gpuhist::app {
namespace {

namespace fs = std::filesystem;

/// What all decoders share.
struct Played {
    std::function<void(int nth)> look = [](int) {};  ///< called before a file is decoded
    std::atomic<int> made{0}, files{0}, decoded{0}, copied{0};
};

class PlayedLane final : public JpegLane {
  public:
    explicit PlayedLane(Played& played) : played_(played) {}
    std::vector<JpegImage> decode(const std::vector<JpegFile>& files) override {
        std::vector<JpegImage> images;
        pixels_.clear();
        for (const JpegFile& file : files) {
            played_.look(++played_.files);
            test::EmulatedJpeg one =
                test::JpegEmulation(static_cast<const unsigned char*>(file.data), file.bytes).result();
            JpegImage image;
            image.reason = one.reason.empty() && one.damage != 0 ? "damaged data" : one.reason;
            pixels_.push_back(std::move(one.pixels));
            if (image.reason.empty()) {
                image.view = packed_view(static_cast<const void*>(pixels_.back().data()), one.width, one.height,
                                         one.channels, Depth::u8, ChannelOrder::bgr, Memory::host);
                ++played_.decoded;
            }
            images.push_back(std::move(image));
        }
        views_ = images;
        return images;
    }
    void copy(std::size_t file, const MutableImageView& output) override {
        ++played_.copied;
        const ImageView& from = views_.at(file).view;
        for (std::int64_t y = 0; y < from.height; ++y)
            std::memcpy(static_cast<char*>(output.data) + y * output.row_bytes,
                        static_cast<const char*>(from.data) + y * from.row_bytes,
                        static_cast<std::size_t>(from.packed_row_bytes()));
    }

  private:
    Played& played_;
    std::vector<std::vector<std::uint8_t>> pixels_;
    std::vector<JpegImage> views_;
};

/// The CPU engine under the name of the other.
class CalledCuda final : public Engine {
  public:
    explicit CalledCuda(const EngineOptions& options) : truth_(make_engine("cpu", options)) {}
    std::string_view name() const override { return "cuda"; }
    void analyze(const ImageView& image, const AnalysisRequest& request, Analysis& result) override {
        truth_->analyze(image, request, result);
    }
    void normalize(const ImageView& image, const AnalysisRequest& request, const Normalization& normalization,
                   const MutableImageView& output, Analysis& result) override {
        truth_->normalize(image, request, normalization, output, result);
    }

  private:
    std::unique_ptr<Engine> truth_;
};

struct Result {
    int code;
    std::string out, err;
};

class JpegOnGpu : public testing::Test {
  protected:
    void SetUp() override { fs::create_directories(root_ / "in/sub"); }

    void write(const std::string& name, const std::vector<unsigned char>& bytes) {
        std::ofstream file(root_ / "in" / name, std::ios::binary);
        file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    }

    /// JPEGs of all kinds: those that a GPU decodes, those that it refuses, damaged ones, and other formats.
    void make_images(unsigned count) {
        for (unsigned seed = 0; seed < count; ++seed) {
            const std::string name = (seed % 3 ? "" : "sub/") + std::to_string(1000 + seed);
            const std::vector<unsigned char> good = jpeg_files::write(jpeg_files::random_coding(seed, 90));
            std::mt19937 random(seed);
            if (seed % 10 == 7) {
                const std::string text = test::damaged(std::string(good.begin(), good.end()), random);
                write(name + ".jpg", {text.begin(), text.end()});
            } else if (seed % 10 == 5) {
                write(name + ".jpg", image_files::with_orientation(good, 1 + static_cast<int>(seed / 10) % 8));
            } else if (seed % 10 == 3) {
                jpeg_files::JpegOptions progressive;
                progressive.progressive = true;
                write(name + ".jpg", jpeg_files::make_jpeg(jpeg_files::picture_of({50, 40}), progressive));
            } else if (seed % 10 == 2) {
                cv::Mat picture(20, 30, CV_8UC3);
                cv::randu(picture, 0, 256);
                test::write_picture(root_ / "in" / (name + ".png"), picture);
            } else {
                write(name + (seed % 10 == 9 ? ".png" : ".jpeg"), good);  // one has a wrong name
            }
        }
    }

    Options options(const std::string& output, JpegOn on) const {
        Options options;
        options.inputs.arguments = {(root_ / "in").string()};
        options.output = root_ / output;
        options.engine = "cpu";
        options.engine_options.threads = 3;
        options.jpeg_on = on;
        options.format = "csv";
        options.group_by = GroupBy::directory;
        return options;
    }

    Result run_with(const Options& options) {
        const EngineFactory engines = [this](std::string_view name, const EngineOptions& of) {
            if (name == "cuda") before_engine();
            return name == "cuda" ? std::unique_ptr<Engine>(std::make_unique<CalledCuda>(of)) : make_engine(name, of);
        };
        const JpegFactory lanes = [this](int) {
            ++played.made;
            if (without_gpu) throw EngineUnavailable("JPEG decoder: no GPU");
            return std::make_unique<PlayedLane>(played);
        };
        played.files = played.decoded = played.copied = played.made = 0;
        testing::internal::CaptureStdout();
        testing::internal::CaptureStderr();
        const int code = run(options, nullptr, engines, lanes);
        const std::string out = testing::internal::GetCapturedStdout();
        return {code, out, testing::internal::GetCapturedStderr()};
    }

    /// Messages without the summary of the run, which has times.
    static std::string messages(const Result& result) {
        return result.err.substr(0, result.err.rfind("gpuhist: ", result.err.find(" images/s")));
    }
    static std::string text(const fs::path& path) {
        std::ifstream file(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    /// That both directories have the same files.
    void expect_equal(const std::string& a, const std::string& b) const {
        std::size_t files = 0;
        for (const auto& entry : fs::recursive_directory_iterator(root_ / a)) {
            if (!entry.is_regular_file()) continue;
            const fs::path name = fs::relative(entry.path(), root_ / a);
            ++files;
            EXPECT_TRUE(text(root_ / b / name) == text(entry.path())) << name << " differs";
        }
        EXPECT_GT(files, 0U);
    }

    /// That a run gives the same with JPEGs decoded by libjpeg and by the GPU.
    void expect_the_same(const std::function<void(Options&)>& change) {
        Options here = options("here", JpegOn::cpu), there = options("there", JpegOn::gpu);
        change(here);
        change(there);
        const Result expected = run_with(here);
        EXPECT_EQ(played.made, 0);
        const Result found = run_with(there);
        EXPECT_GT(played.decoded, 10);
        EXPECT_EQ(found.code, expected.code);
        EXPECT_EQ(found.out, expected.out);
        EXPECT_EQ(messages(found), messages(expected));
        if (there.write && !there.write->any()) return;
        expect_equal("here", "there");
        expect_equal("there", "here");
        fs::remove_all(root_ / "here");
        fs::remove_all(root_ / "there");
    }

    Played played;
    bool without_gpu = false;
    std::function<void()> before_engine = [] {};  ///< called before an engine on the GPU is made
    const test::TemporaryDirectory temporary_;
    const fs::path root_ = temporary_.path();
};

TEST_F(JpegOnGpu, ChangesNoByteOfAnyResult) {
    make_images(120);
    {
        SCOPED_TRACE("numbers");
        expect_the_same([](Options& options) { options.write = Writes{true, true, true, false}; });
        EXPECT_EQ(played.copied, 0) << "of pixels that nobody needs";
    }
    {
        SCOPED_TRACE("damage accepted");
        expect_the_same([](Options& options) {
            options.write = Writes{true, false, false, false};
            options.decode.on_damaged = io::OnDamaged::accept;
        });
    }
    {
        SCOPED_TRACE("copies");
        expect_the_same([](Options& options) {
            options.write = Writes{true, false, false, true};
            options.normalize = true;
        });
        EXPECT_GT(played.copied, 10);
    }
    {
        SCOPED_TRACE("copies by one table");
        expect_the_same([](Options& options) {
            options.write = Writes{true, false, false, true};
            options.normalize = options.linked = true;
        });
    }
    {
        SCOPED_TRACE("a rectangle");
        expect_the_same([](Options& options) {
            options.write = Writes{true, false, false, false};
            options.rectangles = {{"corner", 0, 0, 4, 3}};
            options.clip_rectangles = true;
        });
    }
    {
        SCOPED_TRACE("quality");
        expect_the_same([](Options& options) {
            options.write = Writes{true, false, false, false};
            options.measures = Measures::quality();
        });
    }
    {
        SCOPED_TRACE("rules, and little memory");
        expect_the_same([](Options& options) {
            options.write = Writes{true, false, false, false};
            options.validity.nodata.push_back({std::nullopt, 0});
            options.memory = 1 << 18;
        });
    }
}

TEST_F(JpegOnGpu, DecodesWhileTheEngineIsOnTheGpu) {
    make_images(40);
    Options here = options("here", JpegOn::cpu), there = options("there", JpegOn::automatic);
    here.write = there.write = Writes{true, false, false, false};
    here.engine = there.engine = "cuda";
    const Result expected = run_with(here), found = run_with(there);
    EXPECT_GT(played.decoded, 10);
    EXPECT_EQ(found.out, expected.out);
    there.engine = "cpu";
    there.force = true;
    run_with(there);
    EXPECT_EQ(played.made, 0);
}

TEST_F(JpegOnGpu, WaitForAnEngineThatIsBeingMade) {
    make_images(600);
    Options here = options("here", JpegOn::cpu), there = options("there", JpegOn::automatic);
    here.write = there.write = Writes{true, false, false, false};
    here.engine = "cpu";
    there.engine = "auto";
    here.engine_options.threads = there.engine_options.threads = 2;
    there.gpu_terms = {0.3, 1e-9, 0, 1e9};  // wanted at once, and waited for up to 600 ms
    const Result expected = run_with(here);
    before_engine = [] { std::this_thread::sleep_for(std::chrono::milliseconds(100)); };
    Result found = run_with(there);
    EXPECT_GT(played.decoded, 300) << "the CPU took the JPEGs meanwhile";
    EXPECT_EQ(found.code, expected.code);
    expect_equal("here", "there");

    before_engine = [] {
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        throw EngineUnavailable("no memory for a context");
    };
    there.force = true;
    found = run_with(there);
    EXPECT_EQ(played.decoded, 0);
    EXPECT_EQ(found.code, expected.code);
    expect_equal("here", "there");
}

TEST_F(JpegOnGpu, LeavesJpegsToTheCpuWhereTheGpuFails) {
    make_images(60);
    Options here = options("here", JpegOn::cpu);
    here.engine = "cuda";
    here.write = Writes{true, false, false, false};
    const Result expected = run_with(here);
    for (const int from : {1, 2, 7}) {
        SCOPED_TRACE(from);
        Options there = here;
        there.jpeg_on = JpegOn::automatic;
        there.output = root_ / "there";
        fs::remove_all(root_ / "there");
        played.look = [from](int nth) {
            if (nth >= from) throw CudaError("CUDA: an illegal memory access was encountered");
        };
        Result found = run_with(there);
        EXPECT_EQ(found.code, expected.code);
        EXPECT_EQ(found.out, expected.out);
        EXPECT_NE(found.err.find("the CPU decodes JPEGs: CUDA: an illegal"), found.err.npos) << found.err;
        EXPECT_EQ(found.err.find("illegal"), found.err.rfind("illegal"));

        fs::remove_all(root_ / "there");
        played.look = [from](int nth) {
            if (nth % 3 == from % 3) throw OutOfMemory("CUDA: out of memory");
        };
        found = run_with(there);
        EXPECT_EQ(found.out, expected.out);
        EXPECT_EQ(messages(found), messages(expected));

        fs::remove_all(root_ / "there");
        there.jpeg_on = JpegOn::gpu;
        played.look = [from](int nth) {
            if (nth >= from) throw CudaError("CUDA: an illegal memory access was encountered");
        };
        found = run_with(there);
        EXPECT_EQ(found.code, engine_failed);
        EXPECT_EQ(expected.out.compare(0, found.out.size(), found.out), 0);
    }
}

TEST_F(JpegOnGpu, IsAnErrorWithoutAGpu) {
    make_images(20);
    without_gpu = true;
    Options there = options("there", JpegOn::gpu);
    there.write = Writes{true, false, false, false};
    Result found = run_with(there);
    EXPECT_EQ(found.code, engine_failed);
    EXPECT_NE(found.err.find("JPEG decoder: no GPU"), found.err.npos) << found.err;
    there = options("auto", JpegOn::automatic);
    there.engine = "cuda";
    found = run_with(there);
    EXPECT_EQ(found.code, inputs_failed);  // some are damaged
    EXPECT_NE(found.err.find("the CPU decodes JPEGs: JPEG decoder: no GPU"), found.err.npos) << found.err;
}

}  // namespace
}  // namespace gpuhist::app
