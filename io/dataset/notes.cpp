#include "gpuhist/io/notes.hpp"

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
    for (const auto& [subject, note] : all_)
        if (!note.text.empty())
            lines.push_back(note.path + ": " + note.text +
                            (note.count == 1 ? "" : " (and " + std::to_string(note.count - 1) + " more)"));
    return lines;
}

}  // namespace gpuhist::io
