#include "run/reference.hpp"

#include <string>
#include <utility>

#include "gpuhist/error.hpp"
#include "gpuhist/io/decode.hpp"
#include "gpuhist/io/image.hpp"
#include "run/weights.hpp"

namespace gpuhist::app {

std::shared_ptr<const NormalizeReference> read_reference(const Options& options) {
    if (options.reference.empty()) return nullptr;
    io::DecodeOptions decode = options.decode;
    options.set(decode);
    const io::Image file = read_data([&] {
        return options.by_opencv ? io::read_image_by_opencv(options.reference, decode)
                                 : io::read_image(options.reference, decode);
    });
    const ImageView view = io::view(file);
    Validity validity = options.validity;
    std::string problem;
    if (options.nodata_of_file)
        if (const auto value = nodata_of(file, problem)) validity.nodata.push_back({std::nullopt, *value});
    validity = rules_for(view, io::names_of_samples(file), validity);
    set_weight(validity, file);
    AnalysisRequest request;
    if (!(validity == Validity())) request.validity = std::make_shared<const Validity>(std::move(validity));
    try {
        return reference_of(view, request);
    } catch (const InvalidArgument& error) {
        throw UsageError(options.reference.string() + ": " + error.what());
    }
}

}  // namespace gpuhist::app
