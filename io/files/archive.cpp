#include "gpuhist/io/archive.hpp"

#ifdef GPUHIST_ARCHIVES
#include <archive.h>
#include <archive_entry.h>
#endif

#include <algorithm>
#include <string_view>

#include "files/failure.hpp"

namespace gpuhist::io {

bool is_archive_name(const std::string& name) {
    std::string lower = name;
    for (char& c : lower)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    for (const std::string_view end : {".tar", ".tar.gz", ".tgz", ".tar.zst", ".tar.xz", ".tar.bz2", ".zip"})
        if (lower.size() > end.size() && lower.compare(lower.size() - end.size(), end.size(), end) == 0) return true;
    return false;
}

#ifdef GPUHIST_ARCHIVES

namespace {

using Kind = IoError::Kind;

struct Close {
    void operator()(archive* opened) const { archive_read_free(opened); }
};

}  // namespace

struct Archive::State {
    std::string name;
    std::string member{};
    std::unique_ptr<archive, Close> opened{archive_read_new()};
    archive_entry* entry = nullptr;

    [[noreturn]] void fail_here(const std::string& what) const {
        const char* const text = archive_error_string(opened.get());
        const std::string cause = text ? text : "it cannot be read";
        const bool cut = cause.find("runcated") != cause.npos;
        fail(what, std::string(cut ? "truncated: " : "damaged: ") + cause, cut ? Kind::truncated : Kind::damaged);
    }
};

Archive::Archive(const std::filesystem::path& path) : state_(std::make_unique<State>()) {
    state_->name = path.string();
    archive* const opened = state_->opened.get();
    if (!opened) fail(state_->name, "no memory for libarchive", Kind::memory);
    archive_read_support_filter_all(opened);
    archive_read_support_format_tar(opened);
    archive_read_support_format_zip(opened);
    constexpr std::size_t block = 1 << 16;
    if (archive_read_open_filename(opened, path.c_str(), block) == ARCHIVE_OK) return;
    const int error = archive_errno(opened);
    if (error == ENOENT || error == EACCES) throw system_failure(state_->name, "cannot be read", error);
    state_->fail_here(state_->name);
}

Archive::~Archive() = default;

std::optional<Archive::Member> Archive::next() {
    for (;;) {
        const int status = archive_read_next_header(state_->opened.get(), &state_->entry);
        if (status == ARCHIVE_EOF) return std::nullopt;
        if (status < ARCHIVE_WARN) state_->fail_here(state_->name);
        if (archive_entry_filetype(state_->entry) != AE_IFREG || archive_entry_hardlink(state_->entry)) continue;
        const char* name = archive_entry_pathname_utf8(state_->entry);
        if (!name) name = archive_entry_pathname(state_->entry);
        if (!name) continue;
        Member member{name};
        if (archive_entry_size_is_set(state_->entry))
            member.bytes = static_cast<std::uint64_t>(std::max<la_int64_t>(0, archive_entry_size(state_->entry)));
        state_->member = state_->name + "/" + member.name;
        return member;
    }
}

std::vector<unsigned char> Archive::read(std::uint64_t most) {
    const auto refuse = [&] {
        fail(state_->member, "more than the " + std::to_string(most) + " bytes that --memory has for members",
             Kind::too_large);
    };
    if (archive_entry_is_data_encrypted(state_->entry)) fail(state_->member, "it is encrypted", Kind::unsupported);
    std::vector<unsigned char> bytes;
    const bool sized = archive_entry_size_is_set(state_->entry) != 0;
    const auto size = static_cast<std::uint64_t>(std::max<la_int64_t>(0, archive_entry_size(state_->entry)));
    if (sized && size > most) refuse();
    constexpr std::uint64_t claimed = std::uint64_t{1} << 26;  // of memory before the data come
    if (sized) bytes.reserve(std::min(size, claimed));
    for (;;) {
        const void* data = nullptr;
        std::size_t count = 0;
        la_int64_t place = 0;
        const int status = archive_read_data_block(state_->opened.get(), &data, &count, &place);
        if (status == ARCHIVE_EOF) break;
        if (status != ARCHIVE_OK) state_->fail_here(state_->member);
        const std::uint64_t end = static_cast<std::uint64_t>(place) + count;
        if (end > most) refuse();
        bytes.resize(std::max<std::uint64_t>(bytes.size(), end));  // what is sparse is 0
        std::copy_n(static_cast<const unsigned char*>(data), count, bytes.begin() + place);
    }
    if (sized) bytes.resize(size);
    return bytes;
}

#else

struct Archive::State {};

Archive::Archive(const std::filesystem::path& path) {
    fail(path.string(),
         "this gpuhist was built without libarchive (Debian's package libarchive-dev): unpack the archive first",
         IoError::Kind::unsupported);
}
Archive::~Archive() = default;
std::optional<Archive::Member> Archive::next() {
    return std::nullopt;
}
std::vector<unsigned char> Archive::read(std::uint64_t) {
    return {};
}

#endif

}  // namespace gpuhist::io
