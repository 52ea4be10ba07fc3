"""good.py GPUHIST DIR…: holds gpuhist against real pictures, by hand.

Every file of a format that gpuhist reads is decoded by tifffile, imagecodecs or Pillow (warnings are errors). Reported are files
that gpuhist refuses although they do not, and files whose numbers differ from theirs by the definitions; the files that they refuse
and gpuhist measures are counted. Types and numbers of channels that are to come may be refused as unsupported.
"""
import argparse
import collections
import concurrent.futures
import logging
import os
import sys
import warnings

os.environ['OPENCV_LOG_LEVEL'] = 'OFF'

import cv2
import imagecodecs
import numpy as np
import tifffile
from PIL import Image

import check
import kit
import tiff_cases
from kit import bands, color, color_bands, expanded, gray, gray_alpha

MOST = 100_000_000  # pixels
EXTENSIONS = {
    'jpg': 'JPEG', 'jpeg': 'JPEG', 'jpe': 'JPEG', 'png': 'PNG', 'tif': 'TIFF', 'tiff': 'TIFF', 'bmp': 'BMP', 'dib': 'BMP', 'webp': 'WebP', 'pbm': 'netpbm', 'pgm': 'netpbm', 'ppm': 'netpbm',
    'pnm': 'netpbm', 'ras': 'Sun raster', 'jp2': 'JPEG 2000', 'j2k': 'JPEG 2000', 'hdr': 'Radiance'
}


def read_png(path, data):
    bits, kind = data[24], data[25]
    with Image.open(path) as image:
        image.load()  # checksums, and as many rows as there must be
    a = imagecodecs.png_decode(data)
    a = a[..., None] if a.ndim == 2 else a
    if kind in (0, 4) and a.shape[2] in (2, 4):
        return gray_alpha(a[..., [0, -1]])
    return gray(a) if a.shape[2] == 1 else color(a)


def read_jpeg(path, data):
    with Image.open(path) as image:
        image.load()
        mode, a = image.mode, np.asarray(image)
    if mode == 'CMYK':
        a = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)[..., ::-1]
    return {**(gray(a) if a.ndim == 2 else color(a)), 'width': None, 'height': None}  # turned by EXIF


def read_tiff(path, data):
    with tifffile.TiffFile(path) as file:
        page = file.pages[0]
        a, photometric, bits, extra = page.asarray(), int(page.photometric), page.bitspersample, [int(e) for e in page.extrasamples]
        if page.planarconfig == 2 and page.samplesperpixel > 1:
            a = np.moveaxis(a, 0, -1)
        a = a.reshape(page.imagelength, page.imagewidth, -1)
        if photometric == 3:
            table = np.moveaxis(page.colormap, 0, -1)
            high = table >> 8
            eight = (table < 256).all() or (table == high * 257).all() or (table == high << 8).all()
            a = (table if not eight else table if (table < 256).all() else high)[a[..., 0].astype(int)]
            return {**color(a.astype(np.uint8 if eight else np.uint16)), 'width': None, 'height': None}
    if photometric == 6 and page.compression != 7 or photometric > 6:
        raise NotImplementedError(f'photometric {photometric}')
    if photometric == 5:
        a = tiff_cases.cmyk_as_opencv(a[..., :4])
    if bits < 8:
        a = expanded(a, bits)
    white = 2**bits - 1 if 8 < bits < 16 else None
    if photometric == 0:
        a = (white or np.iinfo(a.dtype).max) - a
    channels = a.shape[2]
    alpha = {1: 'premultiplied', 2: 'straight'}.get(extra[0]) if len(extra) == 1 else None
    if photometric in (0, 1):
        truth = gray(a, white=white) if channels == 1 else gray_alpha(a, alpha, white=white) if channels == 2 and alpha else bands(a, white=white)
    else:
        truth = color_bands(a, white=white) if channels > 3 and not alpha else color(a, white=white, alpha=alpha)
    return {**truth, 'width': None, 'height': None}


def read_webp(path, data):
    return color(imagecodecs.webp_decode(data))


def read_radiance(path, data):
    return color(imagecodecs.rgbe_decode(data))


