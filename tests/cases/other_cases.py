"""Sun raster, Radiance, WebP, JPEG 2000, OpenEXR."""
import base64
import io
import itertools
import os
import struct

import imagecodecs
import numpy as np
import OpenEXR
from PIL import Image

from kit import bands, color, gray, gray_alpha, named, not_finite, packed, picture, refused, unsupported

HEIGHT, WIDTH = 11, 13


def make(cases):
    sun(cases)
    radiance(cases)
    webp(cases)
    jpeg2000(cases)
    openexr(cases)


# --- Sun raster


def sun(cases):
    def raster(data, width, bits, kind=1, colors=b'', length=None):
        return struct.pack('>8I', 0x59A66A95, width, HEIGHT, bits, len(data) if length is None else length, kind, 1 if colors else 0, len(colors)) + colors + data

    def rows(a, bits):
        data = packed(a, bits) if bits < 8 else a.reshape(a.shape[0], -1)
        return np.pad(data, ((0, 0), (0, data.shape[1] % 2))).tobytes()

    def runs(data):
        out, i = bytearray(), 0
        while i < len(data):
            run = 1
            while i + run < len(data) and data[i + run] == data[i] and run < 256:
                run += 1
            out += bytes([0x80, run - 1, data[i]]) if run > 2 else (b'\x80\0' if data[i] == 0x80 else data[i:i + 1]) * run
            i += run
        return bytes(out)

    for width in (8, 13):
        a, one, rgb = picture(HEIGHT, width, 1), picture(HEIGHT, width, 1, 1), picture(HEIGHT, width, 3)
        a[2:4] = 128
        map_ = np.random.default_rng(1).integers(0, 256, (256, 3), dtype=np.uint8)
        for kind, name in ((0, 'old'), (1, 'standard'), (2, 'rle')):
            pack = runs if kind == 2 else bytes
            may = {'may_refuse': True} if kind != 1 else {}
            cases.add(f'sun_gray8_{name}_{width}.ras', raster(pack(rows(a, 8)), width, 8, kind), gray(a), may_refuse=True)
            cases.add(f'sun_rgb24_{name}_{width}.ras', raster(pack(rows(rgb[..., ::-1], 8)), width, 24, kind), color(rgb), **may)
            cases.add(f'sun_bilevel_{name}_{width}.ras', raster(pack(rows(one, 1)), width, 1, kind), gray(np.where(one == 1, 0, 255).astype(np.uint8)), may_refuse=True)
            cases.add(f'sun_palette_{name}_{width}.ras', raster(pack(rows(a, 8)), width, 8, kind, map_.T.tobytes()), color(map_[a[..., 0]]), may_refuse=True)
            cases.add(f'sun_rgb32_{name}_{width}.ras', raster(pack(rows(np.dstack([a, rgb[..., ::-1]]), 8)), width, 32, kind), color(rgb), may_refuse=True)
        cases.add(f'sun_rgb24_type3_{width}.ras', raster(rows(rgb, 8), width, 24, 3), color(rgb), may_refuse=True)
        cases.add(f'sun_rgb32_type3_{width}.ras', raster(rows(np.dstack([a, rgb]), 8), width, 32, 3), color(rgb), may_refuse=True)
        cases.add(f'sun_bad_cut_{width}.ras', raster(rows(a, 8), width, 8)[:-2], refused('truncated', 'damaged'))
    a = picture(HEIGHT, WIDTH, 1)
    wrong = refused('truncated', 'damaged', 'unsupported', 'too_large')
    cases.add('sun_bad_claims.ras', struct.pack('>8I', 0x59A66A95, 30000, 30000, 8, 100, 1, 0, 0) + bytes(100), wrong)
    cases.add('sun_bad_bits_7.ras', raster(rows(a, 8), WIDTH, 7), wrong)
    cases.add('sun_bad_kind_9.ras', raster(rows(a, 8), WIDTH, 8, 9), wrong)


# --- Radiance


