/// Words of the command line: the meanings of option values, and guesses at mistyped words.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "commands/joint.hpp"
#include "commands/stack.hpp"
#include "gpuhist/io/decode.hpp"
#include "gpuhist/io/shard.hpp"
#include "gpuhist/io/suggestion.hpp"
#include "gpuhist/request.hpp"
#include "run/options.hpp"

namespace gpuhist::app {

// Each throws CLI::ValidationError, with the option and the word, for a value that is not valid.

/// Number from `least` to `most`: std::uint64_t and int whole, double with a fraction.
template <class Number>
Number parse_number(const std::string& option, const std::string& text, Number least, Number most);
/// Two finite numbers, LO,HI.
std::pair<double, double> parse_pair(const std::string& option, const std::string& text);
/// What to do for Parquet, which the command does not write.
inline constexpr const char* parquet_remedy =
    "the Python package writes Parquet: gpuhist.to_parquet(RESULTS), or python -m gpuhist ... --write parquet";
/// Files that --write names.
Writes parse_writes(const std::string& text);
/// Files of a stack that --write names.
StackWrites parse_stack_writes(const std::string& text);
/// Two channels, A,B[:BINS].
ChannelPair parse_channel_pair(const std::string& text);
/// Files about each image that --write of joint histograms names.
JointWrites parse_joint_writes(const std::string& text);
/// Percentiles as 0.5,50,99.9.
Percentiles parse_percentile_columns(const std::string& text);
/// Bins of a histogram; 0 for `full`.
std::uint32_t parse_bins(const std::string& text);
/// Range of pictures: auto, full or LO,HI.
io::PlotRange parse_plot_range(const std::string& text);
/// Formats of pictures.
std::vector<io::PlotFormat> parse_plot_formats(const std::string& text);
/// Bytes, with K, M, G or T for powers of 1024.
std::uint64_t parse_size(const std::string& option, const std::string& text);
/// Numbers of GPUs: all, which is none here, or 0,2.
std::vector<int> parse_gpus(const std::string& text);
/// Value that stands for nodata in copies: a number, or nan.
double parse_fill(const std::string& text);
/// White of all images, over 0.
double parse_white(const std::string& text);
/// Value of --nodata: values that stand for no data, and whether values and masks of files do.
struct NodataWords {
    Validity values;    ///< its values alone
    bool tag = false;   ///< that of a file too
    bool none = false;  ///< nothing that files say, masks included
};
/// Adds a list of V, C:V, nan, tag and none to the earlier values.
void parse_nodata(const std::string& text, NodataWords& words);
/// Adds a closed interval of valid values, LO,HI or C:LO,HI. An end that is left out or infinite does not limit the
/// values.
void parse_valid(const std::string& text, Validity& validity);
/// Pages as `all`, or numbers and ranges: 1,3-5,9-.
PageSelection parse_pages(const std::string& text);
/// Layout of raw samples: DEPTH,WIDTH,HEIGHT[,CHANNELS[,OFFSET]], with `be` after the depth for big-endian samples.
io::RawArray parse_raw(const std::string& text);
/// Shard as K/N.
io::ShardId parse_shard_of(const std::string& text);
/// Truth of a switch that a variable or a file names: 1, true, yes, on, or their opposites.
bool parse_switch(const std::string& text);

using io::suggestion;

}  // namespace gpuhist::app
