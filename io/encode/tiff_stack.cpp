// TIFFs of one page each, as gpuhist writes them, become the pages of one file.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "files/descriptor.hpp"
#include "files/failure.hpp"
#include "gpuhist/io/encode.hpp"

namespace gpuhist::io {
namespace {

enum Tag : std::uint16_t {
    tag_width = 256,
    tag_height = 257,
    tag_bits = 258,
    tag_photometric = 262,
    tag_description = 270,
    tag_strip_offsets = 273,
    tag_samples = 277,
    tag_strip_lengths = 279,
    tag_tile_width = 322,
    tag_tile_height = 323,
    tag_tile_offsets = 324,
    tag_tile_lengths = 325,
    tag_sample_format = 339
};
enum Type : std::uint16_t { type_long = 4, type_long8 = 16 };

struct Field {
    std::uint16_t tag = 0, type = 0;
    std::uint64_t count = 0;
    std::vector<unsigned char> values;

    std::vector<std::uint64_t> numbers() const {
        std::vector<std::uint64_t> found;
        const std::size_t bytes = count > 0 ? values.size() / count : 0;
        for (std::size_t i = 0; i < count; ++i) {
            std::uint64_t number = 0;
            std::memcpy(&number, &values[i * bytes], std::min<std::size_t>(bytes, sizeof number));
            found.push_back(number);
        }
        return found;
    }
};

void put(std::vector<unsigned char>& bytes, std::uint64_t number, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) bytes.push_back(static_cast<unsigned char>(number >> 8 * i));
}

/// File of one page, in the byte order of this machine.
class PageFile {
  public:
    explicit PageFile(const std::filesystem::path& path)
        : name_(path.string()), file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
        if (file_.get() < 0) throw system_failure(name_, "cannot be read", errno);
        const bool big = number(2, 2) == 43;
        const std::uint64_t word = big ? 8 : 4, start = number(big ? 8 : 4, word);
        const std::uint64_t entries = number(start, big ? 8 : 2), entry = big ? 20 : 12;
        for (std::uint64_t i = 0; i < entries; ++i) {
            constexpr std::array<unsigned char, 19> sizes{0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8, 8, 8};
            const std::uint64_t at = start + (big ? 8 : 2) + i * entry;
            Field field;
            field.tag = static_cast<std::uint16_t>(number(at, 2));
            field.type = static_cast<std::uint16_t>(number(at + 2, 2));
            field.count = number(at + 4, word);
            const std::uint64_t bytes = field.count * (field.type < sizes.size() ? sizes[field.type] : 0);
            field.values.resize(bytes);
            read(bytes > word ? number(at + 4 + word, word) : at + 4 + word, field.values.data(), bytes);
            fields.push_back(std::move(field));
        }
    }

    void read(std::uint64_t place, unsigned char* to, std::uint64_t count) const {
        while (count > 0) {
            const ssize_t done = ::pread(file_.get(), to, count, static_cast<off_t>(place));
            if (done < 0 && errno == EINTR) continue;
            if (done < 0) throw system_failure(name_, "cannot be read", errno);
            if (done == 0) fail(name_, "truncated: it was changed after it was written", IoError::Kind::truncated);
            place += static_cast<std::uint64_t>(done);
            to += done;
            count -= static_cast<std::uint64_t>(done);
        }
    }
    std::vector<std::uint64_t> numbers(std::uint16_t tag) const {
        for (const Field& field : fields)
            if (field.tag == tag) return field.numbers();
        return {};
    }
    /// Whether its pixels have the sides and the type of another page.
    bool is_like(const PageFile& other) const {
        for (const std::uint16_t tag : {tag_width, tag_height, tag_bits, tag_photometric, tag_samples, tag_tile_width,
                                        tag_tile_height, tag_sample_format})
            if (numbers(tag) != other.numbers(tag)) return false;
        return true;
    }

    std::vector<Field> fields;

  private:
    std::uint64_t number(std::uint64_t place, std::uint64_t count) const {
        std::array<unsigned char, 8> bytes{};
        read(place, bytes.data(), count);
        std::uint64_t value = 0;
        std::memcpy(&value, bytes.data(), sizeof value);
        return value;
    }

    std::string name_;
    Descriptor file_;
};

