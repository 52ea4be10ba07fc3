"""JPEG: codings, samplings, color spaces and markers, and what is wrong with them. What OpenCV makes of the coefficients is right."""
import base64
import io
import struct

import cv2
import imagecodecs
import numpy as np
from PIL import Image

from kit import color, damaged, gray, picture, refused, unsupported

# Arithmetic coding, sequential and progressive: libraries for Python read, but do not write it. By jpegtran of a picture of 33 x 24.
ARITHMETIC = {
    'sequential':
        '|JeWF01!$>Nk#wx0RR9200961|JwjV01XKW3knDg3knMk4h;_zAQcl55)&sJ9v2`kDKRiEDJ?8BI!Zn>HbyrrEkIX6ModmpQ&KWMT47pHU`kO^PygEhLjevB'
        '4iga*CKVMXPc<zyPft%zPft%zPft%zPft%zPft%zPft%zPft%zPft%zPft%zPft%zPft%zPft%zPf!2J01*fP7yuyy0U`hb5di}c0sqVZ3IGrg1pyEd1^?Or'
        '3<CiG0ucid06zfI7RM&7<!J*@5*WM&io1l<F!QN*aD{{gZD?F+UU>~KcI?`{y<yX+KH}0y+FEaZY@JZUm%c7*&?kPlQ#I4;7wJ5^<PC;<x>d^pJjW>A;>xLI'
        'UzA)h8<PPeo43;dSVX_oS!44$6Vxx43SfZV^CRg*mr6bAQs+P{d%P08Bv}gF1qWr(dL+#)X_OZwy(6gvdJq$?1g*Q88uPPlSwDfdWRm%Qj;ZU^`no&I0T4jV'
        ')<c-(rdw@@F?Bppfc+w=2xx=;?H!QE!THBPdYW~A@c-E',
    'progressive':
        '|JeWF01!$>Nk#wx0RR9200961|JwjV01XKW3knDg3knMk4h;_zAQcl55)&sJ9v2`kDKRiEDJ?8BI!Zn>HbyrrEkIX6ModmpQ&KWMT47pHU`kO^PygEhLjevB'
        '4iga*CKVMXPc<zyPft%zPft%zPft%zPft%zPft%zPft%zPft%zPft%zPft%zPft%zPft%zPft%zPf!2K01*fP7yuyy0U`hb5di}c0sqVZ1^^HN5dYc$3<CiG'
        '0uTcb0005eOK+7<CI)OFp;!o1-m>5n&z38ktdu>rh6P~%%m4%s1^?Or2mt{A0R;j!TUauG-XX&&;$e|51ZM;M&iGF(7U1N7|I7dc5e5I+00;pC0RcY&6M2A!'
        '2y{1OV9_IWQ%=4BNY=#v%m4%t1^?Or2mt~C0Y3p1RGT0*Dy$^J%Bqdaqocvf6~FNR%m4%s1^?Or2mt{A20sF@|I7dc5C#9*00;pA00BQCL>itEz04bA5?U2W'
        'ai^}d!bljir}PsfX(&wp+5ij#0RRF30{{R35U}gk#t{F^00a>Q|Jncu0RsU6KM*Y^DUD5<m7tZi|I7dc5e5I+00;pB0RcY{{`-L%Ph##2Fet$P%m4%s1^?Or'
        '2mt{A0Y4C(aBfQd3YZ>^9Krxno3TKc>J@oK)VMS1C*jUxM?{uReI+S(<gYdhI0Uo(aV_#HkPJlz-H>+paPebY|Je'
}
SOI, EOI, SOS = 0xD8, 0xD9, 0xDA


def truth_of(data, **more):
    a = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_ANYCOLOR)
    assert a is not None
    return gray(a, **more) if a.ndim == 2 else color(a[..., ::-1], **more)


def segments(data):
    """(marker, start, end) of the segments; of a scan with its data."""
    at, found = 2, []
    while at < len(data):
        marker, start = data[at + 1], at
        at += 2
        if marker != EOI:
            at += struct.unpack_from('>H', data, at)[0]
        if marker == SOS:
            while data[at] != 0xFF or data[at + 1] == 0 or 0xD0 <= data[at + 1] <= 0xD7:
                at += 1
        found.append((marker, start, at))
        if marker == EOI:
            break
    return found


