"""What the cases share: pictures, rows of numbers that are right, and the folder that holds the files and their truth.

A truth is a dictionary, and truth.json holds one per file:
    rows        {channel: {pixels, min, max, mean}}, the exact rows of stats.csv, of the first page or frame
    width, height, depth, white, alpha   the columns, where the case says what they are
    error       kinds of error.csv of which one must come; says: a regular expression that the message must match
    pages       a truth of each page, as --pages all gives them; `rows` are those of the file without it
    may_refuse  kinds of error that are as right as the rows
    later       the rows, or an error of kind `unsupported` until the type or the number of channels is read
"""
import json
import math
import os

import numpy as np

WHITE = {'u8': 255, 'u16': 65535, 'u32': 2**32 - 1, 's8': 127, 's16': 32767, 's32': 2**31 - 1, 'f16': 1.0, 'f32': 1.0, 'f64': 1.0}
DEPTH = {'B': 'u8', 'H': 'u16', 'f': 'f32', 'b': 's8', 'h': 's16', 'I': 'u32', 'i': 's32', 'e': 'f16', 'd': 'f64'}


class Cases:
    """A folder of files, and truth.json when it is done."""

    def __init__(self, folder):
        self.folder, self.truth = folder, {}
        os.makedirs(folder, exist_ok=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def add(self, name, data, truth, **more):
        """Writes `data` (None: the file is there) and keeps its truth; `more` adds to it, and None takes away.
        may_refuse=True: it may be `unsupported`."""
        assert name not in self.truth, name
        if data is not None:
            with open(self.path(name), 'wb') as file:
                file.write(data)
        kept = {key: value for key, value in {**truth, **more}.items() if value is not None}
        if kept.get('may_refuse') is True:
            kept['may_refuse'] = ['unsupported']
        self.truth[name] = kept

    def done(self):
        with open(self.path('truth.json'), 'w') as file:
            json.dump(self.truth, file, indent=1, sort_keys=True)


# --- truths


def row(values):
    values = np.asarray(values).ravel()
    finite = values[np.isfinite(values)] if values.dtype.kind == 'f' else values
    total = math.fsum(finite.tolist()) if values.dtype.kind == 'f' else int(finite.astype(object).sum())
    return {'pixels': values.size, 'min': finite.min().item(), 'max': finite.max().item(), 'mean': total / finite.size}


def luma(a):
    """DEFINITIONS: a formula of integers, bit for bit; in float its roundings are not told here (`near`)."""
    red, green, blue = (a[..., i] for i in range(3))
    if a.dtype.kind in 'iu':
        return row((9798 * red.astype(np.int64) + 19235 * green.astype(np.int64) + 3735 * blue.astype(np.int64) + 16384) >> 15)
    if a.dtype.char in 'ed':  # f16: in float, rounded; f64: each step rounded
        one = np.float32 if a.dtype.char == 'e' else np.float64
        red, green, blue = (v.astype(one) for v in (red, green, blue))
        return row(((one('0.299') * red + one('0.587') * green) + one('0.114') * blue).astype(a.dtype))
    red, green, blue = (v.astype(np.float64) for v in (red, green, blue))
    return {**row(0.299 * red + 0.587 * green + 0.114 * blue), 'near': float(np.nanmax(np.abs(a)) * 1e-6)}


def named(a, names, white=None, alpha=None):
    """The truth of an image (height, width, channels) whose channels have these names."""
    a = np.asarray(a)
    a = a[..., None] if a.ndim == 2 else a
    height, width, channels = a.shape
    assert channels == len(names), (a.shape, names)
    rows = {name: row(a[..., i]) for i, name in enumerate(names)}
    pooled = [i for i, name in enumerate(names) if name != 'alpha']
    if len(pooled) > 1:
        rows['all'] = row(a[..., pooled])
    if list(names[:3]) == ['red', 'green', 'blue']:
        rows['luma'] = luma(a)
    depth = DEPTH[a.dtype.char]
    truth = {'rows': rows, 'width': width, 'height': height, 'depth': depth, 'white': WHITE.get(depth) if white is None else white}
    if 'alpha' in names:
        truth['alpha'] = alpha or 'straight'
    if 'alpha' in names and channels > 4:
        truth['later'] = True
    return truth


def gray(a, **more):
    return named(a, ['gray'], **more)


def gray_alpha(a, alpha='straight', **more):
    return named(a, ['gray', 'alpha'], alpha=alpha, **more)


def color(a, **more):
    return named(a, ['red', 'green', 'blue', 'alpha'][:a.shape[2]], **more)


def not_finite(a):
    """The truth of floats with NaN and infinities, which are counted as pixels alone."""
    names = ['gray'] if a.shape[2] == 1 else ['red', 'green', 'blue']
    truth = named(np.nan_to_num(a, nan=1, posinf=1, neginf=1), names)
    truth['rows'].update({name: row(a[..., i]) for i, name in enumerate(names)})
    if len(names) == 3:
        truth['rows']['all'] = row(a)
        with np.errstate(invalid='ignore'):
            truth['rows']['luma'] = {**luma(a), 'near': 1e-6}
    return truth


def bands(a, **more):
    """Channels that are no colors."""
    return named(a, [f'c{i}' for i in range(a.shape[2])], **more)


def color_bands(a, **more):
    """RGB, and further samples that are no alpha."""
    return named(a, ['red', 'green', 'blue'] + [f'extra{i}' for i in range(1, a.shape[2] - 2)], **more)


def of_samples(a, **more):
    return gray(a, **more) if a.shape[2] == 1 else color(a, **more)


def refused(*kinds, says=None):
    return {'error': list(kinds), **({'says': says} if says else {})}


def unsupported(says=None):
    return refused('unsupported', says=says)


def damaged(says=None):
    """Data that are wrong or end early: where one becomes the other depends on the place of the damage."""
    return refused('damaged', 'truncated', says=says)


# --- pictures


def picture(height, width, channels, bits=8, kind='u', seed=1):
    """Smooth with noise, like a photograph, over the whole range of integers of `bits`, and 0 … 1.2 of floats ('f')."""
    g = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width] / max(height, width)
    layers = [0.5 + 0.5 * np.sin(5 * x * (i + 1) + 3 * y + i) * np.cos(4 * y - i) + g.normal(0, 0.02, (height, width)) for i in range(channels)]
    a = np.clip(np.stack(layers, -1), 0, 1)
    if kind == 'f':
        return (a * 1.2).astype({16: np.float16, 32: np.float32, 64: np.float64}[bits])
    a.reshape(-1, channels)[g.integers(0, height * width, 4)] = [[0], [1], [0], [1]]
    top = 2**bits - 1
    if kind == 's':
        return np.round(a * top - (top + 1) // 2).astype({8: np.int8, 16: np.int16, 32: np.int32}[bits])
    return np.round(a * top).astype(np.uint8 if bits <= 8 else np.uint16 if bits <= 16 else np.uint32)


def packed(values, bits):
    """Rows of unsigned samples of `bits`, most significant bit first, each row filled up to whole bytes."""
    values = np.asarray(values, np.uint32)
    rows = values.reshape(values.shape[0], -1)
    flags = (rows[..., None] >> np.arange(bits - 1, -1, -1, dtype=np.uint32)) & 1
    return np.packbits(flags.reshape(rows.shape[0], -1).astype(np.uint8), axis=1)


def expanded(values, bits):
    """Samples under 8 bits as 0 … 255."""
    return np.round(np.asarray(values) * (255 / (2**bits - 1))).astype(np.uint8)
