// Measures all images in a directory, and in the directories below it, as one set.
#include <gpuhist/gpuhist.hpp>
#include <gpuhist/io/decode.hpp>
#include <gpuhist/io/walk.hpp>
#include <iostream>

int main(int, char** arguments) try {
    const auto engine = gpuhist::make_engine("auto");
    gpuhist::Summary set;
    for (const auto& path : gpuhist::io::list_images(arguments[1])) {
        try {
            const gpuhist::io::Image image = gpuhist::io::read_image(path);
            gpuhist::Analysis analysis = engine->analyze(masked_view(image));
            name_channels(analysis, image.samples, image.bands);
            set.add(analysis);
        } catch (const gpuhist::IoError& error) {
            std::cerr << error.what() << '\n';  // the other images are measured nevertheless
        }
    }
    for (const gpuhist::SummaryRow& row : set.statistics())  // as if all images of a depth were one
        if (row.statistics.mean)
            std::cout << to_string(row.depth) << ' ' << channel_name(row.statistics) << ": " << row.images
                      << " images, mean " << *row.statistics.mean << ", std " << *row.statistics.std << '\n';
} catch (const gpuhist::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
