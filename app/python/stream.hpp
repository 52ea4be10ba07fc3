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
/// alone. Nothing is copied but the result. Stream 0 is the legacy default one. Throws as StreamAnalyzer,
/// InvalidArgument for what asks for the pixels on the host.
std::shared_ptr<Measurement> measure_on_stream(const ImageView& image, const Asked& asked, std::uintptr_t stream);

/// Measurement of a result that was copied to the host. Throws InvalidArgument where it is not complete.
std::shared_ptr<Measurement> measurement_of(const std::string& result, const Asked& asked, std::int64_t width,
                                            std::int64_t height);

}  // namespace gpuhist::python
