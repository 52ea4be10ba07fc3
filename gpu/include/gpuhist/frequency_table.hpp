/// How often each value occurs in f32 images: from this the order statistics of a whole set are read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "gpuhist/image.hpp"

namespace gpuhist {

/// Where long runs of counts lie so that they take no memory: in a file, mostly. It is used by several threads at a
/// time. What its functions throw comes out of those that count, merge and read.
class FrequencyStorage {
  public:
    virtual ~FrequencyStorage() = default;
    /// Room for so many bytes; returns its place.
    virtual std::uint64_t take(std::uint64_t bytes) = 0;
    /// Within room that was taken, and not given back.
    virtual void write(std::uint64_t place, const std::byte* from, std::size_t bytes) = 0;
    virtual void read(std::uint64_t place, std::byte* to, std::size_t bytes) const = 0;
    /// What lies there is read no more.
    virtual void give_back(std::uint64_t place, std::uint64_t bytes) noexcept = 0;
};

/// Values in ascending order with a count each. It does not change any more; copies share the bytes, and the last one
/// gives them back. Each value is written as two numbers of 7 bits a byte, the lowest first, 128 being added where more
/// follow: 2 · (its key − the least that it can be) + (1 where it occurs more than once), and then, if it does, how
/// often less 2. A value's key is its place among all floats in their order: of a float with the bits b, b | 2^31, of a
/// negative one ~b; −0 counts as +0.
class FrequencyRun {
  public:
    /// Throws InvalidArgument for bytes that are not so written, and what reading throws.
    explicit FrequencyRun(std::vector<std::byte> bytes);
    FrequencyRun(std::shared_ptr<FrequencyStorage> storage, std::uint64_t place, std::uint64_t bytes);

    std::uint64_t bytes() const { return bytes_; }
    std::uint64_t values() const { return values_; }    ///< different ones; at least one
    std::uint64_t samples() const { return samples_; }  ///< the counts together; below 2^62
    float lowest() const;
    float highest() const;
    /// The bytes, where they lie in memory; else null, and they lie at `place` of a FrequencyStorage.
    const std::byte* data() const { return memory_ ? memory_->data() : nullptr; }
    std::uint64_t place() const;

  private:
    friend class FrequencyRunReader;
    friend class FrequencyRunWriter;
    struct Room;
    FrequencyRun() = default;
    void check();

    std::shared_ptr<const std::vector<std::byte>> memory_;
    std::shared_ptr<Room> room_;
    std::uint64_t bytes_ = 0, values_ = 0, samples_ = 0;
    std::uint32_t first_ = 0, last_ = 0;  ///< keys
};

/// The samples of one f32 channel that are no NaN: a count for each value that occurs, in runs that came together. With
/// a storage, runs of 64 KiB and more lie there; without, all are in memory: 1 to 5 bytes a value, and more where it
/// occurs often.
class FrequencyTable {
  public:
    static constexpr std::size_t most_memory_bytes = std::size_t{5} << 20;  ///< with a storage

    FrequencyTable() = default;
    /// New runs will lie in `storage`, which may be null.
    explicit FrequencyTable(std::shared_ptr<FrequencyStorage> storage) : storage_(std::move(storage)) {}

    std::uint64_t minus_infinite = 0;  ///< samples that are -Inf
    std::uint64_t plus_infinite = 0;   ///< samples that are +Inf

    const std::vector<FrequencyRun>& runs() const { return runs_; }
    std::uint64_t samples() const;       ///< finite ones
    std::uint64_t memory_bytes() const;  ///< that the runs take in memory

    void add(FrequencyRun run) { runs_.push_back(std::move(run)); }
    /// Takes the other's storage where it has none.
    void add(const FrequencyTable& more);
    /// Merges runs where there are 64 of about the same length: so their number grows with the logarithm of the
    /// values', and each value is written as often.
    void settle();
    /// The same counts in one run, which equal counts have the same bytes of; in none where there is no finite sample.
    FrequencyTable merged(std::shared_ptr<FrequencyStorage> storage) const;

    /// Whether the counts are the same, in whatever runs.
    friend bool operator==(const FrequencyTable& a, const FrequencyTable& b);

  private:
    std::vector<FrequencyRun> runs_;
    std::shared_ptr<FrequencyStorage> storage_;
};

/// Goes through all values of some runs, ascending, each once.
class FrequencyReader {
  public:
    explicit FrequencyReader(const std::vector<FrequencyRun>& runs);
    ~FrequencyReader();
    FrequencyReader(FrequencyReader&&) noexcept;
    FrequencyReader& operator=(FrequencyReader&&) noexcept;

    /// On to the first value, or the next. False, and then for ever, where there is none.
    bool next();
    float value() const;
    std::uint32_t key() const { return key_; }  ///< as in FrequencyRun
    std::uint64_t count() const { return count_; }

  private:
    struct Window;
    std::unique_ptr<Window> window_;
    std::uint32_t key_ = 0;
    std::uint64_t count_ = 0;
};

/// Those of each channel that an analysis of the image has, in its order: `gray`; or `red green blue luma`, then
/// `alpha` where there is one. On the calling thread, with `counting_bytes(image)` of memory beside the result. Throws
/// InvalidArgument for a view that breaks its rules, is not f32 or lies in device memory.
std::vector<FrequencyTable> count_frequencies(const ImageView& image,
                                              const std::shared_ptr<FrequencyStorage>& storage = nullptr);

/// At most 24 MiB.
std::size_t counting_bytes(const ImageView& image);

}  // namespace gpuhist
