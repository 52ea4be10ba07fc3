"""damage.py GPUHIST [--keep DIR]: 200 damages of each format and compression, and how many of those that change pixels are refused.

A picture like a photograph is written, then a range of its data is cut off, lost, zeroed, or a few bits are flipped (seeded: the
same every time). A decoder of others says whether pixels changed; where it refuses the file, they did. gpuhist measures all files
in one run. The table goes to standard output; fewer refusals than FLOORS make the exit code 1.
"""
import argparse
import contextlib
import csv
import io
import logging
import os
import subprocess
import sys
import tarfile
import tempfile
import warnings
import zipfile
import zlib

os.environ['OPENCV_LOG_LEVEL'] = 'OFF'

import cv2
import imagecodecs
import numpy as np
import OpenEXR
import tifffile
from astropy.io import fits
from PIL import Image

import bmp_cases
import png_cases
import tiff_writer as t

HEIGHT, WIDTH, COUNT = 150, 200, 200
ARCHIVES = ('.tar', '.tar.gz', '.tar.xz', '.zip')

# The part of the damages that must be refused at least. Where there is a checksum: all. Elsewhere what codecs notice, less a little:
# a frame of zstd has a checksum only where its writer wants one, and libtiff does not.
FLOORS = {
    'PNG': 1, 'PNG, interlaced': 1, 'TIFF deflate': 1, 'TIFF deflate, predictor': 1, 'TIFF zstd, checksum': 1, 'TIFF LZMA': 1,
    'TIFF zstd': .55, 'TIFF none': .45, 'TIFF LZW': .75, 'TIFF PackBits': .6, 'TIFF JPEG': .7, 'TIFF WebP': .5,
    'JPEG baseline': .7, 'JPEG restart': .65, 'JPEG progressive': .75, 'WebP lossy': .6, 'WebP lossless': .6, 'JPEG 2000': .45,
    'OpenEXR ZIP': .95, 'OpenEXR PIZ': .5, 'BMP RLE': .75, 'BMP': .45, 'Radiance': .6, 'PAM': .45, 'PPM, text': .9,
    'GIF': .8, 'TGA': .45, 'TGA RLE': .75, 'QOI': .75, 'AVIF': .45, 'JPEG XL lossless': .95, 'JPEG XL lossy': .95, 'FITS': .45, 'FITS, checksum': .98, 'NPY': .45,
    'tar': 1, 'tar.gz': 1, 'tar.xz': 1, 'zip': 1, 'zip, deflate': 1
}


def photograph():
    """Smooth light, edges, texture and noise."""
    g = np.random.default_rng(40)
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    light = 110 + 60 * np.sin(x / 47) * np.cos(y / 31)
    layers = [light + 20 * np.sin(x / (60 + 9 * i) + i) for i in range(3)]
    a = np.stack(layers, -1)
    for _ in range(12):
        top, left = g.integers(0, HEIGHT - 20), g.integers(0, WIDTH - 30)
        a[top:top + g.integers(8, 40), left:left + g.integers(8, 60)] += g.normal(0, 40, 3)
    texture = g.normal(0, 1, (HEIGHT, WIDTH))
    a += (np.where(y > 90, 9, 1.5) * texture)[..., None]
    return np.clip(a, 0, 255).astype(np.uint8)


def saved(image, form, **options):
    out = io.BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


def opened(data, mode=None):
    """By Pillow, which must not be content with less than the whole."""
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        return np.asarray(Image.open(io.BytesIO(data)).convert(mode))


def read_fits(data):
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        with fits.open(io.BytesIO(data)) as units:
            return units[0].data


def read_tar(data):
    with tarfile.open(fileobj=io.BytesIO(data), errorlevel=2) as archive:
        return opened(archive.extractfile('image.png').read())


