/// Manifests: lists of the inputs of a run, made once for all machines that share it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpuhist/error.hpp"
#include "gpuhist/io/checksum.hpp"
#include "gpuhist/io/shard.hpp"

namespace gpuhist::io {

/// Input in a line of a manifest.
struct ListedInput {
    std::string path;                       ///< any bytes
    std::string name;                       ///< relative name of the files about it
    std::string group;                      ///< directory to which it belongs
    std::optional<std::uint64_t> bytes;     ///< length; absent: unknown
    std::optional<std::uint64_t> modified;  ///< time of modification, in nanoseconds since 1970
    std::string etag;                       ///< identity of its contents in an object store; empty: none
    std::optional<IoError> failure;         ///< reason why it cannot be listed
    std::optional<std::uint64_t> mask_bytes{}, mask_modified{};  ///< of FILE.msk; absent: nothing is known of one
    std::string archive{};                                       ///< that it is a member of; else empty
    std::optional<std::uint64_t> archive_bytes{};                ///< length of the archive; absent: unknown
};

/// Line of a manifest: a JSON object and an LF.
std::string manifest_line(const ListedInput& input);
/// Reads such a line. If the object only has a path, the name and the group follow from it. `place` is for messages.
/// Throws IoError with the place for other text.
ListedInput parse_manifest_line(std::string_view line, const std::string& place);

/// Block of a manifest: consecutive lines of at least 1 MiB, except in the last block. Manifests are read and checked
/// in blocks.
struct ManifestBlock {
    static constexpr std::uint64_t least_bytes = std::uint64_t{1} << 20;
    std::uint64_t bytes = 0;   ///< length of the lines
    std::uint64_t inputs = 0;  ///< number of lines
    std::uint64_t weight = 0;  ///< weight of the inputs: see `Manifest`
    std::uint64_t checksum = 0;
};

/// Writer of a manifest. It writes the lines, then a last line with their number and the checksums of all blocks.
class ManifestWriter {
  public:
    explicit ManifestWriter(std::function<void(const std::string&)> write) : write_(std::move(write)) {}
    void add(const ListedInput& input);
    void finish();
    std::uint64_t inputs() const { return inputs_; }
    std::uint64_t bytes() const { return bytes_; }  ///< sum of the known lengths of the inputs

  private:
    void end_block();

    std::function<void(const std::string&)> write_;
    std::string text_;
    ManifestBlock block_;
    std::vector<ManifestBlock> blocks_;
    std::uint64_t inputs_ = 0, bytes_ = 0;
};

/// Manifest in a file, which only reads the parts that are needed. The weight of an input is its length and
/// `own_weight`, because opening a file takes time too. Functions throw IoError with the name of the file, also if the
/// file was changed since it was made.
class Manifest {
  public:
    static constexpr std::uint64_t own_weight = 16384;

    /// Opens a manifest and reads its last line.
    explicit Manifest(std::filesystem::path path);

    const std::filesystem::path& path() const { return path_; }
    std::uint64_t inputs() const { return inputs_; }
    /// Checksum of the whole manifest, as text. Other manifests have another one.
    const std::string& checksum() const { return checksum_; }

    /// Lines of a shard. The ranges of shards 1, 2, … follow each other, and have the same weight up to that of one
    /// input.
    LineRange lines_of(ShardId shard) const;

    /// Returns the lines of a block, by its number from 0.
    std::string read_block(std::size_t number) const;
    const std::vector<ManifestBlock>& blocks() const { return blocks_; }

  private:
    std::uint64_t first_line(std::uint64_t weight) const;

    std::filesystem::path path_;
    std::vector<ManifestBlock> blocks_;
    std::vector<std::uint64_t> places_;  ///< places of the blocks in the file
    std::uint64_t inputs_ = 0, weight_ = 0;
    std::string checksum_;
};

/// Reader of lines of a manifest, one after the other.
class ManifestLines {
  public:
    ManifestLines(std::shared_ptr<const Manifest> manifest, LineRange lines);
    /// Next input; absent at the end. Throws as Manifest.
    std::optional<ListedInput> next();

  private:
    std::shared_ptr<const Manifest> manifest_;
    std::uint64_t end_, line_ = 0;  ///< number of the next line
    std::size_t block_ = 0;         ///< next block to read
    std::string text_;
    std::size_t at_ = 0;  ///< place in the text
};

}  // namespace gpuhist::io
