// Constants of normalization in configurations of many kinds.
#include "gpuhist/io/constants.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/summaries.hpp"

namespace gpuhist::io {
namespace {

std::vector<double> values(const std::vector<Constant>& constants) {
    std::vector<double> all;
    for (const Constant& one : constants) all.push_back(one.value);
    return all;
}

TEST(Constants, AreFoundInEveryKindOfText) {
    const std::vector<double> mean{0.485, 0.456, 0.406}, std{0.229, 0.224, 0.225};
    for (
        const char* text :
        {R"({"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]})",
         R"({"do_resize": true, "image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225], "size": 224})",
         "mean:\n  - 0.485\n  - 0.456\n  - 0.406\nstd:\n  - 0.229\n  - 0.224\n  - 0.225\n",
         "data:\n  mean: [0.485, 0.456, 0.406]  # of ImageNet, std: [1]\n  std: [0.229, 0.224, 0.225]\n",
         "img_norm_cfg = dict(\n    mean=[0.485, 0.456,\n          0.406], std=(0.229, 0.224, 0.225), to_rgb=True)\n",
         "IMAGENET_MEAN = np.array([0.485, 0.456, 0.406])\nIMAGENET_STD = torch.tensor((0.229, 0.224, 0.225,))\n",
         "transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])",
         "t = Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))  # (1, 2, 3)\n",
         "[0.485, 0.456, 0.406]\n[0.229, 0.224, 0.225]\n",
         "mean = [[[0.485]], [[0.456]], [[0.406]]]\nstd = [[[0.229]], [[0.224]], [[0.225]]]\n",
         R"([{"normalize":{"mean":[0.485,0.456,0.406],"std":[0.229,0.224,0.225]},"channels":[{"mean":7.5,"std":3}]}])"}) {
        const Constants found = parse_constants(text, "c");
        EXPECT_EQ(values(found.mean), mean) << text;
        EXPECT_EQ(values(found.std), std) << text;
    }
}

TEST(Constants, HaveTheirDigitsAndLines) {
    const Constants found =
        parse_constants("\nmean: [123.675 / 255, 1e-3, 0.50]\n\nstd = [58.395, +1.5E+2, 3.]\n", "c");
    EXPECT_DOUBLE_EQ(found.mean[0].value, 123.675 / 255);
    EXPECT_DOUBLE_EQ(found.mean[0].half_digit, 0.0005 / 255);
    EXPECT_DOUBLE_EQ(found.mean[1].half_digit, 0.0005);
    EXPECT_DOUBLE_EQ(found.mean[2].half_digit, 0.005);
    EXPECT_DOUBLE_EQ(found.std[1].value, 150);
    EXPECT_DOUBLE_EQ(found.std[1].half_digit, 5);
    EXPECT_DOUBLE_EQ(found.std[2].half_digit, 0.5);
    EXPECT_EQ(found.mean_line, 2U);
    EXPECT_EQ(found.std_line, 4U);
    const Constants divided =
        parse_constants("mean = np.array([255.0, 51]) / 255\nstd = np.array([51, 51]) / 255.0", "c");
    EXPECT_EQ(values(divided.mean), (std::vector{1.0, 0.2}));
    const Constants single = parse_constants("mean: 0.1307\nstd: 0.3081\n", "c");
    EXPECT_EQ(values(single.mean), std::vector{0.1307});
    EXPECT_EQ(values(single.std), std::vector{0.3081});
    EXPECT_EQ(values(parse_constants("{\"mean\": [0.5], \"std\": [0.25], \"mean\": [0.5]}", "c").mean),
              std::vector{0.5});
}

TEST(Constants, OtherTextIsRefusedWithItsLines) {
    for (const auto& [text, fault] :
         {std::pair("", "c: has no constants: "),
          {"hello mean world", "c: has no constants: "},
          {"[1, 2, 3]", "c: has no constants: "},
          {"mean: [1, 2]\n", "c: has a mean, in line 1, but no std"},
          {"\nstd: [1, 2]\n", "c: has a std, in line 2, but no mean"},
          {"mean: [1, 2]\nstd: [1, 2, 3]\n", "c: mean has 2 numbers, and std 3: lines 1 and 2"},
          {"mean: [1, 2]\nstd: [1, 0]\n", "c: line 2: a std is over 0"},
          {"mean: [1, 2]\nstd: [1, -1]\n", "c: line 2: a std is over 0"},
          {"mean: [1]\nstd: [1]\nmean: [2]\n", "c: several lists are called mean, and differ: lines 1 and 3"},
          {"mean: [1, nan]\nstd: [1, 2]\n", "c: has a std, in line 2, but no mean"},
          {"mean: [1, 1e999]\nstd: [1, 2]\n", "c: has a std, in line 2, but no mean"},
          {"mean: [1, 2\nstd: [1, 2", "c: has no constants: "}}) {
        const std::string failure = test::failure_of([given = text] { parse_constants(given, "c"); });
        EXPECT_EQ(failure.rfind(fault, 0), 0U) << text << '\n' << failure;
    }
    EXPECT_NE(test::failure_of([] { parse_constants(std::string(100'000, '['), "c"); }), "");
    EXPECT_NE(test::failure_of([] { read_constants("nothing"); }), "no failure");
}

}  // namespace
}  // namespace gpuhist::io
