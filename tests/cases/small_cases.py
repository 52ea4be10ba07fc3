"""QOI, TGA and .npy, and formats that are refused by name."""
import io
import struct

import imagecodecs
import numpy as np
from PIL import Image

from kit import bands, color, damaged, gray, gray_alpha, picture, refused, unsupported


def make(cases):
    qoi(cases)
    tga(cases)
    npy(cases)
    unread(cases)


def saved(image, form, **options):
    out = io.BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


# --- QOI


def qoi(cases):
    for width, height in ((37, 23), (1, 1), (64, 64)):
        for channels, name in ((3, 'rgb'), (4, 'rgba')):
            a = picture(height, width, channels)
            a[height // 3:height // 2] = a[0, 0]  # runs
            cases.add(f'qoi_{name}_{width}x{height}.qoi', imagecodecs.qoi_encode(a), color(a))
    y, x = np.mgrid[0:90, 0:110]
    a = np.stack([x + y, x // 2 + y, 255 - x], -1).astype(np.uint8)  # small differences
    data = imagecodecs.qoi_encode(a)
    cases.add('qoi_smooth.qoi', data, color(a))
    cases.add('qoi_bad_cut.qoi', data[:len(data) // 2], damaged())
    cases.add('qoi_bad_no_end.qoi', data[:-8], damaged())
    cases.add('qoi_bad_cut_header.qoi', data[:12], damaged())
    cases.add('qoi_bad_more_pixels.qoi', data[:4] + struct.pack('>II', 110, 89) + data[12:], damaged())
    cases.add('qoi_bad_claims.qoi', data[:4] + struct.pack('>II', 30000, 30000) + data[12:], refused('too_large'))
    cases.add('qoi_bad_channels.qoi', data[:12] + b'\5' + data[13:], unsupported('5 channels'))


# --- TGA


def tga(cases):
    for height, width in ((23, 37), (1, 1), (40, 300)):
        for mode, channels, truth in (('L', 1, gray), ('LA', 2, gray_alpha), ('RGB', 3, color), ('RGBA', 4, color)):
            a = picture(height, width, channels)
            a[height // 3:height // 2] = a[0, 0]
            image = Image.fromarray(a.squeeze(-1) if channels == 1 else a, mode)
            for kind, compression in (('none', None), ('rle', 'tga_rle')):
                for origin, orientation in (('bottom', -1), ('top', 1)):
                    cases.add(f'tga_{mode.lower()}_{kind}_{origin}_{width}x{height}.tga',
                              saved(image, 'TGA', compression=compression, orientation=orientation), truth(a))
    a = picture(23, 37, 1)
    table = np.random.default_rng(5).integers(0, 256, (256, 3), dtype=np.uint8)
    image = Image.fromarray(a[..., 0], 'P')
    image.putpalette(table.tobytes())
    for kind, compression in (('none', None), ('rle', 'tga_rle')):
        data = saved(image, 'TGA', compression=compression)
        cases.add(f'tga_palette_{kind}.tga', data, color(table[a[..., 0]]))
    rgb = picture(23, 37, 3)

    def header(kind, bits, descriptor=0x20, width=37, height=23):
        return struct.pack('<BBBHHBHHHHBB', 0, 0, kind, 0, 0, 0, 0, 0, width, height, bits, descriptor)

    five = rgb >> 3
    words = (five[..., 0].astype('<u2') << 10 | five[..., 1].astype('<u2') << 5 | five[..., 2]).astype('<u2')
    wide = np.round(five * (255 / 31)).astype(np.uint8)
    cases.add('tga_555.tga', header(2, 16) + words.tobytes(), color(wide))
    cases.add('tga_555_alpha.tga', header(2, 16, 0x21) + (words | 0x8000).astype('<u2').tobytes(), color(np.dstack([wide, np.full((23, 37), 255, np.uint8)])))
    four = np.dstack([rgb[..., ::-1], np.full((23, 37), 9, np.uint8)])
    cases.add('tga_32_no_alpha.tga', header(2, 32) + four.tobytes(), color(rgb))
    cases.add('tga_mirrored.tga', header(2, 24, 0x30) + rgb[:, ::-1, ::-1].tobytes(), color(rgb))
    whole = header(2, 24) + rgb[..., ::-1].tobytes()
    cases.add('tga_trailing_data.tga', whole + b'more', color(rgb))
    cases.add('tga_bad_cut.tga', whole[:-5], damaged())
    cases.add('tga_bad_claims.tga', header(2, 24, width=30000, height=30000) + bytes(900), damaged())
    cases.add('tga_bad_claims_rle.tga', header(10, 24, width=30000, height=30000) + bytes(900), refused('too_large'))
    runs = saved(Image.fromarray(rgb), 'TGA', compression='tga_rle')
    cases.add('tga_bad_cut_rle.tga', runs[:len(runs) // 2], damaged())
    cases.add('tga_gray16.tga', header(3, 16) + bytes(2 * 23 * 37), unsupported('16 bits'))


# --- .npy


def npy(cases):
    def file(a, **options):
        out = io.BytesIO()
        np.lib.format.write_array(out, a, **options)
        return out.getvalue()

    for kind, bits in (('u', 8), ('u', 16), ('u', 32), ('s', 8), ('s', 16), ('s', 32), ('f', 16), ('f', 32), ('f', 64)):
        for channels, name, truth in ((1, 'gray', gray), (3, 'rgb', color), (4, 'rgba', color), (7, 'bands', bands)):
            a = picture(23, 37, channels, bits, kind)
            for order in '<>':
                for axes in 'CF':
                    stored = np.asarray(a.squeeze(-1) if channels == 1 else a, order=axes).astype(a.dtype.newbyteorder(order), order=axes)
                    cases.add(f'npy_{a.dtype.name}_{name}_{"little" if order == "<" else "big"}_{axes}.npy', file(stored), truth(a))
    a = picture(23, 37, 1, 16)[..., 0]
    cases.add('npy_int64.npy', file(a.astype(np.int64) - 30000), gray(a.astype(np.int32) - 30000))
    cases.add('npy_uint64.npy', file(a.astype(np.uint64)), gray(a.astype(np.uint32)))
    cases.add('npy_int64_large.npy', file(a.astype(np.int64) << 20), unsupported('32 bits'))
    cases.add('npy_bool.npy', file(a > 30000), gray((a > 30000).astype(np.uint8), white=1))
    for version in ((2, 0), (3, 0)):
        cases.add(f'npy_version_{version[0]}.npy', file(a, version=version), gray(a))
    cases.add('npy_complex.npy', file(a.astype(np.complex64)), unsupported('<c8'))
    cases.add('npy_text.npy', file(np.array([['a', 'b']])), unsupported('<U1'))
    cases.add('npy_records.npy', file(np.zeros((3, 4), [('a', '<u2'), ('b', '<f4')])), unsupported('records'))
    cases.add('npy_one_axis.npy', file(a[0]), unsupported('1 axes'))
    cases.add('npy_planes.npy', file(np.zeros((3, 37, 99), np.uint8)), unsupported('99 channels'))
    cases.add('npy_bad_cut.npy', file(a)[:-3], damaged())
    cases.add('npy_bad_cut_header.npy', file(a)[:40], damaged())
    cases.add('npy_bad_claims.npy', file(np.zeros((1, 1), np.uint8)).replace(b'(1, 1), }' + b' ' * 8, b'(30000, 30000), }'), damaged())
    stack = np.stack([picture(23, 37, 3, seed=i) for i in range(4)])
    for axes in 'CF':
        cases.add(f'npy_pages_{axes}.npy', file(np.asarray(stack, order=axes)), color(stack[0]), pages=[color(page) for page in stack])


# --- formats that are refused by name


def unread(cases):
    image = Image.fromarray(picture(23, 37, 3))
    for form, says in (('PCX', 'a PCX.*convert'), ('SGI', 'an SGI image.*convert'), ('ICO', 'an icon.*convert'), ('DDS', 'a DDS texture.*convert'), ('PDF', 'a PDF.*pdftoppm')):
        cases.add(f'unread_{form.lower()}.{form.lower()}', saved(image, form), unsupported(says))
    cases.add('unread_psd.psd', b'8BPS\0\1' + bytes(6) + struct.pack('>HIIHH', 3, 23, 37, 8, 3) + bytes(400), unsupported('a Photoshop file.*convert'))
    for brand in (b'heic', b'heix', b'hevc', b'mif1', b'msf1'):
        cases.add(f'unread_{brand.decode()}.heic', struct.pack('>I', 24) + b'ftyp' + brand + bytes(4) + brand + b'mif1' + bytes(400), unsupported('a HEIC image.*heif-convert'))
    for name, preamble in (('zeros', bytes(128)), ('tiff', (b'II*\0\x10\x27' + bytes(128))[:128])):
        cases.add(f'unread_dicom_{name}.dcm', preamble + b'DICM\2\0\0\0UL\4\0' + bytes(4000), unsupported('a DICOM file.*dcmj2pnm'))
    cases.add('unread_jpegls.jls', imagecodecs.jpegls_encode(picture(23, 37, 3)), unsupported('JPEG-LS'))
