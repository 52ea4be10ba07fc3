"""BMP by a writer of our own: headers, depths, bit fields, run lengths."""
import struct

import numpy as np

from kit import color, expanded, gray, packed, picture, refused

RGB, RLE8, RLE4, BITFIELDS = 0, 1, 2, 3
HEIGHT, WIDTH = 11, 13


def bmp(pixels, width, height, bits, *, header=40, compression=RGB, masks=(), palette=b'', colors=None, gap=0, planes=1):
    """pixels: the bytes of the image; masks: red, green, blue (alpha); palette: its bytes; colors: biClrUsed."""
    if header in (12, 16):
        info = struct.pack('<IHHHH', 12, width, height, planes, bits) if header == 12 else struct.pack('<IIIHH', 16, width, height, planes, bits)
    else:
        entry = 3 if header == 12 else 4
        count = len(palette) // entry if colors is None else colors
        info = struct.pack('<IiiHHIIiiII', header, width, height, planes, bits, compression, len(pixels), 2835, 2835, count, 0)
        if header >= 52 and header != 64:
            info += struct.pack('<4I', *(list(masks) + [0] * 4)[:4])[:header - 40]
            info = info.ljust(header, b'\0')
        elif header == 64:
            info = info.ljust(64, b'\0')
        elif masks:
            info += struct.pack(f'<{len(masks)}I', *masks)
    start = 14 + len(info) + len(palette) + gap
    return b'BM' + struct.pack('<IHHI', start + len(pixels), 0, 0, start) + info + palette + bytes(gap) + pixels


def rows(a, bits, top_down=False):
    """Bottom up, each filled to four bytes."""
    data = packed(a, bits) if bits < 8 else np.ascontiguousarray(a).reshape(a.shape[0], -1).view(np.uint8)
    data = np.pad(data, ((0, 0), (0, -data.shape[1] % 4)))
    return (data if top_down else data[::-1]).tobytes()


def palette_of(colors, entry=4):
    return b''.join(bytes(c[::-1]) + b'\0' * (entry - 3) for c in colors.tolist())


def colors_of(bits, kind):
    count = 2**bits
    ramp = np.linspace(0, 255, count).astype(np.uint8)
    if kind == 'ramp':
        return np.repeat(ramp[:, None], 3, 1)
    if kind == 'gray':
        return np.repeat(np.random.default_rng(bits).permutation(ramp)[:, None], 3, 1)
    return np.random.default_rng(bits).integers(0, 256, (count, 3), dtype=np.uint8)


def meant(a, table, kind):
    return gray(table[a[..., 0], 0]) if kind != 'color' else color(table[a[..., 0]])


def make(cases):
    indexed(cases)
    run_lengths(cases)
    direct(cases)
    errors(cases)


def indexed(cases):
    for bits in (1, 4, 8):
        for kind in ('ramp', 'gray', 'color'):
            table = colors_of(bits, kind)
            for width in (1, 5, 8, 13):
                a = picture(HEIGHT, width, 1, bits)
                cases.add(f'bmp_{kind}{bits}_width{width}.bmp', bmp(rows(a, bits), width, HEIGHT, bits, palette=palette_of(table)), meant(a, table, kind))
            a = picture(HEIGHT, WIDTH, 1, bits)
            cases.add(f'bmp_{kind}{bits}_top_down.bmp', bmp(rows(a, bits, True), WIDTH, -HEIGHT, bits, palette=palette_of(table)), meant(a, table, kind))
            cases.add(f'bmp_{kind}{bits}_gap.bmp', bmp(rows(a, bits), WIDTH, HEIGHT, bits, palette=palette_of(table), gap=10), meant(a, table, kind))
            cases.add(f'bmp_{kind}{bits}_colors_not_said.bmp', bmp(rows(a, bits), WIDTH, HEIGHT, bits, palette=palette_of(table), colors=0), meant(a, table, kind))
            for header in (108, 124):
                cases.add(f'bmp_{kind}{bits}_header{header}.bmp', bmp(rows(a, bits), WIDTH, HEIGHT, bits, header=header, palette=palette_of(table)), meant(a, table, kind))
            cases.add(f'bmp_os2_{kind}{bits}.bmp', bmp(rows(a, bits), WIDTH, HEIGHT, bits, header=12, palette=palette_of(table, 3)), meant(a, table, kind), may_refuse=True)
            cases.add(f'bmp_os2_header64_{kind}{bits}.bmp', bmp(rows(a, bits), WIDTH, HEIGHT, bits, header=64, palette=palette_of(table)), meant(a, table, kind), may_refuse=True)
            if bits > 1:
                few = a // 2
                table = colors_of(bits - 1, kind) if bits == 4 else colors_of(bits, kind)[:128]
                few = np.minimum(few, len(table) - 1)
                cases.add(f'bmp_{kind}{bits}_few_colors.bmp', bmp(rows(few, bits), WIDTH, HEIGHT, bits, palette=palette_of(table)), meant(few, table, kind))
    a = 1 - picture(HEIGHT, WIDTH, 1, 1)
    table = np.array([[255] * 3, [0] * 3], np.uint8)
    cases.add('bmp_white_first1.bmp', bmp(rows(a, 1), WIDTH, HEIGHT, 1, palette=palette_of(table)), gray(table[a[..., 0], 0]))


