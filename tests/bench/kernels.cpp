#include "kernels.hpp"

#include <CLI/CLI.hpp>
#include <memory>
#include <opencv2/core.hpp>
#include <stdexcept>

#include "bench.hpp"
#include "gpuhist/io/image_file.hpp"

namespace gpuhist::bench {

void add_kernels(CLI::App& app) {
    auto options = std::make_shared<KernelsOptions>();
    auto image = std::make_shared<std::string>(GPUHIST_DATA "/chelsea.png");
    CLI::App* command = app.add_subcommand("kernels", "The engine on the GPU against its ceilings and CUB.");
    command->add_option("--gpu", options->gpu, "which GPU")->capture_default_str();
    command->add_option("--bytes", options->bytes, "of a large image; at least 64 MiB")
        ->check(CLI::Range(std::int64_t{64} << 20, std::int64_t{1} << 40))
        ->capture_default_str();
    command->add_option("--repetitions", options->repetitions, "timings of each case")->capture_default_str();
    command->add_option("--image", *image, "8-bit picture behind the content `natural`")->capture_default_str();
    command->add_option("--csv", options->csv, "write the table there too");
    command->callback([=] {
        const cv::Mat picture = io::read_image(*image);
        if (picture.depth() != CV_8U || !picture.isContinuous())
            throw std::runtime_error(*image + ": an 8-bit picture is needed");
        options->photograph.assign(picture.data, picture.data + picture.total() * picture.elemSize());
        std::fputs(machine().c_str(), stdout);
        run_kernels(*options);
    });
}

}  // namespace gpuhist::bench
