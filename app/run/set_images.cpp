#include "run/set_images.hpp"

#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <utility>

#include "gpuhist/analysis.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/io/decode.hpp"
#include "gpuhist/resources.hpp"
#include "run/remarks.hpp"

namespace gpuhist::app {
namespace {

/// Image that is too large to be held beside others.
struct TooLarge {};
/// End of reading, once enough is known.
struct Enough {};

}  // namespace

SetImages::SetImages(const Options& options, std::uint64_t bytes, std::function<bool(const std::string& file)> owned,
                     Console& console)
    : options_(options),
      bytes_(bytes),
      owned_(std::move(owned)),
      threads_(options.engine_options.threads > 0 ? options.engine_options.threads : available_threads()),
      masks_(options.masks, "mask"),
      console_(console) {
    if (options.engine_options.threads > 0)
        limit_.emplace(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads_));
}

std::uint64_t SetImages::bytes_of_each() const {
    return bytes_ / static_cast<std::uint64_t>(std::clamp(4 * threads_, 8, 64));
}

InputList SetImages::inputs() const {
    return InputList(options_.inputs, options_.output, owned_);
}

void SetImages::list(const std::function<void(const Input& input, std::uint64_t index)>& visit) const {
    InputOptions options = options_.inputs;
    options.most_member_bytes = 0;
    InputList all(options, options_.output, owned_);
    std::uint64_t index = 0;
    while (const auto input = all.next()) {
        for (const std::string& note : all.take_notes()) console_.note(note);
        if (input->failure) throw *input->failure;
        visit(*input, index++);
    }
    if (!options_.inputs.listed())
        for (const std::string& line : notes_on(options_.inputs.walk, all.left_out())) console_.note(line);
}

io::DecodeOptions SetImages::decoding(const Input& input) const {
    io::DecodeOptions decode = options_.decode;
    options_.set(decode);
    decode.page = input.page;
    decode.pages = input.pages;
    decode.max_pipe_bytes = 0;
    return decode;
}

io::Image SetImages::decode(const Input& input, const io::DecodeOptions& options) const {
    if (input.standard_input)
        throw IoError(input.path + ": standard input can be read only once: give a file", IoError::Kind::unsupported);
    return input.bytes ? io::decode_image(*input.bytes, input.file_path(), options)
                       : io::read_image(input.file_path(), options);
}

/// Finds the view of an image that was read, and the rules for its samples.
void SetImages::prepare(SetImage& image) const {
    image.view = io::masked_view(image.file);
    Validity validity = options_.validity;
    std::string problem;
    if (options_.nodata_of_file)
        if (const auto value = nodata_of(image.file, problem)) validity.nodata.push_back({std::nullopt, *value});
    if (!problem.empty()) console_.note(image.input.path + ": " + problem + ": no sample has it");
    validity = rules_for(image.view, io::names_of_samples(image.file), validity);
    image.validity = validity == Validity() ? nullptr : std::make_shared<const Validity>(std::move(validity));
}

/// Likewise of a whole image, with the mask that was given.
void SetImages::prepare_whole(SetImage& image) const {
    prepare(image);
    image.height = image.view.height;
    if (!masks_.any()) return;
    const Companions::Sides sides{image.view.width, image.view.height, image.file.pages};
    const io::Image mask = masks_.read(image.input, sides, decoding(image.input));
    image.mask = std::make_shared<std::vector<std::uint8_t>>(mask_of(mask));
    if (mask.zero_is_white) console_.note(image.input.path + ": " + remark_on_white_mask().text);
    intersect(image.view, image.mask->data());
}

bool SetImages::read_beside_others(SetImage& image) const {
    const Input& input = image.input;
    io::DecodeOptions decode = decoding(input);
    decode.admit = [&](std::uint64_t, std::uint64_t pixel_bytes) {
        if (pixel_bytes > bytes_of_each()) throw TooLarge();
    };
    try {
        image.file = this->decode(input, decode);
        prepare_whole(image);
    } catch (const TooLarge&) {
        return false;
    } catch (const Error&) {
        image.failure = std::current_exception();
    }
    return true;
}

