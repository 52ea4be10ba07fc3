#include "gpuhist/io/decode.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <limits>
#include <memory>
#include <opencv2/core.hpp>
#include <optional>
#include <tuple>
#include <utility>

#include "decode/color_space.hpp"
#include "decode/formats.hpp"
#include "decode/frames.hpp"
#include "decode/probe.hpp"
#include "decode/profile.hpp"
#include "files/bytes.hpp"
#include "files/descriptor.hpp"
#include "files/failure.hpp"
#include "files/regular_file.hpp"
#include "files/window.hpp"

namespace gpuhist::io {
namespace {

using Kind = IoError::Kind;

std::uint64_t pixels_of(const Probe& found) {
    return saturating_product(found.width, found.height);
}

std::string size_text(const Probe& found) {
    return std::to_string(found.width) + " x " + std::to_string(found.height) + " pixels";
}

/// Probes a file, or the first bytes of one. Throws where it is of no format that is read.
Probe probe_known(const Bytes& bytes, const std::string& name, const DecodeOptions& options,
                  const PagePlace& page = {}) {
    if (options.array) return probe_raw(bytes, *options.array);
    Probe found = probe(bytes, page, options.masks);
    if (!found.format) fail(name, describe_unknown(bytes), Kind::unsupported);
    return found;
}

StripFacts facts_of(const Probe& found, const DecodeOptions& options) {
    return facts_in_space({found.depth, found.turned, found.bands, found.stored}, options);
}

/// Reason why an image is not taken in strips, or nothing.
std::string refusal(const Probe& found, const DecodeOptions& options) {
    return options.strips->refusal(facts_of(found, options));
}

/// Number of rows that are delivered at once, with about the requested number of bytes. 0: the image comes whole.
std::uint64_t rows_of_strips(const Probe& found, const DecodeOptions& options) {
    if (!options.strips || found.strip_rows == 0 || !refusal(found, options).empty()) return 0;
    const std::uint64_t row_bytes = saturating_product(found.width, found.pixel_bytes);
    const std::uint64_t whole = options.strips->whole_bytes ? options.strips->whole_bytes(facts_of(found, options)) : 0;
    if (saturating_product(row_bytes, found.height) <= whole || row_bytes == 0) return 0;
    const std::uint64_t most = std::max<std::uint64_t>(1, options.strips->strip_bytes / row_bytes);
    const std::uint64_t rows = std::max<std::uint64_t>(1, most / found.strip_rows) * found.strip_rows;
    return rows < found.height ? rows : 0;
}

/// Returns whether the bytes of a file may become those of its image (DecodeOptions::leave_encoded).
bool is_left_encoded(const Probe& found, std::uint64_t bytes, const DecodeOptions& options) {
    return options.leave_encoded && bytes <= DecodeOptions::most_encoded_bytes && found.format == &jpeg_format &&
           rows_of_strips(found, options) == 0;
}

/// Throws where the header claims more pixels than are allowed.
void check_size(const Probe& found, const std::string& name, const DecodeOptions& options) {
    const bool strips = rows_of_strips(found, options) > 0;
    const std::uint64_t most = strips ? options.strips->max_pixels : options.max_pixels;
    if (pixels_of(found) <= most) return;
    std::string why;
    if (options.strips && !strips) {
        if (found.strip_rows > 0) why = refusal(found, options);
        why = " in one piece (" + (why.empty() ? "its rows are not decoded one by one" : why) + ")";
    }
    fail(name,
         "its header claims " + size_text(found) + ", more than the " + std::to_string(most) + " allowed" + why +
             ": raise the limit if you trust the file",
         Kind::too_large);
}

/// Checks the findings in a file before its pixels are decoded. Throws if they must not or cannot be decoded.
void check(const Bytes& bytes, const Probe& found, const std::string& name, const DecodeOptions& options) {
    if (!found.unsupported.empty()) fail(name, found.unsupported, Kind::unsupported);
    check_size(found, name, options);
    const bool sized = found.width != 0 && found.height != 0;
    const std::string size = size_text(found);
    if (!found.too_large.empty()) fail(name, found.too_large, Kind::too_large);
    const bool accepted = sized && options.on_damaged == OnDamaged::accept;
    if (!found.damaged.empty() && !accepted) fail(name, "damaged: " + found.damaged, Kind::damaged);
    if (!found.truncated.empty() && !accepted) fail(name, "truncated: " + found.truncated, Kind::truncated);
    // Refuses to allocate more pixels than deflate could make of the bytes in the file.
    if (!found.truncated.empty() && saturating_product(pixels_of(found), found.pixel_bytes) / 1032 > bytes.size())
        fail(name, "truncated: " + found.truncated + ", and less than a thousandth of its " + size, Kind::truncated);
    if (!sized) fail(name, "damaged: its header claims " + size, Kind::damaged);
}

/// Passes the width and the height of an image to DecodeOptions::sides, if they are known.
void show_sides(const DecodeOptions& options, std::uint64_t width, std::uint64_t height) {
    if (options.sides && width != 0 && height != 0) options.sides(width, height);
}

/// Mask beside a TIFF, in a file of its own, as GDAL writes it.
class MaskBeside {
  public:
    /// Opens that of a file with this path, if it is there: it is of the image that `found` says, to which it is added.
    /// Throws IoError where it is not a mask of that image.
    static std::unique_ptr<MaskBeside> of(const std::string& path, Probe& found, const DecodeOptions& options) {
        const std::string name = mask_path_of(path);
        std::error_code failed;
        if (name.empty() || !std::filesystem::is_regular_file(name, failed)) return nullptr;
        std::unique_ptr<MaskBeside> beside(new MaskBeside(name));
        const std::string words = path + ": its mask " + name;
        const Bytes bytes = beside->window_.bytes();
        if (format_of(bytes) != &tiff_format) fail(words, "not a TIFF", Kind::unsupported);
        Probe mask = probe_tiff_mask(bytes, 0);
        DecodeOptions of_any_size = options;
        of_any_size.max_pixels = std::numeric_limits<std::uint64_t>::max();
        of_any_size.strips = nullptr;
        check(bytes, mask, words, of_any_size);
        if (mask.width != found.width || mask.height != found.height)
            fail(words, size_text(mask) + ", and the image has " + size_text(found), Kind::unsupported);
        mask.mask_bytes +=
            std::min<std::uint64_t>(bytes.size(), std::exchange(mask.held_bytes, 0) + FileWindow::kept);  // of its own
        found.add_mask(mask);
        beside->mask_ = {bytes, words};
        return beside;
    }
    const MaskFile& mask() const { return mask_; }
    /// Throws IoError where the file changed while it was read.
    void check_window() const { window_.check(); }