def read_zip(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return opened(archive.read('image.bmp'))


def read_tiff(data):
    with tifffile.TiffFile(io.BytesIO(data)) as file:
        return file.pages[0].asarray()


def read_exr(data):
    with tempfile.NamedTemporaryFile(suffix='.exr') as file:
        file.write(data)
        file.flush()
        with OpenEXR.File(file.name, separate_channels=True) as image:
            return np.dstack([channel.pixels for _, channel in sorted(image.channels().items())])


def subjects():
    """(name, extension, file, where its data begin, decoder)."""
    a = photograph()
    png = saved(Image.fromarray(a), 'PNG')
    yield 'PNG', 'png', png, png.index(b'IDAT') - 4, opened
    png = png_cases.png(a, png_cases.RGB, 8, interlaced=True, pieces=5)
    yield 'PNG, interlaced', 'png', png, png.index(b'IDAT') - 4, opened

    compressions = {'none': t.NONE, 'LZW': t.LZW, 'deflate': t.DEFLATE, 'zstd': t.ZSTD, 'LZMA': t.LZMA, 'PackBits': t.PACKBITS, 'WebP': t.WEBP}
    for name, number in compressions.items():
        tiff = t.tiff(a // 16 * 16 if name == 'PackBits' else a, compression=number, strip=32)
        yield f'TIFF {name}', 'tif', tiff, len(tiff) - payload(tiff), read_tiff
    tiff = t.tiff(a, compression=t.ZSTD, strip=32, encode=lambda piece: t.zstd_with_checksum(piece.tobytes()))
    yield 'TIFF zstd, checksum', 'tif', tiff, len(tiff) - payload(tiff), read_tiff
    tiff = t.tiff(a, compression=t.DEFLATE, tile=(64, 64), predictor=2)
    yield 'TIFF deflate, predictor', 'tif', tiff, len(tiff) - payload(tiff), read_tiff
    encode = lambda piece: imagecodecs.jpeg8_encode(piece, level=85, colorspace='RGB', outcolorspace='YCBCR', subsampling=(2, 2))
    tiff = t.tiff(a, t.YCBCR, compression=t.JPEG, strip=32, encode=encode, tags=[(530, 'H', (2, 2))])
    yield 'TIFF JPEG', 'tif', tiff, len(tiff) - payload(tiff), read_tiff

    for name, options in (('baseline', []), ('progressive', [cv2.IMWRITE_JPEG_PROGRESSIVE, 1]), ('restart', [cv2.IMWRITE_JPEG_RST_INTERVAL, 5])):
        jpeg = cv2.imencode('.jpg', a[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, 85, *options])[1].tobytes()
        yield f'JPEG {name}', 'jpg', jpeg, jpeg.index(b'\xff\xda'), imagecodecs.jpeg8_decode
    webp = imagecodecs.webp_encode(a, level=80)
    yield 'WebP lossy', 'webp', webp, 30, imagecodecs.webp_decode
    webp = imagecodecs.webp_encode(a, lossless=True)
    yield 'WebP lossless', 'webp', webp, 25, imagecodecs.webp_decode
    jp2 = imagecodecs.jpeg2k_encode(a, level=0, reversible=True, codecformat='j2k')
    yield 'JPEG 2000', 'j2k', jp2, jp2.index(b'\xff\x93') + 2, imagecodecs.jpeg2k_decode

    for name in ('ZIP', 'PIZ'):
        with tempfile.NamedTemporaryFile(suffix='.exr') as file:
            channels = {letter: np.ascontiguousarray(a[..., i] / np.float16(255)).astype(np.float16) for i, letter in enumerate('RGB')}
            with OpenEXR.File({'compression': getattr(OpenEXR, f'{name}_COMPRESSION'), 'type': OpenEXR.scanlineimage}, channels) as image:
                image.write(file.name)
            exr = file.read()
        rows = 16 if name == 'ZIP' else 32
        yield f'OpenEXR {name}', 'exr', exr, exr.index(b'screenWindowWidth\0') + 18 + 6 + 4 + 4 + 1 + 8 * -(-HEIGHT // rows), read_exr

    gray = a[..., 0] // 32
    runs = bmp_cases.encode(gray, False, False)
    bmp = bmp_cases.bmp(runs, WIDTH, HEIGHT, 8, compression=bmp_cases.RLE8, palette=bmp_cases.palette_of(bmp_cases.colors_of(8, 'color')))
    yield 'BMP RLE', 'bmp', bmp, len(bmp) - len(runs), opened
    bmp = saved(Image.fromarray(a), 'BMP')
    yield 'BMP', 'bmp', bmp, 54, opened
    hdr = imagecodecs.rgbe_encode((a / np.float32(255)) ** 2, header=True, rle=True)
    yield 'Radiance', 'hdr', hdr, hdr.index(b'\n', hdr.index(b'-Y ')) + 1, imagecodecs.rgbe_decode
    head = b'P7\nWIDTH %d\nHEIGHT %d\nDEPTH 3\nMAXVAL 255\nTUPLTYPE RGB\nENDHDR\n' % (WIDTH, HEIGHT)
    yield 'PAM', 'pam', head + a.tobytes(), len(head), lambda data: np.frombuffer(data[len(head):][:a.size], np.uint8).reshape(a.shape)
    colors = Image.fromarray(a).quantize(64)
    gif = saved(colors, 'GIF')
    yield 'GIF', 'gif', gif, 13 + 3 * 64, lambda data: opened(data, 'RGB')
    tga = saved(Image.fromarray(a), 'TGA')
    yield 'TGA', 'tga', tga, 18, opened
    tga = saved(colors.convert('RGB'), 'TGA', compression='tga_rle')
    yield 'TGA RLE', 'tga', tga, 18, opened
    yield 'QOI', 'qoi', imagecodecs.qoi_encode(a), 14, imagecodecs.qoi_decode
    avif = imagecodecs.avif_encode(a, level=90)
    yield 'AVIF', 'avif', avif, avif.index(b'mdat') + 4, imagecodecs.avif_decode
    jxl = imagecodecs.jpegxl_encode(a, lossless=True)
    yield 'JPEG XL lossless', 'jxl', jxl, 20, imagecodecs.jpegxl_decode
    jxl = imagecodecs.jpegxl_encode(a, level=90, lossless=False)
    yield 'JPEG XL lossy', 'jxl', jxl, 20, imagecodecs.jpegxl_decode
    for name, checksum in (('FITS', False), ('FITS, checksum', True)):
        out = io.BytesIO()
        fits.PrimaryHDU(a[..., 0].astype(np.uint16) * 257).writeto(out, checksum=checksum)
        yield name, 'fits', out.getvalue(), 0 if checksum else 2880, read_fits
    out = io.BytesIO()
    np.save(out, a)
    yield 'NPY', 'npy', out.getvalue(), 128, lambda data: np.load(io.BytesIO(data))
    png = saved(Image.fromarray(a), 'PNG')
    for name, extension, mode in (('tar', 'tar', 'w'), ('tar.gz', 'tar.gz', 'w:gz'), ('tar.xz', 'tar.xz', 'w:xz')):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode=mode) as archive:
            member = tarfile.TarInfo('image.png')
            member.size = len(png)
            archive.addfile(member, io.BytesIO(png))
        yield name, extension, out.getvalue(), 0, read_tar
    for name, method in (('zip', zipfile.ZIP_STORED), ('zip, deflate', zipfile.ZIP_DEFLATED)):
        out = io.BytesIO()
        with zipfile.ZipFile(out, 'w', method) as archive:
            archive.writestr(zipfile.ZipInfo('image.bmp'), saved(Image.fromarray(a), 'BMP'), method)
        yield name, 'zip', out.getvalue(), 0, read_zip
    text = b'P3\n%d %d\n255\n' % (WIDTH, HEIGHT)
    body = b'\n'.join(b' '.join(b'%d' % v for v in row) for row in a.reshape(HEIGHT, -1).tolist()) + b'\n'
    yield 'PPM, text', 'ppm', text + body, len(text), lambda data: np.array(data[len(text):].split()[:a.size], dtype=np.uint8).reshape(a.shape)


def payload(tiff):
    """The length of the strips or tiles, which are the end of the file."""
    page = tifffile.TiffFile(io.BytesIO(tiff)).pages[0]
    return len(tiff) - min(page.dataoffsets)


def damages(data, start, seed):
    """COUNT damaged forms of the file, none of which touches what is before `start`."""
    g = np.random.default_rng(seed)
    for i in range(COUNT):
        at = int(g.integers(start, len(data) - 2))
        changed = bytearray(data)
        if i % 4 == 0:
            del changed[at:]
        elif i % 4 == 1:
            del changed[at:at + int(g.integers(1, 500))]
        elif i % 4 == 2:
            for _ in range(int(g.integers(1, 4))):
                changed[int(g.integers(start, len(data)))] ^= 1 << int(g.integers(8))
        else:
            changed[at:at + 64] = bytes(len(changed[at:at + 64]))
        yield bytes(changed)


@contextlib.contextmanager
def silence():
    """Codecs' own remarks, which go to the process's streams."""
    sys.stdout.flush()
    kept = [os.dup(1), os.dup(2)]
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1), os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept[0], 1), os.dup2(kept[1], 2)
        for descriptor in (*kept, nowhere):
            os.close(descriptor)


