// Strips and tiles of a TIFF, from their bytes in the file to samples in rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "decode/bytes.hpp"
#include "decode/tiff_layout.hpp"

namespace gpuhist::io {

/// Decoder of the strips and tiles of a file. It keeps the codec's memory from one to the next.
class TiffCodec {
  public:
    virtual ~TiffCodec() = default;
    /// Decodes a strip or tile of `piece.bytes` into `to`; missing bytes become zeros. Returns the fault, or nothing.
    /// Samples of 16 and 32 bits are in the machine's byte order, predictors undone.
    virtual std::string decode(std::uint64_t index, const TiffPiece& piece, unsigned char* to) = 0;
};

/// Bytes of a strip or tile that are in the file: of a window in `memory`, which is used again for the next.
inline Bytes bytes_of(const Bytes& file, const TiffPiece& piece, std::vector<unsigned char>& memory) {
    const std::uint64_t begin = std::min<std::uint64_t>(piece.offset, file.size());
    const std::uint64_t count = std::min(piece.length, file.size() - begin);
    if (!file.of_window()) return file.part(begin, count);
    if (memory.size() < count) memory.resize(count);
    return {memory.data(), static_cast<std::size_t>(file.copy(begin, count, memory.data()))};
}

/// Decoder of a file whose layout is sound. Throws std::bad_alloc, and std::runtime_error where libtiff does not open
/// the file. File and layout must outlive it.
std::unique_ptr<TiffCodec> own_tiff_codec(const Bytes& file, const TiffLayout& layout);
std::unique_ptr<TiffCodec> libtiff_codec(const Bytes& file, const TiffLayout& layout);

}  // namespace gpuhist::io