  private:
    explicit MaskBeside(const std::string& name) : file_(open_input(name, name)), window_(file_.get(), name) {}
    Descriptor file_;
    FileWindow window_;
    MaskFile mask_{Bytes(nullptr, 0), {}};
};

/// Decodes a file, or its page. Of a window no more is held than the probe says. A mask may lie beside the file with
/// the path.
Image decode(const Bytes& bytes, const std::string& name, const DecodeOptions& options, const PagePlace& page = {},
             bool window = false, const std::string& path = "") {
    if (bytes.size() == 0) fail(name, "empty: it has no bytes", Kind::truncated);
    Probe found = probe_known(bytes, name, options, page);
    check(bytes, found, name, options);
    if (options.space) found.pixel_bytes += most_bytes_in_space;
    show_sides(options, found.width, found.height);
    std::unique_ptr<MaskBeside> beside;
    if (options.masks && found.format == &tiff_format && found.page.mask == 0 && !path.empty())
        beside = MaskBeside::of(path, found, options);
    const std::uint64_t rows = rows_of_strips(found, options);
    const std::uint64_t held = !window || is_left_encoded(found, bytes.size(), options)
                                   ? bytes.size()
                                   : std::min<std::uint64_t>(found.held_bytes, bytes.size());
    const std::uint64_t pixels = rows > 0 ? saturating_product(2 * rows, found.width) : pixels_of(found);
    const std::uint64_t beside_pixels = found.mask_bytes + (rows > 0 ? 0 : found.whole_bytes);
    if (options.admit) options.admit(held + beside_pixels, saturating_product(pixels, found.pixel_bytes));
    const EncodedImage file{bytes, found, name, options, rows, beside ? &beside->mask() : nullptr};
    Image image = found.format->decode(file);
    while (rows > 0 && options.strips->again && options.strips->again()) image = found.format->decode(file);
    if (beside) beside->check_window();
    image.format = found.format->name;
    image.linear = is_linear(found.format);
    convert_to_space(image, name, options, file.threads());
    if (file.facts_in_space) take_facts_in_space(image, *file.facts_in_space);
    if (options.space && !options.raw) image.profile = profile_name(bytes, found);
    // Damage that the probe found, and that was accepted, comes before that from the decoder.
    if (!found.truncated.empty()) std::tie(image.damage, image.cause) = std::pair(Damage::truncated, found.truncated);
    if (!found.damaged.empty()) std::tie(image.damage, image.cause) = std::pair(Damage::damaged, found.damaged);
    return image;
}

/// How a file is read whose first bytes decide whether it is.
Reading reading(const std::string& name, const DecodeOptions& options) {
    Reading how;
    if (options.admit) how.admit = [&](std::uint64_t bytes) { options.admit(bytes, 0); };
    how.look = [&](const std::vector<unsigned char>& first) {
        const Probe found = probe_known(Bytes(first.data(), first.size()), name, options);
        if (options.page > 0) return;
        check_size(found, name, options);
        show_sides(options, found.width, found.height);
    };
    how.max_pipe_bytes = options.max_pipe_bytes;
    how.while_reading = options.while_reading;
    how.unwritten = options.unwritten;
    return how;
}

/// Records the format of the extension, if it is another one.
Image named(Image image, const std::string& file_name) {
    const ImageFormat* by_name = format_named(file_name);
    if (by_name && by_name->name != image.format && image.format != raw_format.name) image.named = by_name->name;
    return image;
}

Image decode_window(int descriptor, const std::string& name, const DecodeOptions& options, const PagePlace& page,
                    const std::string& path) {
    FileWindow window(descriptor, name);
    Image image;
    try {
        // A size that is too large is reported before all of the file is read.
        const Bytes first = window.bytes().part(0, std::min<std::uint64_t>(window.size(), first_bytes));
        const Probe begin = options.array ? probe_raw(first, *options.array) : probe(first, page);
        if (pixels_of(begin) > std::max(options.max_pixels, options.strips ? options.strips->max_pixels : 0))
            check_size(begin, name, options);
        std::vector<unsigned char>* const memory = options.encoded_memory;
        if (memory && is_left_encoded(begin, window.size(), options)) {  // read once, where its bytes stay
            if (options.admit) options.admit(window.size(), 0);
            memory->resize(window.size());
            window.read(0, memory->size(), memory->data());
            image = decode(Bytes(memory->data(), memory->size()), name, options, page);
        } else {
            image = decode(window.bytes(), name, options, page, true, path);
        }
    } catch (const IoError&) {
        window.check();  // a file that changes is the cause, not what it seemed to hold
        throw;
    }
    window.check();
    return image;
}

// ------------------------------------------------------------------------------------------------------- pages

/// Words before the text of `PageList::rest`.
std::string kind_of_rest(Kind kind) {
    return kind == Kind::memory ? "" : kind == Kind::truncated ? "truncated: " : "damaged: ";
}

/// Pages of a file of a known format, whose list takes so many bytes at most.
FilePages pages_of(const Bytes& bytes, const std::string& name, std::uint64_t most_bytes) {
    if (bytes.size() == 0) fail(name, "empty: it has no bytes", Kind::truncated);
    // The format is seen in the beginning; a window reads no more for it.
    const Bytes first = bytes.part(0, std::min<std::uint64_t>(bytes.size(), first_bytes));
    const ImageFormat* format = format_of(first);
    if (!format) fail(name, describe_unknown(first), Kind::unsupported);
    PageList list(most_bytes);
    if (format->find_pages) format->find_pages(bytes, list);
    FilePages found{format->name, std::move(list.pages)};
    if (list.animated) found.frames = std::make_shared<Frames>(*format);
    if (found.pages.empty()) {  // a damaged file, too: reading it says what is wrong
        const Probe header = probe(first);
        found.pages.push_back({header.width, header.height});
    } else if (!list.rest.empty()) {
        found.rest.emplace(name + ": " + kind_of_rest(list.rest_kind) + list.rest, list.rest_kind);
    }
    return found;
}

std::shared_ptr<const FilePages> probe_window(int descriptor, const std::string& name, std::uint64_t most_bytes) {
    FileWindow window(descriptor, name);
    std::optional<FilePages> found;
    try {
        found = pages_of(window.bytes(), name, most_bytes);
    } catch (const IoError&) {
        window.check();
        throw;
    }
    window.check();
    found->bytes = window.size();
    found->modified = window.modified();
    return std::make_shared<const FilePages>(std::move(*found));
}

/// Facts of the requested page. Throws if there is no such page.
const PageFacts& page_in(const FilePages& found, const std::string& name, std::uint64_t page) {
    const std::uint64_t count = found.pages.size();
    if (page <= count) {
        const PageFacts& facts = found.pages[page - 1];
        if (page > 1 && !found.frames && facts.place == 0) fail(name, facts.problem, Kind::unsupported);
        return facts;
    }
    if (found.rest) {
        const std::string text = found.rest->what();
        fail(name, text.substr(text.find(": ") + 2), found.rest->kind());
    }
    fail(name,
         "there is no page " + std::to_string(page) + ": the file has " + std::to_string(count) +
             (count == 1 ? " page" : " pages"),
         Kind::missing);
}

/// Page of a TIFF with this number, from 1.
PagePlace place_of(const PageFacts& page, std::uint64_t number) {
    return {page.place, page.plane, page.planes, page.mask, number - 1};
}

std::string page_name(const std::string& name, std::uint64_t page) {
    return name + '#' + std::to_string(page);
}

Image finished(Image image, const FilePages& found, std::uint64_t page) {
    image.pages = found.pages.size();
    image.page = page;
    return image;
}

/// Frame of an animation. The whole file is held while its frames are read.
Image read_frame(const FilePages& found, const ImageFormat& format, const std::string& name,
                 const DecodeOptions& options, std::uint64_t file_bytes,
                 const std::function<std::vector<unsigned char>()>& read) {
    const PageFacts& facts = page_in(found, name, options.page);
    Probe canvas;
    canvas.format = &format;
    canvas.set_size(facts.width, facts.height);
    canvas.pixel_bytes = 3 * format.pixel_bytes;  // the decoder's canvas, what it disposes to, and the image
    if (options.space) canvas.pixel_bytes += most_bytes_in_space;
    check_size(canvas, name, options);
    show_sides(options, facts.width, facts.height);
    if (options.admit) options.admit(file_bytes, saturating_product(pixels_of(canvas), canvas.pixel_bytes));
    Image image = found.frames->image(options.page, {Bytes(nullptr, 0), canvas, name, options}, read);
    convert_to_space(image, name, options, options.threads);
    image.format = format.name;
    return finished(std::move(image), found, options.page);
}

const ImageFormat& format_called(const std::string& name) {
    return **std::find_if(image_formats.begin(), image_formats.end(),
                          [&](const ImageFormat* format) { return format->name == name; });
}

/// `path`: of the file, where it has one.
Image read_page(int descriptor, const std::string& file_name, const DecodeOptions& options, const std::string& path) {
    const std::string name = page_name(file_name, options.page);
    struct stat status {};
    if (fstat(descriptor, &status) != 0) throw system_failure(name, "cannot be read", errno);
    if (!S_ISREG(status.st_mode)) fail(name, kind_of(status.st_mode));
    const auto found = options.pages ? options.pages : probe_window(descriptor, name, options.most_page_bytes);
    const auto size = static_cast<std::uint64_t>(status.st_size);
    if (size != found->bytes || modified_at(status) != found->modified)
        fail(name, "was changed after its pages were found");
    const auto read = [&](std::uint64_t place, std::uint64_t length) {
        std::vector<unsigned char> bytes(length);
        if (read_at(descriptor, bytes.data(), length, place, name) != length)
            fail(name, "shrank while it was read, from " + std::to_string(size) + " bytes");
        return bytes;
    };
    if (found->frames)
        return read_frame(*found, format_called(found->format), name, options, size, [&] { return read(0, size); });
    const PageFacts& page = page_in(*found, name, options.page);
    if (page.place != 0 && page.length == 0)
        return finished(decode_window(descriptor, name, options, place_of(page, options.page),
                                      options.page == 1 ? path : std::string()),
                        *found, options.page);
    show_sides(options, page.width, page.height);
    const std::uint64_t length = page.length == 0 ? size : page.length;
    if (options.admit) options.admit(length, 0);
    const std::vector<unsigned char> bytes = read(page.place, length);
    return finished(decode(Bytes(bytes.data(), bytes.size()), name, options), *found, options.page);
}

/// Returns whether a file is read through a window: if it is not small, and its format requests the bytes that it
/// needs.
bool wants_window(int descriptor, const std::string& name, const DecodeOptions& options) {
    constexpr off_t small = 1 << 18;
    struct stat status {};
    if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= small) return false;
    if (options.array) return true;
    std::array<unsigned char, first_bytes> first{};
    const ImageFormat* format = format_of({first.data(), read_at(descriptor, first.data(), first.size(), 0, name)});
    return format && format->by_window;
}

}  // namespace

