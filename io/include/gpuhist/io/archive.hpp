/// Archives of images: tar, also compressed by gzip, zstd, xz or bzip2, and zip.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gpuhist::io {

/// Returns whether the name of a file is that of an archive: .tar, .tar.gz, .tgz, .tar.zst, .tar.xz, .tar.bz2 or .zip,
/// in any case.
bool is_archive_name(const std::string& name);

/// Archive that is read from its beginning to its end, without files of its own. Of members that are passed over, as
/// little is read as the format allows. Functions throw IoError, which names the archive and the cause.
class Archive {
  public:
    /// Opens an archive. If gpuhist was built without libarchive, the error says so.
    explicit Archive(const std::filesystem::path& path);
    ~Archive();
    Archive(const Archive&) = delete;
    Archive& operator=(const Archive&) = delete;

    struct Member {
        std::string name;                      ///< path in the archive
        std::optional<std::uint64_t> bytes{};  ///< length, if the archive says it before the data
    };
    /// Next regular file; absent at the end.
    std::optional<Member> next();
    /// Bytes of the member that `next` returned last. Throws IoError for more than `most`.
    std::vector<unsigned char> read(std::uint64_t most);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace gpuhist::io