def place(data, marker, nth=0):
    """Where the nth segment of this kind starts and ends."""
    return [(start, end) for kind, start, end in segments(data) if kind == marker][nth]


def scan_data(data, nth=0):
    """Where the entropy-coded data of the nth scan start and end."""
    start, end = place(data, SOS, nth)
    return start + 2 + struct.unpack_from('>H', data, start + 2)[0], end


def inserted(data, at, more):
    return data[:at] + more + data[at:]


def segment(marker, data):
    return struct.pack('>BBH', 0xFF, marker, len(data) + 2) + data


def exif(orientation, order='<', more=b''):
    entries = [(0x0112, 3, 1, struct.pack(order + 'HH', orientation, 0)), (0x0131, 2, 4, b'abc\0')]
    body = struct.pack(order + 'H', len(entries)) + b''.join(struct.pack(order + 'HHI', *entry[:3]) + entry[3] for entry in entries) + bytes(4)
    return segment(0xE1, b'Exif\0\0' + (b'II*\0' if order == '<' else b'MM\0*') + struct.pack(order + 'I', 8) + body + more)


def by_opencv(a, *options):
    ok, data = cv2.imencode('.jpg', a[..., ::-1] if a.shape[2] == 3 else a, [cv2.IMWRITE_JPEG_QUALITY, 90, *options])
    assert ok
    return data.tobytes()


def by_imagecodecs(a, **options):
    return imagecodecs.jpeg8_encode(np.ascontiguousarray(a.squeeze()), level=90, **options)


def make(cases):
    codings(cases)
    markers(cases)
    errors(cases)


def codings(cases):
    samplings = {name: getattr(cv2, f'IMWRITE_JPEG_SAMPLING_FACTOR_{name}') for name in ('411', '420', '422', '440', '444')}
    sizes = ((23, 37), (16, 16), (1, 1), (8, 9), (17, 15), (64, 33))
    for height, width in sizes:
        a = picture(height, width, 3)
        for progressive in (0, 1):
            coding = 'progressive' if progressive else 'baseline'
            for name, factor in samplings.items():
                data = by_opencv(a, cv2.IMWRITE_JPEG_SAMPLING_FACTOR, factor, cv2.IMWRITE_JPEG_PROGRESSIVE, progressive)
                cases.add(f'jpeg_{coding}_{name}_{width}x{height}.jpg', data, truth_of(data))
            data = by_opencv(a[..., :1], cv2.IMWRITE_JPEG_PROGRESSIVE, progressive)
            cases.add(f'jpeg_{coding}_gray_{width}x{height}.jpg', data, truth_of(data))
            for interval in (1, 3):
                data = by_opencv(a, cv2.IMWRITE_JPEG_RST_INTERVAL, interval, cv2.IMWRITE_JPEG_PROGRESSIVE, progressive)
                cases.add(f'jpeg_{coding}_restart{interval}_{width}x{height}.jpg', data, truth_of(data))
    a = picture(23, 37, 3)
    for name, options in {'rgb': {'outcolorspace': 'RGB'}, '410': {'outcolorspace': 'YCBCR', 'subsampling': (4, 1)}, 'optimized': {'optimize': True}}.items():
        data = by_imagecodecs(a, colorspace='RGB', **options)
        cases.add(f'jpeg_{name}.jpg', data, truth_of(data))
    for quality in (1, 30, 100):
        data = imagecodecs.jpeg8_encode(a, level=quality)
        cases.add(f'jpeg_quality{quality}.jpg', data, truth_of(data))
    b = picture(23, 37, 4)
    for space in ('CMYK', 'YCCK'):
        data = by_imagecodecs(b, colorspace='CMYK', outcolorspace=space)
        cases.add(f'jpeg_{space.lower()}.jpg', data, truth_of(data))
    out = io.BytesIO()
    Image.fromarray(b, 'CMYK').save(out, 'JPEG', quality=90)
    cases.add('jpeg_cmyk_by_pillow.jpg', out.getvalue(), truth_of(out.getvalue()))
    data = by_imagecodecs(b, colorspace='CMYK', outcolorspace='CMYK')
    start, end = place(data, 0xEE)
    data = data[:start] + data[end:]
    cases.add('jpeg_cmyk_without_adobe.jpg', data, truth_of(data))
    for name, text in ARITHMETIC.items():
        data = base64.b85decode(''.join(text))
        cases.add(f'jpeg_arithmetic_{name}.jpg', data, truth_of(data))