bool PageList::add(PageFacts page) {
    if (listed_) {
        const std::uint64_t bytes = bytes_of_page + page.problem.capacity();
        if (!pages.empty() && bytes > most_bytes_ - bytes_) {
            end_for_memory();
            return false;
        }
        bytes_ = std::min(most_bytes_, bytes_ + bytes);
        pages.push_back(std::move(page));
    }
    ++count_;
    return true;
}

void PageList::end_for_memory() {
    rest = "it has more than " + std::to_string(pages.size()) + " pages, and there is no memory to list the others";
    rest_kind = Kind::memory;
}

void PageList::add(std::uint64_t count, const PageFacts& page) {
    if (!listed_)
        count_ += count;
    else
        while (count > 0 && add(page)) --count;
}

namespace {

void clear(cv::Mat& pixels) {
    for (int y = 0; y < pixels.rows; ++y) std::memset(pixels.ptr(y), 0, pixels.cols * pixels.elemSize());
}

/// cv::transpose, and of pixels that are too large for it.
void transpose(const cv::Mat& pixels, cv::Mat& turned) {
    constexpr std::size_t most = 32;
    const std::size_t bytes = pixels.elemSize();
    if (bytes <= most) return cv::transpose(pixels, turned);
    for (int y = 0; y < pixels.rows; ++y)
        for (int x = 0; x < pixels.cols; ++x)
            std::memcpy(turned.ptr(x) + static_cast<std::size_t>(y) * bytes,
                        pixels.ptr(y) + static_cast<std::size_t>(x) * bytes, bytes);
}

/// Turns pixels upright as an orientation of EXIF says, 1 to 8; another number leaves them. `make(rows, columns)` makes
/// the memory if the sides are exchanged.
template <class Make>
void turn(cv::Mat& pixels, std::uint64_t orientation, const Make& make) {
    if (pixels.empty() || orientation < 2 || orientation > 8) return;
    if (orientation >= 5) {
        cv::Mat turned = make(pixels.cols, pixels.rows);
        transpose(pixels, turned);
        pixels = turned;
    }
    constexpr int none = 2, across = 1, down = 0, both = -1;
    constexpr int flips[]{none, none, across, both, down, none, across, both, down};
    if (flips[orientation] != none) cv::flip(pixels, pixels, flips[orientation]);
}

}  // namespace

