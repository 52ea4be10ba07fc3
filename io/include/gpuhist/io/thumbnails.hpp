/// Thumbnails: small pictures of images in results, which pages show.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gpuhist/io/shard.hpp"

namespace gpuhist::io {

/// Small picture of an image, or the reason why there is none.
struct Thumbnail {
    std::string path;  ///< of the image, as its rows have it
    int width = 0, height = 0;
    std::vector<unsigned char> jpeg;
    std::string missing;  ///< reason, where `jpeg` is empty
};

/// Name of the file of a whole run.
inline constexpr const char* thumbnails_file_name = "thumbnails.json";
/// Name of the file of a shard: `part-K-of-N.thumbnails.json`.
std::string shard_thumbnails_file_name(ShardId id);

/// Text of the file: one line of JSON with its checksum. Thumbnails without a picture are left out.
std::string thumbnails_json(const std::vector<Thumbnail>& thumbnails);

/// Reads the text of a file. `name` is for messages. Throws IoError with the name and the place if it is not a text of
/// `thumbnails_json`, and for the format of another version.
std::vector<Thumbnail> parse_thumbnails(std::string_view json, const std::string& name);

}  // namespace gpuhist::io