def radiance(cases):
    def hdr(data, width, height, header=b'FORMAT=32-bit_rle_rgbe\n', orientation=b'-Y %d +X %d\n'):
        return b'#?RADIANCE\n' + header + b'\n' + orientation % (height, width) + data

    def held(bits):
        """m 2^(e - 136), and zero where e is zero."""
        scale = np.where(bits[..., 3:] == 0, 0, np.ldexp(1.0, bits[..., 3:].astype(int) - 136))
        return (bits[..., :3] * scale).astype(np.float32)

    def new_rle(bits):
        out = bytearray()
        for line in bits:
            out += bytes([2, 2, line.shape[0] >> 8, line.shape[0] & 255])
            for plane in line.T.tolist():
                i = 0
                while i < len(plane):
                    run = 1
                    while i + run < len(plane) and plane[i + run] == plane[i] and run < 127:
                        run += 1
                    if run > 3:
                        out += bytes([128 + run, plane[i]])
                        i += run
                    else:
                        part = plane[i:i + 7]
                        out += bytes([len(part)] + part)
                        i += len(part)
        return bytes(out)

    for width in (5, 13, 40):
        bits = picture(HEIGHT, width, 4)
        bits[..., 3] = 120 + bits[..., 3] // 20
        bits[2, 1:4], bits[3, 2, 3] = bits[2, 1], 0
        bits[4:6, :, 3] = 130
        bits[0, 0, :3] = 200  # no line begins like a run length
        cases.add(f'radiance_flat_{width}.hdr', hdr(bits.tobytes(), width, HEIGHT), color(held(bits)))
        if width >= 8:
            cases.add(f'radiance_new_rle_{width}.hdr', hdr(new_rle(bits), width, HEIGHT), color(held(bits)))
        cases.add(f'radiance_comments_{width}.hdr', hdr(bits.tobytes(), width, HEIGHT, b'# made by hand\nFORMAT=32-bit_rle_rgbe\nSOFTWARE=x\n'), color(held(bits)), may_refuse=True)
        cases.add(f'radiance_exposure_{width}.hdr', hdr(bits.tobytes(), width, HEIGHT, b'EXPOSURE=2.0\nFORMAT=32-bit_rle_rgbe\n'), color(held(bits)), may_refuse=True)
        cases.add(f'radiance_rgbe_{width}.hdr', hdr(bits.tobytes(), width, HEIGHT).replace(b'RADIANCE', b'RGBE', 1), color(held(bits)))
        cases.add(f'radiance_xyze_{width}.hdr', hdr(bits.tobytes(), width, HEIGHT, b'FORMAT=32-bit_rle_xyze\n'), unsupported())
        for name, orientation in (('bottom_up', b'+Y %d +X %d\n'), ('mirrored', b'-Y %d -X %d\n')):
            cases.add(f'radiance_{name}_{width}.hdr', hdr(bits.tobytes(), width, HEIGHT, orientation=orientation), color(held(bits)), may_refuse=True)
        turned = orientation = b'+X %d -Y %d\n'
        cases.add(f'radiance_turned_{width}.hdr', hdr(bits.tobytes(), width, HEIGHT, orientation=turned), color(held(bits)), may_refuse=True, width=None, height=None)
        # Old run lengths: 1 1 1 n repeats the pixel before.
        old = bytearray()
        for line in bits:
            old += line[:2].tobytes() + bytes([1, 1, 1, width - 2])
        repeated = np.repeat(bits[:, 1:2], width, 1)
        repeated[:, 0] = bits[:, 0]
        cases.add(f'radiance_old_rle_{width}.hdr', hdr(bytes(old), width, HEIGHT), color(held(repeated)), may_refuse=True)
        cases.add(f'radiance_bad_cut_{width}.hdr', hdr(bits.tobytes()[:-8], width, HEIGHT), refused('truncated', 'damaged'))
    cases.add('radiance_bad_cut_rle.hdr', hdr(new_rle(bits)[:-30], 40, HEIGHT), refused('truncated', 'damaged'))
    cases.add('radiance_bad_run_over_the_width.hdr', hdr(bytes([2, 2, 0, 40, 255, 1]) + new_rle(bits), 40, HEIGHT), refused('truncated', 'damaged', 'unsupported'))
    cases.add('radiance_bad_claims.hdr', hdr(bytes(400), 30000, 30000), refused('truncated', 'damaged', 'unsupported', 'too_large'))
    cases.add('radiance_bad_no_size.hdr', b'#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n', refused('truncated', 'damaged', 'unsupported'))


# --- WebP