void take_pixels(Image& image, cv::Mat pixels, cv::MatAllocator* allocator) {
    image.pixels = std::move(pixels);
    turn(image.pixels, image.orientation, [&](int rows, int columns) {
        cv::Mat turned;
        turned.allocator = allocator;
        try {
            turned.create(rows, columns, image.pixels.type());
        } catch (const std::exception&) {
            throw IoError("no memory for " + std::to_string(columns) + " x " + std::to_string(rows) + " pixels",
                          Kind::memory);
        }
        return turned;
    });
    image.encoded = {};
    image.width = image.height = 0;
    image.orientation = 1;
}

cv::Mat EncodedImage::allocate(std::uint64_t rows, std::uint64_t columns, int type) const {
    cv::Mat image;
    image.allocator = options.allocator;
    if (rows > INT_MAX || columns > INT_MAX)
        refuse(std::to_string(columns) + " x " + std::to_string(rows) + " pixels are too large", Kind::too_large);
    try {
        image.create(static_cast<int>(rows), static_cast<int>(columns), type);
        if (options.on_damaged == OnDamaged::accept) clear(image);  // what a damaged file does not hold is 0
    } catch (const std::exception&) {
        refuse("no memory for " + std::to_string(columns) + " x " + std::to_string(rows) + " pixels", Kind::memory);
    }
    return image;
}

