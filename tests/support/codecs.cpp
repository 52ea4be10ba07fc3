#include "support/codecs.hpp"

#include <ImfChannelList.h>
#include <ImfFrameBuffer.h>
#include <ImfHeader.h>
#include <ImfIO.h>
#include <ImfInputFile.h>
#include <ImfMultiPartOutputFile.h>
#include <ImfOutputFile.h>
#include <ImfOutputPart.h>
#include <ImfPartType.h>
#include <ImfRgbaFile.h>
#include <openjpeg.h>
#include <png.h>
#include <webp/encode.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstring>
#include <deque>
#include <fstream>
#include <iterator>
#include <memory>
#include <opencv2/imgproc.hpp>
#include <stdexcept>

#include "support/jpeg_files.hpp"
#include "support/tiff_files.hpp"

namespace gpuhist::test {
namespace {

using Bytes = std::vector<unsigned char>;

void append(Bytes& bytes, const std::string& text) {
    bytes.insert(bytes.end(), text.begin(), text.end());
}

void append(Bytes& bytes, const unsigned char* data, std::size_t count) {
    bytes.insert(bytes.end(), data, data + count);
}

void append_number(Bytes& bytes, std::uint32_t value, int count, bool big_endian) {
    for (int i = 0; i < count; ++i)
        bytes.push_back(static_cast<unsigned char>(value >> 8 * (big_endian ? count - 1 - i : i)));
}

void append_row(Bytes& bytes, const cv::Mat& picture, int y) {
    append(bytes, picture.ptr(y), static_cast<std::size_t>(picture.cols) * picture.elemSize());
}

/// Colors in the order R, G, B; gray as it is.
cv::Mat rgb(const cv::Mat& picture) {
    return picture.channels() < 3 ? picture : tiff_files::bgr(picture);
}

// -------------------------------------------------------------------------------------------------------- PNG

[[noreturn]] void throw_png_error(png_structp, png_const_charp message) {  // through libpng, which may be unwound
    throw std::runtime_error(message);
}

void ignore_png_warning(png_structp, png_const_charp) {}

cv::Mat decode_png(const Bytes& file) {
    struct Source {
        const Bytes& bytes;
        std::size_t position;
    } source{file, 0};
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, nullptr, throw_png_error, ignore_png_warning);
    png_infop info = png_create_info_struct(png);
    png_set_read_fn(png, &source, [](png_structp reader, png_bytep to, std::size_t count) {
        auto& from = *static_cast<Source*>(png_get_io_ptr(reader));
        if (count > from.bytes.size() - from.position) png_error(reader, "the file ends");
        std::memcpy(to, from.bytes.data() + from.position, count);
        from.position += count;
    });
    png_read_info(png, info);
    png_set_expand(png);
    png_set_bgr(png);
    if (png_get_bit_depth(png, info) == 16) png_set_swap(png);
    png_set_interlace_handling(png);
    png_read_update_info(png, info);
    cv::Mat picture(static_cast<int>(png_get_image_height(png, info)), static_cast<int>(png_get_image_width(png, info)),
                    CV_MAKETYPE(png_get_bit_depth(png, info) == 16 ? CV_16U : CV_8U, png_get_channels(png, info)));
    std::vector<png_bytep> rows;
    for (int y = 0; y < picture.rows; ++y) rows.push_back(picture.ptr(y));
    png_read_image(png, rows.data());
    png_read_end(png, nullptr);
    png_destroy_read_struct(&png, &info, nullptr);
    return picture;
}

// ------------------------------------------------------------------------------------------- Formats by hand

Bytes encode_bmp(const cv::Mat& picture) {
    const bool gray = picture.channels() == 1;
    const std::size_t row_bytes = static_cast<std::size_t>(picture.cols) * picture.elemSize(),
                      padding = (4 - row_bytes % 4) % 4, offset = 14 + 40 + (gray ? 1024 : 0),
                      size = offset + (row_bytes + padding) * static_cast<std::size_t>(picture.rows);
    Bytes file{'B', 'M'};
    file.reserve(size);
    const auto number = [&](std::size_t value, int count) {
        append_number(file, static_cast<std::uint32_t>(value), count, false);
    };
    for (const std::size_t value : {size, std::size_t{0}, offset, std::size_t{40}}) number(value, 4);
    number(static_cast<std::size_t>(picture.cols), 4);
    number(static_cast<std::size_t>(picture.rows), 4);
    number(1, 2);
    number(8 * picture.elemSize(), 2);
    for (int i = 0; i < 6; ++i) number(0, 4);
    for (unsigned value = 0; gray && value < 256; ++value) number(value * 0x10101, 4);
    for (int y = picture.rows - 1; y >= 0; --y) {
        append_row(file, picture, y);
        file.resize(file.size() + padding);
    }
    return file;
}

Bytes encode_sun_raster(const cv::Mat& picture) {
    const std::size_t row_bytes = static_cast<std::size_t>(picture.cols) * picture.elemSize(), padding = row_bytes % 2;
    Bytes file;
    for (const std::size_t word :
         {std::size_t{0x59A66A95}, static_cast<std::size_t>(picture.cols), static_cast<std::size_t>(picture.rows),
          8 * picture.elemSize(), (row_bytes + padding) * static_cast<std::size_t>(picture.rows), std::size_t{1},
          std::size_t{0}, std::size_t{0}})
        append_number(file, static_cast<std::uint32_t>(word), 4, true);
    for (int y = 0; y < picture.rows; ++y) {
        append_row(file, picture, y);
        file.resize(file.size() + padding);
    }
    return file;
}

/// Samples as netpbm's formats store them: R, G, B, the more significant byte first.
void append_samples(Bytes& file, const cv::Mat& picture) {
    const cv::Mat flat = rgb(picture).reshape(1);
    for (int y = 0; y < flat.rows; ++y) {
        if (flat.depth() == CV_8U)
            append_row(file, flat, y);
        else
            for (int x = 0; x < flat.cols; ++x) append_number(file, flat.at<ushort>(y, x), 2, true);
    }
}

Bytes encode_netpbm(const cv::Mat& picture) {
    Bytes file;
    append(file, (picture.channels() == 1 ? "P5\n" : "P6\n") + std::to_string(picture.cols) + ' ' +
                     std::to_string(picture.rows) + (picture.depth() == CV_8U ? "\n255\n" : "\n65535\n"));
    append_samples(file, picture);
    return file;
}

Bytes encode_pam(const cv::Mat& picture) {
    const std::array<const char*, 4> types{"GRAYSCALE", "GRAYSCALE_ALPHA", "RGB", "RGB_ALPHA"};
    const int channels = picture.channels();
    Bytes file;
    append(file, "P7\nWIDTH " + std::to_string(picture.cols) + "\nHEIGHT " + std::to_string(picture.rows) + "\nDEPTH " +
                     std::to_string(channels) + "\nMAXVAL " + (picture.depth() == CV_8U ? "255" : "65535") +
                     "\nTUPLTYPE " + types.at(static_cast<std::size_t>(channels - 1)) + "\nENDHDR\n");
    append_samples(file, picture);
    return file;
}

Bytes encode_pfm(const cv::Mat& picture) {
    Bytes file;
    append(file, (picture.channels() == 1 ? "Pf\n" : "PF\n") + std::to_string(picture.cols) + ' ' +
                     std::to_string(picture.rows) + "\n-1.0\n");
    const cv::Mat samples = rgb(picture);
    for (int y = samples.rows - 1; y >= 0; --y) append_row(file, samples, y);
    return file;
}

Bytes encode_radiance(const cv::Mat& picture) {
    Bytes file;
    append(file, "#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y " + std::to_string(picture.rows) + " +X " +
                     std::to_string(picture.cols) + '\n');
    for (int y = 0; y < picture.rows; ++y)
        for (int x = 0; x < picture.cols; ++x) {
            const auto& bgr = picture.at<cv::Vec3f>(y, x);
            int exponent = 0;
            const float most = std::max({bgr[0], bgr[1], bgr[2]}), fraction = std::frexp(most, &exponent);
            for (const int c : {2, 1, 0})
                file.push_back(most > 0 ? static_cast<unsigned char>(bgr[c] * fraction * 256 / most) : 0);
            file.push_back(most > 0 ? static_cast<unsigned char>(exponent + 128) : 0);
        }
    return file;
}

// ------------------------------------------------------------------------------------------- Other libraries

Bytes encode_tiff(const cv::Mat& picture) {
    tiff_files::Spec spec;
    spec.compression = COMPRESSION_LZW;
    if (picture.channels() == 4) spec.extra = {EXTRASAMPLE_UNASSALPHA};
    return tiff_files::write(rgb(picture), spec);
}

cv::Mat decode_tiff(const Bytes& file) {
    bool colors = false;
    const cv::Mat samples = tiff_files::samples_of(file, colors);
    return colors ? tiff_files::bgr(samples) : samples;
}

Bytes encode_jpeg(const cv::Mat& picture) {
    return jpeg_files::make_jpeg(picture, picture.channels() == 1
                                              ? jpeg_files::JpegOptions{JCS_GRAYSCALE, JCS_GRAYSCALE}
                                              : jpeg_files::JpegOptions{JCS_EXT_BGR, JCS_YCbCr, 2, 2});
}

Bytes taken(std::uint8_t* data, std::size_t size) {
    if (size == 0) throw std::runtime_error("libwebp does not encode");
    const Bytes file(data, data + size);
    WebPFree(data);
    return file;
}

Bytes encode_webp(const cv::Mat& picture) {
    std::uint8_t* data = nullptr;
    const auto encoder = picture.channels() == 4 ? WebPEncodeLosslessBGRA : WebPEncodeLosslessBGR;
    const std::size_t size = encoder(picture.data, picture.cols, picture.rows, static_cast<int>(picture.step), &data);
    return taken(data, size);
}

Bytes encode_jpeg2000(const cv::Mat& picture) {
    const cv::Mat samples = rgb(picture);
    const int channels = samples.channels();
    opj_cparameters_t parameters;
    opj_set_default_encoder_parameters(&parameters);
    parameters.tcp_numlayers = parameters.cp_disto_alloc = 1;
    parameters.tcp_rates[0] = 0;  // lossless
    parameters.numresolution = 4;
    parameters.tcp_mct = channels == 3;
    opj_image_cmptparm_t component{};
    component.dx = component.dy = 1;
    component.w = static_cast<OPJ_UINT32>(samples.cols);
    component.h = static_cast<OPJ_UINT32>(samples.rows);
    component.prec = static_cast<OPJ_UINT32>(8 * samples.elemSize1());
    std::vector<opj_image_cmptparm_t> components(static_cast<std::size_t>(channels), component);
    const std::unique_ptr<opj_image_t, decltype(&opj_image_destroy)> image(
        opj_image_create(static_cast<OPJ_UINT32>(channels), components.data(),
                         channels == 1 ? OPJ_CLRSPC_GRAY : OPJ_CLRSPC_SRGB),
        opj_image_destroy);
    image->x1 = component.w;
    image->y1 = component.h;
    for (int c = 0; c < channels; ++c) {
        cv::Mat plane, numbers(samples.size(), CV_32S, image->comps[c].data);
        cv::extractChannel(samples, plane, c);
        plane.convertTo(numbers, CV_32S);
        image->comps[c].alpha = c == 3;
    }
    struct Target {
        Bytes bytes;
        std::size_t position = 0;
    } target;
    const std::unique_ptr<opj_stream_t, decltype(&opj_stream_destroy)> stream(opj_stream_default_create(OPJ_FALSE),
                                                                              opj_stream_destroy);
    opj_stream_set_user_data(stream.get(), &target, nullptr);
    opj_stream_set_write_function(stream.get(), [](void* data, OPJ_SIZE_T count, void* user) -> OPJ_SIZE_T {
        auto& [bytes, position] = *static_cast<Target*>(user);
        bytes.resize(std::max(bytes.size(), position + count));
        std::memcpy(bytes.data() + position, data, count);
        position += count;
        return count;
    });
    opj_stream_set_skip_function(stream.get(), [](OPJ_OFF_T count, void* user) -> OPJ_OFF_T {
        static_cast<Target*>(user)->position += static_cast<std::size_t>(count);
        return count;
    });
    opj_stream_set_seek_function(stream.get(), [](OPJ_OFF_T place, void* user) -> OPJ_BOOL {
        static_cast<Target*>(user)->position = static_cast<std::size_t>(place);
        return OPJ_TRUE;
    });
    const std::unique_ptr<opj_codec_t, decltype(&opj_destroy_codec)> codec(opj_create_compress(OPJ_CODEC_JP2),
                                                                           opj_destroy_codec);
    if (!opj_setup_encoder(codec.get(), &parameters, image.get()) ||
        !opj_start_compress(codec.get(), image.get(), stream.get()) || !opj_encode(codec.get(), stream.get()) ||
        !opj_end_compress(codec.get(), stream.get()))
        throw std::runtime_error("OpenJPEG does not encode");
    return target.bytes;
}

/// OpenEXR file in memory, as the library writes it.
class MemoryFile : public Imf::OStream {
  public:
    MemoryFile() : Imf::OStream("memory") {}
    void write(const char* data, int count) override {
        bytes.resize(std::max(bytes.size(), position_ + static_cast<std::size_t>(count)));
        std::memcpy(bytes.data() + position_, data, static_cast<std::size_t>(count));
        position_ += static_cast<std::size_t>(count);
    }
    std::uint64_t tellp() override { return position_; }
    void seekp(std::uint64_t position) override { position_ = position; }