def webp(cases):
    for width, height in ((37, 23), (1, 1), (16, 16)):
        for channels, name in ((3, 'rgb'), (4, 'rgba')):
            a = picture(height, width, channels)
            if channels == 4:
                a[0, 0, 3] = 77  # an alpha that is opaque everywhere would be left out
            data = imagecodecs.webp_encode(a, lossless=True)
            cases.add(f'webp_lossless_{name}_{width}x{height}.webp', data, color(a))
            data = imagecodecs.webp_encode(a, level=60)
            cases.add(f'webp_lossy_{name}_{width}x{height}.webp', data, color(imagecodecs.webp_decode(data)))
    a = picture(23, 37, 3)
    data = saved(Image.fromarray(a), 'WEBP', lossless=True, exif=b'Exif\0\0' + b'MM\0*\0\0\0\x08\0\0', icc_profile=b'no profile')
    cases.add('webp_metadata.webp', data, color(a))
    frames = [Image.fromarray(a), Image.fromarray(255 - a)]
    data = saved(frames[0], 'WEBP', lossless=True, save_all=True, append_images=frames[1:], duration=100)
    cases.add('webp_animated.webp', data, color(a), may_refuse=True)
    data = imagecodecs.webp_encode(a, lossless=True)
    cases.add('webp_trailing_data.webp', data + bytes(64), color(a))
    for name, whole in (('lossless', data), ('lossy', imagecodecs.webp_encode(a, level=60))):
        cases.add(f'webp_bad_{name}_cut.webp', whole[:len(whole) // 2], refused('truncated', 'damaged'))
        cut = bytearray(whole[:len(whole) // 2])  # with sizes that are right again
        struct.pack_into('<I', cut, 4, len(cut) - 8)
        struct.pack_into('<I', cut, 16, len(cut) - 20)
        cases.add(f'webp_bad_{name}_cut_sizes_right.webp', bytes(cut), refused('truncated', 'damaged'))


def saved(image, form, **options):
    out = io.BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


# --- JPEG 2000

# 13 x 9 samples of luma and subsampled color differences, by opj_compress 2.5.0 -F 13,9,3,8,u@1x1:2x1:2x1 and 2x2:2x2. It reads
# of each difference 13 * 9 / (across * down) samples from its input, and the others are 0.
SUBSAMPLED_BY_OPENJPEG = {
    (2, 1): '|4;u>051Rl0000D0000900000000000000D00009000000000000RdB0S5vB2Lb{AQUDA9000310R#j90smY82S7kbNKpTf015yA0003500IA#-+?d>M3<8NI=WZJr%>Hm+Q3CAH(6xr$%#tY@@TucpZman$y50(&)<N!A%EXM_>p5cCkFi?d$;y}fofSf%&V@?v{(}4*FZ5hH_$Jz`)3eU{}*&vcb;2+&%jPT(Fptl04`=?w;~E*h!^sr5yNay6@UMK7NIFcPbmaV@I;XTwwWj|5*}uPnoi5arj2xd&%ic*0rB_+fB@$7y&aR&VkP#Zjb|S6ZGho~xQF%tSokyk&j-^@d#NPh+9t?f$J!k~0T}!OfEP=Df0Z=G%V*vH2*+Oz$>8|dM6%h4w}KP6-9#Q-2ZgC@m@uO<T7Uo9',
    (2, 2): '|4;u>051Rl0000D0000900000000000000D00009000000000000RdB0S5vC2Lb~BQUDA9000310R#j90smY82S7kbNKpTf015yA0002g00IA#-+?d>M3<8NI=WZJr%>Hm+Q3CAH(6xr$%#tY@@TucpZman$y50(&)<M}5z-c!JIItq>2{7+?y(==fOs1E#)0VUkXTvC`IDpDzt6x<KG6vL0{|{&Vz(j+VTc#<q7lPvP!)gwe-@!BMNcUNP4GmK0k)YaFA^SRf|^dt#HNjOe$T)vKG2B#0l*gSFKgkf0w`ra4)lR7jO|U?5RhrLc^GfU+7CYfnEU~N5Hi3!2aPuiA%Ic66ZjcF54VX>zJLGO',
}


def sycc_as_opj_decompress(luma, blue, red, bits):
    """RGB of planes of one size, by the formula of OpenJPEG's program: fractions of products in double are cut off."""
    middle, top = 2**(bits - 1), 2**bits - 1
    luma, blue, red = (plane.astype(np.int64) for plane in (luma, blue, red))
    blue, red = (blue - middle).astype(np.float64), (red - middle).astype(np.float64)
    colors = luma + np.trunc(1.402 * red), luma - np.trunc(0.344 * blue + 0.714 * red), luma + np.trunc(1.772 * blue)
    return np.clip(np.stack(colors, -1), 0, top).astype(np.uint8 if bits == 8 else np.uint16)


def sycc(cases, boxes):
    for bits in (8, 12, 16):
        a = picture(23, 37, 3, bits)
        code = imagecodecs.jpeg2k_encode(a, level=0, reversible=True, codecformat='j2k', mct=False, bitspersample=bits)
        right = sycc_as_opj_decompress(*np.moveaxis(a, 2, 0), bits)
        cases.add(f'jp2_sycc{bits}.jp2', boxes(37, 23, 3, bits, 18, code), color(right, white=2**bits - 1))
    a = picture(23, 37, 4)
    code = imagecodecs.jpeg2k_encode(a, level=0, reversible=True, codecformat='j2k', mct=False)
    right = np.dstack([sycc_as_opj_decompress(*np.moveaxis(a[..., :3], 2, 0), 8), a[..., 3]])
    alpha = box(b'cdef', struct.pack('>H', 4) + b''.join(struct.pack('>HHH', i, i == 3, (i + 1) % 4) for i in range(4)))
    cases.add('jp2_sycc_alpha.jp2', boxes(37, 23, 4, 8, 18, code, alpha), color(right))
    cases.add('jp2_sycc_not_described.jp2', boxes(37, 23, 4, 8, 18, code), unsupported('sYCC'))
    for (across, down), text in SUBSAMPLED_BY_OPENJPEG.items():
        code = base64.b85decode(text)
        there, held = 13 * 9 // (across * down), (-(-9 // down), -(-13 // across))
        differences = []
        for step, first in ((41, 60), (23, 200)):
            plane = np.zeros(held[0] * held[1], np.uint8)
            plane[:there] = (np.arange(there) * step + first).astype(np.uint8)
            differences.append(plane.reshape(held).repeat(down, 0).repeat(across, 1)[:9, :13])
        luma = (np.arange(13 * 9) * 37).astype(np.uint8).reshape(9, 13)
        name = f'jp2_sycc_{across}x{down}'
        cases.add(f'{name}.jp2', boxes(13, 9, 3, 8, 18, code), color(sycc_as_opj_decompress(luma, *differences, 8)))
        cases.add(f'{name}_srgb.jp2', boxes(13, 9, 3, 8, 16, code), unsupported('subsampled'))
        cases.add(f'{name}_bare.j2k', code, unsupported('subsampled'))


def box(kind, data):
    return struct.pack('>I', len(data) + 8) + kind + data


def jpeg2000(cases):
    for bits, kind in ((8, 'u'), (16, 'u')):
        for channels, name, truth in ((1, 'gray', gray), (3, 'rgb', color), (4, 'not_described', bands)):
            a = picture(23, 37, channels, bits)
            for form in ('j2k', 'jp2'):
                data = imagecodecs.jpeg2k_encode(a.squeeze(), level=0, reversible=True, codecformat=form)
                cases.add(f'jp2_{name}{bits}.{form}', data, truth(a))
    a = picture(23, 37, 4)
    cases.add('jp2_rgba.jp2', saved(Image.fromarray(a), 'JPEG2000', irreversible=False), color(a))
    a = picture(23, 37, 2)
    cases.add('jp2_gray_alpha.jp2', saved(Image.fromarray(a, 'LA'), 'JPEG2000', irreversible=False), gray_alpha(a), may_refuse=True)
    a = picture(23, 37, 3)
    cases.add('jp2_tiles.jp2', saved(Image.fromarray(a), 'JPEG2000', irreversible=False, tile_size=(16, 16)), color(a))
    cases.add('jp2_layers.jp2', saved(Image.fromarray(a), 'JPEG2000', irreversible=False, quality_mode='rates', quality_layers=[20, 5, 0]), color(a), may_refuse=True)
    cases.add('jp2_no_transform.jp2', saved(Image.fromarray(a), 'JPEG2000', irreversible=False, mct=0), color(a))
    for bits in (8, 16):
        a = picture(23, 37, 1, bits, 's')
        cases.add(f'jp2_signed{bits}.jp2', imagecodecs.jpeg2k_encode(a.squeeze(), level=0, reversible=True), gray(a))
    a = picture(23, 37, 1, 12)
    data = imagecodecs.jpeg2k_encode(a.squeeze(), level=0, reversible=True, bitspersample=12, codecformat='j2k')
    cases.add('jp2_gray12.j2k', data, gray(a, white=4095), may_refuse=True)
    # A palette: the codestream holds indices, boxes around it the colors.
    a = picture(23, 37, 1)
    table = np.random.default_rng(3).integers(0, 256, (256, 3), dtype=np.uint8)
    code = imagecodecs.jpeg2k_encode(a.squeeze(), level=0, reversible=True, codecformat='j2k')
    header = box(b'ihdr', struct.pack('>IIHBBBB', 23, 37, 1, 7, 7, 0, 0)) + box(b'colr', b'\1\0\0' + struct.pack('>I', 16))
    header += box(b'pclr', struct.pack('>HB', 256, 3) + b'\7\7\7' + table.tobytes()) + box(b'cmap', b''.join(struct.pack('>HBB', 0, 1, i) for i in range(3)))
    start = box(b'jP  ', b'\r\n\x87\n') + box(b'ftyp', b'jp2 \0\0\0\0jp2 ')

    def boxes(width, height, channels, bits, space, code, more=b''):
        header = box(b'ihdr', struct.pack('>IIHBBBB', height, width, channels, bits - 1, 7, 0, 0)) + box(b'colr', b'\1\0\0' + struct.pack('>I', space))
        return start + box(b'jp2h', header + more) + box(b'jp2c', code)

    sycc(cases, boxes)
    cases.add('jp2_palette.jp2', start + box(b'jp2h', header) + box(b'jp2c', code), color(table[a[..., 0]]), may_refuse=True)
    a = picture(23, 37, 3)
    data = imagecodecs.jpeg2k_encode(a, level=0, reversible=True, codecformat='j2k')
    for name, kind in (('esycc', 24), ('cielab', 14)):
        cases.add(f'jp2_space_{name}.jp2', boxes(37, 23, 3, 8, kind, imagecodecs.jpeg2k_encode(a, level=0, reversible=True, codecformat='j2k', mct=False)), unsupported())
    cases.add('jp2_bad_cut.j2k', data[:len(data) // 2], refused('truncated', 'damaged'))
    cases.add('jp2_bad_cut_header.j2k', data[:30], refused('truncated', 'damaged', 'unsupported'))
    large = bytearray(data)
    struct.pack_into('>IIIIIIII', large, data.index(b'\xff\x51') + 6, 12000, 12000, 0, 0, 12000, 12000, 0, 0)
    cases.add('jp2_bad_claims.j2k', bytes(large), refused('truncated', 'damaged', 'unsupported', 'too_large'))


# --- OpenEXR


def openexr(cases):
    kinds = {'half': np.float16, 'float': np.float32}
    sets = {'rgb': 'RGB', 'rgba': 'RGBA', 'gray': 'Y', 'gray_alpha': 'YA', 'red': 'R', 'green': 'G', 'blue': 'B', 'depth': 'Z', 'alpha': 'A', 'red_green': 'RG', 'red_blue': 'RB', 'rgbz': 'RGBZ', 'uv': 'UV',
            'rgbaz': 'RGBAZ'}
    own = {'R': 'red', 'G': 'green', 'B': 'blue', 'A': 'alpha', 'Y': 'gray'}
    compressions = {name: getattr(OpenEXR, f'{name.upper()}_COMPRESSION') for name in ('no', 'rle', 'zips', 'zip', 'piz')}

    def write(name, channels, **header):
        header = {'compression': OpenEXR.ZIP_COMPRESSION, 'type': OpenEXR.scanlineimage, **header}
        with OpenEXR.File(header, dict(channels)) as file:
            file.write(cases.path(name))

    turn = 0
    for (name, letters), (kind, dtype) in itertools.product(sets.items(), kinds.items()):
        a = picture(23, 37, len(letters), 32, 'f').astype(dtype)
        alone = set(letters) - set('A') in (set('RGB'), set('Y'))  # colors or gray, and alpha at most
        colors = 'RGBY' if set('RGB') <= set(letters) or letters == 'YA' or letters == 'Y' else ''
        names = [own[letter] if letter in colors or (letter == 'A' and alone) else 'band:alpha' if letter == 'A' else letter for letter in letters]
        truth = named(a, names, alpha='premultiplied')
        if letters not in ('RGB', 'RGBA', 'Y', 'YA', 'Z', 'UV'):
            truth['may_refuse'] = True
        for compression in (list(compressions) if letters in ('RGB', 'Y') else [list(compressions)[turn % 5]]):
            turn += 1
            file = f'exr_{name}_{kind}_{compression}.exr'
            write(file, {letter: np.ascontiguousarray(a[..., i]) for i, letter in enumerate(letters)}, compression=compressions[compression])
            cases.add(file, None, truth)
    a = picture(23, 37, 3, 32, 'f')
    rgb = {letter: np.ascontiguousarray(a[..., i]) for i, letter in enumerate('RGB')}
    for name, header in {'decreasing': {'lineOrder': OpenEXR.DECREASING_Y}, 'window': {'dataWindow': ((5, -3), (41, 19)), 'displayWindow': ((0, 0), (99, 99))},
                         'attributes': {'owner': 'nobody', 'whiteLuminance': 100.0}}.items():
        write(f'exr_{name}.exr', rgb, **header)
        cases.add(f'exr_{name}.exr', None, color(a))
    b = a.copy()
    b[2, 3], b[4, 5, 1], b[6, 7, 2] = np.nan, np.inf, -np.inf
    write('exr_nan_and_infinity.exr', {letter: np.ascontiguousarray(b[..., i]) for i, letter in enumerate('RGB')})
    cases.add('exr_nan_and_infinity.exr', None, not_finite(b))
    u = picture(23, 37, 1, 32, 'u')
    write('exr_uint_id.exr', {'id': np.ascontiguousarray(u[..., 0])})
    cases.add('exr_uint_id.exr', None, named(u, ['id']))
    # Channels of two types: as they are, or refused.
    write('exr_rgb_half_and_float.exr', {**rgb, 'G': rgb['G'].astype(np.float16)})
    mixed = a.copy()
    mixed[..., 1] = a[..., 1].astype(np.float16)
    cases.add('exr_rgb_half_and_float.exr', None, color(mixed), depth=None, may_refuse=True)
    write('exr_layers.exr', {f'left.{letter}': rgb[letter] for letter in 'RGB'})
    cases.add('exr_layers.exr', None, named(a, ['left.R', 'left.G', 'left.B']), may_refuse=True)
    part = lambda name, channels: OpenEXR.Part({'compression': OpenEXR.ZIP_COMPRESSION, 'type': OpenEXR.scanlineimage}, dict(channels), name=name)
    with OpenEXR.File([part('one', rgb), part('two', {'Y': rgb['R']})]) as file:
        file.write(cases.path('exr_multipart.exr'))
    second = a[..., :1].astype(np.float32)
    cases.add('exr_multipart.exr', None, color(a), pages=[color(a), gray(second)])
    for name, mode in (('one_level', OpenEXR.ONE_LEVEL), ('mipmap', OpenEXR.MIPMAP_LEVELS)):
        tiles = OpenEXR.TileDescription()
        tiles.xSize, tiles.ySize, tiles.mode = 16, 16, mode
        if mode == OpenEXR.ONE_LEVEL:
            write(f'exr_tiles_{name}.exr', rgb, type=OpenEXR.tiledimage, tiles=tiles)
            cases.add(f'exr_tiles_{name}.exr', None, color(a), may_refuse=True)
    a = picture(22, 36, 3, 16, 'f')
    chroma = {'BY': (a[::2, ::2, 0], 2), 'RY': (a[::2, ::2, 2], 2)}
    # Without chroma, colors are the luminance; io_tests compare others with OpenEXR's RgbaInputFile.
    without = {name: (np.zeros_like(values), step) for name, (values, step) in chroma.items()}
    luminance = np.repeat(a[..., 1:2], 3, 2)
    cases.add('exr_luminance_chroma.exr', subsampled_exr({**without, 'Y': (a[..., 1], 1)}), color(luminance))
    cases.add('exr_luminance_chroma_alpha.exr', subsampled_exr({'A': (a[..., 0], 1), **without, 'Y': (a[..., 1], 1)}), color(np.dstack([luminance, a[..., 0]]), alpha='premultiplied'))
    cases.add('exr_luminance_chroma_odd.exr', subsampled_exr({name: (values[:, :-1] if step == 1 else values, step) for name, (values, step) in {**chroma, 'Y': (a[..., 1], 1)}.items()}), unsupported('odd'))
    cases.add('exr_subsampled.exr', subsampled_exr({'X': (a[::2, ::2, 0], 2), 'Y': (a[..., 1], 1)}), unsupported('subsampled'))
    cases.add('exr_by_hand.exr', subsampled_exr({'B': (a[..., 2], 1), 'G': (a[..., 1], 1), 'R': (a[..., 0], 1)}), color(a))
    deep = np.empty((5, 6), object)
    for i in np.ndindex(deep.shape):
        deep[i] = np.arange(i[1], dtype=np.float32)
    write('exr_deep.exr', {'Z': deep}, type=OpenEXR.deepscanline, compression=OpenEXR.ZIPS_COMPRESSION)
    cases.add('exr_deep.exr', None, unsupported())
    y, x = np.mgrid[0:64, 0:64]  # rough data would not be compressed, and damage not be noticed
    write('exr_whole.exr', {letter: (x // 8 * 4 + y // 16 * k).astype(np.float32) for k, letter in enumerate('RGB')})
    with open(cases.path('exr_whole.exr'), 'rb') as file:
        whole = file.read()
    os.remove(cases.path('exr_whole.exr'))
    cases.add('exr_bad_cut.exr', whole[:len(whole) * 6 // 10], refused('truncated', 'damaged'))
    cases.add('exr_bad_cut_header.exr', whole[:60], refused('truncated', 'damaged', 'unsupported'))
    hole = bytearray(whole)
    hole[len(hole) // 2:len(hole) // 2 + 64] = bytes(64)
    cases.add('exr_bad_zeroed.exr', bytes(hole), refused('truncated', 'damaged'))
    at = whole.index(b'dataWindow\0box2i\0') + 21
    large = bytearray(whole)
    struct.pack_into('<4i', large, at, 0, 0, 29999, 29999)
    cases.add('exr_bad_claims.exr', bytes(large), refused('truncated', 'damaged', 'unsupported', 'too_large'))


def subsampled_exr(channels):
    """An OpenEXR of {name: (half samples, every how many rows and columns)}, in the order of their names, not compressed."""

    def attribute(name, kind, data):
        return name + b'\0' + kind + b'\0' + struct.pack('<I', len(data)) + data

    height, width = max(a.shape for a, _ in channels.values())
    window = struct.pack('<4i', 0, 0, width - 1, height - 1)
    named_ = b''.join(name.encode() + b'\0' + struct.pack('<IIII', 1, 0, step, step) for name, (_, step) in channels.items()) + b'\0'
    head = b'\x76\x2f\x31\x01' + struct.pack('<I', 2) + attribute(b'channels', b'chlist', named_) + attribute(b'compression', b'compression', b'\0')
    head += attribute(b'dataWindow', b'box2i', window) + attribute(b'displayWindow', b'box2i', window) + attribute(b'lineOrder', b'lineOrder', b'\0')
    head += attribute(b'pixelAspectRatio', b'float', struct.pack('<f', 1)) + attribute(b'screenWindowCenter', b'v2f', bytes(8))
    head += attribute(b'screenWindowWidth', b'float', struct.pack('<f', 1)) + b'\0'
    lines = []
    for y in range(height):
        data = b''.join(a[y // step].astype('<f2').tobytes() for a, step in channels.values() if y % step == 0)
        lines.append(struct.pack('<iI', y, len(data)) + data)
    starts = np.cumsum([len(head) + 8 * height] + [len(line) for line in lines[:-1]])
    return head + starts.astype('<u8').tobytes() + b''.join(lines)