def encode(a, four, literal):
    """Rows of indices, bottom up, as runs, or as literals where these may be."""
    out = bytearray()
    for line in a[::-1].tolist():
        x = 0
        while x < len(line):
            rest = line[x:x + 200]
            if literal and len(rest) >= 3:
                rest = rest[:37]
                body = bytes(rest) if not four else bytes((v << 4) | w for v, w in zip(rest[::2], rest[1::2] + [0]))
                out += bytes([0, len(rest)]) + body + bytes(len(body) % 2)
                x += len(rest)
                continue
            period = 2 if four else 1
            run = period if len(rest) >= period else 1
            while run < len(rest) and rest[run] == rest[run - period] and run < 255:
                run += 1
            first, second = rest[0], rest[1] if four and run > 1 else 0
            out += bytes([run, (first << 4 | second) if four else first])
            x += run
        out += b'\0\0'
    return bytes(out[:-2]) + b'\0\1'


def run_lengths(cases):
    for bits, compression in ((8, RLE8), (4, RLE4)):
        four = bits == 4
        a = picture(23, 37, 1, bits)
        a[5:9] = 3
        for kind in ('ramp', 'color'):
            table = colors_of(bits, kind)

            def add(name, data, truth, **more):
                cases.add(f'bmp_rle{bits}_{kind}_{name}.bmp', bmp(data, 37, 23, bits, compression=compression, palette=palette_of(table)), truth, **more)

            truth = meant(a, table, kind)
            add('runs', encode(a[..., 0], four, False), truth)
            add('literals', encode(a[..., 0], four, True), truth)
            add('end_of_last_row', encode(a[..., 0], four, False)[:-2] + b'\0\0\0\1', truth)
            # A delta of (5, 2), and rows that end early: what is left out is index 0, as most read it.
            b = np.zeros_like(a)
            b[22, :4], b[20, 9:12], b[19, :1] = 1, 2, 1
            one, two = (0x11, 0x22) if four else (1, 2)
            add('delta', bytes([4, one, 0, 2, 5, 2, 3, two, 0, 0, 1, one, 0, 1]), meant(b, table, kind), may_refuse=True)
            add('short_rows', bytes([4, one, 0, 0, 0, 0, 0, 0, 1, one, 0, 1]), meant(np.where(np.arange(23)[:, None, None] == 22, (np.arange(37) < 4)[None, :, None], (np.arange(23)[:, None, None] == 19) & (np.arange(37) < 1)[None, :, None]).astype(np.uint8), table, kind), may_refuse=True)
            wrong = refused('damaged', 'unsupported', 'truncated')
            line = encode(a[:1, :, 0], four, False)[:-2]
            add('bad_run_over_the_width', bytes([200, one, 0, 0]) + encode(a[:-1, :, 0], four, False), wrong)
            add('bad_literal_over_the_width', bytes([0, 60]) + bytes([one] * (30 if four else 60)) + b'\0\0' + encode(a[:-1, :, 0], four, False), wrong)
            add('bad_delta_over_the_width', bytes([0, 2, 200, 0, 9, one, 0, 0]) + encode(a[:-1, :, 0], four, False), wrong)
            add('bad_rows_over_the_height', encode(np.vstack([a, a])[..., 0], four, False), wrong)
            add('bad_cut', encode(a[..., 0], four, False)[:100], wrong)
            add('bad_without_end', line, wrong)


