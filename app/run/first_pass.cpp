#include "run/first_pass.hpp"

#include <sstream>
#include <utility>

#include "gpuhist/error.hpp"

namespace gpuhist::app {
namespace {

constexpr char end_of_record = '\0';
constexpr int most_ahead = 1 << 16;  // records that are looked through for an input

}  // namespace

void FirstPass::add(const Input& input, bool failed) {
    const Stamp stamp = input.stamp.value_or(Stamp{});
    std::string text = failed ? "1" : "0";
    for (const std::uint64_t number : stamp.numbers()) text += ' ' + std::to_string(number);
    file_.append(text + ' ' + input.path + end_of_record);
}

void FirstPass::discard() {
    file_.discard();
    records_ = {};
    next_.reset();
}

bool FirstPass::read_next() {
    next_.reset();
    if (!records_.is_open()) records_.open(file_.partial(), std::ios::binary);
    std::string text;
    if (!std::getline(records_, text, end_of_record)) return false;
    Seen seen;
    Stamp& stamp = seen.stamp;
    std::istringstream fields(text);
    fields >> seen.failed >> stamp.bytes >> stamp.modified >> stamp.mask_bytes >> stamp.mask_modified >>
        stamp.companions;
    if (fields.get() != ' ') throw IoError(file_.partial().string() + ": damaged", IoError::Kind::damaged);
    std::getline(fields, seen.path, end_of_record);
    next_ = std::move(seen);
    return true;
}

std::optional<FirstPass::Seen> FirstPass::find(const Input& input, std::vector<std::string>& gone) {
    if ((next_ || read_next()) && next_->path == input.path) return std::exchange(next_, std::nullopt);
    const std::optional<Seen> first = next_;
    records_.clear();
    const auto place = records_.tellg();
    std::vector<std::string> between;
    for (int i = 0; next_ && i < most_ahead; ++i) {
        if (next_->path == input.path) {
            gone.insert(gone.end(), between.begin(), between.end());
            return std::exchange(next_, std::nullopt);
        }
        if (!next_->failed) between.push_back(next_->path);
        read_next();
    }
    records_.clear();
    records_.seekg(place);
    next_ = first;
    return std::nullopt;
}

std::vector<std::string> FirstPass::rest() {
    std::vector<std::string> paths;
    while (next_ || read_next()) {
        if (!next_->failed) paths.push_back(std::move(next_->path));
        next_.reset();
    }
    return paths;
}

}  // namespace gpuhist::app