    Bytes bytes;

  private:
    std::size_t position_ = 0;
};

class MemoryInput : public Imf::IStream {
  public:
    explicit MemoryInput(const Bytes& bytes) : Imf::IStream("memory"), bytes_(bytes) {}
    bool read(char* to, int count) override {
        if (position_ + static_cast<std::size_t>(count) > bytes_.size()) throw std::runtime_error("the file ends");
        std::memcpy(to, bytes_.data() + position_, static_cast<std::size_t>(count));
        position_ += static_cast<std::size_t>(count);
        return position_ < bytes_.size();
    }
    std::uint64_t tellg() override { return position_; }
    void seekg(std::uint64_t position) override { position_ = position; }

  private:
    const Bytes& bytes_;
    std::size_t position_ = 0;
};

}  // namespace

Bytes encode_png(const cv::Mat& picture, int level) {
    const std::array types{PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGBA};
    Bytes file;
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, throw_png_error, ignore_png_warning);
    png_infop info = png_create_info_struct(png);
    png_set_write_fn(
        png, &file,
        [](png_structp writer, png_bytep data, std::size_t count) {
            append(*static_cast<Bytes*>(png_get_io_ptr(writer)), data, count);
        },
        [](png_structp) {});
    png_set_IHDR(png, info, static_cast<png_uint_32>(picture.cols), static_cast<png_uint_32>(picture.rows),
                 static_cast<int>(8 * picture.elemSize1()), types.at(static_cast<std::size_t>(picture.channels() - 1)),
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_compression_level(png, level);
    png_write_info(png, info);
    png_set_bgr(png);
    if (picture.depth() == CV_16U) png_set_swap(png);
    for (int y = 0; y < picture.rows; ++y) png_write_row(png, picture.ptr(y));
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    return file;
}