def changes(decode, data, right):
    try:
        return not np.array_equal(decode(data), right)
    except Exception:
        return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('program', type=os.path.abspath)
    parser.add_argument('--keep', metavar='DIR', help='leave the files there')
    arguments = parser.parse_args()
    logging.disable(logging.CRITICAL)  # tifffile's remarks on what is damaged

    with tempfile.TemporaryDirectory() as scratch:
        folder = os.path.abspath(arguments.keep or os.path.join(scratch, 'files'))
        os.makedirs(folder, exist_ok=True)
        with silence():
            changed, whole = make(folder)
        refused, measured, faults = run(arguments.program, folder, os.path.join(scratch, 'out'))

    for file in whole:
        if file not in measured:
            faults.append(f'{file}: not measured, though it is not damaged: {refused.get(file)}')
    print('| format | damages that change pixels | refused | passed |\n|---|---|---|---|')
    for name, files in changed.items():
        count = sum(file in refused for file in files)
        print(f'| {name} | {len(files)} | {count} | {len(files) - count} |')
        if count < FLOORS[name] * len(files):
            passed = [file for file in files if file not in refused]
            faults.append(f'{name}: {count} of {len(files)} are refused, not {FLOORS[name]:.0%}: {" ".join(passed[:5])} pass')
        if any((file in refused) == (file in measured) for file in files):
            faults.append(f'{name}: some files are neither measured nor refused, or both')
    print(''.join(f'\n{fault}' for fault in faults))
    sys.exit(bool(faults))


