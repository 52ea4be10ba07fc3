"""make.py DIR: writes small files of every kind that gpuhist reads or refuses, and DIR/truth.json with what is right (kit.py).

Names begin with the format: tiff_…, png_…, jpeg_…, netpbm_…, pam_…, pfm_…, bmp_…, and so on. What a file holds is known from how
it was made; decoders of others (OpenCV's among them) say it only where a codec loses something.
"""
import os
import sys

os.environ['OPENCV_LOG_LEVEL'] = 'OFF'

import kit
import bmp_cases
import gif_cases
import jpeg_cases
import netpbm_cases
import other_cases
import page_cases
import png_cases
import science_cases
import small_cases
import tiff_cases

MODULES = (tiff_cases, png_cases, jpeg_cases, netpbm_cases, bmp_cases, gif_cases, other_cases, science_cases, small_cases, page_cases)


def main(folder):
    cases = kit.Cases(folder)
    for module in MODULES:
        module.make(cases)
    cases.done()
    print(f'{len(cases.truth)} cases in {folder}')


if __name__ == '__main__':
    main(sys.argv[1])
