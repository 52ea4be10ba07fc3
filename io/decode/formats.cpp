#include "gpuhist/io/formats.hpp"

#include <algorithm>

#include "decode/formats.hpp"

namespace gpuhist::io {

std::vector<FormatInfo> list_formats() {
    const std::vector<LibraryVersion> libraries = library_versions();
    std::vector<FormatInfo> list;
    for (const ImageFormat* format : image_formats) {
        const FormatWords& words = format->words;
        FormatInfo& info = list.emplace_back(
            FormatInfo{words.title, {}, words.samples, words.pages, {}, {}, words.read, words.refused});
        for (const std::string_view extension : format->extensions)
            if (!extension.empty()) info.extensions.emplace_back(extension);
        for (const std::string_view name : words.libraries)
            for (const LibraryVersion& library : libraries)  // libjpeg-turbo may be another's libjpeg
                if (!name.empty() && (library.name == name || (name == "libjpeg-turbo" && library.name == "libjpeg")))
                    info.decoders.push_back(library);
        if (info.decoders.empty() && !words.libraries[0].empty()) info.missing = words.package;
    }
    return list;
}

std::string not_built(const ImageFormat& format) {
    return std::string(format.name) + " is not read by this build, which lacks " +
           std::string(format.words.libraries[0]) + ": build gpuhist again with Debian's package " +
           format.words.package;
}

std::vector<std::string> list_unread_formats() {
    std::vector<std::string> names;
    for (const UnreadFormat& format : unread_formats) {
        const std::string_view with_article = format.name;
        std::string name(with_article.substr(with_article.find(' ') + 1));
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
    }
    return names;
}

}  // namespace gpuhist::io
