// JPEG decoder: the stream-level API over the kernels of a batch. It parses headers and stages compressed data.

#include "gpuhist/jpeg.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/validate.hpp"
#include "cuda/host/device.hpp"
#include "cuda/jpeg/batch.hpp"
#include "gpuhist/error.hpp"
#include "jpeg/parse.hpp"

namespace gpuhist {
namespace {

/// Event without timing.
class Event {
  public:
    Event() { GPUHIST_CUDA(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }
    ~Event() { cuda::ignore(cudaEventDestroy(event_)); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    operator cudaEvent_t() const { return event_; }

  private:
    cudaEvent_t event_ = nullptr;
};

/// Memory that is handed out piece by piece.
class Room {
  public:
    std::size_t take(std::size_t bytes) {
        const std::size_t place = bytes_;
        bytes_ = (bytes_ + bytes + alignment - 1) / alignment * alignment;
        return place;
    }
    std::size_t bytes() const { return bytes_; }

  private:
    static constexpr std::size_t alignment = 256;
    std::size_t bytes_ = 0;
};

std::string words_of(std::uint32_t damage) {
    if (damage & jpeg::no_such_code) return "damaged data: a Huffman code that does not exist";
    if (damage & jpeg::beyond_block) return "damaged data: a coefficient behind the last one of a block";
    if (damage & jpeg::ended_early) return "damaged data: they end early";
    if (damage & jpeg::left_over) return "damaged data: bytes are left over";
    return "coefficients out of range";
}

}  // namespace

class JpegDecoder::Implementation {
  public:
    explicit Implementation(const JpegDecoderOptions& options) : gpu_(options.gpu) {}
    ~Implementation() {
        cuda::ignore(cudaEventSynchronize(uploaded_));
        cuda::ignore(cudaEventSynchronize(decoded_));
    }

    void enqueue(const JpegFile* files, std::int64_t count, cudaStream_t stream) {
        if (count < 0 || (count > 0 && !files)) throw InvalidArgument("a list of " + std::to_string(count) + " files");
        const cuda::CurrentDevice current(gpu_);
        images_.assign(static_cast<std::size_t>(count), {});
        numbers_.clear();
        try {
            GPUHIST_CUDA(cudaEventSynchronize(uploaded_));
            stage(files);
            if (!numbers_.empty()) upload_and_decode(stream);
        } catch (...) {
            images_.clear();
            numbers_.clear();
            throw;
        }
    }

    void finish() {
        const cuda::CurrentDevice current(gpu_);
        GPUHIST_CUDA(cudaEventSynchronize(decoded_));
        const auto* damage = reinterpret_cast<const std::uint32_t*>(damage_.data());
        for (std::size_t i = 0; i < numbers_.size(); ++i)
            if (JpegImage& image = images_[numbers_[i]]; damage[i] != 0) {
                image.reason = words_of(damage[i]);
                image.view.data = nullptr;
            }
    }

    void decode(const JpegFile* files, std::int64_t count) {
        const cuda::CurrentDevice current(gpu_);
        if (!stream_) stream_.emplace();
        enqueue(files, count, *stream_);
        finish();
    }

    void copy(const ImageView& image, const MutableImageView& output) {
        const cuda::CurrentDevice current(gpu_);
        if (!stream_) stream_.emplace();
        const auto bytes = static_cast<std::size_t>(image.packed_row_bytes());
        const std::size_t pitch = image.height == 1 ? bytes : static_cast<std::size_t>(output.row_bytes);
        GPUHIST_CUDA(cudaMemcpy2DAsync(output.data, pitch, image.data, bytes, bytes,
                                       static_cast<std::size_t>(image.height), cudaMemcpyDeviceToHost, *stream_));
        GPUHIST_CUDA(cudaStreamSynchronize(*stream_));
    }

    const std::vector<JpegImage>& images() const { return images_; }

  private:
    /// Copies the data of the files for the GPU into pinned memory, and assigns places to each image.
    void stage(const JpegFile* files) {
        std::vector<jpeg::Plan> plans;
        std::size_t most = 0;
        for (std::size_t i = 0; i < images_.size(); ++i) {
            plans.push_back(jpeg::parse(static_cast<const unsigned char*>(files[i].data), files[i].bytes));
            if (plans[i].reason.empty()) most += jpeg::staged_bytes(files[i].bytes, plans[i]) + word_alignment;
        }
        auto* words = reinterpret_cast<unsigned char*>(data_.reserve_ahead(most));
        plan_ = {};
        headers_.clear();
        tables_.clear();
        segments_.clear();
        for (std::size_t i = 0; i < images_.size(); ++i) {
            const auto* file = static_cast<const unsigned char*>(files[i].data);
            jpeg::Plan& plan = plans[i];
            const std::size_t segments = segments_.size();
            std::size_t bytes = 0;
            if (plan.reason.empty()) bytes = jpeg::stage(file, files[i].bytes, words + plan_.words, segments_, plan);
            JpegImage& image = images_[i];
            if (plan.image.components > 0)
                image.view = packed_view(static_cast<const void*>(nullptr), plan.image.width, plan.image.height,
                                         plan.image.channels(), Depth::u8, ChannelOrder::bgr, Memory::device);
            if (!plan.reason.empty()) {
                image.reason = std::move(plan.reason);
                segments_.resize(segments);
                continue;
            }
            place(plan.image, segments);
            plan_.words += (bytes + word_alignment - 1) / word_alignment * word_alignment;
            place_tables(plan);
            headers_.push_back(plan.image);
            numbers_.push_back(i);
        }
    }

