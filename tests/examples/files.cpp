#include <gpuhist/gpuhist.hpp>
#include <gpuhist/io/decode.hpp>
#include <iostream>

// Prints the mean and the standard deviation of each channel.
void measure(gpuhist::Engine& engine, const char* path) {
    const gpuhist::io::Image image = gpuhist::io::read_image(path);
    gpuhist::AnalysisRequest request;
    if (image.nodata) {  // the file names a nodata value; masked_view() applies its mask
        gpuhist::Validity valid;
        valid.nodata.push_back({std::nullopt, *image.nodata});
        request.validity = std::make_shared<gpuhist::Validity>(valid);
    }
    gpuhist::Analysis analysis = engine.analyze(masked_view(image), request);
    name_channels(analysis, image.samples, image.bands);  // gray with alpha, bands
    for (const gpuhist::Statistics& channel : gpuhist::statistics(analysis))
        if (channel.mean)  // absent if all samples are excluded
            std::cout << path << ' ' << channel_name(channel) << ": mean " << *channel.mean << ", std " << *channel.std
                      << '\n';
}

int main(int count, char** arguments) try {
    const auto engine = gpuhist::make_engine("auto");
    int failed = 0;
    for (int i = 1; i < count; ++i) {
        try {
            measure(*engine, arguments[i]);
        } catch (const gpuhist::IoError& error) {
            std::cerr << error.what() << '\n';  // it names the file
            failed = 1;
        }
    }
    return failed;
} catch (const gpuhist::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
