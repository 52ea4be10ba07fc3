"""PNG by a writer of our own: every depth, color type and interlace, filters, chunks, and what is wrong with them."""
import itertools
import struct
import zlib

import numpy as np

from kit import color, damaged, expanded, gray, gray_alpha, packed, picture, refused

GRAY, RGB, PALETTE, GRAY_ALPHA, RGBA = 0, 2, 3, 4, 6
CHANNELS = {GRAY: 1, RGB: 3, PALETTE: 1, GRAY_ALPHA: 2, RGBA: 4}
DEPTHS = {GRAY: (1, 2, 4, 8, 16), RGB: (8, 16), PALETTE: (1, 2, 4, 8), GRAY_ALPHA: (8, 16), RGBA: (8, 16)}
ADAM7 = ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1))  # y, x, steps


def chunk(name, data=b'', checksum=0):
    return struct.pack('>I', len(data)) + name + data + struct.pack('>I', zlib.crc32(name + data) ^ checksum)


def filtered(a, bits, seed=1):
    """Rows of samples (height, width, channels) as bytes, each behind a filter, all of which turn up."""
    height = a.shape[0]
    rows = packed(a, bits) if bits < 8 else a.astype('>u2' if bits == 16 else np.uint8).reshape(height, -1).view(np.uint8)
    distance = max(1, a.shape[2] * bits // 8)
    rows = rows.astype(np.int32)
    up = np.vstack([np.zeros_like(rows[:1]), rows[:-1]])
    left, corner = (np.hstack([np.zeros((height, distance), np.int32), v[:, :-distance]]) for v in (rows, up))
    p = left + up - corner
    distances = np.stack([abs(p - left), abs(p - up), abs(p - corner)])
    paeth = np.choose(distances.argmin(0), (left, up, corner))
    choices = [rows, rows - left, rows - up, rows - (left + up) // 2, rows - paeth]
    kinds = (np.arange(height) + seed) % 5
    return b''.join(bytes([kind]) + (choices[kind][y] & 255).astype(np.uint8).tobytes() for y, kind in enumerate(kinds))


def image_data(a, bits, interlaced):
    if not interlaced:
        return filtered(a, bits)
    passes = (a[y::dy, x::dx] for y, x, dy, dx in ADAM7)
    return b''.join(filtered(part, bits, i) for i, part in enumerate(passes) if part.size)


def header(width, height, bits, color_type, interlaced=0, checksum=0):
    return chunk(b'IHDR', struct.pack('>IIBBBBB', width, height, bits, color_type, 0, 0, interlaced), checksum)


def png(a, color_type, bits, *, interlaced=False, before=(), after=(), data=None, pieces=1, tail=chunk(b'IEND')):
    """before, after: whole chunks before and after the image data; data: what is in the IDAT chunks; pieces: their number."""
    height, width = a.shape[:2]
    data = zlib.compress(image_data(a, bits, interlaced)) if data is None else data
    size = max(1, -(-len(data) // pieces))
    idat = b''.join(chunk(b'IDAT', data[i:i + size]) for i in range(0, len(data), size))
    return b'\x89PNG\r\n\x1a\n' + header(width, height, bits, color_type, int(interlaced)) + b''.join(before) + idat + b''.join(after) + tail


def palette(entries, alphas=None):
    colors = np.random.default_rng(entries).integers(0, 256, (entries, 3), dtype=np.uint8)
    chunks = [chunk(b'PLTE', colors.tobytes())]
    table = colors
    if alphas is not None:
        chunks.append(chunk(b'tRNS', bytes(alphas)))
        table = np.column_stack([colors, list(alphas) + [255] * (entries - len(alphas))]).astype(np.uint8)
    return chunks, table


def truth_of(a, color_type, bits):
    if color_type == GRAY:
        return gray(expanded(a, bits) if bits < 8 else a)
    return gray_alpha(a) if color_type == GRAY_ALPHA else color(a)


def make(cases):
    samples(cases)
    transparency(cases)
    structure(cases)
    errors(cases)


def samples(cases):
    for color_type, interlaced in itertools.product(DEPTHS, (False, True)):
        for bits in DEPTHS[color_type]:
            for height, width in ((23, 37), (1, 1), (3, 2), (1, 40), (9, 1)):
                a = picture(height, width, CHANNELS[color_type], bits, seed=bits)
                before = []
                truth = None
                if color_type == PALETTE:
                    before, table = palette(2**bits)
                    truth = color(table[a[..., 0]])
                name = {GRAY: 'gray', RGB: 'rgb', PALETTE: 'palette', GRAY_ALPHA: 'gray_alpha', RGBA: 'rgba'}[color_type]
                name = f'png_{name}{bits}_{width}x{height}{"_interlaced" * interlaced}.png'
                cases.add(name, png(a, color_type, bits, interlaced=interlaced, before=before), truth or truth_of(a, color_type, bits))


def transparency(cases):
    for bits, interlaced in itertools.product(DEPTHS[GRAY], (False, True)):
        top = 2**bits - 1
        a = picture(23, 37, 1, bits, seed=2)
        for which, key in (('first', int(a[0, 0, 0])), ('white', top), ('none', top // 2)):
            if which == 'none':
                a = np.where(a == key, key + 1, a).astype(a.dtype)
            full = expanded(a, bits) if bits < 8 else a
            opaque = 65535 if bits == 16 else 255
            alpha = np.where(a == key, 0, opaque).astype(full.dtype)
            data = png(a, GRAY, bits, interlaced=interlaced, before=[chunk(b'tRNS', struct.pack('>H', key))])
            cases.add(f'png_transparent_gray{bits}_{which}{"_interlaced" * interlaced}.png', data, gray_alpha(np.dstack([full, alpha])))
    for bits, interlaced in itertools.product((8, 16), (False, True)):
        a = picture(23, 37, 3, bits)
        a[5:9, 7:11] = a[0, 0]
        alpha = np.where((a == a[0, 0]).all(-1), 0, 2**bits - 1).astype(a.dtype)
        data = png(a, RGB, bits, interlaced=interlaced, before=[chunk(b'tRNS', struct.pack('>HHH', *a[0, 0].tolist()))])
        cases.add(f'png_transparent_rgb{bits}{"_interlaced" * interlaced}.png', data, color(np.dstack([a, alpha])))
    for bits, interlaced in itertools.product((1, 2, 4, 8), (False, True)):
        a = picture(23, 37, 1, bits)
        for which, alphas in (('one', [0]), ('all', range(2**bits)), ('opaque', [255] * 2**bits)):
            before, table = palette(2**bits, alphas)
            cases.add(f'png_transparent_palette{bits}_{which}{"_interlaced" * interlaced}.png', png(a, PALETTE, bits, interlaced=interlaced, before=before),
                      color(table[a[..., 0]]))


def structure(cases):
    a = picture(23, 37, 3)
    truth = color(a)
    raw = image_data(a, 8, False)
    profile = b'odd\0\0' + zlib.compress(b'not a profile')
    srgb_gray = b'gray\0\0' + zlib.compress(struct.pack('>I', 132) + b'\0' * 8 + b'mntrGRAYXYZ ' + b'\0' * 12 + b'acsp' + b'\0' * 92)
    for name, chunks in {
            'gamma': [chunk(b'gAMA', struct.pack('>I', 45455))], 'gamma_odd': [chunk(b'gAMA', struct.pack('>I', 1))],
            'chromaticities_odd': [chunk(b'cHRM', bytes(32))], 'srgb_twice': [chunk(b'sRGB', b'\0')] * 2,
            'significant_bits': [chunk(b'sBIT', bytes([5, 6, 5]))], 'background': [chunk(b'bKGD', struct.pack('>HHH', 1, 2, 3))],
            'profile_no_profile': [chunk(b'iCCP', profile)], 'profile_of_gray': [chunk(b'iCCP', srgb_gray)], 'profile_not_deflate': [chunk(b'iCCP', b'x\0\0garbage')],
            'profile_no_name': [chunk(b'iCCP', b'\0\0' + zlib.compress(b''))], 'profile_and_srgb': [chunk(b'sRGB', b'\0'), chunk(b'iCCP', profile)],
            'profile_bad_checksum': [chunk(b'iCCP', profile, checksum=1)],
            'text_odd': [chunk(b'tEXt', b' keyword of more than seventy-nine characters' * 3), chunk(b'tEXt', b'')], 'text_bad_checksum': [chunk(b'tEXt', b'a\0b', checksum=1)],
            'ztext_not_deflate': [chunk(b'zTXt', b'a\0\0garbage')], 'time_odd': [chunk(b'tIME', b'\xff' * 7)], 'time_short': [chunk(b'tIME', b'1')],
            'exif_garbage': [chunk(b'eXIf', b'garbage')], 'unknown_chunk': [chunk(b'abCd', b'1234')], 'unknown_chunk_bad_checksum': [chunk(b'abCd', b'1234', checksum=7)],
            'physical_odd': [chunk(b'pHYs', b'\xff' * 9)], 'suggested_palette': [chunk(b'PLTE', bytes(range(30)))],
    }.items():
        cases.add(f'png_chunks_{name}.png', png(a, RGB, 8, before=chunks), truth)
    b = picture(23, 37, 1, 16) >> 4 << 4
    cases.add('png_significant_bits_gray16.png', png(b, GRAY, 16, before=[chunk(b'sBIT', b'\x0c')]), gray(b))
    after = [chunk(b'tEXt', b'a\0b'), chunk(b'tIME', bytes([7, 230, 1, 1, 0, 0, 0]))]
    cases.add('png_chunks_after_data.png', png(a, RGB, 8, after=after), truth)
    cases.add('png_many_idat.png', png(a, RGB, 8, pieces=40), truth)
    empty = chunk(b'IDAT')
    cases.add('png_empty_idat_first.png', png(a, RGB, 8, before=[empty]), truth)
    cases.add('png_empty_idat_last.png', png(a, RGB, 8, after=[empty]), truth)
    for level in (0, 1, 9):
        cases.add(f'png_level{level}.png', png(a, RGB, 8, data=zlib.compress(raw, level)), truth)
    small = zlib.compressobj(9, zlib.DEFLATED, 9)
    cases.add('png_window_512.png', png(a, RGB, 8, data=small.compress(raw) + small.flush()), truth)
    cases.add('png_data_after_last_row.png', png(a, RGB, 8, data=zlib.compress(raw + bytes(200))), truth)
    cases.add('png_data_after_stream.png', png(a, RGB, 8, data=zlib.compress(raw) + b'and more'), truth)
    cases.add('png_data_after_end.png', png(a, RGB, 8) + b'trailing data ' * 99, truth)
    cases.add('png_end_bad_checksum.png', png(a, RGB, 8, tail=chunk(b'IEND', checksum=1)), truth, may_refuse=['damaged'])
    # APNG: the image data are the first picture, a frame of the animation or not.
    frame = chunk(b'fcTL', struct.pack('>IIIIIHHBB', 0, 37, 23, 0, 0, 1, 10, 0, 0))
    second = [chunk(b'fcTL', struct.pack('>IIIIIHHBB', 1, 37, 23, 0, 0, 1, 10, 0, 0)), chunk(b'fdAT', struct.pack('>I', 2) + zlib.compress(image_data(255 - a, 8, False)))]
    cases.add('png_animated.png', png(a, RGB, 8, before=[chunk(b'acTL', struct.pack('>II', 2, 0)), frame], after=second), truth)
    hidden = [chunk(b'fcTL', struct.pack('>IIIIIHHBB', 0, 37, 23, 0, 0, 1, 10, 0, 0)), chunk(b'fdAT', struct.pack('>I', 1) + zlib.compress(image_data(255 - a, 8, False)))]
    cases.add('png_animated_first_not_in_animation.png', png(a, RGB, 8, before=[chunk(b'acTL', struct.pack('>II', 1, 0))], after=hidden), truth)
    bad = [chunk(b'fcTL', b'short'), chunk(b'fdAT', b'no', checksum=3)]
    cases.add('png_animated_odd.png', png(a, RGB, 8, before=[chunk(b'acTL', b'1')], after=bad), truth)


def errors(cases):
    a = picture(23, 37, 3)
    raw = image_data(a, 8, False)
    data = zlib.compress(raw)
    wrong = damaged('PNG')
    either = refused('damaged', 'unsupported', 'truncated', says='PNG')
    signature = b'\x89PNG\r\n\x1a\n'
    whole = png(a, RGB, 8)
    for name, stream in {
            'half_of_the_rows': zlib.compress(raw[:len(raw) // 2]), 'a_row_less': zlib.compress(raw[:-(37 * 3 + 1)]), 'a_byte_less': zlib.compress(raw[:-1]),
            'no_rows': zlib.compress(b''), 'checksum_of_zlib': data[:-1] + bytes([data[-1] ^ 1]), 'without_checksum_of_zlib': data[:-4], 'stream_cut': data[:len(data) // 2],
            'zeroed': data[:300] + bytes(64) + data[364:], 'not_zlib': b'\x11' * 300, 'filter_9': zlib.compress(b'\x09' + raw[1:]), 'zlib_with_dictionary': b'\x78\xbb' + data[2:],
    }.items():
        cases.add(f'png_bad_{name}.png', png(a, RGB, 8, data=stream), wrong)
    b = picture(23, 37, 1, 8)
    full = image_data(b, 8, True)
    cases.add('png_bad_interlaced_half.png', png(b, GRAY, 8, interlaced=True, data=zlib.compress(full[:len(full) // 2])), wrong)
    cases.add('png_bad_interlaced_last_pass.png', png(b, GRAY, 8, interlaced=True, data=zlib.compress(full[:-38])), wrong)
    plte, table = palette(256, range(256))
    cases.add('png_bad_checksum_ihdr.png', signature + header(37, 23, 8, RGB, checksum=1) + whole[33:], wrong)
    cases.add('png_bad_checksum_idat.png', signature + header(37, 23, 8, RGB) + chunk(b'IDAT', data, checksum=1) + chunk(b'IEND'), wrong)
    cases.add('png_bad_checksum_second_idat.png', signature + header(37, 23, 8, RGB) + chunk(b'IDAT', data[:500]) + chunk(b'IDAT', data[500:], checksum=9) + chunk(b'IEND'), wrong)
    cases.add('png_bad_checksum_plte.png', png(b, PALETTE, 8, before=[plte[0][:-1] + bytes([plte[0][-1] ^ 1])]), wrong)
    cases.add('png_bad_checksum_trns_palette.png', png(b, PALETTE, 8, before=[plte[0], plte[1][:-1] + bytes([plte[1][-1] ^ 1])]), wrong)
    cases.add('png_bad_checksum_trns_gray.png', png(b, GRAY, 8, before=[chunk(b'tRNS', b'\0\0', checksum=1)]), wrong)
    cases.add('png_bad_checksum_trns_rgb.png', png(a, RGB, 8, before=[chunk(b'tRNS', bytes(6), checksum=1)]), wrong)
    cases.add('png_bad_checksum_unknown_critical.png', png(a, RGB, 8, before=[chunk(b'CRIT', b'1', checksum=1)]), wrong)
    cases.add('png_bad_unknown_critical.png', png(a, RGB, 8, before=[chunk(b'CRIT', b'1')]), either)
    cases.add('png_bad_palette_missing.png', png(b, PALETTE, 8), either)
    cases.add('png_bad_palette_too_short.png', png(b, PALETTE, 8, before=palette(16)[0]), either)
    cases.add('png_bad_palette_no_thirds.png', png(b, PALETTE, 8, before=[chunk(b'PLTE', bytes(100))]), either)
    cases.add('png_bad_trns_too_long.png', png(b, GRAY, 8, before=[chunk(b'tRNS', bytes(7))]), either)
    cases.add('png_bad_no_data.png', signature + header(37, 23, 8, RGB) + chunk(b'IEND'), refused('damaged', 'truncated', 'too_large'))
    for bits, color_type in ((3, GRAY), (8, 5), (4, RGB), (16, PALETTE), (32, GRAY), (8, 1)):
        cases.add(f'png_bad_type{color_type}_bits{bits}.png', signature + header(37, 23, bits, color_type) + whole[33:], either)
    for width, height, name in ((0, 23, 'width_0'), (37, 0, 'height_0'), (2**31, 5, 'width_2G')):
        cases.add(f'png_bad_{name}.png', signature + header(width, height, 8, RGB) + whole[33:], refused('damaged', 'unsupported', 'truncated', 'too_large'))
    for size in (20000, 32767, 1000000):
        cases.add(f'png_bad_claims_{size}.png', signature + header(size, size, 8, RGB) + whole[33:], refused('damaged', 'unsupported', 'truncated', 'too_large'))
    cases.add('png_bad_interlace_2.png', signature + header(37, 23, 8, RGB, 2) + whole[33:], either)
    cases.add('png_bad_without_end.png', whole[:-12], refused('truncated', says='PNG'))
    cases.add('png_bad_cut_in_data.png', whole[:len(whole) // 2], refused('truncated', says='PNG'))
    cases.add('png_bad_cut_in_header.png', whole[:20], refused('truncated', says='PNG'))
    cases.add('png_bad_signature_line_ends.png', whole.replace(b'\r\n', b'\n', 1), refused('damaged', 'unsupported', 'decode'))
