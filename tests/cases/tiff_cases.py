"""TIFF: kinds of samples, layouts and compressions by a writer of our own; tifffile, Pillow and OpenCV where they know more."""
import io
import itertools
import struct
import zlib

import cv2
import imagecodecs
import numpy as np
import tifffile
from PIL import Image

import kit
import tiff_writer as t
from kit import bands, color, color_bands, damaged, expanded, gray, gray_alpha, picture, refused, unsupported
from tiff_writer import tiff

HEIGHT, WIDTH = 21, 37  # edges of tiles and strips, and rows that fill no byte
UNSPECIFIED, ASSOCIATED, UNASSOCIATED = 0, 1, 2


def samples(channels, bits=8, kind='u', seed=1):
    return picture(HEIGHT, WIDTH, channels, bits, kind, seed)


def shades(a, bits):
    """The truth of gray of few or many bits."""
    return gray(expanded(a, bits)) if bits < 8 else gray(a, white=2**bits - 1 if a.dtype.kind == 'u' else 1.0)


def colormap(entries, kind):
    g = np.random.default_rng(entries)
    colors = g.integers(1, 256, (entries, 3)).astype(np.uint16)
    colors[0], colors[-1] = (0, 0, 0), (250, 10, 20)
    return {'high': colors << 8, 'both': colors * 257, 'low': colors, '16': g.integers(0, 65536, (entries, 3)).astype(np.uint16)}[kind]


def palette_case(bits, kind):
    """Indices, colormap, and the colors: u8 where the map says no more."""
    indices = picture(HEIGHT, WIDTH, 1, bits)
    table = colormap(2**bits, kind)
    meant = table if kind == '16' else (table if kind == 'low' else table >> 8).astype(np.uint8)
    return indices, table, color(meant[indices[..., 0]])


def cmyk_as_opencv(a):
    """OpenCV's formula for an inverted CMYK of a JPEG, of ink as a TIFF stores it."""
    bits = 8 * a.dtype.itemsize
    top = 2**bits - 1
    light = top - a.astype(np.int64)
    c, m, y, k = (light[..., i] for i in range(4))
    return np.stack([k - ((top - v) * k >> bits) for v in (c, m, y)], -1).astype(a.dtype)


def kinds():
    """(name, samples, truth, arguments of tiff()): what pixels are made of."""
    for bits in (1, 2, 4, 8, 10, 12, 14, 16):
        a = samples(1, bits)
        yield f'gray{bits}', a, shades(a, bits), {'bits': bits}
        yield f'white_is_zero{bits}', a, shades((2**bits - 1 - a).astype(a.dtype), bits), {'bits': bits, 'photometric': t.WHITE_IS_ZERO}
    for bits in (8, 10, 12, 16):
        a = samples(3, bits)
        yield f'rgb{bits}', a, color(a, white=2**bits - 1), {'bits': bits}
    yield 'gray_f32', samples(1, 32, 'f'), gray(samples(1, 32, 'f')), {}
    yield 'rgb_f32', samples(3, 32, 'f'), color(samples(3, 32, 'f')), {}
    for bits, kind in ((8, 'u'), (16, 'u'), (32, 'f')):
        name = f'_f{bits}' if kind == 'f' else str(bits)
        a = samples(4, bits, kind)
        yield f'rgb{name}_straight', a, color(a), {'extra': [UNASSOCIATED]}
        yield f'rgb{name}_premultiplied', a, color(a, alpha='premultiplied'), {'extra': [ASSOCIATED]}
        yield f'rgb{name}_unspecified', a, color_bands(a), {'extra': [UNSPECIFIED]}
        a = samples(2, bits, kind)
        yield f'gray{name}_straight', a, gray_alpha(a), {'extra': [UNASSOCIATED]}
        yield f'gray{name}_premultiplied', a, gray_alpha(a, 'premultiplied'), {'extra': [ASSOCIATED]}
        for channels in (2, 3, 4):
            a = samples(channels, bits, kind, seed=7)
            yield f'bands{channels}{name}', a, bands(a), {'photometric': t.BLACK_IS_ZERO, 'extra': [UNSPECIFIED] * (channels - 1)}
    for bits, kind in itertools.product((1, 2, 4, 8), ('high', 'both', 'low', '16')):
        indices, table, truth = palette_case(bits, kind)
        yield f'palette{bits}_map_{kind}', indices, truth, {'photometric': t.PALETTE, 'colormap': table, 'bits': bits}
    for bits in (8, 16):
        a = samples(4, bits)
        yield f'cmyk{bits}', a, color(cmyk_as_opencv(a)), {'photometric': t.CMYK}