/// Whether a description says how many pages there are and what they mean.
bool describes_stack(const Field& field) {
    const std::string_view text(reinterpret_cast<const char*>(field.values.data()), field.values.size());
    return field.tag == tag_description &&
           (text.rfind("ImageJ=", 0) == 0 || text.rfind("{\"shape\"", 0) == 0 || text.find("<OME") != text.npos);
}

class StackWriter {
  public:
    StackWriter(NewFile& to, bool big) : to_(to), big_(big), end_(big ? 16 : 8), next_(big ? 8 : 4) {
        std::vector<unsigned char> header{'I', 'I'};
        put(header, big ? 43 : 42, 2);
        if (big) put(header, 8, 4);
        put(header, 0, word());
        to_.write_at(0, header.data(), header.size());
    }

    void add(const PageFile& page, bool described) {
        std::vector<Field> fields;
        for (const Field& field : page.fields) {
            if (!described && describes_stack(field)) continue;
            fields.push_back(field);
            if (field.tag == tag_strip_offsets || field.tag == tag_tile_offsets)
                fields.back() = copy_samples(page, field);
        }
        for (Field& field : fields) {
            if (field.values.size() <= word()) continue;
            const std::uint64_t place = append(field.values);
            field.values.clear();
            put(field.values, place, word());
        }
        std::vector<unsigned char> directory;
        put(directory, fields.size(), big_ ? 8 : 2);
        for (Field& field : fields) {
            put(directory, field.tag, 2);
            put(directory, field.type, 2);
            put(directory, field.count, word());
            field.values.resize(word());
            directory.insert(directory.end(), field.values.begin(), field.values.end());
        }
        put(directory, 0, word());
        const std::uint64_t place = append(directory);
        std::vector<unsigned char> link;
        put(link, place, word());
        to_.write_at(next_, link.data(), link.size());
        next_ = end_ - word();
    }

  private:
    std::size_t word() const { return big_ ? 8 : 4; }

    std::uint64_t append(const std::vector<unsigned char>& bytes) {
        end_ += end_ % 2;
        const std::uint64_t place = end_;
        to_.write_at(place, bytes.data(), bytes.size());
        end_ += bytes.size();
        return place;
    }

    /// Copies the strips or tiles of a page. Returns their new places.
    Field copy_samples(const PageFile& page, const Field& offsets) {
        const std::vector<std::uint64_t> from = offsets.numbers();
        const std::vector<std::uint64_t> lengths =
            page.numbers(offsets.tag == tag_strip_offsets ? tag_strip_lengths : tag_tile_lengths);
        Field places;
        places.tag = offsets.tag;
        places.type = big_ ? type_long8 : type_long;
        places.count = from.size();
        for (std::size_t i = 0; i < from.size() && i < lengths.size(); ++i) {
            put(places.values, end_, word());
            constexpr std::uint64_t most = 1 << 20;
            for (std::uint64_t done = 0; done < lengths[i];) {
                piece_.resize(std::min(most, lengths[i] - done));
                page.read(from[i] + done, piece_.data(), piece_.size());
                to_.write_at(end_, piece_.data(), piece_.size());
                end_ += piece_.size();
                done += piece_.size();
            }
        }
        return places;
    }

    NewFile& to_;
    const bool big_;
    std::uint64_t end_;   ///< of the file
    std::uint64_t next_;  ///< where the place of the next directory belongs
    std::vector<unsigned char> piece_;
};

}  // namespace

std::vector<std::size_t> alike_tiffs(const std::vector<std::filesystem::path>& pages) {
    std::vector<std::size_t> found;
    if (pages.empty()) return found;
    const PageFile first(pages.front());
    for (std::size_t i = 0; i < pages.size(); ++i)
        if (i == 0 || PageFile(pages[i]).is_like(first)) found.push_back(i);
    return found;
}

void join_tiffs(NewFile& to, const std::vector<std::filesystem::path>& pages, bool whole) {
    std::uint64_t bytes = 0;
    for (const std::filesystem::path& page : pages) bytes += std::filesystem::file_size(page);
    StackWriter writer(to, bytes > (std::uint64_t{4} << 30) - (1 << 24));
    for (const std::filesystem::path& page : pages) writer.add(PageFile(page), whole);
}

}  // namespace gpuhist::io
