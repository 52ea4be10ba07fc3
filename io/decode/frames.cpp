#include "decode/frames.hpp"

#include <algorithm>
#include <utility>

namespace gpuhist::io {

Frames::Decoder Frames::take(std::uint64_t frame) {
    const std::lock_guard lock(mutex_);
    auto nearest = idle_.end();
    for (auto decoder = idle_.begin(); decoder != idle_.end(); ++decoder)
        if (decoder->done < frame && (nearest == idle_.end() || decoder->done > nearest->done)) nearest = decoder;
    if (nearest == idle_.end()) return {};
    Decoder taken = std::move(*nearest);
    idle_.erase(nearest);
    return taken;
}

Image Frames::image(std::uint64_t frame, const EncodedImage& file,
                    const std::function<std::vector<unsigned char>()>& read) {
    {
        const std::lock_guard lock(mutex_);
        if (bytes_.empty()) bytes_ = read();
    }
    const EncodedImage whole{Bytes(bytes_.data(), bytes_.size()), file.probe, file.name, file.options};
    Decoder decoder = take(frame);
    if (!decoder.frames) decoder.frames = format_.open_frames(whole);
    for (; decoder.done < frame; ++decoder.done) decoder.frames->advance(whole);
    Image image;
    const auto give_back = [&] {
        const std::lock_guard lock(mutex_);
        idle_.push_back(std::move(decoder));
    };
    try {
        image = decoder.frames->image(whole);
    } catch (...) {
        give_back();
        throw;
    }
    give_back();
    return image;
}

Image decode_frame(std::uint64_t frame, const EncodedImage& file) {
    const auto decoder = file.probe.format->open_frames(file);
    for (std::uint64_t done = 0; done < frame; ++done) decoder->advance(file);
    return decoder->image(file);
}

}  // namespace gpuhist::io