Bytes encode_lossy_webp(const cv::Mat& picture, float quality) {
    std::uint8_t* data = nullptr;
    const auto encoder = picture.channels() == 4 ? WebPEncodeBGRA : WebPEncodeBGR;
    const std::size_t size =
        encoder(picture.data, picture.cols, picture.rows, static_cast<int>(picture.step), quality, &data);
    return taken(data, size);
}

Bytes encode_openexr(const cv::Mat& picture, int compression, bool half) {
    cv::Mat samples = picture;
    if (half) picture.convertTo(samples, CV_16F);
    const Imf::PixelType type = half ? Imf::HALF : Imf::FLOAT;
    Imf::Header header(samples.cols, samples.rows);
    header.compression() = static_cast<Imf::Compression>(compression);
    Imf::FrameBuffer frame;
    const std::string names = samples.channels() == 1 ? "Y" : "BGRA";
    for (int c = 0; c < samples.channels(); ++c) {
        const std::string name = names.substr(static_cast<std::size_t>(c), 1);
        header.channels().insert(name, Imf::Channel(type));
        frame.insert(name, Imf::Slice(type, reinterpret_cast<char*>(samples.data) + c * samples.elemSize1(),
                                      samples.elemSize(), samples.step));
    }
    MemoryFile memory;
    {
        Imf::OutputFile file(memory, header);
        file.setFrameBuffer(frame);
        file.writePixels(samples.rows);
    }
    return memory.bytes;
}