def markers(cases):
    for kind, a in (('rgb', picture(23, 37, 3)), ('gray', picture(23, 37, 1))):
        data = by_opencv(a)
        for orientation in range(1, 9):
            turned = inserted(data, 2, exif(orientation, '<>'[orientation % 2]))
            size = (23, 37) if orientation <= 4 else (37, 23)
            cases.add(f'jpeg_orientation{orientation}_{kind}.jpg', turned, truth_of(data), height=size[0], width=size[1])
    a = picture(23, 37, 3)
    data = by_opencv(a)
    truth = truth_of(data)
    thumbnail = by_opencv(picture(8, 8, 3, seed=9))
    _, end = scan_data(data)
    for name, changed in {
            'trailing_zeros': data + bytes(500), 'trailing_text': data + b'camera notes' * 50, 'trailing_jpeg': data + thumbnail, 'trailing_eoi': data + b'\xff\xd9',
            'extraneous_before_end': inserted(data, end, b'\x11' * 40), 'extraneous_before_end_1': inserted(data, end, b'\x12'), 'extraneous_before_end_4k': inserted(data, end, b'\x13' * 4096), 'extraneous_in_header': inserted(data, place(data, 0xC0)[0], b'\x11' * 9),
            'fill_before_marker': inserted(data, place(data, SOS)[0], b'\xff' * 5), 'fill_before_end': inserted(data, end, b'\xff' * 9),
            'comment': inserted(data, 2, segment(0xFE, b'comment \xff\xd9')), 'exif_with_thumbnail': inserted(data, 2, exif(1, more=thumbnail)),
            'exif_garbage': inserted(data, 2, segment(0xE1, b'Exif\0\0garbage')), 'exif_orientation_9': inserted(data, 2, exif(9)), 'exif_orientation_0': inserted(data, 2, exif(0)),
            'exif_empty': inserted(data, 2, segment(0xE1, b'')), 'xmp': inserted(data, 2, segment(0xE1, b'http://ns.adobe.com/xap/1.0/\0<x/>')),
            'icc_garbage': inserted(data, 2, segment(0xE2, b'ICC_PROFILE\0\x01\x02no profile')), 'icc_odd_numbers': inserted(data, 2, segment(0xE2, b'ICC_PROFILE\0\x00\x00')),
            'maker': inserted(data, 2, segment(0xED, b'Photoshop 3.0\0' + b'8BIM' * 9)), 'adobe_odd': inserted(data, 2, segment(0xEE, b'Adobe')),
            'jfif_version_9': data.replace(b'JFIF\0\x01\x01', b'JFIF\0\x09\x09', 1), 'jfif_thumbnail': data[:2] + segment(0xE0, b'JFIF\0\1\2\0\0\1\0\1\2\2' + bytes(12)) + data[20:],
            'app_all': inserted(data, 2, b''.join(segment(0xE0 + i, b'app%d' % i) for i in range(2, 14))),
    }.items():
        cases.add(f'jpeg_note_{name}.jpg', changed, truth)
    bare = data
    while b'\xff\xc4' in bare:
        start, end = place(bare, 0xC4)
        bare = bare[:start] + bare[end:]
    cases.add('jpeg_without_huffman_tables.jpg', bare, truth, may_refuse=['unsupported', 'damaged'])  # as frames of films: those of the standard are meant
    one = by_opencv(picture(23, 37, 1))
    start, _ = place(one, 0xC0)
    other = bytearray(one)
    other[start + 11] = 0x22  # sampling of the only component: no difference
    cases.add('jpeg_gray_sampling_22.jpg', bytes(other), truth_of(bytes(other)))


