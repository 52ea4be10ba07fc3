"""Arrays in other color spaces, on the host and on a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _arrays, _native
from ._arrays import Layout, Order, current_stream, pixels_in
from ._errors import InvalidArgument
from ._request import threads_of
from ._source import source_of
from ._validity import rules_of

if TYPE_CHECKING:
    from ._native import ColorSpace


def convert_colors(
    image: Any,
    space: ColorSpace,
    *,
    layout: Layout | None = None,
    order: Order = "RGB",
    white: float | None = None,
    linear: bool = False,
    threads: int = 0,
    stream: Any = None,
) -> Any:
    """Returns an array of colors in another space: (height, width, 3), or 4 channels with alpha, of numpy for an array
    on the host, else of the same library on the same GPU, with the same bits. Gray stands for three equal colors.

    space
        hsv (hue 0 to 360, saturation, value), ycbcr, lab (CIE, lightness 0 to 100), xyz, linear, or oklab. u8 arrays
        stay u8 in hsv, ycbcr and lab, as cv2.cvtColor makes them. All other results are float32; arrays are u8, u16,
        f16 or f32. The command's help on spaces has the ranges.
    white
        Value that stands for white: by default that of read(), or the highest value of the type, or 1 for floats.
    linear
        Whether samples are proportional to light. If not, they are encoded by the transfer function of sRGB.

    On a GPU, the result is complete when the work on the stream is complete. Other arguments and exceptions are as in
    measure().
    """
    if not _arrays.is_array(image):
        raise InvalidArgument(f"a {type(image).__name__} is not an array: read() makes one of a file")
    pixels = pixels_in(image)
    if white is None and pixels is not None:
        white = pixels.white
    source = source_of(image, layout, order, None, None, "error", stream, rules=rules_of(None, None, False, "row"))
    found = source.found
    assert found is not None
    depth = _native.depth_in(space, found.depth)
    channels = 4 if found.channels == 4 else 3
    made = _arrays.empty(found.array, (found.height, found.width, channels), _arrays.TYPES[depth])
    target = _arrays.image_of(made, "HWC", "RGB")
    if found.array.gpu is None:
        if stream is not None:
            raise InvalidArgument("stream: the image is on the host, where there are no streams")
        _native.convert_colors(found.view, target.view, space, white, linear, threads_of(threads))
    else:
        handle = current_stream(found.array, stream)
        _native.enqueue_convert_colors(found.view, target.view, space, white, linear, found.array.gpu, handle)
    return made
