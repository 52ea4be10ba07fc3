"""A writer of TIFF that says every tag aloud, since others write only what they find reasonable."""
import lzma
import struct
import zlib

import imagecodecs
import numpy as np

from kit import packed

NONE, CCITT_RLE, CCITT_3, CCITT_4, LZW, OLD_JPEG, JPEG, DEFLATE, PACKBITS = 1, 2, 3, 4, 5, 6, 7, 8, 32773
OLD_DEFLATE, LERC, LZMA, ZSTD, WEBP, JPEG2000, JPEG_XL = 32946, 34887, 34925, 50000, 50001, 34712, 50002
WHITE_IS_ZERO, BLACK_IS_ZERO, RGB, PALETTE, MASK, CMYK, YCBCR, CIELAB, ICCLAB, ITULAB = 0, 1, 2, 3, 4, 5, 6, 8, 9, 10
CFA, LINEAR_RAW, LOGL, LOGLUV = 32803, 34892, 32844, 32845
TYPES = {'B': 1, 's': 2, 'H': 3, 'I': 4, 'R': 5, 'b': 6, 'U': 7, 'h': 8, 'i': 9, 'r': 10, 'f': 11, 'd': 12, 'Q': 16}


def packbits(rows):
    return b''.join(imagecodecs.packbits_encode(row.tobytes()) for row in rows)


def xxh64(data):
    """The checksum of zstd: XXH64 of seed 0."""
    p1, p2, p3, p4, p5 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
    mask = 2**64 - 1

    def rotated(v, by):
        return (v << by | v >> (64 - by)) & mask

    def mixed(lane, word):
        return rotated((lane + word * p2) & mask, 31) * p1 & mask

    at, value = 0, p5
    if len(data) >= 32:
        lanes = [(p1 + p2) & mask, p2, 0, -p1 & mask]
        for at in range(0, len(data) - 31, 32):
            lanes = [mixed(lane, word) for lane, word in zip(lanes, struct.unpack_from('<4Q', data, at))]
        at += 32
        value = sum(rotated(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18))) & mask
        for lane in lanes:
            value = ((value ^ mixed(0, lane)) * p1 + p4) & mask
    value = (value + len(data)) & mask
    while at + 8 <= len(data):
        value = (rotated(value ^ mixed(0, struct.unpack_from('<Q', data, at)[0]), 27) * p1 + p4) & mask
        at += 8
    if at + 4 <= len(data):
        value = (rotated(value ^ struct.unpack_from('<I', data, at)[0] * p1 & mask, 23) * p2 + p3) & mask
        at += 4
    for byte in data[at:]:
        value = rotated(value ^ byte * p5 & mask, 11) * p1 & mask
    value = (value ^ value >> 33) * p2 & mask
    value = (value ^ value >> 29) * p3 & mask
    return value ^ value >> 32


def zstd_with_checksum(data):
    """A frame that ends with a checksum, which libtiff leaves out."""
    frame = bytearray(imagecodecs.zstd_encode(data))
    frame[4] |= 4
    return bytes(frame) + struct.pack('<I', xxh64(data) & 0xFFFFFFFF)


def compress(method, rows, shape):
    """`rows`: bytes of a strip or tile, (rows, bytes per row); `shape`: (rows, columns, samples) of 8-bit samples, for codecs of images."""
    data = rows.tobytes()
    if method == NONE:
        return data
    if method in (DEFLATE, OLD_DEFLATE):
        return zlib.compress(data, 6)
    if method == LZW:
        return imagecodecs.lzw_encode(data)
    if method == PACKBITS:
        return packbits(rows)
    if method == ZSTD:
        return imagecodecs.zstd_encode(data)
    if method == LZMA:
        return lzma.compress(data, lzma.FORMAT_XZ, lzma.CHECK_NONE)
    image = np.ascontiguousarray(rows.reshape(shape).squeeze())
    if method == WEBP:
        return imagecodecs.webp_encode(image, lossless=True)
    raise ValueError(method)


def predicted(samples, predictor, order):
    """Samples (rows, columns, channels) after the predictor, as bytes (rows, bytes)."""
    rows, columns, channels = samples.shape
    if predictor == 3:
        flat = samples.astype(samples.dtype.newbyteorder('>')).reshape(rows, -1, 1).view(np.uint8)  # most significant bytes first
        planes = np.moveaxis(flat, -1, 1).reshape(rows, -1)
        out = planes.copy()
        out[:, channels:] -= planes[:, :-channels]
        return out
    if predictor == 2:
        whole = samples.view(f'u{samples.dtype.itemsize}')
        out = whole.copy()
        out[:, 1:] -= whole[:, :-1]
        samples = out
    return samples.astype(samples.dtype.newbyteorder(order)).reshape(rows, -1).view(np.uint8)


def split(a, strip=None, tile=None, planar=False, pad=0):
    """The strips or tiles of `a`, in their order."""
    height, width, _ = a.shape
    rows, columns = tile or (strip or height, width)
    for plane in np.moveaxis(a, -1, 0)[..., None] if planar else [a]:
        for y in range(0, height, rows):
            for x in range(0, width, columns):
                piece = plane[y:y + rows, x:x + columns]
                if tile:
                    full = np.full((rows, columns, piece.shape[2]), pad, a.dtype)
                    full[:piece.shape[0], :piece.shape[1]] = piece
                    piece = full
                yield np.ascontiguousarray(piece)


