/// Images on a GPU, measured on the stream of whoever owns them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "gpuhist/stream.hpp"
#include "gpuhist/stream_regions.hpp"
#include "images.hpp"

namespace gpuhist::python {

/// Measures an image in the memory of `asked.gpu`, after what was put on the stream before, and waits for that stream
/// alone. Only the result is copied to the host. If the channels lie in planes, `plane_bytes` apart (0: they don't),
/// they are interleaved first, in memory that is kept for the next such image. Stream 0 is the legacy default one.
/// Throws as StreamAnalyzer, InvalidArgument for what asks for the pixels on the host.
std::shared_ptr<Measurement> measure_on_stream(const ImageView& image, std::int64_t plane_bytes, const Asked& asked,
                                               std::uintptr_t stream);

/// Writes the copy of an image in the memory of `asked.gpu` with an engine, after what was put on the stream before.
/// Throws as Engine::normalize.
void normalize_behind_stream(const ImageView& image, const MutableImageView& output, const Normalization& normalization,
                             const Asked& asked, std::uintptr_t stream);

/// Measurement of a result that was copied to the host. Throws InvalidArgument where it is not complete.
std::shared_ptr<Measurement> measurement_of(const std::string& result, const Asked& asked, std::int64_t width,
                                            std::int64_t height);

}  // namespace gpuhist::python
