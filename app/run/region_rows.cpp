#include "run/region_rows.hpp"

#include <string>

namespace gpuhist::app {

RegionRows::~RegionRows() {
    for (Stored& one : stored_) {
        for (Room& room : one.files) give_back(room);
        give_back(one.printed);
    }
}

RegionRows& RegionRows::operator=(RegionRows&& other) noexcept {
    std::swap(file_, other.file_);
    std::swap(stored_, other.stored_);
    std::swap(latest_, other.latest_);
    std::swap(latest_bytes_, other.latest_bytes_);
    return *this;
}

void RegionRows::add(const Formatted& rows, const std::shared_ptr<io::FrequencyFile>& file, std::uint64_t most) {
    latest_ += rows;
    for (const std::string& text : rows.files) latest_bytes_ += text.size();
    latest_bytes_ += rows.printed.size();
    file_ = file;
    if (latest_bytes_ > most) store();
}

void RegionRows::take(const std::function<void(Formatted rows)>& take) {
    for (Stored& one : stored_) {
        Formatted rows;
        for (Room& room : one.files) rows.files.push_back(load(room));
        rows.printed = load(one.printed);
        rows.rows = std::move(one.rows);
        take(std::move(rows));
    }
    stored_.clear();
    if (!latest_.rows.empty()) take(std::exchange(latest_, {}));
    latest_bytes_ = 0;
}

void RegionRows::store() {
    Stored& stored = stored_.emplace_back();
    for (const std::string& text : latest_.files) stored.files.push_back(store(text));
    stored.printed = store(latest_.printed);
    stored.rows = std::move(latest_.rows);
    latest_ = {};
    latest_bytes_ = 0;
}

RegionRows::Room RegionRows::store(const std::string& text) {
    if (text.empty()) return {};
    const Room room{file_->take(text.size()), text.size()};
    file_->write(room.place, reinterpret_cast<const std::byte*>(text.data()), text.size());
    return room;
}

std::string RegionRows::load(Room& room) {
    std::string text(room.bytes, '\0');
    if (room.bytes > 0) file_->read(room.place, reinterpret_cast<std::byte*>(text.data()), text.size());
    give_back(room);
    return text;
}

void RegionRows::give_back(Room& room) noexcept {
    if (room.bytes > 0) file_->give_back(room.place, room.bytes);
    room = {};
}

}  // namespace gpuhist::app
