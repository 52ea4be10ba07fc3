// The least that a program reading images must do: gpuhist-bench startup compares with it.
#include <opencv2/imgcodecs.hpp>

int main(int argc, char** argv) {
    return argc == 2 && !cv::imread(argv[1], cv::IMREAD_UNCHANGED).empty() ? 0 : 1;
}