def errors(cases):
    a = picture(64, 80, 3)
    for name, options in (('baseline', ()), ('progressive', (cv2.IMWRITE_JPEG_PROGRESSIVE, 1)), ('restart', (cv2.IMWRITE_JPEG_RST_INTERVAL, 4))):
        data = by_opencv(a, *options)
        scans = sum(kind == SOS for kind, _, _ in segments(data))
        for nth in sorted({0, scans // 2}):
            start, end = scan_data(data, nth)
            middle = (start + end) // 2 - (data[(start + end) // 2 - 1] == 0xFF)
            cases.add(f'jpeg_bad_{name}_scan{nth}_cut.jpg', data[:middle], refused('truncated', 'damaged', says='JPEG'))
            cases.add(f'jpeg_bad_{name}_scan{nth}_cut_with_end.jpg', data[:middle] + b'\xff\xd9', damaged('JPEG'))
            cases.add(f'jpeg_bad_{name}_scan{nth}_lost.jpg', data[:middle] + data[end:], damaged('JPEG'))
            cases.add(f'jpeg_bad_{name}_scan{nth}_ones.jpg', data[:middle] + b'\xff\x00' * 32 + data[middle + 64:], damaged('JPEG'))
        if scans > 1:
            _, end = scan_data(data, 0)
            cases.add('jpeg_bad_progressive_extraneous_between_scans.jpg', inserted(data, end, b'\x11' * 40), damaged('JPEG'))
        cases.add(f'jpeg_bad_{name}_without_end.jpg', data[:-2], refused('truncated', 'damaged', says='JPEG'))
    data = by_opencv(a, cv2.IMWRITE_JPEG_RST_INTERVAL, 4)
    first, second = data.index(b'\xff\xd0'), data.index(b'\xff\xd1')
    changed = bytearray(data)
    changed[first + 1], changed[second + 1] = 0xD1, 0xD0
    cases.add('jpeg_bad_restart_swapped.jpg', bytes(changed), damaged('JPEG'))
    cases.add('jpeg_bad_restart_removed.jpg', data[:first] + data[first + 2:], damaged('JPEG'))
    cases.add('jpeg_bad_restart_interval_lost.jpg', data[:first] + data[second:], damaged('JPEG'))
    cases.add('jpeg_bad_restart_extraneous.jpg', inserted(data, first, b'\x11' * 20), damaged('JPEG'))

    data = by_opencv(a)
    any_kind = refused('truncated', 'damaged', 'unsupported', 'too_large')
    start, _ = place(data, 0xC0)
    cases.add('jpeg_bad_extraneous_pairs_before_end.jpg', inserted(data, len(data) - 2, b'\x00\x13' * 2048), damaged('JPEG'))
    cases.add('jpeg_bad_coded_data_before_end.jpg', inserted(data, len(data) - 2, data[-60:-2]), damaged('JPEG'))
    cases.add('jpeg_bad_table_without_marker.jpg', data.replace(b'\xff\xc4', b'\x00\x00', 1), damaged('JPEG'))
    for size in (32000, 65500):
        large = bytearray(data[:700])
        struct.pack_into('>HH', large, start + 5, size, size)
        cases.add(f'jpeg_bad_claims_{size}.jpg', bytes(large), any_kind)
    for marker, name in ((0xDB, 'quantization'), (0xC0, 'frame'), (SOS, 'scan')):
        begin, end = place(data, marker)
        cases.add(f'jpeg_bad_without_{name}.jpg', data[:begin] + data[end:], any_kind)
    for field, offset, value in (('height_0', 5, 0), ('width_0', 7, 0), ('precision_7', 4, 0x0700)):
        changed = bytearray(data)
        if field.startswith('precision'):
            changed[start + 4] = 7
        else:
            struct.pack_into('>H', changed, start + offset, value)
        cases.add(f'jpeg_bad_{field}.jpg', bytes(changed), any_kind)
    for length in (2, 3, 20, 200):
        cases.add(f'jpeg_bad_cut_at_{length}.jpg', data[:length], refused('truncated', 'damaged', 'unsupported'))
    b = picture(23, 37, 1, 12)
    cases.add('jpeg_12_bits.jpg', by_imagecodecs(b, bitspersample=12), unsupported('JPEG'))
    cases.add('jpeg_lossless.jpg', by_imagecodecs(picture(23, 37, 1), lossless=True), unsupported('JPEG'))
    cases.add('jpeg_lossless_16.jpg', by_imagecodecs(picture(23, 37, 1, 16), lossless=True, bitspersample=16), unsupported('JPEG'))
    cases.add('jpeg_ls.jpg', imagecodecs.jpegls_encode(picture(23, 37, 1).squeeze()), refused('unsupported', 'damaged'))
    # More scans than any picture needs.
    data = by_opencv(picture(64, 80, 1), cv2.IMWRITE_JPEG_PROGRESSIVE, 1)
    start, end = place(data, SOS, -1)
    cases.add('jpeg_bad_600_scans.jpg', data[:start] + data[start:end] * 600 + data[end:], any_kind)