def joined(pieces, height, width, strip=None, tile=None):
    """The image of interleaved strips or tiles."""
    pieces = [piece.reshape(*piece.shape[:2], -1) for piece in pieces]
    rows, columns = tile or (strip or height, width)
    a = np.zeros((height, width, pieces[0].shape[2]), pieces[0].dtype)
    places = [(y, x) for y in range(0, height, rows) for x in range(0, width, columns)]
    for (y, x), piece in zip(places, pieces, strict=True):
        target = a[y:y + rows, x:x + columns]
        target[...] = piece[:target.shape[0], :target.shape[1]]
    return a


def tiff(a, photometric=None, *, bits=None, form=None, planar=False, strip=None, tile=None, order='<', big=False, compression=NONE, predictor=1,
         extra=None, colormap=None, tags=(), without=(), pieces=None, encode=None, pages=1, reverse_bits=False, pad=0x55,
         offsets_type=None):
    """A TIFF of the samples `a` (height, width, channels).

    strip: rows per strip; tile: (rows, columns); tags: (tag, type, values) more, or instead; without: tags left out; encode: makes
    bytes of the samples of a strip or tile; pieces: those bytes themselves, in place of what `a` holds; pad: what tiles hold beyond
    the edges; form: SampleFormat, if it is to be said; offsets_type: that of
    offsets and lengths.
    """
    a = np.asarray(a)
    a = a[..., None] if a.ndim == 2 else a
    height, width, channels = a.shape
    if bits is None:
        bits = a.dtype.itemsize * 8
    if form is None and a.dtype.kind != 'u':
        form = {'i': 2, 'f': 3}[a.dtype.kind]
    if photometric is None:
        photometric = RGB if channels >= 3 else BLACK_IS_ZERO
    strip = min(strip or height, height)
    piece_rows, piece_columns = tile or (strip, width)

    if pieces is None:
        def encoded(piece):
            native = bits in (8, 16, 32, 64)
            rows = predicted(np.ascontiguousarray(piece), predictor, order) if native else packed(piece, bits)
            return compress(compression, rows, piece.shape)

        pieces = [(encode or encoded)(piece) for piece in split(a, strip, tile, planar, pad % 2**min(bits, 8))]
    if reverse_bits:
        table = bytes(int(f'{i:08b}'[::-1], 2) for i in range(256))
        pieces = [piece.translate(table) for piece in pieces]

    fields = {}

    def field(tag, kind, *values):
        fields[tag] = (kind, values)

    field(256, 'I', width)
    field(257, 'I', height)
    field(258, 'H', *[bits] * channels)
    field(259, 'H', compression)
    field(262, 'H', photometric)
    field(277, 'H', channels)
    field(284, 'H', 2 if planar else 1)
    if tile:
        field(322, 'I', piece_columns)
        field(323, 'I', piece_rows)
    else:
        field(278, 'I', piece_rows)
    if predictor != 1:
        field(317, 'H', predictor)
    if extra is not None:
        field(338, 'H', *extra)
    if form is not None:
        field(339, 'H', *[form] * channels)
    if colormap is not None:
        field(320, 'H', *np.asarray(colormap).T.ravel().tolist())
    if reverse_bits:
        field(266, 'H', 2)
    for tag, kind, values in tags:
        field(tag, kind, *values)

    word = 'Q' if big else 'I'
    offsets_type = offsets_type or word
    head = (b'II' if order == '<' else b'MM') + struct.pack(order + ('HHHQ' if big else 'HI'), *((43, 8, 0, 16) if big else (42, 8)))
    out = bytearray(head)
    offsets = []
    field(324 if tile else 273, offsets_type, *[0] * len(pieces))
    field(325 if tile else 279, offsets_type, *[len(piece) for piece in pieces])
    for tag in without:
        fields.pop(tag, None)

    def encode(kind, values):
        if kind in 'sU':
            return len(values[0]), bytes(values[0])
        if kind in 'Rr':
            return len(values), b''.join(struct.pack(order + ('II' if kind == 'R' else 'ii'), *v) for v in values)
        return len(values), struct.pack(f'{order}{len(values)}{kind}', *values)

    # Directories first, with places for what does not fit into them, then the pieces, which all pages share.
    entry, inline = (20, 8) if big else (12, 4)
    directory_size = (8 if big else 2) + entry * len(fields) + (8 if big else 4)
    values_size = 0
    for kind, values in fields.values():
        length = len(encode(kind, values)[1])
        values_size += (length + 7) // 8 * 8 if length > inline else 0
    page_size = (directory_size + values_size + 7) // 8 * 8
    at = (len(head) + 7) // 8 * 8 + page_size * pages
    for piece in pieces:
        offsets.append(at)
        at += (len(piece) + 1) // 2 * 2
    offsets_tag = 324 if tile else 273
    if offsets_tag in fields and not any(tag == offsets_tag for tag, _, _ in tags):
        fields[offsets_tag] = (offsets_type, offsets)
    start = (len(head) + 7) // 8 * 8
    out[4 if not big else 8:] = struct.pack(order + word, start)
    out += bytes(start - len(out))
    for page in range(pages):
        values_at = start + directory_size
        directory = struct.pack(order + ('Q' if big else 'H'), len(fields))
        values_bytes = b''
        for tag in sorted(fields):
            kind, values = fields[tag]
            count, data = encode(kind, values)
            directory += struct.pack(order + 'HH' + word, tag, TYPES[kind], count)
            if len(data) > inline:
                directory += struct.pack(order + word, values_at + len(values_bytes))
                values_bytes += data + bytes(-len(data) % 8)
            else:
                directory += data + bytes(inline - len(data))
        directory += struct.pack(order + word, start + page_size if page + 1 < pages else 0)
        out += (directory + values_bytes).ljust(page_size, b'\0')
        start += page_size
    for piece in pieces:
        out += piece + bytes(len(piece) % 2)
    return bytes(out)
