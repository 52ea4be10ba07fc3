"""AVIF, JPEG XL and FITS."""
import io
import struct

import imagecodecs
import numpy as np
from astropy.io import fits as astropy_fits
from PIL import Image

from kit import color, damaged, gray, gray_alpha, not_finite, picture, refused, unsupported

HEIGHT, WIDTH = 23, 37


def make(cases):
    avif(cases)
    jpegxl(cases)
    fits(cases)


def near(truth, distance):
    """The truth within a distance, where decoders round once more or less."""
    rows = {channel: {**row, 'near': distance} for channel, row in truth['rows'].items()}
    return {**truth, 'rows': rows}


# --- AVIF


def avif(cases):
    for channels, name, truth in ((1, 'gray', gray), (2, 'gray_alpha', gray_alpha), (3, 'rgb', color), (4, 'rgba', color)):
        for bits in (8, 10, 12):
            a = picture(HEIGHT, WIDTH, channels, bits)
            white = None if bits == 8 else 2**bits - 1
            data = imagecodecs.avif_encode(a.squeeze(-1) if channels == 1 else a, level=100, bitspersample=bits)
            cases.add(f'avif_lossless_{name}{bits}.avif', data, truth(a, white=white))
    a = picture(HEIGHT, WIDTH, 3)
    for sampling in ('4:4:4', '4:2:2', '4:2:0'):
        for limits in ('full', 'limited'):
            out = io.BytesIO()
            Image.fromarray(a).save(out, 'AVIF', quality=80, subsampling=sampling, range=limits)
            said = np.asarray(Image.open(io.BytesIO(out.getvalue())))
            cases.add(f'avif_{sampling.replace(":", "")}_{limits}.avif', out.getvalue(), near(color(said), 2 if sampling == '4:4:4' else 4))
    for matrix in ('bt601', 'bt709'):
        try:
            data = imagecodecs.avif_encode(a, level=90, pixelformat='444', matrix=matrix)
        except Exception:  # the word is another
            continue
        cases.add(f'avif_matrix_{matrix}.avif', data, near(color(imagecodecs.avif_decode(data)), 2))
    frames = np.stack([picture(HEIGHT, WIDTH, 3, seed=i) for i in range(3)])
    data = imagecodecs.avif_encode(frames, level=100)
    cases.add('avif_frames.avif', data, color(frames[0]), pages=[color(frame) for frame in frames])
    whole = imagecodecs.avif_encode(picture(90, 110, 3), level=90)
    cases.add('avif_bad_cut.avif', whole[:len(whole) // 2], damaged())
    cases.add('avif_bad_cut_header.avif', whole[:60], damaged())
    start = whole.index(b'mdat') + 4
    for place in (2, 4, 6, 13, 15):  # types and sizes of OBUs, about which decoders print
        changed = bytearray(whole)
        changed[start + place] ^= 0x78
        cases.add(f'avif_bad_obu{place}.avif', bytes(changed), damaged())
    at = whole.index(b'ispe') + 8
    cases.add('avif_bad_claims.avif', whole[:at] + struct.pack('>II', 30000, 30000) + whole[at + 8:], refused('damaged', 'too_large', 'truncated'))


# --- JPEG XL


def jpegxl(cases):
    for channels, name, truth in ((1, 'gray', gray), (2, 'gray_alpha', gray_alpha), (3, 'rgb', color), (4, 'rgba', color)):
        for bits in (8, 10, 12, 16):
            a = picture(HEIGHT, WIDTH, channels, bits)
            white = None if bits in (8, 16) else 2**bits - 1
            for container in (False, True):
                data = imagecodecs.jpegxl_encode(a.squeeze(-1) if channels == 1 else a, lossless=True, bitspersample=bits, usecontainer=container)
                cases.add(f'jxl_lossless_{name}{bits}_{"container" if container else "bare"}.jxl', data, truth(a, white=white))
    a = np.clip(picture(HEIGHT, WIDTH, 3, 32, 'f'), 0, 1)
    cases.add('jxl_lossless_float.jxl', imagecodecs.jpegxl_encode(a, lossless=True), color(a))
    a = picture(HEIGHT, WIDTH, 3)
    data = imagecodecs.jpegxl_encode(a, level=90, lossless=False)
    cases.add('jxl_lossy.jxl', data, near(color(imagecodecs.jpegxl_decode(data)), 3))
    frames = np.stack([picture(HEIGHT, WIDTH, 3, seed=i) for i in range(3)])
    data = imagecodecs.jpegxl_encode(frames, lossless=True)
    cases.add('jxl_frames.jxl', data, color(frames[0]), pages=[color(frame) for frame in frames])
    whole = imagecodecs.jpegxl_encode(picture(90, 110, 3), lossless=True)
    cases.add('jxl_bad_cut.jxl', whole[:len(whole) // 2], damaged())
    cases.add('jxl_bad_cut_header.jxl', whole[:3], damaged())
    hole = bytearray(whole)
    hole[len(hole) // 2:len(hole) // 2 + 200] = bytes(200)
    cases.add('jxl_bad_zeroed.jxl', bytes(hole), damaged())


# --- FITS


def fits(cases):

    def file(*units, **options):
        out = io.BytesIO()
        astropy_fits.HDUList(list(units)).writeto(out, **options)
        return out.getvalue()

    primary, image = astropy_fits.PrimaryHDU, astropy_fits.ImageHDU
    for kind, bits in (('u', 8), ('u', 16), ('u', 32), ('s', 8), ('s', 16), ('s', 32), ('f', 32), ('f', 64)):
        a = picture(HEIGHT, WIDTH, 1, bits, kind)[..., 0]
        cases.add(f'fits_{a.dtype.name}.fits', file(primary(a)), gray(a[..., None]))
    a = picture(HEIGHT, WIDTH, 1, 16, 's')[..., 0]
    for compression in ('RICE_1', 'GZIP_1'):
        compressed = astropy_fits.CompImageHDU(a, compression_type=compression)
        cases.add(f'fits_compressed_{compression}.fits', file(primary(), compressed), unsupported('funpack'))
    cases.add('fits_int64.fits', file(primary(a.astype(np.int64) * 3)), gray((a.astype(np.int32) * 3)[..., None]))
    cases.add('fits_int64_large.fits', file(primary(a.astype(np.int64) << 20)), unsupported('32 bits'))
    cases.add('fits_uint64.fits', file(primary((a.astype(np.int64) + 40000).astype(np.uint64) * 3)), gray(((a.astype(np.int64) + 40000) * 3).astype(np.uint32)[..., None]))

    def scaled(stored, scale, zero, **more):
        unit = primary(stored)
        for key, value in {'BSCALE': scale, 'BZERO': zero, **more}.items():
            unit.header[key] = value
        return file(unit)

    wide = picture(HEIGHT, WIDTH, 1, 32, 's')[..., 0]
    single, double = (picture(HEIGHT, WIDTH, 1, bits, 'f')[..., 0] for bits in (32, 64))
    narrow = picture(HEIGHT, WIDTH, 1, 8)[..., 0]
    for name, stored, scale, zero, kind in (
            ('half', a, 0.5, 10, np.float32), ('tenth', a, 0.1, -7.25, np.float32), ('falling', a, -3e-5, 1, np.float32), ('bytes', narrow, 1 / 3, 0, np.float32),
            ('wide', wide, 0.1, 3.5, np.float64), ('wide_thousand', wide, 1000, 1, np.float64), ('single', single, 2.5, -1, np.float32),
            ('double', double, 0.1, 1e-3, np.float64), ('whole', narrow, 2, -100, np.int16), ('whole_falling', narrow, -1, 300, np.int16), ('whole_high', narrow, 200, 100, np.uint16),
            ('whole_shifted', a, 1, 10, np.int32), ('whole_unsigned', narrow, 16777216, 5, np.uint32)):
        right = stored.astype(np.float64) * scale + zero
        cases.add(f'fits_scaled_{name}.fits', scaled(stored, scale, zero), gray(right.astype(kind)[..., None]))
    b = a.copy()
    b[3, 4:9] = -99
    blank = primary(b)
    blank.header['BLANK'] = -99
    valid = gray(b[..., None])
    values = b[b != -99].astype(object)
    valid['rows']['gray'].update(min=int(values.min()), max=int(values.max()), mean=int(values.sum()) / values.size)
    cases.add('fits_blank.fits', file(blank), valid)
    right = b * np.float32(0.25)
    right[b == -99] = np.nan
    cases.add('fits_blank_scaled.fits', scaled(b, 0.25, 0, BLANK=-99), not_finite(right[..., None]))
    values += 32768
    valid = gray((b.astype(np.int32) + 32768).astype(np.uint16)[..., None])
    valid['rows']['gray'].update(min=int(values.min()), max=int(values.max()), mean=int(values.sum()) / values.size)
    cases.add('fits_blank_unsigned.fits', scaled(b, 1, 32768, BLANK=-99), valid)
    holes = single.copy()
    holes[5, 6:8], holes[7, 3] = np.nan, np.inf
    cases.add('fits_nan.fits', file(primary(holes)), not_finite(holes[..., None]))
    words = primary(a)
    words.header['LONGTEXT'] = 'text that is continued, ' * 20
    words.header['HIERARCH ESO DET BSCALE'] = 2.5
    for i in range(100):
        words.header.add_comment(f'BSCALE  = {i}')
        words.header.add_history(f'NAXIS1  = {i}')
    cases.add('fits_words.fits', file(words), gray(a[..., None]))
    cases.add('fits_row.fits', file(primary(a[0])), gray(a[:1, :, None]))
    c = picture(HEIGHT, WIDTH, 1, 32, 'f')[..., 0]
    cases.add('fits_extension.fits', file(primary(), image(a), image(c)), gray(a[..., None]), pages=[gray(a[..., None]), gray(c[..., None])])
    cube = np.stack([picture(HEIGHT, WIDTH, 1, 16, 's', seed=i)[..., 0] for i in range(4)])
    cases.add('fits_cube.fits', file(primary(cube), image(c)), gray(cube[0][..., None]), pages=[gray(plane[..., None]) for plane in cube] + [gray(c[..., None])])
    cases.add('fits_checksum.fits', file(primary(a), checksum=True), gray(a[..., None]))
    wrong = bytearray(file(primary(a), checksum=True))
    wrong[-2880 + 100] ^= 0x40
    cases.add('fits_bad_checksum.fits', bytes(wrong), damaged('checksum'))
    hyper = np.stack([cube, cube[::-1]])
    cases.add('fits_four_axes.fits', file(primary(hyper)), gray(hyper[0, 0][..., None]), pages=[gray(plane[..., None]) for plane in hyper.reshape(-1, *a.shape)])
    table = astropy_fits.BinTableHDU.from_columns([astropy_fits.Column('x', 'J', array=np.arange(9))])
    cases.add('fits_table.fits', file(primary(), table), unsupported('without an image'))
    cases.add('fits_ascii_table.fits', file(primary(), astropy_fits.TableHDU.from_columns([astropy_fits.Column('x', 'I5', array=np.arange(9))])), unsupported('without an image'))
    cases.add('fits_behind_tables.fits', file(primary(), table, image(a), table, image(c)), gray(a[..., None]), pages=[gray(a[..., None]), gray(c[..., None])])
    whole = file(primary(a))
    cases.add('fits_not_standard.fits', whole.replace(b'SIMPLE  =                    T', b'SIMPLE  =                    F'), unsupported('SIMPLE'))
    for name, old, new in (('bits', b'BITPIX  =                   16', b'BITPIX  =                   17'), ('sides', b'NAXIS2  =', b'NAXIS3  ='), ('scale', b'EXTEND  =                    T', b'BSCALE  =                    T')):
        cases.add(f'fits_bad_{name}.fits', whole.replace(old, new), damaged('wrong card'))
    cases.add('fits_bad_cut.fits', whole[:2880 + 700], damaged())
    cases.add('fits_bad_cut_header.fits', whole[:300], damaged())
    cases.add('fits_bad_claims.fits', whole.replace(b'NAXIS1  =                   37', b'NAXIS1  =                30000').replace(b'NAXIS2  =                   23', b'NAXIS2  =                30000'), refused('truncated', 'damaged', 'too_large'))
