#include "gpuhist/io/thumbnails.hpp"

#include "dataset/json.hpp"
#include "gpuhist/error.hpp"
#include "gpuhist/io/checksum.hpp"

namespace gpuhist::io {
namespace {

constexpr const char* format = "gpuhist thumbnails 1";
constexpr std::uint64_t most_side = 1 << 16;

}  // namespace

std::string shard_thumbnails_file_name(ShardId id) {
    std::string name = shard_file_name(id);
    return name.insert(name.rfind('.'), ".thumbnails");
}

std::string thumbnails_json(const std::vector<Thumbnail>& thumbnails) {
    Json images = Json::array();
    for (const Thumbnail& one : thumbnails)
        if (!one.jpeg.empty())
            images.push_back(Json{{"path", byte_string(one.path)},
                                  {"width", one.width},
                                  {"height", one.height},
                                  {"jpeg", base64({reinterpret_cast<const char*>(one.jpeg.data()), one.jpeg.size()})}});
    return seal_json(Json{{"format", format}, {"images", std::move(images)}}.dump());
}

std::vector<Thumbnail> parse_thumbnails(std::string_view json, const std::string& name) {
    check_seal(json, name);
    const ReadJson root = JsonReader::parse(json, name);
    const JsonReader value(root, name);
    value.members({"format", "images", "checksum"});
    if (value["format"].text() != format)
        throw IoError(name + ": its format is '" + value["format"].text() +
                      "', which another version of gpuhist wrote; this one reads '" + format +
                      "': remove the file, or use that version");
    std::vector<Thumbnail> thumbnails;
    const JsonReader images = value["images"];
    for (std::size_t i = 0; i < images.size(); ++i) {
        const JsonReader image = images[i].members({"path", "width", "height", "jpeg"});
        Thumbnail& one = thumbnails.emplace_back();
        one.path = image["path"].bytes();
        one.width = static_cast<int>(image["width"].whole(most_side));
        one.height = static_cast<int>(image["height"].whole(most_side));
        const std::vector<std::byte> jpeg = image["jpeg"].base64();
        if (jpeg.empty()) image["jpeg"].refuse("expected a picture");
        const auto* const bytes = reinterpret_cast<const unsigned char*>(jpeg.data());
        one.jpeg.assign(bytes, bytes + jpeg.size());
    }
    return thumbnails;
}

}  // namespace gpuhist::io
