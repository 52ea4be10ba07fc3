"""GIF: frames of Pillow's, and frames made by hand, which are composed here as browsers do."""
import io
import struct

import numpy as np
from PIL import Image

from kit import color, damaged, gray, gray_alpha, refused

HEIGHT, WIDTH = 23, 37


def make(cases):
    by_pillow(cases)
    by_hand(cases)


def saved(image, **options):
    out = io.BytesIO()
    image.save(out, 'GIF', **options)
    return out.getvalue()


def few_colors(seed, count=200):
    """Indices and colors of a picture."""
    g = np.random.default_rng(seed)
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    return ((x * 5 + y * 3 + seed * 11) % count).astype(np.uint8), g.integers(0, 256, (256, 3), dtype=np.uint8)


def by_pillow(cases):
    indices, table = few_colors(1)
    image = Image.fromarray(indices, 'P')
    image.putpalette(table.tobytes())
    for interlace in (0, 1):
        cases.add(f'gif_pillow_{interlace}.gif', saved(image, interlace=interlace), color(table[indices]))
    cases.add('gif_pillow_gray.gif', saved(Image.fromarray(indices)), gray(indices))
    grays = [np.where(indices > 40 * i, 200 - 20 * i, 17).astype(np.uint8) for i in range(4)]
    data = saved(Image.fromarray(grays[0]), save_all=True, append_images=[Image.fromarray(a) for a in grays[1:]], duration=40)
    cases.add('gif_pillow_frames.gif', data, gray(grays[0]), pages=[gray(a) for a in grays])
    whole = saved(image)
    cases.add('gif_trailing_data.gif', whole + b'more', color(table[indices]))
    cases.add('gif_bad_cut.gif', whole[:len(whole) // 2], damaged())
    cases.add('gif_bad_no_end.gif', whole[:-1], refused('truncated'))
    cases.add('gif_bad_cut_header.gif', whole[:9], damaged())
    hole = bytearray(whole)
    hole[-90:-60] = b'\xff' * 30
    cases.add('gif_bad_codes.gif', bytes(hole), damaged())
    cases.add('gif_bad_claims.gif', whole[:6] + struct.pack('<HH', 30000, 30000) + whole[10:], refused('too_large'))


# --- by hand


def codes(indices, bits=8):
    """LZW without any table: the code that clears it comes before it grows."""
    clear, numbers = 1 << bits, []
    for i, index in enumerate(indices.ravel().tolist()):
        if i % (clear - 2) == 0:
            numbers.append(clear)
        numbers.append(index)
    numbers.append(clear + 1)
    flags = (np.array(numbers)[:, None] >> np.arange(bits + 1)) & 1
    data = np.packbits(flags.astype(np.uint8).ravel(), bitorder='little').tobytes()
    return bytes([bits]) + b''.join(bytes([len(data[i:i + 255])]) + data[i:i + 255] for i in range(0, len(data), 255)) + b'\0'


def frame(indices, left=0, top=0, table=None, transparent=None, disposal=0, interlaced=False):
    height, width = indices.shape
    control = b'\x21\xf9\4' + struct.pack('<BHBB', disposal << 2 | (transparent is not None), 5, transparent or 0, 0)
    rows = np.concatenate([np.arange(first, height, step) for first, step in ((0, 8), (4, 8), (2, 4), (1, 2))]) if interlaced else np.arange(height)
    head = b'\x2c' + struct.pack('<HHHHB', left, top, width, height, (0x87 if table is not None else 0) | (0x40 if interlaced else 0))
    return control + head + (table.tobytes() if table is not None else b'') + codes(indices[rows])


def screen(frames, table=None, background=0):
    head = b'GIF89a' + struct.pack('<HHBBB', WIDTH, HEIGHT, 0xf0 | (7 if table is not None else 0) if table is not None else 0x70, background, 0)
    return head + (table.tobytes() if table is not None else b'') + b'\x21\xfe\5hello\0' + b''.join(frame(**f) for f in frames) + b'\x3b'


def composed(frames, table):
    """Red, green, blue and alpha of each frame as browsers show it."""
    canvas, shown = np.zeros((HEIGHT, WIDTH, 4), np.uint8), []
    for f in frames:
        indices, left, top = f['indices'], f.get('left', 0), f.get('top', 0)
        area = canvas[top:top + indices.shape[0], left:left + indices.shape[1]]
        before = area.copy()
        drawn = np.dstack([f.get('table', table)[indices], np.full(indices.shape, 255, np.uint8)])
        seen = indices != f['transparent'] if f.get('transparent') is not None else np.ones(indices.shape, bool)
        area[seen] = drawn[seen]
        shown.append(canvas.copy())
        if f.get('disposal') == 2:
            area[:] = 0
        elif f.get('disposal') == 3:
            area[:] = before
    return shown


def by_hand(cases):
    first, table = few_colors(2)
    other = few_colors(3)[1]
    part = few_colors(4)[0][:9, :14]
    whole = {'indices': first}
    ramp = np.repeat(np.arange(256, dtype=np.uint8)[:, None], 3, 1)

    def add(name, frames, colors=table):
        shown = composed(frames, colors)
        opaque = all((a[..., 3] == 255).all() for a in shown)
        grays = all((a[..., :1] == a[..., :3]).all() for a in shown)
        truth = (lambda a: gray(a[..., :1])) if opaque and grays else (lambda a: color(a[..., :3])) if opaque else (lambda a: gray_alpha(a[..., [0, 3]])) if grays else color
        pages = [truth(a) for a in shown]
        cases.add(f'gif_{name}.gif', screen(frames, colors), pages[0], **({'pages': pages} if len(pages) > 1 else {}))

    add('whole', [whole])
    add('interlaced', [{**whole, 'interlaced': True}])
    add('gray_table', [whole], ramp)
    add('local_table', [{**whole, 'table': other}])
    add('part_of_the_screen', [{'indices': part, 'left': 5, 'top': 7}])
    add('transparent', [{**whole, 'transparent': 40}])
    add('gray_transparent', [{**whole, 'transparent': 40}], ramp)
    for disposal in (0, 1, 2, 3):
        frames = [{**whole, 'disposal': disposal}, {'indices': part, 'left': 3, 'top': 2, 'table': other, 'transparent': 44, 'disposal': disposal, 'interlaced': True},
                  {'indices': part[:5], 'left': 9, 'top': 11, 'disposal': disposal}, {'indices': part, 'left': 20, 'top': 9}]
        add(f'disposal_{disposal}', frames)
    add('disposal_mixed', [{**whole}, {'indices': part, 'disposal': 3}, {'indices': part, 'left': 8, 'top': 5, 'transparent': 44, 'disposal': 3}, {'indices': part, 'left': 20}])
    data = screen([whole, {'indices': part}], table)
    cases.add('gif_bad_second_frame_cut.gif', data[:-30], damaged())
    cases.add('gif_bad_outside.gif', screen([{**whole, 'left': 1}], table), damaged('not within its screen'))
    cases.add('gif_bad_no_table.gif', screen([whole]), damaged())
    cases.add('gif_bad_index.gif', b'GIF89a' + struct.pack('<HHBBB', WIDTH, HEIGHT, 0xf3, 0, 0) + table[:16].tobytes() + frame(first) + b'\x3b', damaged('outside of the table of 16'))
    cases.add('gif_bad_kind.gif', data[:-1] + b'\7\x3b', damaged('unknown kind'))