Bytes encode_luminance_chroma(const cv::Mat& picture, int compression) {
    std::vector<Imf::Rgba> pixels;
    for (int y = 0; y < picture.rows; ++y)
        for (int x = 0; x < picture.cols; ++x) {
            const auto* in = picture.ptr<float>(y, x);
            pixels.emplace_back(in[2], in[1], in[0], picture.channels() == 4 ? in[3] : 1.0F);
        }
    MemoryFile memory;
    {
        Imf::Header header(picture.cols, picture.rows);
        header.compression() = static_cast<Imf::Compression>(compression);
        Imf::RgbaOutputFile file(memory, header, picture.channels() == 4 ? Imf::WRITE_YCA : Imf::WRITE_YC);
        file.setFrameBuffer(pixels.data(), 1, static_cast<std::size_t>(picture.cols));
        file.writePixels(picture.rows);
    }
    return memory.bytes;
}

cv::Mat read_luminance_chroma(const Bytes& bytes) {
    MemoryInput memory(bytes);
    Imf::RgbaInputFile file(memory, 0);
    const Imath::Box2i window = file.dataWindow();
    cv::Mat pixels(window.max.y - window.min.y + 1, window.max.x - window.min.x + 1, CV_16FC4);
    std::vector<Imf::Rgba> all(pixels.total());
    const std::ptrdiff_t columns = pixels.cols;
    file.setFrameBuffer(all.data() - window.min.x - window.min.y * columns, 1, static_cast<std::size_t>(columns));
    file.readPixels(window.min.y, window.max.y);
    for (std::size_t i = 0; i < all.size(); ++i) {
        const std::array samples{all[i].b, all[i].g, all[i].r, all[i].a};
        std::memcpy(pixels.data + i * sizeof samples, samples.data(), sizeof samples);
    }
    return pixels;
}

