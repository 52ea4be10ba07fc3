"""PBM, PGM, PPM, PAM, PFM: values as they are written."""
import itertools

import numpy as np

from kit import bands, color, damaged, gray, gray_alpha, not_finite, picture, refused


def values(channels, top, height=11, width=13):
    a = picture(height, width, channels, 8 if top < 256 else 16, seed=top).astype(np.int64)
    return (a * top // (255 if top < 256 else 65535)).astype(np.uint8 if top < 256 else np.uint16)


def binary(a, top):
    return a.astype('>u2' if top > 255 else np.uint8).tobytes()


def text(a):
    return b'\n'.join(b' '.join(b'%d' % v for v in line) for line in a.reshape(a.shape[0], -1).tolist()) + b'\n'


def pam(a, kind, top, extra=b''):
    height, width, depth = a.shape
    kind = b'TUPLTYPE %s\n' % kind if kind else b''
    return b'P7\n%sWIDTH %d\nHEIGHT %d\nDEPTH %d\nMAXVAL %d\n%sENDHDR\n' % (extra, width, height, depth, top, kind) + binary(a, top)


def pfm(a, scale):
    height, width, channels = a.shape
    order = '<' if scale.startswith(b'-') else '>'
    return b'%s\n%d %d\n%s\n' % (b'PF' if channels == 3 else b'Pf', width, height, scale) + a[::-1].astype(order + 'f4').tobytes()


TOPS = (1, 2, 3, 7, 15, 31, 63, 100, 127, 200, 254, 255, 256, 257, 1000, 1023, 4095, 16383, 32767, 65534, 65535)


def make(cases):
    for top, channels in itertools.product(TOPS, (1, 3)):
        a = values(channels, top)
        truth = gray(a, white=top) if channels == 1 else color(a, white=top)
        head = b'%d %d\n%d\n' % (a.shape[1], a.shape[0], top)
        extension = 'pgm' if channels == 1 else 'ppm'
        cases.add(f'netpbm_text_top{top}.{extension}', (b'P2\n' if channels == 1 else b'P3\n') + head + text(a), truth)
        cases.add(f'netpbm_binary_top{top}.{extension}', (b'P5\n' if channels == 1 else b'P6\n') + head + binary(a, top), truth)
    for width in (1, 7, 8, 9, 37):
        black = values(1, 255, 11, width) > 128
        truth = gray(np.where(black, 0, 255).astype(np.uint8))
        bits = np.packbits(black[..., 0], axis=1).tobytes()
        head = b'%d 11\n' % width
        cases.add(f'netpbm_binary_width{width}.pbm', b'P4\n' + head + bits, truth)
        cases.add(f'netpbm_text_width{width}.pbm', b'P1\n' + head + text(black.astype(int)), truth)
        cases.add(f'netpbm_text_width{width}_no_spaces.pbm', b'P1\n' + head + text(black.astype(int)).replace(b' ', b''), truth)
    headers(cases)
    pams(cases)
    pfms(cases)
    errors(cases)


def headers(cases):
    a = values(1, 255)
    truth = gray(a)
    for name, head in {'comments': b'P5 # a comment\n# 99 99\n13 # width\n11\n# 1\n255\n', 'one_line': b'P5 13 11 255\n', 'spaces': b'P5\n\n  13\t\t11 \r\n255 ', 'returns': b'P5\r13\r11\r255\n',
                       'leading_zeros': b'P5\n0013 00011\n0255\n'}.items():
        cases.add(f'netpbm_header_{name}.pgm', head + a.tobytes(), truth)
    cases.add('netpbm_text_comments.pgm', b'P2 # c\n13 11 255\n' + text(a[:5]) + text(a[5:]).replace(b'\n', b'\n# 1 2 3\n', 1), truth, may_refuse=True)
    cases.add('netpbm_text_one_a_line.pgm', b'P2\n13 11\n255\n' + text(a).replace(b' ', b'\n'), truth)
    cases.add('netpbm_text_no_end_of_line.pgm', (b'P2\n13 11\n255\n' + text(a)).rstrip(), truth)
    cases.add('netpbm_text_windows.ppm', (b'P3\n13 11\n255\n' + text(values(3, 255))).replace(b'\n', b'\r\n'), color(values(3, 255)))
    cases.add('netpbm_trailing_data.pgm', b'P5\n13 11\n255\n' + a.tobytes() + b'\n', truth)
    two = b'P5\n13 11\n255\n' + a.tobytes()
    cases.add('netpbm_two_images.pgm', two + b'P5\n13 11\n255\n' + bytes(143), truth)
    # Binary pixels that look like white space or comments.
    b = np.full((11, 13, 1), ord('#'), np.uint8)
    b[0, :3, 0] = [ord('\n'), ord(' '), ord('9')]
    cases.add('netpbm_pixels_like_a_header.pgm', b'P5\n13 11\n255\n' + b.tobytes(), gray(b))


def pams(cases):
    for top in (1, 15, 100, 255, 256, 1000, 65535):
        for kind, channels, truth in ((b'GRAYSCALE', 1, gray), (b'GRAYSCALE_ALPHA', 2, gray_alpha), (b'RGB', 3, color), (b'RGB_ALPHA', 4, color)):
            a = values(channels, top)
            cases.add(f'pam_{kind.decode().lower()}_top{top}.pam', pam(a, kind, top), truth(a, white=top))
    for kind, channels, truth in ((b'BLACKANDWHITE', 1, gray), (b'BLACKANDWHITE_ALPHA', 2, gray_alpha)):
        a = values(channels, 1)
        cases.add(f'pam_{kind.decode().lower()}.pam', pam(a, kind, 1), truth(a, white=1))
    for channels, name in ((1, b''), (2, b''), (3, b''), (4, b''), (2, b'SPECTRUM'), (3, b'BANDS'), (4, b'YCCK')):
        a = values(channels, 255)
        truth = gray(a) if channels == 1 else bands(a)
        cases.add(f'pam_depth{channels}_type_{name.decode().lower() or "not_said"}.pam', pam(a, name, 255), truth, may_refuse=True)
    a = values(6, 255)
    cases.add('pam_depth6.pam', pam(a, b'BANDS', 255), bands(a))
    a = values(3, 255)
    cases.add('pam_comments.pam', pam(a, b'RGB', 255, b'# WIDTH 5\n#\n\n'), color(a))
    cases.add('pam_order.pam', b'P7\nTUPLTYPE RGB\nMAXVAL 255\nDEPTH 3\nHEIGHT 11\nWIDTH 13\nENDHDR\n' + a.tobytes(), color(a))
    cases.add('pam_spaces.pam', b'P7\nWIDTH   13  \nHEIGHT\t11\nDEPTH 3\nMAXVAL 255\nTUPLTYPE   RGB  \nENDHDR\n' + a.tobytes(), color(a))
    cases.add('pam_pixels_like_a_header.pam', b'P7\nWIDTH 7\nHEIGHT 2\nDEPTH 1\nMAXVAL 255\nTUPLTYPE GRAYSCALE\nENDHDR\nENDHDR\nENDHDR\n', gray(np.frombuffer(b'ENDHDR\nENDHDR\n', np.uint8).reshape(2, 7, 1)))


def pfms(cases):
    for channels, scale in itertools.product((1, 3), (b'-1.0', b'1.0', b'-4', b'4.0', b'0.5', b'-2.5e-1', b'-1', b'1', b'-255.000000', b'+1.0')):
        a = picture(11, 13, channels, 32, 'f') - np.float32(0.1)
        truth = gray(a) if channels == 1 else color(a)
        cases.add(f'pfm_{"gray" if channels == 1 else "rgb"}_scale_{scale.decode()}.pfm', pfm(a, scale), truth)
    a = picture(11, 13, 1, 32, 'f')
    a[1, 2], a[3, 4], a[5, 6], a[7, 7] = np.nan, np.inf, -np.inf, 1e38
    cases.add('pfm_nan_and_infinity.pfm', pfm(a, b'-1.0'), not_finite(a))
    cases.add('pfm_pixels_like_white_space.pfm', b'Pf\n2 1\n-1.0\n' + b'\n \n\x01\r\n#\x02', gray(np.frombuffer(b'\n \n\x01\r\n#\x02', '<f4').astype(np.float32).reshape(1, 2, 1)))


def errors(cases):
    a = values(1, 255)
    cut = refused('truncated')
    for name, data in {'cut.pgm': b'P5\n13 11\n255\n' + a.tobytes()[:-1], 'cut16.pgm': b'P5\n13 11\n1000\n' + bytes(285), 'cut_text.pgm': b'P2\n13 11\n255\n' + text(a[:-1]), 'cut.pbm': b'P4\n13 11\n' + bytes(21),
                       'cut_text.pbm': b'P1\n13 11\n' + b'0 1 ' * 70, 'cut_header.pgm': b'P5\n13', 'claims.pgm': b'P5\n30000 30000\n255\n' + a.tobytes(), 'claims_text.ppm': b'P3\n30000 30000\n255\n1 2 3\n'}.items():
        cases.add(f'netpbm_bad_{name}', data, refused('truncated', 'damaged', says='') if 'header' in name else cut)
    wrong = refused('damaged', 'unsupported', 'truncated', 'too_large')
    for name, head in {'top_0': b'P5\n13 11\n0\n', 'top_65536': b'P5\n13 11\n65536\n', 'width_0': b'P5\n0 11\n255\n', 'negative': b'P5\n-13 11\n255\n', 'letters': b'P5\nab 11\n255\n', 'no_top': b'P5\n13 11\nx\n'}.items():
        cases.add(f'netpbm_bad_{name}.pgm', head + a.tobytes() * 2, wrong)
    cases.add('netpbm_bad_letters_in_text.pgm', b'P2\n13 11\n255\n' + text(a).replace(b' ', b' x ', 1), damaged())
    cases.add('netpbm_bad_text_over_top.pgm', b'P2\n13 11\n100\n' + text(np.where(a == 0, 101, 100)), wrong)
    cases.add('netpbm_bad_letters_in_text.pbm', b'P1\n4 1\n0 1 2 1\n', damaged())
    rgb = values(3, 255)
    cases.add('pam_bad_cut.pam', pam(rgb, b'RGB', 255)[:-1], cut)
    cases.add('pam_bad_no_end_of_header.pam', b'P7\nWIDTH 13\nHEIGHT 11\nDEPTH 3\nMAXVAL 255\n', wrong)
    cases.add('pam_bad_rgb_of_depth_2.pam', pam(values(2, 255), b'RGB', 255), wrong)
    cases.add('pam_bad_rgb_alpha_of_depth_3.pam', pam(rgb, b'RGB_ALPHA', 255), wrong)
    for name, header in {'no_width': b'P7\nHEIGHT 11\nDEPTH 3\nMAXVAL 255\nENDHDR\n', 'no_maximum': b'P7\nWIDTH 13\nHEIGHT 11\nDEPTH 3\nENDHDR\n', 'depth_0': b'P7\nWIDTH 13\nHEIGHT 11\nDEPTH 0\nMAXVAL 255\nENDHDR\n',
                         'top_0': b'P7\nWIDTH 13\nHEIGHT 11\nDEPTH 3\nMAXVAL 0\nENDHDR\n', 'claims': b'P7\nWIDTH 30000\nHEIGHT 30000\nDEPTH 3\nMAXVAL 255\nTUPLTYPE RGB\nENDHDR\n'}.items():
        cases.add(f'pam_bad_{name}.pam', header + rgb.tobytes(), wrong)
    f = picture(11, 13, 1, 32, 'f')
    cases.add('pfm_bad_cut.pfm', pfm(f, b'-1.0')[:-1], cut)
    cases.add('pfm_bad_scale_0.pfm', pfm(f, b'0'), wrong)
    cases.add('pfm_bad_scale_no_number.pfm', pfm(f, b'one'), wrong)
    cases.add('pfm_bad_claims.pfm', b'PF\n30000 30000\n-1.0\n' + bytes(999), wrong)