def direct(cases):
    a = picture(HEIGHT, WIDTH, 3)
    for width in (1, 2, 3, 4, 13):
        b = picture(HEIGHT, width, 3)
        cases.add(f'bmp_rgb24_width{width}.bmp', bmp(rows(b[..., ::-1], 8), width, HEIGHT, 24), color(b))
    cases.add('bmp_rgb24_top_down.bmp', bmp(rows(a[..., ::-1], 8, True), WIDTH, -HEIGHT, 24), color(a))
    cases.add('bmp_rgb24_gap.bmp', bmp(rows(a[..., ::-1], 8), WIDTH, HEIGHT, 24, gap=30), color(a))
    cases.add('bmp_rgb24_with_palette.bmp', bmp(rows(a[..., ::-1], 8), WIDTH, HEIGHT, 24, palette=bytes(64)), color(a))
    for header in (52, 56, 108, 124):
        cases.add(f'bmp_rgb24_header{header}.bmp', bmp(rows(a[..., ::-1], 8), WIDTH, HEIGHT, 24, header=header), color(a), may_refuse=True if header < 100 else None)
    cases.add('bmp_os2_rgb24.bmp', bmp(rows(a[..., ::-1], 8), WIDTH, HEIGHT, 24, header=12), color(a), may_refuse=True)

    def with_masks(name, bits, widths, shifts, header=40, compression=BITFIELDS, **more):
        """Samples of `widths` bits at `shifts`: red, green, blue, alpha."""
        channels = len(widths)
        g = np.random.default_rng(bits + sum(shifts))
        values = np.stack([g.integers(0, 2**w, (HEIGHT, WIDTH)) for w in widths], -1)
        values[0, 0], values[0, 1] = 0, [2**w - 1 for w in widths]
        words = sum(values[..., i].astype(np.uint32) << s for i, s in enumerate(shifts))
        masks = [(2**w - 1) << s for w, s in zip(widths, shifts)] if compression == BITFIELDS else ()
        scaled = np.stack([expanded(values[..., i], w) for i, w in enumerate(widths)], -1)
        data = bmp(rows(words[..., None].astype(np.uint16 if bits == 16 else np.uint32), 8), WIDTH, HEIGHT, bits, header=header, compression=compression, masks=masks)
        cases.add(f'bmp_{name}.bmp', data, color(scaled[..., :channels]), **more)

    with_masks('rgb555', 16, (5, 5, 5), (10, 5, 0), compression=RGB)
    with_masks('rgb555_masks', 16, (5, 5, 5), (10, 5, 0))
    with_masks('rgb565_masks', 16, (5, 6, 5), (11, 5, 0))
    for header in (56, 108, 124):
        with_masks(f'rgb565_header{header}', 16, (5, 6, 5), (11, 5, 0), header, may_refuse=True if header == 56 else None)
        with_masks(f'rgba8888_header{header}', 32, (8, 8, 8, 8), (16, 8, 0, 24), header, may_refuse=True if header == 56 else None)
        with_masks(f'rgbx8888_header{header}', 32, (8, 8, 8), (16, 8, 0), header, may_refuse=True if header == 56 else None)
        with_masks(f'rgba4444_header{header}', 16, (4, 4, 4, 4), (8, 4, 0, 12), header, may_refuse=True)
        with_masks(f'rgba5551_header{header}', 16, (5, 5, 5, 1), (10, 5, 0, 15), header, may_refuse=True)
        with_masks(f'abgr8888_header{header}', 32, (8, 8, 8, 8), (0, 8, 16, 24), header, may_refuse=True)
    with_masks('rgb888_masks', 32, (8, 8, 8), (16, 8, 0))
    for name, bits, widths, shifts in (('bgr888', 32, (8, 8, 8), (0, 8, 16)), ('rgb888_high', 32, (8, 8, 8), (24, 16, 8)), ('rgb444', 16, (4, 4, 4), (8, 4, 0)), ('bgr565', 16, (5, 6, 5), (0, 5, 11)),
                                       ('rgb655', 16, (6, 5, 5), (10, 5, 0)), ('rgb332', 16, (3, 3, 2), (5, 2, 0))):
        with_masks(f'odd_masks_{name}', bits, widths, shifts, may_refuse=True)
    # The fourth byte of 32 bits without masks means nothing, whatever it is.
    for name, fourth in (('zero', 0), ('noise', None), ('opaque', 255)):
        b = np.dstack([a[..., ::-1], np.random.default_rng(4).integers(0, 256, (HEIGHT, WIDTH), dtype=np.uint8) if fourth is None else np.full((HEIGHT, WIDTH), fourth, np.uint8)])
        cases.add(f'bmp_rgb32_fourth_{name}.bmp', bmp(rows(b, 8), WIDTH, HEIGHT, 32), color(a))
        cases.add(f'bmp_rgb32_fourth_{name}_top_down.bmp', bmp(rows(b, 8, True), WIDTH, -HEIGHT, 32), color(a))