    /// Assigns Huffman tables to an image: those of the image before, if they are the same.
    void place_tables(jpeg::Plan& plan) {
        if (!headers_.empty() && headers_.back().tables == plan.image.tables &&
            std::memcmp(tables_.data() + headers_.back().first_table, plan.tables.data(), bytes_of(plan.tables)) == 0) {
            plan.image.first_table = headers_.back().first_table;
            return;
        }
        plan.image.first_table = static_cast<std::int64_t>(tables_.size());
        tables_.insert(tables_.end(), plan.tables.begin(), plan.tables.end());
    }

    /// Assigns the places of an image, after those of the images before it.
    void place(jpeg::Image& image, std::size_t first_segment) {
        const auto round = [](std::int64_t bytes) { return (bytes + 255) / 256 * 256; };
        image.first_segment = static_cast<std::int64_t>(first_segment);
        image.first_word = static_cast<std::int64_t>(plan_.words / 4);
        image.first_chunk = plan_.chunks;
        image.first_block = plan_.blocks;
        image.first_pixel_byte = plan_.pixels;
        plan_.chunks += image.chunks;
        plan_.blocks += image.blocks();
        plan_.pixels += round(std::int64_t{image.width} * image.height * image.channels());
        for (int c = 0; c < image.components; ++c) {
            jpeg::Component& component = image.component[c];
            component.plane = plan_.planes;
            plan_.planes += round(std::int64_t{component.row_samples} * image.mcus_down * component.down * jpeg::side);
        }
        plan_.most_tables = std::max(plan_.most_tables, image.tables);
    }

    template <class T>
    static std::size_t bytes_of(const std::vector<T>& all) {
        return all.size() * sizeof(T);
    }

    void upload_and_decode(cudaStream_t stream) {
        const std::size_t count = headers_.size(), damage_bytes = count * sizeof(std::uint32_t);
        // Lists of the first block of each image, one per launch.
        std::vector<std::uint32_t> first[4];
        cuda::JpegLaunchBlocks all{};
        for (std::size_t i = 0; i <= count; ++i) {
            first[0].push_back(all.synchronizers);
            first[1].push_back(all.writers);
            first[2].push_back(all.transformers);
            first[3].push_back(all.painters);
            if (i == count) break;
            const cuda::JpegLaunchBlocks own = cuda::jpeg_launch_blocks(headers_[i]);
            all.synchronizers += own.synchronizers;
            all.writers += own.writers;
            all.transformers += own.transformers;
            all.painters += own.painters;
        }

        // Memory: first the tables that are uploaded with the data, then the buffers between kernels, then the images.
        Room room;
        const std::size_t headers = room.take(bytes_of(headers_)), tables = room.take(bytes_of(tables_)),
                          segments = room.take(bytes_of(segments_));
        std::size_t lists[4];
        for (int i = 0; i < 4; ++i) lists[i] = room.take(bytes_of(first[i]));
        const std::size_t uploaded = room.bytes();
        const auto chunks = static_cast<std::size_t>(plan_.chunks), blocks = static_cast<std::size_t>(plan_.blocks);
        const std::size_t damage = room.take(damage_bytes), words = room.take(plan_.words),
                          ends = room.take(chunks * sizeof(jpeg::ChunkEnd)),
                          begins = room.take(all.synchronizers * sizeof(jpeg::ChunkEnd)),
                          starts = room.take(chunks * sizeof(std::uint32_t)),
                          ac = room.take(blocks * jpeg::block_samples * sizeof(std::int16_t)),
                          dc = room.take(blocks * sizeof(std::int16_t)),
                          planes = room.take(static_cast<std::size_t>(plan_.planes)),
                          pixels = room.take(static_cast<std::size_t>(plan_.pixels));

        char* facts = facts_.reserve_ahead(uploaded);
        const auto put = [&](std::size_t at, const auto& list) {
            std::memcpy(facts + at, list.data(), bytes_of(list));
        };
        put(headers, headers_);
        put(tables, tables_);
        put(segments, segments_);
        for (int i = 0; i < 4; ++i) put(lists[i], first[i]);
        GPUHIST_CUDA(cudaStreamWaitEvent(stream, decoded_, 0));
        if (room.bytes() > device_.bytes() || damage_bytes > damage_.bytes())
            GPUHIST_CUDA(cudaEventSynchronize(decoded_));  // before the memory is freed
        damage_.reserve_ahead(damage_bytes);
        char* device = device_.reserve_ahead(room.bytes());
        GPUHIST_CUDA(cudaMemcpyAsync(device, facts, uploaded, cudaMemcpyHostToDevice, stream));
        GPUHIST_CUDA(cudaMemcpyAsync(device + words, data_.data(), plan_.words, cudaMemcpyHostToDevice, stream));
        GPUHIST_CUDA(cudaEventRecord(uploaded_, stream));
        GPUHIST_CUDA(cudaMemsetAsync(device + damage, 0, damage_bytes, stream));
        GPUHIST_CUDA(cudaMemsetAsync(device + ac, 0, dc - ac + blocks * sizeof(std::int16_t), stream));

        const auto at = [&]<class T>(std::size_t place, T*) { return reinterpret_cast<T*>(device + place); };
        cuda::JpegBatch batch{};
        batch.images = static_cast<int>(count);
        batch.most_tables = plan_.most_tables;
        batch.image = at(headers, static_cast<const jpeg::Image*>(nullptr));
        const std::uint32_t** firsts[] = {&batch.first_synchronizer, &batch.first_writer, &batch.first_transformer,
                                          &batch.first_painter};
        for (int i = 0; i < 4; ++i) *firsts[i] = at(lists[i], static_cast<const std::uint32_t*>(nullptr));
        batch.tables = at(tables, batch.tables);
        batch.segments = at(segments, batch.segments);
        batch.words = at(words, batch.words);
        batch.ends = at(ends, batch.ends);
        batch.begins = at(begins, batch.begins);
        batch.starts = at(starts, batch.starts);
        batch.ac = at(ac, batch.ac);
        batch.dc = at(dc, batch.dc);
        batch.planes = at(planes, batch.planes);
        batch.pixels = at(pixels, batch.pixels);
        batch.damage = at(damage, batch.damage);
        cuda::launch_jpeg(batch, all, stream);
        GPUHIST_CUDA(cudaMemcpyAsync(damage_.data(), batch.damage, damage_bytes, cudaMemcpyDeviceToHost, stream));
        GPUHIST_CUDA(cudaEventRecord(decoded_, stream));
        for (std::size_t i = 0; i < count; ++i)
            images_[numbers_[i]].view.data = batch.pixels + headers_[i].first_pixel_byte;
    }

