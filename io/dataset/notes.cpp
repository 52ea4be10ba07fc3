#include "gpuhist/io/notes.hpp"

#include <algorithm>
#include <string_view>

namespace gpuhist::io {

void Notes::add(const std::string& subject, const Note& note) {
    const auto [at, fresh] = all_.try_emplace(subject, note);
    if (fresh) return;
    Note& known = at->second;
    const std::uint64_t count = known.count + note.count;
    if (note.index < known.index) known = note;
    known.count = count;
}

void Notes::add(const Notes& more) {
    for (const auto& [subject, note] : more.all_) add(subject, note);
}

const Note* Notes::find(const std::string& subject) const {
    const auto at = all_.find(subject);
    return at == all_.end() ? nullptr : &at->second;
}

std::vector<std::string> Notes::lines() const {
    std::vector<std::string> lines;
    const std::string_view lacks = lacks_subject;
    const Note* of_rules = find(images_of_rules_subject);
    for (const auto& [subject, note] : all_)
        if (of_rules && subject.compare(0, lacks.size(), lacks) == 0)
            lines.push_back(std::to_string(note.count) + " of " + std::to_string(of_rules->count) +
                            (of_rules->count == 1 ? " image " : " images ") + (note.count == 1 ? "lacks " : "lack ") +
                            note.text.substr(std::min(lacks.size(), note.text.size())) + " (the first: " + note.path +
                            ")");
        else if (!note.text.empty())
            lines.push_back(note.path + ": " + note.text +
                            (note.count == 1 ? "" : " (and " + std::to_string(note.count - 1) + " more)"));
    if (const Note* samples = find(excluded_samples_subject), *files = find(excluding_files_subject); samples && files)
        lines.push_back(
            std::to_string(samples->count) + (samples->count == 1 ? " sample of " : " samples of ") +
            std::to_string(files->count) + (files->count == 1 ? " file" : " files") +
            (samples->count == 1 ? " is" : " are") +
            " excluded because the files declare it: --nodata none includes them (the first: " + files->path + ")");
    return lines;
}

}  // namespace gpuhist::io
