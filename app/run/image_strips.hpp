/// Large image that is measured in strips.
#pragma once

#include <cstdint>
#include <exception>
#include <future>
#include <memory>
#include <opencv2/core.hpp>
#include <optional>

#include "gpuhist/error.hpp"
#include "run/image_task.hpp"
#include "run/mask_rows.hpp"

namespace gpuhist::app {

/// Image that is measured while it is decoded: each strip on another thread, while the next one is decoded. The strips
/// come as often as the engine needs them, once more if values are counted, and once more if a copy is written.
class Measurer::InStrips {
  public:
    InStrips(Measurer& measurer, Image& image, MemoryBudget::Share& share, StageClock& clock)
        : measurer_(measurer), image_(image), share_(share), clock_(clock) {}

    /// Has something done with a strip, whose pixels stay as they are until the next call returns.
    void take(const io::Image& strip, std::uint64_t row);
    /// Ends a pass over the strips. Returns whether there is another one.
    bool again();

  private:
    enum class Pass : std::uint8_t { analysis, values, copies };

    void begin(const io::Image& strip);

    void open_mask();
    void begin_analysis();
    void end_analysis();
    /// Waits for the previous strip. If a GPU fails, its work is done again where that is allowed.
    void wait();
    void work(const io::Image& strip, std::uint64_t row);
    void analyze(const ImageView& view);
    void count_values(const ImageView& view, Samples samples);
    void begin_copies();
    void copy(const ImageView& view, Samples samples);
    /// Runs a step of writing. One that fails is the last; the rest of the image's files are written all the same.
    template <class Step>
    void write(const Step& step) {
        if (image_.copy.error) return;
        try {
            step();
        } catch (const IoError&) {
            image_.copy.error = std::current_exception();
        } catch (const InvalidArgument&) {
            image_.copy.error = std::current_exception();
        }
    }

    Measurer& measurer_;
    Image& image_;
    MemoryBudget::Share& share_;
    StageClock& clock_;
    Pass pass_ = Pass::analysis;
    bool restarts_ = false;  ///< with the next pass
    Normalization normalization_;
    std::optional<EnginePool::StripTask> task_;
    std::unique_ptr<io::RowEncoder> rows_;
    int type_ = 0;
    cv::Mat copied_;                 ///< a strip
    std::optional<MaskRows> given_;  ///< mask that was given
    std::future<void> work_;
};

}  // namespace gpuhist::app