    /// Alignment in bytes of the data of images.
    static constexpr std::size_t word_alignment = 16;

    /// Sizes of the lists that the images of a batch share.
    struct Sizes {
        std::size_t words = 0;  ///< in bytes
        std::int64_t chunks = 0, blocks = 0, planes = 0, pixels = 0;
        int most_tables = 0;
    };

    int gpu_;
    std::vector<JpegImage> images_;
    std::vector<std::size_t> numbers_;  ///< files of the images that are decoded
    Sizes plan_;
    std::vector<jpeg::Image> headers_;
    std::vector<jpeg::HuffmanTable> tables_;
    std::vector<jpeg::Segment> segments_;
    cuda::PinnedBuffer data_, facts_, damage_;
    cuda::DeviceBuffer device_;
    Event uploaded_, decoded_;
    std::optional<cuda::Stream> stream_;  ///< of `decode` and `copy`
};

JpegDecoder::JpegDecoder(const JpegDecoderOptions& options) {
    cuda::require_gpu("JPEG decoder", options.gpu);
    const cuda::CurrentDevice current(options.gpu);
    implementation_ = std::make_unique<Implementation>(options);
}
JpegDecoder::~JpegDecoder() = default;
JpegDecoder::JpegDecoder(JpegDecoder&&) noexcept = default;
JpegDecoder& JpegDecoder::operator=(JpegDecoder&&) noexcept = default;

void JpegDecoder::enqueue(const JpegFile* files, std::int64_t count, cudaStream_t stream) {
    implementation_->enqueue(files, count, stream);
}
std::int64_t JpegDecoder::size() const {
    return static_cast<std::int64_t>(implementation_->images().size());
}
const JpegImage& JpegDecoder::operator[](std::int64_t file) const {
    const auto& images = implementation_->images();
    if (file < 0 || file >= size())
        throw InvalidArgument("JPEG " + std::to_string(file) + " of " + std::to_string(size()));
    return images[static_cast<std::size_t>(file)];
}
void JpegDecoder::finish() {
    implementation_->finish();
}
void JpegDecoder::decode(const JpegFile* files, std::int64_t count) {
    implementation_->decode(files, count);
}
void JpegDecoder::copy(std::int64_t file, const MutableImageView& output) {
    const ImageView& image = (*this)[file].view;
    if (!image.data) throw InvalidArgument("JPEG " + std::to_string(file) + ": it was not decoded");
    if (output.memory != Memory::host) throw InvalidArgument("pixels of a JPEG: the output is not in host memory");
    ImageView there = image;
    there.memory = Memory::host;
    core::validate_output(there, image.depth, output);
    implementation_->copy(image, output);
}

}  // namespace gpuhist