Bytes encode_openexr_parts(const std::vector<cv::Mat>& pictures) {
    std::vector<Imf::Header> headers;
    std::vector<Imf::FrameBuffer> frames(pictures.size());
    for (std::size_t i = 0; i < pictures.size(); ++i) {
        const cv::Mat& picture = pictures[i];
        const Imf::PixelType type = picture.depth() == CV_16F ? Imf::HALF : Imf::FLOAT;
        const Imath::Box2i screen({0, 0}, {99, 99}), window({0, 0}, {picture.cols - 1, picture.rows - 1});
        Imf::Header& header = headers.emplace_back(screen, window);
        header.setName("part " + std::to_string(i));
        header.setType(Imf::SCANLINEIMAGE);
        const std::string names = picture.channels() == 1 ? "Y" : "BGRA";
        for (int c = 0; c < picture.channels(); ++c) {
            const std::string name = names.substr(static_cast<std::size_t>(c), 1);
            header.channels().insert(name, Imf::Channel(type));
            auto* const first = reinterpret_cast<char*>(picture.data) + c * picture.elemSize1();
            frames[i].insert(name, Imf::Slice(type, first, picture.elemSize(), picture.step));
        }
    }
    MemoryFile memory;
    {
        Imf::MultiPartOutputFile file(memory, headers.data(), static_cast<int>(headers.size()), false, 0);
        for (std::size_t i = pictures.size(); i-- > 0;) {  // the last part's data lie first
            Imf::OutputPart part(file, static_cast<int>(i));
            part.setFrameBuffer(frames[i]);
            part.writePixels(pictures[i].rows);
        }
    }
    return memory.bytes;
}

