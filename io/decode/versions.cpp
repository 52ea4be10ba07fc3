#include "gpuhist/io/versions.hpp"

#include <OpenEXR/OpenEXRConfig.h>
#ifdef GPUHIST_AVIF
#include <avif/avif.h>
#endif
#ifdef GPUHIST_GIF
#include <gif_lib.h>
#endif
#ifdef GPUHIST_JPEGXL
#include <jxl/decode.h>
#endif
#include <libdeflate.h>
#include <lzma.h>
#include <openjpeg.h>
#include <png.h>
#include <tiffio.h>
#include <webp/decode.h>
#include <zlib.h>
#include <zstd.h>

#include <jpeglib.h>
#include <cstdio>  // before jpeglib.h, which wants FILE

#include "decode/late.hpp"

#include <algorithm>

#define GPUHIST_TEXT_OF(x) #x
#define GPUHIST_TEXT(x) GPUHIST_TEXT_OF(x)

namespace gpuhist::io {
namespace {

#ifdef GPUHIST_AVIF_LATE
constinit const LateFunction<decltype(::avifVersion)> avifVersion(GPUHIST_AVIF_LATE, "avifVersion");
#endif
#ifdef GPUHIST_JPEGXL_LATE
constinit const LateFunction<decltype(::JxlDecoderVersion)> JxlDecoderVersion(GPUHIST_JPEGXL_LATE, "JxlDecoderVersion");
#endif

/// "LIBTIFF, Version 4.5.0\nCopyright …"
std::string tiff_version() {
    std::string text = TIFFGetVersion();
    text.erase(text.find_first_of('\n') == text.npos ? text.size() : text.find_first_of('\n'));
    return text.substr(text.rfind(' ') + 1);
}

std::string webp_version() {
    const int number = WebPGetDecoderVersion();  // 0xMMmmrr
    return std::to_string(number >> 16) + "." + std::to_string(number >> 8 & 255) + "." + std::to_string(number & 255);
}

#ifdef GPUHIST_JPEGXL
std::string jxl_version() {
    if (!is_there(JxlDecoderVersion)) return {};
    const std::uint32_t number = JxlDecoderVersion();  // MAJOR 1000000 + MINOR 1000 + PATCH
    return std::to_string(number / 1000000) + "." + std::to_string(number / 1000 % 1000) + "." +
           std::to_string(number % 1000);
}
#endif

}  // namespace

std::vector<LibraryVersion> library_versions() {
    std::vector<LibraryVersion> all{
#ifdef LIBJPEG_TURBO_VERSION
        {"libjpeg-turbo", GPUHIST_TEXT(LIBJPEG_TURBO_VERSION)},
#else
        {"libjpeg", GPUHIST_TEXT(JPEG_LIB_VERSION)},
#endif
        {"libpng", png_get_libpng_ver(nullptr)},
        {"libtiff", tiff_version()},
        {"libwebp", webp_version()},
        {"OpenJPEG", opj_version()},
#ifdef GPUHIST_AVIF
        {"libavif", is_there(avifVersion) ? avifVersion() : ""},
#endif
#ifdef GPUHIST_JPEGXL
        {"libjxl", jxl_version()},
#endif
#ifdef GPUHIST_GIF
        {"giflib", GPUHIST_TEXT(GIFLIB_MAJOR) "." GPUHIST_TEXT(GIFLIB_MINOR) "." GPUHIST_TEXT(GIFLIB_RELEASE)},
#endif
        {"OpenEXR", OPENEXR_VERSION_STRING},
        {"zlib", zlibVersion()},
        {"libdeflate", LIBDEFLATE_VERSION_STRING},
        {"zstd", ZSTD_versionString()},
        {"liblzma", lzma_version_string()}};
    const auto missing = [](const LibraryVersion& one) { return one.version.empty(); };
    all.erase(std::remove_if(all.begin(), all.end(), missing), all.end());
    return all;
}

}  // namespace gpuhist::io
