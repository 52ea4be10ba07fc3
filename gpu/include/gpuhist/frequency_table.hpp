/// Frequencies of values: how often each occurs. From them follow the order statistics of a set of f32 images, and
/// every number of samples that are sorted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "gpuhist/image.hpp"
#include "gpuhist/request.hpp"

namespace gpuhist {

/// Storage in which long runs lie so that they take no memory: a file, mostly. Implementations serve several threads at
/// a time. What its functions throw comes out of those that count, merge and read.
class FrequencyStorage {
  public:
    virtual ~FrequencyStorage() = default;
    /// Takes room for `bytes`; returns its place.
    virtual std::uint64_t take(std::uint64_t bytes) = 0;
    /// Writes within room that was taken and not given back.
    virtual void write(std::uint64_t place, const std::byte* from, std::size_t bytes) = 0;
    /// Reads what was written.
    virtual void read(std::uint64_t place, std::byte* to, std::size_t bytes) const = 0;
    /// Gives back room, or a part of it, which is read no more.
    virtual void give_back(std::uint64_t place, std::uint64_t bytes) noexcept = 0;
};

/// Run of values in ascending order, with one count each. It never changes; copies share the bytes, and the last one
/// gives them back.
///
/// Encoding: each value is two numbers of 7 bits per byte, the lowest first, 128 being added where more follow:
/// 2 · (its key − the least that it can be) + (1 where it occurs more than once), and then, if it does, how often less
/// 2. Keys are the places of values among all of the type in their order: of a float with the bits b, b with the
/// highest bit set, of a negative one ~b; −0 counts as +0; of an integer its distance from the lowest.
class FrequencyRun {
  public:
    /// Takes encoded bytes of values of a depth. Throws InvalidArgument where they are not so written.
    explicit FrequencyRun(std::vector<std::byte> bytes, Depth depth = Depth::f32);
    /// Takes room in a storage that holds encoded bytes; it is given back with the last copy. Throws InvalidArgument
    /// where they are not so written, and what reading throws.
    FrequencyRun(std::shared_ptr<FrequencyStorage> storage, std::uint64_t place, std::uint64_t bytes,
                 Depth depth = Depth::f32);

    Depth depth() const { return depth_; }
    std::uint64_t bytes() const { return bytes_; }
    std::uint64_t values() const { return values_; }    ///< different values; at least one
    std::uint64_t samples() const { return samples_; }  ///< the counts together; below 2^62
    double lowest() const;
    double highest() const;
    /// Bytes, where they lie in memory; else null, and they lie at `place` of a FrequencyStorage.
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
    std::uint64_t first_ = 0, last_ = 0;  ///< keys
    Depth depth_ = Depth::f32;
};

/// Frequency table of one channel, NaN left out: a count for each value that occurs, in runs that came together, all of
/// one depth. With a storage, runs of 64 KiB and more lie there; without, all are in memory: 1 to 5 bytes per value, of
/// f64 to 10, and more where it occurs often. A value type: copies share the runs.
class FrequencyTable {
  public:
    static constexpr std::size_t most_memory_bytes = std::size_t{5} << 20;  ///< of memory_bytes(), with a storage

    FrequencyTable() = default;
    /// Makes an empty table whose runs will lie in `storage`, which may be null.
    explicit FrequencyTable(std::shared_ptr<FrequencyStorage> storage) : storage_(std::move(storage)) {}

    std::uint64_t minus_infinite = 0;  ///< samples that are -Inf
    std::uint64_t plus_infinite = 0;   ///< samples that are +Inf

    const std::vector<FrequencyRun>& runs() const { return runs_; }
    std::uint64_t samples() const;       ///< finite ones
    std::uint64_t memory_bytes() const;  ///< that the runs take in memory

    /// Adds a run's samples.
    void add(FrequencyRun run) { runs_.push_back(std::move(run)); }
    /// Adds another table's samples, and takes its storage where there is none yet.
    void add(const FrequencyTable& more);
    /// Merges runs where there are 64 of about the same length: so their number grows with the logarithm of the
    /// values', and each value is written as often.
    void settle();
    /// Table with the same counts in one run, whose bytes are equal where counts are; in none where there is no finite
    /// sample. Throws what the storages throw.
    FrequencyTable merged(std::shared_ptr<FrequencyStorage> storage) const;

    /// Equality of the counts, in whatever runs they are.
    friend bool operator==(const FrequencyTable& a, const FrequencyTable& b);

  private:
    std::vector<FrequencyRun> runs_;
    std::shared_ptr<FrequencyStorage> storage_;
};

/// Reader of all values of some runs, ascending, each once. The runs must outlive it.
class FrequencyReader {
  public:
    explicit FrequencyReader(const std::vector<FrequencyRun>& runs);
    ~FrequencyReader();
    FrequencyReader(FrequencyReader&&) noexcept;
    FrequencyReader& operator=(FrequencyReader&&) noexcept;

    /// Goes on to the first value, or the next. False, and then for ever, where there is none. Throws what the storages
    /// throw, and InvalidArgument where their bytes changed.
    bool next();
    double value() const;
    std::uint64_t key() const { return key_; }      ///< as in FrequencyRun
    std::uint64_t count() const { return count_; }  ///< samples of this value

  private:
    struct Window;
    std::unique_ptr<Window> window_;
    Depth depth_ = Depth::f32;
    std::uint64_t key_ = 0;
    std::uint64_t count_ = 0;
};

/// Frequency tables of the channels that an analysis of the image has, named by `name_channels`, in its order: of the
/// samples that an analysis by the request sees. Counted on the calling thread,
/// with `counting_bytes(image)` of memory beside the result. Throws InvalidArgument for a view or a request that breaks
/// its rules, for a view that is not f32 or lies in device memory (samples that are sorted have their table in the
/// analysis), and what `storage` throws.
std::vector<FrequencyTable> count_frequencies(const ImageView& image,
                                              const std::shared_ptr<FrequencyStorage>& storage = nullptr,
                                              const AnalysisRequest& request = {}, Samples samples = Samples::color);

/// Memory that count_frequencies takes beside its result: at most 24 MiB; of other than 1, 3 or 4 channels three of
/// these more.
std::size_t counting_bytes(const ImageView& image);

/// Memory that an analysis of samples that are sorted takes at most, the tables in its result included.
std::size_t sorting_bytes(const ImageView& image);

}  // namespace gpuhist
