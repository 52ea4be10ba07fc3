#include <gpuhist/gpuhist.hpp>
#include <gpuhist/io/decode.hpp>
#include <iostream>

int main(int, char** arguments) try {
    const gpuhist::io::Image image = gpuhist::io::read_image(arguments[1]);
    const auto engine = gpuhist::make_engine("auto");
    gpuhist::Analysis analysis = engine->analyze(view(image));
    name_channels(analysis, image.samples);  // gray with alpha, bands
    for (const gpuhist::Statistics& row : gpuhist::statistics(analysis))
        std::cout << to_string(row.channel) << ": mean " << *row.mean << ", std " << *row.std << '\n';
} catch (const gpuhist::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