LAYOUTS = {
    'one': {}, 'strips1': {'strip': 1}, 'strips5': {'strip': 5}, 'strips8': {'strip': 8}, 'tiles16': {'tile': (16, 16)}, 'tiles16x32': {'tile': (16, 32)},
    'tile64': {'tile': (64, 64)}
}
COMPRESSIONS = {'none': t.NONE, 'lzw': t.LZW, 'deflate': t.DEFLATE, 'deflate32946': t.OLD_DEFLATE, 'packbits': t.PACKBITS, 'zstd': t.ZSTD, 'lzma': t.LZMA}


def matrix(cases):
    """Every kind under every compression; layouts, planes, byte orders, sizes of offsets and predictors turn."""
    turn = 0
    for kind, a, truth, options in kinds():
        bits, channels = options.get('bits', a.dtype.itemsize * 8), a.shape[2]
        for compression, number in COMPRESSIONS.items():
            every = 3 if compression in ('none', 'lzw', 'deflate') else 1
            for _ in range(every):
                turn += 1
                layout = list(LAYOUTS)[turn % len(LAYOUTS)]
                planar = channels > 1 and turn % 2 == 0
                order, big = '<>'[turn // 2 % 2], turn // 3 % 3 == 0
                predictor = 1
                if compression not in ('none', 'packbits') and bits in (8, 16, 32) and options.get('photometric') != t.PALETTE:
                    predictor = turn % (4 if a.dtype.kind == 'f' else 3) or 1
                name = f'tiff_{kind}_{layout}_{compression}{"_planar" * planar}{"_big_endian" * (order == ">")}{"_bigtiff" * big}'
                name += {1: '', 2: '_horizontal', 3: '_float'}[predictor]
                data = tiff(a, **options, **LAYOUTS[layout], compression=number, planar=planar, order=order, big=big, predictor=predictor)
                cases.add(name + '.tif', data, truth)


def later(cases):
    """Types and numbers of channels that are to come."""
    turn = 0
    for bits, kind in ((8, 's'), (16, 's'), (32, 's'), (32, 'u'), (16, 'f'), (64, 'f')):
        for channels in (1, 3):
            a = samples(channels, bits, kind)
            turn += 1
            layout = ('one', 'strips5', 'tiles16')[turn % 3]
            planar = channels > 1 and turn % 4 == 0
            cases.add(f'tiff_{kind}{bits}_{channels}_{layout}.tif', tiff(a, **LAYOUTS[layout], planar=planar, compression=(t.NONE, t.DEFLATE)[turn % 2]), kit.of_samples(a))
    for bits, planar in ((8, False), (16, True)):
        a = samples(6, bits)
        extra = [UNSPECIFIED] * 5
        cases.add(f'tiff_bands6_u{bits}.tif', tiff(a, t.BLACK_IS_ZERO, extra=extra, planar=planar), bands(a))
        cases.add(f'tiff_rgb_and_3_u{bits}.tif', tiff(a, t.RGB, extra=extra[2:], planar=planar), color_bands(a))
    a = samples(5)
    truth = kit.named(a, ['red', 'green', 'blue', 'band:alpha', 'extra1'])
    truth['rows']['all'] = kit.row(a)  # alpha beside bands is one of them
    cases.add('tiff_rgb_alpha_and_1.tif', tiff(a, extra=[UNASSOCIATED, UNSPECIFIED]), truth, later=None)
    truth = kit.named(a, ['c0', 'c1', 'c2', 'c3', 'band:alpha'])
    truth['rows']['all'] = kit.row(a)
    cases.add('tiff_bands_and_alpha.tif', tiff(a, t.BLACK_IS_ZERO, extra=[UNSPECIFIED] * 3 + [UNASSOCIATED]), truth, later=None)


def photometrics(cases):
    for number, name in ((t.CIELAB, 'cielab'), (t.ICCLAB, 'icclab'), (t.ITULAB, 'itulab')):
        for bits in (8, 16):
            cases.add(f'tiff_{name}{bits}.tif', tiff(samples(3, bits), number), unsupported('lab'))
    cases.add('tiff_photometric_60000.tif', tiff(samples(1), 60000), unsupported())
    cases.add('tiff_cfa.tif', tiff(samples(1, 16), t.CFA, tags=[(33421, 'H', (2, 2)), (33422, 'B', (0, 1, 1, 2))]), gray(samples(1, 16)), may_refuse=True)
    cases.add('tiff_cmyk32.tif', tiff(samples(4, 32), t.CMYK), unsupported('cmyk'))
    turn = 0
    for kind, (compression, number), channels in itertools.product('us', COMPRESSIONS.items(), (1, 3)):
        a = samples(channels, 32, kind)
        wide = a.astype(np.int64 if kind == 's' else np.uint64)
        turn += 1
        predictor = 1 if compression in ('none', 'packbits') else turn % 2 + 1
        options = {**LAYOUTS[list(LAYOUTS)[turn % len(LAYOUTS)]], 'compression': number, 'planar': channels > 1 and turn % 3 == 0, 'order': '<>'[turn // 2 % 2], 'predictor': predictor}
        cases.add(f'tiff_{kind}64_{channels}_{compression}.tif', tiff(wide, **options), kit.of_samples(a))
        wide[7, 9, 0] = -2**40 if kind == 's' else 2**63 + 5
        cases.add(f'tiff_{kind}64_{channels}_{compression}_large.tif', tiff(wide, **options), unsupported(f'row 7 has {wide[7, 9, 0]}'))
    cases.add('tiff_white_is_zero_u64.tif', tiff(samples(1, 32).astype(np.uint64), t.WHITE_IS_ZERO), unsupported('white'))
    a = samples(1, 32, 'f')
    cases.add('tiff_white_is_zero_f32.tif', tiff(a, t.WHITE_IS_ZERO), gray(np.float32(1) - a), may_refuse=True)
    for bits in (2, 4):
        a = samples(3, bits)
        cases.add(f'tiff_rgb{bits}.tif', tiff(a, bits=bits), color(expanded(a, bits)), may_refuse=True)
    for bits in (3, 5, 6, 7):
        a = samples(1, bits)
        cases.add(f'tiff_gray{bits}.tif', tiff(a, bits=bits), gray(expanded(a, bits)), may_refuse=True)
    for bits in (9, 11, 13, 15):
        a = samples(1, bits)
        cases.add(f'tiff_gray{bits}.tif', tiff(a, bits=bits), gray(a, white=2**bits - 1), may_refuse=True)
    a = samples(1, 16)
    cases.add('tiff_palette16.tif', tiff(a, t.PALETTE, colormap=colormap(65536, 'both')), color((colormap(65536, 'both') >> 8).astype(np.uint8)[a[..., 0]]), may_refuse=True)
    a = samples(2)
    cases.add('tiff_white_is_zero_alpha.tif', tiff(a, t.WHITE_IS_ZERO, extra=[UNASSOCIATED]), gray_alpha(np.dstack([255 - a[..., 0], a[..., 1]])))
    indices, table, _ = palette_case(8, 'high')
    alpha = samples(1, seed=5)
    truth = color(np.dstack([(table >> 8).astype(np.uint8)[indices[..., 0]], alpha]))
    cases.add('tiff_palette8_alpha.tif', tiff(np.dstack([indices, alpha]), t.PALETTE, colormap=table, extra=[UNASSOCIATED]), truth, may_refuse=True)
    a = samples(4)
    cases.add('tiff_rgb_4_not_said.tif', tiff(a), color_bands(a), may_refuse=True)
    a = samples(2)
    cases.add('tiff_gray_2_not_said.tif', tiff(a), bands(a), may_refuse=True)
    for bits in (8, 16):
        a = samples(3, bits)
        cases.add(f'tiff_void{bits}.tif', tiff(a, form=4), color(a))
        cases.add(f'tiff_void{bits}_planar_gray.tif', tiff(a[..., :1], form=4, strip=4), gray(a[..., :1]))
    ycbcr(cases)
    for name, a in (('smooth', samples(3, 32, 'f') + np.float32(0.01)), ('bright', samples(3, 32, 'f') * 300 + 1)):
        ok, data = cv2.imencode('.tif', a, [cv2.IMWRITE_TIFF_COMPRESSION, 34676])
        assert ok
        cases.add(f'tiff_logluv_{name}.tif', data.tobytes(), as_opencv(data.tobytes()))


def as_opencv(data):
    a = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    assert a is not None
    return gray(a) if a.ndim == 2 else color(a[..., [2, 1, 0] + [3] * (a.shape[2] == 4)])


def rgb_of_ycbcr(a, coefficients=(0.299, 0.587, 0.114), reference=(0, 255, 128, 255, 128, 255)):
    """As libtiff converts, in whole numbers of 2^-16; OpenCV takes that."""
    red, green, blue = (np.float32(v) for v in coefficients)
    fixed = lambda v: int(np.clip(v, 0, 2) * 65536 + 0.5)
    scaled = lambda code, black, white, top: ((code - np.float32(black)) * np.float32(top) / np.float32(white - black)).astype(np.int32)
    code = np.arange(256, dtype=np.float32)
    y = scaled(code, *reference[:2], 255)[a[..., 0]]
    cb, cr = (scaled(code, *reference[i:i + 2], 127)[a[..., i // 2]].astype(np.int64) for i in (2, 4))
    of_cr, of_cb = 2 - 2 * red, 2 - 2 * blue
    r = y + ((fixed(of_cr) * cr + 32768) >> 16)
    g = y + ((-fixed(red * of_cr / green) * cr - fixed(blue * of_cb / green) * cb + 32768) >> 16)
    b = y + ((fixed(of_cb) * cb + 32768) >> 16)
    return np.clip(np.stack([r, g, b], -1), 0, 255).astype(np.uint8)


def ycbcr(cases):
    """Chroma that is subsampled, not compressed: a block is its luma samples, then Cb and Cr."""

    def blocks(piece, across, down):
        """The piece as what the file holds of it: the chroma of a block is that of its mean."""
        full = np.pad(piece, ((0, -piece.shape[0] % down), (0, -piece.shape[1] % across), (0, 0)), 'edge')
        height, width, _ = full.shape
        full = full.reshape(height // down, down, width // across, across, 3).copy()
        full[..., 1:] = full[..., 1:].mean((1, 3), keepdims=True).astype(np.uint8)
        return full

    def data_units(full):
        luma = full[..., 0].transpose(0, 2, 1, 3).reshape(full.shape[0], full.shape[2], -1)
        return np.concatenate([luma, full[:, 0, :, 0, 1:]], -1).tobytes()

    def pixels(full):
        return full.reshape(full.shape[0] * full.shape[1], -1, 3)

    a = cv2.cvtColor(picture(24, 40, 3), cv2.COLOR_RGB2YCrCb)[..., [0, 2, 1]]
    turn = 0
    for across, down in ((1, 1), (2, 1), (2, 2), (4, 1), (4, 2), (4, 4)):
        for layout in ({}, {'strip': 8}, {'tile': (16, 16)}):
            turn += 1
            tags, known = [(530, 'H', (across, down)), (531, 'H', (1,))], {}
            if turn % 2:
                known['reference'] = (16, 235, 128, 240, 128, 240) if turn % 4 == 1 else (0, 255, 128, 255, 128, 255)
                tags.append((532, 'R', [(v, 1) for v in known['reference']]))
            if turn % 3 == 0:
                known['coefficients'] = (0.2126, 0.7152, 0.0722)
                tags.append((529, 'R', ((2126, 10000), (7152, 10000), (722, 10000))))
            held = [blocks(piece, across, down) for piece in t.split(a, **layout)]
            pieces = [data_units(piece) for piece in held]
            compression = t.NONE if turn % 2 else t.DEFLATE
            if compression != t.NONE:
                pieces = [zlib.compress(piece) for piece in pieces]
            data = tiff(a, t.YCBCR, tags=tags, pieces=pieces, compression=compression, **layout)
            rgb = rgb_of_ycbcr(t.joined([pixels(piece)[:layout.get('strip')] for piece in held], 24, 40, **layout), **known)
            wrong_in_libtiff = (across, down) == (4, 4) and 'tile' in layout  # of 4.7 still: at the right edge
            assert opencv_agrees(data, rgb) or wrong_in_libtiff
            name = 'tiles' if 'tile' in layout else 'strips' if layout else 'one'
            cases.add(f'tiff_ycbcr_{across}{down}_{name}_{"none" if turn % 2 else "deflate"}.tif', data, color(rgb), may_refuse=wrong_in_libtiff or None)


def opencv_agrees(data, rgb):
    """Or does not read it."""
    bgr = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    return bgr is None or np.array_equal(bgr[..., ::-1], rgb)


def compressions(cases):
    a = picture(45, 70, 3)

    def decoded(piece, colorspace):
        out = imagecodecs.jpeg8_decode(piece, colorspace=colorspace, outcolorspace='RGB' if colorspace else None)
        return out

    for layout_name, layout in (('one', {}), ('strips16', {'strip': 16}), ('tiles32', {'tile': (32, 32)})):
        for sampling in ((1, 1), (2, 1), (2, 2)):
            pieces = [imagecodecs.jpeg8_encode(piece, level=90, colorspace='RGB', outcolorspace='YCBCR', subsampling=sampling) for piece in t.split(a, **layout)]
            truth = color(t.joined([decoded(piece, 'YCBCR') for piece in pieces], 45, 70, **layout))
            data = tiff(a, t.YCBCR, pieces=pieces, compression=t.JPEG, tags=[(530, 'H', sampling)], **layout)
            cases.add(f'tiff_jpeg_ycbcr_{sampling[0]}{sampling[1]}_{layout_name}.tif', data, truth)
        pieces = [imagecodecs.jpeg8_encode(piece, level=90, colorspace='RGB', outcolorspace='RGB') for piece in t.split(a, **layout)]
        truth = color(t.joined([decoded(piece, 'RGB') for piece in pieces], 45, 70, **layout))
        cases.add(f'tiff_jpeg_rgb_{layout_name}.tif', tiff(a, t.RGB, pieces=pieces, compression=t.JPEG, **layout), truth)
        one = a[..., :1]
        pieces = [imagecodecs.jpeg8_encode(piece.squeeze(-1).copy(), level=90) for piece in t.split(one, **layout)]
        truth = gray(t.joined([imagecodecs.jpeg8_decode(piece) for piece in pieces], 45, 70, **layout))
        cases.add(f'tiff_jpeg_gray_{layout_name}.tif', tiff(one, pieces=pieces, compression=t.JPEG, **layout), truth)
        for channels in (3, 4):
            b = picture(45, 70, channels, seed=3)
            extra = {'extra': [UNASSOCIATED]} if channels == 4 else {}
            encode = lambda piece: imagecodecs.webp_encode(np.ascontiguousarray(piece), lossless=True)
            cases.add(f'tiff_webp_{"rgba" if channels == 4 else "rgb"}_{layout_name}.tif', tiff(b, compression=t.WEBP, encode=encode, **extra, **layout), color(b))

    inks = picture(45, 70, 4)
    jpeg = imagecodecs.jpeg8_encode(inks, level=90, colorspace='CMYK', outcolorspace='CMYK')
    held = imagecodecs.jpeg8_decode(jpeg, colorspace='CMYK', outcolorspace='CMYK')
    cases.add('tiff_jpeg_cmyk.tif', tiff(inks, t.CMYK, compression=t.JPEG, pieces=[jpeg]), color(cmyk_as_opencv(held)), may_refuse=True)
    cases.add('tiff_jpeg_old.tif', tiff(a, t.YCBCR, compression=t.OLD_JPEG, pieces=[imagecodecs.jpeg8_encode(a, level=90)]), refused('unsupported', 'damaged'))

    def by_pillow(image, **options):
        out = io.BytesIO()
        image.save(out, 'TIFF', **options)
        return out.getvalue()

    for quality in (75, 95):  # tables are in a tag of their own, as libtiff writes
        data = by_pillow(Image.fromarray(a), compression='jpeg', quality=quality)
        cases.add(f'tiff_jpeg_tables_quality{quality}.tif', data, color(tifffile.imread(io.BytesIO(data))))
    mask = a[..., 1] > 128
    for name in ('group3', 'group4', 'tiff_ccitt', 'packbits', 'tiff_lzw'):
        data = by_pillow(Image.fromarray(mask), compression=name)
        cases.add(f'tiff_bilevel_{name}.tif', data, gray(np.where(mask, 255, 0).astype(np.uint8)))
        at = tifffile.TiffFile(io.BytesIO(data)).pages[0].tags['PhotometricInterpretation'].valueoffset
        other = bytearray(data)
        other[at] ^= 1
        cases.add(f'tiff_bilevel_{name}_inverted.tif', bytes(other), gray(np.where(mask, 0, 255).astype(np.uint8)))

    turn = 0
    for (bits, kind), channels in itertools.product(((8, 'u'), (8, 's'), (16, 'u'), (16, 's'), (32, 'u'), (32, 's'), (32, 'f'), (64, 'f')), (1, 3)):
        b = picture(45, 70, channels, bits, kind)
        turn += 1
        planar = channels == 3 and turn % 4 == 0
        layout = {'tile': (16, 32)} if turn % 3 == 0 else {'rowsperstrip': 20}
        out = io.BytesIO()
        tifffile.imwrite(out, np.moveaxis(b, 2, 0) if planar else b.squeeze(), compression='lerc', compressionargs={'compression': (None, 'zstd', 'deflate')[turn % 3]}, metadata=None,
                         photometric='rgb' if channels == 3 else 'minisblack', planarconfig=('separate' if planar else 'contig') if channels == 3 else None, byteorder='<', **layout)
        cases.add(f'tiff_lerc_{kind}{bits}_{channels}.tif', out.getvalue(), kit.of_samples(b))
    whole = out.getvalue()
    cases.add('tiff_lerc_bad_cut.tif', whole[:len(whole) * 2 // 3], damaged())
    cases.add('tiff_lerc_u64.tif', tiff(samples(1, 32).astype(np.uint64), compression=t.LERC, encode=lambda p: bytes(100)), unsupported('lerc'))
    cases.add('tiff_jpeg2000.tif', tiff(a, compression=t.JPEG2000, encode=lambda p: imagecodecs.jpeg2k_encode(p, level=0, reversible=True, codecformat='j2k')), color(a), may_refuse=True)
    cases.add('tiff_jpegxl.tif', tiff(a, compression=t.JPEG_XL, encode=lambda p: imagecodecs.jpegxl_encode(p, lossless=True)), color(a), may_refuse=True)
    # More bits than 8 in a JPEG; numbers of compressions that nobody gave away.
    big = picture(45, 70, 1, 12)
    pieces = [imagecodecs.jpeg8_encode(big[..., 0].copy(), level=90, bitspersample=12)]
    cases.add('tiff_jpeg_12_bits.tif', tiff(big, bits=12, compression=t.JPEG, pieces=pieces), unsupported())
    for number in (50013, 9, 65535, 0):
        cases.add(f'tiff_compression_{number}.tif', tiff(a, compression=number, pieces=[zlib.compress(a.tobytes())]), unsupported(str(number)))


def structure(cases):
    """Pages, tags and orders that make no difference."""
    a = samples(3)
    truth = color(a)
    for orientation in range(1, 9):
        for name, b in (('u8', a), ('u16', samples(1, 16))):
            size = (HEIGHT, WIDTH) if orientation <= 4 else (WIDTH, HEIGHT)
            compression, layout = (t.NONE, {}) if orientation % 2 else (t.LZW, {'tile': (16, 16)})
            data = tiff(b, tags=[(274, 'H', (orientation,))], compression=compression, **layout)
            cases.add(f'tiff_orientation{orientation}_{name}.tif', data, kit.of_samples(b), height=size[0], width=size[1])
    cases.add('tiff_pages3.tif', tiff(a, pages=3, strip=4), truth)
    cases.add('tiff_pages2_big_endian_bigtiff.tif', tiff(a, pages=2, order='>', big=True, compression=t.DEFLATE), truth)
    out = io.BytesIO()
    with tifffile.TiffWriter(out) as writer:
        writer.write(a, photometric='rgb', metadata=None)
        writer.write(samples(1, 16)[..., 0], photometric='minisblack', metadata=None, subfiletype=1)
    cases.add('tiff_pages_of_other_types.tif', out.getvalue(), truth)

    for name, b, options in (('u16_stack', picture(HEIGHT, WIDTH, 3, 16).transpose(2, 0, 1), {}), ('u8_rgb', a, {'photometric': 'rgb'}), ('f32', samples(1, 32, 'f')[..., 0], {})):
        first = b if b.shape[-1] == 3 else b.reshape(-1, HEIGHT, WIDTH)[0][..., None]
        for form in ('imagej', 'ome'):
            out = io.BytesIO()
            tifffile.imwrite(out, b, **{form: True}, **options)
            cases.add(f'tiff_{form}_{name}.tif', out.getvalue(), kit.of_samples(first))

    geo = [(33550, 'd', (10., 10., 0.)), (33922, 'd', (0., 0., 0., 440720., 3751320., 0.)), (34735, 'H', (1, 1, 0, 3, 1024, 0, 1, 1, 1025, 0, 1, 1, 1026, 34737, 8, 0)),
           (34737, 's', (b'UTM 11N|\0',)), (42112, 's', (b'<GDALMetadata></GDALMetadata>\0',)), (42113, 's', (b'-9999\0',))]
    for name, b in (('u8', a), ('u16', samples(1, 16)), ('f32', samples(1, 32, 'f'))):
        cases.add(f'tiff_geotiff_{name}.tif', tiff(b, tags=geo, tile=(16, 16), compression=t.DEFLATE, predictor=2 if name != 'f32' else 3), kit.of_samples(b))
    odd = {
        'private': [(65000, 'B', range(9)), (65001, 's', (b'private',)), (65002, 'd', (1e300,))],
        'text_without_end': [(305, 's', (b'Software without an end',)), (270, 's', (b'caf\xe9 \xff\xfe',))],
        'empty_text': [(305, 's', (b'',)), (315, 's', (b'\0',))],
        'icc_garbage': [(34675, 'U', (b'no profile at all' * 4,))],
        'xmp_garbage': [(700, 'B', tuple(b'<x:xmpmeta' * 5))],
        'exif_out_of_file': [(34665, 'I', (0x7FFFFF00,)), (34853, 'I', (0x7FFFFF00,))],
        'resolution_zero': [(282, 'R', ((72, 0),)), (283, 'R', ((0, 0),)), (296, 'H', (9,))],
        'range_of_samples': [(280, 'H', (3, 3, 3)), (281, 'H', (99, 99, 99))],
        'new_subfile_type': [(254, 'I', (0,)), (255, 'H', (1,))],
        'date_of_no_form': [(306, 's', (b'yesterday\0',))],
        'colormap_unused': [(320, 'H', (1, ) * 768)],
        'rows_per_strip_all': [(278, 'I', (2**32 - 1,))],
    }
    for name, tags in odd.items():
        cases.add(f'tiff_tags_{name}.tif', tiff(a, tags=tags, compression=t.LZW), truth)
    for tag, name in ((259, 'compression'), (284, 'planar_configuration'), (278, 'rows_per_strip'), (277, 'samples_per_pixel'), (279, 'strip_byte_counts')):
        b = samples(1) if tag == 277 else a
        cases.add(f'tiff_without_{name}.tif', tiff(b, without=[tag]), kit.of_samples(b))
    cases.add('tiff_without_bits_per_sample.tif', tiff(samples(1, 1), bits=1, without=[258]), shades(samples(1, 1), 1))
    cases.add('tiff_without_strip_byte_counts_strips.tif', tiff(a, strip=8, without=[279]), truth, may_refuse=True)
    cases.add('tiff_without_strip_byte_counts_lzw.tif', tiff(a, compression=t.LZW, without=[279]), truth, may_refuse=True)
    cases.add('tiff_without_photometric.tif', tiff(samples(1), without=[262]), gray(samples(1)), may_refuse=True)
    data = bytearray(tiff(a))
    count = struct.unpack_from('<H', data, 8)[0]
    entries = [bytes(data[10 + 12 * i:22 + 12 * i]) for i in range(count)]
    data[10:10 + 12 * count] = b''.join(reversed(entries))
    cases.add('tiff_tags_in_no_order.tif', bytes(data), truth)
    cases.add('tiff_tags_short_offsets.tif', tiff(a, strip=7, offsets_type='H'), truth)
    cases.add('tiff_tags_short_offsets_tiles.tif', tiff(a, tile=(16, 16), offsets_type='H', order='>', compression=t.DEFLATE), truth)
    cases.add('tiff_tags_long_offsets_bigtiff.tif', tiff(a, strip=7, offsets_type='I', big=True), truth)
    cases.add('tiff_trailing_data.tif', tiff(a, compression=t.DEFLATE) + b'more' * 99, truth)
    cases.add('tiff_byte_counts_too_large_none.tif', tiff(a, tags=[(279, 'I', (a.size + 900,))]) + bytes(900), truth)
    for bits in (1, 8, 16):
        b = samples(1, bits)
        cases.add(f'tiff_fill_order2_u{bits}.tif', tiff(b, bits=bits, reverse_bits=True), shades(b, bits))
        cases.add(f'tiff_fill_order2_u{bits}_lzw.tif', tiff(b, bits=bits, reverse_bits=True, compression=t.LZW), shades(b, bits))
    for columns, rows in ((17, 5), (37, 3), (8, 8)):
        cases.add(f'tiff_tiles_{columns}x{rows}.tif', tiff(a, tile=(rows, columns)), truth, may_refuse=True)
    for size in ((1, 1), (1, 300), (300, 1), (2, 3)):
        for compression in ('none', 'deflate', 'lzw', 'packbits'):
            b = picture(*size, 3)
            cases.add(f'tiff_size_{size[1]}x{size[0]}_{compression}.tif', tiff(b, compression=COMPRESSIONS[compression]), color(b))
    b = picture(HEIGHT, WIDTH, 3, 32, 'f')
    b[3, 4], b[5, 6, 1], b[7, 8, 2] = np.nan, np.inf, -np.inf
    cases.add('tiff_f32_nan_and_infinity.tif', tiff(b, strip=4, planar=True), kit.not_finite(b))


def errors(cases):
    a = picture(64, 64, 3)
    refuse = cases.add
    strips = list(t.split(a, 16))
    encoders = {
        'deflate': (t.DEFLATE, lambda p: zlib.compress(p.tobytes())), 'zstd': (t.ZSTD, lambda p: t.zstd_with_checksum(p.tobytes())),
        'lzma': (t.LZMA, lambda p: t.compress(t.LZMA, p.reshape(len(p), -1), None)), 'packbits': (t.PACKBITS, lambda p: t.packbits(p.reshape(len(p), -1))),
        'lzw': (t.LZW, lambda p: imagecodecs.lzw_encode(p.tobytes())), 'none': (t.NONE, lambda p: p.tobytes()),
        'jpeg': (t.JPEG, lambda p: imagecodecs.jpeg8_encode(p, level=90, colorspace='RGB', outcolorspace='RGB')),
        'webp': (t.WEBP, lambda p: imagecodecs.webp_encode(p, lossless=True)),
    }
    for name, (number, encode) in encoders.items():
        for layout in ({'strip': 16}, {'tile': (16, 32)}):
            where = 'strip' if 'strip' in layout else 'tile'
            pieces = [encode(np.ascontiguousarray(piece)) for piece in t.split(a, **layout)]
            rows = list(t.split(a, **layout))

            def variant(what, piece, kind=damaged, at=1):
                changed = list(pieces)
                changed[at] = piece
                refuse(f'tiff_bad_{name}_{where}_{what}.tif', tiff(a, compression=number, pieces=changed, **layout), kind('TIFF|' + name))

            if name == 'zstd':
                cases.add(f'tiff_zstd_{where}_checksum.tif', tiff(a, compression=number, pieces=pieces, **layout), color(a))
            variant('of_fewer_rows', encode(np.ascontiguousarray(rows[1][:7])))
            variant('cut', pieces[1][:len(pieces[1]) * 6 // 10])
            if name not in ('none', 'jpeg', 'lzw', 'webp', 'packbits'):
                hole = bytearray(pieces[1])
                hole[len(hole) // 2:len(hole) // 2 + 64] = bytes(64)
                variant('zeroed', bytes(hole))
                variant('without_its_end', pieces[1][:-2])
            if name == 'deflate':
                variant('checksum', pieces[1][:-1] + bytes([pieces[1][-1] ^ 1]))
                variant('last_checksum', pieces[-1][:-1] + bytes([pieces[-1][-1] ^ 1]), at=len(pieces) - 1)
                variant('not_deflate', b'\x11' * 200)
            # Offset and count of zero: a tile that GDAL leaves out.
            data = bytearray(tiff(a, compression=number, pieces=pieces, **layout))
            tags = tifffile.TiffFile(io.BytesIO(data)).pages[0].tags
            for field in ((273, 279) if where == 'strip' else (324, 325)):
                size = 2 if tags[field].dtype == 3 else 4
                at = tags[field].valueoffset + size
                data[at:at + size] = bytes(size)
            left_out = a.copy()
            left_out[(slice(16, 32),) if where == 'strip' else (slice(16), slice(32, 64))] = 0
            if name != 'jpeg':
                cases.add(f'tiff_{name}_{where}_sparse.tif', bytes(data), color(left_out))
            whole = tiff(a, compression=number, pieces=pieces, **layout)
            refuse(f'tiff_bad_{name}_{where}_file_cut.tif', whole[:len(whole) * 7 // 10], refused('truncated', says='TIFF'))
    del strips

    # Headers that claim what the file cannot hold.
    small = zlib.compress(bytes(4096))
    any_kind = refused('truncated', 'damaged', 'unsupported', 'too_large')
    for number, name in ((t.NONE, 'none'), (t.DEFLATE, 'deflate'), (t.LZW, 'lzw'), (t.PACKBITS, 'packbits'), (t.JPEG, 'jpeg'), (t.ZSTD, 'zstd'), (t.LZMA, 'lzma'), (t.CCITT_4, 'ccitt4')):
        for size in ((32767, 32767), (20000, 30000), (2**31, 2**31)):
            tags = [(256, 'I', (size[0],)), (257, 'I', (size[1],)), (278, 'I', (size[1],))]
            one = picture(4, 4, 1)
            refuse(f'tiff_bad_claims_{size[0]}x{size[1]}_{name}.tif', tiff(one, pieces=[small[:40]], compression=number, tags=tags), any_kind)
    refuse('tiff_bad_claims_strips.tif', tiff(picture(4, 4, 1), tags=[(257, 'I', (2**30,)), (278, 'I', (1,))]), any_kind)
    for name, tags in {'width_0': [(256, 'I', (0,))], 'height_0': [(257, 'I', (0,))], 'samples_0': [(277, 'H', (0,))], 'bits_0': [(258, 'H', (0, 0, 0))],
                       'planar_3': [(284, 'H', (3,))], 'bits_8_8_16': [(258, 'H', (8, 8, 16))], 'bits_5_6_5': [(258, 'H', (5, 6, 5))],
                       'sample_format_9': [(339, 'H', (9, 9, 9))], 'predictor_7': [(317, 'H', (7,)), (259, 'H', (5,))]}.items():
        refuse(f'tiff_bad_{name}.tif', tiff(a, tags=tags, compression=t.LZW), any_kind)
    refuse('tiff_bad_without_strip_offsets.tif', tiff(a, without=[273]), any_kind)
    refuse('tiff_bad_without_width.tif', tiff(a, without=[256]), any_kind)
    refuse('tiff_bad_palette_without_map.tif', tiff(samples(1), t.PALETTE), any_kind)
    whole = tiff(a)
    for length in (4, 8, 9, 100):
        refuse(f'tiff_bad_cut_at_{length}.tif', whole[:length], refused('truncated', 'damaged', 'unsupported'))
    loop = bytearray(tiff(a, pages=2))
    count = struct.unpack_from('<H', loop, 8)[0]
    struct.pack_into('<I', loop, 10 + 12 * count, 8)
    cases.add('tiff_directories_in_a_loop.tif', bytes(loop), color(a), may_refuse=True)


def make(cases):
    matrix(cases)
    later(cases)
    photometrics(cases)
    compressions(cases)
    structure(cases)
    errors(cases)
