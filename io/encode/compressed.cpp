#include <libdeflate.h>

#include <memory>
#include <new>

#include "encode/encode.hpp"

namespace gpuhist::io {

std::string compressed(std::string_view text) {
    constexpr int level = 9;
    const std::unique_ptr<libdeflate_compressor, void (*)(libdeflate_compressor*)> codec(
        libdeflate_alloc_compressor(level), libdeflate_free_compressor);
    if (!codec) throw std::bad_alloc();
    std::string bytes(libdeflate_zlib_compress_bound(codec.get(), text.size()), '\0');
    bytes.resize(libdeflate_zlib_compress(codec.get(), text.data(), text.size(), bytes.data(), bytes.size()));
    return bytes;
}

}  // namespace gpuhist::io