def read_others(path, data):
    with Image.open(path) as image:
        image.load()
        mode = image.mode
        if mode == 'P':
            table = np.array(image.getpalette('RGB'), np.uint8).reshape(-1, 3)
            a = table[np.asarray(image)]
            grays = (table[:, :1] == table).all()
            return gray(a[..., :1]) if grays else color(a)
        a = np.asarray(image.convert('L') if mode == '1' else image)
    if mode not in ('1', 'L', 'LA', 'RGB', 'RGBA', 'I;16', 'I;16B'):
        raise NotImplementedError(f'mode {mode}')
    return {'1': gray, 'L': gray, 'LA': gray_alpha}.get(mode, color if a.ndim == 3 else gray)(a, white=top_of(data))


def top_of(data):
    """The maximum of a netpbm; Pillow scales what has another."""
    if data[:2] not in (b'P2', b'P3', b'P5', b'P6'):
        return None
    words = [word for line in data[:200].split(b'\n') for word in line.split(b'#')[0].split()]
    if words[3] not in (b'255', b'65535'):
        raise NotImplementedError('a maximum that Pillow scales')
    return int(words[3])


READERS = {'PNG': read_png, 'JPEG': read_jpeg, 'TIFF': read_tiff, 'WebP': read_webp, 'Radiance': read_radiance}


def right(path):
    """The format and the truth, or why others do not read the file."""
    kind = EXTENSIONS[path.rsplit('.', 1)[1].lower()]
    logging.disable(logging.CRITICAL)
    Image.MAX_IMAGE_PIXELS = None
    try:
        with open(path, 'rb') as file:
            data = file.read()
        with warnings.catch_warnings():
            warnings.simplefilter('error')
            if kind != 'TIFF':
                with Image.open(path) as image:
                    if image.width * image.height > MOST:
                        return kind, 'large'
            truth = READERS.get(kind, read_others)(path, data)
        return kind, {key: value for key, value in truth.items() if value is not None}
    except Exception as error:
        return kind, f'{type(error).__name__}: {error}'


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('program', type=os.path.abspath)
    parser.add_argument('folders', nargs='+', metavar='DIR')
    parser.add_argument('--not-read', action='store_true', help='print the files that others do not read, and why')
    arguments = parser.parse_args()

    paths, seen = [], set()
    for folder in arguments.folders:
        for place, _, names in os.walk(os.path.abspath(folder)):
            for name in sorted(names):
                path = os.path.join(place, name)
                real = os.path.realpath(path)
                if '.' in name and name.rsplit('.', 1)[1].lower() in EXTENSIONS and os.path.isfile(path) and real not in seen:
                    seen.add(real)
                    paths.append(path)
    paths.sort()
    counts = collections.defaultdict(collections.Counter)
    faults = 0
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        for start in range(0, len(paths), 500):
            some = paths[start:start + 500]
            truths = pool.map(right, some, chunksize=8)
            run = check.Run(arguments.program, '/', some, '85')
            for path, (kind, truth) in zip(some, truths):
                rows, error = run.said_of(path)
                count = counts[kind]
                count['files'] += 1
                if isinstance(truth, str):
                    count['read by gpuhist alone' if rows else 'read by neither'] += 1
                    if arguments.not_read:
                        print(f'{path}: {truth}; gpuhist: {check.summary((rows, error))}')
                    continue
                found = list(check.faults(path, truth, rows, error, run.columns, False))
                count['refused as unsupported, to come' if error and not found else 'right' if not found else 'refused' if error else 'wrong numbers'] += 1
                faults += len(found)
                for text in found:
                    print(f'{path}: {text}')
            for line in run.lines:
                if not line.startswith('gpuhist'):
                    faults += 1
                    print(f'standard error: {line}')
    print('| format | files | right | to come | refused | wrong numbers | read by gpuhist alone | by neither |\n|---|---|---|---|---|---|---|---|')
    for kind, count in sorted(counts.items()):
        keys = ('files', 'right', 'refused as unsupported, to come', 'refused', 'wrong numbers', 'read by gpuhist alone', 'read by neither')
        print(f'| {kind} | ' + ' | '.join(str(count[key]) for key in keys) + ' |')
    sys.exit(bool(faults))


if __name__ == '__main__':
    main()