Bytes encode_luminance_chroma_parts(const cv::Mat& gray, const std::vector<Bytes>& files) {
    const Imath::Box2i screen({0, 0}, {99, 99});
    std::vector<Imf::Header> headers{Imf::Header(screen, Imath::Box2i({0, 0}, {gray.cols - 1, gray.rows - 1}))};
    headers[0].channels().insert("Y", Imf::Channel(Imf::FLOAT));
    std::vector<Imf::FrameBuffer> frames(1 + files.size());
    frames[0].insert("Y", Imf::Slice(Imf::FLOAT, reinterpret_cast<char*>(gray.data), gray.elemSize(), gray.step));
    std::deque<std::vector<std::uint16_t>> planes;
    for (std::size_t i = 0; i < files.size(); ++i) {
        MemoryInput memory(files[i]);
        Imf::InputFile file(memory, 0);
        Imf::Header header = file.header();
        const Imath::Box2i window = header.dataWindow();
        const int width = window.max.x - window.min.x + 1, height = window.max.y - window.min.y + 1;
        for (auto channel = header.channels().begin(); channel != header.channels().end(); ++channel) {
            const int step = channel.channel().xSampling;
            std::vector<std::uint16_t>& plane =
                planes.emplace_back(static_cast<std::size_t>(width / step * (height / step)));
            const std::size_t row = 2 * static_cast<std::size_t>(width / step);
            frames[i + 1].insert(channel.name(),
                                 Imf::Slice(Imf::HALF, reinterpret_cast<char*>(plane.data()), 2, row, step, step));
        }
        file.setFrameBuffer(frames[i + 1]);
        file.readPixels(window.min.y, window.max.y);
        headers.push_back(header);
    }
    for (std::size_t i = 0; i < headers.size(); ++i) {
        headers[i].setName("part " + std::to_string(i));
        headers[i].setType(Imf::SCANLINEIMAGE);
    }
    MemoryFile memory;
    {
        Imf::MultiPartOutputFile file(memory, headers.data(), static_cast<int>(headers.size()), true, 0);
        for (std::size_t i = 0; i < headers.size(); ++i) {
            Imf::OutputPart part(file, static_cast<int>(i));
            part.setFrameBuffer(frames[i]);
            const Imath::Box2i window = headers[i].dataWindow();
            part.writePixels(window.max.y - window.min.y + 1);
        }
    }
    return memory.bytes;
}

Bytes encode(const std::string& extension, const cv::Mat& picture) {
    struct Format {
        std::vector<std::string> extensions;
        std::vector<int> depths, channels;
        Bytes (*encode)(const cv::Mat& picture);
    };
    const std::vector<Format> formats{
        {{".png"}, {CV_8U, CV_16U}, {1, 2, 3, 4}, [](const cv::Mat& it) { return encode_png(it, 1); }},
        {{".tif", ".tiff"}, {CV_8U, CV_16U, CV_32F, CV_64F}, {1, 3, 4}, encode_tiff},
        {{".jpg"}, {CV_8U}, {1, 3}, encode_jpeg},
        {{".bmp"}, {CV_8U}, {1, 3}, encode_bmp},
        {{".ras"}, {CV_8U}, {1, 3}, encode_sun_raster},
        {{".webp"}, {CV_8U}, {3, 4}, encode_webp},
        {{".jp2"}, {CV_8U, CV_16U}, {1, 3, 4}, encode_jpeg2000},
        {{".exr"},
         {CV_32F},
         {1, 3, 4},
         [](const cv::Mat& it) { return encode_openexr(it, Imf::ZIP_COMPRESSION, false); }},
        {{".hdr"}, {CV_32F}, {3}, encode_radiance},
        {{".pgm"}, {CV_8U, CV_16U}, {1}, encode_netpbm},
        {{".ppm"}, {CV_8U, CV_16U}, {3}, encode_netpbm},
        {{".pam"}, {CV_8U, CV_16U}, {1, 2, 3, 4}, encode_pam},
        {{".pfm"}, {CV_32F}, {1, 3}, encode_pfm}};
    std::string wanted = extension;
    for (char& c : wanted) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const auto has = [](const auto& list, const auto& value) {
        return std::find(list.begin(), list.end(), value) != list.end();
    };
    for (const Format& format : formats)
        if (has(format.extensions, wanted) && has(format.depths, picture.depth()) &&
            has(format.channels, picture.channels()))
            return format.encode(picture);
    throw std::runtime_error("the tests' codecs write no " + extension + " of " + cv::typeToString(picture.type()));
}

cv::Mat decode(const Bytes& file) {
    const auto begins = [&](const std::string& magic) {
        return file.size() >= magic.size() && std::equal(magic.begin(), magic.end(), file.begin(), [](char a, auto b) {
                   return static_cast<unsigned char>(a) == b;
               });
    };
    if (begins("\x89PNG")) return decode_png(file);
    if (begins("II") || begins("MM")) return decode_tiff(file);
    if (begins("\xFF\xD8")) return jpeg_files::pixels_of(file);
    throw std::runtime_error("the tests' codecs read PNG, TIFF and JPEG");
}

void write_picture(const std::filesystem::path& path, const cv::Mat& picture) {
    const Bytes bytes = encode(path.extension(), picture);
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    file.close();
    if (!file) throw std::runtime_error("cannot write " + path.string());
}

cv::Mat read_picture(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error("cannot read " + path.string());
    return decode(Bytes(std::istreambuf_iterator<char>(file), {}));
}

}  // namespace gpuhist::test