void EncodedImage::give_rows(Image& image, cv::Mat& pixels, std::uint64_t row, std::uint64_t rows) const {
    image.pixels = pixels.rowRange(0, static_cast<int>(rows));
    if (strip_rows == 0) return;
    image.width = probe.width;
    image.height = probe.height;
    if (options.space) {
        Image converted = image;
        converted.linear = is_linear(probe.format);
        convert_to_space(converted, name, options, threads());
        options.strips->take(converted, row);
        converted.pixels.release();
        converted.mask.release();
        facts_in_space = std::move(converted);
    } else {
        options.strips->take(image, row);
    }
    image.pixels = cv::Mat();
    std::swap(pixels, spare);
    if (pixels.empty())
        pixels = allocate(static_cast<std::uint64_t>(spare.rows), static_cast<std::uint64_t>(spare.cols), spare.type());
    else if (options.on_damaged == OnDamaged::accept)
        clear(pixels);
}

void EncodedImage::put_upright(Image& image, std::uint64_t orientation) const {
    if (strip_rows > 0) {
        if (orientation >= 5 && orientation <= 8) std::swap(image.width, image.height);
        return;
    }
    for (cv::Mat* const samples : {&image.pixels, &image.mask})
        turn(*samples, orientation, [&](int rows, int columns) {
            return allocate(static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns), samples->type());
        });
}