void SetImages::read_alone(SetImage& image, const std::function<void(std::vector<SetImage>& images)>& take) const {
    const Input& input = image.input;
    io::DecodeOptions decode = decoding(input);
    decode.threads = threads_;
    std::optional<MaskRows> given;
    std::exception_ptr of_taker;
    bool in_strips = false;
    io::Strips strips;
    strips.whole_bytes = [this](const io::StripFacts&) { return bytes_ / 2; };
    strips.strip_bytes = std::clamp<std::uint64_t>(bytes_ / 16, 1 << 20, 1 << 26);
    strips.max_pixels = options_.max_pixels_in_strips;
    strips.refusal = [](const io::StripFacts& facts) {
        return facts.turned ? std::string("it is stored rotated") : std::string();
    };
    strips.take = [&](const io::Image& strip, std::uint64_t row) {
        std::vector<SetImage> one(1);
        SetImage& part = one.front();
        part.input = input;
        part.index = image.index;
        part.file = strip;
        prepare(part);
        part.row = static_cast<std::int64_t>(row);
        part.height = static_cast<std::int64_t>(strip.height);
        part.last = part.row + part.view.height == part.height;
        if (masks_.any()) {
            const Companions::Sides sides{part.view.width, part.height, strip.pages};
            if (!given)
                given.emplace([this, &input, sides](const io::Strips& rows) {
                    return masks_.read_strips(input, sides, decoding(input), rows);
                });
            intersect(part.view, given->rows(part.row, part.view.height, part.view.width));
        }
        in_strips = true;
        try {
            take(one);
        } catch (...) {
            of_taker = std::current_exception();
            throw;
        }
    };
    decode.strips = &strips;
    std::vector<SetImage> whole(1);
    whole.front().input = input;
    whole.front().index = image.index;
    try {
        whole.front().file = this->decode(input, decode);
        if (in_strips) return;
        prepare_whole(whole.front());
    } catch (const Error&) {
        if (of_taker) std::rethrow_exception(of_taker);
        whole.front().failure = std::current_exception();
    }
    take(whole);
}

void SetImages::each(const std::function<bool(std::uint64_t index)>& wanted,
                     const std::function<void(std::vector<SetImage>& images)>& take) const {
    InputList all = inputs();
    const auto most = static_cast<std::size_t>(std::clamp(4 * threads_, 8, 64));
    std::uint64_t index = 0;
    for (bool more = true; more;) {
        std::vector<SetImage> images;
        while (images.size() < most && more) {
            auto input = all.next();
            if (!input) {
                more = false;
                break;
            }
            if (!wanted(index++)) continue;
            SetImage& image = images.emplace_back();
            if (input->failure) image.failure = std::make_exception_ptr(*input->failure);
            image.input = std::move(*input);
            image.index = index - 1;
        }
        std::vector<char> is_read(images.size());
        tbb::parallel_for(std::size_t{0}, images.size(),
                          [&](std::size_t i) { is_read[i] = images[i].failure || read_beside_others(images[i]); });
        std::vector<SetImage> whole, large;
        for (std::size_t i = 0; i < images.size(); ++i) (is_read[i] ? whole : large).push_back(std::move(images[i]));
        if (!whole.empty()) take(whole);
        whole.clear();
        for (SetImage& image : large) read_alone(image, take);
    }
}

std::optional<SetImage> SetImages::first() const {
    InputList all = inputs();
    auto input = all.next();
    if (!input) return std::nullopt;
    if (input->failure) throw *input->failure;
    SetImage image;
    image.input = std::move(*input);
    io::DecodeOptions decode = decoding(image.input);
    decode.metadata = true;
    io::Strips strips;
    strips.whole_bytes = [this](const io::StripFacts&) { return bytes_of_each(); };
    strips.strip_bytes = 1 << 20;
    strips.max_pixels = options_.max_pixels_in_strips;
    strips.refusal = [](const io::StripFacts&) { return std::string(); };
    strips.take = [&](const io::Image& strip, std::uint64_t) {
        image.file = strip;
        image.height = static_cast<std::int64_t>(strip.height);
        image.view = io::masked_view(image.file);
        throw Enough();
    };
    decode.strips = &strips;
    try {
        image.file = this->decode(image.input, decode);
        image.view = io::masked_view(image.file);
        image.height = image.view.height;
    } catch (const Enough&) {
    }
    return image;
}

SetImage SetImages::read(const std::string& file, std::uint64_t page) const {
    SetImage image;
    image.input.path = image.input.file = file;
    image.input.page = page;
    image.file = decode(image.input, decoding(image.input));
    prepare(image);
    image.height = image.view.height;
    return image;
}

std::shared_ptr<const io::Metadata> SetImages::metadata_of(const std::string& file, std::uint64_t page) {
    io::DecodeOptions decode;
    decode.metadata = true;
    decode.page = page;
    decode.max_pipe_bytes = 0;
    std::shared_ptr<const io::Metadata> found;
    io::Strips strips;
    strips.refusal = [](const io::StripFacts&) { return std::string(); };
    strips.take = [&](const io::Image& strip, std::uint64_t) {
        found = strip.metadata;
        throw Enough();
    };
    decode.strips = &strips;
    try {
        found = io::read_image(file, decode).metadata;
    } catch (const Enough&) {
    } catch (const IoError&) {
    }
    return found;
}

}  // namespace gpuhist::app
