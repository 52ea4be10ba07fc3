#include "gpuhist/io/manifest.hpp"

#include <algorithm>
#include <utility>

#include "dataset/json.hpp"
#include "files/descriptor.hpp"
#include "files/failure.hpp"
#include "files/regular_file.hpp"
#include "gpuhist/io/files.hpp"

namespace gpuhist::io {
namespace {

namespace fs = std::filesystem;

constexpr const char* format = "gpuhist manifest 1";
constexpr std::uint64_t longest_last_line = std::uint64_t{1} << 30;

std::string directory_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == path.npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

std::uint64_t weight_of(const ListedInput& input) {
    return Manifest::own_weight + input.bytes.value_or(0);
}

/// Takes a line, without its LF, out of a text.
std::string_view take_line(const std::string& text, std::size_t& at) {
    const std::size_t end = text.find('\n', at);
    const std::string_view line(text.data() + at, std::min(end, text.size()) - at);
    at = std::min(end, text.size() - 1) + 1;
    return line;
}

std::string place_of(const fs::path& path, std::uint64_t line) {
    return path.string() + ": line " + std::to_string(line + 1);
}

/// The last line of a file, with its LF, and the length of the file.
std::pair<std::string, std::uint64_t> read_last_line(const fs::path& path) {
    const std::string name = path.string();
    const Descriptor file(open_regular(path));
    const std::uint64_t size = fs::file_size(path);
    std::string text;
    for (std::uint64_t wanted = 65536;; wanted *= 16) {
        text.resize(std::min(size, wanted));
        text.resize(read_at(file.get(), text.data(), text.size(), size - text.size(), name));
        const std::size_t start = text.size() < 2 ? text.npos : text.rfind('\n', text.size() - 2);
        if (start != text.npos) return {text.substr(start + 1), size};
        if (text.size() == size || wanted > longest_last_line) return {text, size};
    }
}

}  // namespace

std::string manifest_line(const ListedInput& input) {
    Json value{
        {"path", byte_string(input.path)}, {"name", byte_string(input.name)}, {"group", byte_string(input.group)}};
    if (input.bytes) value["bytes"] = whole_number(*input.bytes);
    if (input.modified) value["modified"] = whole_number(*input.modified);
    if (input.mask_bytes) value["mask_bytes"] = whole_number(*input.mask_bytes);
    if (input.mask_modified) value["mask_modified"] = whole_number(*input.mask_modified);
    if (!input.archive.empty()) value["archive"] = byte_string(input.archive);
    if (input.archive_bytes) value["archive_bytes"] = whole_number(*input.archive_bytes);
    if (!input.etag.empty()) value["etag"] = byte_string(input.etag);
    if (input.failure)
        value["error"] = Json{{"kind", to_string(input.failure->kind())}, {"text", byte_string(input.failure->what())}};
    return value.dump() + '\n';
}

ListedInput parse_manifest_line(std::string_view line, const std::string& place) {
    const ReadJson root = JsonReader::parse(line, place);
    const JsonReader value(root, place);
    ListedInput input;
    input.path = value["path"].bytes();
    if (input.path.empty() || input.path.find('\0') != input.path.npos) value["path"].refuse("not a path");
    input.name = name_below(input.path);
    input.group = directory_of(input.path);
    value.each([&](const std::string& member, const JsonReader& of) {
        if (member == "path") return;
        if (member == "name")
            input.name = of.bytes();
        else if (member == "group")
            input.group = of.bytes();
        else if (member == "bytes")
            input.bytes = of.whole(std::uint64_t{1} << 53);
        else if (member == "modified")
            input.modified = of.whole();
        else if (member == "mask_bytes")
            input.mask_bytes = of.whole(std::uint64_t{1} << 53);
        else if (member == "mask_modified")
            input.mask_modified = of.whole();
        else if (member == "archive")
            input.archive = of.bytes();
        else if (member == "archive_bytes")
            input.archive_bytes = of.whole(std::uint64_t{1} << 53);
        else if (member == "etag")
            input.etag = of.bytes();
        else if (member == "error")
            input.failure = IoError(of["text"].bytes(), error_kind(of["kind"].text()));
        else
            value.refuse("'" + member + "' does not belong here");
    });
    if (!input.archive.empty() && input.path.rfind(input.archive + '/', 0) != 0)
        value["archive"].refuse("the path of a member begins with that of its archive");
    if (input.name.empty()) input.name = "input";
    if (!input.failure && name_below(input.name) != input.name)
        value["name"].refuse("a name is a path below a directory, without empty parts, . and ..");
    return input;
}

void ManifestWriter::add(const ListedInput& input) {
    const std::string line = manifest_line(input);
    text_ += line;
    ++block_.inputs;
    block_.weight += weight_of(input);
    ++inputs_;
    bytes_ += input.bytes.value_or(0);
    if (text_.size() >= ManifestBlock::least_bytes) end_block();
}

void ManifestWriter::end_block() {
    if (text_.empty()) return;
    block_.bytes = text_.size();
    block_.checksum = checksum(text_);
    write_(text_);
    text_.clear();
    blocks_.push_back(std::exchange(block_, {}));
}

void ManifestWriter::finish() {
    end_block();
    Json value{{"format", format}, {"inputs", whole_number(inputs_)}, {"blocks", Json::array()}};
    for (const ManifestBlock& block : blocks_)
        value["blocks"].push_back(Json::array({whole_number(block.bytes), whole_number(block.inputs),
                                               whole_number(block.weight), checksum_text(block.checksum)}));
    write_(seal_json(value.dump()));
}

Manifest::Manifest(fs::path path) : path_(std::move(path)) {
    const std::string name = path_.string();
    const auto [line, size] = read_last_line(path_);
    const std::string start = std::string("{\"format\":\"") + format + '"';
    if (line.compare(0, start.size(), start) != 0)
        fail(name, std::string("not a complete manifest: its last line does not begin with ") + start +
                       "; 'gpuhist manifest' makes one, with --lines from existing lines");
    check_seal(line, name);
    const ReadJson root = JsonReader::parse(line, name);
    const JsonReader value(root, name), blocks = value["blocks"];
    value.members({"format", "inputs", "blocks", "checksum"});
    inputs_ = value["inputs"].whole();
    checksum_ = value["checksum"].text();
    std::uint64_t place = 0, inputs = 0;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        const JsonReader one = blocks[i];
        if (one.size() != 4) one.refuse("expected four numbers");
        ManifestBlock block{one[std::size_t{0}].whole(), one[1].whole(), one[2].whole(), 0};
        if (block.inputs == 0 || block.bytes < block.inputs || block.weight < block.inputs * own_weight)
            one.refuse("not a block of lines");
        const std::string& digits = one[3].text();
        block.checksum = digits.empty() ? 0 : std::strtoull(digits.c_str(), nullptr, 16);
        if (checksum_text(block.checksum) != digits) one.refuse("not a checksum");
        places_.push_back(place);
        place += block.bytes;
        inputs += block.inputs;
        weight_ += block.weight;
        blocks_.push_back(block);
    }
    if (inputs != inputs_) value["inputs"].refuse("the blocks have " + std::to_string(inputs) + " lines");
    if (place + line.size() != size)
        fail(name,
             "it was changed after it was made: it has " + std::to_string(size) + " bytes instead of " +
                 std::to_string(place + line.size()),
             IoError::Kind::damaged);
}