void EncodedImage::report(Image& image, const std::string& cause, IoError::Kind kind) const {
    const bool truncated = kind == Kind::truncated;
    if (options.on_damaged == OnDamaged::error) refuse((truncated ? "truncated: " : "damaged: ") + cause, kind);
    if (image.damage != Damage::none) return;
    image.damage = truncated ? Damage::truncated : Damage::damaged;
    image.cause = cause;
}

void EncodedImage::refuse(const std::string& cause, IoError::Kind kind) const {
    fail(name, cause, kind);
}

std::string mask_path_of(const std::string& path) {
    const ImageFormat* by_name = format_named(path);
    return by_name && by_name != &tiff_format ? std::string() : path + ".msk";
}

Image decode_image(const std::vector<unsigned char>& data, const std::string& name, const DecodeOptions& options) {
    const Bytes bytes(data.data(), data.size());
    if (options.page == 0) return named(decode(bytes, name, options), name);
    const std::string called = page_name(name, options.page);
    const FilePages found = options.pages ? *options.pages : pages_of(bytes, called, options.most_page_bytes);
    if (found.frames)
        return named(read_frame(found, format_called(found.format), called, options, data.size(), [&] { return data; }),
                     name);
    const PageFacts& page = page_in(found, called, options.page);
    const Bytes part = page.length == 0 ? bytes : bytes.part(page.place, page.length);
    const PagePlace place = page.length == 0 ? place_of(page, options.page) : PagePlace{};
    return named(finished(decode(part, called, options, place), found, options.page), name);
}

Image read_image(const std::filesystem::path& path, const DecodeOptions& options) {
    const std::string name = path.string();
    const Descriptor file(open_input(path, name));
    if (options.page > 0) return named(read_page(file.get(), name, options, name), name);
    if (wants_window(file.get(), name, options)) return named(decode_window(file.get(), name, options, {}, name), name);
    const std::vector<unsigned char> bytes = read_opened(file.get(), name, reading(name, options));
    return named(decode(Bytes(bytes.data(), bytes.size()), name, options, {}, false, name), name);
}

Image read_image(int descriptor, const std::string& name, const DecodeOptions& options) {
    if (options.page > 0) return read_page(descriptor, name, options, "");
    const std::vector<unsigned char> bytes = read_pipe(descriptor, name, reading(name, options));
    return named(decode(Bytes(bytes.data(), bytes.size()), name, options), name);
}

std::shared_ptr<const FilePages> probe_pages(const std::filesystem::path& path, std::uint64_t most_bytes) {
    const std::string name = path.string();
    const Descriptor file(open_input(path, name));
    return probe_window(file.get(), name, most_bytes);
}

std::shared_ptr<const FilePages> probe_pages(int descriptor, const std::string& name, std::uint64_t most_bytes) {
    return probe_window(descriptor, name, most_bytes);
}

std::shared_ptr<const FilePages> probe_pages(const std::vector<unsigned char>& bytes, const std::string& name,
                                             std::uint64_t most_bytes) {
    return std::make_shared<const FilePages>(pages_of(Bytes(bytes.data(), bytes.size()), name, most_bytes));
}

}  // namespace gpuhist::io
