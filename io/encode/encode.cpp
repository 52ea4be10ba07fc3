#include "gpuhist/io/encode.hpp"

#include <algorithm>
#include <memory>
#include <opencv2/core.hpp>
#include <vector>

#include "encode/encode.hpp"
#include "files/failure.hpp"

namespace gpuhist::io {

const char* lossless_extension(Depth depth, Samples samples) {
    const DepthTraits& traits = traits_of(depth);
    const bool bands = samples == Samples::bands || samples == Samples::color_bands;
    const bool png = !traits.floating && traits.lowest == 0 && traits.bytes <= 2 && !bands;
    return png ? ".png" : ".tiff";  // PNG has no fractions, signs, bands, and no more than 16 bits
}

void BytesInMemory::write(std::uint64_t place, const void* data, std::size_t count) {
    bytes.resize(std::max<std::size_t>(bytes.size(), place + count));
    std::copy_n(static_cast<const unsigned char*>(data), count, bytes.begin() + static_cast<std::ptrdiff_t>(place));
}

namespace {

std::unique_ptr<RowEncoder> make_encoder(EncodedBytes& to, const std::filesystem::path& path, cv::Size sides, int type,
                                         Samples samples, std::optional<Depth> depth, const EncodeOptions& options) {
    const std::string extension = path.extension().string(), name = path.string();
    if (extension == ".png") return png_encoder(to, sides, type, samples, name, options);
    if (extension == ".tiff") return tiff_encoder(to, sides, type, samples, name, depth == Depth::u32, options);
    fail(name, "cannot be encoded: only .png and .tiff are written");
}

/// Encoder that owns the place for its bytes.
class FileEncoder final : public RowEncoder {
  public:
    FileEncoder(NewFile& file, const std::filesystem::path& path, cv::Size sides, int type, Samples samples,
                std::optional<Depth> depth, const EncodeOptions& options)
        : bytes_(file), encoder_(make_encoder(bytes_, path, sides, type, samples, depth, options)) {}
    void add(const cv::Mat& rows) override { encoder_->add(rows); }
    void finish() override { encoder_->finish(); }

  private:
    struct BytesInFile final : EncodedBytes {
        explicit BytesInFile(NewFile& to) : file(to) {}
        void write(std::uint64_t place, const void* data, std::size_t count) override {
            file.write_at(place, data, count);
        }
        NewFile& file;
    };
    BytesInFile bytes_;
    std::unique_ptr<RowEncoder> encoder_;
};

}  // namespace

std::unique_ptr<RowEncoder> encode_rows(NewFile& file, cv::Size sides, int type, Samples samples,
                                        std::optional<Depth> depth, const EncodeOptions& options) {
    return std::make_unique<FileEncoder>(file, file.path(), sides, type, samples, depth, options);
}

std::vector<unsigned char> encode_image(const std::filesystem::path& path, const cv::Mat& image, Samples samples,
                                        std::optional<Depth> depth, const EncodeOptions& options) {
    BytesInMemory bytes;
    const auto encoder = make_encoder(bytes, path, image.size(), image.type(), samples, depth, options);
    encoder->add(image);
    encoder->finish();
    return std::move(bytes.bytes);
}

void write_image(const std::filesystem::path& path, const cv::Mat& image, Samples samples, std::optional<Depth> depth) {
    const std::vector<unsigned char> bytes = encode_image(path, image, samples, depth);
    write_file(path, bytes.data(), bytes.size());
}

}  // namespace gpuhist::io