std::string Manifest::read_block(std::size_t number) const {
    const std::string name = path_.string();
    const ManifestBlock& block = blocks_.at(number);
    const Descriptor file(open_regular(path_));
    std::string text(block.bytes, '\0');
    text.resize(read_at(file.get(), text.data(), text.size(), places_[number], name));
    if (text.size() != block.bytes || io::checksum(text) != block.checksum)
        fail(name,
             "it was changed after it was made: the checksum from byte " + std::to_string(places_[number]) +
                 " on differs",
             IoError::Kind::damaged);
    return text;
}

/// The first line whose middle, on the scale of all weights, is not before this one.
std::uint64_t Manifest::first_line(std::uint64_t weight) const {
    std::uint64_t line = 0, before = 0;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
        const ManifestBlock& block = blocks_[i];
        if (before + block.weight > weight) {
            const std::string text = read_block(i);
            for (std::size_t at = 0; at < text.size(); ++line) {
                const std::uint64_t own = weight_of(parse_manifest_line(take_line(text, at), place_of(path_, line)));
                if (before + own / 2 >= weight) return line;
                before += own;
            }
            return line;  // the first of the next block: its middle lies behind this one's end
        }
        line += block.inputs;
        before += block.weight;
    }
    return inputs_;
}

LineRange Manifest::lines_of(ShardId shard) const {
    // The weight up to the K-th of N boundaries is rounded down, without numbers of more than 64 bits.
    const auto boundary = [&](std::uint64_t number) {
        return weight_ / shard.count * number + weight_ % shard.count * number / shard.count;
    };
    return {shard.number == 1 ? 0 : first_line(boundary(shard.number - 1)),
            shard.number == shard.count ? inputs_ : first_line(boundary(shard.number))};
}

ManifestLines::ManifestLines(std::shared_ptr<const Manifest> manifest, LineRange lines)
    : manifest_(std::move(manifest)), end_(lines.end) {
    const auto& blocks = manifest_->blocks();
    while (block_ < blocks.size() && line_ + blocks[block_].inputs <= lines.first) line_ += blocks[block_++].inputs;
    if (line_ == lines.first || line_ >= end_) return;
    text_ = manifest_->read_block(block_++);
    for (; line_ < lines.first; ++line_) take_line(text_, at_);
}

std::optional<ListedInput> ManifestLines::next() {
    if (line_ >= end_) return std::nullopt;
    if (at_ == text_.size()) {
        text_ = manifest_->read_block(block_++);
        at_ = 0;
    }
    auto input = parse_manifest_line(take_line(text_, at_), place_of(manifest_->path(), line_));
    ++line_;
    return input;
}

}  // namespace gpuhist::io