def make(folder):
    """{subject: names of the files whose pixels changed}, and the names of files that are not damaged."""
    changed, whole = {}, []
    for name, extension, data, start, decode in subjects():
        right = decode(data)
        prefix = name.lower().replace(' ', '_').replace(',', '')
        whole.append(f'{prefix}_whole.{extension}')
        write(folder, whole[-1], data)
        changed[name] = []
        for i, damaged in enumerate(damages(data, start, zlib.crc32(name.encode()))):
            if changes(decode, damaged, right):
                changed[name].append(f'{prefix}_{i:03}.{extension}')
                write(folder, changed[name][-1], damaged)
    return changed, whole


def write(folder, name, data):
    with open(os.path.join(folder, name), 'wb') as file:
        file.write(data)


def run(program, folder, out):
    """Names that are refused (and why) and measured, and what else went wrong."""
    archives = sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(ARCHIVES))  # a walk takes none
    result = subprocess.run([program, '-q', '--engine', 'cpu', '--write', 'stats', '-o', out, folder, *archives], capture_output=True)
    lines = result.stderr.decode(errors='replace').splitlines()
    faults = [f'exit code {result.returncode}'] if result.returncode != 1 else []
    noise = [line for line in lines if not line.startswith('gpuhist')]
    if noise:
        faults.append(f'{len(noise)} lines on standard error are not gpuhist\'s, such as: {noise[0]}')

    def file_of(path):  # that of an image in an archive is the archive
        return os.path.relpath(path, folder).split(os.sep)[0] if os.path.isabs(path) else path.split(os.sep)[0]

    with open(os.path.join(out, 'errors.csv'), newline='', errors='replace') as file:
        refused = {file_of(row['path']): f'{row["kind"]}: {row["message"]}' for row in csv.DictReader(file)}
    with open(os.path.join(out, 'stats.csv'), newline='', errors='replace') as file:
        measured = {file_of(row['path']) for row in csv.DictReader(file)}
    measured -= {file for file in refused if file.endswith(ARCHIVES)}  # an error may be about what lies behind the image
    return refused, measured, faults


if __name__ == '__main__':
    main()