def errors(cases):
    a = picture(HEIGHT, WIDTH, 3)
    pixels = rows(a[..., ::-1], 8)
    wrong = refused('damaged', 'unsupported', 'truncated', 'too_large')
    cases.add('bmp_bad_cut.bmp', bmp(pixels, WIDTH, HEIGHT, 24)[:-2], refused('truncated', says='BMP'))
    cases.add('bmp_bad_cut_header.bmp', bmp(pixels, WIDTH, HEIGHT, 24)[:30], refused('truncated', 'damaged', says='BMP'))
    table = palette_of(colors_of(8, 'color'))
    cases.add('bmp_bad_cut_palette.bmp', bmp(b'', WIDTH, HEIGHT, 8, palette=table)[:500], refused('truncated', 'damaged', says='BMP'))
    for name, data in {
            'bits_3': bmp(pixels, WIDTH, HEIGHT, 3), 'bits_64': bmp(pixels * 3, WIDTH, HEIGHT, 64), 'width_0': bmp(pixels, 0, HEIGHT, 24), 'width_negative': bmp(pixels, -13, HEIGHT, 24),
            'height_0': bmp(pixels, WIDTH, 0, 24), 'claims': bmp(pixels, 30000, 30000, 24), 'claims_rle': bmp(b'\0\1', 30000, 30000, 8, compression=RLE8, palette=table),
            'compression_9': bmp(pixels, WIDTH, HEIGHT, 24, compression=9), 'jpeg_inside': bmp(pixels, WIDTH, HEIGHT, 0, compression=4), 'rle8_of_24_bits': bmp(pixels, WIDTH, HEIGHT, 24, compression=RLE8),
            'index_over_palette': bmp(rows(np.full((11, 13, 1), 200, np.uint8), 8), WIDTH, HEIGHT, 8, palette=table[:64]),
            'masks_overlap': bmp(rows(np.ones((11, 13, 1), np.uint16), 8), WIDTH, HEIGHT, 16, compression=BITFIELDS, masks=(0xFF00, 0x0FF0, 0xFF)),
            'masks_with_holes': bmp(rows(np.ones((11, 13, 1), np.uint16), 8), WIDTH, HEIGHT, 16, compression=BITFIELDS, masks=(0xA000, 0x0A00, 0xFF)),
            'masks_of_zero': bmp(rows(np.ones((11, 13, 1), np.uint16), 8), WIDTH, HEIGHT, 16, compression=BITFIELDS, masks=(0, 0, 0)),
    }.items():
        cases.add(f'bmp_bad_{name}.bmp', data, wrong)
