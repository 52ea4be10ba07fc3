"""Files of several pages: stacks with overviews, masks, thumbnails and SubIFDs, animated WebP and PNG, netpbm files in a row."""
import io
import struct
import zlib

import numpy as np
import tifffile
from PIL import Image

import kit
from kit import color, gray, picture, refused
from png_cases import chunk, image_data
from tiff_cases import samples
from tiff_writer import tiff

HEIGHT, WIDTH = 23, 37


def make(cases):
    stacks(cases)
    animated_png(cases)
    animated_webp(cases)
    netpbm(cases)


def add(cases, name, data, pages, first=None, **more):
    """A file whose pages have these truths; `first` is measured without --pages, if that is not page 1."""
    cases.add(name, data, first or pages[0], pages=pages, **more)


def written(pages, **options):
    """A TIFF of (array, options of tifffile's write) each."""
    out = io.BytesIO()
    with tifffile.TiffWriter(out, **options) as writer:
        for a, more in pages:
            writer.write(a, **{'photometric': 'rgb' if a.ndim == 3 else 'minisblack', 'metadata': None, **more})
    return out.getvalue()


def stacks(cases):
    g = np.random.default_rng(3)
    deep = [g.integers(0, 65536, (20 + i, 31), dtype=np.uint16) for i in range(6)]
    truths = [gray(a[..., None]) for a in deep]
    for name, options in (('little', {}), ('big', {'byteorder': '>'}), ('bigtiff', {'bigtiff': True}), ('bigtiff_big', {'bigtiff': True, 'byteorder': '>'})):
        for compression in (None, 'lzw', 'zlib', 'zstd'):
            data = written([(a, {'compression': compression}) for a in deep], **options)
            add(cases, f'tiff_stack_{name}_{compression}.tif', data, truths)
    rgb, floats = picture(HEIGHT, WIDTH, 3), picture(HEIGHT, WIDTH, 1, 32, 'f')[..., 0]
    overview = {'subfiletype': 1}
    mixed = [(rgb, {'compression': 'lzw', 'subifds': 2}), (rgb[::2, ::2], overview), (rgb[::4, ::4], overview), (deep[0], {'tile': (16, 16)}), (floats, {})]
    add(cases, 'tiff_stack_subifds_and_types.tif', written(mixed), [color(rgb), truths[0], gray(floats[..., None])])
    pyramids = []
    for a in deep[:3]:
        pyramids += [(a, {'subfiletype': 2}), (a[::2, ::2], {'subfiletype': 3}), (a >= 0, {'subfiletype': 4, 'photometric': 'mask'}), (a[::4, ::4], overview)]
    add(cases, 'tiff_stack_pyramids_and_masks.tif', written(pyramids, bigtiff=True), truths[:3])
    add(cases, 'tiff_stack_thumbnail_first.tif', written([(deep[1][:4, :4], overview), (deep[0], {}), (deep[2], {})]), [truths[0], truths[2]])
    add(cases, 'tiff_stack_imagej.tif', imagej(np.stack([a[:20] for a in deep])), [gray(a[:20, :, None]) for a in deep])
    old = tiff(samples(1), pages=3, tags=[(255, 'H', (3,))])
    add(cases, 'tiff_stack_old_subfile_type.tif', old, [gray(samples(1))] * 3)
    whole = written([(a, {'compression': 'zlib'}) for a in deep[:3]])
    with tifffile.TiffFile(io.BytesIO(whole)) as file:
        places = [page.dataoffsets[0] for page in file.pages]
    bad = bytearray(whole)
    bad[places[1] + 20] ^= 0xFF
    add(cases, 'tiff_stack_second_damaged.tif', bytes(bad), [truths[0], refused('damaged'), truths[2]])


def imagej(a):
    """What ImageJ writes: every page has a directory of its own."""
    out = io.BytesIO()
    tifffile.imwrite(out, a, imagej=True, metadata={'axes': 'ZYX'})
    return out.getvalue()


