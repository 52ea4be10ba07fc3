/// JPEG files, decoded on a GPU. The pixels are those of libjpeg-turbo bit for bit, with its default settings (accurate
/// integer DCT, fancy upsampling) on processors with its SIMD code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "gpuhist/image.hpp"

struct CUstream_st;
typedef CUstream_st* cudaStream_t;  // the name of the CUDA toolkit, whose headers are not needed here

namespace gpuhist {

/// JPEG file in host memory, which the caller owns.
struct JpegFile {
    const void* data = nullptr;
    std::size_t bytes = 0;
};

/// Image of a file.
struct JpegImage {
    /// Pixels in device memory, which the decoder owns: u8, packed rows, as stored in the file. They are not rotated by
    /// the EXIF orientation. One channel is gray; three are blue, green and red. `data` is null if the GPU does not
    /// decode the file.
    ImageView view;
    /// Reason why the GPU does not decode the file; empty if it does. Then another decoder, libjpeg, must say whether
    /// the file is sound.
    std::string reason;
};

/// Options of a decoder.
struct JpegDecoderOptions {
    int gpu = 0;
};

/// Decoder of many JPEG files at once, on a stream. It accepts baseline and extended sequential files of 8 bits, gray,
/// YCbCr and RGB, with every sampling that libjpeg accepts, with or without restart markers. It refuses, with a reason,
/// files that it leaves to another decoder: progressive, arithmetic and lossless coding, 12 bits, CMYK, several scans,
/// and headers that libjpeg would warn about or repair. It finds damage in the data while it decodes them. So if an
/// image has no reason after `finish`, it has the pixels of libjpeg, and libjpeg would not warn about the file. Whether
/// a file is refused depends only on the file.
///
/// The decoder owns pinned memory for the compressed data, and about 9 bytes of device memory per pixel. Both only
/// grow. A decoder serves one thread at a time. Several decoders may work at once, each on its own stream; this keeps
/// processors, bus and GPU busy. The GPU of the options need not be the current one. Every call leaves the current GPU
/// as it was.
class JpegDecoder {
  public:
    /// Returns the size and the channels of a file, and the reason that its header gives not to decode it: `view` has
    /// no data, and its sides are 0 if the header cannot be read. The data after the header may have another reason,
    /// which decoding finds. Needs no GPU.
    static JpegImage inspect(const JpegFile& file);

    /// Makes a decoder. Throws EngineUnavailable without CUDA, and if the GPU cannot be used.
    explicit JpegDecoder(const JpegDecoderOptions& options = {});
    /// Waits for the work that the decoder has enqueued.
    ~JpegDecoder();
    JpegDecoder(JpegDecoder&&) noexcept;
    JpegDecoder& operator=(JpegDecoder&&) noexcept;

    /// Copies the data of `count` files to the GPU and decodes them, on a stream. Returns when the work is enqueued,
    /// but first waits for the copies of the previous call, and for the GPU if memory has to grow. The files may be
    /// freed when it returns. Later work on this stream may read the images. They stay until the next call. The work of
    /// the next call waits for that of this one, on any stream, but not for the work of the caller: if work on another
    /// stream reads the images, it must be done before the next call. Throws InvalidArgument, OutOfMemory, CudaError.
    void enqueue(const JpegFile* files, std::int64_t count, cudaStream_t stream);

    /// Number of images of the last call, one per file.
    std::int64_t size() const;
    /// Image of a file. After `enqueue` it has a view, or the reason that its header gives.
    const JpegImage& operator[](std::int64_t file) const;

    /// Waits until the images of the last call are decoded. Afterwards, images with damaged or unusual data have a
    /// reason and no view. Throws CudaError if the work failed.
    void finish();

    /// Decodes files on a stream of the decoder and waits until they are done: `enqueue` and `finish` in one call.
    void decode(const JpegFile* files, std::int64_t count);
    /// Copies the pixels of an image of the last call to host memory, and waits for the copy. `output` has the sides,
    /// channels, depth and order of the view. Call it after `finish`. Throws InvalidArgument if there is no such image,
    /// if it was not decoded, or if `output` is not such memory; CudaError.
    void copy(std::int64_t file, const MutableImageView& output);

  private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace gpuhist