def composed(canvas, frame):
    """The canvas with a frame on it: exact, rounded once."""
    x, y, a, _, over = frame
    canvas = canvas.astype(object)
    area = canvas[y:y + a.shape[0], x:x + a.shape[1]]
    top = 65535 if a.dtype == np.uint16 else 255
    for row, from_row in zip(area, a.astype(object)):
        for i, new in enumerate(from_row):
            if not over:
                row[i] = new
            elif new[3]:
                above, below = new[3] * top, row[i][3] * (top - new[3])
                total = above + below
                row[i] = [(2 * (new[k] * above + row[i][k] * below) + total) // (2 * total) for k in range(3)] + [(2 * total + top) // (2 * top)]
    return canvas.astype(a.dtype)


def animated_png(cases):
    g = np.random.default_rng(5)
    for bits, kind in ((8, np.uint8), (16, np.uint16)):
        top = 2**bits - 1
        for hidden in (False, True):
            frames = []  # x, y, samples, disposal, over
            for i in range(8):
                first = i == 0 and not hidden
                width, height = (WIDTH, HEIGHT) if first else (int(g.integers(1, WIDTH)), int(g.integers(1, HEIGHT)))
                x, y = (0, 0) if first else (int(g.integers(0, WIDTH - width + 1)), int(g.integers(0, HEIGHT - height + 1)))
                a = g.integers(0, top + 1, (height, width, 4)).astype(kind)
                a[..., 3][g.random((height, width)) < 0.3] = 0
                a[..., 3][g.random((height, width)) < 0.3] = top
                frames.append((x, y, a, i % 3, i % 2))
            canvas = np.zeros((HEIGHT, WIDTH, 4), kind)
            truths = []
            for i, frame in enumerate(frames):
                x, y, a, disposal, _ = frame
                before, canvas = canvas, composed(canvas, frame)
                truths.append(color(canvas))
                area = np.s_[y:y + a.shape[0], x:x + a.shape[1]]
                if disposal == 1 or disposal == 2 and i == 0:
                    canvas = canvas.copy()
                    canvas[area] = 0
                if disposal == 2 and i:
                    canvas = before
            default = picture(HEIGHT, WIDTH, 4, bits)
            data = apng(frames, bits, default if hidden else None)
            add(cases, f'png_frames_{bits}{"_default_hidden" if hidden else ""}.png', data, truths, color(default) if hidden else None)
    grays = [picture(HEIGHT, WIDTH, 1, seed=seed) for seed in range(3)]
    out = io.BytesIO()
    images = [Image.fromarray(a[..., 0]) for a in grays]
    images[0].save(out, 'PNG', save_all=True, append_images=images[1:], duration=100)
    add(cases, 'png_frames_gray_of_pillow.png', out.getvalue(), [gray(a) for a in grays])


def apng(frames, bits, default):
    out = b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', WIDTH, HEIGHT, bits, 6, 0, 0, 0))
    out += chunk(b'acTL', struct.pack('>II', len(frames), 0))
    if default is not None:
        out += chunk(b'IDAT', zlib.compress(image_data(default, bits, False)))
    number = 0
    for i, (x, y, a, disposal, over) in enumerate(frames):
        out += chunk(b'fcTL', struct.pack('>IIIIIHHBB', number, a.shape[1], a.shape[0], x, y, 1, 10, disposal, over))
        number += 1
        data = zlib.compress(image_data(a, bits, False))
        if i == 0 and default is None:
            out += chunk(b'IDAT', data)
        else:
            for part in (data[:9], data[9:]):
                out += chunk(b'fdAT', struct.pack('>I', number) + part)
                number += 1
    return out + chunk(b'IEND')


def animated_webp(cases):
    for name, channels in (('rgb', 3), ('rgba', 4)):
        frames = []
        for i in range(5):
            a = picture(HEIGHT, WIDTH, channels, seed=1)
            a[i:i + 9, 2 * i:2 * i + 12] = picture(9, 12, channels, seed=i)
            if channels == 4:
                a[..., 3] = np.clip(a[..., 3], 1, 254)  # colors of what is transparent are not kept
            frames.append(a)
        images = [Image.fromarray(a) for a in frames]
        for more in ({}, {'allow_mixed': False, 'kmin': 3, 'kmax': 5}):
            out = io.BytesIO()
            images[0].save(out, 'WEBP', save_all=True, append_images=images[1:], lossless=True, exact=True, duration=50, **more)
            data = out.getvalue()
            if data[20] & 16 and channels == 3:  # the encoder left out of frames what does not change
                truths = [color(np.dstack([a, np.full_like(a[..., :1], 255)])) for a in frames]
            else:
                truths = [color(a) for a in frames]
            add(cases, f'webp_frames_{name}{"_key" if more else ""}.webp', data, truths)


def netpbm(cases):
    a, b = picture(5, 7, 1), picture(3, 2, 3, 16)
    data = b'P5 7 5 255\n' + a.tobytes() + b'P6\n2 3\n65535\n' + b.astype('>u2').tobytes()
    add(cases, 'netpbm_two_images.pnm', data, [gray(a), color(b)])
    add(cases, 'netpbm_one_image.pgm', b'P5 7 5 255\n' + a.tobytes(), [gray(a)])
    out = io.BytesIO()
    Image.fromarray(picture(8, 8, 3)).save(out, 'JPEG')
    add(cases, 'jpeg_one_page.jpg', out.getvalue(), [{**kit.color(np.asarray(Image.open(out)))}])
